/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * vc:// with two transports that reach the server. The better one is used;
 * calls go on over the other one when it is lost, and return. Under a load of
 * calls and streams each call runs at most once, and none hangs. TRACE=1 shows
 * what happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/stream.h>

#include "rpc/client/channel.h"
#include "tests/sim/networks.h"
#include "tests/sim/second.h"
#include "tests/sim/traffic.h"

#define SEEDS   ((1 + sim_share(5u)) / 2)
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define WORK_US 700u /* of a handler */
#define LOOK_US (5 * MS)

/* A loss is detected within keepalive_ms. Calls go on at most 2 s later,
 * connecting included. */
#define LOST_US (3 * S)
/* A better transport is tried again every 6 s, for 2 s at most. */
#define BACK_US (10 * S)
/* Long enough for one attempt, and for another check after a stream has held
 * the other link. */
#define TRIED_US (4 * S)
/* The limit of a call over a network without losses, with other calls under
 * way. */
#define CALM_US (100 * MS)

/* --- worlds ------------------------------------------------------------------ */

struct rig {
    struct networks networks;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    uint64_t seed;
    struct traffic traffic;
};

/* Half of the clients have a library thread. Other options have their
 * defaults. */
static void
rig_begin(struct rig *r, uint64_t seed, const char *require,
          uint32_t keepalive_ms)
{
    struct vc_channel_opts opts = networks_opts();

    memset(r, 0, sizeof *r);
    r->seed = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    networks_make(&r->networks, fake_host_local(), "10.9.1.1");
    r->networks.server.sleep_us = WORK_US;
    networks_serve(&r->networks, 2);
    opts.require = require;
    opts.keepalive_ms = keepalive_ms;
    assert_int_equal(VC_OK, sim_runtime(&r->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(r->runtime, NETWORKS_TARGET, &opts,
                                            &r->channel));
    if (seed % 2 == 0)
        assert_int_equal(VC_OK, vc_runtime_start(r->runtime));
}

static struct vc_counters
counters(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

static void
rig_end(struct rig *r)
{
    struct vc_counters last;

    vc_channel_close(r->channel);
    last = counters(r->runtime);
    assert_null(sim_counters_fault(&last));
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->networks.server));
    assert_null(sim_counters_fault(&r->networks.server.last));
    traffic_ran_once(&r->traffic);
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(0, fake_end());
}

/* A condition that must become true within a time. */
typedef bool rig_condition(struct rig *r);

static bool
has_rdma(struct rig *r)
{
    return networks_has(r->channel, "rdma");
}

static bool
is_by_rdma(struct rig *r)
{
    return networks_only(r->channel, "rdma");
}

static bool
is_by_second(struct rig *r)
{
    return networks_only(r->channel, "tcp");
}

static void
await(struct rig *r, rig_condition *condition, const char *what, uint64_t us)
{
    uint64_t until = fake_now_us() + us;

    while (!condition(r)) {
        char text[2048];

        traffic_is_right(&r->traffic);
        if (fake_now_us() < until) {
            fake_sleep_us(LOOK_US);
            continue;
        }
        vc_channel_describe(r->channel, text, sizeof text);
        fail_msg("seed %llu: not %s within %llu ms, but: %s",
                 (unsigned long long)r->seed, what,
                 (unsigned long long)(us / MS), text);
    }
}

/* Streams may keep the other link for a while. */
static void
await_rdma(struct rig *r, uint64_t us)
{
    await(r, has_rdma, "by RDMA", us);
    await(r, is_by_rdma, "by RDMA alone", TRIED_US);
}

static void
await_second(struct rig *r, uint64_t us)
{
    await(r, is_by_second, "by the second transport alone", us);
}

/* Calls and streams must succeed. */
static void
await_good(struct rig *r, unsigned n, uint64_t us)
{
    traffic_await(&r->traffic, n, us);
}

static void
longest_begin(struct rig *r)
{
    atomic_store(&r->traffic.longest_us, 0);
}

static void
longest_is(struct rig *r, uint64_t most_us)
{
    uint64_t us = atomic_load(&r->traffic.longest_us);

    if (us > most_us)
        fail_msg("seed %llu: a call took %llu us, not %llu",
                 (unsigned long long)r->seed, (unsigned long long)us,
                 (unsigned long long)most_us);
}

