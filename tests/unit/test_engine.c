/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An engine alone: every event that ends a wait, or the serving, ends it at
 * once, also when a descriptor or a timer reports it while the engine polls. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/core/engine.h"

/* The engine polls this long before it sleeps, so that events arrive while it
 * polls. A sleep that should not happen lasts until the deadline. */
#define SPIN_US     50000u
#define DEADLINE_US 5000000u
#define SOON_US     4000000u

struct bench {
    struct vc__engine engine;
    struct vc__source source;
    struct vc__timer timer;
    struct vc__task task;
    struct vc__waiter waiter;
    unsigned polls;
    atomic_bool stop, served;
};

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_int_equal(0, vc__engine_init(&b->engine, SPIN_US));
    vc__waiter_init(&b->waiter);
    b->source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(b->source.fd >= 0);
    *state = b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    vc__engine_fini(&b->engine);
    close(b->source.fd);
    free(b);
    return 0;
}

static void
assert_wait_ends_soon(struct bench *b)
{
    uint64_t start = vc__now();

    assert_true(vc__engine_wait(&b->engine, &b->waiter, start + DEADLINE_US));
    assert_in_range(vc__now() - start, 0, SOON_US);
}

/* --- waiting ----------------------------------------------------------- */

static void
source_finish(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);
    uint64_t count;

    assert_int_equal(sizeof count, read(s->fd, &count, sizeof count));
    vc__waiter_done(&b->waiter);
}

static void
a_descriptor_ends_a_wait_that_polls(void **state)
{
    struct bench *b = *state;
    uint64_t one = 1;

    b->source.ready = source_finish;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    assert_int_equal(sizeof one, write(b->source.fd, &one, sizeof one));

    assert_wait_ends_soon(b);
}

/* As another thread would, while the holder polls; no descriptor
 * becomes readable. */
static unsigned
source_stir(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    if (!vc__waiter_is_done(&b->waiter) && ++b->polls == 100) {
        vc__waiter_done(&b->waiter);
        vc__engine_stir(&b->engine);
    }
    return 0;
}

static void
source_arm(struct vc__source *s)
{
    (void)s;
}

static void
who_stirs_the_engine_ends_a_wait_that_polls(void **state)
{
    struct bench *b = *state;

    b->source.poll = source_stir;
    b->source.arm = source_arm;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));

    assert_wait_ends_soon(b);
}

static void
timer_finish(struct vc__timer *t)
{
    vc__waiter_done(&caa_container_of(t, struct bench, timer)->waiter);
}

static void
a_timer_ends_a_wait_that_polls(void **state)
{
    struct bench *b = *state;

    assert_true(vc__timer_start(&b->engine.timers, &b->timer,
                                vc__now() + SPIN_US / 10, timer_finish));

    assert_wait_ends_soon(b);
}

/* Finds something in each 63rd poll. */
static unsigned
source_find_rarely(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    return ++b->polls % 63 == 0;
}

/* What is found now and then must not keep the engine from the clock. */
static void
a_timer_is_due_after_64_polls_at_most_whatever_these_find(void **state)
{
    struct bench *b = *state;

    b->source.poll = source_find_rarely;
    b->source.arm = source_arm;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    assert_true(
        vc__timer_start(&b->engine.timers, &b->timer, vc__now(), timer_finish));
    assert_wait_ends_soon(b);
    assert_in_range(b->polls, 1, 2 * 64);
}

static void
a_timer_ends_a_wait_that_sleeps(void **state)
{
    struct bench *b = *state;

    assert_true(vc__timer_start(&b->engine.timers, &b->timer,
                                vc__now() + 3 * SPIN_US, timer_finish));

    assert_wait_ends_soon(b);
}

static void
task_finish(struct vc__task *t)
{
    vc__waiter_done(&caa_container_of(t, struct bench, task)->waiter);
}

