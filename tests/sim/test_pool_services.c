/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool whose links and services are more than one. */
#include <string.h>

#include "tests/sim/sim.h"

#define SEEDS   20u
#define LINKS   4u
#define CALLS   50u
#define MS      1000u
#define PATIENT 60000000u

struct client {
    char target[80];
    void (*run)(struct vc_channel *channel);
    struct vc_channel_opts opts;
};

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, c->target, &c->opts, &channel));
    assert_int_equal(VC_OK, vc_channel_connect(channel, &suite_probe_service));
    c->run(channel);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
client_with_a_server(void (*run)(struct vc_channel *channel), unsigned links)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct client c = {.run = run, .opts = VC_CHANNEL_OPTS_INIT};
        struct sim_server s = {.sleep_us = 0};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        c.opts.min_links = c.opts.max_links = links;
        sim_target("10.9.0.2", s.target);
        sim_target("10.9.0.2", c.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               client_main, &c);
        if (!fake_process_wait(p, PATIENT))
            fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

/* While the further links come up. */
static void
call_some_times(struct vc_channel *channel)
{
    for (unsigned i = 0; i < CALLS; i++) {
        assert_int_equal(VC_OK, sim_echo(channel, 64, 0, 0, NULL));
        fake_sleep_us(1 * MS);
    }
}

static void
a_pool_of_several_links_is_closed_with_all_of_them(void **state)
{
    (void)state;
    client_with_a_server(call_some_times, LINKS);
}

/* The hello named another. */
static void
call_other_first(struct vc_channel *channel)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    assert_int_equal(VC_UNIMPLEMENTED,
                     suite_absent_nothing(channel, &request, NULL, &reply));
    assert_int_equal(VC_OK, sim_echo(channel, 64, 0, 0, NULL));
}

static void
the_first_call_on_a_link_may_be_of_another_service_than_it_was_made_for(
    void **state)
{
    (void)state;
    client_with_a_server(call_other_first, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_of_several_links_is_closed_with_all_of_them),
        cmocka_unit_test(
            the_first_call_on_a_link_may_be_of_another_service_than_it_was_made_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
