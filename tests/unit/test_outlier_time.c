/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Outlier detection: for how long servers are ejected, what happens when it is
 * switched off, and that threads may count meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "tests/unit/outlier_rig.h"

#define DAY_MS 86400000u

/* --- how long ------------------------------------------------------------- */

/* Server 0 fails; then it has no calls, and returns after this time. */
static void
ejected_for(uint64_t us)
{
    uint64_t since = now + policy.interval_us;

    end(0, 0, 100);
    end_from(1, 100, 0);
    sweep();
    assert_true(is_out(0));
    assert_int_equal(us, vc__outlier_length(&servers[0], &policy));
    sweep_at(since + us - 1);
    assert_true(is_out(0));
    sweep_at(since + us); /* the time must be over */
    assert_true(is_out(0));
    assert_int_equal(VC__OUTLIER_SAME, servers[0].change);
    sweep_at(since + us + 1);
    assert_false(is_out(0));
    assert_int_equal(VC__OUTLIER_RETURNED, servers[0].change);
}

static void
each_ejection_is_30_s_longer_up_to_300_s(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS());
    for (unsigned times = 1; times <= 10; times++)
        ejected_for(times * 30 * S);
    for (unsigned times = 0; times < 5; times++)
        ejected_for(300 * S);
    assert_int_equal(15, servers[0].multiplier);
}

static void
the_last_step_is_cut_to_the_maximum(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.base_ejection_ms = 40000,
                             .max_ejection_ms = 100000));
    ejected_for(40 * S);
    ejected_for(80 * S);
    ejected_for(100 * S);
}

static void
a_maximum_below_the_base_is_the_base(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.base_ejection_ms = 400000));
    ejected_for(400 * S);
    ejected_for(400 * S);
    fresh(5, VC_OUTLIER_OPTS(.base_ejection_ms = 50, .max_ejection_ms = 49));
    ejected_for(S / 20);
    ejected_for(S / 20);
}

static void
each_interval_in_use_takes_one_step_back(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS());
    ejected_for(30 * S);
    ejected_for(60 * S);
    ejected_for(90 * S);
    assert_int_equal(3, servers[0].multiplier);
    sweep();
    assert_int_equal(2, servers[0].multiplier);
    end_from(0, 100, 0);
    sweep();
    assert_int_equal(1, servers[0].multiplier);
    ejected_for(60 * S);
    for (unsigned k = 0; k < 4; k++)
        sweep();
    assert_int_equal(0, servers[0].multiplier);
    ejected_for(30 * S);
}

static void
any_number_of_ejections_is_possible(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.base_ejection_ms = DAY_MS,
                             .max_ejection_ms = DAY_MS));
    servers[0].multiplier = UINT32_MAX - 1;
    ejected_for(DAY_MS * UINT64_C(1000));
    ejected_for(DAY_MS * UINT64_C(1000));
    assert_int_equal(UINT32_MAX, servers[0].multiplier);
}

/* Calls that were under way when the server was ejected. */
static void
calls_that_end_afterwards_do_not_prolong_an_ejection(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.max_ejection_percent = 100));
    for (unsigned k = 0; k < 3; k++) {
        end(0, 0, 100);
        end_from(1, 100, 0);
        sweep();
        assert_int_equal(k == 0 ? VC__OUTLIER_EJECTED : VC__OUTLIER_SAME,
                         servers[0].change);
    }
    assert_int_equal(1, servers[0].multiplier);
    assert_int_equal(BEGIN + 10 * S, servers[0].since_us);
    assert_int_equal(1, counts.of[RATE].enforced);
    assert_int_equal(0, counts.of[PERCENTAGE].enforced);
    sweep_at(BEGIN + 40 * S + 1);
    assert_false(is_out(0));
}

/* --- switched off --------------------------------------------------------- */

