/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links that are closed because they are idle: when this happens, and that it
 * does not happen to all links at once. Also a call that begins just when its
 * link is being closed. The test stops at that moment by holding the link's
 * lock, which closing needs. And a channel that only watches the health of its
 * server. */
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/health.h>
#include <verbcall/stream.h>

#include "rpc/client/channel.h"
#include "tests/sim/caller.h"
#include "tests/sim/later.h"
#include "tests/sim/networks.h"
#include "tests/sim/second.h"

#define SEEDS   4u
#define MS      1000u
#define CALLERS 20u /* so many that another link is made */

struct rig {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *busy, *channel; /* they share their links */
    struct caller callers[CALLERS];
};

static enum vc_status
talk(struct vc_call *call, struct suite_streams_talk_server_stream *stream,
     void *arg)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    (void)call;
    (void)arg;
    while ((status = suite_streams_talk_server_receive(stream, &request)) ==
               VC_OK &&
           request != NULL)
        vc_message_free(request);
    return status;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_streams_methods methods = {.talk = talk};

    return suite_streams_add(server, &methods, s);
}

static struct vc_channel *
channel_open(struct rig *r)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *c;

    opts.max_links = 2;
    opts.idle_timeout_ms = 400;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    assert_int_equal(vc_channel_open(r->runtime, r->server.target, &opts, &c),
                     VC_OK);
    return c;
}

static void
rig_begin(struct rig *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->server.add = streams_add;
    r->server.sleep_us = 50 * MS;
    r->server.long_us = 3000 * MS;
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", r->server.target);
    sim_server_start(&r->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    r->busy = channel_open(r);
    r->channel = channel_open(r);
}

static void
rig_end(struct rig *r)
{
    vc_channel_close(r->channel);
    vc_channel_close(r->busy);
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    assert_int_equal(fake_end(), 0);
}

static struct vc_counters
counters(const struct rig *r)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(r->runtime, &c);
    return c;
}

/* Makes two links. One carries a call that runs for long, the other none any
 * more. */
static void
links_make(struct rig *r, bool bound)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        r->callers[i] =
            (struct caller){.channel = r->busy, .tag = i == 0 ? 0 : 1};
        caller_begin(&r->callers[i]);
    }
    while (counters(r).links_up < 2)
        fake_sleep_us(MS);
    if (bound)
        assert_int_equal(sim_echo(r->channel, 64, 1, 0, NULL), VC_OK);
    for (unsigned i = 1; i < CALLERS; i++)
        caller_join(&r->callers[i]);
}

static struct vc__link *
idle_link(struct rig *r)
{
    struct vc__pool *p = r->channel->servers.only->pool;
    struct vc__pool_link *pl;
    struct vc__link *link = NULL;

    vc__lock_take(&p->lock);
    cds_list_for_each_entry (pl, &p->peer->links, node) {
        if (pl->n_busy == 0)
            link = &pl->link;
    }
    vc__lock_give(&p->lock);
    assert_non_null(link);
    return link;
}

static void *
stream_open(void *arg)
{
    struct suite_streams_talk_client_stream *stream = NULL;

    suite_streams_talk(arg, NULL, &stream);
    return stream;
}

/* Begins a stream when the link is about to be closed, and flushes the link. */
static struct suite_streams_talk_client_stream *
stream_begin_meanwhile(struct rig *r, struct vc__link *link)
{
    pthread_t thread;
    void *stream;

    vc__lock_take(&link->lock);
    while (counters(r).links_leaving == 0)
        fake_sleep_us(MS);
    assert_int_equal(pthread_create(&thread, NULL, stream_open, r->channel), 0);
    pthread_join(thread, &stream);
    vc__link_flush(link);
    vc__lock_give(&link->lock);
    assert_non_null(stream);
    return stream;
}

static void
play(uint64_t seed, bool bound)
{
    struct suite_streams_talk_client_stream *stream;
    struct rig r;

    rig_begin(&r, seed);
    links_make(&r, bound);
    stream = stream_begin_meanwhile(&r, idle_link(&r));
    if (suite_streams_talk_finish(stream) != VC_OK)
        fail_msg("%s", vc_error());
    suite_streams_talk_close(stream);
    caller_join(&r.callers[0]);
    assert_int_equal(r.callers[0].status, VC_OK);
    assert_int_equal(counters(&r).links_up, 1);
    rig_end(&r);
}

