/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel with three servers, one of which is slow, or fails half of its
 * calls: what callers see of it, on virtual time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/outlier.h>

#include "tests/sim/sim.h"

#define SEEDS   4u
#define SERVERS 3u
#define CALLERS 8u
#define CALLS   1600u
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define WORK_US (2 * MS) /* of a good server's handler */
#define SLOW_US (2 * S)  /* of the slow one's */

/* Of the outlier detection. */
#define INTERVAL_MS 1000u
#define EJECTION_MS 5000u
#define PACE_US     (5 * MS)

struct world {
    struct sim_server servers[SERVERS];
    unsigned n;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    pthread_t callers[CALLERS];
    atomic_uint next;
    uint64_t took[CALLS];
    atomic_ullong last_us; /* when server 0 was last called */
    atomic_uint calls;     /* of server 0 */
    atomic_bool well;      /* server 0 does not fail any more */
};

static struct world w;

static enum vc_status
half_fail(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    (void)s;
    (void)call;
    (void)tag;
    atomic_store(&w.last_us, fake_now_us());
    return atomic_fetch_add(&w.calls, 1) % 2 == 0 || atomic_load(&w.well)
               ? VC_OK
               : VC_INTERNAL;
}

/* A world with n servers on hosts of their own, which do their work in WORK_US.
 * If nth is not 0, the nth allocation of vc_channel_open() fails; returns the
 * status of that. */
static enum vc_status
world_open(uint64_t seed, unsigned n, const struct vc_channel_opts *opts,
           enum vc_status (*finish)(struct sim_server *s, struct vc_call *call,
                                    uint64_t tag),
           unsigned nth)
{
    char target[SERVERS * 30] = "list:";
    enum vc_status status;

    memset(&w, 0, sizeof w);
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    w.n = n;
    for (unsigned i = 0; i < n; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        snprintf(target + strlen(target), sizeof target - strlen(target),
                 "%srdma://%s:7471", i > 0 ? "," : "", addr);
        snprintf(w.servers[i].target, sizeof w.servers[i].target,
                 "rdma://%s:7471", addr);
        atomic_store(&w.servers[i].sleep_us, WORK_US);
        w.servers[i].finish = i == 0 ? finish : NULL;
        sim_server_start(&w.servers[i], fake_host_new(name, addr), 1);
        assert_true(sim_server_await(&w.servers[i]));
    }
    assert_int_equal(VC_OK, sim_runtime(&w.runtime, 1));
    assert_int_equal(VC_OK, vc_runtime_start(w.runtime));
    if (nth > 0)
        fake_fail_memory(fake_process_self(), nth);
    status = vc_channel_open(w.runtime, target, opts, &w.channel);
    fake_sleep_us(MS); /* for what the holder has to do for it */
    fake_fail_no_more();
    return status;
}

static void
world_begin(uint64_t seed, unsigned n, const struct vc_channel_opts *opts,
            enum vc_status (*finish)(struct sim_server *s, struct vc_call *call,
                                     uint64_t tag))
{
    assert_int_equal(VC_OK, world_open(seed, n, opts, finish, 0));
}

static void
world_end(void)
{
    vc_channel_close(w.channel);
    vc_runtime_free(w.runtime);
    for (unsigned i = 0; i < w.n; i++)
        assert_true(sim_server_stop(&w.servers[i]));
    assert_int_equal(0, fake_end());
}

/* --- one that is slow ----------------------------------------------------- */

static void *
caller_main(void *arg)
{
    unsigned tag;

    (void)arg;
    while ((tag = atomic_fetch_add(&w.next, 1)) < CALLS) {
        uint64_t began = fake_now_us();
        enum vc_outcome outcome;

        if (sim_echo(w.channel, 64, tag, 20000, &outcome) != VC_OK)
            abort();
        w.took[tag] = fake_now_us() - began;
    }
    return NULL;
}

static int
order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The 99th percentile of the calls of several callers; with a slow server if
 * there are three. */
