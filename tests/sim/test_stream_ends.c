/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two events end a stream at the same time: a deadline and the reply, closing
 * the channel and its use, or a lost link and a handler that was taken over.
 * Whichever is first, each end is reported once and nothing is left. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/sim.h"
#include "tests/suite/streams.h"

#define SEEDS    sim_share(300u)
#define TALKERS  3u
#define SLEEP_US 2000u /* of the handlers of calls */
#define PATIENCE 120000000u

struct client {
    char target[80];
    uint64_t seed;
    struct fake_host *there;
    struct vc_channel *channel;
    void (*act)(struct client *c);
    unsigned ends[VC_UNAUTHENTICATED + 1];
    atomic_uint begun;
};

/* The handlers: those of tests/suite/streams.h, unless a test has its own. */
static const struct suite_streams_methods *serves = &streams_methods;
static struct vc_channel_opts channel_opts = VC_CHANNEL_OPTS_INIT;

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return suite_streams_add(server, serves, NULL);
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(
        vc_channel_open(runtime, c->target, &channel_opts, &c->channel), VC_OK);
    assert_int_equal(vc_channel_connect(c->channel, &suite_streams_service),
                     VC_OK);
    c->act(c);
    if (c->channel != NULL)
        vc_channel_close(c->channel);
    vc_runtime_free(runtime);
}

/* Runs each seed in a world of its own; counts the statuses of the streams. */
static void
play_seeds(void (*act)(struct client *c), unsigned ends[VC_UNAUTHENTICATED + 1],
           uint64_t seeds)
{
    memset(ends, 0, sizeof(unsigned) * (VC_UNAUTHENTICATED + 1));
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim_server s = {.add = streams_add, .sleep_us = SLEEP_US};
        struct client c = {.seed = seed, .act = act};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        sim_target("10.9.0.2", s.target);
        sim_target("10.9.0.2", c.target);
        c.there = fake_host_new("there", "10.9.0.2");
        sim_server_start(&s, c.there, TALKERS);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               client_main, &c);
        if (!fake_process_wait(p, PATIENCE))
            fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
        assert_true(sim_server_stop(&s));
        if (sim_counters_fault(&s.last) != NULL)
            fail_msg("seed %llu: %s", (unsigned long long)seed,
                     sim_counters_fault(&s.last));
        assert_int_equal(s.last.handlers_running, 0);
        assert_int_equal(fake_end(), 0);
        for (unsigned i = 0; i <= VC_UNAUTHENTICATED; i++)
            ends[i] += c.ends[i];
    }
}

static void
play(void (*act)(struct client *c), unsigned ends[VC_UNAUTHENTICATED + 1])
{
    play_seeds(act, ends, SEEDS);
}

static uint8_t bytes[300000];

static struct suite_streams_up_client_stream *
open_up(struct client *c, uint32_t timeout_ms)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct suite_streams_up_client_stream *stream;

    opts.timeout_ms = timeout_ms;
    if (suite_streams_up(c->channel, &opts, &stream) != VC_OK)
        fail_msg("%s", vc_error());
    return stream;
}

/* --- a deadline and the reply ------------------------------------------- */

/* Waits for a message that never comes, and holds the engine. So the thread
 * with the deadline is not the one that receives the reply. */
static void *
holder_main(void *arg)
{
    void *none;

    if (vc_stream_receive(arg, &none) != VC_CANCELLED)
        fail_msg("%s", vc_error());
    return NULL;
}

/* The deadline passes at about the time at which the reply comes. */
static void
late_act(struct client *c)
{
    struct suite_streams_up_client_stream *idle = open_up(c, 0),
                                          *stream = open_up(c, 1);
    Suite__EchoReply *reply = NULL;
    enum vc_status status;
    pthread_t holder;

    pthread_create(&holder, NULL, holder_main, idle);

    fake_sleep_us(500 + c->seed * 7 % 490);
    status = suite_streams_up_finish(stream, &reply);
    if ((status == VC_OK) != (reply != NULL))
        fail_msg("seed %llu: %s, but %s reply", (unsigned long long)c->seed,
                 vc_status_name(status), reply == NULL ? "no" : "a");
    vc_message_free(reply);
    suite_streams_up_close(stream);
    suite_streams_up_cancel(idle);
    pthread_join(holder, NULL);
    suite_streams_up_close(idle);
    c->ends[status]++;
}

