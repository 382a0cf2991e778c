/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that is drained loses no call: running calls end there, and new
 * calls go to another server. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/loop.h"

#define HERE  "10.9.0.2"
#define THERE "10.9.0.3"
#define CALLS 200u

/* Two servers in one process, so that the test can drain the first. */
struct scene {
    char first_target[80], second_target[80];
    bool alternative;
    unsigned handler_us;
    unsigned threads;  /* of the first server; 0: one */
    bool loops;        /* it has no thread of the library */
    unsigned drain_ms; /* 0: 5000 */
    atomic_uint serves, met, drain, drained, go_on, stop;
    enum vc_status status;
    atomic_uint ran[2];
    unsigned good, not_good;
    uint64_t up; /* links of the first server that are up after the drain */
};

struct place {
    struct scene *scene;
    unsigned which;
};

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    struct place *p = arg;

    (void)call;
    atomic_fetch_add(&sim_ran[request->tag % SIM_TAGS], 1);
    atomic_fetch_add(&p->scene->ran[p->which], 1);
    if (p->scene->handler_us > 0)
        fake_sleep_us(p->scene->handler_us);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
serve(struct place *p, struct vc_runtime **runtime, struct vc_server **server)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct scene *s = p->scene;
    unsigned threads = s->loops ? VC_THREADS_NONE : s->threads;

    assert_int_equal(sim_runtime(runtime, p->which == 0 ? threads : 1), VC_OK);
    assert_int_equal(vc_server_new(*runtime, NULL, server), VC_OK);
    assert_int_equal(suite_probe_add(*server, &methods, p), VC_OK);
    assert_int_equal(vc_server_listen(*server, p->which == 0
                                                   ? s->first_target
                                                   : s->second_target),
                     VC_OK);
}

static void
drain_await(struct scene *s, struct vc_runtime *runtime)
{
    struct loop loop;

    if (!s->loops) {
        sim_await(&s->drain, UINT64_C(100000000));
        return;
    }
    loop_open(&loop, runtime);
    loop_until(&loop, &s->drain, UINT64_C(100000000));
    loop_close(&loop);
}

static void
first_main(void *arg)
{
    struct scene *s = arg;
    struct place place = {s, 0};
    struct vc_counters c = VC_COUNTERS_INIT;
    struct vc_runtime *runtime;
    struct vc_server *server;

    serve(&place, &runtime, &server);
    sim_tell(&s->serves);
    drain_await(s, runtime);
    s->status =
        vc_server_drain(server, s->alternative ? s->second_target : NULL,
                        s->drain_ms > 0 ? s->drain_ms : 5000);
    vc_runtime_counters(runtime, &c);
    s->up = c.links_up;
    sim_tell(&s->drained);
    sim_await(&s->stop, UINT64_C(100000000));
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
second_main(void *arg)
{
    struct scene *s = arg;
    struct place place = {s, 1};
    struct vc_runtime *runtime;
    struct vc_server *server;

    serve(&place, &runtime, &server);
    sim_await(&s->stop, UINT64_C(100000000));
    vc_server_free(server);
    vc_runtime_free(runtime);
}

/* Makes calls one after another. The first server is drained in the middle. */
static void
client_main(void *arg)
{
    struct scene *s = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->first_target, NULL, &channel),
                     VC_OK);
    for (unsigned i = 0; i < CALLS; i++) {
        if (i == CALLS / 2)
            sim_tell(&s->drain);
        if (sim_echo(channel, i * 97 % 20000, i, 0, NULL) == VC_OK)
            s->good++;
        else
            s->not_good++;
    }
    sim_tell(&s->go_on);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
play(struct scene *s, uint64_t seed)
{
    struct fake_process *first, *second, *client;

    sim_begin(seed, 3, false);
    sim_target(HERE, s->first_target);
    sim_target(THERE, s->second_target);
    first =
        fake_process_start(fake_host_new("here", HERE), "first", first_main, s);
    second = fake_process_start(fake_host_new("there", THERE), "second",
                                second_main, s);
    assert_true(sim_await(&s->serves, 10000000));
    client = fake_process_start(fake_host_new("client", "10.9.0.4"), "client",
                                client_main, s);
    assert_true(fake_process_wait(client, 60000000));
    assert_true(sim_await(&s->drained, 10000000));
    sim_tell(&s->stop);
    assert_true(fake_process_wait(first, 10000000));
    assert_true(fake_process_wait(second, 10000000));
    for (unsigned i = 0; i < CALLS; i++)
        assert_in_range(atomic_load(&sim_ran[i]), 0, 1);
    assert_int_equal(fake_end(), 0);
}

static void
no_call_is_lost_when_a_server_is_drained_to_another(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(20); seed++) {
        struct scene s = {.alternative = true, .handler_us = seed % 3 * 700};

        play(&s, seed);
        assert_int_equal(s.status, VC_OK);
        assert_int_equal(s.good, CALLS);
        assert_true(atomic_load(&s.ran[0]) >= CALLS / 2);
        assert_true(atomic_load(&s.ran[1]) > 0);
        assert_int_equal(atomic_load(&s.ran[0]) + atomic_load(&s.ran[1]),
                         CALLS);
    }
}

