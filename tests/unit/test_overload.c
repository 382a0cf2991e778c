/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/server/overload.c in a model of a server: clients send requests at a
 * steady rate or in bursts, one handler runs at a time, and refusing a request
 * has a small cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/call.h>

#include "rpc/server/overload.h"
#include "tests/unit/random.h"
#include "transport/core/clock.h"

#define S       UINT64_C(1000000)
#define MS      UINT64_C(1000)
#define CLIENTS 5u
#define ROOM    4096u
/* The cost of refusing a request, and of receiving a request or reply. */
#define REFUSE_US 5u
#define TAKE_US   2u

struct client {
    uint32_t every_us; /* 0: sends no more */
    uint32_t burst;    /* requests at a time */
    uint32_t given_us; /* timeout; 0: none */
    uint32_t priority;
    uint32_t runs_us[2];
    uint64_t next;
    unsigned waiting, asked, good, late, expired, shed;
    unsigned begun[2]; /* by method */
};

/* A request. */
struct ask {
    struct client *client;
    uint64_t sent, came, due;
    uint32_t runs_us;
    unsigned method;
    bool behind; /* other requests were before it in the queue */
};

struct model {
    struct vc__overload o;
    struct vc__usual usual[2];
    struct client clients[CLIENTS];
    unsigned n_clients;
    uint64_t now, seed;
    struct ask queue[ROOM];
    unsigned head, n;
};

static struct model m;

static void
model_begin(void)
{
    memset(&m, 0, sizeof m);
    m.now = S;
    m.seed = 1;
}

static struct client *
client_add(uint32_t rate, uint32_t given_us, uint32_t runs_us)
{
    struct client *c = &m.clients[m.n_clients++];

    *c = (struct client){.every_us = (uint32_t)(S / rate),
                         .burst = 1,
                         .given_us = given_us,
                         .runs_us = {runs_us, runs_us},
                         .next = m.now + random_below(&m.seed, 1000)};
    return c;
}

static void
ask_take(struct client *c)
{
    struct ask *a = &m.queue[(m.head + m.n) % ROOM];

    assert_true(m.n < ROOM);
    c->asked++;
    *a = (struct ask){.client = c, .sent = c->next, .behind = m.n > 0};
    a->method = c->asked % 2;
    a->runs_us = c->runs_us[a->method];
    a->due = c->given_us == 0 ? VC__FOREVER : c->next + c->given_us;
    if (c->given_us != 0)
        m.o.clock = m.now;
    if (m.o.waiting > 0 && c->given_us != 0)
        vc__overload_given(&m.o, a->due - m.now);
    vc__overload_came(&m.o, &c->waiting);
    a->came = m.o.since == 0 ? 0 : m.o.clock;
    m.n++;
    m.now += TAKE_US;
}

/* Queues the requests that were sent by now. */
static void
arrivals(void)
{
    for (unsigned i = 0; i < m.n_clients; i++) {
        struct client *c = &m.clients[i];

        while (c->every_us != 0 && c->next <= m.now) {
            for (unsigned j = 0; j < c->burst && m.n < ROOM; j++)
                ask_take(c);
            c->next += (uint64_t)c->every_us * c->burst;
        }
    }
}

/* The run time is recorded only for long runs, which have a thread
 * of their own. */
static void
ask_run(struct ask *a)
{
    if (a->runs_us >= 1000)
        vc__usual_ran(&m.usual[a->method], a->runs_us);
    m.now += a->runs_us;
    a->client->begun[a->method]++;
    if (m.now <= a->due)
        a->client->good++;
    else
        a->client->late++;
}

static void
ask_serve(struct ask *a)
{
    const struct vc__overload_call facts = {.came = a->came,
                                            .due = a->due,
                                            .waiting = a->client->waiting,
                                            .usual = &m.usual[a->method],
                                            .priority = a->client->priority};
    enum vc__overload_verdict verdict = VC__OVERLOAD_RUN;

    if (a->behind)
        verdict = vc__overload_judge(&m.o, m.now, &facts);
    else
        verdict = vc__overload_judge_first(&m.o, a->due, facts.usual);
    vc__overload_left(&m.o, &a->client->waiting);
    if (verdict == VC__OVERLOAD_RUN) {
        ask_run(a);
        return;
    }
    if (verdict == VC__OVERLOAD_SHED)
        a->client->shed++;
    else
        a->client->expired++;
    m.now += REFUSE_US;
}

