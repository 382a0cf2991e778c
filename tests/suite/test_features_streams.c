/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams with callbacks at both ends: no thread waits for them. */
#include "tests/suite/feature.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/metadata.h>
#include <verbcall/stream.h>

#define MESSAGES 300u
#define POURED   100u
#define LENGTH   2000u /* of a text: all messages exceed a window */

static char long_text[LENGTH + 1];

/* --- the server -------------------------------------------------------- */

/* What the callbacks have seen since the setup; counters for
 * fixture_await(). */
static struct {
    atomic_uint messages, half_closes, cancels, ends;
    atomic_uint full, writable; /* tries without room; calls of on_writable() */
    enum vc_status cancel_status, end_status;
    unsigned out_of_order; /* messages after a half-close */
} seen;

/* The state of a stream at the server. */
struct served {
    struct vc_call *call;
    struct vc_stream *stream;
    Features__Order *pending;  /* Talk: no room for its report yet */
    Features__Report *report;  /* Up: the reply */
    Features__Report to_send;  /* Down: the message; its tag counts up */
    uint64_t left;             /* Down: messages not sent yet */
    bool half_closed, is_over; /* is_over: vc_call_end() was called */
};

static void
served_end(struct served *s, enum vc_status status)
{
    s->is_over = true;
    vc_call_end(s->call, status);
}

/* Tries to send. False when there was no room. After an error on_cancel()
 * follows. */
static bool
served_try(struct served *s, const Features__Report *report)
{
    bool sent = true;

    if (vc_stream_try_send(s->stream, report, &sent) == VC_OK && !sent)
        fixture_tell(&seen.full);
    return sent;
}

/* Answers the order; if there is no room, pauses the stream until there is. */
static void
talk_answer(struct served *s, Features__Order *order)
{
    Features__Report report = FEATURES__REPORT__INIT;

    report.tag = order->tag;
    report.text = order->text;
    if (!served_try(s, &report)) {
        s->pending = order;
        vc_stream_pause(s->stream);
        return;
    }
    vc_message_free(order);
    if (s->half_closed)
        served_end(s, VC_OK);
}

static void
down_pour(struct served *s)
{
    for (; s->left > 0; s->left--, s->to_send.tag++)
        if (!served_try(s, &s->to_send))
            return;
    served_end(s, VC_OK);
}

static void
on_message(struct vc_stream *stream, void *message, void *arg)
{
    struct served *s = arg;
    Features__Order *order = message;

    (void)stream;
    fixture_tell(&seen.messages);
    seen.out_of_order += s->half_closed;
    if (order->failures > 0) {
        vc_message_free(order);
        served_end(s, vc_call_fail(s->call, VC_NOT_FOUND, "as ordered"));
    } else if (s->report != NULL) {
        s->report->tag += order->tag;
        vc_message_free(order);
    } else {
        talk_answer(s, order);
    }
}

static void
on_writable(struct vc_stream *stream, void *arg)
{
    struct served *s = arg;
    Features__Order *order = s->pending;

    fixture_tell(&seen.writable);
    if (s->left > 0) {
        down_pour(s);
    } else if (order != NULL) {
        s->pending = NULL;
        vc_stream_resume(stream);
        talk_answer(s, order);
    }
}

static void
on_half_close(struct vc_stream *stream, void *arg)
{
    struct served *s = arg;

    (void)stream;
    s->half_closed = true;
    fixture_tell(&seen.half_closes);
    if (s->pending == NULL)
        served_end(s, VC_OK);
}

static void
on_cancel(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct served *s = arg;

    (void)stream;
    seen.cancel_status = status;
    fixture_tell(&seen.cancels);
    if (!s->is_over)
        served_end(s, status);
}

static void
on_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct served *s = arg;

    (void)stream;
    seen.end_status = status;
    vc_message_free(s->pending);
    free(s);
    fixture_tell(&seen.ends);
}

static const struct vc_stream_events served_events = {sizeof served_events,
                                                      on_message,
                                                      on_writable,
                                                      on_half_close,
                                                      on_cancel,
                                                      on_end,
                                                      NULL};

/* The same callbacks with the types of a method, as programs define them. */

