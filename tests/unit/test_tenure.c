/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tenures: when the engine has them, by made-up times; and threads that share
 * an engine which has them for sure. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/core/engine.h"

/* --- when there are any -------------------------------------------------- */

#define WAKEUP_US 10u
#define TENURE_US (VC__TENURE_WAKEUPS * WAKEUP_US)
#define STEP_US   (TENURE_US / 10)

/* An engine's time, in which callers have replies. */
struct world {
    struct vc__tenure tenure;
    uint64_t now;
    unsigned without, with; /* replies a step, without and with tenures */
};

static bool
has_tenures(const struct world *w)
{
    return atomic_load(&w->tenure.us) != 0;
}

/* Lets so many tenures' time pass. In each step some thread leaves the engine
 * while others wait. Returns in how many steps there were tenures. */
static unsigned
live(struct world *w, unsigned tenures)
{
    unsigned n = 0;

    for (unsigned i = 0; i < tenures * 10; i++) {
        unsigned replies = has_tenures(w) ? w->with : w->without;

        n += has_tenures(w);
        w->now += STEP_US;
        while (replies-- > 0)
            vc__tenure_replied(&w->tenure);
        vc__tenure_review(&w->tenure, w->now, WAKEUP_US);
    }
    return n;
}

static struct world
world_of(unsigned without, unsigned with)
{
    struct world w = {.now = 1000000, .without = without, .with = with};

    vc__tenure_init(&w.tenure);
    return w;
}

static void
at_first_there_are_none(void **state)
{
    struct world w = world_of(10, 20);

    (void)state;
    assert_false(has_tenures(&w));
    live(&w, 1);
    assert_false(has_tenures(&w));
}

/* Of a long time, the trials take little. */
static void
there_are_some_where_they_pay(void **state)
{
    struct world w = world_of(10, 13);
    unsigned settle = 2 * VC__TENURES_TRIAL + 2 * VC__TENURES_WITH_MOST;

    (void)state;
    live(&w, settle);
    assert_in_range(live(&w, 4 * VC__TENURES_WITH_MOST),
                    40 * VC__TENURES_WITH_MOST * 9 / 10,
                    40 * VC__TENURES_WITH_MOST);
}

static void
there_are_none_where_they_hardly_pay(void **state)
{
    struct world w = world_of(10, 12);
    unsigned settle = 2 * VC__TENURES_WITHOUT_MOST;

    (void)state;
    live(&w, settle);
    assert_in_range(live(&w, 4 * VC__TENURES_WITHOUT_MOST), 1,
                    40 * VC__TENURES_WITHOUT_MOST / 100);
}

/* They are found within the first ten tenures' time. */
static void
they_begin_soon(void **state)
{
    struct world w = world_of(1, 10);

    (void)state;
    live(&w, 2 * VC__TENURES_TRIAL + 2);
    assert_true(has_tenures(&w));
    assert_true(w.tenure.decided);
}

static void
they_end_when_they_do_not_pay_any_more(void **state)
{
    struct world w = world_of(1, 10);

    (void)state;
    live(&w, 4 * VC__TENURES_WITH_MOST);
    w.without = 10;
    for (unsigned i = 0; !w.tenure.decided || has_tenures(&w); i++) {
        assert_in_range(i, 0, VC__TENURES_WITH_MOST + 2 * VC__TENURES_TRIAL);
        live(&w, 1);
    }
    assert_in_range(live(&w, VC__TENURES_WITHOUT / 2), 0, 0);
}

/* A trial that a pause disturbs says nothing. */
static void
a_trial_begins_anew_after_a_pause(void **state)
{
    struct world w = world_of(10, 10);

    (void)state;
    live(&w, VC__TENURES_TRIAL - 1);
    w.now += TENURE_US * VC__TENURES_TRIAL; /* no replies: a bad pace */
    live(&w, VC__TENURES_TRIAL - 1);
    assert_false(has_tenures(&w));
    live(&w, 2 + VC__TENURES_TRIAL);
    assert_false(has_tenures(&w));
    assert_true(w.tenure.decided);
}

