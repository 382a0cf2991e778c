/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links are lost, and calls are not: calls under way go on over another link,
 * run once, and get one reply. With a sanitizer there are fewer worlds and
 * losses: SIM_SHARE(). */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/sim.h"

#define CHANNELS 3u
#define CALLERS  48u
#define PATIENCE 120000000u /* us */
#define MS       1000u

/* --- a client of one server --------------------------------------------- */

struct rig {
    struct sim_server server;
    struct fake_host *there;
    struct vc_runtime *runtime;
    struct vc_channel *channels[CHANNELS];
    struct vc_channel_opts opts;
    uint64_t dice;
    uint64_t seed;
    unsigned timeout_ms; /* of callers that are started */
    atomic_uint next_tag, good, others;
};

struct caller {
    struct rig *rig;
    struct vc_channel *channel;
    pthread_t thread;
    unsigned calls, done;
    uint64_t dice;
    unsigned timeout_ms;
    size_t size; /* 0: a random size */
    unsigned tag;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[200];
};

static uint64_t
roll(uint64_t *d, uint64_t n)
{
    uint64_t z = *d += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static void
rig_serve(struct rig *r)
{
    sim_server_start(&r->server, r->there, 2);
    assert_true(sim_server_await(&r->server));
}

static void
rig_open(struct rig *r)
{
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(vc_channel_open(r->runtime, r->server.target, &r->opts,
                                         &r->channels[i]),
                         VC_OK);
}

static const struct vc_server_opts *server_opts; /* of the next rig */

static void
rig_begin(struct rig *r, uint64_t seed, unsigned sleep_us, unsigned links)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(r, 0, sizeof *r);
    r->seed = r->dice = seed;
    r->timeout_ms = 60000;
    r->opts = opts;
    r->opts.min_links = r->opts.max_links = links;
    r->server.sleep_us = sleep_us;
    r->server.opts = server_opts;
    sim_begin(seed, 1 + (unsigned)(seed % 7) * 3, getenv("TRACE") != NULL);
    r->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", r->server.target);
    rig_serve(r);
    rig_open(r);
}

static void
rig_end(struct rig *r)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(r->channels[i]);
    vc_runtime_free(r->runtime);
    fake_fail_no_more();
    fake_no_rules();
    assert_true(sim_server_stop(&r->server));
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(fake_end(), 0);
}

/* --- callers ------------------------------------------------------------ */

static size_t
some_size(uint64_t *d)
{
    static const size_t sizes[] = {0, 64, 300, 4000, 8100, 8200, 40000, 100000};

    return sizes[roll(d, sizeof sizes / sizeof sizes[0])];
}

static void
call_once(struct caller *c)
{
    struct rig *r = c->rig;
    size_t size = c->size != 0 ? c->size : some_size(&c->dice);

    c->tag = atomic_fetch_add(&r->next_tag, 1);
    c->status = sim_echo(c->channel, size, c->tag, c->timeout_ms, &c->outcome);
    if (c->status != VC_OK)
        snprintf(c->text, sizeof c->text, "%s", vc_error());
    atomic_fetch_add(c->status == VC_OK ? &r->good : &r->others, 1);
    if (c->status == VC_OK)
        assert_int_equal(atomic_load(&sim_ran[c->tag]), 1);
    if (c->outcome == VC_OUTCOME_NOT_EXECUTED)
        assert_int_equal(atomic_load(&sim_ran[c->tag]), 0);
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (; c->done < c->calls; c->done++)
        call_once(c);
    return NULL;
}

static void
caller_start(struct caller *c, struct rig *r, unsigned channel, unsigned calls,
             size_t size)
{
    *c = (struct caller){.rig = r,
                         .channel = r->channels[channel],
                         .calls = calls,
                         .dice = roll(&r->dice, UINT64_MAX),
                         .timeout_ms = r->timeout_ms,
                         .size = size};
    pthread_create(&c->thread, NULL, caller_main, c);
}

static unsigned
ended(const struct rig *r)
{
    return atomic_load(&r->good) + atomic_load(&r->others);
}

/* Waits until n calls have ended. */
static void
await_ended(struct rig *r, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (ended(r) < n && fake_now_us() < until)
        fake_sleep_us(100);
    if (ended(r) < n)
        fail_msg("seed %llu: calls hang", (unsigned long long)r->seed);
}

