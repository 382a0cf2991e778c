/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counters: of calls, packets, refusals and QPs; and how they are read. Lost
 * links are in test_counters_lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scene.h"

#define CALLS   20u
#define SECOND  1000000u /* us */
#define LOOK_US 200u

/* --- calls ------------------------------------------------------------- */

static void
calls_some(struct scene *s)
{
    struct vc_counters client, server;

    client = scene_client(s);
    assert_int_equal(client.calls_started, 0);
    assert_int_equal(client.links_started, 0);
    for (unsigned i = 0; i < CALLS; i++)
        scene_call(s, 64, i);
    client = scene_client(s);
    server = scene_server(s);
    assert_int_equal(client.calls_started, CALLS);
    assert_int_equal(client.calls_ended, CALLS);
    assert_int_equal(client.calls_given_up, 0);
    assert_int_equal(client.calls_sent_again, 0);
    assert_int_equal(client.sessions_client, 1);
    assert_int_equal(client.sessions_client_opened, 1);
    assert_int_equal(client.sessions_client_moved, 0);
    assert_int_equal(client.links_up, 1);
    assert_int_equal(client.links_client, 1);
    assert_int_equal(client.links_server, 0);
    assert_int_equal(client.links_made, 1);
    assert_int_equal(client.qps_in_use, 1);
    assert_int_equal(client.cm_rejected, 0);
    assert_int_equal(client.cm_established, 1);
    assert_int_equal(server.calls_received, CALLS);
    assert_int_equal(server.handlers_started, CALLS);
    assert_int_equal(server.handlers_running, 0);
    assert_int_equal(server.calls_joined, 0);
    assert_int_equal(server.sessions_server, 1);
    assert_int_equal(server.links_up, 1);
    assert_int_equal(server.links_server, 1);
    assert_int_equal(server.links_client, 0);
    assert_int_equal(server.cm_requests, 1);
    assert_int_equal(server.calls_started, 0);
}

static void
each_call_is_counted_at_both_ends(void **state)
{
    (void)state;
    scene_play(calls_some, NULL);
}

static void
calls_and_looks_at_packets(struct scene *s)
{
    struct vc_counters client, server;

    for (unsigned i = 0; i < CALLS; i++)
        scene_call(s, 64, i);
    fake_sleep_us(SECOND / 10); /* until nothing is in flight */
    client = scene_client(s);
    server = scene_server(s);
    assert_int_equal(client.packets_sent, server.packets_received);
    assert_int_equal(client.bytes_sent, server.bytes_received);
    assert_int_equal(server.bytes_sent, client.bytes_received);
    assert_int_equal(server.packets_sent, client.packets_received);
    /* One packet for each call; the OPEN is in the first. Some packets carry
     * only credits. */
    assert_in_range(client.packets_sent, CALLS,
                    CALLS + 2 + client.packets_of_credits);
    assert_in_range(client.bytes_sent, CALLS * 64, CALLS * 256);
    assert_in_range(client.memory_send, 8192, client.memory_send_limit);
    assert_in_range(client.memory_receive, 8192, client.memory_receive_limit);
    assert_in_range(client.receives_promised, 4, client.receives_posted);
}

static void
what_one_end_sent_the_other_received(void **state)
{
    (void)state;
    scene_play(calls_and_looks_at_packets, NULL);
}

static void
outruns_the_credits(struct scene *s)
{
    /* 1 MiB takes more packets than any window. */
    scene_call(s, 1 << 20, 1);
    assert_in_range(scene_client(s).stalls_credits +
                        scene_client(s).stalls_buffers,
                    1, 100000);
    assert_in_range(scene_client(s).packets_of_credits +
                        scene_server(s).packets_of_credits,
                    1, 100000);
}

static void
what_waits_for_credits_or_buffers_is_counted(void **state)
{
    (void)state;
    scene_play(outruns_the_credits, NULL);
}

struct watched_call {
    struct scene *scene;
    pthread_t thread;
};

static void *
watched_main(void *arg)
{
    struct watched_call *w = arg;

    scene_call(w->scene, 1 << 20, 7);
    return NULL;
}

/* Watches the counters while another thread makes a long call. */
static void
watches_a_long_call(struct scene *s)
{
    struct watched_call w = {.scene = s};
    uint64_t requests = 0, replies = 0, running = 0;
    struct vc_counters c;

    assert_int_equal(pthread_create(&w.thread, NULL, watched_main, &w), 0);
    do {
        fake_sleep_us(LOOK_US / 10);
        c = scene_server(s);
        if (c.requests_arriving > requests)
            requests = c.requests_arriving;
        running += c.handlers_running;
        c = scene_client(s);
        if (c.replies_arriving > replies)
            replies = c.replies_arriving;
    } while (c.calls_ended == 0);
    pthread_join(w.thread, NULL);
    assert_in_range(requests, 16384, 2 << 20);
    assert_in_range(replies, 16384, 2 << 20);
    assert_true(running > 0);
    assert_int_equal(scene_server(s).requests_arriving, 0);
    assert_int_equal(scene_client(s).replies_arriving, 0);
}

