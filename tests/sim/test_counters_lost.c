/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counters after a loss of links: calls that were sent again, peers that became
 * silent, devices that were removed. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/scene.h"

#define SECOND 1000000u /* us */
#define LOSSES 100u     /* more than a queue can lose */

/* --- links that are lost ------------------------------------------------ */

static void *
kept_watch(void *arg)
{
    struct scene *s = arg;
    static uint64_t most;

    for (most = 0; scene_client(s).calls_ended < 2; fake_sleep_us(20))
        if (scene_server(s).replies_kept > most)
            most = scene_server(s).replies_kept;
    return &most;
}

/* The reply of the second call breaks the server's QP. */
static void
loses_a_reply(struct scene *s)
{
    struct vc_counters client, server;
    pthread_t watch;
    void *most_kept;

    scene_call(s, 64, 1);
    fake_sleep_us(SECOND / 100);
    assert_int_equal(pthread_create(&watch, NULL, kept_watch, s), 0);
    fake_rule("server qp", 2, FAKE_FLUSH, 0);
    scene_call(s, 64, 2);
    fake_no_rules();
    pthread_join(watch, &most_kept);
    fake_sleep_us(SECOND / 10); /* until the reply is acknowledged */
    assert_int_equal(*(uint64_t *)most_kept, 1);
    client = scene_client(s);
    server = scene_server(s);
    assert_int_equal(atomic_load(&sim_ran[2]), 1);
    assert_int_equal(client.links_made, 2);
    assert_int_equal(client.links_up, 1);
    assert_int_equal(client.links_lost + client.links_left, 1);
    assert_int_equal(client.calls_started, 2);
    assert_int_equal(client.calls_sent_again, 1);
    assert_int_equal(client.sessions_client_opened, 1);
    assert_int_equal(client.sessions_client_moved, 1);
    assert_int_equal(server.handlers_started, 2);
    assert_int_equal(server.sessions_server_opened, 1);
    assert_int_equal(server.sessions_server_moved, 1);
    assert_int_equal(server.calls_answered_again, 1);
    assert_int_equal(server.calls_joined, 0);
    assert_int_equal(server.replies_kept, 0);
    assert_int_equal(server.calls_received, 2);
    assert_int_equal(server.links_made, 2);
}

static void
a_call_resumed_on_another_link_is_counted_once_and_as_sent_again(void **state)
{
    (void)state;
    scene_play(loses_a_reply, NULL);
}

/* Another server, which is frozen. Connecting to it takes a while, during which
 * the engine goes on. */
static struct sim_server still;

static void
waits_for_another(struct sim_server *s)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.connect_timeout_ms = 1000;
    assert_int_equal(vc_channel_open(atomic_load(&s->runtime), still.target,
                                     &opts, &channel),
                     VC_OK);
    assert_int_equal(vc_channel_connect(channel, &suite_probe_service),
                     VC_UNAVAILABLE);
    vc_channel_close(channel);
}

static void *
flush_soon(void *arg)
{
    struct scene *s = arg;

    while (scene_server(s).handlers_running == 0)
        fake_sleep_us(1000);
    assert_int_equal(scene_server(s).handlers_started, 1);
    fake_rule("client qp", 1, FAKE_FLUSH, 0); /* a PING */
    return NULL;
}

static void
loses_the_link_of_a_call_that_runs(struct scene *s)
{
    struct vc_counters server;
    pthread_t thread;

    sim_target("10.9.0.4", still.target);
    sim_server_start(&still, fake_host_new("still", "10.9.0.4"), 1);
    assert_true(sim_server_await(&still));
    fake_process_freeze(still.process);
    assert_int_equal(pthread_create(&thread, NULL, flush_soon, s), 0);
    scene_call(s, 64, 1);
    pthread_join(thread, NULL);
    fake_no_rules();
    server = scene_server(s);
    assert_int_equal(atomic_load(&sim_ran[1]), 1);
    assert_int_equal(server.calls_joined, 1);
    assert_int_equal(server.calls_answered_again, 0);
    assert_int_equal(server.calls_received, 1);
    assert_int_equal(server.handlers_started, 1);
    assert_int_equal(server.handlers_running, 0);
    assert_int_equal(scene_client(s).calls_sent_again, 1);
    fake_process_thaw(still.process);
    assert_true(sim_server_stop(&still));
}

static void
a_call_that_comes_again_while_it_runs_is_counted_as_joined(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = loses_the_link_of_a_call_that_runs};

        s.server.inside = waits_for_another;
        scene_run(&s, seed);
    }
}