static void
a_stream_that_ends_at_its_deadline_ends_once(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    play(late_act, ends);
    print_message("%u good, %u too late\n", ends[VC_OK],
                  ends[VC_DEADLINE_EXCEEDED]);
    assert_int_equal(ends[VC_OK] + ends[VC_DEADLINE_EXCEEDED], SEEDS);
    assert_true(ends[VC_DEADLINE_EXCEEDED] > 0);
    assert_true(ends[VC_OK] > 0 || SEEDS < 300u);
}

/* --- use and closing ----------------------------------------------------- */

struct talker {
    struct client *client;
    struct suite_streams_talk_client_stream *stream;
    enum vc_status status;
    size_t size;
};

/* Sends and receives until the stream ends. */
static void *
talker_main(void *arg)
{
    struct talker *t = arg;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;

    request.payload.data = bytes;
    request.payload.len = t->size;
    do {
        t->status = suite_streams_talk_send(t->stream, &request);
        if (t->status == VC_OK)
            t->status = suite_streams_talk_receive(t->stream, &reply);
        if (t->status == VC_OK)
            vc_message_free(reply);
        atomic_fetch_add(&t->client->begun, 1);
    } while (t->status == VC_OK);
    suite_streams_talk_close(t->stream);
    return NULL;
}

/* Some threads talk, with short and long messages; then end() ends that. */
static void
talk_until(struct client *c, void (*end)(struct client *c))
{
    static const size_t sizes[TALKERS] = {10, 5000, 100000};
    struct talker talkers[TALKERS];
    pthread_t threads[TALKERS];

    for (unsigned i = 0; i < TALKERS; i++) {
        talkers[i] = (struct talker){.client = c, .size = sizes[i]};
        if (suite_streams_talk(c->channel, NULL, &talkers[i].stream) != VC_OK)
            fail_msg("%s", vc_error());
        pthread_create(&threads[i], NULL, talker_main, &talkers[i]);
    }
    while (atomic_load(&c->begun) < 2 + c->seed % 7)
        fake_sleep_us(5);
    end(c);
    for (unsigned i = 0; i < TALKERS; i++) {
        pthread_join(threads[i], NULL);
        c->ends[talkers[i].status]++;
    }
}

static void
channel_close(struct client *c)
{
    struct vc_channel *channel = c->channel;

    c->channel = NULL;
    vc_channel_close(channel);
}

static void
close_act(struct client *c)
{
    talk_until(c, channel_close);
}

static void
a_channel_may_be_closed_while_streams_are_used(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    play(close_act, ends);
    assert_int_equal(ends[VC_CANCELLED], SEEDS * TALKERS);
}

static void
link_cut(struct client *c)
{
    fake_port_set(c->there, false);
}

/* The link is lost while handlers are in the middle of messages. After that the
 * channel can be used again. */
static void
cut_act(struct client *c)
{
    struct suite_streams_up_client_stream *stream;
    Suite__EchoReply *reply = NULL;

    talk_until(c, link_cut);
    fake_port_set(c->there, true);
    stream = open_up(c, 0);
    if (suite_streams_up_finish(stream, &reply) != VC_OK)
        fail_msg("seed %llu: %s", (unsigned long long)c->seed, vc_error());
    vc_message_free(reply);
    suite_streams_up_close(stream);
}

static void
a_link_may_be_lost_while_streams_are_used(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    play(cut_act, ends);
    assert_int_equal(ends[VC_UNAVAILABLE], SEEDS * TALKERS);
}

/* --- a link and a canceller ---------------------------------------------- */

struct cancelled {
    struct client *client;
    struct vc_call_opts opts; /* with the canceller */
    struct suite_streams_talk_client_stream *stream;
};