static void
talk_message(struct features_flow_talk_server_stream *stream,
             Features__Order *order, void *arg)
{
    on_message((struct vc_stream *)stream, order, arg);
}

static void
talk_writable(struct features_flow_talk_server_stream *stream, void *arg)
{
    on_writable((struct vc_stream *)stream, arg);
}

static void
talk_half_close(struct features_flow_talk_server_stream *stream, void *arg)
{
    on_half_close((struct vc_stream *)stream, arg);
}

static void
talk_cancel(struct features_flow_talk_server_stream *stream,
            enum vc_status status, void *arg)
{
    on_cancel((struct vc_stream *)stream, status, arg);
}

static void
talk_end(struct features_flow_talk_server_stream *stream, enum vc_status status,
         void *arg)
{
    on_end((struct vc_stream *)stream, status, arg);
}

static struct served *
served_new(struct vc_call *call, struct vc_stream *stream)
{
    struct served *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->call = call;
    s->stream = stream;
    return s;
}

static enum vc_status
talk(struct vc_call *call, struct features_flow_talk_server_stream *stream,
     void *arg)
{
    const struct features_flow_talk_server_events events = {
        .on_message = talk_message,
        .on_writable = talk_writable,
        .on_half_close = talk_half_close,
        .on_cancel = talk_cancel,
        .on_end = talk_end,
    };

    (void)arg;
    return features_flow_talk_serve(
        call, stream, &events, served_new(call, (struct vc_stream *)stream));
}

static enum vc_status
up(struct vc_call *call, struct features_flow_up_server_stream *typed,
   Features__Report *report, void *arg)
{
    struct vc_stream *stream = (struct vc_stream *)typed;
    struct served *s = served_new(call, stream);

    (void)arg;
    s->report = report;
    return vc_stream_serve(call, stream, &served_events, s);
}

/* Callbacks begin when the handler has returned, so it may send before that. */
static enum vc_status
down(struct vc_call *call, const Features__Order *order,
     struct features_flow_down_server_stream *typed, void *arg)
{
    struct vc_stream *stream = (struct vc_stream *)typed;
    struct served *s = served_new(call, stream);
    enum vc_status status;

    (void)arg;
    features__report__init(&s->to_send);
    s->to_send.text = order->text;
    s->left = order->tag;
    vc_call_add_initial(call, "server", "first", 5);
    vc_call_add_trailing(call, "trailing", "later", 5);
    status = vc_stream_serve(call, stream, &served_events, s);
    down_pour(s);
    return status;
}

static void
add_flow(struct vc_server *server)
{
    static const struct features_flow_methods methods = {
        .talk = talk, .down = down, .up = up};

    assert_status(VC_OK, features_flow_add(server, &methods, NULL));
}

/* --- the client -------------------------------------------------------- */

/* A stream of the client, and what its callbacks have seen. */
struct client {
    struct vc_stream *stream;
    pthread_mutex_t pumping; /* only one thread at a time sends */
    unsigned to_send, sent;
    unsigned pauses_at; /* pauses after this many messages; 0: never */
    unsigned out_of_order;
    uint64_t last_tag;
    enum vc_status status;
    char text[256];
    atomic_uint messages, full, writable, ends;
};

/* Sends as many messages as there is room for; after the last one half-closes
 * the stream. */
static enum vc_status
client_pump(struct client *c)
{
    enum vc_status status = VC_OK;
    bool sent = true;

    pthread_mutex_lock(&c->pumping);
    while (c->sent < c->to_send && status == VC_OK && sent) {
        Features__Order order = features_order(c->sent, long_text);

        status = vc_stream_try_send(c->stream, &order, &sent);
        c->sent += status == VC_OK && sent;
    }
    if (!sent)
        fixture_tell(&c->full);
    else if (status == VC_OK && c->to_send > 0)
        status = vc_stream_half_close(c->stream);
    pthread_mutex_unlock(&c->pumping);
    return status;
}

