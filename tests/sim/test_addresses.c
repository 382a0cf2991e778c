/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server with several addresses, "ADDRESS|ADDRESS": which of them a channel
 * connects to, how soon, and when it looks again. Nothing is left of the others
 * (fake_end() counts). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/caller.h"
#include "tests/sim/networks.h"
#include "tests/sim/second.h"

#define SEEDS   sim_share(15u)
#define MS      UINT64_C(1000)
#define SOON    (30 * MS) /* connecting takes less than this */
#define DELAY   (250 * MS)
#define WORK_MS 500u
#define TEXT    2048

#define FIRST_ADDRESS  "10.9.0.2"
#define SECOND_ADDRESS "10.9.0.3"
#define TWO            "rdma://" FIRST_ADDRESS ":7471|rdma://" SECOND_ADDRESS ":7471"

/* Two hosts; a server at each that was started. They are two instances. */
struct pair {
    struct fake_host *hosts[2];
    struct sim_server servers[2];
    bool serves[2];
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    uint64_t us; /* that the last call took */
};

static void
pair_serve(struct pair *w, unsigned i, unsigned sleep_us)
{
    struct sim_server *s = &w->servers[i];

    memset(s, 0, sizeof *s);
    s->sleep_us = sleep_us;
    sim_target(i == 0 ? FIRST_ADDRESS : SECOND_ADDRESS, s->target);
    sim_server_start(s, w->hosts[i], 1);
    assert_true(sim_server_await(s));
    w->serves[i] = true;
}

static void
pair_stop(struct pair *w, unsigned i)
{
    if (w->serves[i])
        assert_true(sim_server_stop(&w->servers[i]));
    w->serves[i] = false;
}

static void
pair_begin(struct pair *w, uint64_t seed, struct vc_channel_opts opts)
{
    memset(w, 0, sizeof *w);
    sim_begin(seed, 2, getenv("TRACE") != NULL);
    w->hosts[0] = fake_host_new("a", FIRST_ADDRESS);
    w->hosts[1] = fake_host_new("b", SECOND_ADDRESS);
    assert_int_equal(VC_OK, sim_runtime(&w->runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(w->runtime, TWO, &opts, &w->channel));
}

static void
pair_end(struct pair *w)
{
    vc_channel_close(w->channel);
    vc_runtime_free(w->runtime);
    pair_stop(w, 0);
    pair_stop(w, 1);
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(0, fake_end());
}

static void
pair_call(struct pair *w)
{
    uint64_t begin = fake_now_us();
    enum vc_status status = sim_echo(w->channel, 64, 1, 0, NULL);

    w->us = fake_now_us() - begin;
    if (status != VC_OK)
        fail_msg("%s", vc_error());
}

/* Fails unless the only connection is to this address. */
static void
connected_to(const struct vc_channel *channel, const char *scheme,
             const char *addr)
{
    char text[TEXT], line[80];

    vc_channel_describe(channel, text, sizeof text);
    snprintf(line, sizeof line, "%s to %s:7471", scheme, addr);
    if (strncmp(text, line, strlen(line)) != 0 ||
        strchr(text, '\n') != strrchr(text, '\n'))
        fail_msg("not only %s, but:\n%s", line, text);
}

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* --- which one, and when ---------------------------------------------------- */

static void
the_first_wins_if_both_answer(void **state)
{
    struct pair w;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pair_begin(&w, seed, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
        pair_serve(&w, 0, 0);
        pair_serve(&w, 1, 0);
        pair_call(&w);
        assert_in_range(w.us, 0, SOON);
        connected_to(w.channel, "rdma", FIRST_ADDRESS);
        assert_int_equal(1, counters_of(w.runtime).links_made);
        assert_int_equal(
            0, counters_of(atomic_load(&w.servers[1].runtime)).links_made);
        pair_end(&w);
    }
}

static void
the_second_is_tried_when_the_attempt_delay_has_passed(void **state)
{
    static const uint32_t delays_ms[] = {0, 100, 400};
    struct pair w;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        uint64_t delay;

        opts.connect_delay_ms = delays_ms[seed % 3];
        delay = seed % 3 == 0 ? DELAY : opts.connect_delay_ms * MS;
        pair_begin(&w, seed, opts);
        fake_port_set(w.hosts[0], false); /* it is silent */
        pair_serve(&w, 1, 0);
        pair_call(&w);
        assert_in_range(w.us, delay, delay + SOON);
        connected_to(w.channel, "rdma", SECOND_ADDRESS);
        assert_int_equal(1, counters_of(w.runtime).links_up);
        pair_end(&w);
    }
}

static void
the_second_is_tried_at_once_when_the_first_has_failed(void **state)
{
    struct pair w;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pair_begin(&w, seed, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
        pair_serve(&w, 1, 0); /* nobody listens at the first */
        pair_call(&w);
        assert_in_range(w.us, 0, SOON);
        connected_to(w.channel, "rdma", SECOND_ADDRESS);
        pair_end(&w);
    }
}