/* Both end by the canceller, or with the link. */
static void *
cancelled_receive(void *arg)
{
    struct cancelled *x = arg;
    Suite__EchoReply *none;

    x->client->ends[suite_streams_talk_receive(x->stream, &none)]++;
    return NULL;
}

static void *
cancelled_call(void *arg)
{
    struct cancelled *x = arg;

    sim_echo_opts(x->client->channel, 64, 1, &x->opts, NULL);
    return NULL;
}

static void *
link_break(void *arg)
{
    struct cancelled *x = arg;

    fake_rule("client qp", 1, FAKE_FLUSH, 0);
    fake_sleep_us(x->client->seed % 5);
    sim_echo(x->client->channel, 64, 2, 0, NULL);
    return NULL;
}

/* The thread that cancels, or the thread that finds the link lost, ends the
 * stream and the call. */
static void
cancel_act(struct client *c)
{
    static void *(*const bodies[])(void *) = {cancelled_receive, cancelled_call,
                                              link_break};
    struct cancelled x = {.client = c, .opts = VC_CALL_OPTS_INIT};
    pthread_t threads[3];

    assert_int_equal(vc_canceller_new(&x.opts.canceller), VC_OK);
    if (suite_streams_talk(c->channel, &x.opts, &x.stream) != VC_OK)
        fail_msg("%s", vc_error());
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, bodies[i], &x);
    while (atomic_load(&sim_ran[1]) == 0)
        fake_sleep_us(5);
    pthread_create(&threads[2], NULL, bodies[2], &x);
    fake_sleep_us(c->seed % 40);
    vc_cancel(x.opts.canceller);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    fake_no_rules();
    suite_streams_talk_close(x.stream);
    vc_canceller_free(x.opts.canceller);
}

static void
a_link_may_be_lost_while_a_canceller_ends_what_it_carried(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    play(cancel_act, ends);
    print_message("%u cancelled, %u lost\n", ends[VC_CANCELLED],
                  ends[VC_UNAVAILABLE]);
    assert_int_equal(ends[VC_CANCELLED] + ends[VC_UNAVAILABLE], SEEDS);
    assert_true(ends[VC_CANCELLED] > 0 && ends[VC_UNAVAILABLE] > 0);
}

/* --- long messages ------------------------------------------------------- */

/* More than may be sent side by side (VC__HUGE_MOST), so that some have not
 * begun. */
#define LONG_ONES 6u
/* Streams after that: they take until all the long requests would be sent. */
#define LATER_ONES 20u

static enum vc_status
up_and_finish(struct client *c)
{
    struct suite_streams_up_client_stream *up = open_up(c, 0);
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_up_finish(up, &reply);

    vc_message_free(reply);
    suite_streams_up_close(up);
    return status;
}

/* Streams with long requests are cancelled while their requests are sent or
 * wait for that: the link stays, and later streams find it. */
static void
early_act(struct client *c)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct suite_streams_down_client_stream *down[LONG_ONES];
    enum vc_status status = VC_OK;

    request.payload.data = bytes;
    request.payload.len = sizeof bytes;
    request.reply_size = 1;
    assert_int_equal(VC_OK,
                     vc_channel_connect(c->channel, &suite_streams_service));
    for (unsigned i = 0; i < LONG_ONES; i++)
        if (suite_streams_down(c->channel, &request, NULL, &down[i]) != VC_OK)
            fail_msg("%s", vc_error());
    fake_sleep_us(c->seed % 50);
    for (unsigned i = 0; i < LONG_ONES; i++)
        suite_streams_down_close(down[(i + c->seed) % LONG_ONES]);
    for (unsigned i = 0; i < LATER_ONES && status == VC_OK; i++)
        status = up_and_finish(c);
    c->ends[status]++;
}

static void
a_long_request_that_is_given_up_harms_no_other_stream(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    play(early_act, ends);
    assert_int_equal(ends[VC_OK], SEEDS);
}

/* --- no deadline ---------------------------------------------------------- */

static atomic_uint left_ms; /* of the call, as its handler sees it */

