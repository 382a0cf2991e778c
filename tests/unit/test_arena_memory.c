/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/arena.c: how much memory an arena takes. The file and its source of
 * memory are included, so that aligned_alloc() can be counted and made to fail;
 * test_arena.c has the other tests. */
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
#include "transport/core/memory.c"
/* Include the two in this order. */
#include "rpc/codec/arena.c"
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_too_large_for_any_memory_is_refused),
        cmocka_unit_test(small_use_takes_no_memory_after_init),
        cmocka_unit_test(
            many_small_pieces_need_few_chunks_and_little_more_memory),
        cmocka_unit_test(pieces_of_any_size_need_at_most_twice_the_cap),
        cmocka_unit_test(without_memory_it_stays_usable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
