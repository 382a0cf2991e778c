/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An engine in the event loop of a program, with the kernel's own epoll and
 * timerfd: its descriptor is readable when the engine has work, but not while
 * another thread does that work. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/core/engine.h"

/* No event takes longer than PATIENCE_MS to arrive, and none
 * arrives by itself. */
#define PATIENCE_MS 10000
#define QUIET_MS    20

struct bench {
    struct vc__engine engine;
    int loop;
    struct vc__source source;
    struct vc__timer timer;
    struct vc__task task;
    struct vc__waiter waiter;
    atomic_uint ran;
};

static bool
tells(struct bench *b, int ms)
{
    struct epoll_event event;
    int n;

    do
        n = epoll_wait(b->loop, &event, 1, ms);
    while (n < 0 && errno == EINTR); /* the process was stopped for a while */
    if (n == 1)
        assert_ptr_equal(&b->engine, event.data.ptr);
    return n == 1;
}

/* Runs turns until the descriptor is not readable any more. */
static void
settle(struct bench *b)
{
    for (unsigned i = 0; tells(b, QUIET_MS); i++) {
        assert_true(i < 10);
        vc__engine_turn(&b->engine);
    }
}

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_int_equal(0, vc__engine_init(&b->engine, 0));
    vc__waiter_init(&b->waiter);
    b->source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    b->loop = epoll_create1(EPOLL_CLOEXEC);
    assert_true(b->source.fd >= 0 && b->loop >= 0);
    assert_int_equal(0, vc__engine_watch(&b->engine, b->loop));
    settle(b);
    *state = b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    vc__engine_fini(&b->engine);
    close(b->source.fd);
    close(b->loop);
    free(b);
    return 0;
}

static void
task_run(struct vc__task *t)
{
    atomic_fetch_add(&caa_container_of(t, struct bench, task)->ran, 1);
}

static void
source_ready(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);
    uint64_t count;

    assert_int_equal(sizeof count, read(s->fd, &count, sizeof count));
    atomic_fetch_add(&b->ran, 1);
}

static void
timer_fire(struct vc__timer *t)
{
    atomic_fetch_add(&caa_container_of(t, struct bench, timer)->ran, 1);
}

/* --- readiness ---------------------------------------------------------- */

/* The descriptor becomes readable, a turn does the work, and the descriptor is
 * not readable any more. */
static void
is_told_and_done(struct bench *b)
{
    assert_true(tells(b, PATIENCE_MS));
    assert_true(vc__engine_turn(&b->engine));
    assert_int_equal(1, atomic_load(&b->ran));
    settle(b);
    assert_int_equal(1, atomic_load(&b->ran));
}

static void
a_task_is_told(void **state)
{
    struct bench *b = *state;

    b->task.run = task_run;
    vc__engine_post(&b->engine, &b->task);
    is_told_and_done(b);
}

static void
a_descriptor_is_told(void **state)
{
    struct bench *b = *state;
    uint64_t one = 1;

    b->source.ready = source_ready;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    assert_int_equal(sizeof one, write(b->source.fd, &one, sizeof one));
    is_told_and_done(b);
    vc__engine_remove(&b->engine, &b->source);
}

/* Starts the timer in a task, as only the holder may. */
static void
timer_start(struct vc__task *t)
{
    struct bench *b = caa_container_of(t, struct bench, task);

    assert_true(vc__timer_start(&b->engine.timers, &b->timer, vc__now() + 50000,
                                timer_fire));
}

static void
a_timer_is_told_when_it_is_due(void **state)
{
    struct bench *b = *state;
    uint64_t start = vc__now();

    b->task.run = timer_start;
    vc__engine_post(&b->engine, &b->task);
    while (atomic_load(&b->ran) == 0) {
        assert_true(tells(b, PATIENCE_MS));
        vc__engine_turn(&b->engine);
    }
    assert_true(vc__now() - start >= 50000);
    settle(b);
    assert_int_equal(1, atomic_load(&b->ran));
}