static void
model_run(uint64_t us)
{
    uint64_t until = m.now + us;

    while (m.now < until) {
        struct ask a;

        arrivals();
        if (m.n == 0) {
            m.now += 10;
            continue;
        }
        a = m.queue[m.head];
        m.head = (m.head + 1) % ROOM;
        m.n--;
        ask_serve(&a);
    }
}

/* Returns the replies in time, in percent of what is possible beside receiving
 * and refusing the other requests. */
static unsigned
goodput(uint64_t us, uint32_t runs_us)
{
    uint64_t good = 0, asked = 0;

    for (unsigned i = 0; i < m.n_clients; i++) {
        good += m.clients[i].good;
        asked += m.clients[i].asked;
    }
    return (unsigned)(good * (runs_us - REFUSE_US) * 100 /
                      (us - asked * (TAKE_US + REFUSE_US)));
}

static void
overloaded_it_serves_nearly_as_many_as_it_can(void **state)
{
    static const uint32_t given[] = {5000, 50000, 1000000, 0};
    static const uint32_t runs[] = {50, 400};
    static const unsigned times[] = {11, 20, 100}; /* tenths of capacity */

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 2; j++) {
            for (unsigned k = 0; k < 3; k++) {
                uint32_t rate = (uint32_t)(S / runs[j] * times[k] / 10);
                unsigned got;

                /* Refusing so many would take all the time. */
                if (runs[j] == 50 && times[k] == 100)
                    continue;
                model_begin();
                client_add(rate, given[i], runs[j]);
                model_run(5 * S);
                got = goodput(5 * S, runs[j]);
                if (got < 95)
                    fail_msg("given %u us, runs %u, %u tenths: %u %%, late %u, "
                             "expired %u, shed %u of %u",
                             given[i], runs[j], times[k], got,
                             m.clients[0].late, m.clients[0].expired,
                             m.clients[0].shed, m.clients[0].asked);
                assert_in_range(m.clients[0].late, 0,
                                m.clients[0].asked / 50 + 20);
            }
        }
    }
}

/* A closed loop: the same number of requests is always under way. One always
 * waits, but none waits too long. */
static void
a_closed_loop_is_served_whole(void **state)
{
    static const uint32_t given[] = {50000, 1000000, 0};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct client *c;

        model_begin();
        c = client_add(1, given[i], 400);
        for (uint64_t until = m.now + 5 * S; m.now < until;) {
            /* A new request follows each reply. */
            c->next = m.now;
            while (m.n < 16)
                ask_take(c);
            c->next = UINT64_MAX;
            model_run(1);
        }
        assert_int_equal(0, c->shed + c->expired + c->late);
        assert_in_range(c->good, 12000, 12500);
    }
}

static void
at_half_of_capacity_nothing_is_refused(void **state)
{
    static const uint32_t given[] = {5000, 50000, 1000000, 0};
    static const unsigned bursts[] = {1, 5, 10};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 3; j++) {
            model_begin();
            client_add(1250, given[i], 400)->burst = bursts[j];
            model_run(5 * S);
            assert_int_equal(0, m.clients[0].expired + m.clients[0].shed);
            assert_in_range(m.clients[0].good, 6200, 6260);
        }
    }
}

static void
a_polite_client_is_served_beside_floods(void **state)
{
    (void)state;
    for (unsigned floods = 1; floods <= 4; floods++) {
        struct client *polite;

        model_begin();
        polite = client_add(400, 50000, 400);
        for (unsigned i = 0; i < floods; i++)
            client_add(25000 / floods, 50000, 400);
        model_run(5 * S);
        assert_in_range(polite->good * 100 / polite->asked, 95, 100);
        assert_in_range(goodput(5 * S, 400), 75, 100);
    }
}

