/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many idle links, and how often they wake the two processes. They wake them no
 * more often than one link does, because all their timers expire together. */
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/sim.h"

#define MS UINT64_C(1000)
#define S  (1000 * MS)

#define IDLE_S 10u

struct rig {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* The links come up one after another, at different times. */
static void
rig_begin(struct rig *r, unsigned links, uint32_t keepalive_ms)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(r, 0, sizeof *r);
    sim_begin(1, 0, false);
    sim_target("10.9.0.2", r->server.target);
    r->server.keepalive_ms = keepalive_ms;
    sim_server_start(&r->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(VC_OK, sim_runtime(&r->runtime, 1));
    assert_int_equal(VC_OK, vc_runtime_start(r->runtime));
    opts.min_links = opts.max_links = links;
    opts.keepalive_ms = keepalive_ms;
    assert_int_equal(VC_OK, vc_channel_open(r->runtime, r->server.target, &opts,
                                            &r->channel));
    assert_int_equal(VC_OK, sim_echo(r->channel, 64, 1, 0, NULL));
    while (counters_of(r->runtime).links_up < links)
        fake_sleep_us(S);
    fake_sleep_us(5 * S);
}

static void
rig_end(struct rig *r)
{
    vc_channel_close(r->channel);
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    assert_int_equal(0, fake_end());
}

struct wakeups {
    uint64_t client, server;
    uint64_t asked; /* how often one end has asked the other */
};

static uint64_t
asked_of(const struct vc_counters *from, const struct vc_counters *to)
{
    return to->keepalive_pings - from->keepalive_pings + to->keepalive_probes -
           from->keepalive_probes;
}

static uint64_t
wakeups_of(const char *who, unsigned seconds, const struct vc_counters *from,
           const struct vc_counters *to)
{
    uint64_t timer = to->wakeups_timer - from->wakeups_timer;
    uint64_t event = to->wakeups_event - from->wakeups_event;
    uint64_t told = to->wakeups_told - from->wakeups_told;

    printf("# %s: in %u s %u wake-ups by a timer, %u by an event, %u told; "
           "%u pings, %u probes\n",
           who, seconds, (unsigned)timer, (unsigned)event, (unsigned)told,
           (unsigned)(to->keepalive_pings - from->keepalive_pings),
           (unsigned)(to->keepalive_probes - from->keepalive_probes));
    return timer + event + told;
}

static struct wakeups
idle_wakeups(unsigned links, uint32_t keepalive_ms, unsigned seconds)
{
    struct vc_counters client, server, c, s;
    struct wakeups w;
    struct rig r;

    rig_begin(&r, links, keepalive_ms);
    client = counters_of(r.runtime);
    server = counters_of(r.server.runtime);
    fake_sleep_us(seconds * S);
    c = counters_of(r.runtime);
    s = counters_of(r.server.runtime);
    printf("# %u links, keepalive of %d ms\n", (unsigned)c.links_up,
           (int)keepalive_ms);
    w.client = wakeups_of("client", seconds, &client, &c);
    w.server = wakeups_of("server", seconds, &server, &s);
    w.asked = asked_of(&client, &c) + asked_of(&server, &s);
    assert_int_equal(links, c.links_up);
    assert_int_equal(links, s.links_up);
    rig_end(&r);
    return w;
}

static void
many_idle_links_wake_a_process_12_times_a_second_at_most(void **state)
{
    static const unsigned links[] = {1, 100, 1000};

    (void)state;
    for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++) {
        struct wakeups w = idle_wakeups(links[i], 0, IDLE_S);

        assert_in_range(w.client, 1, 12 * IDLE_S);
        assert_in_range(w.server, 1, 12 * IDLE_S);
    }
}

static void
without_keepalive_idle_links_wake_nobody(void **state)
{
    struct wakeups w = idle_wakeups(16, VC_KEEPALIVE_OFF, IDLE_S);

    (void)state;
    assert_in_range(w.client, 0, 1);
    assert_int_equal(0, w.server);
}

/* VC_KEEPALIVE_OFF is no number of milliseconds. */
static void
without_keepalive_nobody_asks_not_even_in_200_days(void **state)
{
    struct wakeups w = idle_wakeups(16, VC_KEEPALIVE_OFF, 200 * 24 * 3600);

    (void)state;
    assert_int_equal(0, w.asked);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_idle_links_wake_a_process_12_times_a_second_at_most),
        T(without_keepalive_idle_links_wake_nobody),
        T(without_keepalive_nobody_asks_not_even_in_200_days),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