static void
long_messages_are_seen_while_they_arrive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = watches_a_long_call};

        s.server.sleep_us = 5000;
        scene_run(&s, seed);
    }
}

/* Runs in the handler: the second of the two packets of its reply is lost
 * once. */
static void
second_part_lose(struct sim_server *s)
{
    (void)s;
    fake_rule("server qp 17: SEND", 2, FAKE_LOSE, 0);
}

static void *
two_parts_main(void *arg)
{
    scene_call(arg, 10000, 7);
    return NULL;
}

/* Checks replies_arriving after the first part, and after the last. */
static void
gets_one_of_two_parts(struct scene *s)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, two_parts_main, s), 0);
    fake_sleep_us(SECOND / 100);
    assert_int_equal(scene_client(s).calls_ended, 0);
    assert_in_range(scene_client(s).replies_arriving, 10000, 20000);
    pthread_join(thread, NULL);
    assert_int_equal(scene_client(s).replies_arriving, 0);
}

static void
a_long_reply_is_seen_from_its_first_part_on(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                      .act = gets_one_of_two_parts};

    (void)state;
    s.server.inside = second_part_lose;
    scene_run(&s, 1);
}

static void
gives_a_call_up(struct scene *s)
{
    assert_int_equal(sim_echo(s->channel, 64, 1, 5, NULL),
                     VC_DEADLINE_EXCEEDED);
    assert_int_equal(scene_client(s).calls_given_up, 1);
    assert_int_equal(scene_client(s).calls_started, 1);
    assert_int_equal(scene_client(s).calls_ended, 1);
}

static void
a_call_that_is_given_up_has_ended(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = gives_a_call_up};

    (void)state;
    s.server.sleep_us = 50000;
    scene_run(&s, 1);
}

/* --- refusals ----------------------------------------------------------- */

static void
is_refused_for_being_one_too_many(struct scene *s)
{
    struct vc_runtime *runtime;
    struct vc_channel *second;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_counters c;

    scene_call(s, 64, 1);
    opts.connect_timeout_ms = 20;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->server.target, &opts, &second),
                     VC_OK);
    assert_int_equal(vc_channel_connect(second, &suite_probe_service),
                     VC_UNAVAILABLE);
    c = scene_counters(runtime);
    assert_int_equal(c.rejects_got, 1);
    assert_int_equal(c.cm_rejected, 1);
    assert_int_equal(c.links_refused, 1);
    assert_int_equal(c.links_started, 1);
    assert_int_equal(c.links_made, 0);
    vc_channel_close(second);
    vc_runtime_free(runtime);
    c = scene_server(s);
    assert_int_equal(c.rejects_busy, 1);
    assert_int_equal(c.rejects_service, 0);
    assert_int_equal(c.links_made, 1);
    assert_int_equal(c.cm_requests, 2);
}

static void
a_refusal_is_counted_by_who_gives_it_and_who_gets_it(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_links = 1;
    scene_play(is_refused_for_being_one_too_many, &opts);
}

static void
asks_for_what_is_not_served(struct scene *s)
{
    struct vc_service other = suite_probe_service;

    other.id ^= 1;
    assert_int_equal(vc_channel_connect(s->channel, &other), VC_UNIMPLEMENTED);
    assert_int_equal(scene_server(s).rejects_service, 1);
    assert_int_equal(scene_server(s).rejects_busy, 0);
    assert_int_equal(scene_client(s).rejects_got, 1);
}

static void
each_reason_has_a_number_of_its_own(void **state)
{
    (void)state;
    scene_play(asks_for_what_is_not_served, NULL);
}

/* --- QPs ---------------------------------------------------------------- */

static void
connects_again_and_again(struct scene *s)
{
    struct vc_counters c;

    for (unsigned i = 0; i < CALLS; i++) {
        scene_call(s, 64, i);
        vc_channel_close(s->channel);
        assert_int_equal(vc_channel_open(s->runtime, s->server.target, &s->opts,
                                         &s->channel),
                         VC_OK);
    }
    c = scene_client(s);
    assert_int_equal(c.qps_made, 1);
    assert_int_equal(c.qps_reused, CALLS - 1);
    assert_int_equal(c.qps_recycled, CALLS);
    assert_int_equal(c.qps_warm, 1);
    assert_int_equal(c.qps_in_use, 0);
    assert_int_equal(c.qps_destroyed, 0);
    assert_int_equal(c.links_made, CALLS);
    assert_int_equal(c.links_closed, CALLS);
    assert_int_equal(c.calls_ended, CALLS);
    assert_in_range(c.packets_sent, CALLS, 10 * CALLS);
}

static void
what_is_over_stays_counted(void **state)
{
    (void)state;
    scene_play(connects_again_and_again, NULL);
}

/* --- reading them -------------------------------------------------------- */

static const char *const names[] = {
#define NAME(name, kind, unit, what) #name,
    VC_COUNTERS(NAME)
#undef NAME
};

#define NAMES (sizeof names / sizeof names[0])