/* Waits until a handler runs for this tag. */
static void
await_run(unsigned tag)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&sim_ran[tag]) == 0 && fake_now_us() < until)
        fake_sleep_us(20);
    assert_int_equal(atomic_load(&sim_ran[tag]), 1);
}

/* Each channel gets a session at the server. */
static void
warm_up(struct rig *r)
{
    for (unsigned i = 0; i < CHANNELS; i++) {
        unsigned tag = atomic_fetch_add(&r->next_tag, 1);

        assert_int_equal(sim_echo(r->channels[i], 10, tag, 5000, NULL), VC_OK);
        atomic_fetch_add(&r->good, 1);
    }
}

static void
once_each(const struct rig *r)
{
    for (unsigned tag = 0; tag < atomic_load(&r->next_tag); tag++)
        if (atomic_load(&sim_ran[tag]) > 1)
            fail_msg("seed %llu: call %u ran %u times",
                     (unsigned long long)r->seed, tag,
                     atomic_load(&sim_ran[tag]));
}

/* --- storms ------------------------------------------------------------- */

static unsigned struck;

static void
strike(void *arg)
{
    (void)arg;
    struck++;
}

/* The QP of one of the next 30 lines of data breaks. */
static void
flush_soon(struct rig *r)
{
    static const char *const lines[] = {"main qp", "server qp", "SEND",
                                        "completion"};
    const char *line = lines[roll(&r->dice, 4)];
    unsigned nth = 1 + (unsigned)roll(&r->dice, 30);

    fake_rule(line, nth, FAKE_FLUSH, 0);
    fake_when(line, nth, strike, NULL);
}

static void
storm(struct rig *r, unsigned n_callers, unsigned calls, size_t size)
{
    struct caller callers[CALLERS];
    unsigned all;

    warm_up(r);
    all = ended(r) + n_callers * calls;
    for (unsigned i = 0; i < n_callers; i++)
        caller_start(&callers[i], r, size == 0 ? i % CHANNELS : 0, calls, size);
    while (ended(r) < all) {
        unsigned n = ended(r) + 8;
        unsigned was = struck;

        flush_soon(r);
        await_ended(r, n < all ? n : all);
        while (struck == was && ended(r) < all)
            fake_sleep_us(100);
        await_ended(r, ended(r) + 3 < all ? ended(r) + 3 : all);
    }
    for (unsigned i = 0; i < n_callers; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].status != VC_OK)
            print_error("%s\n", callers[i].text);
    }
    once_each(r);
    if (atomic_load(&r->others) != 0)
        fail_msg("seed %llu: %u calls were lost", (unsigned long long)r->seed,
                 atomic_load(&r->others));
}

static void
a_thousand_links_are_lost_and_no_call_is(void **state)
{
    struct rig r;
    uint64_t seed =
        getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 0) : 1;

    (void)state;
    struck = 0;
    for (; struck < SIM_SHARE(1000); seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 3) * 200,
                  1 + (unsigned)(seed % 3));
        storm(&r, 6, 40, 0);
        rig_end(&r);
        if (getenv("SEED") != NULL)
            return;
    }
    print_message("%u links lost in %llu worlds\n", struck,
                  (unsigned long long)seed);
}

/* The requests are so long that credits run out when all of them are sent
 * again. The server may have ended a call before the client asks for it on the
 * new link. */
static void
long_requests_are_resumed_when_credits_are_short(void **state)
{
    struct rig r;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(25); seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 4) * 150, 1 + seed % 2);
        storm(&r, CALLERS, 2, seed % 3 == 0 ? 30000 : 60000);
        rig_end(&r);
    }
}

/* --- one loss at a chosen moment ---------------------------------------- */

/* The next such line of the trace breaks its QP. */
static void
break_next(const char *line)
{
    fake_rule(line, 1, FAKE_FLUSH, 0);
    fake_when(line, 1, strike, NULL);
}

static void
good(struct caller *c)
{
    pthread_join(c->thread, NULL);
    if (c->status != VC_OK)
        fail_msg("seed %llu: %s", (unsigned long long)c->rig->seed, c->text);
    assert_int_equal(atomic_load(&sim_ran[c->tag]), 1);
}

