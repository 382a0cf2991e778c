/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What ends streams from outside: cancellers, the parent call, and a lost link,
 * whose reason is reported. */
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/cancel.h>

#include "tests/sim/reactor.h"
#include "tests/sim/scene.h"

static atomic_int child_status; /* of the handler's stream; < 0: none yet */
static sim_handle *handle;      /* of Echo; or NULL */
static unsigned switch_every;

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&reactor_served, 0, sizeof reactor_served);
        atomic_store(&reactor_served.last, -1);
        atomic_store(&child_status, -1);
        s.switch_every = switch_every;
        s.server.add = reactor_add;
        s.server.handle = handle;
        s.server.calls_itself = handle != NULL;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&reactor_served.faults), 0);
        assert_int_equal(atomic_load(&reactor_served.began),
                         atomic_load(&reactor_served.ended));
    }
}

static void
must(enum vc_status status)
{
    if (status != VC_OK)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
}

/* --- cancellers ------------------------------------------------------------ */

struct waiting {
    struct vc_stream *stream;
    enum vc_status status;
};

static void *
receive_main(void *arg)
{
    struct waiting *w = arg;
    void *message;

    w->status = vc_stream_receive(w->stream, &message);
    return NULL;
}

static void
canceller_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor r = {.to_send = 10, .keeps_open = true};
    struct waiting w = {.status = VC_OK};
    pthread_t thread;

    must(vc_runtime_start(s->runtime));
    must(vc_canceller_new(&opts.canceller));
    opts.timeout_ms = VC_NO_DEADLINE;
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &w.stream));
    must(reactor_start(&r, s->channel, TALK, &opts, 0, 10));
    must(reactor_pump(&r));
    pthread_create(&thread, NULL, receive_main, &w);
    assert_true(reactor_await_word(&reactor_served.messages, 10));
    vc_cancel(opts.canceller);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, VC_CANCELLED);
    vc_stream_close(w.stream);
    assert_true(reactor_await(&r));
    assert_null(reactor_fault(&r));
    assert_int_equal(r.status, VC_CANCELLED);
    vc_stream_close(r.stream);
    assert_true(reactor_await_word(&reactor_served.cancels, 2));

    /* The canceller was cancelled before. */
    assert_int_equal(vc_stream_open(s->channel, &reactor_service, TALK, NULL,
                                    &opts, &w.stream),
                     VC_CANCELLED);
    r = (struct reactor){.to_send = 1};
    assert_int_equal(reactor_start(&r, s->channel, TALK, &opts, 0, 10),
                     VC_CANCELLED);
    vc_canceller_free(opts.canceller);
    scene_call(s, 10, 5);
    assert_int_equal(atomic_load(&r.ends), 0);
}

static void
a_canceller_ends_streams_of_both_forms(void **state)
{
    (void)state;
    handle = NULL;
    play(canceller_act);
}

/* Only the thread that waits advances the runtime. */
static void *
cancel_main(void *arg)
{
    fake_sleep_us(20000);
    vc_cancel(arg);
    return NULL;
}

static void
alone_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream;
    pthread_t thread;
    void *message;

    must(vc_canceller_new(&opts.canceller));
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &stream));
    pthread_create(&thread, NULL, cancel_main, opts.canceller);
    assert_int_equal(vc_stream_receive(stream, &message), VC_CANCELLED);
    pthread_join(thread, NULL);
    vc_stream_close(stream);
    vc_canceller_free(opts.canceller);
    scene_call(s, 10, 5);
}

static void
a_canceller_needs_no_thread_of_the_library(void **state)
{
    (void)state;
    handle = NULL;
    play(alone_act);
}

/* --- other threads ---------------------------------------------------------- */

#define SOON UINT64_C(1000) /* us */

struct sleeper {
    struct vc_stream *stream;
    enum vc_status status;
    atomic_uint ended;
};

static void *
receiver_main(void *arg)
{
    struct sleeper *sl = arg;
    void *message;

    sl->status = vc_stream_receive(sl->stream, &message);
    sim_tell(&sl->ended);
    return NULL;
}

/* Sends until the window is full. */
static void *
sender_main(void *arg)
{
    static uint8_t zeros[1000];
    struct sleeper *sl = arg;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = zeros;
    request.payload.len = sizeof zeros;
    do
        sl->status = vc_stream_send(sl->stream, &request);
    while (sl->status == VC_OK);
    sim_tell(&sl->ended);
    return NULL;
}

