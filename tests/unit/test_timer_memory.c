/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/timer.c without memory. The file is included, so that its realloc()
 * can be made to fail; test_timer.c has the tests of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static bool no_memory;

static void *
failing_realloc(void *old, size_t size)
{
    return no_memory ? NULL : realloc(old, size);
}

#define realloc failing_realloc
#include "transport/core/timer.c"
#undef realloc

static void
no_fire(struct vc__timer *timer)
{
    (void)timer;
}

static void
without_memory_a_timer_stays_as_it_was(void **state)
{
    struct vc__timer t[TIMERS_FIRST + 1] = {0};
    struct vc__timers ts;

    (void)state;
    vc__timers_init(&ts);
    for (int i = 0; i < TIMERS_FIRST; i++)
        assert_true(vc__timer_start(&ts, &t[i], 100, no_fire));

    no_memory = true;
    assert_false(vc__timer_start(&ts, &t[TIMERS_FIRST], 1, no_fire));
    assert_false(vc__timer_running(&t[TIMERS_FIRST]));
    assert_int_equal(vc__timers_next(&ts), 100);

    /* Moving, and restarting after a stop, need no memory. */
    assert_true(vc__timer_start(&ts, &t[0], 50, no_fire));
    vc__timer_stop(&ts, &t[1]);
    assert_true(vc__timer_start(&ts, &t[TIMERS_FIRST], 1, no_fire));
    assert_int_equal(vc__timers_next(&ts), 1);
    no_memory = false;
    vc__timers_fini(&ts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_a_timer_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
