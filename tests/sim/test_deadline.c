/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How far calls overrun their deadlines, and how soon a cancelled call returns,
 * by the clock of the simulated world and with other calls under way. Also the
 * time that a request says it has left. */
#include <pthread.h>
#include <stdlib.h>

#include <verbcall/call.h>
#include <verbcall/cancel.h>

#include "tests/sim/scene.h"
#include "transport/wire/packet.h"

#define MS       1000u
#define CALLERS  4u
#define CALLS    500u /* of each */
#define SLEEP_US (30 * MS)
#define MOST_US  (10 * MS) /* limit of the 99.9th percentile: overrun, cancel */

static uint64_t late[CALLERS * CALLS];

struct caller {
    struct scene *scene;
    unsigned i;
};

static int
by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Returns the 99.9th percentile. */
static uint64_t
p999(uint64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[n - 1 - n / 1000];
}

static void *
caller_main(void *arg)
{
    const struct caller *c = arg;

    for (unsigned k = 0; k < CALLS; k++) {
        unsigned ms = 1 + (k * 7 + c->i) % 20;
        uint64_t begun = fake_now_us();
        enum vc_status status = sim_echo(c->scene->channel, 64, c->i, ms, NULL);
        uint64_t took = fake_now_us() - begun;

        assert_int_equal(status, VC_DEADLINE_EXCEEDED);
        /* Or the server refused it, because its handler would not end in
         * time. */
        assert_true(took >= ms * MS ||
                    vc_error_outcome() == VC_OUTCOME_NOT_EXECUTED);
        late[c->i * CALLS + k] = took >= ms * MS ? took - ms * MS : 0;
    }
    return NULL;
}

static void
act_deadlines(struct scene *s)
{
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    uint64_t most;

    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){s, i};
        pthread_create(&threads[i], NULL, caller_main, &callers[i]);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    most = p999(late, CALLERS * CALLS);
    print_message("deadline_overrun_p999_us %llu\n", (unsigned long long)most);
    assert_in_range(most, 0, MOST_US);
}

struct cancelled {
    struct scene *scene;
    struct vc_canceller *canceller;
    uint64_t returned;
};

static void *
cancelled_main(void *arg)
{
    struct cancelled *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.canceller = c->canceller;
    assert_int_equal(sim_echo_opts(c->scene->channel, 64, 0, &opts, NULL),
                     VC_CANCELLED);
    c->returned = fake_now_us();
    return NULL;
}

static void
act_cancels(struct scene *s)
{
    uint64_t most = 0;

    for (unsigned k = 0; k < 200; k++) {
        struct cancelled c = {.scene = s};
        pthread_t thread;
        uint64_t begun;

        assert_int_equal(vc_canceller_new(&c.canceller), VC_OK);
        pthread_create(&thread, NULL, cancelled_main, &c);
        fake_sleep_us(1 + k * 97 % (20 * MS));
        begun = fake_now_us();
        vc_cancel(c.canceller);
        pthread_join(thread, NULL);
        if (c.returned > begun && c.returned - begun > most)
            most = c.returned - begun;
        vc_canceller_free(c.canceller);
    }
    print_message("cancel_most_us %llu\n", (unsigned long long)most);
    assert_in_range(most, 0, MOST_US);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= sim_share(5); seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.sleep_us = SLEEP_US;
        scene_run(&s, seed);
    }
}

static void
calls_end_within_ten_milliseconds_of_their_deadline(void **state)
{
    (void)state;
    play(act_deadlines);
}

static void
cancelled_calls_return_within_ten_milliseconds(void **state)
{
    (void)state;
    play(act_cancels);
}

/* --- the last part of a request ----------------------------------------- */

#define LONG    20000u /* bytes: three packets */
#define PARTS   3u
#define NOT_RUN UINT64_MAX

/* A client whose request comes in parts. It is frozen when the server gets the
 * last part, so that it cannot cancel the call. */
struct parts {
    struct sim_server server;
    struct fake_process *client;
    atomic_uint ready, go;
};

/* Time left of the call when its handler began, in microseconds. */
static atomic_ullong left;
static atomic_uint left_ms;      /* read next, by vc_call_time_left_ms() */
static atomic_ullong left_after; /* read last, in microseconds */

static enum vc_status
look_what_is_left(struct sim_server *s, struct vc_call *call,
                  const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    atomic_store(&left, vc_call_deadline_us(call));
    atomic_store(&left_ms, vc_call_time_left_ms(call));
    atomic_store(&left_after, vc_call_deadline_us(call));
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
parts_main(void *arg)
{
    struct parts *p = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, p->server.target, NULL, &channel),
                     VC_OK);
    assert_int_equal(sim_echo(channel, 8, 1, 0, NULL), VC_OK);
    sim_tell(&p->ready);
    sim_await(&p->go, 100 * MS);
    sim_echo(channel, LONG, 2, 50, NULL);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* The server sees the last part late_us microseconds late. Returns what is left
 * of the deadline when the handler begins, or NOT_RUN. */
