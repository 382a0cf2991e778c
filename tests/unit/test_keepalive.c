/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/link/keepalive.c against its own table; the peer is a few flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/link/keepalive.h"
#include "tests/unit/random.h"

#define MS     UINT64_C(1000)
#define PERIOD (1000 * MS)
#define START  (5 * MS)

/* A peer, and the link to it. */
struct world {
    struct vc__keepalive k;
    uint64_t now;
    bool busy, may_ask;
    bool process, adapter; /* of the peer: true when it answers */
    bool talks;            /* the peer sends all the time */
    bool ping, probe;      /* sent, and not answered yet */
    unsigned pings, probes;
    enum vc__keepalive_act last;
};

static void
world_init(struct world *w, bool busy)
{
    memset(w, 0, sizeof *w);
    w->now = START;
    w->busy = busy;
    w->may_ask = w->process = w->adapter = true;
    vc__keepalive_init(&w->k, w->now, PERIOD);
}

static bool
is_dead(const struct world *w)
{
    return w->last == VC__KEEPALIVE_STOPPED || w->last == VC__KEEPALIVE_LOST;
}

/* One tick, `late` us after its time. */
static void
tick(struct world *w, uint64_t late)
{
    struct vc__keepalive_news n = {.busy = w->busy, .may_ask = w->may_ask};

    w->now = w->k.next + late;
    n.answered = w->ping && w->process && w->adapter;
    n.proven = w->probe && w->adapter;
    n.heard = n.answered || (w->talks && w->process && w->adapter);
    w->ping &= !n.answered;
    w->probe &= !n.proven;
    w->last = vc__keepalive_tick(&w->k, w->now, &n);
    assert_true(w->k.next > w->now);
    if (w->last == VC__KEEPALIVE_PING) {
        assert_false(w->ping); /* at most one is under way */
        w->ping = true;
        w->pings++;
    } else if (w->last == VC__KEEPALIVE_PROBE) {
        assert_false(w->probe);
        w->probe = true;
        w->probes++;
    }
}

/* Ticks for `us`, or until the peer is dead. */
static void
run(struct world *w, uint64_t us)
{
    uint64_t until = w->now + us;

    while (w->k.next <= until && !is_dead(w))
        tick(w, 0);
}

/* Runs until the peer is dead; returns how long that took. */
static uint64_t
run_until_dead(struct world *w)
{
    uint64_t start = w->now;

    run(w, 100 * PERIOD);
    assert_true(is_dead(w));
    return w->now - start;
}

static void
a_peer_that_answers_is_never_dead(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct world w;

        world_init(&w, busy);
        run(&w, 1000 * PERIOD);
        assert_false(is_dead(&w));
        assert_in_range(w.pings, busy ? 1500 : 500, busy ? 3000 : 1000);
        assert_int_equal(w.probes, 0);
    }
}

static void
a_peer_that_talks_is_not_asked(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct world w;

        world_init(&w, busy);
        w.talks = true;
        run(&w, 100 * PERIOD);
        assert_int_equal(w.pings + w.probes, 0);
    }
}

/* The bounds hold wherever between two ticks the process stopped, and was
 * last heard. */
static void
a_stopped_process_is_found_in_a_period_when_busy(void **state)
{
    struct world w;
    uint64_t took;

    (void)state;
    world_init(&w, true);
    w.talks = true;
    run(&w, 10 * PERIOD);
    w.process = false;

    took = run_until_dead(&w);

    /* The last packet was received up to a sixth of the period before the tick
     * that noted it. */
    assert_in_range(took, PERIOD * 4 / 6, PERIOD * 5 / 6 + 5);
    assert_int_equal(w.last, VC__KEEPALIVE_STOPPED);
    assert_int_equal(w.pings, 1);
    assert_int_equal(w.probes, 1);
}

static void
a_stopped_process_is_found_in_three_periods_when_idle(void **state)
{
    struct world w;
    uint64_t took;

    (void)state;
    world_init(&w, false);
    w.talks = true;
    run(&w, 10 * PERIOD);
    w.process = false;

    took = run_until_dead(&w);

    assert_in_range(took, PERIOD * 15 / 6, PERIOD * 16 / 6 + 20);
    assert_int_equal(w.last, VC__KEEPALIVE_STOPPED);
}

static void
a_peer_of_which_nothing_answers_is_lost(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct world w;

        world_init(&w, busy);
        w.adapter = false;
        run_until_dead(&w);
        assert_int_equal(w.last, VC__KEEPALIVE_LOST);
    }
}

