/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How calls share a link: calls that wait at the same time go in one packet,
 * and sessions get shares by their channels' weights. The test reads every
 * packet that the client sends. */
#include <pthread.h>
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/counters.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/sim/sim.h"
#include "transport/wire/packet.h"

#define SEEDS    4u
#define ECHO     0u
#define CALLS    48u   /* of 64 bytes; all fit in one packet */
#define GREEDY   200u  /* calls under way of a greedy session */
#define BULK     4000u /* bytes of each call */
#define SETTLE   500u  /* calls before the shares are measured */
#define MEASURED 800u

/* --- what the client sends ------------------------------------------------- */

static struct seen {
    unsigned calls;      /* CALL frames */
    unsigned packets;    /* with at least one CALL */
    unsigned most;       /* CALLs in one packet */
    uint64_t bytes[2];   /* of the CALLs' bodies, by channel */
    uint64_t replied[2]; /* of the replies' bodies */
} seen;

/* The sessions of the channels. */
static uint32_t sessions[2];
static unsigned n_sessions;

/* The world runs one thread at a time; this shows that order to the thread
 * sanitizer. */
static void
order(void)
{
    static atomic_uint turns;

    atomic_fetch_add(&turns, 1);
}

static struct seen
seen_now(void)
{
    order();
    return seen;
}

static void
seen_forget(void)
{
    memset(&seen, 0, sizeof seen);
    order();
}

static void
replies_see(struct vc__packet_reader *r)
{
    struct vc__frame f;

    while (vc__frame_next(r, &f) == 1) {
        if (f.type == VC__FRAME_REPLY)
            seen.replied[f.session == sessions[1]] += f.body_len;
    }
    order();
}

static void
on_send(const char *process, const char *host, const void *bytes, size_t len,
        void *arg)
{
    struct vc__packet_reader r;
    struct vc__packet p;
    struct vc__frame f;
    unsigned n = 0;

    (void)host;
    (void)arg;
    if (!vc__packet_open(&r, bytes, len, &p))
        return;
    order();
    if (strcmp(process, "main") != 0) {
        replies_see(&r);
        return;
    }
    while (vc__frame_next(&r, &f) == 1) {
        if (f.type == VC__FRAME_OPEN && n_sessions < 2)
            sessions[n_sessions++] = f.session;
        if (f.type != VC__FRAME_CALL)
            continue;
        n++;
        seen.bytes[f.session == sessions[1]] += f.body_len;
    }
    seen.calls += n;
    seen.packets += n > 0;
    if (n > seen.most)
        seen.most = n;
    order();
}

/* --- a client with two channels to one server -------------------------------- */

struct rig {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channels[2];
    struct vc_completions *queue;
};

static struct vc_channel *
channel_open(struct rig *r, unsigned weight)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.max_links = 1;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    opts.weight = weight;
    assert_int_equal(
        vc_channel_open(r->runtime, r->server.target, &opts, &channel), VC_OK);
    return channel;
}

static struct vc_counters
counters(const struct rig *r)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(r->runtime, &c);
    return c;
}

/* Packets that the client has posted, except those with credits only. */
static unsigned
posted(const struct rig *r)
{
    struct vc_counters c = counters(r);

    return (unsigned)(c.packets_sent - c.packets_of_credits);
}

/* Both channels have their sessions on one link. */
static void
rig_begin(struct rig *r, uint64_t seed, unsigned weight, sim_handle *handle)
{
    memset(r, 0, sizeof *r);
    r->server.handle = handle;
    sim_begin(seed, 0, false);
    sim_target("10.9.0.2", r->server.target);
    sim_server_start(&r->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    assert_int_equal(vc_completions_new(r->runtime, &r->queue), VC_OK);
    n_sessions = 0;
    fake_see(on_send, NULL);
    for (unsigned i = 0; i < 2; i++) {
        r->channels[i] = channel_open(r, i == 0 ? 1 : weight);
        assert_int_equal(sim_echo(r->channels[i], 64, 1, 0, NULL), VC_OK);
    }
    seen_forget();
    assert_int_equal(n_sessions, 2);
    assert_int_equal(counters(r).links_up, 1);
}

static void
rig_end(struct rig *r)
{
    vc_channel_close(r->channels[0]);
    vc_channel_close(r->channels[1]);
    vc_completions_free(r->queue);
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    assert_int_equal(fake_end(), 0);
}

/* Starts a call of the channel with this number; its completion goes to the
 * queue. */
static void
call_begin(struct rig *r, unsigned number, size_t size)
{
    static const uint8_t zeros[BULK];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_async *handle = NULL;

    request.tag = number;
    request.payload.len = size;
    request.payload.data = (uint8_t *)zeros;
    assert_int_equal(vc_channel_call_queued(r->channels[number],
                                            &suite_probe_service, ECHO,
                                            &request, NULL, r->queue,
                                            &r->channels[number], &handle),
                     VC_OK);
    vc_async_free(handle);
}

/* Waits for the end of a call; returns the number of its channel. */
static unsigned
call_end(struct rig *r)
{
    struct vc_completion end;
    struct vc_channel **channel;

    assert_int_equal(vc_completions_next(r->queue, 10000, &end), VC_OK);
    assert_int_equal(end.status, VC_OK);
    vc_message_free(end.reply);
    channel = end.tag;
    return (unsigned)(channel - r->channels);
}

/* --- shared packets ------------------------------------------------------- */

/* No credits come while the server is frozen. Each of the first calls takes a
 * credit, and the calls after them wait for the next. */
static void
calls_that_wait_for_a_credit_share_a_packet(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;
        unsigned before, alone;

        rig_begin(&r, seed, 1, NULL);
        before = posted(&r);
        fake_process_freeze(r.server.process);
        for (unsigned i = 0; i < CALLS; i++)
            call_begin(&r, i % 2, 64);
        alone = posted(&r) - before;
        assert_in_range(alone, 1, CALLS / 2);
        assert_true(counters(&r).stalls_credits > 0);
        fake_process_thaw(r.server.process);
        for (unsigned i = 0; i < CALLS; i++)
            call_end(&r);
        assert_int_equal(posted(&r) - before, alone + 1);
        assert_int_equal(seen_now().packets, alone + 1);
        assert_int_equal(seen_now().most, CALLS - alone);
        assert_int_equal(seen_now().calls, CALLS);
        rig_end(&r);
    }
}

