/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How often the watching thread looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/core/watch_interval.h"

/* Wakes up n times, each `late` us after the time. */
static void
wake(struct vc__watch_interval *p, int n, uint64_t late)
{
    for (int i = 0; i < n; i++)
        vc__watch_interval_woke(p, 5000, 5000 + late);
}

static void
it_looks_each_millisecond_where_waking_up_is_cheap(void **state)
{
    struct vc__watch_interval p = {0};

    (void)state;
    assert_in_range(vc__watch_interval_us(&p), 500, 900);
    wake(&p, 100, 12);
    assert_in_range(vc__watch_interval_us(&p), 500, 900);
    vc__watch_interval_woke(&p, 5000, 4000); /* woken before it was due */
    assert_in_range(vc__watch_interval_us(&p), 500, 900);
}

static void
it_takes_a_64th_of_the_time_where_waking_up_is_dear(void **state)
{
    struct vc__watch_interval p = {0};

    (void)state;
    wake(&p, 100, 60);
    assert_in_range(vc__watch_interval_us(&p), 60 * 60, 60 * 64);
}

static void
it_never_looks_less_than_every_eight_milliseconds(void **state)
{
    struct vc__watch_interval p = {0};

    (void)state;
    wake(&p, 1000, 1000000);
    assert_in_range(vc__watch_interval_us(&p), 7000, 8000);
}

static void
one_late_look_does_not_change_much(void **state)
{
    struct vc__watch_interval p = {0};

    (void)state;
    wake(&p, 100, 10);
    wake(&p, 1, 1000000);
    assert_in_range(vc__watch_interval_us(&p), 500, 1700);
    wake(&p, 20, 10);
    assert_in_range(vc__watch_interval_us(&p), 500, 900);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_looks_each_millisecond_where_waking_up_is_cheap),
        cmocka_unit_test(it_takes_a_64th_of_the_time_where_waking_up_is_dear),
        cmocka_unit_test(it_never_looks_less_than_every_eight_milliseconds),
        cmocka_unit_test(one_late_look_does_not_change_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
