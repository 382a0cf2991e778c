/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A runtime in the program's own loop: vc_runtime_fd() and vc_runtime_poll().
 * Unless a test says so, no thread of the library and no blocking call advances
 * it. */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/runtime.h>

#include "tests/sim/loop.h"
#include "tests/suite/streams.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define PATIENCE (100 * S)
#define SEEDS    sim_few(8u)
#define CALLS    100u
#define LONG     50000u
#define ECHO     0u

/* --- the world --------------------------------------------------------- */

static struct world {
    struct fake_host *there;
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_call_opts opts;
    struct loop loop;
    atomic_uint begun, good, bad, over;
    unsigned expected; /* ends of calls, after which `over` is set */
    enum vc_status status;
} w;

static void
world_open(uint64_t seed, unsigned threads)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    memset(&w, 0, sizeof w);
    w.opts = (struct vc_call_opts)VC_CALL_OPTS_INIT;
    sim_begin(seed, (unsigned)(seed % 3) * 2, true);
    w.there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", w.server.target);
    opts.threads = threads;
    opts.spin_us = VC_SPIN_NEVER;
    assert_int_equal(VC_OK, vc_runtime_new(&opts, &w.runtime));
    assert_int_equal(
        VC_OK, vc_channel_open(w.runtime, w.server.target, NULL, &w.channel));
}

static void
world_serve(void)
{
    sim_server_start(&w.server, w.there, 1);
    assert_true(sim_server_await(&w.server));
}

static void
world_close(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_channel_close(w.channel);
    vc_runtime_counters(w.runtime, &c);
    if (sim_counters_fault(&c) != NULL)
        fail_msg("%s", sim_counters_fault(&c));
    vc_runtime_free(w.runtime);
    if (w.server.process != NULL)
        assert_true(sim_server_stop(&w.server));
    assert_int_equal(0, fake_end());
}

/* --- calls ------------------------------------------------------------- */

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    (void)arg;
    w.status = status;
    vc_message_free(reply);
    atomic_fetch_add(status == VC_OK ? &w.good : &w.bad, 1);
    if (atomic_load(&w.good) + atomic_load(&w.bad) == w.expected)
        sim_tell(&w.over);
}

static void
call_begin(struct vc_channel *channel, size_t size)
{
    static const uint8_t zeros[LONG];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.tag = atomic_fetch_add(&w.begun, 1);
    request.payload.len = size;
    request.payload.data = (uint8_t *)zeros;
    assert_int_equal(VC_OK, vc_channel_call_async(channel, &suite_probe_service,
                                                  ECHO, &request, &w.opts,
                                                  on_done, NULL, NULL));
}

static void
calls_await(unsigned n)
{
    w.expected = n;
    if (atomic_load(&w.good) + atomic_load(&w.bad) < n &&
        !loop_until(&w.loop, &w.over, PATIENCE))
        fail_msg("%u good, %u bad of %u: %s", atomic_load(&w.good),
                 atomic_load(&w.bad), n, fake_trace());
}

static void
calls_end_in_the_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_open(seed, 1);
        world_serve();
        loop_open(&w.loop, w.runtime);
        for (unsigned i = 0; i < CALLS; i++)
            call_begin(w.channel, i % 10 == 0 ? LONG : 64);
        calls_await(CALLS);
        assert_int_equal(CALLS, atomic_load(&w.good));
        loop_close(&w.loop);
        world_close();
    }
}

static void
engines_share_one_descriptor(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *others[3];

        world_open(seed, 4);
        world_serve();
        loop_open(&w.loop, w.runtime);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(VC_OK, vc_channel_open(w.runtime, w.server.target,
                                                    NULL, &others[i]));
        for (unsigned i = 0; i < CALLS; i++)
            call_begin(i % 4 == 3 ? w.channel : others[i % 4], 64);
        calls_await(CALLS);
        assert_int_equal(CALLS, atomic_load(&w.good));
        for (unsigned i = 0; i < 3; i++)
            vc_channel_close(others[i]);
        loop_close(&w.loop);
        world_close();
    }
}

/* --- timers ------------------------------------------------------------ */

static void
a_deadline_makes_the_descriptor_readable(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t begun;

        world_open(seed, 1);
        world_serve();
        loop_open(&w.loop, w.runtime);
        call_begin(w.channel, 64);
        calls_await(1);
        fake_process_freeze(w.server.process);
        atomic_store(&w.over, 0);
        w.opts.timeout_ms = 300;
        begun = fake_now_us();
        call_begin(w.channel, 64);
        calls_await(2);
        assert_int_equal(VC_DEADLINE_EXCEEDED, w.status);
        assert_in_range(fake_now_us() - begun, 300 * MS, 305 * MS);
        fake_process_thaw(w.server.process);
        loop_close(&w.loop);
        world_close();
    }
}