static void
without_a_method_all_return_and_nothing_is_kept(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.max_ejection_percent = 100));
    ejected_for(30 * S);
    end(0, 0, 100);
    end_from(1, 100, 0);
    sweep();
    end_from(0, 0, 100);
    assert_int_equal(1, out());
    assert_int_equal(VC_OK, vc__outlier_opts_take(&policy, NULL));
    assert_false(vc__outlier_is_on(&policy));
    sweep();
    assert_int_equal(0, out());
    assert_int_equal(VC__OUTLIER_RETURNED, servers[0].change);
    assert_int_equal(VC__OUTLIER_SAME, servers[1].change);
    assert_int_equal(0, servers[0].multiplier);
    assert_int_equal(0, servers[0].last.good + servers[0].last.bad);
    sweep();
    assert_int_equal(VC__OUTLIER_SAME, servers[0].change);
    assert_int_equal(VC_OK, vc__outlier_opts_take(&policy, VC_OUTLIER_OPTS()));
    sweep();
    assert_int_equal(0, out());
}

static void
one_method_alone_is_on(void **state)
{
    (void)state;
    fresh(5, BY_RATE(.success_rate_enforcement = VC_OUTLIER_NONE));
    assert_true(vc__outlier_is_on(&policy));
    end_from(0, 0, 100);
    sweep();
    assert_int_equal(0, out());
    fresh(5, BY_PERCENTAGE());
    assert_true(vc__outlier_is_on(&policy));
    end(0, 70, 30);
    end_from(1, 100, 0);
    sweep();
    assert_int_equal(0, out());
}

static void
calls_before_a_reset_do_not_count(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS());
    end_from(0, 0, 100);
    vc__outlier_reset(all, n);
    end_from(0, 1, 0);
    sweep();
    assert_int_equal(0, out());
    assert_int_equal(1, servers[0].last.good);
    assert_int_equal(0, servers[0].last.bad);
}

/* --- counting by threads -------------------------------------------------- */

#define THREADS 4u
#define SWEEPS  1000u
#define CALLS   10000u

static atomic_uint running;
static atomic_bool swept;
static _Atomic uint64_t ended_good, ended_bad;

/* Counts until all sweeps are done, and then some. */
static void *
count_main(void *arg)
{
    struct vc__outlier_calls mine = {0, 0};

    (void)arg;
    for (unsigned k = 0; k < CALLS || !atomic_load(&swept); k++) {
        bool good = k % 3 != 0;

        vc__outlier_count(&servers[k % 2], good);
        mine.good += good;
        mine.bad += !good;
    }
    atomic_fetch_add(&ended_good, mine.good);
    atomic_fetch_add(&ended_bad, mine.bad);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Adds the calls of the interval that this sweep ends. */
static void
sweep_add(struct vc__outlier_calls *sum)
{
    sweep();
    for (unsigned i = 0; i < n; i++) {
        sum->good += servers[i].last.good;
        sum->bad += servers[i].last.bad;
    }
}

static void
no_call_is_lost_while_threads_count(void **state)
{
    struct vc__outlier_calls sum = {0, 0};
    pthread_t threads[THREADS];

    (void)state;
    fresh(2, VC_OUTLIER_OPTS());
    atomic_store(&running, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0,
                         pthread_create(&threads[i], NULL, count_main, NULL));
    for (unsigned k = 0; k < SWEEPS; k++)
        sweep_add(&sum);
    atomic_store(&swept, true);
    while (atomic_load(&running) > 0)
        sweep_add(&sum);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sweep_add(&sum);
    assert_int_equal(atomic_load(&ended_good), sum.good);
    assert_int_equal(atomic_load(&ended_bad), sum.bad);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ejection_is_30_s_longer_up_to_300_s),
        cmocka_unit_test(the_last_step_is_cut_to_the_maximum),
        cmocka_unit_test(a_maximum_below_the_base_is_the_base),
        cmocka_unit_test(each_interval_in_use_takes_one_step_back),
        cmocka_unit_test(any_number_of_ejections_is_possible),
        cmocka_unit_test(calls_that_end_afterwards_do_not_prolong_an_ejection),
        cmocka_unit_test(without_a_method_all_return_and_nothing_is_kept),
        cmocka_unit_test(one_method_alone_is_on),
        cmocka_unit_test(calls_before_a_reset_do_not_count),
        cmocka_unit_test(no_call_is_lost_while_threads_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