/* The first server accepts at about the time when the second does. */
static void
the_first_to_connect_wins_and_the_other_attempt_is_cancelled(void **state)
{
    struct pair w;

    (void)state;
    for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
        struct vc_counters c;

        pair_begin(&w, seed, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
        pair_serve(&w, 0, 0);
        pair_serve(&w, 1, 0);
        fake_rule("server: REP ->", 1, FAKE_DELAY, DELAY + seed * 150);
        pair_call(&w);
        assert_in_range(w.us, DELAY, DELAY + SOON);
        fake_sleep_us(DELAY);
        c = counters_of(w.runtime);
        assert_int_equal(1, c.links_up);
        assert_int_equal(0, c.links_connecting);
        pair_end(&w);
    }
}

static void
when_all_have_failed_the_call_says_why(void **state)
{
    struct pair w;

    (void)state;
    pair_begin(&w, 1, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
    fake_port_set(w.hosts[0], false);
    assert_int_equal(VC_UNAVAILABLE,
                     vc_channel_connect(w.channel, &suite_probe_service));
    assert_non_null(strstr(vc_error(), "nothing listens at " SECOND_ADDRESS));
    pair_end(&w);
}

/* Those that are names are looked up; the others count if one is unknown. */
static void
an_address_may_be_a_name(void **state)
{
    static const char *const targets[] = {
        "rdma://nobody:7471|rdma://b:7471",
        "rdma://b:7471|rdma://nobody:7471",
        "rdma://nobody:7471|rdma://" SECOND_ADDRESS ":7471",
        "rdma://a:7471|rdma://b:7471",
    };
    struct vc_channel *channel;
    struct pair w;

    (void)state;
    pair_begin(&w, 1, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
    pair_serve(&w, 1, 0);
    for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_int_equal(
            VC_OK, vc_channel_open(w.runtime, targets[i], NULL, &channel));
        assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
        connected_to(channel, "rdma", SECOND_ADDRESS);
        vc_channel_close(channel);
    }
    assert_int_equal(
        VC_OK, vc_channel_open(w.runtime, "rdma://nobody:7471|rdma://none:7471",
                               NULL, &channel));
    assert_int_equal(VC_UNAVAILABLE,
                     vc_channel_connect(channel, &suite_probe_service));
    assert_non_null(strstr(vc_error(), "no address of nobody"));
    vc_channel_close(channel);
    pair_end(&w);
}

static void
channels_share_connections_if_all_addresses_are_the_same(void **state)
{
    struct vc_channel *same, *less;
    struct pair w;

    (void)state;
    pair_begin(&w, 1, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
    pair_serve(&w, 0, 0);
    pair_call(&w);
    assert_int_equal(VC_OK, vc_channel_open(w.runtime, TWO, NULL, &same));
    assert_int_equal(VC_OK, sim_echo(same, 64, 1, 0, NULL));
    assert_int_equal(1, counters_of(w.runtime).links_made);
    assert_int_equal(VC_OK,
                     vc_channel_open(w.runtime, "rdma://" FIRST_ADDRESS ":7471",
                                     NULL, &less));
    assert_int_equal(VC_OK, sim_echo(less, 64, 1, 0, NULL));
    assert_int_equal(2, counters_of(w.runtime).links_made);
    vc_channel_close(same);
    vc_channel_close(less);
    pair_end(&w);
}

/* --- the winner is lost ------------------------------------------------------ */

/* The server at the second address is started again, so that both answer. */
static void
the_winner_stays_until_it_is_lost_and_then_the_first_is_tried_first(
    void **state)
{
    struct pair w;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pair_begin(&w, seed, (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT);
        pair_serve(&w, 1, 0);
        pair_call(&w);
        pair_serve(&w, 0, 0);
        pair_call(&w);
        connected_to(w.channel, "rdma", SECOND_ADDRESS);
        pair_stop(&w, 1);
        pair_serve(&w, 1, 0);
        pair_call(&w);
        assert_in_range(w.us, 0, SOON);
        connected_to(w.channel, "rdma", FIRST_ADDRESS);
        pair_end(&w);
    }
}

/* The two addresses lead to two instances of the server, which is a mistake of
 * those who wrote the target. */
static void
a_session_is_never_resumed_at_another_instance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct caller c = {.tag = 7, .size = 64};
        struct pair w;

        pair_begin(&w, seed, opts);
        pair_serve(&w, 0, WORK_MS * MS);
        pair_serve(&w, 1, WORK_MS * MS);
        c.channel = w.channel;
        caller_begin(&c);
        while (atomic_load(&sim_ran[7]) == 0)
            fake_sleep_us(MS);
        fake_process_kill(w.servers[0].process);
        w.serves[0] = false;
        caller_join(&c);
        assert_int_equal(VC_UNAVAILABLE, c.status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
        assert_int_equal(1, atomic_load(&sim_ran[7]));
        pair_call(&w);
        connected_to(w.channel, "rdma", SECOND_ADDRESS);
        pair_end(&w);
    }
}

/* --- one instance ------------------------------------------------------------ */

#define INSTANCE "rdma://10.9.0.2:7471|tcp://10.9.0.2:7471"

/* The call is under way by RDMA; it goes on over TCP, and runs once. */
static void
a_call_goes_on_at_another_address_of_the_same_instance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * LOSSES; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct caller c = {.tag = 7, .size = 64};
        unsigned long packets = second_packets();
        struct vc_runtime *runtime;
        struct networks n;

        sim_begin(seed, 2, getenv("TRACE") != NULL);
        networks_make(&n, fake_host_local(), "10.9.1.1");
        n.server.sleep_us = WORK_MS * MS;
        networks_serve(&n, 1);
        assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
        assert_int_equal(VC_OK,
                         vc_channel_open(runtime, INSTANCE, &opts, &c.channel));
        caller_begin(&c);
        while (atomic_load(&sim_ran[7]) == 0)
            fake_sleep_us(MS);
        connected_to(c.channel, "rdma", FIRST_ADDRESS);
        networks_lose(&n, FIRST, (enum networks_loss)(seed % LOSSES));
        caller_join(&c);
        if (c.status != VC_OK)
            fail_msg("loss %u: status %d", (unsigned)(seed % LOSSES), c.status);
        assert_int_equal(1, atomic_load(&sim_ran[7]));
        connected_to(c.channel, "tcp", FIRST_ADDRESS);
        assert_true(second_packets() > packets);
        vc_channel_close(c.channel);
        vc_runtime_free(runtime);
        assert_true(sim_server_stop(&n.server));
        assert_int_equal(0, fake_end());
    }
}

