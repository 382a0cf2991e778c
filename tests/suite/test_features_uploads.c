/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Uploads: client streams without a time limit, and handlers that answer before
 * all messages are received. */
#include "tests/suite/feature.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/stream.h>

#define CALL_MS 50u /* the timeout of the channel's calls */
#define RESTS   70u /* more than a link has credits */
#define REST_US 11000u
#define LONG    200000u /* bytes: a message that is sent in parts */

/* --- the server -------------------------------------------------------- */

/* What the handler of Up does after the first order. */
enum {
    ALL,   /* receives all other orders */
    EARLY, /* answers at once */
    FAILS, /* fails at once */
};

static atomic_uint came; /* orders, at all handlers of Up */

/* At the deadline the status does not matter, but must not be VC_OK. */
static enum vc_status
up_end(struct vc_call *call, enum vc_status status)
{
    return status == VC_OK && vc_call_is_cancelled(call) ? VC_CANCELLED
                                                         : status;
}

static enum vc_status
up_rest(struct vc_call *call, struct features_flow_up_server_stream *stream,
        Features__Report *report)
{
    Features__Order *order = NULL;
    enum vc_status status;

    while ((status = features_flow_up_server_receive(stream, &order)) ==
               VC_OK &&
           order != NULL) {
        fixture_tell(&came);
        report->tag++;
        vc_message_free(order);
    }
    return up_end(call, status);
}

static enum vc_status
up(struct vc_call *call, struct features_flow_up_server_stream *stream,
   Features__Report *report, void *arg)
{
    Features__Order *order = NULL;
    enum vc_status status = features_flow_up_server_receive(stream, &order);
    uint64_t what;

    (void)arg;
    if (status != VC_OK || order == NULL)
        return up_end(call, status);
    fixture_tell(&came);
    what = order->tag;
    vc_message_free(order);
    report->tag = 1;
    if (what == FAILS)
        return vc_call_fail(call, VC_NOT_FOUND, "as ordered");
    return what == EARLY ? VC_OK : up_rest(call, stream, report);
}

static void
add_flow(struct vc_server *server)
{
    static const struct features_flow_methods methods = {.up = up};

    features_add(server, "first");
    assert_status(VC_OK, features_flow_add(server, &methods, NULL));
}

static int
setup(void **state)
{
    static struct fixture f;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.call_timeout_ms = CALL_MS;
    opts.connect_timeout_ms = opts.keepalive_ms = 8000;
    fixture_add = add_flow;
    features_start(&f, NULL, &opts);
    assert_status(VC_OK, vc_channel_connect(f.channel, &features_flow_service));
    *state = &f;
    return 0;
}

static int
teardown(void **state)
{
    features_stop(*state);
    return 0;
}

/* --- the client -------------------------------------------------------- */

static struct features_flow_up_client_stream *
open_up(struct fixture *f)
{
    struct features_flow_up_client_stream *stream;

    assert_status(VC_OK, features_flow_up(f->channel, NULL, &stream));
    return stream;
}

/* Makes a call that reaches its deadline, the channel's call timeout. */
static void
let_a_call_run_out_of_time(struct fixture *f)
{
    Features__Order order = features_order(1, "held");
    Features__Report *report = NULL;

    order.holds = 1;
    assert_status(VC_DEADLINE_EXCEEDED,
                  features_work_once(f->channel, &order, NULL, &report));
}

static void
a_stream_outlives_the_time_of_the_channels_calls(void **state)
{
    struct fixture *f = *state;
    struct features_flow_up_client_stream *stream = open_up(f);
    Features__Order order = features_order(ALL, "");
    Features__Report *report = NULL;

    assert_status(VC_OK, features_flow_up_send(stream, &order));
    let_a_call_run_out_of_time(f);

    assert_status(VC_OK, features_flow_up_send(stream, &order));
    assert_status(VC_OK, features_flow_up_finish(stream, &report));

    assert_int_equal(2, report->tag);
    vc_message_free(report);
    features_flow_up_close(stream);
}

/* The client has no threads, and its channel is not connected yet. */
static void
a_message_arrives_while_its_sender_rests(void **state)
{
    struct fixture *f = *state;
    struct fixture fresh = *f;
    struct features_flow_up_client_stream *stream;
    Features__Order order = features_order(ALL, "");
    Features__Report *report = NULL;

    fixture_start_client(&fresh, NULL);
    stream = open_up(&fresh);
    atomic_store(&came, 0);
    for (unsigned i = 1; i <= RESTS; i++) {
        assert_status(VC_OK, features_flow_up_send(stream, &order));
        fixture_await(&came, i);
        usleep(REST_US);
    }
    assert_status(VC_OK, features_flow_up_finish(stream, &report));

    assert_int_equal(RESTS, report->tag);
    vc_message_free(report);
    features_flow_up_close(stream);
    fixture_stop_client(&fresh);
}

