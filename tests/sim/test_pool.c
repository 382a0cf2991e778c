/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Channels that share links. Pools grow under load, shrink without load, and
 * serve each channel as if it were alone. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/rdma.h>

#include "tests/sim/sim.h"

#define CALLERS  120u
#define CHANNELS sim_share(10000u)
#define PATIENCE 120000000u /* us */

struct rig {
    struct sim_server server;
    struct fake_host *there;
    struct vc_runtime *runtime;
    struct vc_channel_opts opts;
    atomic_uint next_tag;
    unsigned most; /* the largest number of links seen */
};

struct caller {
    struct rig *rig;
    struct vc_channel *channel;
    pthread_t thread;
    unsigned calls;
    size_t size;
    unsigned good;
    enum vc_status status; /* of the last call that failed */
    enum vc_outcome outcome;
};

/* The server's Echo is handle(), or sleeps for sleep_us. */
static void
rig_begin_with(struct rig *r, uint64_t seed, sim_handle *handle,
               unsigned sleep_us, unsigned min, unsigned max)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(r, 0, sizeof *r);
    r->opts = opts;
    r->opts.min_links = min;
    r->opts.max_links = max;
    r->server.handle = handle;
    r->server.sleep_us = sleep_us;
    sim_begin(seed, 1 + (unsigned)(seed % 7) * 3, getenv("TRACE") != NULL);
    r->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", r->server.target);
    sim_server_start(&r->server, r->there, 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
}

static void
rig_begin(struct rig *r, uint64_t seed, unsigned sleep_us, unsigned min,
          unsigned max)
{
    rig_begin_with(r, seed, NULL, sleep_us, min, max);
}

static void
rig_end(struct rig *r)
{
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(fake_end(), 0);
}

static struct vc_channel *
channel_open(struct rig *r)
{
    struct vc_channel *c;

    assert_int_equal(
        vc_channel_open(r->runtime, r->server.target, &r->opts, &c), VC_OK);
    return c;
}

/* The number of connected links. It counts ids, so idle QPs do not count. */
static unsigned
links(struct rig *r)
{
    struct fake_census census;
    unsigned n;

    fake_census(fake_process_self(), &census);
    n = census.ids - census.srqs; /* one id watches for the device's removal */
    if (n > r->most)
        r->most = n;
    return n;
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (unsigned i = 0; i < c->calls; i++) {
        unsigned tag = atomic_fetch_add(&c->rig->next_tag, 1);
        enum vc_outcome outcome;
        enum vc_status status =
            sim_echo(c->channel, c->size, tag % SIM_TAGS, 20000, &outcome);

        c->good += status == VC_OK;
        if (status != VC_OK) {
            c->status = status;
            c->outcome = outcome;
        }
    }
    return NULL;
}

