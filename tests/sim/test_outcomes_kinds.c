/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How other kinds of calls end: calls without a reply, calls with several
 * attempts, and streams. See doc/outcomes.md. */
#include <string.h>

#include <verbcall/stream.h>

#include "tests/sim/outcomes.h"
#include "tests/suite/streams.h"

#define ECHO 0u
#define LAST 5u

/* --- calls without a reply ----------------------------------------------- */

/* Makes a one-way copy of Echo with another index, so that the concurrent call
 * is not one-way. */
static void
one_way(struct play *p)
{
    struct vc_method *m = play_method(p, LAST);

    *m = p->service->methods[ECHO];
    m->flags |= VC_METHOD_ONE_WAY;
}

/* A blocking caller learns only that the call was sent. An asynchronous caller
 * learns the handler's result. */
static void
one_way_handed_on(struct play *p)
{
    one_way(p);
    play_meet(p);
    play_call(p);
    if (p->kind == PLAY_BLOCKING)
        fake_sleep_us(10 * MS);
}

static void
one_way_to_nobody(struct play *p)
{
    one_way(p);
    play_open(p);
    play_call(p);
}

static void
one_way_deadline_in_the_queue(struct play *p)
{
    one_way(p);
    p->opts.timeout_ms = 300;
    p->channel_opts.quota = 1;
    play_connect(p);
    play_other_begin(p);
    play_await_handler(p);
    play_call(p);
    play_other_end(p);
}

/* --- calls of several attempts ------------------------------------------- */

static void
may_be_tried_again(struct play *p, uint32_t flags)
{
    p->opts.flags = 0;
    play_method(p, ECHO)->flags |= flags;
}

static void
kill_it(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    play_kill_server(p);
    fake_sleep_us(S); /* it is killed in this time */
}

/* The last attempt was not executed, but the first may have been. */
static void
all_attempts_fail(struct play *p)
{
    may_be_tried_again(p, VC_METHOD_IDEMPOTENT);
    p->inside = kill_it;
    play_meet(p);
    play_call(p);
    assert_int_equal(3, p->result.attempts);
}

static void
no_second_attempt_of_what_may_have_run(struct play *p)
{
    may_be_tried_again(p, 0);
    p->inside = kill_it;
    play_meet(p);
    play_call(p);
    assert_int_equal(1, p->result.attempts);
}

static void
deadline_while_it_waits_for_a_server(struct play *p)
{
    p->opts.flags = VC_CALL_WAIT_FOR_READY;
    p->opts.timeout_ms = 1000;
    play_open(p);
    play_call(p);
}

static void
cancelled_between_two_attempts(struct play *p)
{
    p->opts.flags = VC_CALL_WAIT_FOR_READY;
    play_open(p);
    play_cancellable(p);
    play_begin(p);
    fake_sleep_us(300 * MS);
    play_cancel(p);
    play_finish(p);
}

static void
closed_between_two_attempts(struct play *p)
{
    p->opts.flags = VC_CALL_WAIT_FOR_READY;
    play_open(p);
    play_begin(p);
    fake_sleep_us(300 * MS);
    play_close_channel(p);
    play_finish(p);
}

static void
killed_under_a_hedge(struct play *p)
{
    play_method(p, ECHO)->flags |= VC_METHOD_NO_SIDE_EFFECTS;
    p->opts.hedge_ms = 5;
    p->holds = true;
    play_meet(p);
    play_begin(p);
    play_await_handler(p);
    while (atomic_load(&p->runs) < 2)
        fake_sleep_us(MS);
    play_kill_server(p);
    play_finish(p);
    atomic_store(&p->runs, 1); /* once for each attempt */
}

/* --- streams -------------------------------------------------------------- */

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return suite_streams_add(server, &streams_methods, NULL);
}

static struct suite_streams_talk_client_stream *
talk_open(struct play *p)
{
    struct suite_streams_talk_client_stream *stream;

    p->opts.result = NULL;
    if (suite_streams_talk(p->channel, &p->opts, &stream) != VC_OK)
        fail_msg("%s", vc_error());
    return stream;
}

/* Begins a stream, with one message in each direction. */
static struct suite_streams_talk_client_stream *
talk_begin(struct play *p)
{
    struct suite_streams_talk_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;

    p->server.add = streams_add;
    play_meet(p);
    stream = talk_open(p);
    assert_int_equal(VC_OK, suite_streams_talk_send(stream, &request));
    assert_int_equal(VC_OK, suite_streams_talk_receive(stream, &reply));
    vc_message_free(reply);
    return stream;
}