static uint64_t
p99(uint64_t seed, unsigned n)
{
    uint64_t us;

    world_begin(seed, n, VC_CHANNEL_OPTS(.policy = "least_request"), NULL);
    for (unsigned i = 0; i < 100; i++) { /* all are connected */
        enum vc_outcome outcome;

        assert_int_equal(VC_OK, sim_echo(w.channel, 64, i, 20000, &outcome));
    }
    if (n == SERVERS)
        atomic_store(&w.servers[0].sleep_us, SLOW_US);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(
            0, pthread_create(&w.callers[i], NULL, caller_main, NULL));
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(w.callers[i], NULL);
    qsort(w.took, CALLS, sizeof w.took[0], order);
    us = w.took[CALLS * 99 / 100];
    world_end();
    return us;
}

/* Its calls are in progress for long, so it gets hardly any others: fewer than
 * one in a hundred, if it is slower by more than a factor of 50. */
static void
a_slow_server_does_not_show_in_the_99th_percentile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(sim_share(SEEDS) + 1); seed++) {
        uint64_t two_good = p99(seed, 2), with_slow = p99(seed, SERVERS);

        if (with_slow * 2 > two_good * 3)
            fail_msg("seed %u: %u us instead of %u", (unsigned)seed,
                     (unsigned)with_slow, (unsigned)two_good);
    }
}

/* --- one that fails ------------------------------------------------------- */

static void
call_once(void)
{
    enum vc_outcome outcome;

    sim_echo(w.channel, 64, atomic_fetch_add(&w.next, 1) % 1000, 20000,
             &outcome);
    fake_sleep_us(PACE_US);
}

static unsigned
n_ejected(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(w.runtime, &c);
    return (unsigned)c.servers_ejected;
}

/* Calls until server 0 is ejected. Returns the time of its last call. */
static uint64_t
ejected_await(void)
{
    uint64_t until = fake_now_us() + 4 * INTERVAL_MS * MS;

    while (n_ejected() == 0) {
        assert_true(fake_now_us() < until);
        call_once();
    }
    return atomic_load(&w.last_us);
}

static struct vc_outlier_opts
outlier_opts(void)
{
    struct vc_outlier_opts outlier = VC_OUTLIER_OPTS_INIT;

    outlier.methods = VC_OUTLIER_FAILURE_PERCENTAGE;
    outlier.interval_ms = INTERVAL_MS;
    outlier.base_ejection_ms = EJECTION_MS;
    outlier.failure_percentage_threshold = 40;
    outlier.failure_percentage_minimum_hosts = SERVERS;
    outlier.failure_percentage_request_volume = 10;
    return outlier;
}

/* Whatever allocation fails: a channel that is open ejects servers. */
static void
a_channel_that_is_opened_with_little_memory_ejects_servers(void **state)
{
    const struct vc_outlier_opts outlier = outlier_opts();
    unsigned nth = 0, failed;

    (void)state;
    do {
        enum vc_status status = world_open(
            1, SERVERS,
            VC_CHANNEL_OPTS(.policy = "round_robin", .outlier = &outlier),
            half_fail, ++nth);

        failed = fake_failed();
        if (status == VC_OK)
            ejected_await();
        else
            assert_int_equal(VC_RESOURCE_EXHAUSTED, status);
        world_end();
    } while (failed > 0);
    assert_true(nth > 5);
}

/* The time of the ejection itself is between the last call that server 0 got
 * and the next one to it, two later. */
static void
an_ejected_server_gets_no_call_and_comes_back_on_time(void **state)
{
    const struct vc_outlier_opts outlier = outlier_opts();

    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(sim_share(SEEDS) + 1); seed++) {
        uint64_t last, out_us;

        world_begin(
            seed, SERVERS,
            VC_CHANNEL_OPTS(.policy = "round_robin", .outlier = &outlier),
            half_fail);
        last = ejected_await();
        atomic_store(&w.well, true);
        while (atomic_load(&w.last_us) == last) {
            assert_true(fake_now_us() < last + 2 * EJECTION_MS * MS);
            call_once();
        }
        out_us = atomic_load(&w.last_us) - last;
        assert_in_range(out_us, EJECTION_MS * MS,
                        (EJECTION_MS + INTERVAL_MS) * MS + 20 * PACE_US);
        for (unsigned i = 0; i < 3 * INTERVAL_MS / 5; i++)
            call_once();
        assert_int_equal(1, n_ejected());
        world_end();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_server_does_not_show_in_the_99th_percentile),
        cmocka_unit_test(
            a_channel_that_is_opened_with_little_memory_ejects_servers),
        cmocka_unit_test(an_ejected_server_gets_no_call_and_comes_back_on_time),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