static void
caller_start(struct caller *c, struct rig *r, struct vc_channel *channel,
             unsigned calls, size_t size)
{
    *c = (struct caller){
        .rig = r, .channel = channel, .calls = calls, .size = size};
    assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

static void
pool_grows_under_load_within_its_limit_and_shrinks_when_idle(void **state)
{
    struct rig r;
    struct caller callers[CALLERS];
    struct vc_channel *channels[8], *quiet;

    (void)state;
    for (unsigned max = 1; max <= 8; max += 7) {
        rig_begin(&r, 3, 100, 1, max);
        r.opts.idle_timeout_ms = 1000;
        for (unsigned i = 0; i < 8; i++)
            channels[i] = channel_open(&r);
        for (unsigned i = 0; i < CALLERS; i++)
            caller_start(&callers[i], &r, channels[i % 8], 30, 64);
        for (unsigned i = 0; i < 300; i++) {
            links(&r);
            fake_sleep_us(1000);
        }
        for (unsigned i = 0; i < CALLERS; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_int_equal(callers[i].good, 30);
        }
        /* The listener's id belongs to the server's process. */
        if (r.most != max)
            fputs(fake_trace(), stderr);
        assert_int_equal(r.most, max);
        /* A pool shrinks only while a thread advances it: here, a thread that
         * calls. */
        quiet = channels[0];
        for (unsigned i = 0; i < 400 && links(&r) > 1; i++) {
            assert_int_equal(sim_echo(quiet, 1, 9, 5000, NULL), VC_OK);
            fake_sleep_us(50000);
        }
        assert_int_equal(links(&r), 1);
        assert_int_equal(sim_echo(quiet, 1, 9, 5000, NULL), VC_OK);
        for (unsigned i = 0; i < 8; i++)
            vc_channel_close(channels[i]);
        rig_end(&r);
    }
}

/* Waits until the client has n links, and makes calls meanwhile. */
static bool
await_links(struct rig *r, struct vc_channel *channel, unsigned n)
{
    for (unsigned i = 0; i < 400; i++) {
        if (links(r) == n)
            return true;
        assert_int_equal(sim_echo(channel, 1, 1, 5000, NULL), VC_OK);
        fake_sleep_us(1000);
    }
    return false;
}

static void
a_link_below_the_minimum_is_made_up_for(void **state)
{
    struct rig r;
    struct vc_channel *channel;

    (void)state;
    rig_begin(&r, 8, 0, 3, 3);
    channel = channel_open(&r);
    assert_true(await_links(&r, channel, 3));
    assert_false(await_links(&r, channel, 4)); /* and all three are up */
    /* The link of the session breaks; calls go on at once over another link. */
    fake_rule("main qp", 1, FAKE_FLUSH, 0);
    assert_int_equal(sim_echo(channel, 1, 1, 5000, NULL), VC_OK);
    assert_false(await_links(&r, channel, 0)); /* time to connect again */
    assert_int_equal(links(&r), 3);
    vc_channel_close(channel);
    rig_end(&r);
}

/* --- links that were never used ---------------------------------------- */

#define SLOW_SIZE 5000u
#define SLOW_US   4000000u

static enum vc_status
echo_slow(struct sim_server *s, struct vc_call *call,
          const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)call;
    fake_sleep_us(request->payload.len == SLOW_SIZE ? SLOW_US : 100);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

/* All calls of a channel belong to one session, which stays on its link while
 * any of them runs. So the links that the pool adds for them carry no calls. */
static void
grow_unused_links(struct rig *r, struct vc_channel *channel)
{
    struct caller callers[40];

    for (unsigned i = 0; i < 40; i++)
        caller_start(&callers[i], r, channel, 30, 64);
    for (unsigned i = 0; i < 40; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].good, 30);
    }
    assert_int_equal(links(r), 8);
}

/* Unused links that are closed when idle do not indicate a faulty server,
 * though they never received a reply. One call runs for four times the idle
 * timeout, so no reply comes between the closings. */
static void
calls_live_on_when_links_that_were_never_used_are_closed(void **state)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct rig r;
    struct vc_channel *channel;

    (void)state;
    rig_begin_with(&r, 4, echo_slow, 0, 1, 8);
    r.opts.idle_timeout_ms = 1000;
    channel = channel_open(&r);
    grow_unused_links(&r, channel);

    assert_int_equal(sim_echo(channel, SLOW_SIZE, 1, 20000, NULL), VC_OK);

    assert_int_equal(links(&r), 1);
    vc_runtime_counters(r.runtime, &c);
    assert_int_equal(c.links_made, 8);
    assert_int_equal(c.links_closed, 7);
    assert_int_equal(c.sessions_client_moved, 0);
    assert_int_equal(c.calls_sent_again, 0);
    vc_channel_close(channel);
    rig_end(&r);
}

static void
ten_thousand_channels_share_eight_links(void **state)
{
    struct rig r;
    struct vc_channel **channels =
        calloc(CHANNELS, sizeof(struct vc_channel *));
    struct caller callers[20];

    (void)state;
    assert_non_null(channels);
    rig_begin(&r, 5, 0, 1, 8);
    for (unsigned i = 0; i < CHANNELS; i++)
        channels[i] = channel_open(&r);
    for (unsigned round = 0; round < CHANNELS / 20; round++) {
        for (unsigned i = 0; i < 20; i++)
            caller_start(&callers[i], &r, channels[round * 20 + i], 10, 32);
        for (unsigned i = 0; i < 20; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_int_equal(callers[i].good, 10);
        }
        links(&r);
    }
    assert_in_range(r.most, 1, 8);
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
    free(channels);
    rig_end(&r);
}