/* Ends the stream with the status that a receive gets. */
static void
talk_end(struct play *p, struct suite_streams_talk_client_stream *stream)
{
    Suite__EchoReply *reply = NULL;

    play_ended(p, suite_streams_talk_receive(stream, &reply));
    vc_message_free(reply);
    suite_streams_talk_close(stream);
}

/* Handlers of streams do not count their runs. So the test counts the run of a
 * good one. */
static void
talk_ran(struct play *p)
{
    atomic_store(&p->runs, 1);
}

static void
stream_to_nobody(struct play *p)
{
    play_open(p);
    talk_end(p, talk_open(p));
}

static void
stream_deadline_while_connecting(struct play *p)
{
    p->opts.timeout_ms = 300;
    play_serve(p);
    play_open(p);
    play_cut_wire(p);
    talk_end(p, talk_open(p));
}

static void
stream_of_an_unknown_service(struct play *p)
{
    play_meet(p);
    talk_end(p, talk_open(p));
}

static void
stream_is_good(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    assert_int_equal(VC_OK, suite_streams_talk_half_close(stream));
    talk_end(p, stream);
    talk_ran(p);
}

static void
stream_handler_fails(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.tag = 1;
    assert_int_equal(VC_OK, suite_streams_talk_send(stream, &request));
    talk_end(p, stream);
    talk_ran(p);
}

/* The server is frozen. Otherwise its handler, which has the same deadline,
 * might end the stream. */
static void
stream_deadline(struct play *p)
{
    struct suite_streams_talk_client_stream *stream;

    p->opts.timeout_ms = 300;
    stream = talk_begin(p);
    play_freeze_server(p);
    talk_end(p, stream);
}

static void
stream_cancelled(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    suite_streams_talk_cancel(stream);
    talk_end(p, stream);
}

static void
stream_channel_closed(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    play_close_channel(p);
    talk_end(p, stream);
}

static void
stream_link_lost(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    fake_rule("main qp", 1, FAKE_FLUSH, 0); /* a PING */
    talk_end(p, stream);
}

static void
stream_server_killed(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    play_kill_server(p);
    talk_end(p, stream);
}

static void
stream_server_silent(struct play *p)
{
    struct suite_streams_talk_client_stream *stream = talk_begin(p);

    play_freeze_server(p);
    talk_end(p, stream);
}

static const struct row rows[] = {
    ROW(one_way_handed_on, OK, EXECUTED),
    ROW(one_way_to_nobody, UNAVAILABLE, NOT_EXECUTED),
    ROW(one_way_deadline_in_the_queue, DEADLINE_EXCEEDED, NOT_EXECUTED),

    ROW(all_attempts_fail, UNAVAILABLE, UNKNOWN),
    ROW(no_second_attempt_of_what_may_have_run, UNAVAILABLE, UNKNOWN),
    ROW(deadline_while_it_waits_for_a_server, DEADLINE_EXCEEDED, NOT_EXECUTED),
    ROW(cancelled_between_two_attempts, CANCELLED, NOT_EXECUTED),
    ROW(closed_between_two_attempts, CANCELLED, NOT_EXECUTED),
    ROW(killed_under_a_hedge, UNAVAILABLE, UNKNOWN),

    ROW(stream_to_nobody, UNAVAILABLE, NOT_EXECUTED),
    ROW(stream_deadline_while_connecting, DEADLINE_EXCEEDED, NOT_EXECUTED),
    ROW(stream_of_an_unknown_service, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(stream_is_good, OK, EXECUTED),
    ROW(stream_handler_fails, NOT_FOUND, EXECUTED),
    ROW(stream_deadline, DEADLINE_EXCEEDED, UNKNOWN),
    ROW(stream_cancelled, CANCELLED, UNKNOWN),
    ROW(stream_channel_closed, CANCELLED, UNKNOWN),
    ROW(stream_link_lost, UNAVAILABLE, UNKNOWN),
    ROW(stream_server_killed, UNAVAILABLE, UNKNOWN),
    ROW(stream_server_silent, UNAVAILABLE, UNKNOWN),
};

int
main(void)
{
    return play_rows(rows, sizeof rows / sizeof rows[0]);
}