static void
what_is_critical_is_served_beside_what_is_sheddable(void **state)
{
    (void)state;
    for (unsigned floods = 1; floods <= 4; floods++) {
        struct client *critical;

        model_begin();
        critical = client_add(1000, 50000, 400);
        critical->priority = VC_PRIORITY_CRITICAL;
        for (unsigned i = 0; i < floods; i++)
            client_add(25000 / floods, 50000, 400)->priority =
                VC_PRIORITY_SHEDDABLE;
        model_run(5 * S);
        assert_in_range(critical->good * 100 / critical->asked, 99, 100);
        assert_in_range(goodput(5 * S, 400), 75, 100);
    }
}

static void
when_the_flood_is_over_all_are_served_again(void **state)
{
    static const uint32_t given[] = {5000, 50000, 1000000, 0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct client *c;
        unsigned asked, good;

        model_begin();
        c = client_add(25000, given[i], 400);
        model_run(2 * S);
        c->every_us = 1000;
        model_run(S);
        asked = c->asked;
        good = c->good;
        model_run(S);
        assert_in_range(asked + 1000 - c->asked, 0, 1);
        assert_in_range(good + 1000 - c->good, 0, 1);
    }
}

/* A call that takes longer than the time left does not start;
 * shorter calls do. */
static void
what_cannot_end_in_time_is_not_begun(void **state)
{
    struct client *c;

    (void)state;
    model_begin();
    c = client_add(500, 8000, 0);
    c->runs_us[0] = 50;
    c->runs_us[1] = 10000;
    model_run(10 * S);
    /* All long calls would be too late; only some start, to learn
     * their run time. */
    assert_in_range(c->begun[1], 1, c->asked / 2 / 8);
    assert_in_range(c->good, c->asked * 40 / 100, c->asked / 2);
}

/* A request in parts: the clock has moved since its first part. */
static void
what_is_late_is_not_begun_though_it_is_the_first(void **state)
{
    struct vc__overload o = {.clock = 1000};
    struct vc__usual usual = {0};

    (void)state;
    assert_int_equal(VC__OVERLOAD_LATE,
                     vc__overload_judge_first(&o, 1000, &usual));
    assert_int_equal(VC__OVERLOAD_LATE,
                     vc__overload_judge_first(&o, 1, &usual));
    assert_int_equal(VC__OVERLOAD_RUN,
                     vc__overload_judge_first(&o, 1001, &usual));
}

/* Waiting for a thread. */
static void
patience_ends_while_there_is_time(void **state)
{
    static const struct {
        uint32_t usual;
        uint64_t left, wait;
    } rows[] = {
        {0, 2000000, 1000000},         /* half of the time left */
        {0, UINT64_MAX, 5000000},      /* at most */
        {20000, 50000, 30000},         /* else it could not end in time */
        {20000, 1000000, 500000},      /* half exceeds twice the usual time */
        {400000, 1200000, 800000},     /* twice the usual time exceeds half */
        {8000000, 60000000, 16000000}, /* the same */
        {50000, 50000, 0},
        {50000, 10000, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc__usual usual = {rows[i].usual};

        assert_int_equal(rows[i].wait,
                         vc__overload_thread_wait(&usual, rows[i].left));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overloaded_it_serves_nearly_as_many_as_it_can),
        cmocka_unit_test(a_closed_loop_is_served_whole),
        cmocka_unit_test(at_half_of_capacity_nothing_is_refused),
        cmocka_unit_test(a_polite_client_is_served_beside_floods),
        cmocka_unit_test(what_is_critical_is_served_beside_what_is_sheddable),
        cmocka_unit_test(when_the_flood_is_over_all_are_served_again),
        cmocka_unit_test(what_cannot_end_in_time_is_not_begun),
        cmocka_unit_test(what_is_late_is_not_begun_though_it_is_the_first),
        cmocka_unit_test(patience_ends_while_there_is_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