static uint64_t
left_of_one(uint64_t seed, uint64_t late_us)
{
    static const char last[] = "server qp 17: completion RECV";
    struct parts p = {.server.handle = look_what_is_left};

    fake_begin(&(struct fake_opts){.seed = seed, .call_ns = 1});
    sim_target("10.9.0.2", p.server.target);
    sim_server_start(&p.server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&p.server));
    p.client = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                                  parts_main, &p);
    assert_true(sim_await(&p.ready, 100 * MS));
    atomic_store(&left, NOT_RUN);
    fake_rule(last, PARTS, FAKE_DELAY, late_us);
    fake_when(last, PARTS, (void (*)(void *))fake_process_freeze, p.client);
    sim_tell(&p.go);
    fake_sleep_us(200 * MS);
    assert_int_equal(
        scene_counters(atomic_load(&p.server.runtime)).calls_received, 2);
    fake_process_thaw(p.client);
    assert_true(fake_process_wait(p.client, 10000 * MS));
    assert_true(sim_server_stop(&p.server));
    assert_int_equal(fake_end(), 0);
    if (atomic_load(&left) != NOT_RUN)
        assert_in_range(atomic_load(&left_ms),
                        (atomic_load(&left_after) + MS - 1) / MS,
                        (atomic_load(&left) + MS - 1) / MS);
    return atomic_load(&left);
}

/* Returns the least time left with which the handler still ran: a microsecond
 * later it does not run. */
static uint64_t
least_left(uint64_t seed)
{
    uint64_t least = left_of_one(seed, 0);
    uint64_t late_us = least - 3, now;

    assert_in_range(least, 40 * MS, 50 * MS);
    for (; (now = left_of_one(seed, late_us)) != NOT_RUN; late_us++)
        least = now;
    return least;
}

/* Usually no microsecond passes between the server's check of the deadline and
 * the handler's reading of the clock. Then a handler that began exactly at the
 * deadline would have 0 us left. */
static void
a_request_that_is_whole_at_its_very_deadline_is_too_late(void **state)
{
    unsigned soon = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(8); seed++) {
        uint64_t least = least_left(seed);

        soon += least == 1;
        assert_in_range(least, 0, 1);
    }
    assert_true(soon > 0);
}

/* --- the time left in a request ----------------------------------------- */

#define BULK 1000000u /* needs more than a link's credits */

/* The time left in the last CALL without parts, in microseconds. */
static atomic_uint said;

static void
see_calls(const char *process, const char *host, const void *bytes, size_t len,
          void *arg)
{
    struct vc__packet_reader r;
    struct vc__packet p;
    struct vc__frame f;

    (void)process;
    (void)host;
    (void)arg;
    if (!vc__packet_open(&r, bytes, len, &p))
        return;
    while (vc__frame_next(&r, &f) == 1) {
        if (f.type == VC__FRAME_CALL && !(f.flags & VC__FRAME_MORE))
            atomic_store(&said, f.deadline);
    }
}

/* The client does not read the clock again for a call that is sent at once. */
static void
act_at_once(struct scene *s)
{
    scene_call(s, 8, 1);
    fake_see(see_calls, NULL);
    for (unsigned ms = 50; ms < 100; ms++) {
        assert_int_equal(sim_echo(s->channel, 8, 1, ms, NULL), VC_OK);
        assert_int_equal(atomic_load(&said), ms * MS);
    }
    fake_see(NULL, NULL);
}

static void
a_request_that_goes_at_once_says_the_whole_timeout(void **state)
{
    (void)state;
    play(act_at_once);
}

static void *
bulk_main(void *arg)
{
    scene_call(arg, BULK, 2);
    return NULL;
}

static void *
behind_main(void *arg)
{
    struct scene *s = arg;

    assert_int_equal(sim_echo(s->channel, 8, 3, 5000, NULL), VC_OK);
    return NULL;
}

/* A frozen server gives no credits. */
static void
act_held_up(struct scene *s)
{
    pthread_t bulk, behind;

    scene_call(s, 8, 1);
    fake_process_freeze(s->server.process);
    pthread_create(&bulk, NULL, bulk_main, s);
    while (scene_client(s).stalls_credits == 0)
        fake_sleep_us(MS);
    fake_see(see_calls, NULL);
    pthread_create(&behind, NULL, behind_main, s);
    fake_sleep_us(100 * MS);
    fake_process_thaw(s->server.process);
    pthread_join(behind, NULL);
    pthread_join(bulk, NULL);
    fake_see(NULL, NULL);
    assert_in_range(atomic_load(&said), 4000 * MS, 4901 * MS);
}

static void
a_request_that_waited_says_what_is_left(void **state)
{
    (void)state;
    play(act_held_up);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_within_ten_milliseconds_of_their_deadline),
        cmocka_unit_test(cancelled_calls_return_within_ten_milliseconds),
        cmocka_unit_test(
            a_request_that_is_whole_at_its_very_deadline_is_too_late),
        cmocka_unit_test(a_request_that_goes_at_once_says_the_whole_timeout),
        cmocka_unit_test(a_request_that_waited_says_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
