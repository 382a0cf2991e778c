/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests the code generated for asynchronous calls and streams. It uses
 * library.c, and streams of its own, whose handler runs when the client can
 * send no more. Used as run.c; "file SERVICE" writes the file of a service. */
#include "library.h"

#include "imports.vc.h"
#include "streams.vc.h"

#define MESSAGES_MAX 4

/* The messages of one direction, with a struct for all generated types. */
struct queue {
    Flow__Line items[MESSAGES_MAX];
    size_t n, taken;
};

struct vc_stream {
    struct vc_server *server; /* NULL after the handler has run */
    const struct vc_method *method;
    struct queue to_handler, to_client;
    struct queue *in, *out; /* of the current caller */
};

static struct vc_stream one;

enum vc_status
vc_stream_open(struct vc_channel *channel, const struct vc_service *service,
               unsigned method, const void *request,
               const struct vc_call_opts *opts, struct vc_stream **stream)
{
    const struct vc_method *m = &service->methods[method];

    (void)opts;
    one = (struct vc_stream){.server = channel->server, .method = m};
    one.in = &one.to_client;
    one.out = &one.to_handler;
    CHECK(m->run == NULL && m->run_stream != NULL);
    CHECK((request == NULL) == ((m->flags & VC_METHOD_CLIENT_STREAM) != 0));
    *stream = &one;
    if (request == NULL)
        return VC_OK;
    one.in = NULL; /* this handler does not receive */
    one.out = &one.to_client;
    CHECK(m->run_stream(NULL, one.server->methods, request, &one, NULL,
                        one.server->arg) == VC_OK);
    one.in = &one.to_client;
    one.server = NULL;
    return VC_OK;
}

enum vc_status
vc_stream_send(struct vc_stream *stream, const void *message)
{
    CHECK(stream->out->n < MESSAGES_MAX);
    stream->out->items[stream->out->n++] = *(const Flow__Line *)message;
    return VC_OK;
}

enum vc_status
vc_stream_try_send(struct vc_stream *stream, const void *message, bool *sent)
{
    *sent = stream->out->n < MESSAGES_MAX;
    return *sent ? vc_stream_send(stream, message) : VC_OK;
}

/* The callbacks that a stream was started with, or is served with. */
static struct vc_stream_events started, served;

enum vc_status
vc_stream_start(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts,
                const struct vc_stream_events *events, void *arg,
                struct vc_stream **stream)
{
    CHECK(arg == &started);
    started = *events;
    return vc_stream_open(channel, service, method, request, opts, stream);
}

enum vc_status
vc_stream_serve(struct vc_call *call, struct vc_stream *stream,
                const struct vc_stream_events *events, void *arg)
{
    CHECK(call == NULL && stream == &one && arg == &served);
    served = *events;
    return VC_OK;
}

/* Runs the handler of a stream to which the client sends. */
static enum vc_status
handler_run(struct vc_stream *stream, void *reply)
{
    struct vc_server *server = stream->server;
    enum vc_status status;

    stream->in = &stream->to_handler;
    stream->out = &stream->to_client;
    stream->server = NULL;
    status = stream->method->run_stream(NULL, server->methods, NULL, stream,
                                        reply, server->arg);
    stream->in = &stream->to_client;
    return status;
}

enum vc_status
vc_stream_receive(struct vc_stream *stream, void **message)
{
    if (stream->server != NULL)
        CHECK(handler_run(stream, NULL) == VC_OK);
    if (stream->in->taken < stream->in->n)
        *message = &stream->in->items[stream->in->taken++];
    return VC_OK;
}

enum vc_status
vc_stream_finish(struct vc_stream *stream, void **reply)
{
    static Flow__Sum sum;

    flow__sum__init(&sum);
    if (reply != NULL)
        *reply = &sum;
    return handler_run(stream, &sum);
}

/* The call ends before this function returns; the real library
 * never does so. */
enum vc_status
vc_channel_call_typed(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_run *run, vc_function *done, void *arg,
                      struct vc_async **call)
{
    void *reply = NULL;
    enum vc_status status;

    CHECK(call == NULL);
    status = vc_channel_call(channel, service, method, request, opts, &reply);
    run(done, status, reply, arg);
    return VC_OK;
}

/* The completion in the queue. */
static struct {
    void *tag, *reply;
} queued;