static void
channels_with_other_options_have_links_of_their_own(void **state)
{
    struct rig r;
    struct vc_channel *a, *b, *c, *d;

    (void)state;
    rig_begin(&r, 6, 0, 1, 1);
    a = channel_open(&r);
    b = channel_open(&r);
    assert_int_equal(sim_echo(a, 1, 1, 5000, NULL), VC_OK);
    assert_int_equal(sim_echo(b, 1, 2, 5000, NULL), VC_OK);
    assert_int_equal(links(&r), 1);
    r.opts.max_links = 2;
    c = channel_open(&r);
    assert_int_equal(sim_echo(c, 1, 3, 5000, NULL), VC_OK);
    assert_int_equal(links(&r), 2);
    r.opts.rdma = VC_RDMA_OPTS(.tos = 104);
    d = channel_open(&r);
    assert_int_equal(sim_echo(d, 1, 5, 5000, NULL), VC_OK);
    assert_int_equal(links(&r), 3);
    vc_channel_close(d);
    assert_int_equal(links(&r), 2);
    vc_channel_close(a);
    assert_int_equal(sim_echo(b, 1, 4, 5000, NULL), VC_OK);
    assert_int_equal(links(&r), 2);
    vc_channel_close(c);
    vc_channel_close(b);
    rig_end(&r);
}

/* The client connected for one service; the first call is of another. */
static void
any_service_may_be_the_first_on_a_link(void **state)
{
    struct rig r;
    struct vc_channel *c;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    (void)state;
    rig_begin(&r, 7, 0, 1, 1);
    c = channel_open(&r);
    assert_int_equal(vc_channel_connect(c, &suite_probe_service), VC_OK);
    assert_int_equal(suite_other_name(c, &request, NULL, &reply),
                     VC_UNIMPLEMENTED);
    assert_int_equal(sim_echo(c, 1, 1, 5000, NULL), VC_OK);
    vc_channel_close(c);
    rig_end(&r);
}

/* Waits until n calls have begun. */
static void
await_started(const struct rig *r, unsigned n)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    while (c.calls_started < n) {
        fake_sleep_us(50);
        vc_runtime_counters(r->runtime, &c);
    }
}

static void
closing_a_channel_ends_its_calls_and_no_others(void **state)
{
    struct rig r;
    struct vc_channel *channels[4];
    struct caller callers[40];

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(60); seed++) {
        rig_begin(&r, seed, 50, 1, 1 + (unsigned)(seed % 4));
        for (unsigned i = 0; i < 4; i++)
            channels[i] = channel_open(&r);
        /* Only calls that have begun may meet the close. */
        for (unsigned i = 0; i < 40; i += 4)
            caller_start(&callers[i], &r, channels[0], 1,
                         i % 3 == 0 ? 30000 : 64);
        await_started(&r, 10);
        for (unsigned i = 0; i < 40; i++)
            if (i % 4 != 0)
                caller_start(&callers[i], &r, channels[i % 4], 10,
                             i % 3 == 0 ? 30000 : 64);
        fake_sleep_us(seed * 37 % 3000); /* a varying moment */
        vc_channel_close(channels[0]);
        channels[0] = channel_open(&r);
        assert_int_equal(sim_echo(channels[0], 10, 60000, 5000, NULL), VC_OK);
        for (unsigned i = 0; i < 40; i++) {
            pthread_join(callers[i].thread, NULL);
            if (i % 4 != 0)
                assert_int_equal(callers[i].good, 10);
            else if (callers[i].good < 1)
                assert_int_equal(callers[i].status, VC_CANCELLED);
        }
        for (unsigned i = 0; i < 4; i++)
            vc_channel_close(channels[i]);
        rig_end(&r);
    }
}

/* Two channels that share a link; the first has made a call over it. */
static void
pair_begin(struct rig *r, uint64_t seed, struct vc_channel *channels[2])
{
    rig_begin(r, seed, 0, 1, 1);
    r->opts.max_attempts = 1; /* no retries, so that a failed call is seen */
    for (unsigned i = 0; i < 2; i++)
        channels[i] = channel_open(r);
    assert_int_equal(sim_echo(channels[0], 1, 1, 5000, NULL), VC_OK);
}

/* The first channel can still call, and so many links were made until now. */
static void
pair_end(struct rig *r, struct vc_channel *channel, uint64_t links_made)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sim_echo(channel, 1, 1, 5000, NULL), VC_OK);
        fake_sleep_us(1000);
    }
    vc_runtime_counters(r->runtime, &c);
    assert_int_equal(c.links_made, links_made);
    vc_channel_close(channel);
    rig_end(r);
}

/* When the second channel is closed, its OPEN still waits for a credit, after a
 * long message. */
static void
a_channel_that_the_server_never_heard_of_may_be_closed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(20); seed++) {
        struct vc_channel *channels[2];
        struct caller large, closed;
        struct rig r;

        pair_begin(&r, seed, channels);
        fake_process_freeze(r.server.process);
        caller_start(&large, &r, channels[0], 1, 500000);
        await_started(&r, 2);
        fake_sleep_us(1000);
        caller_start(&closed, &r, channels[1], 1, 64);
        await_started(&r, 3);
        fake_sleep_us(seed * 37 % 1000);
        vc_channel_close(channels[1]);
        fake_process_thaw(r.server.process);
        pthread_join(large.thread, NULL);
        pthread_join(closed.thread, NULL);
        assert_int_equal(large.good, 1);
        assert_int_equal(closed.status, VC_CANCELLED);
        pair_end(&r, channels[0], 1);
    }
}

