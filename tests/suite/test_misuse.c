/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Misuse by wrong arguments: no case hangs, is silent or corrupts memory. For
 * calls at a wrong time see test_misuse_times.c, in wrong places
 * test_misuse_places.c. The rows are those of doc/bad-input.md. */
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/cancel.h>
#include <verbcall/interceptor.h>
#include <verbcall/protobuf_c.h>
#include <verbcall/verbcall.h>

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/misuse.h"
#include "tests/suite/streams.h"

#define ECHO SUITE_PROBE_ECHO

static enum vc_status
call_with(struct fixture *f, unsigned method, const void *request)
{
    void *reply;

    return vc_channel_call(f->channel, &suite_probe_service, method, request,
                           NULL, &reply);
}

static enum vc_status
open_with(struct fixture *f, const struct vc_channel_opts *opts)
{
    struct vc_channel *channel;

    return vc_channel_open(f->runtime, f->target, opts, &channel);
}

/* As a program's own message may lie in memory. */
static enum vc_status
free_own_message(struct fixture *f)
{
    static struct {
        uint64_t before[2];
        Suite__EchoReply reply;
    } own = {.reply = SUITE__ECHO_REPLY__INIT};

    (void)f;
    vc_message_free(&own.reply);
    return VC_OK;
}

/* --- no INIT ------------------------------------------------------------- */

static enum vc_status
message_without_init(struct fixture *f)
{
    static const Suite__EchoRequest zeros;

    return call_with(f, ECHO, &zeros);
}

static enum vc_status
result_without_init(struct fixture *f)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = {0};

    opts.result = &result;
    return misuse_echo(f, &opts);
}

static enum vc_status
stream_result_without_init(struct fixture *f)
{
    struct vc_stream *s = misuse_talk(f);
    struct vc_result result = {0};

    return misuse_close_with(s, vc_stream_result(s, &result));
}

static enum vc_status
events_without_init(struct fixture *f)
{
    struct vc_stream_events events = {0};
    struct vc_stream *s;

    return vc_stream_start(f->channel, &suite_streams_service, TALK, NULL, NULL,
                           &events, NULL, &s);
}

static enum vc_status
interceptor_without_init(struct fixture *f)
{
    struct vc_interceptor interceptor = {0};

    return vc_channel_intercept(f->channel, &interceptor);
}

static enum vc_status
call_opts_without_init(struct fixture *f)
{
    const struct vc_call_opts opts = {.timeout_ms = 100};

    return misuse_echo(f, &opts);
}

static enum vc_status
channel_opts_without_init(struct fixture *f)
{
    const struct vc_channel_opts opts = {.max_links = 2};

    return open_with(f, &opts);
}

static enum vc_status
server_opts_without_init(struct fixture *f)
{
    const struct vc_server_opts opts = {.max_message = 4096};
    struct vc_server *server;

    return vc_server_new(f->server_runtime, &opts, &server);
}

static enum vc_status
runtime_opts_without_init(struct fixture *f)
{
    const struct vc_runtime_opts opts = {.threads = 2};
    struct vc_runtime *runtime;

    (void)f;
    return vc_runtime_new(&opts, &runtime);
}

static enum vc_status
counters_without_init(struct fixture *f)
{
    struct vc_counters counters = {0};

    return vc_runtime_counters(f->runtime, &counters);
}

/* --- wrong type ---------------------------------------------------------- */

static enum vc_status
request_of_another_method(struct fixture *f)
{
    const Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;

    return call_with(f, ECHO, &request);
}

static enum vc_status
message_of_another_stream(struct fixture *f)
{
    const Suite__Empty message = SUITE__EMPTY__INIT;
    struct vc_stream *s = misuse_talk(f);

    return misuse_close_with(s, vc_stream_send(s, &message));
}

static enum vc_status
server_for_a_channel(struct fixture *f)
{
    return vc_channel_connect((struct vc_channel *)f->server,
                              &suite_probe_service);
}

