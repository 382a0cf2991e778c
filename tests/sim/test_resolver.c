/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel whose resolver changes its servers under a load of calls and
 * streams, while servers are killed, drained and started again. Each call runs
 * at most once on all of them together and ends as it should, and all is well
 * soon after the last fault. In a quarter of the worlds servers are chosen by
 * their load reports. TRACE=1 shows what happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/load.h>
#include <verbcall/outlier.h>
#include <verbcall/policy.h>
#include <verbcall/resolver.h>

#include "tests/sim/logbook.h"
#include "tests/sim/traffic.h"
#include "tests/suite/streams.h"

#define SEEDS   sim_few(40u)
#define SERVERS 3u
#define NOBODY  3u /* the number of a target without a server */
#define FAULTS  5u
#define WORK_US 3000u /* of a handler: a killed server has begun calls */
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define HEAL_US (4 * S)
#define SOON_MS 40u /* between two sets of the resolver itself, at most */

/* Worlds of each test with VC_TEST_LONG=1; a tenth of it with sanitizers. */
#define LONG_SEEDS (sim_share(5u) == 5u ? 10000u : 1000u)

static const char *const policies[] = {"pick_first", "round_robin",
                                       "least_request", "weighted_round_robin"};
static const struct vc_server_opts reporting = {.size = sizeof reporting,
                                                .load_reports = 1};

enum state {
    SERVES,
    KILLED,
    DRAINED,
};

struct world {
    struct fake_host *hosts[SERVERS];
    struct sim_server servers[SERVERS];
    enum state states[SERVERS];
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct traffic traffic;
    uint64_t dice;

    /* The resolver's. */
    struct vc_resolver *resolver;
    uint64_t sets;       /* the dice of its timer */
    atomic_bool settled; /* its timer changes nothing any more */
    atomic_uint agains, closes;
};

static unsigned
roll_of(uint64_t *dice, unsigned n)
{
    *dice = *dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(*dice >> 33) % n;
}

static unsigned
roll(struct world *w, unsigned n)
{
    return roll_of(&w->dice, n);
}

/* --- the resolver ----------------------------------------------------------- */

/* Sets these servers, a digit each. */
static void
servers_set(struct world *w, const char *which)
{
    struct vc_endpoint e[8];
    char targets[8][40];
    unsigned n = (unsigned)strlen(which);

    for (unsigned i = 0; i < n; i++) {
        snprintf(targets[i], sizeof targets[i], "rdma://10.9.0.%d:7471",
                 10 + which[i] - '0');
        e[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        e[i].target = targets[i];
    }
    assert_int_equal(VC_OK, vc_resolver_set(w->resolver, e, n));
}

/* Sets some of them, in any order, and perhaps one that is not there. */
static void
any_set(struct world *w, uint64_t *dice)
{
    char which[8];
    unsigned n = 1 + roll_of(dice, 4);

    for (unsigned i = 0; i < n; i++)
        which[i] = (char)('0' + roll_of(dice, SERVERS + 1));
    which[n] = '\0';
    servers_set(w, which);
}

static void
app_fire(void *state)
{
    struct world *w = state;

    if (atomic_load(&w->settled))
        return;
    any_set(w, &w->sets);
    vc_resolver_timer(w->resolver, 1 + roll_of(&w->sets, SOON_MS), app_fire);
}

static struct world *opening; /* for app_open() */

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    opening->resolver = r;
    *state = opening;
    return VC_OK;
}

static void
app_again(void *state)
{
    atomic_fetch_add(&((struct world *)state)->agains, 1);
}

static void
app_close(void *state)
{
    atomic_fetch_add(&((struct world *)state)->closes, 1);
}

static const struct vc_resolver_type app_type = {
    .size = sizeof app_type,
    .scheme = "app",
    .open = app_open,
    .again = app_again,
    .close = app_close,
};

/* --- the world ---------------------------------------------------------------- */

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
    w->servers[i].opts = &reporting;
    w->servers[i].sleep_us = WORK_US;
    snprintf(w->servers[i].target, sizeof w->servers[i].target,
             "rdma://10.9.0.%u:7471", 10 + i);
    sim_server_start(&w->servers[i], w->hosts[i], 1);
    assert_true(sim_server_await(&w->servers[i]));
    w->states[i] = SERVES;
}

static void
channel_open(struct world *w, uint64_t seed)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.policy = policies[seed / 4 % 4];
    opts.load = VC_LOAD_OPTS(.blackout_ms = VC_LOAD_NONE, .update_ms = 100);
    opening = w;
    assert_int_equal(VC_OK, sim_runtime(&w->runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(w->runtime, "app:it", &opts, &w->channel));
    if (seed % 2 == 0)
        assert_int_equal(VC_OK, vc_runtime_start(w->runtime));
}

