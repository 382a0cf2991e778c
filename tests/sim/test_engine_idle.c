/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An engine without work sleeps. A timer and the completions that its work
 * causes are no reason to poll, and do not predict the next request. Traffic is
 * such a reason, and does predict it, also for a caller that blocks. The clock and epoll are simulated,
 * because those of the machine may be delayed. */
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

#define SPIN_US 100000u
/* So short that polling for the next tick would pay if a tick were a
 * request. */
#define TICK_US 1000u
#define TICKS   50u

/* Far fewer polls than between two readings of the clock, but far more than are
 * needed. */
#define POLLS_A_TICK 12u

struct bench {
    struct vc__engine engine;
    struct vc__source source;
    struct vc__timer timer;
    struct vc__waiter waiter;
    unsigned ticks, polls;
    bool completed; /* by the tick; the source will find it */
    bool traffic;   /* the source finds a request instead */
    bool replies;   /* which is the reply that the waiter awaits */
    bool asks;      /* the tick sends a PING, ... */
    unsigned after; /* ... answered after so many polls; 0: never */
    unsigned since; /* polls since the PING */
    unsigned burst; /* PINGs of peers with each tick, ... */
    unsigned left;  /* ... of which so many are still to come */
};

/* Simulates the peer's answer. True when it arrives in this poll. */
static bool
answer_comes(struct bench *b)
{
    bool comes = b->engine.awaiting_answers > 0 && ++b->since == b->after;

    if (comes)
        b->engine.awaiting_answers--;
    return comes;
}

/* Simulates PINGs of many peers, one in each third poll. True when one comes. */
static bool
ping_comes(struct bench *b)
{
    bool comes = b->left > 0 && ++b->since % 3 == 0;

    b->left -= comes;
    b->engine.pings += comes;
    return comes;
}

static unsigned
source_poll(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);
    bool found = b->completed;

    b->polls++;
    b->completed = false;
    if (found && b->traffic)
        b->engine.traffic = true;
    if (found && b->replies)
        vc__waiter_done(&b->waiter);
    return found + answer_comes(b) + ping_comes(b);
}

static void
source_raise(struct bench *b)
{
    uint64_t one = 1;

    assert_int_equal(sizeof one, write(b->source.fd, &one, sizeof one));
}

static void
source_notify(struct bench *b)
{
    b->completed = true;
    source_raise(b);
}

/* A PING that is to come ends the sleep. */
static void
source_arm(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);

    if (b->left > 0)
        source_raise(b);
}

static void
source_ready(struct vc__source *s)
{
    uint64_t count;

    assert_int_equal(sizeof count, read(s->fd, &count, sizeof count));
}

/* The last tick completes the waiter. */
static void
tick(struct vc__timer *t)
{
    struct bench *b = caa_container_of(t, struct bench, timer);

    if (b->ticks == 0)
        b->polls = 0; /* those were for the waiter */
    if (b->burst > 0) {
        b->left += b->burst;
    } else if (b->asks) {
        b->engine.awaiting_answers++;
        b->since = 0;
    } else {
        source_notify(b);
    }
    if (++b->ticks < TICKS)
        vc__timer_start(&b->engine.timers, t, vc__now() + TICK_US, tick);
    else
        vc__waiter_done(&b->waiter);
}

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_int_equal(0, vc__engine_init(&b->engine, SPIN_US));
    vc__spin_init(&b->engine.spin, SPIN_US, VC__WAKEUP_MAX_US);
    vc__waiter_init(&b->waiter);
    b->source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(b->source.fd >= 0);
    b->source.poll = source_poll;
    b->source.arm = source_arm;
    b->source.ready = source_ready;
    assert_int_equal(0, vc__engine_add(&b->engine, &b->source));
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

/* A waiter counts as traffic: the engine polls for it first, and then sleeps,
 * as nothing has arrived. The ticks begin when it sleeps. */
static void
ticks_run(struct bench *b)
{
    assert_true(vc__timer_start(&b->engine.timers, &b->timer,
                                vc__now() + 10 * TICK_US, tick));
    assert_true(vc__engine_wait(&b->engine, &b->waiter, VC__FOREVER));
    assert_int_equal(TICKS, b->ticks);
}

static uint64_t
count_of(const struct bench *b, enum vc__count which)
{
    return vc__count_get(&b->engine.ledger, which);
}

static void
what_timers_do_is_no_traffic(void **state)
{
    struct bench *b = *state;

    ticks_run(b);
    assert_in_range(b->polls, TICKS, TICKS * POLLS_A_TICK);
}

static void
requests_are_a_reason_to_poll(void **state)
{
    struct bench *b = *state;

    b->traffic = true;
    ticks_run(b);
    assert_in_range(b->polls, 10 * TICKS * POLLS_A_TICK, UINT32_MAX);
}