static void *
post_later(void *arg)
{
    struct bench *b = arg;

    while (!atomic_load(&b->engine.asleep))
        continue;
    vc__engine_post(&b->engine, &b->task);
    return NULL;
}

static void
a_task_of_another_thread_ends_a_wait_that_sleeps(void **state)
{
    struct bench *b = *state;
    pthread_t thread;

    b->task.run = task_finish;
    assert_int_equal(0, pthread_create(&thread, NULL, post_later, b));

    assert_wait_ends_soon(b);
    pthread_join(thread, NULL);
}

static void
a_wait_for_nothing_ends_at_its_deadline(void **state)
{
    struct bench *b = *state;
    uint64_t start = vc__now();

    assert_false(vc__engine_wait(&b->engine, &b->waiter, start + SPIN_US * 2));

    assert_in_range(vc__now() - start, SPIN_US * 2, SOON_US);
}

/* Replaces sched_yield() of the system: counts the calls, and records how soon
 * after `yields_since` the first comes. */
static unsigned yields;
static uint64_t yields_since, yields_soonest;

int
sched_yield(void)
{
    uint64_t after = vc__now() - yields_since;

    if (after < yields_soonest)
        yields_soonest = after;
    yields++;
    return 0;
}

/* A round trip has ended by then (YIELD_AFTER_US). */
static void
a_wait_that_polls_yields_after_50_us_and_not_before(void **state)
{
    struct bench *b = *state;
    uint64_t due = vc__now() + DEADLINE_US;

    yields = 0;
    yields_soonest = UINT64_MAX;
    for (unsigned i = 0; i < 10 || (yields == 0 && vc__now() < due); i++) {
        yields_since = vc__now();
        assert_false(
            vc__engine_wait(&b->engine, &b->waiter, yields_since + 1000));
    }
    assert_true(yields > 0);
    assert_in_range(yields_soonest, 50, DEADLINE_US);
}

/* --- serving ----------------------------------------------------------- */

/* Kicks the engine between two of its clock readings. */
static unsigned
source_stop(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    if (!atomic_exchange(&b->stop, true))
        vc__engine_kick(&b->engine);
    return 0;
}

static void *
serve(void *arg)
{
    struct bench *b = arg;

    vc__engine_serve(&b->engine, &b->stop, false);
    atomic_store(&b->served, true);
    return NULL;
}

static void
serving_ends_when_it_is_kicked_while_it_polls(void **state)
{
    struct bench *b = *state;
    uint64_t due = vc__now() + DEADLINE_US;
    pthread_t thread;

    b->source.poll = source_stop;
    b->source.arm = source_arm;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    assert_int_equal(0, pthread_create(&thread, NULL, serve, b));

    while (!atomic_load(&b->served) && vc__now() < due)
        usleep(1000);
    assert_true(atomic_load(&b->served));
    pthread_join(thread, NULL);
}

/* --- catching up ------------------------------------------------------- */

#define SHARES 5u /* the source does its work in so many parts */

static unsigned
source_share(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    b->polls += b->polls < SHARES;
    return b->polls < SHARES;
}

static void
who_catches_up_does_all_that_waits(void **state)
{
    struct bench *b = *state;

    b->source.poll = source_share;
    b->source.arm = source_arm;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    vc__engine_catch_up(&b->engine, vc__now() + DEADLINE_US);
    assert_int_equal(SHARES, b->polls);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_descriptor_ends_a_wait_that_polls),
        T(who_stirs_the_engine_ends_a_wait_that_polls),
        T(a_timer_ends_a_wait_that_polls),
        T(a_timer_is_due_after_64_polls_at_most_whatever_these_find),
        T(a_timer_ends_a_wait_that_sleeps),
        T(a_task_of_another_thread_ends_a_wait_that_sleeps),
        T(a_wait_for_nothing_ends_at_its_deadline),
        T(a_wait_that_polls_yields_after_50_us_and_not_before),
        T(serving_ends_when_it_is_kicked_while_it_polls),
        T(who_catches_up_does_all_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