struct caller {
    struct rig *rig;
    unsigned number;
    pthread_t thread;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    call_begin(c->rig, c->number, 64);
    return NULL;
}

static struct vc__link *
the_link(struct rig *r)
{
    struct vc__pool *p = r->channels[0]->servers.only->pool;
    struct vc__link *link;

    vc__lock_take(&p->lock);
    link =
        &cds_list_entry(p->peer->links.next, struct vc__pool_link, node)->link;
    vc__lock_give(&p->lock);
    return link;
}

/* The thread that holds the link's lock sends what the other threads have
 * appended. */
static void
calls_of_threads_that_find_the_link_taken_share_a_packet(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct caller callers[CALLS];
        struct vc__link *link;
        unsigned before;
        struct rig r;

        rig_begin(&r, seed, 1, NULL);
        before = posted(&r);
        link = the_link(&r);
        vc__lock_take(&link->lock);
        for (unsigned i = 0; i < CALLS; i++) {
            callers[i] = (struct caller){.rig = &r, .number = i % 2};
            assert_int_equal(pthread_create(&callers[i].thread, NULL,
                                            caller_main, &callers[i]),
                             0);
        }
        for (unsigned i = 0; i < CALLS; i++)
            pthread_join(callers[i].thread, NULL);
        assert_int_equal(posted(&r) - before, 0);
        vc__link_unlock(link);
        assert_int_equal(posted(&r) - before, 1);
        for (unsigned i = 0; i < CALLS; i++)
            call_end(&r);
        assert_int_equal(seen_now().packets, 1);
        assert_int_equal(seen_now().calls, CALLS);
        rig_end(&r);
    }
}

/* --- shares ------------------------------------------------------------------ */

static void
is_by_weight(const uint64_t bytes[2], uint64_t seed, unsigned weight)
{
    double share = (double)bytes[1] / (double)bytes[0];

    if (share < weight * 0.95 || share > weight * 1.05)
        fail_msg("seed %u: with weight %u it got %.3f times as much",
                 (unsigned)seed, weight, share);
}

/* Both sessions always have more to send than the link takes. */
static void
keep_full(struct rig *r, size_t size)
{
    for (unsigned i = 0; i < 2 * GREEDY; i++)
        call_begin(r, i % 2, size);
    for (unsigned i = 0; i < SETTLE + MEASURED; i++) {
        if (i == SETTLE)
            seen_forget();
        call_begin(r, call_end(r), size);
    }
}

static void
shares(uint64_t seed, unsigned weight)
{
    struct seen now;
    struct rig r;

    rig_begin(&r, seed, weight, NULL);
    keep_full(&r, BULK);
    now = seen_now();
    assert_true(counters(&r).stalls_credits > 0);
    is_by_weight(now.bytes, seed, weight);
    for (unsigned i = 0; i < 2 * GREEDY; i++)
        call_end(&r);
    rig_end(&r);
}

static void
sessions_share_a_link_by_the_weights_of_their_channels(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        shares(seed, 1);
        shares(seed, 3);
    }
}

/* Sends a long reply to a request of one byte. */
static enum vc_status
answer_in_bulk(struct sim_server *s, struct vc_call *call,
               const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    static uint8_t zeros[BULK];

    (void)s;
    (void)call;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->payload.len == 1)
        reply->payload = (ProtobufCBinaryData){.len = BULK, .data = zeros};
    return VC_OK;
}

static void
shares_of_replies(uint64_t seed, unsigned weight)
{
    struct seen now;
    struct rig r;

    rig_begin(&r, seed, weight, answer_in_bulk);
    keep_full(&r, 1);
    now = seen_now();
    is_by_weight(now.replied, seed, weight);
    for (unsigned i = 0; i < 2 * GREEDY; i++)
        call_end(&r);
    rig_end(&r);
}

static void
replies_share_a_link_by_the_weights_of_the_clients_channels(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        shares_of_replies(seed, 1);
        shares_of_replies(seed, 3);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_wait_for_a_credit_share_a_packet),
        cmocka_unit_test(
            calls_of_threads_that_find_the_link_taken_share_a_packet),
        cmocka_unit_test(
            sessions_share_a_link_by_the_weights_of_their_channels),
        cmocka_unit_test(
            replies_share_a_link_by_the_weights_of_the_clients_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