/* Begins a world with load, over RDMA. */
static void
rig_begin_with(struct rig *r, uint64_t seed, uint32_t keepalive_ms)
{
    rig_begin(r, seed, NULL, keepalive_ms);
    traffic_start(&r->traffic, r->channel, r->seed);
    await_rdma(r, S);
    await_good(r, 20, S);
    longest_begin(r);
}

static void
rig_begin_loaded(struct rig *r, uint64_t seed)
{
    rig_begin_with(r, seed, 0);
}

/* --- one network is lost ----------------------------------------------------- */

static void
rdma_is_taken_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned long packets = second_packets();
        struct vc_counters c;
        static struct rig r;

        rig_begin_loaded(&r, seed);
        await_good(&r, 200, 20 * S);
        traffic_stop(&r.traffic);
        longest_is(&r, CALM_US);
        c = counters(r.runtime);
        assert_int_equal(1, c.links_made_rdma);
        assert_int_equal(0, c.links_made_tcp);
        assert_int_equal(0, c.upgrades);
        assert_int_equal(packets, second_packets());
        rig_end(&r);
    }
}

/* Calls before, during and after the loss succeed, and run once. */
static void
rdma_lost(struct rig *r, enum networks_loss how)
{
    networks_lose(&r->networks, FIRST, how);
    await_second(r, LOST_US);
    await_good(r, 20, S);
    longest_is(r, LOST_US);
    longest_begin(r);
}

static void
rdma_back(struct rig *r)
{
    networks_heal(&r->networks, FIRST);
    await_rdma(r, BACK_US);
    await_good(r, 20, S);
    /* Here a link that is up replaces another one. */
    longest_is(r, CALM_US);
}

static void
calls_go_on_by_the_second_and_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
        struct vc_counters c;
        static struct rig r;

        rig_begin_loaded(&r, seed);
        rdma_lost(&r, (enum networks_loss)(seed % 3));
        fake_sleep_us(seed / 3 % 3 * TRIED_US); /* time for failed attempts */
        rdma_back(&r);
        traffic_stop(&r.traffic);
        c = counters(r.runtime);
        assert_int_equal(2, c.links_made_rdma);
        assert_int_equal(1, c.links_made_tcp);
        assert_int_equal(1, c.upgrades);
        assert_int_equal(1, c.links_up);
        assert_true(atomic_load(&r.traffic.streams_broken) <= TRAFFIC_TALKERS);
        rig_end(&r);
    }
}

static void
calls_stay_with_the_second_when_the_device_is_gone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        struct vc_counters c;
        static struct rig r;

        rig_begin_loaded(&r, seed);
        rdma_lost(&r, seed % 4 < 2 ? LOSS_REMOVE_HERE : LOSS_REMOVE_THERE);
        fake_sleep_us(TRIED_US);
        assert_true(is_by_second(&r));
        traffic_stop(&r.traffic);
        longest_is(&r, CALM_US);
        c = counters(r.runtime);
        assert_int_equal(1, c.links_made_rdma);
        assert_int_equal(1, c.links_made_tcp);
        assert_int_equal(0, c.upgrades);
        rig_end(&r);
    }
}

static void
the_loss_of_what_is_not_used_is_not_noticed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct rig r;

        rig_begin_loaded(&r, seed);
        networks_lose(&r.networks, SECOND, (enum networks_loss)(seed % 3));
        await_good(&r, 200, 20 * S);
        longest_is(&r, CALM_US);
        networks_heal(&r.networks, SECOND);
        rdma_lost(&r, (enum networks_loss)(seed / 3 % 3));
        rdma_back(&r);
        traffic_stop(&r.traffic);
        assert_int_equal(1, counters(r.runtime).upgrades);
        rig_end(&r);
    }
}

/* RDMA works again, but the client has not tried it yet. */
static void
calls_go_back_at_once_when_the_second_is_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
        struct vc_counters c;
        static struct rig r;

        rig_begin_loaded(&r, seed);
        rdma_lost(&r, LOSS_CUT);
        networks_heal(&r.networks, FIRST);
        networks_lose(&r.networks, SECOND, (enum networks_loss)(seed % 3));
        await_rdma(&r, LOST_US);
        await_good(&r, 20, S);
        traffic_stop(&r.traffic);
        longest_is(&r, LOST_US);
        c = counters(r.runtime);
        assert_int_equal(2, c.links_made_rdma);
        assert_int_equal(1, c.links_made_tcp);
        rig_end(&r);
    }
}

