/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of all kinds, with callbacks and with blocking threads at both ends,
 * in worlds with random faults. The end of each is reported once and in time,
 * messages arrive whole and in order, and a good end means that all have
 * arrived. */
#include <pthread.h>
#include <string.h>

#include <verbcall/call.h>

#include "tests/sim/reactor.h"

#define WORLDS  120u
#define STREAMS 30u
#define WAITERS 4u /* threads, each with some blocking streams */
#define ROUNDS  4u
#define MS      UINT64_C(1000)
#define GRACE   (100 * MS)
#define KEEP_MS 300u

static struct sim_server server;
static struct fake_host *there;
static struct vc_runtime *runtime;
static struct vc_channel *channel;

/* The options of each stream with callbacks. */
static struct asked {
    struct reactor r;
    bool started;
    unsigned method;
    uint32_t count; /* DOWN */
    uint32_t timeout_ms;
    uint64_t began, ended;
    unsigned cancels; /* one in this many messages; 0: never */
    unsigned pauses;
} asked[STREAMS];

static uint64_t chance_state;
static pthread_mutex_t chance_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns 0..n-1. */
static unsigned
chance(unsigned n)
{
    uint64_t z;

    pthread_mutex_lock(&chance_lock);
    z = chance_state = chance_state * UINT64_C(6364136223846793005) + 1;
    pthread_mutex_unlock(&chance_lock);
    return (unsigned)((z >> 33) % n);
}

static const size_t sizes[] = {0, 100, 3000, 30000, 90000};

/* --- with callbacks -------------------------------------------------------- */

static void
at_message(struct reactor *r)
{
    struct asked *a = r->arg;

    if (a->cancels > 0 && chance(a->cancels) == 0)
        vc_stream_cancel(r->stream);
    if (a->pauses > 0 && chance(a->pauses) == 0)
        vc_stream_pause(r->stream);
}

static void
at_end(struct reactor *r)
{
    struct asked *a = r->arg;

    a->ended = fake_now_us();
    if (chance(8) == 0)
        vc_stream_cancel(r->stream);
}

static void
ask(struct asked *a)
{
    static const uint32_t timeouts[] = {0, 2, 20, 500, VC_NO_DEADLINE};
    static const uint64_t marks[] = {
        0, 0, 0, REACTOR_FAIL, REACTOR_LATER, REACTOR_PAUSE};
    static const uint32_t flags[] = {0, VC_CALL_WAIT_FOR_READY,
                                     VC_CALL_NO_RETRY};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    size_t size = sizes[chance(5)];

    memset(a, 0, sizeof *a);
    a->method = chance(4);
    a->count = chance(40);
    a->timeout_ms = opts.timeout_ms = timeouts[chance(5)];
    opts.flags = flags[chance(3)];
    a->cancels = chance(4) == 0 ? 20 : 0;
    a->pauses = chance(3) == 0 ? 10 : 0;
    a->began = fake_now_us();
    a->r.arg = a;
    a->r.at_message = at_message;
    a->r.at_end = at_end;
    a->r.to_send = a->method == DOWN ? 0 : 1 + chance(40);
    a->r.mark = a->method == TALK ? marks[chance(6)] : 0;
    a->started = reactor_start(&a->r, channel, a->method, &opts, a->count,
                               size) == VC_OK;
    if (a->started)
        reactor_pump(&a->r);
}

static void *
asker_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < STREAMS; i++) {
        ask(&asked[i]);
        if (chance(4) == 0)
            fake_sleep_us(chance(5000));
    }
    return NULL;
}

static unsigned
n_ended(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < STREAMS; i++)
        n += atomic_load(&asked[i].r.ends) > 0;
    return n;
}

/* --- with blocking threads ------------------------------------------------ */

/* The statuses of all blocking streams. Wrong messages count as
 * VC_DATA_LOSS. */
static atomic_uint waited[VC_UNAUTHENTICATED + 1];

static enum vc_status
wait_talk(struct vc_stream *stream, unsigned n, size_t size)
{
    static uint8_t zeros[100000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    enum vc_status status = VC_OK;

    request.payload.data = zeros;
    request.payload.len = size;
    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        Suite__EchoReply *reply = NULL;

        request.tag = i;
        status = vc_stream_send(stream, &request);
        if (status == VC_OK)
            status = vc_stream_receive(stream, (void **)&reply);
        if (status == VC_OK && (reply == NULL || reply->tag != i))
            status = VC_DATA_LOSS;
        vc_message_free(reply);
    }
    return status == VC_OK ? vc_stream_finish(stream, NULL) : status;
}

