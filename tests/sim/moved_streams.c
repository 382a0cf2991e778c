/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/moved_streams.h. The test's own process is the client. */
#include "tests/sim/moved_streams.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/call.h>

#include "cm/pool/client.h"
#include "rpc/client/stream_client.h"
#include "tests/sim/reactor.h"

#define SEEDS      4u
#define SECOND     UINT64_C(1000000) /* us */
#define BACKOFF_MS 5000u             /* of a stream that only moves: too long */

/* A channel with two servers. */
struct pair {
    struct sim_server servers[2];
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    char target[200];
    uint64_t began;
    struct vc_metadata key;
    struct vc_call_opts opts; /* with the key */
};

static void
pair_must(enum vc_status status)
{
    if (status != VC_OK)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
}

/* Begins a world with two hosts, of which only the second has a server, or both
 * with a limit of one call each. These get calls in turn, or by their key, with
 * an odd or an even seed. */
static void
pair_begin(struct pair *p, uint64_t seed, bool both)
{
    static struct vc_server_opts server_opts = VC_SERVER_OPTS_INIT;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    static const char *const addrs[] = {"10.9.0.2", "10.9.0.4"};

    memset(p, 0, sizeof *p);
    memset(&reactor_served, 0, sizeof reactor_served);
    server_opts.max_calls = 1;
    sim_begin(seed, (unsigned)seed % 3, true);
    for (unsigned i = 0; i < 2; i++) {
        struct fake_host *host = fake_host_new(addrs[i], addrs[i]);

        sim_target(addrs[i], p->servers[i].target);
        p->servers[i].add = reactor_add;
        p->servers[i].opts = both ? &server_opts : NULL;
        if (i == 0 && !both)
            continue;
        sim_server_start(&p->servers[i], host, 1);
        assert_true(sim_server_await(&p->servers[i]));
    }
    opts.policy = !both           ? "pick_first"
                  : seed % 2 != 0 ? "round_robin"
                                  : "ring_hash";
    opts.hash_metadata = "key";
    p->key = (struct vc_metadata){.key = "key", .value = "k", .length = 1};
    p->opts = (struct vc_call_opts)VC_CALL_OPTS_INIT;
    p->opts.metadata = &p->key;
    p->opts.n_metadata = 1;
    if (!both) {
        opts.max_attempts = 1;
        opts.retry_backoff_ms = BACKOFF_MS;
    }
    snprintf(p->target, sizeof p->target, "list:%s,%s", p->servers[0].target,
             p->servers[1].target);
    pair_must(sim_runtime(&p->runtime, 1));
    pair_must(vc_channel_open(p->runtime, p->target, &opts, &p->channel));
    p->began = vc__now();
}

static void
pair_end(struct pair *p)
{
    vc_channel_close(p->channel);
    vc_runtime_free(p->runtime);
    for (unsigned i = 0; i < 2; i++)
        assert_true(p->servers[i].process == NULL ||
                    sim_server_stop(&p->servers[i]));
    assert_int_equal(atomic_load(&reactor_served.faults), 0);
    assert_int_equal(atomic_load(&reactor_served.began),
                     atomic_load(&reactor_served.ended));
    assert_int_equal(fake_end(), 0);
}

/* Makes calls until both servers are connected. */
static void
pair_connect(struct pair *p)
{
    static char text[4096];
    unsigned ready = 0;

    for (unsigned i = 0; ready < 2 && i < 1000; i++) {
        const char *at = text;

        pair_must(sim_echo(p->channel, 8, 1, 0, NULL));
        vc_channel_describe(p->channel, text, sizeof text);
        for (ready = 0; (at = strstr(at, ": ready,")) != NULL; at++)
            ready++;
    }
    assert_int_equal(ready, 2);
}

