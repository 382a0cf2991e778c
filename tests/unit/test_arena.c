/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/arena.c. The file is included, so that its aligned_alloc() can be
 * counted and made to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"

#define MACHINE ((size_t)1 << 30) /* no allocation is larger */

static bool no_memory;
static size_t chunks_taken, bytes_taken;

static void *
counted_aligned_alloc(size_t align, size_t size)
{
    if (no_memory || size > MACHINE)
        return NULL;
    chunks_taken++;
    bytes_taken += size;
    return aligned_alloc(align, size);
}

#define aligned_alloc counted_aligned_alloc
#include "rpc/arena.c"
#undef aligned_alloc

static void
arena_begin(struct vc__arena *a, size_t first, size_t cap)
{
    no_memory = false;
    memset(a, 0, sizeof *a);
    assert_int_equal(vc__arena_init(a, first, cap), 0);
    chunks_taken = bytes_taken = 0;
}

static void
pieces_are_aligned_and_apart(void **state)
{
    unsigned char *pieces[500];
    size_t sizes[500];
    struct vc__arena a;
    uint64_t seed = 3;

    (void)state;
    arena_begin(&a, 100, SIZE_MAX);
    for (unsigned i = 0; i < 500; i++) {
        sizes[i] = random_below(&seed, 300);
        pieces[i] = vc__arena_alloc(&a, sizes[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % VC__ARENA_ALIGN, 0);
        memset(pieces[i], (int)i, sizes[i]);
    }
    for (unsigned i = 0; i < 500; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(pieces[i][j], (unsigned char)i);
    vc__arena_fini(&a);
}

static void
no_bytes_are_a_piece_too(void **state)
{
    struct vc__arena a;
    void *p, *q;

    (void)state;
    arena_begin(&a, 64, 32);
    p = vc__arena_alloc(&a, 0);
    q = vc__arena_alloc(&a, 0);

    assert_non_null(p);
    assert_non_null(q);
    assert_ptr_not_equal(p, q);
    assert_null(vc__arena_alloc(&a, 0));
    vc__arena_fini(&a);
}

static void
the_cap_counts_what_is_taken_rounded_up(void **state)
{
    struct vc__arena a;

    (void)state;
    arena_begin(&a, 0, 64);
    assert_null(vc__arena_alloc(&a, 65));
    assert_non_null(vc__arena_alloc(&a, 17));
    assert_null(vc__arena_alloc(&a, 33));
    assert_non_null(vc__arena_alloc(&a, 32));
    assert_null(vc__arena_alloc(&a, 1));
    vc__arena_fini(&a);
}

static void
a_piece_too_large_for_any_memory_is_refused(void **state)
{
    struct vc__arena a;

    (void)state;
    arena_begin(&a, 64, SIZE_MAX);
    for (size_t i = 0; i < 64; i++)
        assert_null(vc__arena_alloc(&a, SIZE_MAX - i));
    assert_int_equal(bytes_taken, 0);
    assert_non_null(vc__arena_alloc(&a, 64));
    assert_int_equal(vc__arena_init(&(struct vc__arena){0}, SIZE_MAX, 1), -1);
    vc__arena_fini(&a);
}

static void
small_use_takes_no_memory_after_init(void **state)
{
    struct vc__arena a;
    void *first;

    (void)state;
    arena_begin(&a, 1024, 4096);
    first = vc__arena_alloc(&a, 1);
    for (unsigned i = 0; i < 100; i++) {
        vc__arena_reset(&a);
        assert_ptr_equal(vc__arena_alloc(&a, 1024), first);
    }
    assert_int_equal(chunks_taken, 0);
    vc__arena_fini(&a);
}

static void
a_reset_gives_all_but_the_first_chunk_back(void **state)
{
    struct vc__arena a;
    void *first;

    (void)state;
    arena_begin(&a, 64, 100000);
    first = vc__arena_alloc(&a, 64);
    for (unsigned i = 0; i < 100; i++)
        assert_non_null(vc__arena_alloc(&a, 1000 - 8));
    assert_null(vc__arena_alloc(&a, 1000));

    vc__arena_reset(&a);
    assert_ptr_equal(vc__arena_alloc(&a, 64), first);
    for (unsigned i = 0; i < 90; i++)
        assert_non_null(vc__arena_alloc(&a, 1000 - 8));
    vc__arena_fini(&a);
}

static void
many_small_pieces_need_few_chunks_and_little_more_memory(void **state)
{
    const size_t cap = 1 << 20;
    struct vc__arena a;

    (void)state;
    arena_begin(&a, 256, cap);
    while (vc__arena_alloc(&a, 40) != NULL)
        continue;
    assert_in_range(chunks_taken, 1, 14);
    assert_in_range(bytes_taken, cap - 256, cap + cap / 4);
    vc__arena_fini(&a);
}

static void
pieces_of_any_size_need_at_most_twice_the_cap(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (unsigned run = 0; run < 200; run++) {
        size_t cap = 1000 + random_below(&seed, 1 << 20);
        struct vc__arena a;

        arena_begin(&a, 64 + random_below(&seed, 4096), cap);
        for (unsigned i = 0; i < 1000; i++)
            (void)vc__arena_alloc(&a, (size_t)1 << random_below(&seed, 18));
        assert_in_range(bytes_taken, 0, 2 * cap + chunks_taken * 64);
        vc__arena_fini(&a);
    }
}

static void
the_cap_may_change_between_pieces(void **state)
{
    struct vc__arena a;

    (void)state;
    arena_begin(&a, 64, 32);
    assert_non_null(vc__arena_alloc(&a, 32));
    assert_null(vc__arena_alloc(&a, 16));

    vc__arena_set_cap(&a, 48);
    assert_non_null(vc__arena_alloc(&a, 16));
    assert_null(vc__arena_alloc(&a, 16));

    vc__arena_set_cap(&a, 16); /* less than is taken already */
    assert_null(vc__arena_alloc(&a, 16));
    vc__arena_set_cap(&a, 64);
    assert_non_null(vc__arena_alloc(&a, 16));
    assert_null(vc__arena_alloc(&a, 16));

    vc__arena_reset(&a);
    assert_non_null(vc__arena_alloc(&a, 64));
    assert_null(vc__arena_alloc(&a, 16));
    vc__arena_fini(&a);
}

static void
without_memory_it_stays_usable(void **state)
{
    struct vc__arena a;

    (void)state;
    no_memory = true;
    assert_int_equal(vc__arena_init(&a, 64, 1000), -1);

    arena_begin(&a, 64, 1000);
    no_memory = true;
    assert_null(vc__arena_alloc(&a, 100));
    assert_non_null(vc__arena_alloc(&a, 64));
    no_memory = false;
    assert_non_null(vc__arena_alloc(&a, 900));
    vc__arena_fini(&a);
}

static void
a_zeroed_one_gives_nothing_and_may_be_ended(void **state)
{
    struct vc__arena a = {0};

    (void)state;
    assert_null(vc__arena_alloc(&a, 0));
    vc__arena_reset(&a);
    vc__arena_fini(&a);

    arena_begin(&a, 64, 64); /* and it is zeroed by its end */
    vc__arena_fini(&a);
    assert_null(vc__arena_alloc(&a, 0));
    vc__arena_fini(&a);
}

static void
the_allocator_takes_from_the_arena_and_frees_nothing(void **state)
{
    ProtobufCAllocator *allocator;
    struct vc__arena a;
    void *p;

    (void)state;
    arena_begin(&a, 64, 32);
    allocator = &a.allocator;
    p = allocator->alloc(allocator->allocator_data, 20);
    assert_non_null(p);
    allocator->free(allocator->allocator_data, p);
    assert_null(allocator->alloc(allocator->allocator_data, 1));
    vc__arena_fini(&a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(no_bytes_are_a_piece_too),
        cmocka_unit_test(the_cap_counts_what_is_taken_rounded_up),
        cmocka_unit_test(a_piece_too_large_for_any_memory_is_refused),
        cmocka_unit_test(small_use_takes_no_memory_after_init),
        cmocka_unit_test(a_reset_gives_all_but_the_first_chunk_back),
        cmocka_unit_test(
            many_small_pieces_need_few_chunks_and_little_more_memory),
        cmocka_unit_test(pieces_of_any_size_need_at_most_twice_the_cap),
        cmocka_unit_test(the_cap_may_change_between_pieces),
        cmocka_unit_test(without_memory_it_stays_usable),
        cmocka_unit_test(a_zeroed_one_gives_nothing_and_may_be_ended),
        cmocka_unit_test(the_allocator_takes_from_the_arena_and_frees_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