/* Waits until n links are lost. */
static void
await_lost(const struct rig *r, unsigned n)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    while (c.links_lost < n) {
        fake_sleep_us(50);
        vc_runtime_counters(r->runtime, &c);
    }
}

/* The OPEN is lost with the link, and the next link takes a while. */
static void
a_channel_whose_opening_was_lost_may_be_closed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(20); seed++) {
        struct vc_channel *channels[2];
        struct caller closed;
        struct rig r;

        pair_begin(&r, seed, channels);
        fake_rule("main qp 17: SEND", 1, FAKE_FLUSH, 0);
        fake_rule("main: REQ", 1, FAKE_DELAY, 50000);
        caller_start(&closed, &r, channels[1], 1, 64);
        await_lost(&r, 1);
        vc_channel_close(channels[1]);
        pthread_join(closed.thread, NULL);
        assert_int_equal(closed.status, VC_CANCELLED);
        pair_end(&r, channels[0], 2);
    }
}

/* --- links that are busy ------------------------------------------------- */

#define BUSY 16u /* calls on a link above which its sessions may move */

/* Makes calls until n links are up; returns the number of calls. */
static unsigned
call_until_up(const struct rig *r, struct vc_channel *channel, unsigned n)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    while (c.links_up < n) {
        assert_int_equal(sim_echo(channel, 1, 1, 5000, NULL), VC_OK);
        fake_sleep_us(1000);
        vc_runtime_counters(r->runtime, &c);
    }
    return (unsigned)c.calls_started;
}

/* Two links carry this many calls each, which the server does not answer yet.
 * Then a channel calls whose session is idle on the first link. Returns whether
 * the session has moved to the second link. */
static bool
idle_session_moves(unsigned first, unsigned second)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct vc_channel *channels[3];
    struct caller callers[2 * BUSY];
    unsigned before, n = first + second;
    struct rig r;

    rig_begin(&r, 1, 0, 2, 2);
    for (unsigned i = 0; i < 3; i++)
        channels[i] = channel_open(&r);
    before = call_until_up(&r, channels[0], 2);
    fake_process_freeze(r.server.process);
    for (unsigned i = 0; i < n; i++) {
        caller_start(&callers[i], &r, channels[i < first ? 1 : 2], 1, 64);
        await_started(&r, before + 1 + i);
    }
    caller_start(&callers[n], &r, channels[0], 1, 64);
    await_started(&r, before + 1 + n);
    fake_process_thaw(r.server.process);
    for (unsigned i = 0; i <= n; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].good, 1);
    }
    vc_runtime_counters(r.runtime, &c);
    for (unsigned i = 0; i < 3; i++)
        vc_channel_close(channels[i]);
    rig_end(&r);
    return c.sessions_client_moved == 1;
}

static void
an_idle_session_leaves_a_busy_link_for_one_that_has_less_than_half_to_do(
    void **state)
{
    (void)state;
    assert_true(idle_session_moves(BUSY, 0));
    assert_false(idle_session_moves(BUSY - 1, 0));
    assert_true(idle_session_moves(BUSY, BUSY / 2 - 1));
    assert_false(idle_session_moves(BUSY, BUSY / 2));
}

/* --- quotas ------------------------------------------------------------ */

#define SMALL_SIZE 64u
#define LARGE_SIZE 30000u

/* Handlers running now, the maximum at a time, and all that have begun. */
struct gauge {
    atomic_uint now, most, begun;
};

static struct gauge small_runs, large_runs;

static void
gauge_reset(struct gauge *g)
{
    atomic_store(&g->now, 0);
    atomic_store(&g->most, 0);
    atomic_store(&g->begun, 0);
}

/* The duration of each of its handlers. */
static uint64_t gauged_us = 1000;

