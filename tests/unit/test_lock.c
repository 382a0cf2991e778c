/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/lock.c: one thread has the lock at a time, and those that wait
 * for it sleep and are woken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "transport/core/clock.h"
#include "transport/core/lock.h"
#include "transport/core/thread.h"

#define THREADS     4
#define TURNS       20000
#define PATIENCE_US 10000000u

static struct vc__lock lock;
static unsigned count; /* lock */
static atomic_int number;

static void *
count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < TURNS; i++) {
        unsigned was;

        vc__lock_take(&lock);
        was = count;
        if (i % 64 == 0)
            sched_yield();
        count = was + 1;
        if (i % 2 == 0)
            vc__lock_give(&lock);
        else
            vc__lock_give_fenced(&lock);
    }
    return NULL;
}

/* Runs this in so many threads, with the lock as it is. */
static void
threads_start(pthread_t *threads, int n, void *(*run)(void *))
{
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
}

static void
threads_join(const pthread_t *threads, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void
one_thread_has_it_at_a_time(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    vc__lock_init(&lock);
    count = 0;
    threads_start(threads, THREADS, count_up);
    threads_join(threads, THREADS);
    assert_int_equal(count, THREADS * TURNS);
    assert_int_equal(atomic_load(&lock.word), VC__LOCK_FREE);
}

static void
only_a_free_one_can_be_tried(void **state)
{
    (void)state;
    vc__lock_init(&lock);
    assert_true(vc__lock_try(&lock));
    assert_false(vc__lock_try(&lock));
    vc__lock_give(&lock);
    assert_true(vc__lock_try(&lock));
    vc__lock_give_fenced(&lock);
    assert_true(vc__lock_try(&lock));
}

static void *
wait_and_count(void *arg)
{
    (void)arg;
    atomic_store(&number, vc__thread_number());
    vc__lock_take(&lock);
    count++;
    vc__lock_give(&lock);
    return NULL;
}

/* Waits until a thread has said that it sleeps, and does. */
static void
await_sleep(void)
{
    uint64_t until = vc__now() + PATIENCE_US;

    while (atomic_load(&lock.word) != VC__LOCK_AWAITED ||
           atomic_load(&number) == 0 ||
           vc__thread_burns(atomic_load(&number))) {
        assert_true(vc__now() < until);
        sched_yield();
    }
}

/* None of them uses the processor, and each is woken by the one before. */
static void
all_that_wait_sleep_and_are_woken(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    vc__lock_init(&lock);
    count = 0;
    vc__lock_take(&lock);
    for (int i = 0; i < THREADS; i++) {
        atomic_store(&number, 0);
        threads_start(&threads[i], 1, wait_and_count);
        await_sleep();
    }
    assert_int_equal(count, 0);
    vc__lock_give(&lock);
    threads_join(threads, THREADS);
    assert_int_equal(count, THREADS);
    assert_true(vc__lock_try(&lock));
}

static atomic_int signals;

static void
count_signal(int which)
{
    (void)which;
    atomic_fetch_add(&signals, 1);
}

static void *
wait_with_errno(void *arg)
{
    errno = EDOM;
    wait_and_count(arg);
    atomic_store(&number, errno);
    return NULL;
}

/* A signal's handler ends the sleep early. */
static void
a_thread_that_has_waited_has_its_errno(void **state)
{
    const struct sigaction counted = {.sa_handler = count_signal};
    pthread_t thread;
    uint64_t until;

    (void)state;
    vc__lock_init(&lock);
    atomic_store(&number, 0);
    assert_int_equal(sigaction(SIGUSR1, &counted, NULL), 0);
    vc__lock_take(&lock);
    threads_start(&thread, 1, wait_with_errno);
    await_sleep();
    assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
    until = vc__now() + PATIENCE_US;
    while (atomic_load(&signals) == 0) {
        assert_true(vc__now() < until);
        sched_yield();
    }
    vc__lock_give(&lock);
    threads_join(&thread, 1);
    assert_int_equal(atomic_load(&number), EDOM);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_free_one_can_be_tried),
        cmocka_unit_test(one_thread_has_it_at_a_time),
        cmocka_unit_test(all_that_wait_sleep_and_are_woken),
        cmocka_unit_test(a_thread_that_has_waited_has_its_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