static enum vc_status
wait_down(struct vc_stream *stream, unsigned n)
{
    Suite__EchoReply *reply;
    enum vc_status status;
    unsigned came = 0;

    while ((status = vc_stream_receive(stream, (void **)&reply)) == VC_OK &&
           reply != NULL) {
        if (reply->tag != came++)
            status = VC_DATA_LOSS;
        vc_message_free(reply);
        if (status != VC_OK)
            break;
    }
    return status == VC_OK && came != n ? VC_DATA_LOSS : status;
}

static void
wait_one(void)
{
    static const uint32_t timeouts[] = {20, 100, 500};
    static const unsigned kinds[] = {TALK, DOWN, WAIT};
    static uint8_t zeros[100000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    unsigned method = kinds[chance(3)], n = chance(20);
    uint64_t began = fake_now_us();
    struct vc_stream *stream;
    enum vc_status status;

    opts.timeout_ms = timeouts[chance(3)];
    opts.flags = chance(2) ? VC_CALL_WAIT_FOR_READY : 0;
    request.payload.data = zeros;
    request.payload.len = sizes[chance(5)];
    request.reply_size = n;
    status = vc_stream_open(channel, &reactor_service, method,
                            method == DOWN ? &request : NULL, &opts, &stream);
    if (status == VC_OK) {
        status = method == DOWN ? wait_down(stream, n)
                                : wait_talk(stream, n, request.payload.len);
        if (fake_now_us() - began > opts.timeout_ms * MS + GRACE)
            fail_msg("a stream has waited for %llu us, not %u ms: %s",
                     (unsigned long long)(fake_now_us() - began),
                     opts.timeout_ms, vc_status_name(status));
        vc_stream_close(stream);
    }
    atomic_fetch_add(&waited[status], 1);
}

static void *
waiter_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++)
        wait_one();
    return NULL;
}

/* --- faults --------------------------------------------------------------- */

static bool was_killed;

static void
serve(void)
{
    sim_server_start(&server, there, 1);
    assert_true(sim_server_await(&server));
}

static void
strike(void)
{
    switch (chance(6)) {
    case 0:
        was_killed = true;
        fake_process_kill(server.process);
        fake_sleep_us(chance(400000));
        serve();
        break;
    case 1:
        fake_process_freeze(server.process);
        fake_sleep_us(chance(600000));
        fake_process_thaw(server.process);
        break;
    case 2:
        fake_port_set(there, false);
        fake_sleep_us(chance(600000));
        fake_port_set(there, true);
        break;
    case 3:
        fake_wire_cut(there, fake_host_local(), true);
        fake_sleep_us(chance(600000));
        fake_wire_cut(there, fake_host_local(), false);
        break;
    case 4:
        fake_rule("main qp", 1 + chance(20), FAKE_FLUSH, 0);
        break;
    case 5:
        fake_rule("server qp", 1 + chance(20), FAKE_FLUSH, 0);
        break;
    }
}

static void *
blows_main(void *arg)
{
    (void)arg;
    for (unsigned n = chance(3); n > 0; n--) {
        fake_sleep_us(chance(40000));
        strike();
    }
    return NULL;
}

/* --- the worlds ------------------------------------------------------------ */

static bool was_closed;

/* True if all messages have arrived, as a good end promises. */
static bool
is_whole(const struct asked *a)
{
    const struct reactor *r = &a->r;

    switch (a->method) {
    case DOWN:
        return r->came == a->count;
    case UP:
        return r->came == 1 && r->sum == (uint64_t)r->size * r->to_send;
    default:
        return r->came == r->to_send - (r->mark != 0);
    }
}

static void
check(const struct asked *a, unsigned i)
{
    const struct reactor *r = &a->r;

    if (reactor_fault(r) != NULL)
        fail_msg("stream %u: %s: %s", i, reactor_fault(r), fake_trace());
    if (r->status == VC_OK && !is_whole(a))
        fail_msg("stream %u, of %u, is good, and %u of %u came", i, a->method,
                 r->came, r->to_send + a->count);
    /* A pause delays a good end. */
    if (r->status == VC_OK && a->pauses > 0)
        return;
    if (!was_closed && a->timeout_ms != 0 && a->timeout_ms != VC_NO_DEADLINE &&
        a->ended - a->began > a->timeout_ms * MS + GRACE)
        fail_msg("stream %u has taken %llu us, not %u ms: %s", i,
                 (unsigned long long)(a->ended - a->began), a->timeout_ms,
                 r->text);
}