/* Calls are made before the servers are known; in every fifth world the
 * resolver has no answer first. */
static void
world_begin(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->dice = seed;
    w->sets = ~seed;
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    for (unsigned i = 0; i < SERVERS; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        w->hosts[i] = fake_host_new(name, addr);
        server_start(w, i);
    }
    channel_open(w, seed);
    traffic_start(&w->traffic, w->channel, seed);
    fake_sleep_us(roll(w, 60) * MS);
    if (seed % 5 == 0) {
        atomic_store(&w->traffic.may_fail, true);
        vc_resolver_fail(w->resolver, "app:it is not known yet");
        fake_sleep_us(roll(w, 300) * MS);
    }
    servers_set(w, "012");
    traffic_await(&w->traffic, 20, S);
}

static void
world_end(struct world *w)
{
    vc_channel_close(w->channel);
    assert_int_equal(1, atomic_load(&w->closes));
    vc_runtime_free(w->runtime);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_true(w->states[i] == KILLED || sim_server_stop(&w->servers[i]));
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
    w->states[i] = KILLED;
}

static void
on_drained(enum vc_status status, void *arg)
{
    (void)status;
    (void)arg;
}

static void
server_drain(struct world *w, unsigned i)
{
    assert_int_equal(VC_OK, vc_server_drain_start(w->servers[i].server, NULL,
                                                  500, on_drained, NULL));
    w->states[i] = DRAINED;
}

/* Starts it again, if it does not serve. */
static void
server_mend(struct world *w, unsigned i)
{
    if (w->states[i] == SERVES)
        return;
    if (w->states[i] == DRAINED)
        assert_true(sim_server_stop(&w->servers[i]));
    server_start(w, i);
}

static void
fault(struct world *w)
{
    unsigned i = roll(w, SERVERS);

    if (roll(w, 2) == 0)
        any_set(w, &w->dice);
    else if (w->states[i] != SERVES)
        server_mend(w, i);
    else if (roll(w, 2) == 0)
        server_kill(w, i);
    else
        server_drain(w, i);
}

/* All but one are well again, and known; the one may be known too. */
static void
heal(struct world *w, unsigned but)
{
    static const char *const known[] = {"0123", "210", "3120"};

    atomic_store(&w->settled, true);
    for (unsigned i = 0; i < SERVERS; i++) {
        if (i != but)
            server_mend(w, i);
        else if (w->states[i] == SERVES)
            server_kill(w, i);
    }
    servers_set(w, known[roll(w, 3)]);
}

/* So many worlds. */
static uint64_t
worlds(void)
{
    return sim_many(1) > 1 ? LONG_SEEDS : sim_share(SEEDS);
}

/* --- tests ---------------------------------------------------------------- */

static void
each_call_runs_at_most_once_wherever_its_servers_go(void **state)
{
    (void)state;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    for (uint64_t seed = 1; seed <= worlds(); seed++) {
        static struct world w;

        world_begin(&w, seed);
        atomic_store(&w.traffic.may_fail, true);
        if (seed % 2 == 1)
            vc_resolver_timer(w.resolver, 0, app_fire);
        for (unsigned n = 0; n < FAULTS; n++) {
            fault(&w);
            fake_sleep_us((uint64_t)roll(&w, 300) * MS);
        }
        heal(&w, seed % (SERVERS + 1));
        fake_sleep_us(HEAL_US);
        servers_set(&w, "012"); /* the timer may have been the last */
        atomic_store(&w.traffic.may_fail, false);
        traffic_await(&w.traffic, 30, 2 * S);
        traffic_stop(&w.traffic);
        world_end(&w);
    }
}

/* Without faults: no call fails, however often the servers change, as long as
 * one is there. */
static void
no_call_is_lost_while_servers_that_serve_come_and_go(void **state)
{
    static const char *const sets[] = {"0", "12", "20", "1", "012", "21"};

    (void)state;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    for (uint64_t seed = 1; seed <= worlds(); seed++) {
        static struct world w;

        if (seed % 5 == 0)
            continue;
        world_begin(&w, seed);
        for (unsigned n = 0; n < 20; n++) {
            servers_set(&w, sets[roll(&w, 6)]);
            fake_sleep_us((uint64_t)roll(&w, 50) * MS);
        }
        traffic_stop(&w.traffic);
        assert_int_equal(0, atomic_load(&w.traffic.failed));
        assert_int_equal(0, atomic_load(&w.traffic.streams_broken));
        world_end(&w);
    }
}

/* --- memory --------------------------------------------------------------- */