static void
a_dead_server_is_found_in_the_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t begun;

        world_open(seed, 1);
        world_serve();
        loop_open(&w.loop, w.runtime);
        call_begin(w.channel, 64);
        calls_await(1);
        fake_process_freeze(w.server.process);
        atomic_store(&w.over, 0);
        begun = fake_now_us();
        call_begin(w.channel, 64);
        calls_await(2);
        assert_int_equal(VC_UNAVAILABLE, w.status);
        assert_in_range(fake_now_us() - begun, 500 * MS, 1200 * MS);
        fake_process_thaw(w.server.process);
        loop_close(&w.loop);
        world_close();
    }
}

/* There is a link, and keepalive checks it. */
static void
an_idle_loop_hardly_wakes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned before;

        world_open(seed, 1);
        world_serve();
        loop_open(&w.loop, w.runtime);
        call_begin(w.channel, 64);
        calls_await(1);
        atomic_store(&w.over, 0);
        before = w.loop.wakes;
        assert_false(loop_until(&w.loop, &w.over, 10 * S));
        assert_in_range(w.loop.wakes - before, 0, 100);
        loop_close(&w.loop);
        world_close();
    }
}

/* --- with other threads ------------------------------------------------ */

static void
a_call_of_another_thread_wakes_the_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_open(seed, 1);
        world_serve();
        loop_start(&w.loop, w.runtime);
        fake_sleep_us(100 * MS);
        w.expected = CALLS;
        for (unsigned i = 0; i < CALLS; i++) {
            call_begin(w.channel, 64);
            if (i % 7 == 0)
                fake_sleep_us(3 * MS);
        }
        assert_true(sim_await(&w.over, PATIENCE));
        assert_int_equal(CALLS, atomic_load(&w.good));
        loop_stop(&w.loop);
        world_close();
    }
}

static void *
caller_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(VC_OK, sim_echo(w.channel, 64, i, 0, NULL));
    return NULL;
}

/* The loop must be woken for what a blocking caller leaves undone. */
static void
blocking_calls_go_on_beside_the_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        pthread_t thread;

        world_open(seed, 1);
        w.server.sleep_us = 500;
        world_serve();
        loop_start(&w.loop, w.runtime);
        w.expected = CALLS;
        pthread_create(&thread, NULL, caller_main, NULL);
        for (unsigned i = 0; i < CALLS; i++)
            call_begin(w.channel, 64);
        pthread_join(thread, NULL);
        assert_true(sim_await(&w.over, PATIENCE));
        assert_int_equal(CALLS, atomic_load(&w.good));
        loop_stop(&w.loop);
        world_close();
    }
}

static void
a_channel_may_be_closed_beside_the_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        world_open(seed, 1);
        w.server.sleep_us = 500;
        world_serve();
        loop_start(&w.loop, w.runtime);
        for (unsigned i = 0; i < CALLS; i++)
            call_begin(w.channel, 64);
        fake_sleep_us(seed * 200);
        vc_channel_close(w.channel);
        w.channel = NULL;
        assert_int_equal(CALLS, atomic_load(&w.good) + atomic_load(&w.bad));
        loop_stop(&w.loop);
        world_close();
    }
}

/* --- completion queues -------------------------------------------------- */

/* Both descriptors are in one loop. vc_completions_next() polls the runtime
 * itself; that must not wake the loop again and again. */
static void
a_queue_fills_while_the_loop_runs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_completions *queue;
        struct vc_completion end;
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        unsigned ended = 0, wakes = 0;

        world_open(seed, 1);
        world_serve();
        assert_int_equal(VC_OK, vc_completions_new(w.runtime, &queue));
        for (unsigned i = 0; i < CALLS; i++)
            assert_int_equal(VC_OK, vc_channel_call_queued(
                                        w.channel, &suite_probe_service, ECHO,
                                        &request, NULL, queue, NULL, NULL));
        for (uint64_t until = fake_now_us() + 5 * S; fake_now_us() < until;) {
            struct pollfd fds[] = {
                {.fd = vc_runtime_fd(w.runtime), .events = POLLIN},
                {.fd = vc_completions_fd(queue), .events = POLLIN}};

            wakes += poll(fds, 2, 1000) > 0;
            vc_runtime_poll(w.runtime, 0);
            while (vc_completions_next(queue, 0, &end) == VC_OK) {
                assert_int_equal(VC_OK, end.status);
                vc_message_free(end.reply);
                ended++;
            }
        }
        assert_int_equal(CALLS, ended);
        assert_in_range(wakes, 1, 3 * CALLS);
        vc_completions_free(queue);
        world_close();
    }
}

/* --- servers ------------------------------------------------------------- */

