/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/arena.c: the pieces that an arena returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/codec/arena.h"
#include "tests/unit/random.h"

static void
arena_begin(struct vc__arena *a, size_t first, size_t cap)
{
    memset(a, 0xa5, sizeof *a);
    assert_int_equal(vc__arena_init(a, first, cap), 0);
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

/* Each piece takes 16 bytes at least. */
static void
a_piece_fits_to_the_byte_or_not(void **state)
{
    (void)state;
    for (size_t cap = 0; cap <= 64; cap++) {
        struct vc__arena a;

        arena_begin(&a, 64, cap);
        for (size_t n = 0; n < cap / 16; n++)
            assert_non_null(vc__arena_alloc(&a, 16));
        assert_null(vc__arena_alloc(&a, 1));
        assert_int_equal(vc__arena_taken(&a), cap / 16 * 16);
        vc__arena_fini(&a);
    }
}

static void
a_cap_that_shrinks_counts_within_the_first_chunk(void **state)
{
    struct vc__arena a;

    (void)state;
    arena_begin(&a, 64, 64);
    vc__arena_set_cap(&a, 16);
    assert_null(vc__arena_alloc(&a, 32));
    assert_non_null(vc__arena_alloc(&a, 16));
    assert_null(vc__arena_alloc(&a, 1));
    vc__arena_fini(&a);
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

    vc__arena_set_cap(&a, 16); /* less than is allocated already */
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
a_zeroed_one_gives_nothing_and_may_be_ended(void **state)
{
    struct vc__arena a = {0};

    (void)state;
    assert_null(vc__arena_alloc(&a, 0));
    vc__arena_reset(&a);
    vc__arena_fini(&a);

    arena_begin(&a, 64, 64); /* vc__arena_fini() zeroes it, too */
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

static void
a_block_that_it_adopts_counts_and_is_given_back(void **state)
{
    struct vc__account account;
    struct vc__store store;
    struct vc__arena a;
    void *block;

    (void)state;
    vc__store_init(&store, 100000, false);
    vc__account_init(&account, &store);
    arena_begin(&a, 64, 10000);
    a.account = &account;
    block = vc__memory_take(&account, 8000 + VC__ARENA_HEAD);
    memset(block, 0x5a, 8000 + VC__ARENA_HEAD);
    vc__arena_adopt(&a, block, 8000 + VC__ARENA_HEAD);
    assert_int_equal(8000, vc__arena_taken(&a));
    assert_int_equal(0x5a, ((uint8_t *)block)[VC__ARENA_HEAD]);
    assert_null(vc__arena_alloc(&a, 2001));
    assert_non_null(vc__arena_alloc(&a, 2000));
    assert_int_equal(0x5a, ((uint8_t *)block)[7999 + VC__ARENA_HEAD]);

    assert_true(vc__arena_reset(&a));
    assert_int_equal(0, atomic_load(&account.used));
    assert_int_equal(0, vc__arena_taken(&a));
    vc__arena_fini(&a);
    vc__store_fini(&store);
}

/* The cap is for what is allocated. */
static void
a_block_that_exceeds_the_cap_is_adopted(void **state)
{
    struct vc__account account;
    struct vc__store store;
    struct vc__arena a;

    (void)state;
    vc__store_init(&store, 100000, false);
    vc__account_init(&account, &store);
    arena_begin(&a, 64, 32);
    a.account = &account;
    vc__arena_adopt(&a, vc__memory_take(&account, 200), 200);
    assert_null(vc__arena_alloc(&a, 1));
    vc__arena_fini(&a);
    assert_int_equal(0, atomic_load(&account.used));
    vc__store_fini(&store);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(no_bytes_are_a_piece_too),
        cmocka_unit_test(the_cap_counts_what_is_taken_rounded_up),
        cmocka_unit_test(a_reset_gives_all_but_the_first_chunk_back),
        cmocka_unit_test(a_piece_fits_to_the_byte_or_not),
        cmocka_unit_test(a_cap_that_shrinks_counts_within_the_first_chunk),
        cmocka_unit_test(the_cap_may_change_between_pieces),
        cmocka_unit_test(a_zeroed_one_gives_nothing_and_may_be_ended),
        cmocka_unit_test(a_block_that_it_adopts_counts_and_is_given_back),
        cmocka_unit_test(a_block_that_exceeds_the_cap_is_adopted),
        cmocka_unit_test(the_allocator_takes_from_the_arena_and_frees_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
