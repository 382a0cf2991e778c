/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel with three servers on hosts of their own, under a load of calls and
 * streams, while servers are killed, closed and started again, and their ports
 * go down and up. Each call runs at most once on all of them together, and all
 * is well soon after the last fault. TRACE=1 shows what happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/ahead_cases.h"
#include "tests/sim/traffic.h"
#include "tests/suite/streams.h"

#define SEEDS   sim_few(15u)
#define SERVERS 3u
#define FAULTS  6u
#define WORK_US 3000u /* of a handler: a killed server has begun calls */
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define HEAL_US (10 * S)

static const char *const policies[] = {"pick_first", "round_robin",
                                       "least_request"};

struct world {
    struct fake_host *hosts[SERVERS];
    struct sim_server servers[SERVERS];
    bool killed[SERVERS], down[SERVERS];
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct traffic traffic;
    uint64_t dice;
};

static unsigned
roll(struct world *w, unsigned n)
{
    w->dice = w->dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(w->dice >> 33) % n;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return suite_streams_add(server, &streams_methods, NULL);
}

static void
server_start(struct world *w, unsigned i)
{
    memset(&w->servers[i], 0, sizeof w->servers[i]);
    w->servers[i].add = streams_add;
    w->servers[i].sleep_us = WORK_US;
    snprintf(w->servers[i].target, sizeof w->servers[i].target,
             "rdma://10.9.0.%u:7471", 10 + i);
    sim_server_start(&w->servers[i], w->hosts[i], 1);
    assert_true(sim_server_await(&w->servers[i]));
    w->killed[i] = false;
}

static void
world_begin(struct world *w, uint64_t seed)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    char target[SERVERS * 30] = "list:";

    memset(w, 0, sizeof *w);
    w->dice = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    for (unsigned i = 0; i < SERVERS; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        w->hosts[i] = fake_host_new(name, addr);
        server_start(w, i);
        snprintf(target + strlen(target), sizeof target - strlen(target),
                 "%srdma://%s:7471", i > 0 ? "," : "", addr);
    }
    opts.policy = policies[seed % 3];
    assert_int_equal(VC_OK, sim_runtime(&w->runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(w->runtime, target, &opts, &w->channel));
    if (seed % 2 == 0)
        assert_int_equal(VC_OK, vc_runtime_start(w->runtime));
    traffic_start(&w->traffic, w->channel, seed);
    traffic_await(&w->traffic, 20, S);
}

static void
world_end(struct world *w)
{
    vc_channel_close(w->channel);
    vc_runtime_free(w->runtime);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_true(w->killed[i] || sim_server_stop(&w->servers[i]));
    traffic_ran_once(&w->traffic);
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(0, fake_end());
}

/* --- faults --------------------------------------------------------------- */

static void
server_kill(struct world *w, unsigned i)
{
    fake_process_kill(w->servers[i].process);
    w->killed[i] = true;
}

/* It is closed in order, and started again. */
static void
server_restart(struct world *w, unsigned i)
{
    assert_true(sim_server_stop(&w->servers[i]));
    server_start(w, i);
}

static void
fault(struct world *w)
{
    unsigned i = roll(w, SERVERS);

    if (w->killed[i]) {
        server_start(w, i);
    } else if (w->down[i]) {
        fake_port_set(w->hosts[i], true);
        w->down[i] = false;
    } else if (roll(w, 3) == 0) {
        server_kill(w, i);
    } else if (roll(w, 2) == 0) {
        fake_port_set(w->hosts[i], false);
        w->down[i] = true;
    } else {
        server_restart(w, i);
    }
}

/* All but one are well again. */
static void
heal(struct world *w, unsigned but)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        if (i == but) {
            if (!w->killed[i])
                server_kill(w, i);
            continue;
        }
        if (w->down[i])
            fake_port_set(w->hosts[i], true);
        w->down[i] = false;
        if (w->killed[i])
            server_start(w, i);
    }
}

/* --- tests ---------------------------------------------------------------- */

static void
each_call_runs_at_most_once_whatever_happens_to_servers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(sim_share(SEEDS)); seed++) {
        static struct world w;

        world_begin(&w, seed);
        atomic_store(&w.traffic.may_fail, true);
        for (unsigned n = 0; n < FAULTS; n++) {
            fault(&w);
            fake_sleep_us((uint64_t)roll(&w, 700) * MS);
        }
        heal(&w, seed % (SERVERS + 1));
        fake_sleep_us(HEAL_US);
        atomic_store(&w.traffic.may_fail, false);
        traffic_await(&w.traffic, 50, 2 * S);
        traffic_stop(&w.traffic);
        world_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_connects_ahead_to_each_of_its_servers),
        cmocka_unit_test(a_lost_server_is_connected_again_after_backoffs),
        cmocka_unit_test(
            a_server_that_drops_its_clients_is_connected_less_and_less),
        cmocka_unit_test(a_server_that_drains_is_connected_when_it_is_back),
        cmocka_unit_test(a_call_does_not_wait_for_the_backoff),
        cmocka_unit_test(
            each_call_runs_at_most_once_whatever_happens_to_servers),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