/* --- clients that leave ------------------------------------------------- */

struct leaver {
    struct scene *scene;
    struct fake_process *process;
    atomic_uint gone;
};

static void
leaver_main(void *arg)
{
    struct leaver *l = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(
        vc_channel_open(runtime, l->scene->server.target, NULL, &channel),
        VC_OK);
    vc_channel_connect(
        channel, &suite_probe_service); /* the process is killed in this call */
}

/* Kills the client while the server is frozen, so that the server sees the loss
 * before it does anything else. */
static void
leaver_end(void *arg)
{
    struct leaver *l = arg;

    fake_process_freeze(l->scene->server.process);
    fake_process_kill(l->process);
    atomic_store(&l->gone, 1);
}

static void
is_left_as_it_accepts(struct scene *s)
{
    struct leaver l = {.scene = s};
    struct vc_counters c;

    fake_when("server: REP ->", 1, leaver_end, &l);
    l.process = fake_process_start(fake_host_new("leaver", "10.9.0.4"),
                                   "leaver", leaver_main, &l);
    while (atomic_load(&l.gone) == 0)
        fake_sleep_us(1000);
    fake_sleep_us(SECOND / 10);
    fake_process_thaw(s->server.process);
    scene_call(s, 64, 1);
    c = scene_server(s);
    assert_int_equal(c.rejects_busy, 0);
    assert_int_equal(c.links_started, 2);
    assert_int_equal(c.links_failed, 1);
    assert_int_equal(c.links_made, 1);
}

static void
a_client_that_leaves_as_it_is_accepted_is_not_refused(void **state)
{
    (void)state;
    scene_play(is_left_as_it_accepts, NULL);
}

/* --- silent peers ------------------------------------------------------- */

static void
loses_a_silent_server(struct scene *s)
{
    struct vc_counters client;

    scene_call(s, 64, 1);
    fake_process_freeze(s->server.process);
    assert_int_equal(sim_echo(s->channel, 64, 2, 0, NULL), VC_UNAVAILABLE);
    fake_process_thaw(s->server.process);
    client = scene_client(s);
    assert_int_equal(client.keepalive_dead, 1);
    assert_in_range(client.keepalive_pings, 1, 100);
    assert_in_range(client.keepalive_probes, 1, 100);
    assert_int_equal(client.links_lost, 1);
    assert_int_equal(client.calls_ended, 2);
}

static void
a_silent_peer_is_counted_as_dead(void **state)
{
    (void)state;
    scene_play(loses_a_silent_server, NULL);
}

/* --- a device that is removed ------------------------------------------- */

static void
sees_the_server_lose_its_device(struct scene *s)
{
    struct vc_counters c;

    scene_call(s, 64, 1);
    c = scene_server(s);
    assert_int_equal(c.qps_in_use, 1);
    assert_in_range(c.receives_posted, 32, 16384);
    assert_in_range(c.memory_receive, 8192, c.memory_receive_limit);
    fake_device_remove(s->server.host);
    fake_sleep_us(SECOND);
    c = scene_server(s);
    /* of the link, the listener, and the id that watches for removals */
    assert_in_range(c.cm_removals, 1, 3);
    assert_int_equal(c.links_lost, 1);
    assert_int_equal(c.links_up, 0);
    assert_int_equal(c.qps_in_use + c.qps_warm, 0);
    assert_int_equal(c.qps_destroyed, c.qps_made);
    assert_int_equal(c.receives_posted + c.receives_promised, 0);
    assert_int_equal(c.memory_receive + c.memory_send, 0);
    assert_int_equal(c.memory_receive_limit + c.memory_send_limit, 0);
}

static void
what_a_removed_device_had_is_not_counted_any_more(void **state)
{
    (void)state;
    scene_play(sees_the_server_lose_its_device, NULL);
}

/* --- events of the CM --------------------------------------------------- */

