/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How the servers of a channel are arranged for its policy. The file is
 * included, so that calloc() can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NEVER UINT32_MAX

static unsigned fails_after; /* so many allocations succeed; one fails */

static void *
failing_calloc(size_t n, size_t size)
{
    bool fails = fails_after == 0;

    fails_after -= fails_after != NEVER;
    return fails ? NULL : calloc(n, size);
}

#define calloc failing_calloc
#include "rpc/balance/server_set.c"
#undef calloc

#define N 6u

static struct vc__subchannel subs[N];

/* Servers that differ by their labels and weights. */
static struct vc__server_set *
set_new(const uint32_t *priorities)
{
    struct vc__endpoint *about = calloc(N, sizeof *about);
    struct vc__server_set *set;

    assert_non_null(about);
    fails_after = NEVER;
    set = vc__server_set_new(N, about);
    assert_non_null(set);
    for (unsigned i = 0; i < N; i++) {
        about[i].weight = 1 + i;
        about[i].priority = priorities == NULL ? 0 : priorities[i];
        snprintf(about[i].target, sizeof about[i].target,
                 "tcp://far-%u.example:1", i);
        snprintf(about[i].label, sizeof about[i].label, "rack-%u", i % 3);
        set->sub[i] = &subs[i];
    }
    return set;
}

/* Expects the servers in this order, each with what is said of it. */
static void
order_is(const struct vc__server_set *set, const unsigned order[N])
{
    for (unsigned i = 0; i < N; i++) {
        assert_ptr_equal(&subs[order[i]], set->sub[i]);
        assert_int_equal(1 + order[i], set->about[i].weight);
    }
}

static void
tiers_of_priority_keep_the_order_within(void **state)
{
    static const uint32_t priorities[N] = {7, 0, 255, 7, 0, 7};
    struct vc__server_set *set = set_new(priorities);

    (void)state;
    assert_true(vc__server_set_arrange(set, VC__POLICY_PRIORITY, NULL));
    order_is(set, (const unsigned[]){1, 4, 0, 3, 5, 2});
    assert_int_equal(3, set->n_tiers);
    assert_int_equal(2, set->tier_end[0]);
    assert_int_equal(5, set->tier_end[1]);
    assert_int_equal(6, set->tier_end[2]);
    vc__server_set_free(set);
}

static void
tiers_of_nearest_are_host_label_and_others(void **state)
{
    struct vc__server_set *set = set_new(NULL);

    (void)state;
    strcpy(set->about[3].target, "tcp://127.0.0.1:1");
    strcpy(set->about[5].target, "shm:a");
    assert_true(vc__server_set_arrange(set, VC__POLICY_NEAREST, "rack-1"));
    order_is(set, (const unsigned[]){3, 5, 1, 4, 0, 2});
    assert_int_equal(3, set->n_tiers);
    assert_int_equal(2, set->tier_end[0]);
    assert_int_equal(4, set->tier_end[1]);
    assert_int_equal(6, set->tier_end[2]);
    vc__server_set_free(set);
}

static void
one_tier_is_no_tier(void **state)
{
    struct vc__server_set *set = set_new(NULL);

    (void)state;
    assert_true(vc__server_set_arrange(set, VC__POLICY_PRIORITY, NULL));
    order_is(set, (const unsigned[]){0, 1, 2, 3, 4, 5});
    assert_int_equal(1, set->n_tiers);
    vc__server_set_free(set);
}

static void
other_policies_get_what_they_need_and_no_tiers(void **state)
{
    (void)state;
    for (int p = 0; p < VC__POLICY_PRIORITY; p++) {
        struct vc__server_set *set = set_new(NULL);

        assert_true(vc__server_set_arrange(set, (enum vc__policy)p, "rack-1"));
        order_is(set, (const unsigned[]){0, 1, 2, 3, 4, 5});
        assert_int_equal(1, set->n_tiers);
        assert_true((set->ring != NULL) == (p == VC__POLICY_RING_HASH));
        assert_true((set->stride != NULL) ==
                    (p == VC__POLICY_WEIGHTED_ROUND_ROBIN));
        vc__server_set_free(set);
    }
}

static void
equal_weights_need_no_scheduler(void **state)
{
    struct vc__server_set *set = set_new(NULL);

    (void)state;
    for (unsigned i = 0; i < N; i++)
        set->about[i].weight = 3;
    assert_true(
        vc__server_set_arrange(set, VC__POLICY_WEIGHTED_ROUND_ROBIN, NULL));
    assert_null(set->stride);
    vc__server_set_free(set);
}

/* --- weights by load -------------------------------------------------------- */

static struct vc__server_set *
weighted_set_new(void)
{
    struct vc__server_set *set = set_new(NULL);

    assert_true(
        vc__server_set_arrange(set, VC__POLICY_WEIGHTED_ROUND_ROBIN, NULL));
    return set;
}