static struct {
    atomic_uint serves, stop;
    char target[80];
    atomic_int inside; /* status of vc_runtime_poll() in a handler */
    struct vc_runtime *runtime;
    struct loop loop;
} server;

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    (void)call;
    (void)arg;
    atomic_store(&server.inside, (int)vc_runtime_poll(server.runtime, 0));
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
looping_server(void *arg)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct vc_server *s;

    (void)arg;
    assert_int_equal(VC_OK, sim_runtime(&server.runtime, VC_THREADS_NONE));
    assert_int_equal(VC_OK, vc_server_new(server.runtime, NULL, &s));
    assert_int_equal(VC_OK, suite_probe_add(s, &methods, NULL));
    assert_int_equal(VC_OK, suite_streams_add(s, &streams_methods, NULL));
    loop_start(&server.loop, server.runtime);
    assert_int_equal(VC_OK, vc_server_listen(s, server.target));
    sim_tell(&server.serves);
    sim_await(&server.stop, PATIENCE);
    vc_server_free(s);
    loop_stop(&server.loop);
    vc_runtime_free(server.runtime);
}

static void
talk(struct vc_channel *channel)
{
    struct suite_streams_talk_client_stream *stream;

    assert_int_equal(VC_OK, suite_streams_talk(channel, NULL, &stream));
    for (unsigned i = 0; i < 20; i++) {
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        Suite__EchoReply *reply = NULL;

        request.tag = 100 + i;
        assert_int_equal(VC_OK, suite_streams_talk_send(stream, &request));
        assert_int_equal(VC_OK, suite_streams_talk_receive(stream, &reply));
        assert_int_equal(100 + i, reply->tag);
        vc_message_free(reply);
    }
    assert_int_equal(VC_OK, suite_streams_talk_finish(stream));
    suite_streams_talk_close(stream);
}

static void
a_server_serves_in_a_loop(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_process *p;

        world_open(seed, 1);
        memset(&server, 0, sizeof server);
        sim_target("10.9.0.2", server.target);
        p = fake_process_start(w.there, "server", looping_server, NULL);
        assert_true(sim_await(&server.serves, PATIENCE));
        for (unsigned i = 0; i < 20; i++)
            if (sim_echo(w.channel, i % 5 == 0 ? LONG : 64, i, 0, NULL) !=
                VC_OK)
                fail_msg("%s: %s", vc_error(), fake_trace());
        fake_sleep_us(10 * S); /* time for keepalive */
        assert_int_equal(VC_OK, sim_echo(w.channel, 64, 1, 0, NULL));
        talk(w.channel);
        assert_int_equal(VC_FAILED_PRECONDITION, atomic_load(&server.inside));
        vc_channel_close(w.channel);
        w.channel = NULL;
        sim_tell(&server.stop);
        assert_true(fake_process_wait(p, PATIENCE));
        world_close();
    }
}

/* --- failures ------------------------------------------------------------- */

static void
without_a_descriptor_it_says_so_and_may_be_asked_again(void **state)
{
    static const char *const functions[] = {"epoll_create1", "timerfd_create",
                                            "epoll_ctl"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        world_open(1, 2);
        world_serve();
        fake_fail(fake_process_self(), functions[i], i == 0 ? 1 : 2, 24);
        assert_int_equal(-1, vc_runtime_fd(w.runtime));
        assert_non_null(strstr(vc_error(), "ulimit -n"));
        loop_open(&w.loop, w.runtime);
        call_begin(w.channel, 64);
        calls_await(1);
        assert_int_equal(1, atomic_load(&w.good));
        loop_close(&w.loop);
        world_close();
    }
}

static void
polling_waits_as_long_as_it_is_told(void **state)
{
    uint64_t begun;

    (void)state;
    world_open(1, 1);
    vc_runtime_poll(w.runtime, 0);
    while (vc_runtime_poll(w.runtime, 0) == VC_OK)
        continue;
    begun = fake_now_us();
    assert_int_equal(VC_DEADLINE_EXCEEDED, vc_runtime_poll(w.runtime, 50));
    assert_in_range(fake_now_us() - begun, 50 * MS, 52 * MS);
    world_close();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_in_the_loop),
        cmocka_unit_test(engines_share_one_descriptor),
        cmocka_unit_test(a_deadline_makes_the_descriptor_readable),
        cmocka_unit_test(a_dead_server_is_found_in_the_loop),
        cmocka_unit_test(an_idle_loop_hardly_wakes),
        cmocka_unit_test(a_call_of_another_thread_wakes_the_loop),
        cmocka_unit_test(blocking_calls_go_on_beside_the_loop),
        cmocka_unit_test(a_channel_may_be_closed_beside_the_loop),
        cmocka_unit_test(a_queue_fills_while_the_loop_runs),
        cmocka_unit_test(a_server_serves_in_a_loop),
        cmocka_unit_test(
            without_a_descriptor_it_says_so_and_may_be_asked_again),
        cmocka_unit_test(polling_waits_as_long_as_it_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