static enum vc_status
queue_of_another_runtime(struct fixture *f)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_completions *queue;
    enum vc_status status;

    misuse_need(vc_completions_new(f->server_runtime, &queue) == VC_OK);
    status = vc_channel_call_queued(f->channel, &suite_probe_service, ECHO,
                                    &request, NULL, queue, NULL, NULL);
    vc_completions_free(queue);
    return status;
}

static enum vc_status
stream_of_a_method_without(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *s;

    return vc_stream_open(f->channel, &suite_probe_service, ECHO, &request,
                          NULL, &s);
}

static enum vc_status
call_of_a_method_that_streams(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    void *reply;

    return vc_channel_call(f->channel, &suite_streams_service, DOWN, &request,
                           NULL, &reply);
}

/* --- NULL ---------------------------------------------------------------- */

static enum vc_status
null_channel(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    (void)f;
    return suite_probe_echo(NULL, &request, NULL, &reply);
}

static enum vc_status
null_request(struct fixture *f)
{
    return call_with(f, ECHO, NULL);
}

static enum vc_status
null_reply(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    return suite_probe_echo(f->channel, &request, NULL, NULL);
}

static enum vc_status
null_server(struct fixture *f)
{
    return vc_server_listen(NULL, f->target);
}

static enum vc_status
null_runtime(struct fixture *f)
{
    (void)f;
    return vc_runtime_poll(NULL, 0);
}

static enum vc_status
null_limited(struct fixture *f)
{
    (void)f;
    return vc_server_limit(NULL, &suite_probe_service, 1);
}

static enum vc_status
null_loop(struct fixture *f)
{
    (void)f;
    return vc_runtime_fd(NULL) < 0 ? VC_INVALID_ARGUMENT : VC_OK;
}

static enum vc_status
null_for_protobuf_c(struct fixture *f)
{
    const ProtobufCServiceDescriptor *d = &lookup__directory__descriptor;
    const struct vc_service *service;
    ProtobufCService *stub;

    if (vc_runtime_service(NULL, d, &service) != VC_INVALID_ARGUMENT ||
        vc_channel_service(NULL, d, NULL, NULL, &stub) != VC_INVALID_ARGUMENT)
        return VC_OK;
    return vc_server_add_protobuf_c(f->server, NULL, 0);
}

static enum vc_status
null_closures(struct fixture *f)
{
    (void)f;
    return vc_closures_run(NULL, 0);
}

static enum vc_status
null_call(struct fixture *f)
{
    (void)f;
    vc_call_end(NULL, VC_OK);
    return VC_OK;
}

static enum vc_status
null_done(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    return suite_probe_echo_async(f->channel, &request, NULL, NULL, NULL, NULL);
}

static enum vc_status
null_target(struct fixture *f)
{
    struct vc_channel *channel;

    return vc_channel_open(f->runtime, NULL, NULL, &channel);
}

static enum vc_status
null_message(struct fixture *f)
{
    struct vc_stream *s = misuse_talk(f);

    return misuse_close_with(
        s, suite_streams_talk_receive(
               (struct suite_streams_talk_client_stream *)s, NULL));
}

static enum vc_status
null_stream(struct fixture *f)
{
    struct vc_result result = VC_RESULT_INIT;

    (void)f;
    return vc_stream_result(NULL, &result);
}

static enum vc_status
null_result(struct fixture *f)
{
    struct vc_stream *s = misuse_talk(f);

    return misuse_close_with(s, vc_stream_result(s, NULL));
}

static enum vc_status
null_events(struct fixture *f)
{
    struct vc_stream *s;

    return vc_stream_start(f->channel, &suite_streams_service, TALK, NULL, NULL,
                           NULL, NULL, &s);
}

static enum vc_status
null_interceptor(struct fixture *f)
{
    return vc_channel_intercept(f->channel, NULL);
}

static enum vc_status
null_counters(struct fixture *f)
{
    return vc_runtime_counters(f->runtime, NULL);
}

/* --- out of range -------------------------------------------------------- */

static enum vc_status
timeout_too_long(struct fixture *f)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = UINT32_C(1) << 31;
    return misuse_echo(f, &opts);
}

