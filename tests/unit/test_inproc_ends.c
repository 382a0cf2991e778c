/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ends of an inproc:// connection that close while the other end is
 * not advanced. Runtimes have no threads here: each end runs when the
 * test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <malloc.h>

#include "rpc/runtime.h"
#include "tests/suite/fixture.h"

#define TURNS    50u
#define AWAIT_MS 10000u

static void
server_start(struct fixture *f)
{
    static const struct suite_probe_methods methods = {.echo = NULL};

    strcpy(f->target, "inproc://ends");
    fixture_runtime_without_threads(&f->server_runtime);
    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &f->server));
    assert_status(VC_OK, suite_probe_add(f->server, &methods, NULL));
    assert_status(VC_OK, vc_server_listen(f->server, f->target));
}

/* Does all the work that this end has, and no more. */
static void
turn(struct vc_runtime *runtime)
{
    for (unsigned i = 0; i < TURNS; i++)
        vc_runtime_poll(runtime, 0);
}

/* --- a call that waits ---------------------------------------------------- */

struct call {
    bool over;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[256];
};

static void
call_over(enum vc_status status, Suite__CountReply *reply, void *arg)
{
    struct call *c = arg;

    c->over = true;
    c->status = status;
    c->outcome = vc_error_outcome();
    strncat(c->text, vc_error(), sizeof c->text - 1);
    vc_message_free(reply);
}

/* When it returns, the client has sent its hello, and is not
 * advanced further. */
static void
call_begin(struct fixture *f, struct call *c,
           const struct vc_channel_opts *opts)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;

    memset(c, 0, sizeof *c);
    fixture_start_client(f, opts);
    assert_status(VC_OK, suite_probe_count_async(f->channel, &request, NULL,
                                                 call_over, c, NULL));
    turn(f->runtime);
    assert_false(c->over);
}

static void
call_await(struct fixture *f, struct call *c)
{
    while (!c->over &&
           vc_runtime_poll(f->runtime, AWAIT_MS) != VC_DEADLINE_EXCEEDED)
        continue;
    assert_true(c->over);
    fixture_stop_client(f);
}

/* No part of the call was sent, so it has not run. */
static void
a_server_that_accepts_and_goes_has_not_run_a_call(void **state)
{
    struct fixture f;
    struct call c;

    (void)state;
    server_start(&f);
    call_begin(&f, &c, NULL);
    turn(f.server_runtime);
    fixture_stop_server(&f);
    call_await(&f, &c);
    assert_status(VC_UNAVAILABLE, c.status);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
}

/* Also if the server is not advanced after the request. */
static void
a_server_that_closes_turns_away_who_has_asked(void **state)
{
    struct fixture f;
    struct call c;

    (void)state;
    server_start(&f);
    call_begin(&f, &c, NULL);
    vc_server_free(f.server);
    call_await(&f, &c);
    assert_status(VC_UNAVAILABLE, c.status);
    assert_non_null(strstr(c.text, "nothing listens at inproc://ends"));
    vc_runtime_free(f.server_runtime);
}

/* --- memory ---------------------------------------------------------------- */

/* Bytes that malloc() has allocated; 0 if it is not glibc's. */
static size_t
bytes_used(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* The memory of a connection, some 256 KB, is freed with the attempt that
 * allocated it. */
static void
attempts_at_a_deaf_server_leave_no_room_behind(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f;
    size_t before;

    (void)state;
    opts.connect_timeout_ms = 10;
    server_start(&f);
    fixture_start_client(&f, &opts);
    before = bytes_used();
    for (unsigned i = 0; i < 20; i++)
        assert_status(VC_UNAVAILABLE,
                      vc_channel_connect(f.channel, &suite_probe_service));
    assert_true(bytes_used() < before + (1u << 20));
    fixture_stop_client(&f);
    fixture_stop_server(&f);
}

/* --- a server that is closed ---------------------------------------------- */

struct talk {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct suite_streams_talk_client_stream *stream;
};

static void
talk_say(struct talk *t)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    suite_streams_talk_send(t->stream, &request);
}

/* The client advances: it finds the server's end closed. */
static void
talk_ends(struct talk *t)
{
    Suite__EchoReply *reply = NULL;

    assert_int_not_equal(VC_OK, suite_streams_talk_receive(t->stream, &reply));
}

static void
talk_begin(struct talk *t, const char *target)
{
    Suite__EchoReply *reply = NULL;

    assert_status(VC_OK, vc_runtime_new(NULL, &t->runtime));
    assert_status(VC_OK,
                  vc_channel_open(t->runtime, target, NULL, &t->channel));
    assert_status(VC_OK, suite_streams_talk(t->channel, NULL, &t->stream));
    talk_say(t);
    assert_status(VC_OK, suite_streams_talk_receive(t->stream, &reply));
    vc_message_free(reply);
}

static void
talk_free(struct talk *t)
{
    suite_streams_talk_close(t->stream);
    vc_channel_close(t->channel);
    vc_runtime_free(t->runtime);
}

/* Both links send into one queue. The last packet of the first link stays there
 * after that link has ended, and the other link puts its packet after it. */
static void
clients_of_a_server_that_is_gone_send_without_harm(void **state)
{
    struct fixture f;
    struct talk one, two;

    (void)state;
    fixture_start_server(&f, 1, NULL);
    talk_begin(&one, f.target);
    talk_begin(&two, f.target);
    fixture_stop_server(&f);
    talk_say(&one);
    talk_ends(&one);
    talk_say(&two);
    talk_ends(&two);
    talk_free(&one);
    talk_free(&two);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_accepts_and_goes_has_not_run_a_call),
        cmocka_unit_test(a_server_that_closes_turns_away_who_has_asked),
        cmocka_unit_test(attempts_at_a_deaf_server_leave_no_room_behind),
        cmocka_unit_test(clients_of_a_server_that_is_gone_send_without_harm),
    };

    setenv("VC_TEST_ADDR", "inproc", 1);
    /* A connection's memory is in pages of its own: a write after it was freed
     * is a fault. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
