/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How calls end whose handlers have run: the handlers' results, failures with
 * the reply, and faults on its way back. See doc/outcomes.md. */
#include <string.h>

#include "tests/sim/outcomes.h"

#define ECHO 0u
#define BULK 1000000u /* more than a link's credits */

/* --- what the handler returns -------------------------------------------- */

static void
handler_is_good(struct play *p)
{
    play_meet(p);
    play_call(p);
}

static void
handler_fails(struct play *p)
{
    p->handler_status = VC_NOT_FOUND;
    play_meet(p);
    play_call(p);
}

static void
handler_fails_as_the_library_does(struct play *p)
{
    p->handler_status = VC_UNAVAILABLE;
    play_meet(p);
    play_call(p);
}

static void
handler_returns_no_status(struct play *p)
{
    p->handler_status = (enum vc_status)99;
    play_meet(p);
    play_call(p);
}

static void
handler_is_answered_for_later(struct play *p)
{
    p->handler_status = VC_NOT_FOUND;
    p->answers_later = true;
    play_meet(p);
    play_call(p);
}

/* --- failures with the reply --------------------------------------------- */

static ProtobufCMessageDescriptor strict;
static ProtobufCFieldDescriptor strict_fields[2];

/* Makes the payload a required field, and leaves it out. */
static void
leave_out(struct play *p, Suite__EchoReply *reply)
{
    (void)p;
    strict = suite__echo_reply__descriptor;
    memcpy(strict_fields, strict.fields, sizeof strict_fields);
    strict_fields[0].label = PROTOBUF_C_LABEL_REQUIRED;
    strict.fields = strict_fields;
    reply->base.descriptor = &strict;
    reply->payload.data = NULL;
    reply->payload.len = 1;
}

static void
reply_incomplete(struct play *p)
{
    p->inside = leave_out;
    play_meet(p);
    play_call(p);
}

static void
reply_over_our_limit(struct play *p)
{
    p->channel_opts.max_message = 4096;
    p->reply_size = 5000;
    play_meet(p);
    play_call(p);
}

/* The client takes the reply for a message of another type. */
static void
reply_malformed(struct play *p)
{
    play_meet(p);
    play_method(p, ECHO)->reply.desc = &suite__nested__descriptor;
    play_call(p);
}

static void
starve_server(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    fake_fail_memory(p->server.process, 1);
}

static void
no_memory_for_the_reply_there(struct play *p)
{
    p->inside = starve_server;
    p->reply_size = PLAY_LONG;
    play_meet(p);
    play_call(p);
}

static void
starve_client(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    fake_fail_memory(p->here, 1);
}

static void
no_memory_for_the_reply(struct play *p)
{
    p->inside = starve_client;
    play_connect(p); /* a former reply would leave it memory */
    play_call(p);
}

/* Other calls on the same link go on. */
static void
no_memory_to_begin_a_long_reply(struct play *p)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    p->inside = starve_client;
    p->reply_size = PLAY_LONG;
    play_meet(p);
    play_other_begin(p);
    play_await_handler(p);
    play_call(p);
    play_other_end(p);
    assert_int_equal(VC_OK, p->other_status);
    vc_runtime_counters(p->runtime, &c);
    assert_int_equal(0, c.links_lost);
    assert_int_equal(1, c.links_made);
}

static void
starve_client_later(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    fake_fail_memory(p->here, 2);
}

static void
no_memory_for_a_long_reply(struct play *p)
{
    p->inside = starve_client_later;
    p->reply_size = PLAY_LONG;
    play_meet(p);
    play_call(p);
}

/* --- on its way back ----------------------------------------------------- */

static void
cut_off(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    play_cut_wire(p);
}

/* The network returns when the server is dead. */
static void
killed_as_it_replies(struct play *p)
{
    p->inside = cut_off;
    play_meet(p);
    play_begin(p);
    fake_sleep_us(20 * MS);
    assert_int_equal(1, atomic_load(&p->runs));
    play_kill_server(p);
    fake_wire_cut(fake_host_local(), p->there, false);
    play_finish(p);
}

static void
killed_once_the_reply_is_there(struct play *p)
{
    play_meet(p);
    fake_when("completion RECV", 2, play_kill_server, p);
    play_call(p);
}

static void
link_lost_with_the_reply(struct play *p)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    play_meet(p);
    fake_rule(": SEND", 2, FAKE_FLUSH, 0);
    play_call(p);
    vc_runtime_counters(atomic_load(&p->server.runtime), &c);
    assert_int_equal(1, c.calls_answered_again);
}

static void
deadline_with_half_a_reply(struct play *p)
{
    p->opts.timeout_ms = 300;
    p->reply_size = BULK;
    play_meet(p);
    fake_when("main qp", 20, play_freeze_server, p);
    play_call(p);
}

static void
killed_with_half_a_reply(struct play *p)
{
    p->reply_size = BULK;
    play_meet(p);
    fake_when("main qp", 20, play_kill_server, p);
    play_call(p);
}

static void
link_lost_with_half_a_reply(struct play *p)
{
    p->reply_size = BULK;
    play_meet(p);
    fake_rule("main qp", 20, FAKE_FLUSH, 0);
    play_call(p);
}

static const struct row rows[] = {
    ROW(handler_is_good, OK, EXECUTED),
    ROW(handler_fails, NOT_FOUND, EXECUTED),
    ROW(handler_fails_as_the_library_does, UNAVAILABLE, EXECUTED),
    ROW(handler_returns_no_status, UNKNOWN, EXECUTED),
    ROW(handler_is_answered_for_later, NOT_FOUND, EXECUTED),

    ROW(reply_incomplete, INTERNAL, EXECUTED),
    ROW(reply_over_our_limit, RESOURCE_EXHAUSTED, EXECUTED),
    ROW(reply_malformed, INTERNAL, EXECUTED),
    ROW(no_memory_for_the_reply_there, RESOURCE_EXHAUSTED, EXECUTED),
    ROW(no_memory_for_the_reply, RESOURCE_EXHAUSTED, EXECUTED),
    ROW(no_memory_to_begin_a_long_reply, RESOURCE_EXHAUSTED, EXECUTED),
    ROW(no_memory_for_a_long_reply, RESOURCE_EXHAUSTED, EXECUTED),

    ROW(killed_as_it_replies, UNAVAILABLE, UNKNOWN),
    ROW(killed_once_the_reply_is_there, OK, EXECUTED),
    ROW(killed_with_half_a_reply, UNAVAILABLE, UNKNOWN),
    ROW(link_lost_with_the_reply, OK, EXECUTED),
    ROW(link_lost_with_half_a_reply, OK, EXECUTED),
    ROW(deadline_with_half_a_reply, DEADLINE_EXCEEDED, UNKNOWN),
};

int
main(void)
{
    return play_rows(rows, sizeof rows / sizeof rows[0]);
}