static void
a_call_whose_handler_runs_is_joined(void **state)
{
    struct rig r;
    struct caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(60); seed++) {
        rig_begin(&r, seed, 3 * MS, 1 + (unsigned)(seed % 2));
        warm_up(&r);
        caller_start(&c, &r, 0, 1, seed % 3 == 0 ? 50000 : 100);
        await_run(CHANNELS);
        /* Other calls, which find the link broken at either end. */
        break_next(seed % 2 == 0 ? "main qp" : "SEND");
        for (unsigned i = 1; i < CHANNELS; i++) {
            struct caller other;

            caller_start(&other, &r, i, 1, 100);
            good(&other);
        }
        good(&c);
        once_each(&r);
        rig_end(&r);
    }
}

/* The QP of the client or of the server breaks at any line: when the reply was
 * sent, or a part of it, or a part of the request. */
static void
a_message_lost_at_any_line_is_sent_again(void **state)
{
    static const char *const lines[] = {"main qp", "server qp"};
    struct rig r;
    struct caller c;

    (void)state;
    struck = 0;
    for (uint64_t seed = 1; seed <= SIM_SHARE(300); seed++) {
        rig_begin(&r, seed, 0, 1 + (unsigned)(seed % 2));
        warm_up(&r);
        fake_rule(lines[seed % 2], 1 + (unsigned)(seed / 2 % 40), FAKE_FLUSH,
                  0);
        fake_when(lines[seed % 2], 1 + (unsigned)(seed / 2 % 40), strike, NULL);
        caller_start(&c, &r, (unsigned)(seed % CHANNELS), 4,
                     seed % 3 == 0 ? 100 : 60000);
        good(&c);
        once_each(&r);
        rig_end(&r);
    }
    assert_in_range(struck, SIM_SHARE(200), SIM_SHARE(300));
}

/* Such a call must not lose its slot. More calls time out than a session has
 * slots. */
static void
callers_that_give_up_while_a_link_is_lost_leave_their_slots(void **state)
{
    struct rig r;
    struct caller c[8];
    unsigned gave_up = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(40); seed++) {
        rig_begin(&r, seed, 500, 1);
        warm_up(&r);
        for (unsigned round = 0; round < 40; round++) {
            unsigned n = ended(&r);

            if (round % 8 == 0)
                break_next(round % 16 == 0 ? "main qp" : "server qp");
            for (unsigned i = 0; i < 8; i++) {
                r.timeout_ms = 1 + i % 4;
                caller_start(&c[i], &r, 0, 1, i % 2 == 0 ? 100 : 40000);
            }
            await_ended(&r, n + 8);
            for (unsigned i = 0; i < 8; i++) {
                pthread_join(c[i].thread, NULL);
                gave_up += c[i].status == VC_DEADLINE_EXCEEDED;
                assert_true(c[i].status == VC_OK ||
                            c[i].status == VC_DEADLINE_EXCEEDED);
            }
        }
        r.timeout_ms = 60000;
        caller_start(&c[0], &r, 0, 1, 100);
        good(&c[0]);
        once_each(&r);
        rig_end(&r);
    }
    assert_in_range(gave_up, SIM_SHARE(1000), UINT32_MAX);
}

static void
a_session_closed_while_its_link_is_lost_gives_its_number_back(void **state)
{
    struct rig r;
    struct caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(60); seed++) {
        rig_begin(&r, seed, 300, 1 + (unsigned)(seed % 2));
        warm_up(&r);
        for (unsigned round = 0; round < 12; round++) {
            break_next(round % 2 == 0 ? "main qp" : "server qp");
            caller_start(&c, &r, 1, 1, 100);
            if (round % 3 == 0)
                fake_sleep_us(seed * 7);
            vc_channel_close(r.channels[0]);
            assert_int_equal(vc_channel_open(r.runtime, r.server.target,
                                             &r.opts, &r.channels[0]),
                             VC_OK);
            good(&c);
            caller_start(&c, &r, 0, 1, 100);
            good(&c);
        }
        once_each(&r);
        rig_end(&r);
    }
}