/* Waits for the end of a stream, and closes it; returns its attempts. */
static unsigned
moved_end(struct reactor *r, enum vc_status status)
{
    struct vc_result result = VC_RESULT_INIT;
    unsigned attempts;

    if (!reactor_await(r))
        fail_msg("it does not end, %u came: %s", r->came, fake_trace());
    if (reactor_fault(r) != NULL)
        fail_msg("%s", reactor_fault(r));
    if (r->status != status)
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
    if (status != VC_OK)
        assert_int_equal(r->outcome, VC_OUTCOME_NOT_EXECUTED);
    pair_must(vc_stream_result(r->stream, &result));
    vc_stream_close(r->stream);
    attempts = result.attempts;
    vc_result_clear(&result);
    return attempts;
}

/* --- not sent ------------------------------------------------------------- */

/* There is no attempt of the retry policy left, and its backoff is long. */
static void
unsent_run(struct pair *p)
{
    struct reactor talk = {.to_send = 10}, up = {.to_send = 10},
                   down = {.came = 0};

    pair_must(reactor_start(&talk, p->channel, TALK, NULL, 0, 100));
    pair_must(reactor_start(&up, p->channel, UP, NULL, 0, 30000));
    pair_must(reactor_start(&down, p->channel, DOWN, NULL, 10, 100));
    pair_must(reactor_pump(&talk));
    pair_must(reactor_pump(&up)); /* longer than a window */
    pair_must(vc_runtime_start(p->runtime));
    assert_int_equal(moved_end(&talk, VC_OK), 2);
    assert_int_equal(moved_end(&up, VC_OK), 2);
    assert_int_equal(moved_end(&down, VC_OK), 2);
    assert_int_equal(talk.came, 10);
    assert_int_equal(up.sum, 300000);
    assert_int_equal(down.came, 10);
    assert_true(vc__now() - p->began < SECOND);
    assert_int_equal(atomic_load(&reactor_served.began), 3);
}

void
streams_that_were_not_sent_go_to_another_server(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct pair p;

        pair_begin(&p, seed, false);
        unsent_run(&p);
        pair_end(&p);
    }
}

void
one_that_may_not_be_retried_does_not(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor talk = {.to_send = 10};
    struct pair p;

    (void)state;
    opts.flags = VC_CALL_NO_RETRY;
    pair_begin(&p, 1, false);
    pair_must(reactor_start(&talk, p.channel, TALK, &opts, 0, 100));
    pair_must(reactor_pump(&talk));
    pair_must(vc_runtime_start(p.runtime));
    assert_int_equal(moved_end(&talk, VC_UNAVAILABLE), 1);
    assert_int_equal(atomic_load(&reactor_served.began), 0);
    pair_end(&p);
}

/* Nobody is at the first server, nor at the second; two attempts follow. */
void
a_move_is_no_attempt_of_the_policys(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct reactor talk = {.to_send = 10};
    struct vc_channel *channel;
    struct pair p;

    (void)state;
    opts.max_attempts = 3;
    opts.retry_backoff_ms = 1;
    pair_begin(&p, 1, false);
    fake_process_kill(p.servers[1].process);
    p.servers[1].process = NULL;
    pair_must(vc_channel_open(p.runtime, p.target, &opts, &channel));
    pair_must(vc_runtime_start(p.runtime));
    pair_must(reactor_start(&talk, channel, TALK, NULL, 0, 100));
    reactor_pump(&talk);
    assert_int_equal(moved_end(&talk, VC_UNAVAILABLE), 4);
    vc_channel_close(channel);
    pair_end(&p);
}

/* --- refused -------------------------------------------------------------- */

/* One of the servers has its call already, and streams go to both in turn, or
 * to that one: so one or more of two is refused there. A stream of the client
 * that has sent nothing is as good as one of the server. */
static void
refused_run(struct pair *p)
{
    unsigned attempts = 0;

    for (unsigned i = 0; i < 2; i++) {
        struct reactor down = {.came = 0};

        pair_must(reactor_start(&down, p->channel, DOWN, &p->opts, 10, 100));
        attempts += moved_end(&down, VC_OK);
        assert_int_equal(down.came, 10);
    }
    assert_true(attempts > 2);
    attempts = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct reactor talk = {.keeps_open = true};

        pair_must(reactor_start(&talk, p->channel, TALK, &p->opts, 0, 100));
        assert_true(reactor_await_word(&reactor_served.began, 4 + i));
        talk.to_send = 5;
        talk.keeps_open = false;
        pair_must(reactor_pump(&talk));
        attempts += moved_end(&talk, VC_OK);
        assert_int_equal(talk.came, 5);
    }
    assert_true(attempts > 2);
}