/* Keepalive takes the network for dead before the adapter does. The client
 * concludes that RDMA is dead, not the server. */
static void
a_network_that_is_silent_is_left_for_the_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        static struct rig r;

        rig_begin_with(&r, seed, seed % 2 == 0 ? 150 : 400);
        rdma_lost(&r, LOSS_CUT);
        assert_in_range(counters(r.runtime).keepalive_dead, 1, 2);
        rdma_back(&r);
        traffic_stop(&r.traffic);
        rig_end(&r);
    }
}

/* --- both are lost ----------------------------------------------------------- */

/* Waits until calls of all callers have failed. */
static void
await_failures(struct rig *r)
{
    unsigned was = atomic_load(&r->traffic.failed) + TRAFFIC_CALLERS;
    uint64_t until = fake_now_us() + 30 * S;

    while (atomic_load(&r->traffic.failed) < was && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_true(atomic_load(&r->traffic.failed) >= was);
}

static void
both_lost(struct rig *r, unsigned first, enum networks_loss how)
{
    atomic_store(&r->traffic.may_fail, true);
    networks_lose(&r->networks, first, how);
    fake_sleep_us(r->seed * 97 * MS % S);
    networks_lose(&r->networks, !first, LOSS_CUT);
    await_failures(r);
}

static void
both_return(struct rig *r, unsigned first)
{
    networks_heal(&r->networks, first);
    await(r, first == FIRST ? is_by_rdma : is_by_second,
          "by what has returned alone", BACK_US);
    await_good(r, 20, S);
    networks_heal(&r->networks, !first);
    await_rdma(r, BACK_US);
    atomic_store(&r->traffic.may_fail, false);
    /* Calls that failed meanwhile may still be ending. */
    await_good(r, 40, S);
}

static void
calls_end_when_both_are_lost_and_go_on_when_one_returns(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        static struct rig r;

        rig_begin_loaded(&r, seed);
        both_lost(&r, seed % 2 == 0 ? FIRST : SECOND,
                  (enum networks_loss)(seed % 3));
        both_return(&r, seed % 4 < 2 ? FIRST : SECOND);
        traffic_stop(&r.traffic);
        /* Three attempts to connect, of 2 s each, and the backoffs between
         * them. */
        longest_is(&r, 10 * S);
        rig_end(&r);
    }
}

/* --- require ----------------------------------------------------------------- */

static void
require_fails(struct rig *r, unsigned tag)
{
    enum vc_outcome outcome;
    enum vc_status status = sim_echo(r->channel, 64, tag, 8000, &outcome);

    assert_int_equal(VC_UNAVAILABLE, status);
    if (strstr(vc_error(), "10.9.0.2:7471") == NULL)
        fail_msg("does not say what cannot be reached: %s", vc_error());
}

static void
what_is_required_is_never_replaced(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned long packets = second_packets();
        static struct rig r;

        rig_begin(&r, seed, "rdma", 0);
        assert_int_equal(VC_OK, sim_echo(r.channel, 64, 1, 0, NULL));
        networks_lose(&r.networks, FIRST, (enum networks_loss)(seed % 3));
        for (unsigned tag = 2; tag < 8; tag++)
            require_fails(&r, tag);
        networks_heal(&r.networks, FIRST);
        fake_sleep_us(BACK_US);
        assert_int_equal(VC_OK, sim_echo(r.channel, 64, 8, 0, NULL));
        assert_int_equal(0, counters(r.runtime).links_made_tcp);
        assert_int_equal(packets, second_packets());
        for (unsigned tag = 1; tag <= 8; tag++)
            assert_in_range(atomic_load(&sim_ran[tag]), 0, 1);
        rig_end(&r);
    }
}

/* --- streams ----------------------------------------------------------------- */

static bool
has_both(struct rig *r)
{
    return networks_has(r->channel, "rdma") && networks_has(r->channel, "tcp");
}

