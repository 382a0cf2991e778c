/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client and the server that it is leaving, which drains. What still runs
 * there ends, and nothing of it stays. Keepalive is off, so no PING would send
 * what was not sent in time. */
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/caller.h"

#define SEEDS    sim_share(10u)
#define MS       1000u
#define SECOND   (1000 * MS)
#define PATIENCE (60 * SECOND)
#define BUFFERS  16u   /* send buffers of a link */
#define LARGE    3000u /* bytes; a message that needs a send buffer */
#define ONE      "10.9.0.2"
#define TWO      "10.9.0.3"

/* What a handler does, by the tag of its call. */
enum {
    QUICK,
    SHORT, /* runs for 300 ms */
    LONG,  /* for 3 s */
    SOME,  /* for 50 ms */
    HELD   /* until it sees that the call is cancelled */
};

/* --- servers ----------------------------------------------------------- */

struct place {
    char target[80];
    const char *alternative; /* target for clients of the drain */
    atomic_uint serves, drain, drained, stop;
    enum vc_status status; /* of vc_server_drain() */
    uint64_t drain_us;     /* its duration */
    atomic_ullong told_us; /* when HELD saw the cancel */
    struct fake_process *process;
};

static void
hold(struct vc_call *call, struct place *p)
{
    while (!vc_call_is_cancelled(call))
        fake_sleep_us(MS);
    atomic_store(&p->told_us, fake_now_us());
}

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    static const unsigned ms[] = {
        [QUICK] = 0, [SHORT] = 300, [LONG] = 3000, [SOME] = 50, [HELD] = 0};

    atomic_fetch_add(&sim_ran[request->tag], 1);
    if (request->tag == HELD)
        hold(call, arg);
    else
        fake_sleep_us(ms[request->tag] * MS);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
place_drain(struct place *p, struct vc_server *server)
{
    uint64_t begun = fake_now_us();

    p->status = vc_server_drain(server, p->alternative, 5000);
    p->drain_us = fake_now_us() - begun;
    sim_tell(&p->drained);
}

static void
place_main(void *arg)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct place *p = arg;
    struct vc_runtime *runtime;
    struct vc_server *server;

    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_server_new(runtime, &opts, &server), VC_OK);
    assert_int_equal(suite_probe_add(server, &methods, p), VC_OK);
    assert_int_equal(vc_server_listen(server, p->target), VC_OK);
    sim_tell(&p->serves);
    sim_await(&p->drain, PATIENCE);
    if (atomic_load(&p->stop) == 0)
        place_drain(p, server);
    sim_await(&p->stop, PATIENCE);
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
place_start(struct place *p, const char *addr, const char *name)
{
    memset(p, 0, sizeof *p);
    sim_target(addr, p->target);
    p->process =
        fake_process_start(fake_host_new(name, addr), name, place_main, p);
    assert_true(sim_await(&p->serves, PATIENCE));
}

static void
place_stop(struct place *p)
{
    sim_tell(&p->stop);
    sim_tell(&p->drain);
    assert_true(fake_process_wait(p->process, PATIENCE));
}

/* --- the client -------------------------------------------------------- */

/* Two servers, and a client of the first, which drains and sends it on. */
struct rig {
    struct place first, second;
    struct vc_runtime *runtime;
    struct vc_channel_opts opts;
};

static void
rig_begin(struct rig *r, uint64_t seed, unsigned links)
{
    const struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    r->opts = opts;
    r->opts.min_links = r->opts.max_links = links;
    r->opts.keepalive_ms = VC_KEEPALIVE_OFF;
    r->opts.max_attempts = 1; /* so the result is that of one attempt */
    sim_begin(seed, 2, true);
    place_start(&r->second, TWO, "second");
    place_start(&r->first, ONE, "first");
    r->first.alternative = r->second.target;
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
}

static void
rig_end(struct rig *r)
{
    vc_runtime_free(r->runtime);
    place_stop(&r->first);
    place_stop(&r->second);
    assert_int_equal(fake_end(), 0);
}