/* Runs the rest while one of the servers has its call. */
static void
refused_play(uint64_t seed, void (*run)(struct pair *p))
{
    struct reactor first = {.to_send = 1, .keeps_open = true};
    struct pair p;

    pair_begin(&p, seed, true);
    pair_must(vc_runtime_start(p.runtime));
    pair_connect(&p);
    pair_must(reactor_start(&first, p.channel, TALK, &p.opts, 0, 100));
    pair_must(reactor_pump(&first));
    assert_true(reactor_await_word(&reactor_served.messages, 1));
    run(&p);
    pair_must(vc_stream_half_close(first.stream));
    moved_end(&first, VC_OK);
    pair_end(&p);
}

void
streams_that_were_refused_go_to_another_server(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        refused_play(seed, refused_run);
}

static void
gone_run(struct pair *p)
{
    unsigned good = 0;

    for (unsigned i = 0; i < 2; i++) {
        struct reactor talk = {.to_send = 1};

        pair_must(reactor_start(&talk, p->channel, TALK, NULL, 0, 100));
        reactor_pump(&talk);
        assert_true(reactor_await(&talk));
        good += talk.status == VC_OK;
        assert_int_equal(moved_end(&talk, talk.status == VC_OK
                                              ? VC_OK
                                              : VC_RESOURCE_EXHAUSTED),
                         1);
    }
    assert_int_equal(good, 1);
}

void
one_whose_messages_are_gone_ends_where_it_was_refused(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed += 2)
        refused_play(seed, gone_run);
}

/* --- senders -------------------------------------------------------------- */

/* No thread but this one advances the client's runtime. Sends a message when
 * the stream was refused, and waits for the other server; nothing advances the
 * runtime after vc_stream_send(). True if the stream was refused. */
static bool
late_send(struct pair *p)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    unsigned began = atomic_load(&reactor_served.began),
             came = atomic_load(&reactor_served.messages);
    struct vc__client_stream *c;
    struct vc_stream *stream;
    bool refused;

    pair_must(vc_stream_open(p->channel, &reactor_service, TALK, NULL, NULL,
                             &stream));
    c = vc__client_stream_of(stream);
    while (!c->parked && atomic_load(&reactor_served.began) == began)
        vc_runtime_poll(p->runtime, 100);
    refused = c->parked;
    pair_must(vc_stream_send(stream, &request));
    assert_true(reactor_await_word(&reactor_served.messages, came + 1));
    pair_must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
    return refused;
}

void
a_first_message_waits_for_the_link_of_the_other_server(void **state)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *first;
    Suite__EchoReply *reply;
    struct pair p;

    (void)state;
    pair_begin(&p, 1, true);
    pair_connect(&p);
    pair_must(
        vc_stream_open(p.channel, &reactor_service, TALK, NULL, NULL, &first));
    pair_must(vc_stream_send(first, &request));
    pair_must(vc_stream_receive(first, (void **)&reply));
    vc_message_free(reply);
    assert_int_equal(late_send(&p) + late_send(&p), 1);
    pair_must(vc_stream_finish(first, NULL));
    vc_stream_close(first);
    pair_end(&p);
}

/* As of a thread that has looked for the server, and then rested. */
void
the_former_server_takes_no_message_of_one_that_has_left(void **state)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc__client_stream *c;
    struct vc__client *former;
    struct vc__send late = {0};
    struct vc_stream *stream;
    struct pair p;

    (void)state;
    pair_begin(&p, 1, false);
    pair_must(
        vc_stream_open(p.channel, &reactor_service, TALK, NULL, NULL, &stream));
    c = vc__client_stream_of(stream);
    former = c->client;
    pair_must(vc_stream_send(stream, &request));
    assert_ptr_not_equal(former, c->client);
    assert_false(vc__client_add(former, &c->request, &late));
    pair_must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
    pair_end(&p);
}