static void *
finisher_main(void *arg)
{
    struct sleeper *sl = arg;

    sl->status = vc_stream_finish(sl->stream, NULL);
    sim_tell(&sl->ended);
    return NULL;
}

/* The thread sleeps as the holder of the engine, and nothing arrives that would
 * wake it. */
static void
sleeper_cancel(struct scene *s, void *(*main)(void *arg))
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct sleeper sl = {.status = VC_OK};
    pthread_t thread;

    scene_call(s, 10, 5);
    opts.timeout_ms = VC_NO_DEADLINE;
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &sl.stream));
    fake_process_freeze(s->server.process);
    pthread_create(&thread, NULL, main, &sl);
    fake_sleep_us(50000);
    assert_int_equal(atomic_load(&sl.ended), 0);
    vc_stream_cancel(sl.stream);
    assert_true(sim_await(&sl.ended, SOON));
    pthread_join(thread, NULL);
    assert_int_equal(sl.status, VC_CANCELLED);
    fake_process_thaw(s->server.process);
    vc_stream_close(sl.stream);
}

static void
sleepers_act(struct scene *s)
{
    struct vc_channel *other;

    s->opts.keepalive_ms = VC_KEEPALIVE_OFF;
    must(vc_channel_open(s->runtime, s->server.target, &s->opts, &other));
    vc_channel_close(s->channel);
    s->channel = other;
    sleeper_cancel(s, receiver_main);
    sleeper_cancel(s, sender_main);
    sleeper_cancel(s, finisher_main);
    scene_call(s, 10, 5);
}

static void
cancelling_wakes_whoever_waits_in_the_stream(void **state)
{
    (void)state;
    handle = NULL;
    play(sleepers_act);
}

/* --- parents --------------------------------------------------------------- */

/* Waits in a stream whose parent is its call. */
static enum vc_status
echo_by_stream(struct sim_server *s, struct vc_call *call,
               const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream;
    enum vc_status status;
    void *message;

    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag == 0)
        return VC_OK;
    opts.parent = call;
    opts.timeout_ms = VC_NO_DEADLINE;
    status =
        vc_stream_open(s->self, &reactor_service, TALK, NULL, &opts, &stream);
    if (status == VC_OK) {
        status = vc_stream_receive(stream, &message);
        vc_stream_close(stream);
    }
    atomic_store(&child_status, (int)status);
    return vc_call_fail(call, status, "the stream: %s", vc_error());
}

static void
await_child(enum vc_status status)
{
    for (unsigned i = 0; atomic_load(&child_status) < 0 && i < 10000; i++)
        fake_sleep_us(1000);
    assert_int_equal(atomic_load(&child_status), status);
}

static void
parent_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    pthread_t thread;

    must(vc_canceller_new(&opts.canceller));
    pthread_create(&thread, NULL, cancel_main, opts.canceller);
    assert_int_equal(sim_echo_opts(s->channel, 10, 1, &opts, NULL),
                     VC_CANCELLED);
    pthread_join(thread, NULL);
    vc_canceller_free(opts.canceller);
    await_child(VC_CANCELLED);

    atomic_store(&child_status, -1);
    assert_int_equal(sim_echo(s->channel, 10, 1, 30, NULL),
                     VC_DEADLINE_EXCEEDED);
    await_child(VC_DEADLINE_EXCEEDED);
    assert_true(reactor_await_word(&reactor_served.ended, 2));
    scene_call(s, 10, 0);
}

static void
a_stream_ends_with_the_call_that_it_is_made_for(void **state)
{
    (void)state;
    handle = echo_by_stream;
    play(parent_act);
}

/* --- memory ---------------------------------------------------------------- */

#define FAILING 120u /* failing allocations, one in each stream */

/* An allocation fails at one of the endpoints. Each stream ends once, and calls
 * afterwards succeed. */
