/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/rdma/qp_cache.c: which QP is used next, and which is evicted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/rdma/qp_cache.h"

static void
the_one_that_waited_longest_is_used_first(void **state)
{
    struct vc__warm_qp a = {.depth = 64}, b = {.depth = 64}, c = {.depth = 64};
    struct vc__qp_cache cache;

    (void)state;
    vc__qp_cache_init(&cache, 3);
    assert_null(vc__qp_cache_put(&cache, &a));
    assert_null(vc__qp_cache_put(&cache, &b));
    assert_null(vc__qp_cache_put(&cache, &c));
    assert_ptr_equal(vc__qp_cache_take(&cache, 64), &a);
    assert_null(vc__qp_cache_put(&cache, &a));
    assert_ptr_equal(vc__qp_cache_take(&cache, 64), &b);
    assert_ptr_equal(vc__qp_cache_take(&cache, 64), &c);
    assert_ptr_equal(vc__qp_cache_take(&cache, 64), &a);
    assert_null(vc__qp_cache_take(&cache, 64));
}

static void
only_its_own_class_serves(void **state)
{
    struct vc__warm_qp large = {.depth = 64}, small = {.depth = 8};
    struct vc__qp_cache cache;

    (void)state;
    vc__qp_cache_init(&cache, 4);
    vc__qp_cache_put(&cache, &large);
    vc__qp_cache_put(&cache, &small);
    assert_null(vc__qp_cache_take(&cache, 32));
    assert_ptr_equal(vc__qp_cache_take(&cache, 8), &small);
    assert_null(vc__qp_cache_take(&cache, 8));
    assert_ptr_equal(vc__qp_cache_take(&cache, 64), &large);
}

static void
when_it_is_full_the_longest_idle_of_any_class_goes(void **state)
{
    struct vc__warm_qp a = {.depth = 8}, b = {.depth = 64}, c = {.depth = 64};
    struct vc__qp_cache cache;

    (void)state;
    vc__qp_cache_init(&cache, 2);
    vc__qp_cache_put(&cache, &a);
    vc__qp_cache_put(&cache, &b);
    assert_ptr_equal(vc__qp_cache_put(&cache, &c), &a);
    assert_int_equal(cache.stats.evicted, 1);
    assert_int_equal(cache.stats.idle, 2);
    assert_null(vc__qp_cache_take(&cache, 8));
}

static void
a_cache_of_none_keeps_none(void **state)
{
    struct vc__warm_qp a = {.depth = 8};
    struct vc__qp_cache cache;

    (void)state;
    vc__qp_cache_init(&cache, 0);
    assert_ptr_equal(vc__qp_cache_put(&cache, &a), &a);
    assert_int_equal(cache.stats.recycled, 0);
    assert_null(vc__qp_cache_take(&cache, 8));
    assert_null(vc__qp_cache_pop(&cache));
}

/* After any operations each QP is in one place, and the counters are right. */
static void
no_qp_is_lost_or_there_twice(void **state)
{
    enum {
        N = 12,
        MAX = 5
    };
    struct vc__warm_qp qps[N];
    bool idle[N] = {false};
    struct vc__qp_cache cache;
    uint64_t random = 1;

    (void)state;
    vc__qp_cache_init(&cache, MAX);
    for (unsigned i = 0; i < N; i++)
        qps[i].depth = 8u << i % 4;
    for (unsigned i = 0; i < 100000; i++) {
        unsigned at = (unsigned)random_next(&random) % N, count = 0;
        struct vc__warm_qp *w;

        if (idle[at]) {
            w = vc__qp_cache_take(&cache, qps[at].depth);
            assert_non_null(w);
            assert_int_equal(w->depth, qps[at].depth);
        } else {
            w = vc__qp_cache_put(&cache, &qps[at]);
            idle[at] = true;
        }
        if (w != NULL) {
            assert_true(idle[w - qps]);
            idle[w - qps] = false;
        }
        for (unsigned j = 0; j < N; j++)
            count += idle[j];
        assert_int_equal(cache.stats.idle, count);
        assert_in_range(count, 0, MAX);
    }
    assert_int_equal(cache.stats.recycled - cache.stats.reused -
                         cache.stats.evicted,
                     cache.stats.idle);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_waited_longest_is_used_first),
        cmocka_unit_test(only_its_own_class_serves),
        cmocka_unit_test(when_it_is_full_the_longest_idle_of_any_class_goes),
        cmocka_unit_test(a_cache_of_none_keeps_none),
        cmocka_unit_test(no_qp_is_lost_or_there_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