static void
a_stream_that_begins_goes_by_no_link_that_is_closed_for_being_idle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, false);
}

static void
a_session_leaves_the_link_that_is_closed_for_being_idle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, true);
}

/* --- when idle links are closed ---------------------------------------------- */

#define POOLS   16u
#define LINKS   4u  /* of a pool, at most */
#define FULL    17u /* calls on a link, so that the pool makes another */
#define IDLE_MS 400u
#define LOOK_MS (IDLE_MS / 4)
/* Tolerance for the ends of the last calls and for the test's polling. */
#define SPREAD_MS 10u

/* Pools with different options, and a channel and a session for each link. */
struct pools {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channels[POOLS][LINKS];
    struct caller callers[POOLS][LINKS][FULL];
    unsigned n, links;   /* of each */
    uint64_t idle_since; /* ms; when the last call ended */
};

/* Its calls stay open until `go` is set. */
static struct later held;

static enum vc_status
hold(struct sim_server *s, struct vc_call *call,
     const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    atomic_store(&held.hold, 1);
    return later_take(&held, call);
}

static void
pools_open(struct pools *p)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.max_links = p->links;
    opts.idle_timeout_ms = IDLE_MS;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    for (unsigned i = 0; i < p->n; i++) {
        opts.connect_timeout_ms = 2000 + i;
        for (unsigned k = 0; k < p->links; k++)
            assert_int_equal(vc_channel_open(p->runtime, p->server.target,
                                             &opts, &p->channels[i][k]),
                             VC_OK);
    }
}

static void
pools_begin(struct pools *p, uint64_t seed, unsigned n, unsigned links)
{
    memset(p, 0, sizeof *p);
    p->n = n;
    p->links = links;
    p->server.handle = hold;
    later_serve(&held, &p->server, 0);
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", p->server.target);
    sim_server_start(&p->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&p->server));
    assert_int_equal(sim_runtime(&p->runtime, 1), VC_OK);
    assert_int_equal(vc_runtime_start(p->runtime), VC_OK);
    pools_open(p);
}

static void
pools_end(struct pools *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        for (unsigned k = 0; k < p->links; k++)
            vc_channel_close(p->channels[i][k]);
    }
    vc_runtime_free(p->runtime);
    assert_true(sim_server_stop(&p->server));
    assert_int_equal(fake_end(), 0);
}

static unsigned
links_up(const struct pools *p)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(p->runtime, &c);
    return (unsigned)c.links_up;
}

/* The number of calls that channel k of a pool makes. The last link must not be
 * full. */
static unsigned
calls_of(const struct pools *p, unsigned k)
{
    return k + 1 < p->links ? FULL : 1;
}

/* Starts the calls on the k-th link of each pool; then each pool makes one link
 * more. */
static void
wave(struct pools *p, unsigned k)
{
    unsigned links = k + 2 < p->links ? k + 2 : p->links;

    for (unsigned i = 0; i < p->n; i++) {
        for (unsigned c = 0; c < calls_of(p, k); c++) {
            struct caller *caller = &p->callers[i][k][c];

            *caller = (struct caller){.channel = p->channels[i][k], .tag = 1};
            caller_begin(caller);
        }
    }
    while (links_up(p) < p->n * links)
        fake_sleep_us(MS);
}

/* All links carry calls, which all end at one moment. The moment lies anywhere
 * between two checks for idle links. */
static void
pools_use(struct pools *p, uint64_t seed)
{
    for (unsigned k = 0; k < p->links; k++)
        wave(p, k);
    fake_sleep_us((200 + seed * 23) * MS);
    sim_tell(&held.go);
    for (unsigned i = 0; i < p->n; i++) {
        for (unsigned k = 0; k < p->links; k++) {
            for (unsigned c = 0; c < calls_of(p, k); c++) {
                caller_join(&p->callers[i][k][c]);
                assert_int_equal(p->callers[i][k][c].status, VC_OK);
            }
        }
    }
    p->idle_since = fake_now_us() / MS;
}

/* Waits until links are closed. Returns the milliseconds since all links were
 * idle; *links is how many were closed at that moment. */
static unsigned
await_closing(const struct pools *p, unsigned *links)
{
    unsigned before = links_up(p), now;

    while ((now = links_up(p)) == before)
        fake_sleep_us(MS);
    *links = before - now;
    return (unsigned)(fake_now_us() / MS - p->idle_since);
}