static enum vc_status
up_told(struct vc_call *call, struct suite_streams_up_server_stream *stream,
        Suite__EchoReply *reply, void *arg)
{
    atomic_store(&left_ms, vc_call_time_left_ms(call));
    return streams_methods.up(call, stream, reply, arg);
}

/* The stream is idle for far longer than the timeout of the channel's calls. */
static void
idle_act(struct client *c)
{
    struct suite_streams_up_client_stream *stream;
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_up(c->channel, NULL, &stream);

    if (status == VC_OK) {
        fake_sleep_us(30000000);
        status = suite_streams_up_finish(stream, &reply);
    }
    vc_message_free(reply);
    suite_streams_up_close(stream);
    c->ends[status]++;
}

static void
a_stream_has_no_deadline_unless_it_is_asked_for(void **state)
{
    static const struct suite_streams_methods told = {.up = up_told};
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    serves = &told;
    for (unsigned i = 0; i < 2; i++) {
        channel_opts.call_timeout_ms = i == 0 ? 0 : 20;
        atomic_store(&left_ms, 0);
        play_seeds(idle_act, ends, 3);
        assert_int_equal(ends[VC_OK], 3);
        assert_int_equal(atomic_load(&left_ms), VC_NO_DEADLINE);
    }
    channel_opts.call_timeout_ms = 0;
    serves = &streams_methods;
}

/* --- a handler that ends early -------------------------------------------- */

/* Replies after the first message. */
static enum vc_status
up_early(struct vc_call *call, struct suite_streams_up_server_stream *stream,
         Suite__EchoReply *reply, void *arg)
{
    Suite__EchoRequest *request = NULL;
    enum vc_status status = suite_streams_up_server_receive(stream, &request);

    (void)call;
    (void)arg;
    if (status == VC_OK)
        reply->tag = request->tag;
    vc_message_free(request);
    return status;
}

/* Sends until the stream takes no more. */
static void
upload_act(struct client *c)
{
    static const size_t sizes[] = {1, 3000, 20000, 300000};
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct suite_streams_up_client_stream *stream = open_up(c, 0);
    Suite__EchoReply *reply = NULL;
    enum vc_status status;

    request.tag = 7;
    request.payload.data = bytes;
    request.payload.len = sizes[c->seed % 4];
    do {
        status = suite_streams_up_send(stream, &request);
        if (c->seed % 3 == 0) /* the reply comes between two sends */
            fake_sleep_us(c->seed % 100);
    } while (status == VC_OK);
    if (status != VC_FAILED_PRECONDITION)
        fail_msg("seed %llu: %s: %s", (unsigned long long)c->seed,
                 vc_status_name(status), vc_error());
    status = suite_streams_up_finish(stream, &reply);
    if (status != VC_OK || reply == NULL || reply->tag != 7)
        fail_msg("seed %llu: %s: %s", (unsigned long long)c->seed,
                 vc_status_name(status), vc_error());
    vc_message_free(reply);
    suite_streams_up_close(stream);
    c->ends[status]++;
}

static void
a_send_that_fails_leaves_the_reply_to_finish(void **state)
{
    static const struct suite_streams_methods early = {.up = up_early};
    unsigned ends[VC_UNAUTHENTICATED + 1];

    (void)state;
    serves = &early;
    play_seeds(upload_act, ends, SEEDS / 3);
    assert_int_equal(ends[VC_OK], SEEDS / 3);
    serves = &streams_methods;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_ends_at_its_deadline_ends_once),
        cmocka_unit_test(a_channel_may_be_closed_while_streams_are_used),
        cmocka_unit_test(a_link_may_be_lost_while_streams_are_used),
        cmocka_unit_test(
            a_link_may_be_lost_while_a_canceller_ends_what_it_carried),
        cmocka_unit_test(a_long_request_that_is_given_up_harms_no_other_stream),
        cmocka_unit_test(a_stream_has_no_deadline_unless_it_is_asked_for),
        cmocka_unit_test(a_send_that_fails_leaves_the_reply_to_finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