static void
a_decision_ends_when_nobody_waits(void **state)
{
    struct world w = world_of(1, 10);

    (void)state;
    live(&w, 2 * VC__TENURES_TRIAL + 2);
    w.now += TENURE_US * VC__TENURES_GAP;
    live(&w, 1);
    assert_false(w.tenure.decided);
    assert_false(has_tenures(&w));
}

static void
none_when_they_are_forbidden(void **state)
{
    struct world w = world_of(1, 10);

    (void)state;
    live(&w, 2 * VC__TENURES_TRIAL + 2);
    vc__tenure_forbid(&w.tenure);
    assert_int_equal(0, vc__tenure_judge(&w.tenure));
    assert_false(vc__tenure_goes_on(&w.tenure, WAKEUP_US));
    assert_false(has_tenures(&w));
}

/* Threads count replies without a lock, so the number may go back. */
static void
a_count_that_goes_back_is_no_good_pace(void **state)
{
    struct world w = world_of(10, 10);

    (void)state;
    while (!has_tenures(&w))
        live(&w, 1);
    atomic_store(&w.tenure.replies, w.tenure.replies_begin - 1000);
    while (!w.tenure.decided)
        live(&w, 1);
    assert_false(has_tenures(&w));
}

/* It was eager in a burst of calls, and has not called since. */
static void
a_thread_that_was_away_does_not_keep_the_engine(void **state)
{
    struct vc__tenure t;
    uint64_t until;

    (void)state;
    vc__tenure_init(&t);
    t.decided = true;
    t.last = vc__now();
    t.end = VC__FOREVER;
    atomic_store(&t.us, 20000);
    vc__tenure_left(&t);
    vc__tenure_judge(&t);
    vc__tenure_entered(&t);
    until = vc__now() + 20000;
    while (vc__now() <= until)
        continue;
    assert_false(vc__tenure_goes_on(&t, 20000 / VC__TENURE_WAKEUPS));
}

static void
deferrals_last_for_the_tenures_of_those_before_but_not_for_ever(void **state)
{
    (void)state;
    assert_int_equal(2, vc__tenures_before(0));
    assert_int_equal(32, vc__tenures_before(15));
    assert_int_equal(VC__TENURES_DEFERRED, vc__tenures_before(31));
    assert_int_equal(VC__TENURES_DEFERRED, vc__tenures_before(UINT32_MAX));
}

/* --- threads ------------------------------------------------------------- */

#define THREADS     4u
#define CALLS       20000u
#define LONG_US     (20 * 1000000u) /* a tenure that no test outlives */
#define DEADLINE_US (5 * 1000000u)

/* An engine whose only source has a reply for each call, at the next poll. */
struct bench {
    struct vc__engine engine;
    struct vc__source source;
    pthread_mutex_t lock;
    struct cds_list_head calls; /* lock */
    atomic_bool late;           /* a call took long */
};

struct call {
    struct cds_list_head node;
    struct vc__waiter waiter;
};

static unsigned
replies_poll(struct vc__source *s)
{
    struct bench *b = caa_container_of(s, struct bench, source);
    struct call *call = NULL;

    pthread_mutex_lock(&b->lock);
    if (!cds_list_empty(&b->calls)) {
        call = cds_list_first_entry(&b->calls, struct call, node);
        cds_list_del(&call->node);
    }
    pthread_mutex_unlock(&b->lock);
    if (call == NULL)
        return 0;
    vc__tenure_replied(&b->engine.tenure);
    vc__waiter_done_in_turn(&call->waiter);
    return 1;
}

static void
replies_arm(struct vc__source *s)
{
    (void)s;
}

/* Has tenures of that length from now on, whether they pay or not. A wake-up
 * that costs so much makes no pause of a stall of the machine: see
 * vc__tenure_review(). */