static void
client_message(struct vc_stream *stream, void *message, void *arg)
{
    struct client *c = arg;
    Features__Report *report = message;

    c->out_of_order += report->tag != atomic_load(&c->messages);
    c->last_tag = report->tag;
    vc_message_free(report);
    if (atomic_load(&c->messages) + 1 == c->pauses_at)
        vc_stream_pause(stream);
    fixture_tell(&c->messages);
}

static void
client_writable(struct vc_stream *stream, void *arg)
{
    struct client *c = arg;

    (void)stream;
    fixture_tell(&c->writable);
    client_pump(c);
}

static void
client_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct client *c = arg;

    (void)stream;
    c->status = status;
    snprintf(c->text, sizeof c->text, "%s", status == VC_OK ? "" : vc_error());
    fixture_tell(&c->ends);
}

static const struct vc_stream_events client_events = {sizeof client_events,
                                                      client_message,
                                                      client_writable,
                                                      NULL,
                                                      NULL,
                                                      client_end,
                                                      NULL};

static void
talked_message(struct features_flow_talk_client_stream *stream,
               Features__Report *report, void *arg)
{
    client_message((struct vc_stream *)stream, report, arg);
}

static void
talked_writable(struct features_flow_talk_client_stream *stream, void *arg)
{
    client_writable((struct vc_stream *)stream, arg);
}

static void
talked_end(struct features_flow_talk_client_stream *stream,
           enum vc_status status, void *arg)
{
    client_end((struct vc_stream *)stream, status, arg);
}

static enum vc_status
client_talk(struct fixture *f, struct client *c)
{
    const struct features_flow_talk_client_events events = {
        .on_message = talked_message,
        .on_writable = talked_writable,
        .on_end = talked_end,
    };
    struct features_flow_talk_client_stream *stream = NULL;
    enum vc_status status =
        features_flow_talk_start(f->channel, NULL, &events, c, &stream);

    c->stream = (struct vc_stream *)stream;
    return status;
}

/* The callbacks serve all methods, so they do not have the types of one. */
static enum vc_status
client_start(struct fixture *f, enum features_flow_method method,
             const Features__Order *order, struct client *c)
{
    return vc_stream_start(f->channel, &features_flow_service, method, order,
                           NULL, &client_events, c, &c->stream);
}

/* --- tests ------------------------------------------------------------- */

static int
setup(void **state)
{
    static struct fixture f;

    memset(&seen, 0, sizeof seen);
    memset(long_text, 'x', LENGTH);
    fixture_add = add_flow;
    features_start(&f, NULL, NULL);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    *state = &f;
    return 0;
}

static int
teardown(void **state)
{
    features_stop(*state);
    return 0;
}

static void
both_ends_talk_by_callbacks_and_all_comes_in_order(void **state)
{
    struct fixture *f = *state;
    static struct client c = {.pumping = PTHREAD_MUTEX_INITIALIZER,
                              .to_send = MESSAGES,
                              .pauses_at = 1};

    assert_status(VC_OK, client_talk(f, &c));
    assert_status(VC_OK, client_pump(&c));
    fixture_await(&c.full, 1); /* the client has read one message, and then
                                * paused */
    fixture_await(&c.messages, 1);
    vc_stream_resume(c.stream);

    fixture_await(&c.ends, 1);
    assert_status(VC_OK, c.status);
    assert_int_equal(MESSAGES, atomic_load(&c.messages));
    assert_int_equal(0, c.out_of_order);
    assert_true(atomic_load(&c.writable) > 0);
    fixture_await(&seen.ends, 1);
    assert_int_equal(MESSAGES, atomic_load(&seen.messages));
    assert_int_equal(1, atomic_load(&seen.half_closes));
    assert_int_equal(0, seen.out_of_order);
    assert_status(VC_OK, seen.end_status);
    assert_int_equal(0, atomic_load(&seen.cancels));
    vc_stream_close(c.stream);
}

