/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/counts.c: the sums of a ledger and its tallies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/counts.h"

#define LAST ((uint8_t)(VC__COUNTS - 1))

static struct vc__ledger ledger;

/* Begins with memory that is not zeroed. */
static int
begin(void **state)
{
    (void)state;
    memset(&ledger, 0xa5, sizeof ledger);
    vc__ledger_init(&ledger);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    vc__ledger_fini(&ledger);
    return 0;
}

/* All other numbers must be 0. */
static void
assert_sum(uint64_t first, uint64_t last)
{
    uint64_t sum[VC__COUNTS + 1] = {0};

    vc__ledger_sum(&ledger, sum);
    assert_int_equal(sum[0], first);
    for (unsigned i = 1; i < LAST; i++)
        assert_int_equal(sum[i], 0);
    assert_int_equal(sum[LAST], last);
    assert_int_equal(sum[VC__COUNTS], 0);
}

static void
a_new_ledger_is_0_and_has_all_that_its_holder_counts(void **state)
{
    (void)state;
    assert_sum(0, 0);
    vc__count(&ledger, 0, 3);
    vc__count(&ledger, 0, -1);
    vc__count(&ledger, (enum vc__count)LAST, 7);
    assert_int_equal(vc__count_get(&ledger, 0), 2);
    assert_sum(2, 7);
}

static void
a_sum_is_added_to_what_is_there(void **state)
{
    uint64_t sum[VC__COUNTS];

    (void)state;
    for (unsigned i = 0; i < VC__COUNTS; i++)
        sum[i] = 100 + i;
    vc__count(&ledger, (enum vc__count)LAST, 5);
    vc__ledger_sum(&ledger, sum);
    for (unsigned i = 0; i < LAST; i++)
        assert_int_equal(sum[i], 100 + i);
    assert_int_equal(sum[LAST], 100 + LAST + 5);
}

static void
what_follows_a_number_adds_the_difference(void **state)
{
    uint64_t told = 0;

    (void)state;
    vc__count_now(&ledger, 0, &told, 9);
    assert_int_equal(told, 9);
    assert_sum(9, 0);
    vc__count_now(&ledger, 0, &told, 9);
    assert_sum(9, 0);
    vc__count_now(&ledger, 0, &told, 4);
    assert_int_equal(told, 4);
    assert_sum(4, 0);
}

static void
a_tally_begins_at_0_and_counts_while_it_is_open_and_after(void **state)
{
    static const uint8_t both[] = {0, LAST}, one[] = {LAST};
    struct vc__tally a, b;

    (void)state;
    memset(&a, 0xa5, sizeof a);
    memset(&b, 0xa5, sizeof b);
    vc__tally_open(&a, &ledger, both, 2);
    vc__tally_open(&b, &ledger, one, 1);
    assert_sum(0, 0);
    vc__tally_add(&a, 0, 10);
    vc__tally_add(&a, 1, 20);
    vc__tally_add(&b, 0, 300);
    vc__count(&ledger, 0, 1000);
    assert_sum(1010, 320);

    /* Each tally is summed up once, whichever of them is closed. */
    vc__tally_close(&a, &ledger);
    assert_sum(1010, 320);
    vc__tally_add(&b, 0, -100);
    assert_sum(1010, 220);
    memset(&a, 0xa5, sizeof a);
    assert_sum(1010, 220);
    vc__tally_close(&b, &ledger);
    assert_sum(1010, 220);
}

static void
a_tally_of_none_adds_nothing(void **state)
{
    static const uint8_t which[] = {0};
    struct vc__tally t;

    (void)state;
    memset(&t, 0xa5, sizeof t);
    vc__tally_open(&t, &ledger, which, 0);
    assert_sum(0, 0);
    assert_int_not_equal(atomic_load(&t.value[0]), 0);
    vc__tally_close(&t, &ledger);
    assert_sum(0, 0);
}

static void
a_full_tally_touches_nothing_behind_it(void **state)
{
    uint8_t which[VC__TALLY_MAX + 1];
    struct {
        struct vc__tally tally;
        uint64_t behind;
    } t;
    uint64_t behind;

    (void)state;
    memset(which, 0, sizeof which);
    which[VC__TALLY_MAX - 1] = LAST;
    memset(&t, 0xa5, sizeof t);
    behind = t.behind;
    vc__tally_open(&t.tally, &ledger, which, VC__TALLY_MAX);
    assert_memory_equal(&t.behind, &behind, sizeof behind);
    for (unsigned i = 0; i < VC__TALLY_MAX; i++)
        vc__tally_add(&t.tally, i, 1);
    assert_sum(VC__TALLY_MAX - 1, 1);
    vc__tally_close(&t.tally, &ledger);
    assert_sum(VC__TALLY_MAX - 1, 1);
    assert_memory_equal(&t.behind, &behind, sizeof behind);
}

/* The lock is made recursive here. A lock that was released without having been
 * taken is missed then, and a held lock cannot be destroyed. */
static void
all_that_any_thread_does_takes_the_lock_and_gives_it_back(void **state)
{
    static const uint8_t which[] = {0};
    pthread_mutexattr_t attr;
    struct vc__tally t;

    (void)state;
    vc__ledger_fini(&ledger);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&ledger.lock, &attr);
    pthread_mutexattr_destroy(&attr);

    pthread_mutex_lock(&ledger.lock);
    vc__tally_open(&t, &ledger, which, 1);
    assert_int_equal(pthread_mutex_unlock(&ledger.lock), 0);
    pthread_mutex_lock(&ledger.lock);
    assert_sum(0, 0);
    assert_int_equal(pthread_mutex_unlock(&ledger.lock), 0);
    pthread_mutex_lock(&ledger.lock);
    vc__tally_close(&t, &ledger);
    assert_int_equal(pthread_mutex_unlock(&ledger.lock), 0);
    assert_int_equal(pthread_mutex_destroy(&ledger.lock), 0);
    vc__ledger_init(&ledger);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_new_ledger_is_0_and_has_all_that_its_holder_counts, begin, end),
        cmocka_unit_test_setup_teardown(a_sum_is_added_to_what_is_there, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            what_follows_a_number_adds_the_difference, begin, end),
        cmocka_unit_test_setup_teardown(
            a_tally_begins_at_0_and_counts_while_it_is_open_and_after, begin,
            end),
        cmocka_unit_test_setup_teardown(a_tally_of_none_adds_nothing, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_full_tally_touches_nothing_behind_it,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            all_that_any_thread_does_takes_the_lock_and_gives_it_back, begin,
            end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