static void
resume_all(void)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        if (asked[i].started)
            vc_stream_resume(asked[i].r.stream);
    }
}

/* Waits until all streams have ended, and resumes paused ones meanwhile. */
static void
await_all(void)
{
    uint64_t until = fake_now_us() + 20000 * MS;

    while (n_ended() < STREAMS) {
        if (fake_now_us() > until)
            fail_msg("only %u have ended: %s", n_ended(), fake_trace());
        fake_sleep_us(MS);
        resume_all();
    }
}

static void
world_open(uint64_t seed)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    chance_state = seed;
    was_killed = false;
    memset(asked, 0, sizeof asked);
    memset(&reactor_served, 0, sizeof reactor_served);
    atomic_store(&reactor_served.resume, 1);
    opts.keepalive_ms = KEEP_MS;
    opts.connect_timeout_ms = 500;
    sim_begin(seed, 1 + chance(4), true);
    there = fake_host_new("there", "10.9.0.2");
    server = (struct sim_server){.add = reactor_add};
    sim_target("10.9.0.2", server.target);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, server.target, &opts, &channel));
    assert_int_equal(VC_OK, vc_runtime_start(runtime));
    serve();
}

static void
world_close(void)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    for (unsigned i = 0; i < STREAMS; i++) {
        if (asked[i].started)
            vc_stream_close(asked[i].r.stream);
    }
    vc_runtime_counters(runtime, &counters);
    if (sim_counters_fault(&counters) != NULL)
        fail_msg("%s", sim_counters_fault(&counters));
    vc_runtime_free(runtime);
    assert_true(sim_server_stop(&server));
    assert_int_equal(0, atomic_load(&reactor_served.faults));
    if (!was_killed)
        assert_int_equal(atomic_load(&reactor_served.began),
                         atomic_load(&reactor_served.ended));
    if (!was_killed && sim_counters_fault(&server.last) != NULL)
        fail_msg("server: %s", sim_counters_fault(&server.last));
    assert_int_equal(0, fake_end());
}

static void
world(uint64_t seed, unsigned ends[VC_UNAUTHENTICATED + 1])
{
    pthread_t asker, blows, waiters[WAITERS];

    world_open(seed);
    pthread_create(&asker, NULL, asker_main, NULL);
    pthread_create(&blows, NULL, blows_main, NULL);
    for (unsigned i = 0; i < WAITERS; i++)
        pthread_create(&waiters[i], NULL, waiter_main, NULL);
    for (unsigned i = 0; i < WAITERS; i++)
        pthread_join(waiters[i], NULL);
    pthread_join(asker, NULL);
    was_closed = chance(3) == 0;
    if (was_closed) {
        /* The last streams, paused or not, are still under way. */
        vc_channel_close(channel);
        await_all();
    } else {
        await_all();
        vc_channel_close(channel);
    }
    pthread_join(blows, NULL);
    fake_no_rules();
    for (unsigned i = 0; i < STREAMS; i++) {
        check(&asked[i], i);
        ends[asked[i].r.status]++;
    }
    world_close();
}

static void
whatever_happens_each_stream_ends_once_in_time_and_in_order(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(WORLDS); seed++)
        world(seed, ends);
    for (unsigned i = 0; i <= VC_UNAUTHENTICATED; i++) {
        if (ends[i] + atomic_load(&waited[i]) > 0)
            print_message("%s %u, waited for %u\n",
                          vc_status_name((enum vc_status)i), ends[i],
                          atomic_load(&waited[i]));
    }
    assert_int_equal(0, atomic_load(&waited[VC_DATA_LOSS]));
    assert_true(ends[VC_OK] > sim_share(WORLDS) * STREAMS / 5);
    assert_true(atomic_load(&waited[VC_OK]) >
                sim_share(WORLDS) * WAITERS * ROUNDS / 4);
    assert_int_equal(sim_share(WORLDS) * STREAMS,
                     ends[VC_OK] + ends[VC_CANCELLED] + ends[VC_UNAVAILABLE] +
                         ends[VC_DEADLINE_EXCEEDED] + ends[VC_NOT_FOUND]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            whatever_happens_each_stream_ends_once_in_time_and_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
