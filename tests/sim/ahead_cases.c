/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/ahead_cases.h. The channel makes no call unless a test says
 * otherwise, and a thread of the runtime advances it. */
#include "tests/sim/ahead_cases.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/sim.h"

#define SERVERS 2u
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)

struct ahead_rig {
    struct fake_host *hosts[SERVERS];
    struct sim_server servers[SERVERS];
    struct vc_runtime *runtime;
    struct vc_channel *lazy; /* without the option: it shares no link */
    struct vc_channel *channel;
};

static void
server_serve(struct ahead_rig *r, unsigned i)
{
    memset(&r->servers[i], 0, sizeof r->servers[i]);
    snprintf(r->servers[i].target, sizeof r->servers[i].target,
             "rdma://10.9.0.%u:7471", 10 + i);
    sim_server_start(&r->servers[i], r->hosts[i], 1);
    assert_true(sim_server_await(&r->servers[i]));
}

/* A channel to both servers, or to the first one. */
static void
ahead_begin(struct ahead_rig *r, const char *target,
            const struct vc_channel_opts *opts)
{
    struct vc_channel_opts lazy = *opts;

    memset(r, 0, sizeof *r);
    lazy.connect_ahead = NULL;
    sim_begin(1, 1, true);
    for (unsigned i = 0; i < SERVERS; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        r->hosts[i] = fake_host_new(name, addr);
        server_serve(r, i);
    }
    assert_int_equal(VC_OK, sim_runtime(&r->runtime, 1));
    assert_int_equal(VC_OK, vc_runtime_start(r->runtime));
    assert_int_equal(VC_OK,
                     vc_channel_open(r->runtime, target, &lazy, &r->lazy));
    assert_int_equal(VC_OK,
                     vc_channel_open(r->runtime, target, opts, &r->channel));
}

static void
ahead_end(struct ahead_rig *r, unsigned alive)
{
    vc_channel_close(r->channel);
    vc_channel_close(r->lazy);
    vc_runtime_free(r->runtime);
    for (unsigned i = SERVERS - alive; i < SERVERS; i++)
        assert_true(sim_server_stop(&r->servers[i]));
    assert_int_equal(0, fake_end());
}

static struct vc_counters
counters(const struct ahead_rig *r)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(r->runtime, &c);
    return c;
}

/* Waits until so many links are up. Returns the time that it took. */
static uint64_t
links_await(const struct ahead_rig *r, unsigned n, uint64_t us)
{
    uint64_t began = fake_now_us();

    while (counters(r).links_up != n) {
        if (fake_now_us() - began > us)
            fail_msg("%u links are up, not %u, after %u ms",
                     (unsigned)counters(r).links_up, n, (unsigned)(us / MS));
        fake_sleep_us(MS);
    }
    return fake_now_us() - began;
}

#define BOTH "list:rdma://10.9.0.10:7471,rdma://10.9.0.11:7471"
#define ONE  "rdma://10.9.0.10:7471"

/* By any policy; and the links stay when they are idle. Without the option
 * none is made. */
void
a_channel_connects_ahead_to_each_of_its_servers(void **state)
{
    static const char *const policies[] = {"pick_first", "round_robin",
                                           "ring_hash", "priority"};
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct ahead_rig r;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        opts.policy = policies[i % 4];
        opts.connect_ahead = i < 4 ? &suite_probe_service : NULL;
        opts.min_links = 1 + i % 2;
        opts.idle_timeout_ms = 200;
        ahead_begin(&r, BOTH, &opts);
        if (i < 4)
            links_await(&r, 2 * opts.min_links, S);
        fake_sleep_us(3 * S);
        assert_int_equal(i < 4 ? 2 * opts.min_links : 0,
                         counters(&r).links_made);
        assert_int_equal(counters(&r).links_made, counters(&r).links_up);
        assert_int_equal(0, counters(&r).sessions_client_opened);
        ahead_end(&r, SERVERS);
    }
}

static void
one_begin(struct ahead_rig *r)
{
    ahead_begin(r, ONE, VC_CHANNEL_OPTS(.connect_ahead = &suite_probe_service));
    links_await(r, 1, S);
}

/* Returns when the channel has noticed it: a link is counted as lost a little
 * before its calls go elsewhere. */
static void
server_kill(struct ahead_rig *r)
{
    fake_process_kill(r->servers[0].process);
    links_await(r, 0, S);
    fake_sleep_us(5 * MS);
}

/* A call ends at once meanwhile, as without the option. */
void
a_lost_server_is_connected_again_after_backoffs(void **state)
{
    const struct vc_call_opts once = {.size = sizeof once,
                                      .flags = VC_CALL_NO_RETRY};
    struct ahead_rig r;
    uint64_t started, began;

    (void)state;
    one_begin(&r);
    fake_sleep_us(6 * S);
    server_kill(&r);
    started = counters(&r).links_started;
    fake_sleep_us(30 * S);
    /* 50 ms, doubled up to 5 s: 3.2 s for the first seven. */
    assert_in_range(counters(&r).links_started - started, 8, 16);
    began = fake_now_us();
    assert_int_equal(VC_UNAVAILABLE,
                     sim_echo_opts(r.channel, 64, 1, &once, NULL));
    assert_in_range(fake_now_us() - began, 0, 400 * MS);
    server_serve(&r, 0);
    links_await(&r, 1, 7 * S);
    ahead_end(&r, SERVERS);
}

void
a_server_that_drops_its_clients_is_connected_less_and_less(void **state)
{
    uint64_t took[7], last;
    struct ahead_rig r;

    (void)state;
    one_begin(&r);
    for (unsigned i = 0; i < 7; i++) {
        server_kill(&r);
        server_serve(&r, 0);
        took[i] = links_await(&r, 1, 7 * S);
    }
    assert_in_range(took[0], 0, 200 * MS);
    assert_in_range(took[6], 2 * S, 5 * S);
    last = took[6];
    fake_sleep_us(6 * S); /* it was good for so long */
    server_kill(&r);
    server_serve(&r, 0);
    assert_in_range(links_await(&r, 1, 7 * S), 0, last / 4);
    ahead_end(&r, SERVERS);
}

static void
drained(enum vc_status status, void *arg)
{
    (void)status;
    (void)arg;
}

void
a_server_that_drains_is_connected_when_it_is_back(void **state)
{
    struct ahead_rig r;

    (void)state;
    one_begin(&r);
    assert_int_equal(VC_OK, vc_server_drain_start(r.servers[0].server, NULL,
                                                  500, drained, NULL));
    links_await(&r, 0, S);
    fake_sleep_us(20 * S);
    assert_int_equal(1, counters(&r).links_made);
    assert_in_range(counters(&r).links_refused, 6, 14);
    assert_true(sim_server_stop(&r.servers[0]));
    server_serve(&r, 0);
    links_await(&r, 1, 7 * S);
    ahead_end(&r, SERVERS);
}

void
a_call_does_not_wait_for_the_backoff(void **state)
{
    struct ahead_rig r;
    uint64_t began;

    (void)state;
    one_begin(&r);
    for (unsigned i = 0; i < 7; i++) {
        server_kill(&r);
        server_serve(&r, 0);
        began = fake_now_us();
        assert_int_equal(VC_OK, sim_echo(r.channel, 64, 1, 0, NULL));
        assert_in_range(fake_now_us() - began, 0, 400 * MS);
    }
    server_kill(&r);
    ahead_end(&r, 1); /* while it is lost */
}