static void
one_of_several_links_may_be_lost_without_a_connect(void **state)
{
    struct rig r;
    struct caller c[6];
    struct fake_census census;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(40); seed++) {
        rig_begin(&r, seed, 200, 3);
        warm_up(&r);
        do {
            caller_start(&c[0], &r, 0, 1, 100);
            good(&c[0]);
            fake_census(fake_process_self(), &census);
        } while (census.ids < 3 + census.srqs); /* one id for each device */
        /* No link comes up any more. */
        fake_fail(fake_process_self(), "rdma_resolve_addr", 1, ENOMEM);
        break_next(seed % 2 == 0 ? "main qp" : "server qp");
        for (unsigned i = 0; i < 6; i++)
            caller_start(&c[i], &r, i % CHANNELS, 5, seed % 3 * 20000 + 1);
        for (unsigned i = 0; i < 6; i++)
            good(&c[i]);
        fake_fail_no_more();
        once_each(&r);
        rig_end(&r);
    }
}

/* --- servers that were killed ------------------------------------------- */

/* If a text has two parts, the first says how the server was lost, and the
 * second why the client cannot connect again. */
static bool
says_both(const char *text)
{
    const char *then = strstr(text, "; then ");

    if (then == NULL)
        return false;
    assert_int_equal(
        strncmp(text, "suite.Probe.Echo: 10.9.0.2:7471 closed", 38), 0);
    /* The next server refuses, or the host has no server yet. */
    if (strncmp(then + 7, "10.9.0.2:7471 refused", 21) != 0 &&
        strncmp(then + 7, "nothing listens at 10.9.0.2:7471", 32) != 0)
        fail_msg("%s", text);
    return true;
}

static void
errors_and_descriptions_say_the_name_of_the_server(void **state)
{
    static const char line[] = "rdma to orders-1 (10.9.0.2:7471): 1 call "
                               "under way (rxe0, QP ";
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    char text[200];
    struct rig r;
    struct caller c;

    (void)state;
    opts.name = "orders-1";
    server_opts = &opts;
    rig_begin(&r, 1, 3000 * MS, 1);
    server_opts = NULL;
    caller_start(&c, &r, 0, 1, 100);
    await_run(0);
    vc_channel_describe(r.channels[0], text, sizeof text);
    assert_int_equal(0, strncmp(text, line, sizeof line - 1));
    fake_process_kill(r.server.process);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_UNAVAILABLE);
    assert_int_equal(
        0, strncmp(c.text, "suite.Probe.Echo: orders-1 (10.9.0.2:7471) closed",
                   49));
    rig_serve(&r);
    rig_end(&r);
}

/* Calls of a killed server end as unknown, and are not sent to the next
 * server. */
static void
calls_of_a_killed_server_end_unknown_and_the_next_are_served(void **state)
{
    struct rig r;
    struct caller c[12];
    uint64_t each = 60 / SIM_SHARE(60), unknown = 0, both = 0;

    (void)state;
    for (uint64_t seed = each; seed <= 60; seed += each) {
        rig_begin(&r, seed, 3 * MS, 1 + (unsigned)(seed % 3));
        warm_up(&r);
        for (unsigned i = 0; i < 12; i++)
            caller_start(&c[i], &r, i % CHANNELS, 1, i % 3 == 0 ? 40000 : 100);
        fake_sleep_us(500 + seed * 31);
        fake_process_kill(r.server.process);
        if (seed % 2 == 0) /* no server listens in this time */
            fake_sleep_us(20 * MS);
        rig_serve(&r);
        for (unsigned i = 0; i < 12; i++) {
            pthread_join(c[i].thread, NULL);
            if (c[i].status != VC_OK)
                assert_int_equal(c[i].status, VC_UNAVAILABLE);
            unknown += c[i].outcome == VC_OUTCOME_UNKNOWN;
            both += c[i].outcome == VC_OUTCOME_UNKNOWN && says_both(c[i].text);
        }
        caller_start(&c[0], &r, 0, 1, 100);
        good(&c[0]);
        once_each(&r);
        rig_end(&r);
    }
    assert_in_range(unknown, SIM_SHARE(60), UINT32_MAX);
    assert_true(both > 0);
}

/* The next line of this process's QP breaks the link. Waits for the next
 * link. */
