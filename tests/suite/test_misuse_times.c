/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Misuse by calls at a wrong time: twice, too early, too late, after a free. No
 * case hangs, is silent or corrupts memory. See test_misuse.c. */
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/cancel.h>
#include <verbcall/interceptor.h>
#include <verbcall/protobuf_c.h>
#include <verbcall/verbcall.h>

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/misuse.h"
#include "tests/suite/streams.h"

/* --- twice --------------------------------------------------------------- */

static enum vc_status
call_end_before_its_handler(struct fixture *f)
{
    (void)f;
    vc_call_end(misuse_call, VC_OK);
    vc_call_end(misuse_call, VC_OK);
    return VC_OK;
}

static enum vc_status
call_ended_twice(struct fixture *f)
{
    misuse_later = true;
    return misuse_in_handler(f, call_end_before_its_handler);
}

static enum vc_status
service_added_twice(struct fixture *f)
{
    static const struct suite_other_methods methods;

    return suite_other_add(f->server, &methods, NULL);
}

static enum vc_status
runtime_freed_twice(struct fixture *f)
{
    struct vc_runtime *runtime;

    (void)f;
    misuse_need(vc_runtime_new(NULL, &runtime) == VC_OK);
    vc_runtime_free(runtime);
    vc_runtime_free(runtime);
    return VC_OK;
}

static enum vc_status
channel_closed_twice(struct fixture *f)
{
    vc_channel_close(f->channel);
    return vc_channel_close(f->channel);
}

static enum vc_status
message_freed_twice(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    misuse_need(suite_probe_echo(f->channel, &request, NULL, &reply) == VC_OK);
    vc_message_free(reply);
    vc_message_free(reply);
    return VC_OK;
}

static enum vc_status
address_listened_at_twice(struct fixture *f)
{
    return vc_server_listen(f->server, f->target);
}

/* --- after free ---------------------------------------------------------- */

static enum vc_status
call_of_a_closed_channel(struct fixture *f)
{
    vc_channel_close(f->channel);
    return misuse_echo(f, NULL);
}

static enum vc_status
port_of_a_freed_server(struct fixture *f)
{
    vc_server_free(f->server);
    return (enum vc_status)vc_server_port(f->server);
}

static enum vc_status
send_on_a_closed_stream(struct fixture *f)
{
    const Suite__EchoRequest message = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *s = misuse_talk(f);

    vc_stream_close(s);
    return vc_stream_send(s, &message);
}

static enum vc_status
next_of_freed_completions(struct fixture *f)
{
    struct vc_completions *queue;
    struct vc_completion c;

    misuse_need(vc_completions_new(f->runtime, &queue) == VC_OK);
    vc_completions_free(queue);
    return vc_completions_next(queue, 0, &c);
}

static enum vc_status
cancel_of_a_freed_canceller(struct fixture *f)
{
    struct vc_canceller *canceller;

    (void)f;
    misuse_need(vc_canceller_new(&canceller) == VC_OK);
    vc_canceller_free(canceller);
    vc_cancel(canceller);
    return VC_OK;
}

/* --- out of order -------------------------------------------------------- */

static enum vc_status
listen_after_close(struct fixture *f)
{
    enum vc_status status;

    misuse_need(vc_server_close(f->server, 10000) == VC_OK);
    status = vc_server_listen(f->server, f->target);
    vc_channel_close(f->channel);
    f->channel = NULL;
    return status;
}

static enum vc_status
result_before_the_end(struct fixture *f)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_stream *s = misuse_talk(f);

    return misuse_close_with(s, vc_stream_result(s, &result));
}

static enum vc_status
interceptor_after_a_call(struct fixture *f)
{
    struct vc_interceptor interceptor = VC_INTERCEPTOR_INIT;

    misuse_need(misuse_echo(f, NULL) == VC_OK);
    return vc_channel_intercept(f->channel, &interceptor);
}

static enum vc_status
send_after_half_close(struct fixture *f)
{
    const Suite__EchoRequest message = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *s = misuse_talk(f);

    misuse_need(vc_stream_half_close(s) == VC_OK);
    return misuse_close_with(s, vc_stream_send(s, &message));
}

static enum vc_status
try_send_without_callbacks(struct fixture *f)
{
    const Suite__EchoRequest message = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *s = misuse_talk(f);
    bool sent;

    return misuse_close_with(s, vc_stream_try_send(s, &message, &sent));
}

/* --- the table ----------------------------------------------------------- */

#define row(kind, status, says, run)                                           \
    {                                                                          \
        kind, #run, status, says, run                                          \
    }
#define aborts  VC_OK
#define refused VC_INVALID_ARGUMENT
#define state   VC_FAILED_PRECONDITION

static const struct misuse cases[] = {
    row("twice", aborts, "vc_call_end() of ", call_ended_twice),
    row("twice", VC_ALREADY_EXISTS, "suite.Other", service_added_twice),
    row("twice", aborts, "vc_runtime_free(): this is no runtime",
        runtime_freed_twice),
    row("twice", aborts, "vc_channel_close(): this is no channel",
        channel_closed_twice),
    row("twice", aborts,
        "vc_message_free(): this is no message that was received",
        message_freed_twice),
    row("twice", VC_UNAVAILABLE, "cannot listen at", address_listened_at_twice),
    row("after free", aborts, "vc_channel_call(): this is no channel",
        call_of_a_closed_channel),
    row("after free", aborts, "vc_server_port(): this is no server",
        port_of_a_freed_server),
    row("after free", aborts, "vc_stream_send(): this is no stream",
        send_on_a_closed_stream),
    row("after free", aborts, "vc_completions_next(): this is no completion",
        next_of_freed_completions),
    row("after free", aborts, "vc_cancel(): this is no canceller",
        cancel_of_a_freed_canceller),
    row("out of order", state, "has been closed", listen_after_close),
    row("out of order", state, "has not ended", result_before_the_end),
    row("out of order", state, "before the first", interceptor_after_a_call),
    row("out of order", state, "", send_after_half_close),
    row("out of order", state, "has no callbacks", try_send_without_callbacks),
};

static void
no_call_at_a_wrong_time_hangs_is_silent_or_corrupts_memory(void **s)
{
    (void)s;
    misuse_run(cases, sizeof cases / sizeof cases[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_call_at_a_wrong_time_hangs_is_silent_or_corrupts_memory),
    };

    return fixture_main(tests);
}