static void
without_another_server_calls_are_unavailable_and_not_executed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(6); seed++) {
        struct scene s = {.handler_us = 100};

        play(&s, seed);
        assert_int_equal(s.status, VC_OK);
        assert_int_equal(s.good, atomic_load(&s.ran[0]));
        assert_true(s.good >= CALLS / 2);
        assert_int_equal(s.good + s.not_good, CALLS);
    }
}

/* --- a client that does nothing, and one whose call runs on --------------- */

static void
idle_main(void *arg)
{
    struct scene *s = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->first_target, NULL, &channel),
                     VC_OK);
    assert_int_equal(sim_echo(channel, 10, 1, 0, NULL), VC_OK);
    sim_tell(&s->drain);
    sim_await(&s->drained, UINT64_C(100000000));
    /* It never read the GOAWAY, and is served elsewhere all the same. */
    s->good = sim_echo(channel, 10, 2, 0, NULL) == VC_OK;
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
a_client_that_never_polls_does_not_keep_a_server_from_draining(void **state)
{
    struct scene s = {.alternative = true};
    struct fake_process *first, *second, *client;

    (void)state;
    sim_begin(1, 0, false);
    sim_target(HERE, s.first_target);
    sim_target(THERE, s.second_target);
    first = fake_process_start(fake_host_new("here", HERE), "first", first_main,
                               &s);
    second = fake_process_start(fake_host_new("there", THERE), "second",
                                second_main, &s);
    assert_true(sim_await(&s.serves, 10000000));
    client = fake_process_start(fake_host_new("client", "10.9.0.4"), "client",
                                idle_main, &s);
    assert_true(fake_process_wait(client, 60000000));
    sim_tell(&s.stop);
    assert_true(fake_process_wait(first, 10000000));
    assert_true(fake_process_wait(second, 10000000));
    assert_int_equal(fake_end(), 0);
    assert_int_equal(s.status, VC_OK);
    assert_int_equal(s.up, 0);
    assert_int_equal(s.good, 1);
    assert_int_equal(atomic_load(&s.ran[1]), 1);
}

/* --- engines ---------------------------------------------------------------- */

/* The first client to connect, so its link is on the first engine. It does
 * nothing until the server is drained. */
static void
first_engine_main(void *arg)
{
    struct scene *s = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->first_target, NULL, &channel),
                     VC_OK);
    assert_int_equal(sim_echo(channel, 10, 0, 0, NULL), VC_OK);
    sim_tell(&s->met);
    sim_await(&s->drained, UINT64_C(100000000));
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* Makes calls before, while and after the first server is drained. */
static void
second_engine_main(void *arg)
{
    struct scene *s = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    unsigned calls = 0, last = 0;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->first_target, NULL, &channel),
                     VC_OK);
    while (last < CALLS / 10) {
        if (calls == CALLS / 10)
            sim_tell(&s->drain);
        if (sim_echo(channel, 100, ++calls, 0, NULL) == VC_OK)
            s->good++;
        else
            s->not_good++;
        last += atomic_load(&s->drained);
    }
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
play_engines(struct scene *s, uint64_t seed)
{
    struct fake_process *first, *second, *idle, *busy;

    sim_begin(seed, 0, true);
    sim_target(HERE, s->first_target);
    sim_target(THERE, s->second_target);
    first =
        fake_process_start(fake_host_new("here", HERE), "first", first_main, s);
    second = fake_process_start(fake_host_new("there", THERE), "second",
                                second_main, s);
    assert_true(sim_await(&s->serves, 10000000));
    idle = fake_process_start(fake_host_new("idle", "10.9.0.4"), "idle",
                              first_engine_main, s);
    assert_true(sim_await(&s->met, 10000000));
    busy = fake_process_start(fake_host_new("busy", "10.9.0.5"), "busy",
                              second_engine_main, s);
    assert_true(fake_process_wait(busy, 60000000));
    assert_true(fake_process_wait(idle, 60000000));
    sim_tell(&s->stop);
    assert_true(fake_process_wait(first, 10000000));
    assert_true(fake_process_wait(second, 10000000));
    assert_int_equal(fake_end(), 0);
}

/* The client of the second engine has the full drain time to leave. */
static void
an_idle_client_of_one_engine_costs_those_of_others_no_call(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(12); seed++) {
        struct scene s = {.alternative = true,
                          .threads = 2,
                          .loops = seed > 8,
                          .drain_ms = 100,
                          .handler_us = 300};

        play_engines(&s, seed);
        assert_int_equal(s.status, VC_OK);
        assert_int_equal(s.not_good, 0);
        assert_int_equal(atomic_load(&s.ran[0]) + atomic_load(&s.ran[1]),
                         s.good + 1);
        assert_in_range(atomic_load(&s.ran[0]), CALLS / 10, CALLS / 4);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_is_lost_when_a_server_is_drained_to_another),
        cmocka_unit_test(
            without_another_server_calls_are_unavailable_and_not_executed),
        cmocka_unit_test(
            a_client_that_never_polls_does_not_keep_a_server_from_draining),
        cmocka_unit_test(
            an_idle_client_of_one_engine_costs_those_of_others_no_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