static void
link_replace(struct rig *r)
{
    uint64_t until = fake_now_us() + PATIENCE;
    struct vc_counters c = VC_COUNTERS_INIT;
    uint64_t links;

    vc_runtime_counters(r->runtime, &c);
    links = c.links_made_rdma;
    break_next("main qp");
    while (c.links_made_rdma == links && fake_now_us() < until) {
        fake_sleep_us(MS);
        vc_runtime_counters(r->runtime, &c);
    }
    assert_int_equal(c.links_made_rdma, links + 1);
}

/* When three links in a row are lost without a reply, the calls end. Links lost
 * at one server must not count for the next server. */
static void
links_lost_at_a_former_server_do_not_count_for_the_next(void **state)
{
    struct rig r;
    struct caller c;

    (void)state;
    rig_begin(&r, 1, 0, 1);
    warm_up(&r);
    r.server.sleep_us = 3000 * MS;
    caller_start(&c, &r, 0, 1, 100);
    await_run(CHANNELS);
    for (unsigned i = 0; i < 2; i++) /* the first link had received replies */
        link_replace(&r);
    fake_process_kill(r.server.process);
    rig_serve(&r);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_UNAVAILABLE);

    caller_start(&c, &r, 0, 1, 100);
    await_run(CHANNELS + 1);
    link_replace(&r);
    good(&c);
    once_each(&r);
    rig_end(&r);
}

static void
a_client_that_comes_back_too_late_begins_anew(void **state)
{
    struct rig r;
    struct caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(20); seed++) {
        rig_begin(&r, seed, 0, 1 + (unsigned)(seed % 2));
        warm_up(&r);
        /* Then no call is under way that would make the client connect. */
        break_next("SEND");
        caller_start(&c, &r, 0, 1, 100);
        good(&c);
        fake_wire_cut(fake_host_local(), r.there, true);
        assert_int_not_equal(sim_echo(r.channels[0], 10, 60000, 5000, NULL),
                             VC_OK);
        fake_sleep_us(15000 * MS);
        fake_wire_cut(fake_host_local(), r.there, false);
        for (unsigned i = 0; i < CHANNELS; i++) {
            caller_start(&c, &r, i, 2, 50000);
            good(&c);
        }
        once_each(&r);
        rig_end(&r);
    }
}

/* --- without memory ------------------------------------------------------ */

/* Every call ends before its deadline of a minute: with its reply, or with an
 * error that names what was missing. */
static void
no_call_hangs_when_memory_fails_during_a_loss(void **state)
{
    struct rig r;
    struct caller c[6];

    (void)state;
    for (uint64_t seed = 1; seed <= SIM_SHARE(240); seed++) {
        unsigned nth = 1 + (unsigned)(seed / 2 % 60);

        rig_begin(&r, seed, 300, 1 + (unsigned)(seed % 3));
        warm_up(&r);
        break_next(seed % 4 < 2 ? "main qp" : "server qp");
        for (unsigned i = 0; i < 6; i++)
            caller_start(&c[i], &r, i % CHANNELS, 3, i % 2 == 0 ? 100 : 30000);
        fake_fail_memory(seed % 2 == 0 ? fake_process_self() : r.server.process,
                         nth);
        for (unsigned i = 0; i < 6; i++) {
            pthread_join(c[i].thread, NULL);
            if (c[i].status == VC_DEADLINE_EXCEEDED)
                fail_msg("seed %llu: %s", (unsigned long long)seed, c[i].text);
        }
        fake_fail_no_more();
        fake_no_rules();
        for (unsigned i = 0; i < CHANNELS; i++)
            sim_echo(r.channels[i], 10, 60000, 3000, NULL);
        once_each(&r);
        rig_end(&r);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_thousand_links_are_lost_and_no_call_is),
        T(long_requests_are_resumed_when_credits_are_short),
        T(a_call_whose_handler_runs_is_joined),
        T(a_message_lost_at_any_line_is_sent_again),
        T(callers_that_give_up_while_a_link_is_lost_leave_their_slots),
        T(a_session_closed_while_its_link_is_lost_gives_its_number_back),
        T(one_of_several_links_may_be_lost_without_a_connect),
        T(errors_and_descriptions_say_the_name_of_the_server),
        T(calls_of_a_killed_server_end_unknown_and_the_next_are_served),
        T(links_lost_at_a_former_server_do_not_count_for_the_next),
        T(a_client_that_comes_back_too_late_begins_anew),
        T(no_call_hangs_when_memory_fails_during_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