/* No call waited when the process stopped; then a call starts. */
static void
a_call_on_a_dead_idle_link_ends_within_a_period(void **state)
{
    (void)state;
    for (unsigned ticks = 0; ticks < 6; ticks++) {
        struct world w;

        world_init(&w, false);
        w.process = false;
        for (unsigned i = 0; i < ticks; i++)
            tick(&w, 0);
        w.busy = true;
        assert_in_range(run_until_dead(&w), 1, PERIOD);
    }
}

static void
a_call_on_an_idle_link_has_time_to_be_answered(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.talks = true;
    run(&w, 10 * PERIOD);
    w.process = false;
    w.busy = true;
    assert_in_range(run_until_dead(&w), PERIOD * 6 / 10, PERIOD);
}

static void
who_slept_himself_asks_anew(void **state)
{
    static const uint64_t sleeps[] = {PERIOD / 5, PERIOD, 3600 * PERIOD};

    (void)state;
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned at = 0; at < 5; at++) {
            struct world w;

            world_init(&w, true);
            w.process = false; /* its answers are not read */
            for (unsigned i = 0; i < at; i++)
                tick(&w, 0);
            tick(&w, sleeps[s]);
            assert_false(is_dead(&w));
            assert_int_equal(w.pings, 1);
            run(&w, PERIOD / 2);
            assert_false(is_dead(&w));
            w.process = true;
            run(&w, 10 * PERIOD);
            assert_false(is_dead(&w));
        }
    }
}

static void
who_slept_still_finds_a_dead_peer(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, true);
    run(&w, PERIOD);
    w.process = false;
    tick(&w, 10 * PERIOD);
    assert_in_range(run_until_dead(&w), PERIOD * 4 / 6 - 5, PERIOD);
}

/* A client that polls only while it calls: each of its ticks is late. */
static void
who_looks_now_and_then_does_not_ask(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    for (unsigned i = 0; i < 100; i++)
        tick(&w, 60 * PERIOD);
    assert_false(is_dead(&w));
    assert_int_equal(w.pings + w.probes, 0);
}

static void
who_owes_nothing_is_never_dead_for_silence(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct world w;

        world_init(&w, busy);
        w.may_ask = false;
        w.process = false;
        run(&w, 1000 * PERIOD);
        assert_false(is_dead(&w));
        assert_int_equal(w.pings, 0);
        assert_in_range(w.probes, busy ? 2000 : 400, busy ? 6000 : 1500);
    }
}

static void
an_adapter_that_does_not_answer_is_lost(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct world w;

        world_init(&w, busy);
        w.may_ask = false;
        w.talks = true;
        run(&w, 10 * PERIOD);
        w.adapter = false;
        assert_in_range(run_until_dead(&w), PERIOD / 2,
                        busy ? PERIOD : 3 * PERIOD);
        assert_int_equal(w.last, VC__KEEPALIVE_LOST);
    }
}

static void
a_probe_is_not_late_for_who_slept(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, true);
    w.may_ask = false;
    w.adapter = false;
    run(&w, PERIOD / 3);
    assert_int_equal(w.probes, 1);
    tick(&w, 100 * PERIOD);
    assert_false(is_dead(&w));
    w.adapter = true;
    run(&w, 10 * PERIOD);
    assert_false(is_dead(&w));
}

/* Other packets are received before the answer: the link keeps waiting
 * for the answer, without a second PING. tick() asserts that at most one
 * is under way. */
static void
never_two_pings_are_out(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, true);
    w.process = false;
    run(&w, PERIOD / 3);
    assert_int_equal(w.pings, 1);
    for (unsigned i = 0; i < 10; i++) {
        struct vc__keepalive_news n = {
            .heard = true, .busy = true, .may_ask = true};

        w.now = w.k.next;
        w.last = vc__keepalive_tick(&w.k, w.now, &n);
        assert_int_equal(w.last, VC__KEEPALIVE_NOTHING);
        run(&w, PERIOD / 3);
    }
    assert_int_equal(w.pings, 1);
    run_until_dead(&w);
    assert_int_equal(w.pings, 1);
}

static void
silence_is_measured_from_what_was_heard(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, true);
    w.process = false;
    run_until_dead(&w);
    assert_int_equal(vc__keepalive_silence(&w.k, w.now), w.now - START);
}

static void
the_shortest_period_has_steps(void **state)
{
    struct vc__keepalive k;

    (void)state;
    vc__keepalive_init(&k, 0, 1);
    assert_true(k.next > 0);
}

#define STEP UINT64_C(100)

/* What the tick finds. */
#define MAY_ASK 1u
#define PROVEN  2u