/* All channels share their links. */
static struct vc_channel *
channel_open(struct rig *r)
{
    struct vc_channel *c;

    assert_int_equal(vc_channel_open(r->runtime, r->first.target, &r->opts, &c),
                     VC_OK);
    return c;
}

static void
call(struct vc_channel *channel, unsigned tag)
{
    if (sim_echo(channel, 64, tag, 0, NULL) != VC_OK)
        fail_msg("%s", vc_error());
}

/* Starts a call, and waits until it runs. */
static void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    *c = (struct caller){.channel = channel, .tag = tag, .size = 64};
    caller_begin(c);
    while (atomic_load(&sim_ran[tag]) == 0)
        fake_sleep_us(MS);
}

static struct vc_counters
counters(const struct rig *r)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(r->runtime, &c);
    return c;
}

static void
await_links(struct rig *r, struct vc_channel *channel, unsigned n)
{
    while (counters(r).links_up < n)
        call(channel, QUICK);
}

/* Drains the first server, and waits until the client knows: then its sessions
 * without calls there are closed. */
static void
await_former(struct rig *r, unsigned sessions)
{
    sim_tell(&r->first.drain);
    while (counters(r).sessions_client > sessions)
        fake_sleep_us(MS);
}

/* Waits for the end of the drain. Calls to the second server advance the
 * client's engine meanwhile. */
static void
await_drained(struct rig *r, struct vc_channel *channel)
{
    while (atomic_load(&r->first.drained) == 0)
        call(channel, QUICK);
}

/* --- links that are lost ----------------------------------------------- */

/* The reply of `moves` is lost with its link. The call of `stays` runs on the
 * other link, which carries no packet for long. */
static void
a_call_goes_on_by_another_link_of_a_drained_server_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel, *other;
        struct caller moves, stays;
        uint64_t begun;
        struct rig r;

        rig_begin(&r, seed, 2);
        channel = channel_open(&r);
        await_links(&r, channel, 2);
        caller_start(&stays, channel, LONG);
        other = channel_open(&r);
        begun = fake_now_us();
        caller_start(&moves, other, SHORT);
        sim_tell(&r.first.drain);
        fake_rule("SEND 104 B -> local", 1, FAKE_FLUSH, 0); /* the reply */
        caller_join(&moves);
        caller_join(&stays);

        assert_int_equal(moves.status, VC_OK);
        assert_in_range(moves.ended_at - begun, 300 * MS, SECOND);
        assert_int_equal(counters(&r).calls_sent_again, 1);
        assert_int_equal(stays.status, VC_OK);
        assert_int_equal(atomic_load(&sim_ran[SHORT]), 1);
        vc_channel_close(channel);
        vc_channel_close(other);
        rig_end(&r);
    }
}

/* The client closed some links without a reply, because it never sent a request
 * there. They do not indicate a fault of the next server. */
static void
links_left_at_a_drained_server_do_not_count_against_the_next(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel;
        struct rig r;

        rig_begin(&r, seed, 8);
        channel = channel_open(&r);
        await_links(&r, channel, 8);
        sim_tell(&r.first.drain);
        while (counters(&r).links_client > 0)
            vc_runtime_poll(r.runtime, 1);
        fake_rule("SEND 104 B -> local", 1, FAKE_FLUSH, 0); /* the reply */
        call(channel, SOME);
        assert_int_equal(counters(&r).calls_sent_again, 1);
        vc_channel_close(channel);
        rig_end(&r);
    }
}

/* Each link breaks with its first reply, so another link would not help. */
static void
a_call_whose_links_bring_no_reply_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel;
        enum vc_outcome outcome;
        struct rig r;

        rig_begin(&r, seed, 1);
        channel = channel_open(&r);
        call(channel, QUICK);
        fake_rule("SEND 104 B -> local", 0, FAKE_FLUSH, 0);
        assert_int_equal(sim_echo(channel, 64, SOME, 60000, &outcome),
                         VC_UNAVAILABLE);
        assert_int_equal(outcome, VC_OUTCOME_UNKNOWN);
        assert_int_equal(atomic_load(&sim_ran[SOME]), 1);
        vc_channel_close(channel);
        rig_end(&r);
    }
}

/* --- calls that end without an answer ---------------------------------- */