enum vc_status
vc_channel_call_queued(struct vc_channel *channel,
                       const struct vc_service *service, unsigned method,
                       const void *request, const struct vc_call_opts *opts,
                       struct vc_completions *queue, void *tag,
                       struct vc_async **call)
{
    CHECK(queue == NULL && call == NULL);
    queued.tag = tag;
    return vc_channel_call(channel, service, method, request, opts,
                           &queued.reply);
}

/* The handlers: n is answered by n + 1, n + 2; received numbers
 * are added up. */

static enum vc_status
once(struct vc_call *call, const Flow__Line *request, Flow__Sum *reply,
     void *arg)
{
    (void)call;
    (void)arg;
    reply->sum = 2 * request->number;
    return VC_OK;
}

static enum vc_status
watch(struct vc_call *call, const Flow__Line *request,
      struct flow_flow_watch_server_stream *stream, void *arg)
{
    Flow__Line line = FLOW__LINE__INIT;

    (void)call;
    (void)arg;
    for (line.number = request->number + 1; line.number <= request->number + 2;
         line.number++)
        CHECK(flow_flow_watch_server_send(stream, &line) == VC_OK);
    return VC_OK;
}

static enum vc_status
add(struct vc_call *call, struct flow_flow_add__server_stream *stream,
    Flow__Sum *reply, void *arg)
{
    Flow__Line *line;

    (void)call;
    (void)arg;
    while (flow_flow_add__server_receive(stream, &line) == VC_OK &&
           line != NULL)
        reply->sum += line->number;
    return VC_OK;
}

static enum vc_status
chat(struct vc_call *call, struct flow_flow_chat_server_stream *stream,
     void *arg)
{
    Flow__Sum sum = FLOW__SUM__INIT;
    Flow__Line *line;

    (void)call;
    (void)arg;
    while (flow_flow_chat_server_receive(stream, &line) == VC_OK &&
           line != NULL) {
        sum.sum += line->number;
        CHECK(flow_flow_chat_server_send(stream, &sum) == VC_OK);
    }
    return VC_OK;
}

static enum vc_status
tell(struct vc_call *call, const Flow__Line *request, void *arg)
{
    (void)call;
    *(int *)arg += request->number;
    return VC_OK;
}

/* The tests. */

static int told;
static struct vc_server server;
static struct vc_channel channel = {&server};

static void
start(void)
{
    static const struct flow_flow_methods methods = {
        .once = once, .watch = watch, .add_ = add, .chat = chat, .tell = tell};

    CHECK(flow_flow_add(&server, &methods, &told) == VC_OK);
}

static void
once_done(enum vc_status status, Flow__Sum *sum, void *arg)
{
    CHECK(status == VC_OK && sum->sum == 42);
    ++*(int *)arg;
    free(sum);
}

static void
test_async(void)
{
    Flow__Line line = FLOW__LINE__INIT;
    int done = 0;

    line.number = 21;
    CHECK(flow_flow_once_async(&channel, &line, NULL, once_done, &done, NULL) ==
          VC_OK);
    CHECK(done == 1);
}

static void
test_server_stream(void)
{
    Flow__Line line = FLOW__LINE__INIT, *got = NULL;
    struct flow_flow_watch_client_stream *stream;

    line.number = 5;
    CHECK(flow_flow_watch(&channel, &line, NULL, &stream) == VC_OK);
    CHECK(flow_flow_watch_receive(stream, &got) == VC_OK && got->number == 6);
    CHECK(flow_flow_watch_receive(stream, &got) == VC_OK && got->number == 7);
    CHECK(flow_flow_watch_receive(stream, &got) == VC_OK && got == NULL);
}

static void
test_client_stream(void)
{
    Flow__Line line = FLOW__LINE__INIT;
    struct flow_flow_add__client_stream *stream;
    Flow__Sum *sum = NULL;

    CHECK(flow_flow_add_(&channel, NULL, &stream) == VC_OK);
    for (line.number = 1; line.number <= 3; line.number++)
        CHECK(flow_flow_add__send(stream, &line) == VC_OK);
    CHECK(flow_flow_add__finish(stream, &sum) == VC_OK && sum->sum == 6);
}