/* Its link stays for the stream, and carries no calls any more. */
static void
a_stream_ends_where_it_began(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;
        struct suite_streams_talk_client_stream *stream;
        static struct rig r;

        rig_begin_loaded(&r, seed);
        rdma_lost(&r, LOSS_CUT);
        opts.timeout_ms = VC_NO_DEADLINE;
        assert_int_equal(VC_OK, suite_streams_talk(r.channel, &opts, &stream));
        assert_int_equal(VC_OK, traffic_talk(stream));
        networks_heal(&r.networks, FIRST);
        await(&r, has_both, "by both", BACK_US);
        fake_sleep_us(TRIED_US);
        assert_true(has_both(&r));
        assert_int_equal(VC_OK, traffic_talk(stream));
        assert_int_equal(VC_OK, suite_streams_talk_finish(stream));
        suite_streams_talk_close(stream);
        await_rdma(&r, BACK_US);
        traffic_stop(&r.traffic);
        assert_int_equal(1, counters(r.runtime).links_up);
        rig_end(&r);
    }
}

/* The stream's link is lost, while calls use RDMA. */
static void
the_link_of_a_stream_is_lost_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;
        struct suite_streams_talk_client_stream *stream;
        static struct rig r;

        rig_begin_with(&r, seed, 400);
        rdma_lost(&r, LOSS_CUT);
        opts.timeout_ms = VC_NO_DEADLINE;
        assert_int_equal(VC_OK, suite_streams_talk(r.channel, &opts, &stream));
        networks_heal(&r.networks, FIRST);
        await(&r, has_both, "by both", BACK_US);
        await_good(&r, 20, S);
        longest_begin(&r);
        networks_lose(&r.networks, SECOND, LOSS_CUT);
        assert_int_equal(VC_UNAVAILABLE, traffic_talk(stream));
        suite_streams_talk_close(stream);
        assert_true(is_by_rdma(&r));
        await_good(&r, 20, S);
        traffic_stop(&r.traffic);
        longest_is(&r, CALM_US);
        rig_end(&r);
    }
}

/* RDMA is lost again, for good, while a stream keeps the other link: that takes
 * calls again. */
static void
calls_go_back_to_the_link_of_a_stream(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;
        struct suite_streams_talk_client_stream *stream;
        unsigned readied;
        struct vc_counters c;
        static struct rig r;

        rig_begin_with(&r, seed, 400);
        rdma_lost(&r, LOSS_CUT);
        opts.timeout_ms = VC_NO_DEADLINE;
        assert_int_equal(VC_OK, suite_streams_talk(r.channel, &opts, &stream));
        networks_heal(&r.networks, FIRST);
        await(&r, has_both, "by both", BACK_US);
        await_good(&r, 20, S);
        longest_begin(&r);
        readied = vc__pool_readied(r.channel->servers.only->pool);
        networks_lose(&r.networks, FIRST, LOSS_CUT);
        await_second(&r, LOST_US);
        assert_int_equal(readied,
                         vc__pool_readied(r.channel->servers.only->pool));
        await_good(&r, 20, S);
        assert_int_equal(VC_OK, traffic_talk(stream));
        assert_int_equal(VC_OK, suite_streams_talk_finish(stream));
        suite_streams_talk_close(stream);
        await_good(&r, 20, S);
        traffic_stop(&r.traffic);
        longest_is(&r, LOST_US);
        c = counters(r.runtime);
        assert_int_equal(1, c.links_made_tcp);
        assert_int_equal(1, c.links_up);
        rig_end(&r);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(rdma_is_taken_first),
        T(calls_go_on_by_the_second_and_come_back),
        T(calls_stay_with_the_second_when_the_device_is_gone),
        T(the_loss_of_what_is_not_used_is_not_noticed),
        T(calls_go_back_at_once_when_the_second_is_lost),
        T(a_network_that_is_silent_is_left_for_the_other),
        T(calls_end_when_both_are_lost_and_go_on_when_one_returns),
        T(what_is_required_is_never_replaced),
        T(a_stream_ends_where_it_began),
        T(the_link_of_a_stream_is_lost_alone),
        T(calls_go_back_to_the_link_of_a_stream),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