static void
decide(struct bench *b, unsigned us)
{
    struct vc__tenure *t = &b->engine.tenure;

    b->engine.spin.wakeup_us = 64 * 1000000u;
    t->decided = true;
    t->last = t->begin = vc__now();
    t->end = VC__FOREVER;
    atomic_store(&t->us, us);
}

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_int_equal(0, vc__engine_init(&b->engine, 50000));
    pthread_mutex_init(&b->lock, NULL);
    CDS_INIT_LIST_HEAD(&b->calls);
    b->source = (struct vc__source){.poll = replies_poll, .arm = replies_arm};
    cds_list_add(&b->source.node, &b->engine.sources);
    *state = b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    assert_false(atomic_load(&b->late));
    cds_list_del(&b->source.node);
    vc__engine_fini(&b->engine);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return 0;
}

/* Makes a call; sets b->late if it takes long. */
static void
call(struct bench *b)
{
    uint64_t start = vc__now();
    struct call c;

    vc__waiter_init(&c.waiter);
    pthread_mutex_lock(&b->lock);
    cds_list_add_tail(&c.node, &b->calls);
    pthread_mutex_unlock(&b->lock);
    if (!vc__engine_wait(&b->engine, &c.waiter, start + 2 * DEADLINE_US) ||
        vc__now() - start > DEADLINE_US)
        atomic_store(&b->late, true);
}

static void *
calls_make(void *arg)
{
    struct bench *b = arg;

    for (unsigned i = 0; i < CALLS; i++)
        call(b);
    return NULL;
}

struct rare {
    struct bench *bench;
    atomic_bool over;
};

/* Calls, and sleeps in between. */
static void *
rare_calls_make(void *arg)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rare *r = arg;

    for (unsigned i = 0; i < 20; i++) {
        call(r->bench);
        nanosleep(&pause, NULL);
    }
    atomic_store(&r->over, true);
    return NULL;
}

/* Though the other thread would keep the engine for long; and that one does not
 * wait while the first sleeps. */
static void
a_thread_that_is_not_eager_is_served_at_once(void **state)
{
    struct bench *b = *state;
    struct rare r = {.bench = b};
    pthread_t thread;

    decide(b, LONG_US);
    assert_int_equal(0, pthread_create(&thread, NULL, rare_calls_make, &r));
    while (!atomic_load(&r.over))
        call(b);
    pthread_join(thread, NULL);
}

/* Each keeps the engine, and does not come back after its last call: the others
 * take it. */
static void
threads_share_an_engine(void **state)
{
    struct bench *b = *state;
    pthread_t threads[THREADS];

    decide(b, 2000);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, calls_make, b));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    assert_false(vc__token_is_held(&b->engine.token));
    call(b);
}

/* --- the engine --------------------------------------------------------- */

/* A task that queues a waiter for the token, as another thread would, which has
 * its reply at once. */
struct other {
    struct vc__task task;
    struct bench *bench;
    struct vc__waiter waiter;
};

static void
other_queue(struct vc__task *task)
{
    struct other *o = caa_container_of(task, struct other, task);

    vc__waiter_init(&o->waiter);
    assert_false(vc__token_enter(&o->bench->engine.token, &o->waiter, true));
    vc__waiter_done_in_turn(&o->waiter);
}

/* It may have been handed the token. */
static void
other_unqueue(struct other *o)
{
    struct vc__token *token = &o->bench->engine.token;

    if (vc__token_unqueue(token, &o->waiter))
        vc__token_drop(token);
}

static uint64_t
count_of(struct bench *b, enum vc__count which)
{
    return vc__count_get(&b->engine.ledger, which);
}

/* The thread becomes eager without a wait. */
static void
become_eager(struct vc__tenure *t)
{
    vc__tenure_left(t);
    assert_true(vc__tenure_judge(t) > 0);
    vc__tenure_entered(t);
}