static void
test_both_stream(void)
{
    Flow__Line line = FLOW__LINE__INIT;
    struct flow_flow_chat_client_stream *stream;
    Flow__Sum *sum = NULL;

    CHECK(flow_flow_chat(&channel, NULL, &stream) == VC_OK);
    for (line.number = 1; line.number <= 2; line.number++)
        CHECK(flow_flow_chat_send(stream, &line) == VC_OK);
    CHECK(flow_flow_chat_receive(stream, &sum) == VC_OK && sum != NULL);
    CHECK(flow_flow_chat_receive(stream, &sum) == VC_OK && sum != NULL);
    CHECK(flow_flow_chat_receive(stream, &sum) == VC_OK && sum == NULL);
}

static void
test_queued(void)
{
    Flow__Line line = FLOW__LINE__INIT;

    line.number = 4;
    CHECK(flow_flow_once_queued(&channel, &line, NULL, NULL, &line, NULL) ==
          VC_OK);
    CHECK(queued.tag == &line && ((Flow__Sum *)queued.reply)->sum == 8);
    free(queued.reply);
}

/* Callbacks have the types of their method. Each appends its name. */

static char called[64];

static void
client_message(struct flow_flow_chat_client_stream *stream, Flow__Sum *sum,
               void *arg)
{
    CHECK((struct vc_stream *)stream == &one && sum->sum == 7 &&
          arg == &started);
    strcat(called, "message ");
}

static void
client_writable(struct flow_flow_chat_client_stream *stream, void *arg)
{
    CHECK((struct vc_stream *)stream == &one && arg == &started);
    strcat(called, "writable ");
}

static void
client_end(struct flow_flow_chat_client_stream *stream, enum vc_status status,
           void *arg)
{
    CHECK((struct vc_stream *)stream == &one && arg == &started);
    CHECK(status == VC_ABORTED);
    strcat(called, "end ");
}

static void
server_message(struct flow_flow_chat_server_stream *stream, Flow__Line *line,
               void *arg)
{
    CHECK((struct vc_stream *)stream == &one && line->number == 5 &&
          arg == &served);
    strcat(called, "request ");
}

static void
server_half_close(struct flow_flow_chat_server_stream *stream, void *arg)
{
    CHECK((struct vc_stream *)stream == &one && arg == &served);
    strcat(called, "half ");
}

static void
server_cancel(struct flow_flow_chat_server_stream *stream,
              enum vc_status status, void *arg)
{
    CHECK((struct vc_stream *)stream == &one && arg == &served);
    CHECK(status == VC_CANCELLED);
    strcat(called, "cancel ");
}

static void
call_started(Flow__Sum *sum)
{
    const struct vc_stream_events *e = &started;

    e->run((vc_function *)e->on_message, VC_STREAM_ON_MESSAGE, &one, sum, VC_OK,
           &started);
    e->run((vc_function *)e->on_writable, VC_STREAM_ON_SIGNAL, &one, NULL,
           VC_OK, &started);
    e->run((vc_function *)e->on_end, VC_STREAM_ON_STATUS, &one, NULL,
           VC_ABORTED, &started);
    CHECK(e->on_half_close == NULL && e->on_cancel == NULL);
}

static void
call_served(Flow__Line *line)
{
    const struct vc_stream_events *e = &served;

    e->run((vc_function *)e->on_message, VC_STREAM_ON_MESSAGE, &one, line,
           VC_OK, &served);
    e->run((vc_function *)e->on_half_close, VC_STREAM_ON_SIGNAL, &one, NULL,
           VC_OK, &served);
    e->run((vc_function *)e->on_cancel, VC_STREAM_ON_STATUS, &one, NULL,
           VC_CANCELLED, &served);
    CHECK(e->on_writable == NULL && e->on_end == NULL);
}

static void
test_callbacks(void)
{
    static const struct flow_flow_chat_client_events events = {
        .on_message = client_message,
        .on_writable = client_writable,
        .on_end = client_end};
    static const struct flow_flow_chat_server_events server_events = {
        .on_message = server_message,
        .on_half_close = server_half_close,
        .on_cancel = server_cancel};
    struct flow_flow_chat_client_stream *stream;
    Flow__Line line = FLOW__LINE__INIT;
    Flow__Sum sum = FLOW__SUM__INIT;

    line.number = 5;
    sum.sum = 7;
    CHECK(flow_flow_chat_start(&channel, NULL, &events, &started, &stream) ==
          VC_OK);
    call_started(&sum);
    CHECK(flow_flow_chat_serve(NULL,
                               (struct flow_flow_chat_server_stream *)&one,
                               &server_events, &served) == VC_OK);
    call_served(&line);
    CHECK(strcmp(called, "message writable end request half cancel ") == 0);
}