static enum vc_status
echo_gauged(struct sim_server *s, struct vc_call *call,
            const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    struct gauge *g =
        request->payload.len == LARGE_SIZE ? &large_runs : &small_runs;
    unsigned now = atomic_fetch_add(&g->now, 1) + 1;

    (void)s;
    (void)call;
    atomic_fetch_add(&g->begun, 1);
    if (now > atomic_load(&g->most)) /* the world runs one thread at a time */
        atomic_store(&g->most, now);
    fake_sleep_us(gauged_us);
    atomic_fetch_sub(&g->now, 1);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

/* Twenty callers of small calls and twenty of large ones, each kind on a
 * channel of its own. All calls are served. Returns the number of large calls
 * that had begun when the last small one ended. */
static unsigned
large_before_small_end(uint64_t seed, size_t quota)
{
    struct rig r;
    struct vc_channel *small, *large;
    struct caller callers[40];
    unsigned begun = 0;

    gauge_reset(&small_runs);
    gauge_reset(&large_runs);
    rig_begin_with(&r, seed, echo_gauged, 0, 1, 1 + (unsigned)(seed % 3));
    small = channel_open(&r);
    r.opts.quota = quota;
    large = channel_open(&r);
    for (unsigned i = 0; i < 40; i++)
        caller_start(&callers[i], &r, i < 20 ? small : large, 5,
                     i < 20 ? SMALL_SIZE : LARGE_SIZE);
    for (unsigned i = 0; i < 40; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].good, 5);
        if (i == 19)
            begun = atomic_load(&large_runs.begun);
    }
    vc_channel_close(small);
    vc_channel_close(large);
    rig_end(&r);
    return begun;
}

/* With a quota the large calls run one at a time, so that fewer of them run
 * before the small calls of another channel end. Without a quota they run in
 * parallel. */
static void
a_quota_lets_others_pass_and_all_are_served(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(20); seed++) {
        unsigned without = large_before_small_end(seed, 0), with;

        assert_in_range(atomic_load(&large_runs.most), 2, 20);
        with = large_before_small_end(seed, 20000);
        assert_int_equal(atomic_load(&large_runs.most), 1);
        assert_in_range(atomic_load(&small_runs.most), 2, 20);
        assert_in_range(with, 0, without / 2);
    }
}

static size_t
request_bytes(unsigned tag, size_t size)
{
    static uint8_t zeros[SMALL_SIZE];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.tag = tag;
    request.payload.data = zeros;
    request.payload.len = size;
    return protobuf_c_message_get_packed_size(&request.base);
}

/* Returns how many run at a time of one call and a second one with this tag and
 * size. The quota is the size of the first plus `more`. */
static unsigned
runs_with_quota(unsigned tag, size_t size, size_t more)
{
    struct vc_channel *channel;
    struct caller callers[2];
    struct rig r;

    gauge_reset(&small_runs);
    gauged_us = 10000; /* long enough for a takeover and the second call */
    rig_begin_with(&r, 1, echo_gauged, 0, 1, 1);
    r.opts.quota = request_bytes(9, SMALL_SIZE) + more;
    channel = channel_open(&r);
    assert_int_equal(sim_echo(channel, 1, 1, 5000, NULL), VC_OK);
    gauge_reset(&small_runs);
    atomic_store(&r.next_tag, 9);
    caller_start(&callers[0], &r, channel, 1, SMALL_SIZE);
    await_started(&r, 2);
    atomic_store(&r.next_tag, tag);
    caller_start(&callers[1], &r, channel, 1, size);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].good, 1);
    }
    vc_channel_close(channel);
    rig_end(&r);
    gauged_us = 1000;
    return atomic_load(&small_runs.most);
}

static void
a_quota_is_kept_to_the_byte(void **state)
{
    size_t bytes = request_bytes(1, 10);

    (void)state;
    assert_int_equal(runs_with_quota(1, 10, bytes), 2);
    assert_int_equal(runs_with_quota(1, 10, bytes - 1), 1);
    /* An empty request fits whenever other requests do. */
    assert_int_equal(request_bytes(0, 0), 0);
    assert_int_equal(runs_with_quota(0, 0, 0), 2);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(pool_grows_under_load_within_its_limit_and_shrinks_when_idle),
        T(calls_live_on_when_links_that_were_never_used_are_closed),
        T(a_link_below_the_minimum_is_made_up_for),
        T(channels_with_other_options_have_links_of_their_own),
        T(any_service_may_be_the_first_on_a_link),
        T(closing_a_channel_ends_its_calls_and_no_others),
        T(a_channel_that_the_server_never_heard_of_may_be_closed),
        T(a_channel_whose_opening_was_lost_may_be_closed),
        T(an_idle_session_leaves_a_busy_link_for_one_that_has_less_than_half_to_do),
        T(a_quota_lets_others_pass_and_all_are_served),
        T(a_quota_is_kept_to_the_byte),
        T(ten_thousand_channels_share_eight_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