/* Has work at the very moment at which the engine is left. */
static unsigned
source_late(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    return atomic_exchange(&b->ran, 0);
}

static void
arm_nothing(struct vc__source *s)
{
    (void)s;
}

static void
arm_late(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    atomic_store(&b->ran, 1);
    s->arm = arm_nothing;
}

static void
what_comes_while_the_engine_is_left_is_told(void **state)
{
    struct bench *b = *state;

    b->source.poll = source_late;
    b->source.arm = arm_late;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
    vc__engine_turn(&b->engine);
    assert_true(tells(b, PATIENCE_MS));
    settle(b);
    vc__engine_remove(&b->engine, &b->source);
}

/* --- beside another thread ----------------------------------------------- */

static void *
wait_main(void *arg)
{
    struct bench *b = arg;

    vc__engine_wait(&b->engine, &b->waiter, VC__FOREVER);
    return NULL;
}

/* The thread of a blocked caller holds the engine and does its work: the
 * loop is woken at most once. After that thread has left, the loop gets the
 * work again. */
static void
what_a_holder_sees_to_is_not_told_again_and_again(void **state)
{
    struct bench *b = *state;
    pthread_t thread;
    unsigned told = 0;

    b->task.run = task_run;
    assert_int_equal(0, pthread_create(&thread, NULL, wait_main, b));
    while (!vc__token_is_held(&b->engine.token))
        sched_yield();
    for (unsigned i = 1; i <= 20; i++) {
        vc__engine_post(&b->engine, &b->task);
        while (atomic_load(&b->ran) < i) {
            if (!tells(b, 0))
                continue;
            told++;
            assert_false(vc__engine_turn(&b->engine));
        }
    }
    assert_in_range(told, 0, 1);
    vc__waiter_done(&b->waiter);
    vc__engine_kick(&b->engine);
    pthread_join(thread, NULL);
    settle(b);
    vc__engine_post(&b->engine, &b->task);
    assert_true(tells(b, PATIENCE_MS));
    assert_true(vc__engine_turn(&b->engine));
    assert_int_equal(21, atomic_load(&b->ran));
}

/* vc_runtime_poll() relies on this: after a turn without work, the program goes
 * on waiting. */
static void
a_turn_that_finds_nothing_to_do_says_so(void **state)
{
    struct bench *b = *state;

    assert_false(vc__engine_turn(&b->engine));

    b->task.run = task_run;
    vc__engine_post(&b->engine, &b->task);
    assert_true(vc__engine_turn(&b->engine));
    assert_false(vc__engine_turn(&b->engine));
    assert_int_equal(1, atomic_load(&b->ran));
}

#define ROUNDS 2000u

static void *
come_and_go(void *arg)
{
    struct bench *b = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct vc__waiter w;

        vc__waiter_init(&w);
        vc__engine_wait(&b->engine, &w, vc__now());
    }
    return NULL;
}

/* Another thread takes and leaves the token, also between the loop's
 * epoll_wait() and its turn: no task is lost. */
static void
nothing_is_lost_while_others_come_and_go(void **state)
{
    struct bench *b = *state;
    pthread_t thread;

    b->task.run = task_run;
    assert_int_equal(0, pthread_create(&thread, NULL, come_and_go, b));
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t until = vc__now() + PATIENCE_MS * 1000u;

        vc__engine_post(&b->engine, &b->task);
        while (atomic_load(&b->ran) < i) {
            assert_true(vc__now() < until);
            if (tells(b, QUIET_MS)) /* or the other thread ran it */
                vc__engine_turn(&b->engine);
        }
    }
    pthread_join(thread, NULL);
    settle(b);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_task_is_told),
        T(a_descriptor_is_told),
        T(a_timer_is_told_when_it_is_due),
        T(what_a_holder_sees_to_is_not_told_again_and_again),
        T(nothing_is_lost_while_others_come_and_go),
        T(what_comes_while_the_engine_is_left_is_told),
        T(a_turn_that_finds_nothing_to_do_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