/* While another one is deferred. */
static void
an_eager_thread_keeps_the_engine(void **state)
{
    struct bench *b = *state;
    struct other o = {.task.run = other_queue, .bench = b};
    unsigned made = 0;

    decide(b, LONG_US);
    become_eager(&b->engine.tenure);
    vc__engine_post(&b->engine, &o.task);
    while (made < CALLS && count_of(b, VC__COUNT_token_handovers) == 0) {
        call(b);
        made++;
    }

    other_unqueue(&o);
    assert_int_equal(CALLS, made);
    assert_int_equal(0, count_of(b, VC__COUNT_token_handovers));
}

/* The reply of a call comes after the engine has slept, which wakes it. */
struct sleeper {
    struct other other;
    struct vc__timer timer;
    struct vc__waiter waiter;
    bool notified; /* the other, then */
};

static uint64_t
sleeps_of(struct bench *b)
{
    return count_of(b, VC__COUNT_wakeups_timer) +
           count_of(b, VC__COUNT_wakeups_event) +
           count_of(b, VC__COUNT_wakeups_told);
}

/* A crowded host may let the timer be due before the engine sleeps. */
static void
sleeper_look(struct vc__timer *timer)
{
    struct sleeper *s = caa_container_of(timer, struct sleeper, timer);
    struct bench *b = s->other.bench;

    if (sleeps_of(b) == 0) {
        vc__timer_start(&b->engine.timers, timer, vc__now() + 10000,
                        sleeper_look);
        return;
    }
    s->notified = !vc__waiter_is_deferred(&s->other.waiter);
    vc__waiter_done(&s->waiter);
}

/* Its own reply does not come; it will not look at the time for long. */
static void
a_holder_that_sleeps_notifies_the_others(void **state)
{
    struct bench *b = *state;
    struct sleeper s = {.other = {.task.run = other_queue, .bench = b}};
    bool came;

    decide(b, LONG_US);
    vc__spin_init(&b->engine.spin, 0, WAKEUP_US);
    vc__waiter_init(&s.waiter);
    vc__engine_post(&b->engine, &s.other.task);
    assert_true(vc__timer_start(&b->engine.timers, &s.timer, vc__now() + 10000,
                                sleeper_look));
    came = vc__engine_wait(&b->engine, &s.waiter, vc__now() + DEADLINE_US);

    other_unqueue(&s.other);
    assert_true(came);
    assert_true(s.notified);
}

/* The program's loop advances it: nobody comes back to a token that was kept. */
static void
a_watched_engine_has_no_tenures(void **state)
{
    struct bench *b = *state;
    struct other o = {.task.run = other_queue, .bench = b};

    decide(b, LONG_US);
    vc__engine_post(&b->engine, &o.task);
    atomic_fetch_or(&b->engine.token.word, VC__TOKEN_WATCHED);
    b->engine.alarm = VC__FOREVER; /* no timer is due */
    call(b);
    atomic_fetch_and(&b->engine.token.word, ~VC__TOKEN_WATCHED);

    assert_int_equal(0, atomic_load(&b->engine.tenure.us));
    assert_true(vc__token_unqueue(&b->engine.token, &o.waiter));
    assert_true(vc__token_drop(&b->engine.token));
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_first_there_are_none),
        cmocka_unit_test(there_are_some_where_they_pay),
        cmocka_unit_test(there_are_none_where_they_hardly_pay),
        cmocka_unit_test(they_begin_soon),
        cmocka_unit_test(they_end_when_they_do_not_pay_any_more),
        cmocka_unit_test(a_trial_begins_anew_after_a_pause),
        cmocka_unit_test(a_decision_ends_when_nobody_waits),
        cmocka_unit_test(none_when_they_are_forbidden),
        cmocka_unit_test(a_count_that_goes_back_is_no_good_pace),
        cmocka_unit_test(a_thread_that_was_away_does_not_keep_the_engine),
        cmocka_unit_test(
            deferrals_last_for_the_tenures_of_those_before_but_not_for_ever),
        CASE(a_thread_that_is_not_eager_is_served_at_once),
        CASE(threads_share_an_engine),
        CASE(an_eager_thread_keeps_the_engine),
        CASE(a_holder_that_sleeps_notifies_the_others),
        CASE(a_watched_engine_has_no_tenures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