static void
starve(struct scene *s, struct fake_process *p, unsigned method)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = 300;
    for (unsigned nth = 1; nth < FAILING; nth++) {
        struct reactor r = {.to_send = method == DOWN ? 0 : 5};
        enum vc_status status;

        fake_fail_memory(p, nth);
        status = reactor_start(&r, s->channel, method, &opts, 5,
                               nth % 2 ? 100 : 30000);
        if (status == VC_OK) {
            reactor_pump(&r);
            assert_true(reactor_await(&r));
            if (reactor_fault(&r) != NULL)
                fail_msg("%u: %s", nth, reactor_fault(&r));
            if (r.status == VC_OK && method != UP && r.came != 5)
                fail_msg("%u: it is good, and %u have come", nth, r.came);
            vc_stream_close(r.stream);
        } else if (status != VC_RESOURCE_EXHAUSTED) {
            fail_msg("%u: %s", nth, vc_error());
        }
        fake_fail_no_more();
    }
}

static void
memory_act(struct scene *s)
{
    must(vc_runtime_start(s->runtime));
    for (unsigned method = TALK; method <= UP; method++) {
        scene_call(s, 10, 5);
        starve(s, fake_process_self(), method);
        starve(s, s->server.process, method);
    }
    for (unsigned i = 0; i < 20; i++) {
        sim_echo(s->channel, 10, 5, 0, NULL); /* its link may still be lost */
        fake_sleep_us(20000);
    }
    scene_call(s, 10, 5);
    assert_true(reactor_await_word(&reactor_served.ended,
                                   atomic_load(&reactor_served.began)));
}

static void
want_of_memory_ends_streams_once_and_harms_no_other(void **state)
{
    (void)state;
    handle = NULL;
    play(memory_act);
}

#define HALF_SIZE 40000u   /* more than half a window */
#define BULK      1000000u /* more than a link's credits */

static enum vc_status
send_half(struct vc_stream *stream)
{
    static uint8_t zeros[HALF_SIZE];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = zeros;
    request.payload.len = sizeof zeros;
    return vc_stream_send(stream, &request);
}

static void
starved_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream;
    Suite__EchoReply *reply;

    scene_call(s, 10, 5);
    opts.timeout_ms = 1000;
    must(
        vc_stream_open(s->channel, &reactor_service, UP, NULL, &opts, &stream));
    for (unsigned i = 0; i < 8; i++) {
        fake_fail_memory(fake_process_self(), 1);
        assert_int_equal(send_half(stream), VC_RESOURCE_EXHAUSTED);
        fake_fail_no_more();
        must(send_half(stream));
    }
    must(vc_stream_finish(stream, (void **)&reply));
    assert_int_equal(reply->tag, 8 * HALF_SIZE);
    vc_message_free(reply);
    vc_stream_close(stream);
}

static void
a_message_for_which_there_is_no_memory_leaves_its_room_to_the_next(void **state)
{
    (void)state;
    handle = NULL;
    play(starved_act);
}

static enum vc_status
try_send(struct reactor *r, size_t size, bool *sent)
{
    static uint8_t zeros[BULK];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = zeros;
    request.payload.len = size;
    return vc_stream_try_send(r->stream, &request, sent);
}

/* Sends until there is no room. */
static void
fill(struct reactor *r, unsigned *seen)
{
    bool sent;

    do {
        *seen = atomic_load(&r->writable);
        must(try_send(r, HALF_SIZE / 2, &sent));
    } while (sent);
}

/* Sends until there is room, but no memory. Returns false if the failure hit
 * another thread instead. *seen is the number of on_writable() runs before the
 * last try without room. */
static bool
starve_once(struct reactor *r, unsigned *seen)
{
    for (;;) {
        unsigned now = atomic_load(&r->writable);
        enum vc_status status;
        bool sent;

        fake_fail_memory(fake_process_self(), 1);
        status = try_send(r, HALF_SIZE / 4 * 3, &sent);
        fake_fail_no_more();
        if (status != VC_OK || sent)
            return status == VC_RESOURCE_EXHAUSTED;
        *seen = now;
    }
}

/* Three messages fill a window. When the other endpoint gives room, a longer
 * message reserves so much that there is none for a moment. In that moment
 * on_writable() may be found not to be due. */
static void
writable_act(struct scene *s)
{
    struct reactor r = {.to_send = 0};
    unsigned seen, starved = 0;

    must(vc_runtime_start(s->runtime));
    scene_call(s, 10, 5);
    must(reactor_start(&r, s->channel, UP, NULL, 0, 0));
    for (unsigned i = 0; i < 50; i++) {
        fill(&r, &seen);
        if (!starve_once(&r, &seen))
            continue;
        starved++;
        assert_true(reactor_await_word(&r.writable, seen + 1));
    }
    assert_true(starved > 25);
    must(vc_stream_half_close(r.stream));
    assert_true(reactor_await(&r));
    assert_null(reactor_fault(&r));
    assert_int_equal(r.status, VC_OK);
    vc_stream_close(r.stream);
}