/* Each address by each transport; nobody is at the first address. */
static void
addresses_of_vc_are_tried_by_all_transports(void **state)
{
    struct vc_channel_opts opts = networks_opts();
    struct vc_channel *channel;
    struct vc_runtime *runtime;
    struct networks n;

    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        sim_begin(seed, 2, getenv("TRACE") != NULL);
        networks_make(&n, fake_host_local(), "10.9.1.1");
        networks_serve(&n, 1);
        if (seed == 2)
            networks_lose(&n, FIRST, LOSS_PORT_THERE);
        assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
        assert_int_equal(VC_OK,
                         vc_channel_open(runtime,
                                         "vc://10.9.0.9:7471|" NETWORKS_TARGET,
                                         &opts, &channel));
        assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
        assert_true(networks_only(channel, seed == 1 ? "rdma" : "tcp"));
        vc_channel_close(channel);
        vc_runtime_free(runtime);
        assert_true(sim_server_stop(&n.server));
        assert_int_equal(0, fake_end());
    }
}

/* Two devices of one host: one transport. Keepalive ends the link before the
 * adapter does. */
static void
a_silent_host_is_resumed_at_another_address_of_one_transport(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct caller c = {.tag = 7, .size = 64};
        struct vc_runtime *runtime;
        struct networks n;

        sim_begin(seed, 2, getenv("TRACE") != NULL);
        networks_make(&n, fake_host_local(), "10.9.1.1");
        strcpy(n.server.target, "rdma://0.0.0.0:7471");
        n.server.sleep_us = WORK_MS * MS;
        networks_serve(&n, 1);
        opts.keepalive_ms = 150;
        assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
        assert_int_equal(
            VC_OK, vc_channel_open(runtime,
                                   "rdma://10.9.0.2:7471|rdma://10.9.1.2:7471",
                                   &opts, &c.channel));
        caller_begin(&c);
        while (atomic_load(&sim_ran[7]) == 0)
            fake_sleep_us(MS);
        networks_lose(&n, FIRST, LOSS_CUT);
        caller_join(&c);
        assert_int_equal(1, counters_of(runtime).keepalive_dead);
        assert_int_equal(VC_OK, c.status);
        assert_int_equal(1, atomic_load(&sim_ran[7]));
        connected_to(c.channel, "rdma", "10.9.1.2");
        vc_channel_close(c.channel);
        vc_runtime_free(runtime);
        assert_true(sim_server_stop(&n.server));
        assert_int_equal(0, fake_end());
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_wins_if_both_answer),
        T(the_second_is_tried_when_the_attempt_delay_has_passed),
        T(the_second_is_tried_at_once_when_the_first_has_failed),
        T(the_first_to_connect_wins_and_the_other_attempt_is_cancelled),
        T(when_all_have_failed_the_call_says_why),
        T(an_address_may_be_a_name),
        T(channels_share_connections_if_all_addresses_are_the_same),
        T(the_winner_stays_until_it_is_lost_and_then_the_first_is_tried_first),
        T(a_session_is_never_resumed_at_another_instance),
        T(a_call_goes_on_at_another_address_of_the_same_instance),
        T(addresses_of_vc_are_tried_by_all_transports),
        T(a_silent_host_is_resumed_at_another_address_of_one_transport),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