static void
connects_and_leaves(struct scene *s)
{
    struct vc_counters client, server;

    scene_call(s, 64, 1);
    fake_sleep_us(SECOND / 100);
    client = scene_client(s);
    server = scene_server(s);
    /* address and route, CONNECT_RESPONSE; CONNECT_REQUEST, ESTABLISHED */
    assert_int_equal(client.cm_events, 3);
    assert_int_equal(client.cm_established, 1);
    assert_int_equal(client.cm_requests, 0);
    assert_int_equal(client.cm_disconnected, 0);
    assert_int_equal(server.cm_events, 2);
    assert_int_equal(server.cm_established, 1);
    assert_int_equal(server.cm_requests, 1);
    assert_int_equal(server.cm_disconnected, 0);
    vc_channel_close(s->channel);
    fake_sleep_us(SECOND / 100);
    client = scene_client(s);
    server = scene_server(s);
    assert_int_equal(server.cm_events, 3);
    assert_int_equal(server.cm_disconnected, 1);
    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &s->channel),
        VC_OK);
    scene_call(s, 64, 1); /* handles what has arrived */
    client = scene_client(s);
    assert_int_equal(client.cm_disconnected, 1);
    assert_int_equal(client.cm_events, 3 + 1 + 3);
    assert_int_equal(client.cm_established, 2);
    assert_int_equal(client.cm_rejected + client.cm_unreachable, 0);
    assert_int_equal(client.cm_removals, 0);
}

static void
events_of_the_cm_are_counted_by_their_kind(void **state)
{
    (void)state;
    scene_play(connects_and_leaves, NULL);
}

static void
port_down(void *arg)
{
    fake_port_set(arg, false);
}

static void
one_more(void *arg)
{
    ++*(unsigned *)arg;
}

static void *
finds_nobody(void *arg)
{
    struct vc_channel *channel = arg;

    assert_int_equal(vc_channel_connect(channel, &suite_probe_service),
                     VC_UNAVAILABLE);
    if (strstr(vc_error(), "10.9.0.5:7471 does not answer connection requests "
                           "(Connection timed out)") == NULL)
        fail_msg("%s", vc_error());
    return NULL;
}

/* When the host is asked to connect, its port goes down. The kernel reports
 * that after a while. */
static void
a_host_that_is_not_reached_is_counted(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    unsigned told = 0;
    pthread_t thread;
    struct vc_counters c;

    (void)state;
    sim_begin(1, 0, true);
    fake_when("main: REQ ->", 1, port_down,
              fake_host_new("silent", "10.9.0.5"));
    fake_when("main: event UNREACHABLE", 0, one_more, &told);
    opts.connect_timeout_ms = 200000;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(
        vc_channel_open(runtime, "rdma://10.9.0.5:7471", &opts, &channel),
        VC_OK);
    assert_int_equal(pthread_create(&thread, NULL, finds_nobody, channel), 0);
    fake_sleep_us(SECOND);
    c = scene_counters(runtime);
    assert_int_equal(c.links_connecting, 1);
    assert_int_equal(c.links_client, 1);
    pthread_join(thread, NULL);
    c = scene_counters(runtime);
    assert_int_equal(c.links_connecting, 0);
    assert_int_equal(c.links_failed, 1);
    assert_in_range(told, 1, 10);
    assert_int_equal(c.cm_unreachable, told);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

/* --- receives that are lost ---------------------------------------------- */

/* A receive is lost with its completion. The link ends, because the next
 * message is out of sequence. */
static void
loses_receives(struct scene *s, uint64_t until)
{
    for (unsigned i = 0; scene_server(s).receives_low < until; i++) {
        assert_in_range(i, 0, LOSSES);
        scene_call(s, 64, 1);
        fake_rule("server qp", 1, FAKE_DROP, 0);
        sim_echo(s->channel, 64, 2, 20, NULL);
        fake_no_rules();
        sim_echo(s->channel, 64, 3, 1000, NULL);
    }
}

static void
runs_low(struct scene *s)
{
    assert_int_equal(scene_server(s).receives_low, 0);
    loses_receives(s, 1);
    assert_int_equal(scene_server(s).receives_low, 1);
    scene_call(s, 1 << 20, 1);
    loses_receives(s, 2); /* the low mark is watched again */
    assert_int_equal(scene_server(s).receives_low, 2);
    scene_call(s, 1 << 20, 1);
}

static void
a_shared_queue_that_ran_low_is_counted_and_filled(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = runs_low};

    (void)state;
    scene_run(&s, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_call_resumed_on_another_link_is_counted_once_and_as_sent_again),
        cmocka_unit_test(
            a_call_that_comes_again_while_it_runs_is_counted_as_joined),
        cmocka_unit_test(a_client_that_leaves_as_it_is_accepted_is_not_refused),
        cmocka_unit_test(a_silent_peer_is_counted_as_dead),
        cmocka_unit_test(what_a_removed_device_had_is_not_counted_any_more),
        cmocka_unit_test(events_of_the_cm_are_counted_by_their_kind),
        cmocka_unit_test(a_host_that_is_not_reached_is_counted),
        cmocka_unit_test(a_shared_queue_that_ran_low_is_counted_and_filled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