static enum vc_status
method_that_is_none(struct fixture *f)
{
    return call_with(f, 99, NULL);
}

static enum vc_status
weight_too_high(struct fixture *f)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.weight = 1000;
    return open_with(f, &opts);
}

static enum vc_status
priority_that_is_none(struct fixture *f)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.priority = 7;
    return misuse_echo(f, &opts);
}

static enum vc_status
threads_too_many(struct fixture *f)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_runtime *runtime;

    (void)f;
    opts.handler_threads = 100000;
    return vc_runtime_new(&opts, &runtime);
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
    row("no INIT", refused, "suite.EchoRequest", message_without_init),
    row("no INIT", refused, "VC_RESULT_INIT", result_without_init),
    row("no INIT", refused, "VC_RESULT_INIT", stream_result_without_init),
    row("no INIT", refused, "VC_STREAM_EVENTS_INIT", events_without_init),
    row("no INIT", refused, "VC_INTERCEPTOR_INIT", interceptor_without_init),
    row("no INIT", refused, "VC_CALL_OPTS_INIT", call_opts_without_init),
    row("no INIT", refused, "VC_CHANNEL_OPTS_INIT", channel_opts_without_init),
    row("no INIT", refused, "VC_SERVER_OPTS_INIT", server_opts_without_init),
    row("no INIT", refused, "VC_RUNTIME_OPTS_INIT", runtime_opts_without_init),
    row("no INIT", refused, "VC_COUNTERS_INIT", counters_without_init),
    row("wrong type", refused, "is of type suite.FailRequest, and must be of",
        request_of_another_method),
    row("wrong type", refused, "is of type suite.Empty, and must be of type",
        message_of_another_stream),
    row("wrong type", aborts, "this is no channel", server_for_a_channel),
    row("wrong type", refused, "the completion queue is of another runtime",
        queue_of_another_runtime),
    row("wrong type", refused, "suite.Probe.Echo does not stream",
        stream_of_a_method_without),
    row("wrong type", refused, "suite.Streams.Down streams",
        call_of_a_method_that_streams),
    row("wrong type", aborts,
        "vc_message_free(): this is no message that was received",
        free_own_message),
    row("NULL", refused, "the channel is NULL", null_channel),
    row("NULL", refused, "Echo: the request is NULL", null_request),
    row("NULL", refused, "reply is NULL", null_reply),
    row("NULL", refused, "the server is NULL", null_server),
    row("NULL", refused, "the runtime is NULL", null_runtime),
    row("NULL", refused, "the server is NULL", null_limited),
    row("NULL", refused, "the runtime is NULL", null_loop),
    row("NULL", refused, "the service is NULL", null_for_protobuf_c),
    row("NULL", refused, "the closure queue is NULL", null_closures),
    row("NULL", aborts, "the call is NULL", null_call),
    row("NULL", refused, "done is NULL", null_done),
    row("NULL", refused, "\"\"", null_target),
    row("NULL", refused, "the stream is NULL", null_stream),
    row("NULL", refused, "Talk: where the message", null_message),
    row("NULL", refused, "vc_result is NULL", null_result),
    row("NULL", refused, "vc_stream_events is NULL", null_events),
    row("NULL", refused, "vc_interceptor is NULL", null_interceptor),
    row("NULL", refused, "vc_counters is NULL", null_counters),
    row("out of range", refused, "timeout_ms", timeout_too_long),
    row("out of range", refused, "number 99 is out of range",
        method_that_is_none),
    row("out of range", refused, "weight", weight_too_high),
    row("out of range", refused, "priority", priority_that_is_none),
    row("out of range", refused, "handler_threads", threads_too_many),
};

static void
no_wrong_argument_hangs_is_silent_or_corrupts_memory(void **s)
{
    (void)s;
    misuse_run(cases, sizeof cases / sizeof cases[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wrong_argument_hangs_is_silent_or_corrupts_memory),
    };

    return fixture_main(tests);
}