static unsigned
lines_of(const char *text, const char *name)
{
    size_t len = strlen(name);
    unsigned n = 0;

    for (const char *line = text; *line != '\0'; line++) {
        n += strncmp(line, name, len) == 0 && line[len] == ' ';
        line = strchr(line, '\n');
        assert_non_null(line);
    }
    return n;
}

static void
reads_them_as_text(struct scene *s)
{
    char text[8192], part[100], last[100];
    size_t len;

    for (unsigned i = 0; i < CALLS; i++)
        scene_call(s, 64, i);
    len = vc_runtime_counters_text(s->runtime, NULL, 0);
    assert_int_equal(vc_runtime_counters_text(s->runtime, text, sizeof text),
                     len);
    assert_int_equal(strlen(text), len);
    for (unsigned i = 0; i < NAMES; i++)
        assert_int_equal(lines_of(text, names[i]), 1);
    snprintf(last, sizeof last, "\ncalls_started %u\n", CALLS);
    assert_non_null(strstr(text, last));
    assert_int_equal(vc_runtime_counters_text(s->runtime, part, sizeof part),
                     len);
    assert_int_equal(strlen(part), sizeof part - 1);
    assert_memory_equal(part, text, sizeof part - 1);
}

static void
the_text_has_a_line_for_each_name(void **state)
{
    (void)state;
    scene_play(reads_them_as_text, NULL);
}

static void
reads_as_others_do(struct scene *s)
{
    struct {
        struct vc_counters known;
        uint64_t more[2];
    } newer;
    struct vc_counters older;

    memset(&newer, 0xff, sizeof newer);
    newer.known.size = sizeof newer;
    vc_runtime_counters(s->runtime, &newer.known);
    assert_int_equal(newer.known.size, sizeof newer);
    assert_int_equal(newer.more[0] + newer.more[1], 0);
    scene_call(s, 64, 1);
    memset(&older, 0xff, sizeof older);
    older.size = offsetof(struct vc_counters, links_leaving);
    vc_runtime_counters(s->runtime, &older);
    assert_int_equal(older.links_up, 1);
    assert_true(older.links_leaving == UINT64_MAX);
}

static void
programs_of_other_versions_get_what_they_know(void **state)
{
    (void)state;
    scene_play(reads_as_others_do, NULL);
}

static void *
reader_main(void *arg)
{
    struct scene *s = arg;
    uint64_t calls = 0, packets = 0;
    struct vc_counters c;

    do {
        c = scene_client(s);
        assert_true(c.calls_started >= calls && c.packets_sent >= packets);
        assert_true(c.calls_waiting <= CALLS && c.links_up <= 4);
        calls = c.calls_started;
        packets = c.packets_sent;
        fake_sleep_us(LOOK_US);
    } while (c.calls_ended < CALLS);
    return NULL;
}

static void
reads_while_it_calls(struct scene *s)
{
    pthread_t reader;

    assert_int_equal(pthread_create(&reader, NULL, reader_main, s), 0);
    for (unsigned i = 0; i < CALLS; i++)
        scene_call(s, i * 1000, i);
    pthread_join(reader, NULL);
}

static void
any_thread_may_read_at_any_time(void **state)
{
    (void)state;
    scene_play(reads_while_it_calls, NULL);
}

/* Two channels of one pool; closing the second one ends the pool. */
static void
sessions_are_counted_out_with_their_channels(void **state)
{
    struct sim_server server = {.target = ""};
    struct vc_counters c = VC_COUNTERS_INIT;
    struct vc_channel *channels[2];
    struct vc_runtime *runtime;

    (void)state;
    sim_begin(1, 0, false);
    sim_target("10.9.0.2", server.target);
    sim_server_start(&server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&server));
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            VC_OK, vc_channel_open(runtime, server.target, NULL, &channels[i]));
        assert_int_equal(VC_OK, sim_echo(channels[i], 64, i, 0, NULL));
    }
    vc_runtime_counters(runtime, &c);
    assert_int_equal(2, c.sessions_client);
    for (unsigned i = 0; i < 2; i++)
        vc_channel_close(channels[i]);
    vc_runtime_counters(runtime, &c);
    assert_int_equal(0, c.sessions_client);
    vc_runtime_free(runtime);
    assert_true(sim_server_stop(&server));
    assert_int_equal(0, fake_end());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_counted_at_both_ends),
        cmocka_unit_test(what_one_end_sent_the_other_received),
        cmocka_unit_test(what_waits_for_credits_or_buffers_is_counted),
        cmocka_unit_test(long_messages_are_seen_while_they_arrive),
        cmocka_unit_test(a_long_reply_is_seen_from_its_first_part_on),
        cmocka_unit_test(a_call_that_is_given_up_has_ended),
        cmocka_unit_test(a_refusal_is_counted_by_who_gives_it_and_who_gets_it),
        cmocka_unit_test(each_reason_has_a_number_of_its_own),
        cmocka_unit_test(what_is_over_stays_counted),
        cmocka_unit_test(the_text_has_a_line_for_each_name),
        cmocka_unit_test(programs_of_other_versions_get_what_they_know),
        cmocka_unit_test(any_thread_may_read_at_any_time),
        cmocka_unit_test(sessions_are_counted_out_with_their_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