static enum vc_status
first_build(struct vc_policy_servers *servers, void **state)
{
    (void)servers;
    *state = NULL;
    return VC_OK;
}

static uint32_t
first_pick(void *state, struct vc_pick *pick)
{
    (void)state;
    (void)pick;
    return 0;
}

static const struct vc_policy_type first = {
    .size = sizeof first,
    .name = "first",
    .build = first_build,
    .pick = first_pick,
};

/* Opens a channel with all that has memory of its own, and sets servers twice,
 * while the nth allocation fails. False if none has failed. */
static bool
opens_without_memory(struct world *w, const char *target, const char *policy,
                     unsigned nth)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    unsigned before = fake_failed();
    enum vc_status status;

    opts.policy = policy;
    opts.label = "here";
    opts.hash_metadata = "key";
    opts.health_service = "";
    opts.outlier = VC_OUTLIER_OPTS();
    w->resolver = NULL;
    fake_fail_memory(fake_process_self(), nth);
    status = vc_channel_open(w->runtime, target, &opts, &w->channel);
    for (unsigned i = 0; i < 2 && status == VC_OK && w->resolver != NULL; i++) {
        static const struct vc_metadata entry = {.key = "zone"};
        struct vc_endpoint e[] = {VC_ENDPOINT_INIT, VC_ENDPOINT_INIT};

        e[i].metadata = &entry;
        e[i].n_metadata = 1;
        e[i].target = "rdma://10.9.0.2:7471";
        e[i].weight = 2;
        e[1 - i].target = "rdma://10.9.0.3:7471";
        e[1 - i].priority = i;
        status = vc_resolver_set(w->resolver, e, 2);
    }
    fake_fail_no_more();
    assert_int_equal(fake_failed() == before ? VC_OK : VC_RESOURCE_EXHAUSTED,
                     status);
    assert_true(status == VC_OK || strcmp("out of memory", vc_error()) == 0);
    if (w->channel != NULL)
        vc_channel_close(w->channel);
    w->channel = NULL;
    return status != VC_OK;
}

static void
any_allocation_may_fail_while_a_channel_opens(void **state)
{
    static const char *const own[] = {"weighted_round_robin", "ring_hash",
                                      "nearest", "first:x"};
    static const char *const targets[] = {
        "app:it", "list:rdma://10.9.0.2:7471,rdma://10.9.0.3:7471"};
    static struct world w;

    (void)state;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    assert_int_equal(VC_OK, vc_policy_register(&first));
    memset(&w, 0, sizeof w);
    opening = &w;
    sim_begin(1, 2, false);
    assert_int_equal(VC_OK, sim_runtime(&w.runtime, 1));
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned nth = 1;
             opens_without_memory(&w, targets[i % 2], own[i / 2], nth); nth++)
            ;
    }
    vc_runtime_free(w.runtime);
    assert_int_equal(0, fake_end());
}

/* Also that a failure of the resolver is over. */
static void
each_server_that_comes_or_goes_has_a_line(void **state)
{
    static struct world w;
    struct vc_endpoint bad = VC_ENDPOINT_INIT;

    (void)state;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    memset(&w, 0, sizeof w);
    sim_begin(1, 1, false);
    logbook_begin(VC_LOG_INFO);
    channel_open(&w, 1);
    vc_resolver_fail(w.resolver, "it sleeps");
    servers_set(&w, "01");
    servers_set(&w, "01");
    servers_set(&w, "211");
    bad.target = "nonsense";
    assert_int_equal(VC_INVALID_ARGUMENT, vc_resolver_set(w.resolver, &bad, 1));
    vc_channel_close(w.channel);
    vc_runtime_free(w.runtime);
    assert_int_equal(0, fake_end());
    logbook_end("main warning: channel to app:it: it sleeps\n"
                "main warning: channel to app:it: the resolver has an answer "
                "again\n"
                "main info: channel to app:it: 2 servers, 2 new, 0 gone\n"
                "main info: channel to app:it: server added: "
                "rdma://10.9.0.10:7471\n"
                "main info: channel to app:it: server added: "
                "rdma://10.9.0.11:7471\n"
                "main info: channel to app:it: 2 servers, 1 new, 1 gone\n"
                "main info: channel to app:it: server added: "
                "rdma://10.9.0.12:7471\n"
                "main info: channel to app:it: server removed: "
                "rdma://10.9.0.10:7471\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_that_comes_or_goes_has_a_line),
        cmocka_unit_test(no_call_is_lost_while_servers_that_serve_come_and_go),
        cmocka_unit_test(each_call_runs_at_most_once_wherever_its_servers_go),
        cmocka_unit_test(any_allocation_may_fail_while_a_channel_opens),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
