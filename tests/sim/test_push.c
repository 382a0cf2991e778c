/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that send over one link and interrupt each other at any step. A
 * thread that finds the link locked returns, and the thread that has the lock
 * sends what the other has appended. Nothing else would send it: there is no
 * keepalive. */
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

#include "tests/sim/sim.h"

#define SEEDS    sim_share(150u)
#define CALLERS  3u
#define CALLS    100u
#define PATIENCE 60000000u /* us */
#define LONG_MS  20000u

struct client;

struct caller {
    struct client *client;
    unsigned first; /* its first tag */
    unsigned good;
};

struct client {
    char target[80];
    struct vc_channel *channel;
    atomic_uint begun; /* calls begun */
    struct caller callers[CALLERS];
};

/* A random time, from the world's random numbers. */
static uint64_t
some_us(void)
{
    uint8_t us = 0;

    return getrandom(&us, sizeof us, 0) == sizeof us ? us / 4u : 0;
}

/* The callers make one call each at a time. So no later call sends a request
 * that was left in the queue. */
static void *
caller_main(void *arg)
{
    struct caller *c = arg;
    struct client *client = c->client;

    for (unsigned i = 0; i < CALLS; i++) {
        atomic_fetch_add(&client->begun, 1);
        while (atomic_load(&client->begun) < (i + 1) * CALLERS)
            fake_sleep_us(1);
        fake_sleep_us(some_us());
        c->good +=
            sim_echo(client->channel, 64, c->first + i, LONG_MS, NULL) == VC_OK;
    }
    return NULL;
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    pthread_t threads[CALLERS];

    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    opts.max_links = 1;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, c->target, &opts, &c->channel),
                     VC_OK);
    assert_int_equal(vc_channel_connect(c->channel, &suite_probe_service),
                     VC_OK);
    for (unsigned i = 0; i < CALLERS; i++) {
        c->callers[i] = (struct caller){.client = c, .first = i * CALLS};
        pthread_create(&threads[i], NULL, caller_main, &c->callers[i]);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    vc_channel_close(c->channel);
    vc_runtime_free(runtime);
}

static void
world_run(uint64_t seed)
{
    struct sim_server s = {.keepalive_ms = VC_KEEPALIVE_OFF};
    struct client c = {.target = ""};
    struct fake_process *p;

    sim_begin(seed, 2, true);
    sim_target("10.9.0.2", s.target);
    sim_target("10.9.0.2", c.target);
    sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 2);
    assert_true(sim_server_await(&s));
    p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                           client_main, &c);
    if (!fake_process_wait(p, PATIENCE))
        fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
    assert_true(sim_server_stop(&s));
    assert_int_equal(fake_end(), 0);
    for (unsigned i = 0; i < CALLERS; i++)
        if (c.callers[i].good != CALLS)
            fail_msg("seed %llu: %u of %u calls of thread %u",
                     (unsigned long long)seed, c.callers[i].good, CALLS, i);
}

static void
what_was_appended_while_the_link_was_taken_is_sent(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        world_run(seed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_appended_while_the_link_was_taken_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