/* The servers have these weights by load. */
static void
weights_use(struct vc__server_set *set, const float weights[N])
{
    for (unsigned i = 0; i < N; i++)
        subs[i].load.used = weights[i];
    vc__server_set_weigh(set);
}

/* Two of them: the others get the mean of these. */
static void
with_two_weights_by_load_those_of_the_resolver_do_not_count(void **state)
{
    static const uint16_t expected[N] = {32768, 49152, 49152,
                                         65535, 49152, 49152};
    struct vc__server_set *set = weighted_set_new();
    const struct vc__stride *stride;

    (void)state;
    weights_use(set, (const float[N]){3, 0, 0, 6});
    stride = vc__server_set_stride(set);
    for (unsigned i = 0; i < N; i++)
        assert_in_range(vc__stride_weight(stride, i), expected[i] - 1,
                        expected[i] + 1);
    weights_use(set, (const float[N]){6, 0, 3});
    assert_ptr_equal(stride, vc__server_set_stride(set));
    assert_int_equal(65535, vc__stride_weight(stride, 0));
    vc__server_set_free(set);
}

static void
with_one_weight_by_load_those_of_the_resolver_count(void **state)
{
    struct vc__server_set *set = weighted_set_new();

    (void)state;
    assert_ptr_equal(set->stride, vc__server_set_stride(set));
    weights_use(set, (const float[N]){3, 4});
    assert_ptr_not_equal(set->stride, vc__server_set_stride(set));
    weights_use(set, (const float[N]){0, 4});
    assert_ptr_equal(set->stride, vc__server_set_stride(set));
    assert_int_equal(65535, vc__stride_weight(set->stride, N - 1));
    vc__server_set_free(set);
}

static void
weights_by_load_need_no_scheduler_of_the_resolver(void **state)
{
    struct vc__server_set *set = set_new(NULL);

    (void)state;
    for (unsigned i = 0; i < N; i++)
        set->about[i].weight = 3;
    assert_true(
        vc__server_set_arrange(set, VC__POLICY_WEIGHTED_ROUND_ROBIN, NULL));
    weights_use(set, (const float[N]){1, 2, 3, 4, 5, 6});
    assert_non_null(vc__server_set_stride(set));
    weights_use(set, (const float[N]){0});
    assert_null(vc__server_set_stride(set));
    vc__server_set_free(set);
}

static void
other_policies_have_no_weights_by_load(void **state)
{
    (void)state;
    for (int p = 0; p <= VC__POLICY_NEAREST; p++) {
        struct vc__server_set *set = set_new(NULL);

        assert_true(vc__server_set_arrange(set, (enum vc__policy)p, NULL));
        weights_use(set, (const float[N]){1, 2, 3, 4, 5, 6});
        assert_true((vc__server_set_stride(set) != NULL) ==
                    (p == VC__POLICY_WEIGHTED_ROUND_ROBIN));
        vc__server_set_free(set);
    }
}

/* --- without memory --------------------------------------------------------- */

/* At whatever allocation: the servers stay as they were, to be undone. */
static void
without_memory_nothing_is_arranged(void **state)
{
    static const enum vc__policy policies[] = {VC__POLICY_WEIGHTED_ROUND_ROBIN,
                                               VC__POLICY_PRIORITY,
                                               VC__POLICY_NEAREST};
    static const uint32_t priorities[N] = {5, 4, 3, 2, 1, 0};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        bool good = false;

        for (unsigned n = 0; !good; n++) {
            struct vc__server_set *set = set_new(priorities);

            fails_after = n;
            good = vc__server_set_arrange(set, policies[p], NULL);
            assert_true(good ? n > 0 : n < 10);
            if (!good)
                order_is(set, (const unsigned[]){0, 1, 2, 3, 4, 5});
            vc__server_set_free(set);
        }
    }
}

static void
a_set_without_memory_frees_what_it_was_given(void **state)
{
    struct vc__endpoint *about = calloc(N, sizeof *about);

    (void)state;
    fails_after = 0;
    assert_null(vc__server_set_new(N, about));
    vc__server_set_free(NULL);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(tiers_of_priority_keep_the_order_within),
        T(tiers_of_nearest_are_host_label_and_others),
        T(one_tier_is_no_tier),
        T(with_two_weights_by_load_those_of_the_resolver_do_not_count),
        T(with_one_weight_by_load_those_of_the_resolver_count),
        T(weights_by_load_need_no_scheduler_of_the_resolver),
        T(other_policies_have_no_weights_by_load),
        T(other_policies_get_what_they_need_and_no_tiers),
        T(equal_weights_need_no_scheduler),
        T(without_memory_nothing_is_arranged),
        T(a_set_without_memory_frees_what_it_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
