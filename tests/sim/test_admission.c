/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many clients connect at once to a server with low limits. A refused client
 * connects again by itself when the server's reply allows it, and all clients
 * are served in time. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define SEEDS   sim_few(5u)
#define CLIENTS 24u
#define MS      1000u
#define SECOND  (1000 * MS)
#define PATIENT 20000u /* a long connect timeout, ms */

struct client {
    char target[80];
    uint32_t connect_ms;
    unsigned tag;
    enum vc_status status;
    uint64_t us;
    char text[256];
    struct fake_process *process;
};

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    uint64_t begin = fake_now_us();

    opts.connect_timeout_ms = c->connect_ms;
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, c->target, &opts, &channel));
    c->status = sim_echo(channel, 64, c->tag, c->connect_ms, NULL);
    c->us = fake_now_us() - begin;
    snprintf(c->text, sizeof c->text, "%s",
             c->status == VC_OK ? "" : vc_error());
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

struct crowd {
    struct sim_server server;
    struct client clients[CLIENTS];
    uint64_t last; /* us; when the last client was served */
    unsigned served;
};

/* Runs all clients at once, each on a host of its own, or all on one host. */
static void
crowd_run(struct crowd *crowd, uint64_t seed, const struct vc_server_opts *opts,
          uint32_t connect_ms, bool one_host)
{
    struct fake_host *host = NULL;

    memset(crowd, 0, sizeof *crowd);
    sim_begin(seed, 0, true);
    crowd->server.opts = opts;
    sim_target("10.9.0.2", crowd->server.target);
    sim_server_start(&crowd->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&crowd->server));
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &crowd->clients[i];
        char addr[32];

        snprintf(addr, sizeof addr, "10.9.0.%u", 100 + i);
        if (host == NULL || !one_host)
            host = fake_host_new(addr, addr);
        sim_target("10.9.0.2", c->target);
        c->connect_ms = connect_ms;
        c->tag = i;
        c->process = fake_process_start(host, "client", client_main, c);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *c = &crowd->clients[i];

        assert_true(fake_process_wait(c->process, 60 * (uint64_t)SECOND));
        crowd->served += c->status == VC_OK;
        if (c->status == VC_OK && c->us > crowd->last)
            crowd->last = c->us;
    }
    assert_true(sim_server_stop(&crowd->server));
    assert_int_equal(0, fake_end());
}

static void
all_served_between(uint64_t seed, const struct vc_server_opts *opts,
                   bool one_host, uint64_t least, uint64_t most)
{
    static struct crowd crowd;

    crowd_run(&crowd, seed, opts, PATIENT, one_host);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (crowd.clients[i].status != VC_OK)
            fail_msg("seed %u, client %u: %s", (unsigned)seed, i,
                     crowd.clients[i].text);
    assert_in_range(crowd.last, least, most);
}

static void
a_crowd_over_the_rate_is_served_as_fast_as_the_rate_allows(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.connects_per_second = 8; /* 24 clients: a burst, and 2 s more */
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        all_served_between(seed, &opts, false, 2 * SECOND - SECOND / 10,
                           6 * SECOND);
}

static void
a_crowd_from_one_address_is_held_to_the_rate_of_a_source(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.connects_per_second_source = 8;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        all_served_between(seed, &opts, true, 2 * SECOND - SECOND / 10,
                           6 * SECOND);
        /* From different addresses no client has to wait. */
        all_served_between(seed, &opts, false, 0, SECOND / 2);
    }
}

static void
a_crowd_over_the_half_open_limit_is_served_soon(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_half_open = 1;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        all_served_between(seed, &opts, false, 20 * MS, SECOND);
}

/* Each client disconnects after its call, which makes room for another. */
static void
a_crowd_over_the_limit_of_links_is_served_as_others_leave(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_links = 2;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        all_served_between(seed, &opts, false, 100 * MS, 5 * SECOND);
}

static void
who_has_no_time_to_come_again_is_told_that_it_was_busy(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    static struct crowd crowd;
    unsigned busy = 0;

    (void)state;
    opts.connects_per_second = 8;
    crowd_run(&crowd, 1, &opts, 300, false);
    assert_in_range(crowd.served, 8, 11);
    for (unsigned i = 0; i < CLIENTS; i++) {
        const struct client *c = &crowd.clients[i];

        if (c->status == VC_OK)
            continue;
        if (strstr(c->text, "too busy") != NULL && c->status == VC_UNAVAILABLE)
            busy++;
        else /* its timeout passed while it waited */
            assert_int_equal(VC_DEADLINE_EXCEEDED, c->status);
    }
    assert_true(busy > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_crowd_over_the_rate_is_served_as_fast_as_the_rate_allows),
        cmocka_unit_test(
            a_crowd_from_one_address_is_held_to_the_rate_of_a_source),
        cmocka_unit_test(a_crowd_over_the_half_open_limit_is_served_soon),
        cmocka_unit_test(
            a_crowd_over_the_limit_of_links_is_served_as_others_leave),
        cmocka_unit_test(
            who_has_no_time_to_come_again_is_told_that_it_was_busy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
