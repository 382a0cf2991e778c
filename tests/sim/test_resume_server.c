/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links are lost because their server was killed, or the client comes back too
 * late: calls that may have run end as unknown, and the next ones are served by
 * the next server. */
#include <pthread.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/rig.h"

#define MS 1000u

/* --- servers that were killed ------------------------------------------- */

/* If a text has two parts, the first says how the server was lost, and the
 * second why the client cannot connect again. */
static bool
says_both(const char *text)
{
    const char *then = strstr(text, "; then ");

    if (then == NULL)
        return false;
    assert_int_equal(
        strncmp(text, "suite.Probe.Echo: 10.9.0.2:7471 closed", 38), 0);
    /* The next server refuses, or the host has no server yet. */
    if (strncmp(then + 7, "10.9.0.2:7471 refused", 21) != 0 &&
        strncmp(then + 7, "nothing listens at 10.9.0.2:7471", 32) != 0)
        fail_msg("%s", text);
    return true;
}

static void
errors_and_descriptions_say_the_name_of_the_server(void **state)
{
    static const char line[] = "rdma to orders-1 (10.9.0.2:7471): 1 call "
                               "under way (rxe0, QP ";
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    char text[200];
    struct rig r;
    struct rig_caller c;

    (void)state;
    opts.name = "orders-1";
    rig_server_opts = &opts;
    rig_begin(&r, 1, 3000 * MS, 1);
    rig_server_opts = NULL;
    rig_call(&c, &r, 0, 1, 100);
    rig_await_run(0);
    vc_channel_describe(r.channels[0], text, sizeof text);
    assert_int_equal(0, strncmp(text, line, sizeof line - 1));
    fake_process_kill(r.server.process);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_UNAVAILABLE);
    assert_int_equal(
        0, strncmp(c.text, "suite.Probe.Echo: orders-1 (10.9.0.2:7471) closed",
                   49));
    rig_serve(&r);
    rig_end(&r);
}

/* Calls of a killed server end as unknown, and are not sent to the next
 * server. */
static void
calls_of_a_killed_server_end_unknown_and_the_next_are_served(void **state)
{
    struct rig r;
    struct rig_caller c[12];
    uint64_t each = 60 / sim_share(60), unknown = 0, both = 0;

    (void)state;
    for (uint64_t seed = each; seed <= 60; seed += each) {
        rig_begin(&r, seed, 3 * MS, 1 + (unsigned)(seed % 3));
        rig_warm_up(&r);
        for (unsigned i = 0; i < 12; i++)
            rig_call(&c[i], &r, i % RIG_CHANNELS, 1, i % 3 == 0 ? 40000 : 100);
        fake_sleep_us(500 + seed * 31);
        fake_process_kill(r.server.process);
        if (seed % 2 == 0) /* no server listens in this time */
            fake_sleep_us(20 * MS);
        rig_serve(&r);
        for (unsigned i = 0; i < 12; i++) {
            pthread_join(c[i].thread, NULL);
            if (c[i].status != VC_OK)
                assert_int_equal(c[i].status, VC_UNAVAILABLE);
            unknown += c[i].outcome == VC_OUTCOME_UNKNOWN;
            both += c[i].outcome == VC_OUTCOME_UNKNOWN && says_both(c[i].text);
        }
        rig_call(&c[0], &r, 0, 1, 100);
        rig_good(&c[0]);
        rig_check_once(&r);
        rig_end(&r);
    }
    assert_in_range(unknown, sim_share(60), UINT32_MAX);
    assert_true(both > 0);
}

/* The next line of this process's QP breaks the link. Waits for the next
 * link. */
static void
link_replace(struct rig *r)
{
    uint64_t until = fake_now_us() + RIG_PATIENCE;
    struct vc_counters c = VC_COUNTERS_INIT;
    uint64_t links;

    vc_runtime_counters(r->runtime, &c);
    links = c.links_made_rdma;
    rig_break("main qp", 1);
    while (c.links_made_rdma == links && fake_now_us() < until) {
        fake_sleep_us(MS);
        vc_runtime_counters(r->runtime, &c);
    }
    assert_int_equal(c.links_made_rdma, links + 1);
}

/* When three links in a row are lost without a reply, the calls end. Links lost
 * at one server must not count for the next server. */
static void
links_lost_at_a_former_server_do_not_count_for_the_next(void **state)
{
    struct rig r;
    struct rig_caller c;

    (void)state;
    rig_begin(&r, 1, 0, 1);
    rig_warm_up(&r);
    r.server.sleep_us = 3000 * MS;
    rig_call(&c, &r, 0, 1, 100);
    rig_await_run(RIG_CHANNELS);
    for (unsigned i = 0; i < 2; i++) /* the first link had received replies */
        link_replace(&r);
    fake_process_kill(r.server.process);
    rig_serve(&r);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_UNAVAILABLE);

    rig_call(&c, &r, 0, 1, 100);
    rig_await_run(RIG_CHANNELS + 1);
    link_replace(&r);
    rig_good(&c);
    rig_check_once(&r);
    rig_end(&r);
}

static void
a_client_that_comes_back_too_late_begins_anew(void **state)
{
    struct rig r;
    struct rig_caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(20); seed++) {
        rig_begin(&r, seed, 0, 1 + (unsigned)(seed % 2));
        rig_warm_up(&r);
        /* Then no call is under way that would make the client connect. */
        rig_break("SEND", 1);
        rig_call(&c, &r, 0, 1, 100);
        rig_good(&c);
        fake_wire_cut(fake_host_local(), r.there, true);
        assert_int_not_equal(sim_echo(r.channels[0], 10, 60000, 5000, NULL),
                             VC_OK);
        fake_sleep_us(15000 * MS);
        fake_wire_cut(fake_host_local(), r.there, false);
        for (unsigned i = 0; i < RIG_CHANNELS; i++) {
            rig_call(&c, &r, i, 2, 50000);
            rig_good(&c);
        }
        rig_check_once(&r);
        rig_end(&r);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(errors_and_descriptions_say_the_name_of_the_server),
        T(calls_of_a_killed_server_end_unknown_and_the_next_are_served),
        T(links_lost_at_a_former_server_do_not_count_for_the_next),
        T(a_client_that_comes_back_too_late_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
