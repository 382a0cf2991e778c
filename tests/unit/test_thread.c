/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/thread.c: telling a thread that uses the processor from one
 * that waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#include "transport/core/clock.h"
#include "transport/core/thread.h"

#define PATIENCE_US 10000000u

static atomic_int number;
static atomic_bool end;

static void *
burn(void *arg)
{
    (void)arg;
    atomic_store(&number, vc__thread_number());
    while (!atomic_load(&end))
        continue;
    return NULL;
}

static void *
sleep_long(void *arg)
{
    const struct timespec t = {.tv_nsec = 1000000};

    (void)arg;
    atomic_store(&number, vc__thread_number());
    while (!atomic_load(&end))
        nanosleep(&t, NULL);
    return NULL;
}

/* Waits until the thread is reported so; false after PATIENCE_US. */
static bool
is_seen(bool burning)
{
    uint64_t until = vc__now() + PATIENCE_US;

    while (vc__now() < until)
        if (atomic_load(&number) != 0 &&
            vc__thread_burns(atomic_load(&number)) == burning)
            return true;
    return false;
}

static void
check(void *(*run)(void *arg), bool burning)
{
    pthread_t thread;

    atomic_store(&number, 0);
    atomic_store(&end, false);
    assert_int_equal(0, pthread_create(&thread, NULL, run, NULL));
    assert_true(is_seen(burning));
    atomic_store(&end, true);
    pthread_join(thread, NULL);
}

static void
a_thread_that_uses_the_processor_burns(void **state)
{
    (void)state;
    check(burn, true);
    assert_true(vc__thread_burns(vc__thread_number()));
}

static void
a_thread_that_sleeps_does_not(void **state)
{
    (void)state;
    check(sleep_long, false);
}

static void
one_that_is_gone_does_not(void **state)
{
    (void)state;
    assert_false(vc__thread_burns(0));
    assert_false(vc__thread_burns(INT32_MAX));
}

static void
waits_are_counted(void **state)
{
    const struct timespec t = {.tv_nsec = 1000000};
    long before = vc__thread_waits();

    (void)state;
    nanosleep(&t, NULL);
    assert_in_range(vc__thread_waits() - before, 1, 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_uses_the_processor_burns),
        cmocka_unit_test(a_thread_that_sleeps_does_not),
        cmocka_unit_test(one_that_is_gone_does_not),
        cmocka_unit_test(waits_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