/* Not before idle_timeout_ms, and not after one and a half times as much. */
static void
is_in_time(unsigned ms)
{
    assert_in_range(ms, IDLE_MS - SPREAD_MS, IDLE_MS * 3 / 2 + SPREAD_MS);
}

/* Some links wait for one check more than the others; which ones is random. */
static void
links_that_fall_idle_together_are_not_closed_together(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned first = 0, last = 0, links;
        struct pools p;

        pools_begin(&p, seed, POOLS, 2);
        pools_use(&p, seed);
        for (unsigned n = 0; n < POOLS; n += links) {
            last = await_closing(&p, &links);
            is_in_time(last);
            first = n == 0 ? last : first;
        }
        assert_in_range(last - first, LOOK_MS - SPREAD_MS, LOOK_MS + SPREAD_MS);
        assert_int_equal(links_up(&p), POOLS);
        pools_end(&p);
    }
}

static void
a_pool_closes_one_idle_link_after_the_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned ms[LINKS - 1], links;
        struct pools p;

        pools_begin(&p, seed, 1, LINKS);
        pools_use(&p, seed);
        for (unsigned i = 0; i < LINKS - 1; i++) {
            ms[i] = await_closing(&p, &links);
            assert_int_equal(links, 1);
            assert_true(i == 0 || ms[i] - ms[i - 1] >= LOOK_MS - SPREAD_MS);
        }
        is_in_time(ms[0]);
        assert_int_equal(links_up(&p), 1);
        pools_end(&p);
    }
}

/* The last link of a pool is not closed when it is idle, but it may be lost. */
static void
a_pool_without_links_looks_for_idle_ones_no_more(void **state)
{
    struct pools p;
    char text[500];

    (void)state;
    pools_begin(&p, 1, 1, 1);
    pools_use(&p, 1);
    assert_true(sim_server_stop(&p.server));
    fake_sleep_us(2 * LOOK_MS * MS);
    assert_int_equal(links_up(&p), 0);
    vc_channel_describe(p.channels[0][0], text, sizeof text);
    assert_non_null(strstr(text, "no connection since the last was lost: "));
    assert_null(strstr(text, "no call has been made yet"));
    vc_runtime_stop(p.runtime);
    assert_false(
        vc__timer_running(&p.channels[0][0]->servers.only->pool->look));
    vc_channel_close(p.channels[0][0]);
    vc_runtime_free(p.runtime);
    assert_int_equal(fake_end(), 0);
}

/* --- only a Watch --------------------------------------------------------- */

static struct vc_health *health;

static enum vc_status
health_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return vc_health_new(server, &health);
}

static void
health_closed(struct sim_server *s)
{
    (void)s;
    vc_health_free(health);
}

static uint64_t
links_started(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c.links_started;
}

/* A call has begun lately when the first time is over, and none when the second
 * one begins. */
static void
a_channel_that_only_watches_looks_for_no_better_transport(void **state)
{
    struct vc_channel_opts opts = networks_opts();
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct networks n;
    uint64_t started;

    (void)state;
    sim_begin(1, 4, false);
    networks_make(&n, fake_host_local(), "10.9.1.1");
    n.server.add = health_add;
    n.server.closed = health_closed;
    networks_serve(&n, 2);
    networks_lose(&n, FIRST, LOSS_CUT);
    opts.health_service = "";
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, NETWORKS_TARGET, &opts, &channel),
                     VC_OK);
    assert_int_equal(vc_runtime_start(runtime), VC_OK);
    assert_int_equal(sim_echo(channel, 64, 0, 20000, NULL), VC_OK);
    fake_sleep_us(20000 * MS);
    assert_true(second_packets() > 0);
    assert_true(networks_only(channel, "tcp"));
    started = links_started(runtime);

    fake_sleep_us(40000 * MS);

    assert_int_equal(links_started(runtime), started);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_true(sim_server_stop(&n.server));
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_stream_that_begins_goes_by_no_link_that_is_closed_for_being_idle),
        cmocka_unit_test(
            a_session_leaves_the_link_that_is_closed_for_being_idle),
        cmocka_unit_test(links_that_fall_idle_together_are_not_closed_together),
        cmocka_unit_test(a_pool_closes_one_idle_link_after_the_other),
        cmocka_unit_test(a_pool_without_links_looks_for_idle_ones_no_more),
        cmocka_unit_test(
            a_channel_that_only_watches_looks_for_no_better_transport),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
