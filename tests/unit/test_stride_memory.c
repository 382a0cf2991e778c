/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/balance/stride.c without memory, and in the way of other threads. The
 * file is included, so that malloc() can fail, and what other threads take of
 * the sequence is decided here; test_stride.c has the tests of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static bool no_memory;

static void *
failing_malloc(size_t size)
{
    return no_memory ? NULL : malloc(size);
}

/* Other threads take three numbers after each one of this thread. */
static unsigned
add_between_others(atomic_uint *to, unsigned by, memory_order order)
{
    return atomic_fetch_add_explicit(to, by + 3, order);
}

#define malloc failing_malloc
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit add_between_others
#include "rpc/balance/stride.c"
#undef malloc

/* This thread gets the turns of a light server only. */
static void
a_thread_that_others_overtake_makes_its_choice_all_the_same(void **state)
{
    static const float weights[] = {1e-30f, 1, 1e-30f, 1};
    struct vc__stride *s = vc__stride_new(weights, 4);
    atomic_uint sequence = 4 * 5;

    (void)state;
    assert_non_null(s);
    assert_int_equal(vc__stride_next(s, &sequence), 1);
    assert_int_equal(sequence, 4 * 5 + 4 * 4);
    vc__stride_free(s);
}

static void
without_memory_there_is_no_scheduler(void **state)
{
    static const float weights[] = {1, 2};

    (void)state;
    no_memory = true;
    assert_null(vc__stride_new(weights, 2));
    no_memory = false;
    vc__stride_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_thread_that_others_overtake_makes_its_choice_all_the_same),
        cmocka_unit_test(without_memory_there_is_no_scheduler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