static void
test_try_send(void)
{
    struct flow_flow_chat_server_stream *server_stream =
        (struct flow_flow_chat_server_stream *)&one;
    static const struct flow_flow_watch_client_events down = {.on_end = NULL};
    static const struct flow_flow_add__client_events up = {.on_end = NULL};
    struct flow_flow_watch_client_stream *watched;
    struct flow_flow_add__client_stream *added;
    Flow__Line line = FLOW__LINE__INIT;
    Flow__Sum sum = FLOW__SUM__INIT;
    bool sent = false;

    line.number = 5;
    CHECK(flow_flow_watch_start(&channel, &line, NULL, &down, &started,
                                &watched) == VC_OK);
    CHECK(one.out->n == 2);
    CHECK(flow_flow_add__start(&channel, NULL, &up, &started, &added) == VC_OK);
    for (unsigned i = 0; i < MESSAGES_MAX; i++)
        CHECK(flow_flow_add__try_send(added, &line, &sent) == VC_OK && sent);
    CHECK(flow_flow_add__try_send(added, &line, &sent) == VC_OK && !sent);
    one.out->n = 0;
    CHECK(flow_flow_chat_server_try_send(server_stream, &sum, &sent) == VC_OK);
    CHECK(sent && one.out->n == 1);
}

static void
test_no_handler(void)
{
    static const struct flow_flow_methods none = {.once = NULL};
    const struct vc_service *s = &flow_flow_service;

    for (unsigned i = 0; i < s->n_methods; i++) {
        const struct vc_method *m = &s->methods[i];

        CHECK((m->run == NULL) != (m->run_stream == NULL));
        CHECK(m->run == NULL ||
              m->run(NULL, &none, NULL, NULL, NULL) == VC_UNIMPLEMENTED);
        CHECK(m->run_stream == NULL ||
              m->run_stream(NULL, &none, NULL, NULL, NULL, NULL) ==
                  VC_UNIMPLEMENTED);
    }
}

static void
test_one_way(void)
{
    Flow__Line line = FLOW__LINE__INIT;

    line.number = 9;
    told = 0;
    CHECK(flow_flow_tell(&channel, &line, NULL) == VC_OK);
    CHECK(told == 9);
}

static void
test_table(void)
{
    const struct vc_method *m = flow_flow_service.methods;

    CHECK(FLOW_FLOW_ONCE == 0 && FLOW_FLOW_TELL == 4);
    CHECK(strcmp(m[FLOW_FLOW_CHAT].name, "Chat") == 0);
    CHECK(m[0].flags == VC_METHOD_IDEMPOTENT);
    CHECK(m[0].timeout_ms == 250 && m[0].max_calls == 7);
    CHECK(m[1].flags == (VC_METHOD_NO_SIDE_EFFECTS | VC_METHOD_SERVER_STREAM));
    CHECK(m[1].timeout_ms == 0 && m[1].max_calls == 0);
    CHECK(m[2].flags == VC_METHOD_CLIENT_STREAM);
    CHECK(m[2].timeout_ms == INT32_MAX && m[2].max_calls == 0);
    CHECK(m[3].flags == (VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM |
                         VC_METHOD_BLOCKING));
    CHECK(m[4].flags == VC_METHOD_ONE_WAY);
    CHECK(flow_again_service.methods[0].flags == 0);
}

static int
file_write(const char *name)
{
    static const struct vc_service *const services[] = {
        &flow_flow_service, &flow_again_service, &demo_imports_mixed_service};

    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
        if (strcmp(services[i]->name, name) == 0)
            return fwrite(services[i]->file, 1, services[i]->file_length,
                          stdout) != services[i]->file_length;
    return 2;
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"async", test_async},
        {"server_stream", test_server_stream},
        {"client_stream", test_client_stream},
        {"both_stream", test_both_stream},
        {"queued", test_queued},
        {"callbacks", test_callbacks},
        {"try_send", test_try_send},
        {"no_handler", test_no_handler},
        {"one_way", test_one_way},
        {"table", test_table},
    };

    if (argc == 3 && strcmp(argv[1], "file") == 0)
        return file_write(argv[2]);
    start();
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            free(server.methods);
            return 0;
        }
    return 2;
}