/* One tick, at a time since the start. */
struct moment {
    uint64_t at;
    enum vc__keepalive_act act;
    unsigned news;
};

/* Checks the acts for a peer that never sends, with memory that was not zeroed.
 * An entry with at == 0 ends the list. */
static void
assert_moments(bool busy, const struct moment *m)
{
    struct vc__keepalive k;

    memset(&k, 1, sizeof k);
    vc__keepalive_init(&k, START, 6 * STEP);
    for (; m->at != 0; m++) {
        bool proven = (m->news & PROVEN) != 0;
        bool may_ask = (m->news & MAY_ASK) != 0;
        const struct vc__keepalive_news n = {
            .busy = busy, .proven = proven, .may_ask = may_ask};

        assert_int_equal(vc__keepalive_tick(&k, START + m->at, &n), m->act);
    }
}

static void
a_process_is_asked_and_dead_at_exact_times(void **state)
{
    static const struct moment busy[] = {{99, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {100, VC__KEEPALIVE_PING, MAY_ASK},
                                         {299, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {300, VC__KEEPALIVE_PROBE, MAY_ASK},
                                         {499, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {500, VC__KEEPALIVE_LOST, MAY_ASK},
                                         {0, VC__KEEPALIVE_NOTHING, 0}};
    static const struct moment idle[] = {{200, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {400, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {600, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {800, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {999, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {1000, VC__KEEPALIVE_PING, MAY_ASK},
                                         {1200, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {1299, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {1300, VC__KEEPALIVE_PROBE, MAY_ASK},
                                         {1400, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {1599, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {1600, VC__KEEPALIVE_LOST, MAY_ASK},
                                         {0, VC__KEEPALIVE_NOTHING, 0}};

    (void)state;
    assert_moments(true, busy);
    assert_moments(false, idle);
}

static void
an_adapter_is_asked_and_dead_at_exact_times(void **state)
{
    static const struct moment busy[] = {
        {99, VC__KEEPALIVE_NOTHING, 0},  {100, VC__KEEPALIVE_PROBE, 0},
        {300, VC__KEEPALIVE_NOTHING, 0}, {499, VC__KEEPALIVE_NOTHING, 0},
        {500, VC__KEEPALIVE_LOST, 0},    {0, VC__KEEPALIVE_NOTHING, 0}};
    static const struct moment idle[] = {
        {200, VC__KEEPALIVE_NOTHING, 0},  {400, VC__KEEPALIVE_NOTHING, 0},
        {600, VC__KEEPALIVE_NOTHING, 0},  {800, VC__KEEPALIVE_NOTHING, 0},
        {1000, VC__KEEPALIVE_NOTHING, 0}, {1199, VC__KEEPALIVE_NOTHING, 0},
        {1200, VC__KEEPALIVE_PROBE, 0},   {1400, VC__KEEPALIVE_NOTHING, 0},
        {1599, VC__KEEPALIVE_NOTHING, 0}, {1600, VC__KEEPALIVE_LOST, 0},
        {0, VC__KEEPALIVE_NOTHING, 0}};

    (void)state;
    assert_moments(true, busy);
    assert_moments(false, idle);
}

/* The tick at 100 sets the next one to 200. A tick that is at most one step
 * late counts as that of 200. */
static void
a_tick_is_late_when_more_than_a_step_behind(void **state)
{
    static const struct moment in_time[] = {
        {100, VC__KEEPALIVE_PING, MAY_ASK},
        {300, VC__KEEPALIVE_NOTHING, MAY_ASK},
        {400, VC__KEEPALIVE_PROBE, MAY_ASK},
        {0, VC__KEEPALIVE_NOTHING, 0}};
    static const struct moment late[] = {{100, VC__KEEPALIVE_PING, MAY_ASK},
                                         {301, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {400, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {500, VC__KEEPALIVE_NOTHING, MAY_ASK},
                                         {501, VC__KEEPALIVE_PROBE, MAY_ASK},
                                         {0, VC__KEEPALIVE_NOTHING, 0}};

    (void)state;
    assert_moments(true, in_time);
    assert_moments(true, late);
}

/* The adapter's last answer came with the tick before, not since. */
static void
an_adapter_that_answered_before_the_question_is_asked_too(void **state)
{
    static const struct moment then_silent[] = {
        {100, VC__KEEPALIVE_PROBE, 0},
        {200, VC__KEEPALIVE_PING, PROVEN | MAY_ASK},
        {300, VC__KEEPALIVE_NOTHING, MAY_ASK},
        {400, VC__KEEPALIVE_PROBE, MAY_ASK},
        {500, VC__KEEPALIVE_NOTHING, MAY_ASK},
        {600, VC__KEEPALIVE_LOST, MAY_ASK},
        {0, VC__KEEPALIVE_NOTHING, 0}};

    (void)state;
    assert_moments(true, then_silent);
}

/* Whenever each link was created, and however late its timer is. */
static void
ticks_of_all_links_fall_together(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        bool busy = i % 2 != 0;
        uint64_t step = PERIOD / 6, span = busy ? step : 2 * step;
        struct world w;

        world_init(&w, busy);
        w.now += random_below(&seed, 10 * PERIOD);
        vc__keepalive_init(&w.k, w.now, PERIOD);
        assert_in_range(w.k.next - w.now, 1, step);
        for (unsigned j = 0; j < 10; j++) {
            tick(&w, random_below(&seed, step));
            assert_int_equal(0, w.k.next % span);
            assert_in_range(w.k.next - w.now, 1, span);
        }
    }
}

/* Otherwise a late timer would delay the next question by a whole tick. */
static void
a_tick_that_was_late_does_not_put_off_the_next_question(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.may_ask = false;
    while (w.probes == 0)
        tick(&w, 0);
    tick(&w, PERIOD / 100);
    for (unsigned i = 0; i < 5; i++) {
        tick(&w, 0);
        assert_int_equal(1, w.probes);
    }
    tick(&w, 0);
    assert_int_equal(2, w.probes);
}

/* Each end asks by its own ticks; a PING reaches the other end before
 * its next tick. */
static void
a_peer_whose_pings_come_is_not_asked(void **state)
{
    struct world client, server;

    (void)state;
    world_init(&client, false);
    world_init(&server, false);
    server.may_ask = false;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned pings = client.pings;

        tick(&client, 0);
        server.talks = client.pings != pings;
        tick(&server, 0);
    }
    assert_in_range(client.pings, 100, 200);
    assert_int_equal(0, server.probes);
}

/* In any sequence of events: a peer that answers is not dead; a peer that does
 * not answer is found dead in time. */
static void
random_worlds_know_who_lives(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        struct world w;

        world_init(&w, false);
        for (unsigned j = 0; j < 60; j++) {
            w.busy = random_below(&seed, 2) == 0;
            w.talks = random_below(&seed, 3) == 0;
            w.may_ask = w.may_ask || random_below(&seed, 4) == 0;
            tick(&w, random_below(&seed, 8) == 0
                         ? random_below(&seed, 10 * PERIOD)
                         : random_below(&seed, PERIOD / 50));
            assert_false(is_dead(&w));
        }
        w.talks = false;
        w.process = false;
        w.busy = true;
        w.may_ask = true;
        assert_in_range(run_until_dead(&w), 1, PERIOD + PERIOD / 3);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_answers_is_never_dead),
        cmocka_unit_test(a_peer_that_talks_is_not_asked),
        cmocka_unit_test(a_stopped_process_is_found_in_a_period_when_busy),
        cmocka_unit_test(a_stopped_process_is_found_in_three_periods_when_idle),
        cmocka_unit_test(a_peer_of_which_nothing_answers_is_lost),
        cmocka_unit_test(a_call_on_a_dead_idle_link_ends_within_a_period),
        cmocka_unit_test(a_call_on_an_idle_link_has_time_to_be_answered),
        cmocka_unit_test(who_slept_himself_asks_anew),
        cmocka_unit_test(who_slept_still_finds_a_dead_peer),
        cmocka_unit_test(who_looks_now_and_then_does_not_ask),
        cmocka_unit_test(who_owes_nothing_is_never_dead_for_silence),
        cmocka_unit_test(an_adapter_that_does_not_answer_is_lost),
        cmocka_unit_test(a_probe_is_not_late_for_who_slept),
        cmocka_unit_test(never_two_pings_are_out),
        cmocka_unit_test(ticks_of_all_links_fall_together),
        cmocka_unit_test(
            a_tick_that_was_late_does_not_put_off_the_next_question),
        cmocka_unit_test(a_peer_whose_pings_come_is_not_asked),
        cmocka_unit_test(silence_is_measured_from_what_was_heard),
        cmocka_unit_test(the_shortest_period_has_steps),
        cmocka_unit_test(a_process_is_asked_and_dead_at_exact_times),
        cmocka_unit_test(an_adapter_is_asked_and_dead_at_exact_times),
        cmocka_unit_test(a_tick_is_late_when_more_than_a_step_behind),
        cmocka_unit_test(
            an_adapter_that_answered_before_the_question_is_asked_too),
        cmocka_unit_test(random_worlds_know_who_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