static void
reply_comes(struct vc__timer *t)
{
    source_notify(caa_container_of(t, struct bench, timer));
}

/* Waits for a reply that comes so much later. Returns how often the engine was
 * polled. */
static unsigned
polls_for_reply(struct bench *b, uint64_t us)
{
    b->polls = 0;
    vc__waiter_init(&b->waiter);
    assert_true(vc__timer_start(&b->engine.timers, &b->timer, vc__now() + us,
                                reply_comes));
    assert_true(vc__engine_wait(&b->engine, &b->waiter, VC__FOREVER));
    return b->polls;
}

/* A caller that blocks returns as soon as its reply is there, so the engine
 * looks no more whether there was traffic. */
static void
what_ends_a_wait_tells_how_long_to_poll_the_next_time(void **state)
{
    struct bench *b = *state;
    const uint64_t late_us = 10 * VC__SPIN_SOON * VC__WAKEUP_MAX_US;
    unsigned polls = 0;

    b->traffic = b->replies = true;
    for (unsigned i = 0; i < 2 * VC__SPIN_VAIN; i++)
        polls = polls_for_reply(b, late_us);
    /* Those before the clock is read; thousands while it polls for long. */
    assert_in_range(polls, 1, 10 * POLLS_A_TICK);
}

/* An answer that comes within the expected time is found by polling, so it ends
 * no sleep. */
static void
answers_to_pings_are_polled_for(void **state)
{
    struct bench *b = *state;

    b->asks = true;
    b->after = 2 * POLLS_A_TICK;
    ticks_run(b);
    /* The wait ends with the last tick. */
    assert_int_equal(1, b->engine.awaiting_answers);
    assert_in_range(b->polls, (TICKS - 1) * b->after, UINT32_MAX);
    assert_int_equal(0, count_of(b, VC__COUNT_wakeups_event));
}

/* Many peers that ask at about the same time wake the engine once. */
static void
further_pings_of_peers_are_polled_for(void **state)
{
    struct bench *b = *state;

    b->burst = 20;
    ticks_run(b);
    assert_in_range(count_of(b, VC__COUNT_wakeups_event), 0, 2 * TICKS);
    assert_in_range(b->engine.pings, (TICKS - 1) * b->burst, UINT32_MAX);
}

/* Though the engine sends a PING each tick, and may poll only as long as a
 * wake-up takes. */
static void
a_peer_that_does_not_answer_lets_the_engine_sleep(void **state)
{
    struct bench *b = *state;

    b->asks = true;
    ticks_run(b);
    assert_in_range(count_of(b, VC__COUNT_wakeups_timer), TICKS - 1, TICKS + 1);
}

/* Each tick ends a sleep. So does the completion that it causes, unless a poll
 * found it before. */
static void
each_wake_up_is_counted_by_its_cause(void **state)
{
    struct bench *b = *state;

    ticks_run(b);
    assert_in_range(count_of(b, VC__COUNT_wakeups_timer), TICKS / 2, TICKS);
    assert_in_range(count_of(b, VC__COUNT_wakeups_event), 0, TICKS);
    assert_int_equal(0, count_of(b, VC__COUNT_wakeups_told));
}

static void *
finish(void *arg)
{
    struct bench *b = arg;

    while (!atomic_load(&b->engine.asleep))
        sched_yield();
    vc__waiter_done(&b->waiter);
    vc__engine_stir(&b->engine);
    return NULL;
}

/* A wake-up that comes just before the engine sleeps keeps it awake; then the
 * test tries again. */
static void
a_wake_up_by_another_thread_is_told_from_others(void **state)
{
    struct bench *b = *state;
    pthread_t thread;

    for (unsigned i = 0; i < 1000; i++) {
        vc__waiter_init(&b->waiter);
        assert_int_equal(0, pthread_create(&thread, NULL, finish, b));
        assert_true(vc__engine_wait(&b->engine, &b->waiter, VC__FOREVER));
        pthread_join(thread, NULL);
        if (count_of(b, VC__COUNT_wakeups_told) > 0)
            break;
    }
    assert_int_equal(1, count_of(b, VC__COUNT_wakeups_told));
    assert_int_equal(0, count_of(b, VC__COUNT_wakeups_timer));
    assert_int_equal(0, count_of(b, VC__COUNT_wakeups_event));
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_timers_do_is_no_traffic),
        T(requests_are_a_reason_to_poll),
        T(what_ends_a_wait_tells_how_long_to_poll_the_next_time),
        T(answers_to_pings_are_polled_for),
        T(further_pings_of_peers_are_polled_for),
        T(a_peer_that_does_not_answer_lets_the_engine_sleep),
        T(each_wake_up_is_counted_by_its_cause),
        T(a_wake_up_by_another_thread_is_told_from_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