static void
a_stream_ends_at_the_time_that_it_has_asked_for(void **state)
{
    struct fixture *f = *state;
    struct features_flow_up_client_stream *stream;
    Features__Report *report = NULL;

    assert_status(VC_OK, features_flow_up(f->channel,
                                          VC_CALL_OPTS(.timeout_ms = CALL_MS),
                                          &stream));

    let_a_call_run_out_of_time(f);

    assert_status(VC_DEADLINE_EXCEEDED,
                  features_flow_up_finish(stream, &report));
    features_flow_up_close(stream);
}

/* Sends until send() reports that the handler has ended, as vc_stream(3)
 * describes. */
static enum vc_status
upload(struct features_flow_up_client_stream *stream, uint64_t tag,
       const char *text, Features__Report **report)
{
    const Features__Order order = features_order(tag, text);
    enum vc_status status;

    do {
        status = features_flow_up_send(stream, &order);
    } while (status == VC_OK);
    if (status == VC_FAILED_PRECONDITION) /* the handler has answered */
        status = features_flow_up_finish(stream, report);
    return status;
}

/* With empty messages, messages of one packet, and long ones. */
static void
a_handler_that_answers_early_loses_no_reply(void **state)
{
    static char long_text[LONG + 1], short_text[2001];
    const char *texts[] = {"", short_text, long_text};
    struct fixture *f = *state;

    memset(long_text, 'l', LONG);
    memset(short_text, 's', sizeof short_text - 1);
    for (unsigned i = 0; i < 60; i++) {
        struct features_flow_up_client_stream *stream = open_up(f);
        Features__Report *report = NULL;

        assert_status(VC_OK, upload(stream, EARLY, texts[i % 3], &report));

        assert_non_null(report);
        assert_int_equal(1, report->tag);
        vc_message_free(report);
        features_flow_up_close(stream);
    }
}

static void
a_handler_that_fails_early_is_heard_by_send_and_finish(void **state)
{
    struct fixture *f = *state;
    struct features_flow_up_client_stream *stream = open_up(f);
    Features__Report *report = NULL;

    assert_status(VC_NOT_FOUND, upload(stream, FAILS, "", &report));
    assert_string_equal("as ordered", vc_error());

    assert_status(VC_NOT_FOUND, features_flow_up_finish(stream, &report));
    assert_string_equal("as ordered", vc_error());
    assert_null(report);
    features_flow_up_close(stream);
}

/* The client does not know the server's limit before it is connected. */
static void
a_message_over_the_servers_limit_says_its_length_and_the_limit(void **state)
{
    static char text[LONG + 1];
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct features_flow_up_client_stream *stream;
    Features__Order order = features_order(ALL, text);
    Features__Report *report = NULL;
    struct fixture f;

    (void)state;
    memset(text, 'l', LONG);
    opts.max_message = 65536;
    fixture_add = add_flow;
    features_start(&f, &opts, NULL);
    stream = open_up(&f);
    features_flow_up_send(stream, &order); /* it may end meanwhile, or not */
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_flow_up_finish(stream, &report));
    assert_non_null(strstr(
        vc_error(), "features.Flow.Up: a message was dropped: it has 200004 "
                    "bytes, the server accepts 65536 at most (its "
                    "max_message): send less, or raise it"));
    features_flow_up_close(stream);
    features_stop(&f);
}

/* Its messages, sent before there is a link, go with it; that is no retry. */
static void
one_that_was_not_sent_goes_to_another_server(void **state)
{
    struct features_flow_up_client_stream *stream;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    Features__Order order = features_order(ALL, "");
    struct fixture *f = *state, dead = {0};
    Features__Report *report = NULL;
    struct vc_channel *channel;
    char target[200];

    fixture_start_server(&dead, 1, NULL);
    fixture_stop_server(&dead);
    snprintf(target, sizeof target, "list:%s,%s", dead.target, f->target);
    opts.max_attempts = 1;
    assert_status(VC_OK, vc_channel_open(f->runtime, target, &opts, &channel));
    assert_status(VC_OK, features_flow_up(channel, NULL, &stream));
    for (unsigned i = 0; i < 10; i++)
        assert_status(VC_OK, features_flow_up_send(stream, &order));
    assert_status(VC_OK, features_flow_up_finish(stream, &report));
    assert_int_equal(10, report->tag);
    vc_message_free(report);
    features_flow_up_close(stream);
    vc_channel_close(channel);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_stream_outlives_the_time_of_the_channels_calls),
        T(a_message_arrives_while_its_sender_rests),
        T(a_stream_ends_at_the_time_that_it_has_asked_for),
        T(a_handler_that_answers_early_loses_no_reply),
        T(a_handler_that_fails_early_is_heard_by_send_and_finish),
        T(one_that_was_not_sent_goes_to_another_server),
        cmocka_unit_test(
            a_message_over_the_servers_limit_says_its_length_and_the_limit),
    };

    return fixture_main(tests);
}