static void
a_receiver_that_pauses_stops_the_sender_until_it_resumes(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(POURED, long_text);
    static struct client c = {.pauses_at = 1};

    assert_status(VC_OK, client_start(f, FEATURES_FLOW_DOWN, &order, &c));
    fixture_await(&c.messages, 1);
    fixture_await(&seen.full, 1); /* the window is full of unread messages */
    assert_int_equal(1, atomic_load(&c.messages));
    assert_int_equal(0, atomic_load(&seen.ends));

    vc_stream_resume(c.stream);

    fixture_await(&c.ends, 1);
    assert_status(VC_OK, c.status);
    assert_int_equal(POURED, atomic_load(&c.messages));
    assert_int_equal(0, c.out_of_order);
    assert_true(atomic_load(&seen.writable) > 0);
    fixture_await(&seen.ends, 1);
    vc_stream_close(c.stream);
}

static void
a_server_that_reads_a_stream_answers_with_its_sum(void **state)
{
    struct fixture *f = *state;
    static struct client c = {.pumping = PTHREAD_MUTEX_INITIALIZER,
                              .to_send = 10};

    assert_status(VC_OK, client_start(f, FEATURES_FLOW_UP, NULL, &c));
    assert_status(VC_OK, client_pump(&c));

    fixture_await(&c.ends, 1);
    assert_status(VC_OK, c.status);
    assert_int_equal(1, atomic_load(&c.messages));
    assert_int_equal(45, c.last_tag);
    fixture_await(&seen.ends, 1);
    assert_int_equal(10, atomic_load(&seen.messages));
    assert_int_equal(1, atomic_load(&seen.half_closes));
    vc_stream_close(c.stream);
}

static void
a_cancelled_stream_ends_at_both_ends(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(0, "first");
    static struct client c = {.to_send = 0};
    bool sent;

    assert_status(VC_OK, client_talk(f, &c));
    assert_status(VC_OK, vc_stream_try_send(c.stream, &order, &sent));
    assert_true(sent);
    fixture_await(&c.messages, 1);

    vc_stream_cancel(c.stream);

    fixture_await(&c.ends, 1);
    assert_status(VC_CANCELLED, c.status);
    fixture_await(&seen.ends, 1);
    assert_int_equal(1, atomic_load(&seen.cancels));
    assert_status(VC_CANCELLED, seen.cancel_status);
    assert_int_equal(0, atomic_load(&seen.half_closes));
    vc_stream_close(c.stream);
    assert_int_equal(1, atomic_load(&c.ends));
}

static void
a_server_ends_a_stream_with_a_status_and_a_text(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(0, "fail");
    static struct client c = {.to_send = 0};
    bool sent;

    order.failures = 1;
    assert_status(VC_OK, client_talk(f, &c));

    assert_status(VC_OK, vc_stream_try_send(c.stream, &order, &sent));

    fixture_await(&c.ends, 1);
    assert_status(VC_NOT_FOUND, c.status);
    assert_string_equal("as ordered", c.text);
    fixture_await(&seen.ends, 1);
    assert_status(VC_NOT_FOUND, seen.end_status);
    assert_int_equal(0, atomic_load(&seen.cancels));
    vc_stream_close(c.stream);
}

static void
initial_metadata_come_with_the_first_message(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(2, "blocking");
    const struct vc_metadata *initial;
    Features__Report *report = NULL;
    struct features_flow_down_client_stream *stream;
    size_t n = 9;

    assert_status(VC_OK, features_flow_down(f->channel, &order, NULL, &stream));
    assert_status(VC_OK, features_flow_down_receive(stream, &report));

    initial = features_flow_down_initial(stream, &n);

    assert_int_equal(0, report->tag);
    vc_message_free(report);
    assert_int_equal(1, n);
    assert_string_equal("server", initial[0].key);
    assert_string_equal("first", initial[0].value);
    assert_status(VC_OK, features_flow_down_receive(stream, &report));
    assert_int_equal(1, report->tag);
    vc_message_free(report);
    assert_status(VC_OK, features_flow_down_receive(stream, &report));
    assert_null(report);
    features_flow_down_close(stream);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(both_ends_talk_by_callbacks_and_all_comes_in_order),
        T(a_receiver_that_pauses_stops_the_sender_until_it_resumes),
        T(a_server_that_reads_a_stream_answers_with_its_sum),
        T(a_cancelled_stream_ends_at_both_ends),
        T(a_server_ends_a_stream_with_a_status_and_a_text),
        T(initial_metadata_come_with_the_first_message),
    };

    return fixture_main(tests);
}