static void
who_waits_for_its_room_is_told(void **state)
{
    (void)state;
    handle = NULL;
    switch_every = 2;
    play(writable_act);
    switch_every = 0;
}

/* The half-close waits for the last part of a long message. From its VC_OK on
 * it needs no memory, and nothing can be sent. */
static void
half_close_act(struct scene *s)
{
    struct reactor r = {.to_send = 0};
    enum vc_status status;
    bool sent;

    must(vc_runtime_start(s->runtime));
    scene_call(s, 10, 5);
    must(reactor_start(&r, s->channel, UP, NULL, 0, 0));
    fake_fail_memory(fake_process_self(), 1);
    assert_int_equal(vc_stream_half_close(r.stream), VC_RESOURCE_EXHAUSTED);
    assert_int_equal(fake_failed(), 1);
    must(try_send(&r, BULK, &sent));
    must(vc_stream_half_close(r.stream));
    for (unsigned nth = 1; nth <= 1000; nth++)
        fake_fail_memory(fake_process_self(), nth);
    do {
        status = try_send(&r, 10, &sent);
        fake_sleep_us(1);
    } while (status == VC_FAILED_PRECONDITION &&
             atomic_load(&reactor_served.ended) < 1);
    fake_fail_no_more();
    assert_int_equal(status, VC_FAILED_PRECONDITION);
    assert_in_range(fake_failed(), 1, 4);
    assert_int_equal(atomic_load(&reactor_served.messages), 1);
    assert_true(reactor_await(&r));
    assert_null(reactor_fault(&r));
    vc_stream_close(r.stream);
}

/* The stream ends while its half-close waits. */
static void
half_close_cancel_act(struct scene *s)
{
    struct reactor r = {.to_send = 0};
    bool sent;

    must(vc_runtime_start(s->runtime));
    must(reactor_start(&r, s->channel, UP, NULL, 0, 0));
    must(try_send(&r, BULK, &sent));
    must(vc_stream_half_close(r.stream));
    vc_stream_cancel(r.stream);
    assert_true(reactor_await(&r));
    assert_int_equal(r.status, VC_CANCELLED);
    vc_stream_close(r.stream);
}

static void
a_half_close_that_has_succeeded_needs_no_memory(void **state)
{
    (void)state;
    handle = NULL;
    switch_every = 2;
    play(half_close_act);
    play(half_close_cancel_act);
    switch_every = 0;
}

/* --- links ----------------------------------------------------------------- */

static void
reason_act(struct scene *s)
{
    struct vc_stream *stream;
    void *message;

    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, NULL,
                        &stream));
    scene_call(s, 10, 5);
    fake_port_set(s->server.host, false);
    assert_int_equal(vc_stream_receive(stream, &message), VC_UNAVAILABLE);
    /* The text names the server and the reason. */
    if (strstr(vc_error(), "was lost: ") == NULL ||
        strstr(vc_error(), "10.9.0.2") == NULL)
        fail_msg("it says %s", vc_error());
    vc_stream_close(stream);
    fake_port_set(s->server.host, true);
    scene_call(s, 10, 5);
}

static void
a_stream_whose_link_was_lost_says_how(void **state)
{
    (void)state;
    handle = NULL;
    play(reason_act);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_canceller_ends_streams_of_both_forms),
        cmocka_unit_test(a_canceller_needs_no_thread_of_the_library),
        cmocka_unit_test(cancelling_wakes_whoever_waits_in_the_stream),
        cmocka_unit_test(a_stream_ends_with_the_call_that_it_is_made_for),
        cmocka_unit_test(want_of_memory_ends_streams_once_and_harms_no_other),
        cmocka_unit_test(
            a_message_for_which_there_is_no_memory_leaves_its_room_to_the_next),
        cmocka_unit_test(who_waits_for_its_room_is_told),
        cmocka_unit_test(a_half_close_that_has_succeeded_needs_no_memory),
        cmocka_unit_test(a_stream_whose_link_was_lost_says_how),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