static void
await_told(struct place *p)
{
    for (unsigned i = 0; i < 1000 && atomic_load(&p->told_us) == 0; i++)
        fake_sleep_us(MS);
}

static void
a_drained_server_is_told_when_a_channel_with_a_call_there_is_closed(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel, *other;
        struct caller held;
        uint64_t closed;
        struct rig r;

        rig_begin(&r, seed, 1);
        channel = channel_open(&r);
        other = channel_open(&r);
        call(channel, QUICK);
        caller_start(&held, other, HELD);
        await_former(&r, 1);
        closed = fake_now_us();
        vc_channel_close(other);
        caller_join(&held);
        await_drained(&r, channel);
        await_told(&r.first); /* the handler polls each millisecond */

        assert_int_equal(held.status, VC_CANCELLED);
        assert_int_equal(held.outcome, VC_OUTCOME_UNKNOWN);
        assert_in_range(atomic_load(&r.first.told_us) - closed, 0, 10 * MS);
        assert_int_equal(r.first.status, VC_OK);
        assert_in_range(r.first.drain_us, 0, SECOND);
        vc_channel_close(channel);
        rig_end(&r);
    }
}

static void
a_call_at_a_drained_server_that_is_killed_ends_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel, *other;
        struct caller held;
        uint64_t killed;
        struct rig r;

        rig_begin(&r, seed, 1);
        channel = channel_open(&r);
        other = channel_open(&r);
        call(channel, QUICK);
        caller_start(&held, other, HELD);
        await_former(&r, 1);
        call(channel, QUICK); /* at the second server */
        killed = fake_now_us();
        fake_process_kill(r.first.process);
        caller_join(&held);

        assert_int_equal(held.status, VC_UNAVAILABLE);
        assert_int_equal(held.outcome, VC_OUTCOME_UNKNOWN);
        assert_in_range(held.ended_at - killed, 0, SECOND);
        vc_channel_close(other);
        vc_channel_close(channel);
        rig_end(&r);
    }
}

/* Send completions come late, so all send buffers are in use when the last call
 * comes. */
static void
buffers_use_up(struct vc_channel *channel)
{
    unsigned number;
    char line[64];

    call(channel, QUICK);
    assert_int_equal(
        sscanf(strstr(fake_trace(), "main qp "), "main qp %u", &number), 1);
    snprintf(line, sizeof line, "main qp %u: completion SEND", number);
    fake_rule(line, 0, FAKE_DELAY, 2 * SECOND);
    for (unsigned i = 0; i < BUFFERS; i++)
        assert_int_equal(sim_echo(channel, LARGE, QUICK, 0, NULL), VC_OK);
}

static void
a_call_taken_back_unsent_keeps_no_link_to_a_drained_server(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *channel;
        struct caller last;
        struct rig r;

        rig_begin(&r, seed, 1);
        channel = channel_open(&r);
        buffers_use_up(channel);
        last = (struct caller){
            .channel = channel, .tag = SOME, .size = LARGE, .timeout_ms = 300};
        caller_begin(&last);
        while (counters(&r).stalls_buffers == 0)
            fake_sleep_us(MS);
        sim_tell(&r.first.drain);
        caller_join(&last);
        await_drained(&r, channel);

        assert_int_equal(last.status, VC_DEADLINE_EXCEEDED);
        assert_int_equal(last.outcome, VC_OUTCOME_NOT_EXECUTED);
        assert_int_equal(atomic_load(&sim_ran[SOME]), 0);
        assert_int_equal(r.first.status, VC_OK);
        assert_in_range(r.first.drain_us, 0, SECOND);
        vc_channel_close(channel);
        rig_end(&r);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_call_goes_on_by_another_link_of_a_drained_server_at_once),
        T(links_left_at_a_drained_server_do_not_count_against_the_next),
        T(a_call_whose_links_bring_no_reply_ends),
        T(a_drained_server_is_told_when_a_channel_with_a_call_there_is_closed),
        T(a_call_at_a_drained_server_that_is_killed_ends_at_once),
        T(a_call_taken_back_unsent_keeps_no_link_to_a_drained_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
