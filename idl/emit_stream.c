/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The types and functions of x.vc.h for one method's stream. Each end has a
 * type of its own, so that a helper of another method does not compile. To the
 * library they are a struct vc_stream, and all functions are inline.
 *
 * emit_header.c calls emit_stream_types() and then emit_stream() for each
 * method with a stream, on the only thread of the plugin. All static functions
 * run within emit_stream(). Text goes to the end of `out`; strings made for
 * that lie in its arena. */
#include "idl/emit.h"

#include <string.h>

/* One end of a method's stream. */
struct end {
    struct text *out;
    const struct model_service *service;
    const struct model_method *method;
    const char *name;   /* of the method in C, as "demo_log_watch" */
    const char *side;   /* "client" or "server" */
    const char *verbs;  /* stands between name and verb: "" or "server_" */
    const char *stream; /* "struct demo_log_watch_client_stream" */
    const char *sends;  /* type of a sent message; NULL: it sends none */
    const char *gets;   /* the same for received ones */
};

#define SHAPE_MAX 4 /* further arguments */

/* A typed wrapper of a function of the stream. */
struct shape {
    const char *type; /* of the return value */
    const char *verb;
    const char *args[SHAPE_MAX], *values[SHAPE_MAX]; /* after the stream */
};

/* Returns how many further arguments a shape has. Called by shape_emit(). */
static size_t
list_length(const char *const *list)
{
    size_t n = 0;

    while (n < SHAPE_MAX && list[n] != NULL)
        n++;
    return n;
}

/* Emits the head of a function and the opening of its body. Called by
 * shape_emit(), receive_emit(), start_emit() and both for finish(). */
static void
function_head(const struct end *e, const char *type, const char *verb,
              const char *const *args, size_t n)
{
    text_addf(e->out, "static inline %s\n", type);
    emit_list(e->out,
              arena_printf(e->out->arena, "%s_%s%s(", e->name, e->verbs, verb),
              args, n, ")\n{\n");
}

/* Emits the comment before a function: the end that calls it, and the library's
 * function. Called by send_emit(), receive_emit(), messages_emit(), ends_emit()
 * and both for finish(). */
static void
function_note(const struct end *e, const char *what)
{
    text_addf(e->out, "\n/* The %s %s */\n",
              e->side[0] == 'c' ? "client" : "handler", what);
}

/* Emits a function that calls the library's one with the same stream. Called by
 * send_emit(), messages_emit() and ends_emit(). */
static void
shape_emit(const struct end *e, const struct shape *s)
{
    struct arena *arena = e->out->arena;
    const char *args[1 + SHAPE_MAX], *values[1 + SHAPE_MAX];
    size_t n = list_length(s->args);

    args[0] = arena_printf(arena, "%s *stream", e->stream);
    values[0] = "(struct vc_stream *)stream";
    for (size_t i = 0; i < n; i++) {
        args[1 + i] = s->args[i];
        values[1 + i] = s->values[i];
    }
    function_head(e, s->type, s->verb, args, 1 + n);
    emit_list(e->out,
              arena_printf(arena, "    %svc_stream_%s(",
                           strcmp(s->type, "void") == 0 ? "" : "return ",
                           s->verb),
              values, 1 + n, ");\n}\n");
}

/* --- messages ------------------------------------------------------------ */

/* Emits send() and try_send(). Called by messages_emit() for an end that
 * sends. */
static void
send_emit(const struct end *e)
{
    const char *message =
        arena_printf(e->out->arena, "const %s *message", e->sends);
    const struct shape send = {
        "enum vc_status", "send", {message}, {"message"}};
    const struct shape try_send = {"enum vc_status",
                                   "try_send",
                                   {message, "bool *sent"},
                                   {"message", "sent"}};

    function_note(e, "sends, as vc_stream_send().");
    shape_emit(e, &send);
    function_note(e, "sends without waiting, as vc_stream_try_send().");
    shape_emit(e, &try_send);
}

/* Emits receive(), which gives the message its type. Called by messages_emit()
 * for an end that receives. */
static void
receive_emit(const struct end *e)
{
    const char *args[] = {
        arena_printf(e->out->arena, "%s *stream", e->stream),
        arena_printf(e->out->arena, "%s **message", e->gets),
    };

    function_note(e, "receives, as vc_stream_receive(); vc_message_free() "
                     "frees the\n * message.");
    function_head(e, "enum vc_status", "receive", args, 2);
    text_addf(e->out,
              "    void *taken = NULL;\n"
              "    enum vc_status status = vc_stream_receive(\n"
              "        (struct vc_stream *)stream, message != NULL ? &taken : "
              "NULL);\n"
              "\n"
              "    if (message != NULL)\n"
              "        *message = (%s *)taken;\n"
              "    return status;\n"
              "}\n",
              e->gets);
}

/* Emits the functions that send, and those that receive, pause and resume, as
 * far as the end does either. Called by client_emit() and server_emit(). */
static void
messages_emit(const struct end *e)
{
    static const struct shape pause = {"void", "pause", {NULL}, {NULL}};
    static const struct shape resume = {"void", "resume", {NULL}, {NULL}};

    if (e->sends != NULL)
        send_emit(e);
    if (e->gets == NULL)
        return;
    receive_emit(e);
    function_note(e, "stops and resumes on_message(), as vc_stream_pause().");
    shape_emit(e, &pause);
    shape_emit(e, &resume);
}

/* --- callbacks ----------------------------------------------------------- */

/* True when the end has on_message(): it can receive messages. Called by
 * events_emit(), run_emit() and events_copy(). */
static bool
has_message(const struct end *e)
{
    return e->gets != NULL || e->side[0] == 'c';
}

/* Returns the message type of on_message(); on a client that includes the
 * single reply. Called by events_emit() and run_emit() if there is
 * on_message(). */
static const char *
message_type(const struct end *e)
{
    return e->gets != NULL ? e->gets : e->method->reply.c_type;
}

/* Emits the struct of callbacks. Called by client_emit() and server_emit(). */
static void
events_emit(const struct end *e)
{
    struct text *out = e->out;

    text_addf(
        out,
        "\n/* Callbacks of the %s, as those of struct vc_stream_events. NULL: "
        "none. */\n"
        "struct %s_%s_events {\n",
        e->side, e->name, e->side);
    if (has_message(e))
        text_addf(out,
                  "    void (*on_message)(%s *stream,\n"
                  "                       %s *message, void *arg);\n",
                  e->stream, message_type(e));
    if (e->sends != NULL)
        text_addf(out,
                  "    void (*on_writable)(%s *stream,\n"
                  "                        void *arg);\n",
                  e->stream);
    if (e->side[0] == 's' && e->gets != NULL)
        text_addf(out,
                  "    void (*on_half_close)(%s *stream,\n"
                  "                          void *arg);\n",
                  e->stream);
    if (e->side[0] == 's')
        text_addf(out,
                  "    void (*on_cancel)(%s *stream,\n"
                  "                      enum vc_status status, void *arg);\n",
                  e->stream);
    text_addf(out,
              "    void (*on_end)(%s *stream,\n"
              "                   enum vc_status status, void *arg);\n"
              "};\n",
              e->stream);
}

/* Emits a function that calls a callback with its real type; the library gets
 * it as `run`. Called by client_emit() and server_emit(). */
static void
run_emit(const struct end *e)
{
    static const char *const args[] = {
        "vc_function *callback",    "enum vc_stream_callback kind",
        "struct vc_stream *stream", "void *message",
        "enum vc_status status",    "void *arg"};
    struct text *out = e->out;

    text_add(out, "\nstatic inline void\n");
    emit_list(out, arena_printf(out->arena, "%s__%s_run(", e->name, e->side),
              args, sizeof args / sizeof args[0], ")\n{\n");
    text_addf(out, "    typedef %s type;\n", e->stream);
    if (has_message(e))
        text_addf(out, "    typedef void on_message(type *, %s *, void *);\n",
                  message_type(e));
    text_add(out,
             "    typedef void on_status(type *, enum vc_status, void *);\n"
             "    typedef void on_signal(type *, void *);\n"
             "    type *typed = (type *)stream;\n"
             "\n");
    if (has_message(e))
        text_addf(out,
                  "    if (kind == VC_STREAM_ON_MESSAGE)\n"
                  "        ((on_message *)callback)(typed, (%s *)message, "
                  "arg);\n"
                  "    else if (kind == VC_STREAM_ON_STATUS)\n",
                  message_type(e));
    else
        text_add(out, "    (void)message;\n"
                      "    if (kind == VC_STREAM_ON_STATUS)\n");
    text_add(out, "        ((on_status *)callback)(typed, status, arg);\n"
                  "    else\n"
                  "        ((on_signal *)callback)(typed, arg);\n"
                  "}\n");
}

/* Emits the copy of one callback. Called by events_copy(). */
static void
emit_stream_event_copy(const struct end *e, const char *name, const char *kind)
{
    text_addf(e->out,
              "    untyped.%s =\n"
              "        (vc_stream_on_%s *)(vc_function *)events->%s;\n",
              name, kind, name);
}

/* Emits the copy of the callbacks into the library's struct. Called by
 * start_emit() and serve_emit(). */
static void
events_copy(const struct end *e)
{
    text_addf(e->out,
              "    struct vc_stream_events untyped = VC_STREAM_EVENTS_INIT;\n"
              "\n"
              "    untyped.run = %s__%s_run;\n",
              e->name, e->side);
    if (has_message(e))
        emit_stream_event_copy(e, "on_message", "message");
    if (e->sends != NULL)
        emit_stream_event_copy(e, "on_writable", "signal");
    if (e->side[0] == 's' && e->gets != NULL)
        emit_stream_event_copy(e, "on_half_close", "signal");
    if (e->side[0] == 's')
        emit_stream_event_copy(e, "on_cancel", "status");
    emit_stream_event_copy(e, "on_end", "status");
}

/* --- the client ---------------------------------------------------------- */

/* Sets the common first arguments, before those that only open or only start
 * has. Returns how many they are. Called by open_emit() and start_emit(). */
static size_t
begin_args(const struct end *e, const char **args)
{
    size_t n = 0;

    args[n++] = "struct vc_channel *channel";
    if (!e->method->client_streaming)
        args[n++] = arena_printf(e->out->arena, "const %s *request",
                                 e->method->request.c_type);
    args[n++] = "const struct vc_call_opts *opts";
    return n;
}

/* Emits the function that opens a stream for threads that wait. Called by
 * client_emit(). */
static void
open_emit(const struct end *e)
{
    bool request = !e->method->client_streaming;
    const char *values[] = {request ? "request" : "NULL", "opts",
                            "(struct vc_stream **)stream"};
    const char *args[4];
    size_t n = begin_args(e, args);

    args[n++] = arena_printf(e->out->arena, "%s **stream", e->stream);
    text_add(e->out, "\n");
    emit_comment(e->out, "", e->method->comment,
                 e->method->deprecated || e->service->deprecated
                     ? " Deprecated.\n Opens a stream, as vc_stream_open()."
                     : " Opens a stream, as vc_stream_open().");
    emit_deprecated(e->out, e->service, e->method);
    text_add(e->out, "static inline enum vc_status\n");
    emit_list(e->out, arena_printf(e->out->arena, "%s(", e->name), args, n,
              ")\n{\n");
    emit_library_call(e->out, "    return vc_stream_open(", e->service,
                      e->method, values, sizeof values / sizeof values[0]);
    text_add(e->out, "}\n");
}

/* Emits the function that opens a stream with callbacks. Called by
 * client_emit(). */
static void
start_emit(const struct end *e)
{
    bool request = !e->method->client_streaming;
    const char *values[] = {request ? "request" : "NULL", "opts", "&untyped",
                            "arg", "(struct vc_stream **)stream"};
    const char *args[6];
    size_t n = begin_args(e, args);

    args[n++] = arena_printf(e->out->arena, "const struct %s_%s_events *events",
                             e->name, e->side);
    args[n++] = "void *arg";
    args[n++] = arena_printf(e->out->arena, "%s **stream", e->stream);
    text_add(e->out, "\n/* Opens a stream with callbacks, which are copied, as "
                     "vc_stream_start(). */\n");
    emit_deprecated(e->out, e->service, e->method);
    function_head(e, "enum vc_status", "start", args, n);
    events_copy(e);
    emit_library_call(e->out, "    return vc_stream_start(", e->service,
                      e->method, values, sizeof values / sizeof values[0]);
    text_add(e->out, "}\n");
}

/* Emits finish() of a stream with one reply; the program may pass NULL for it.
 * Called by ends_emit(). */
static void
finish_emit(const struct end *e)
{
    const char *reply = e->method->reply.c_type;
    const char *args[] = {
        arena_printf(e->out->arena, "%s *stream", e->stream),
        arena_printf(e->out->arena, "%s **reply", reply),
    };

    function_note(
        e, "half-closes the stream, waits for its end, and receives the\n"
           " * reply unless reply is NULL, as vc_stream_finish(); "
           "vc_message_free() frees\n"
           " * the reply.");
    function_head(e, "enum vc_status", "finish", args, 2);
    text_addf(e->out,
              "    void *taken = NULL;\n"
              "    enum vc_status status = vc_stream_finish(\n"
              "        (struct vc_stream *)stream, reply != NULL ? &taken : "
              "NULL);\n"
              "\n"
              "    if (status == VC_OK && reply != NULL)\n"
              "        *reply = (%s *)taken;\n"
              "    return status;\n"
              "}\n",
              reply);
}

/* Emits finish() of a stream whose server streams: there is no reply. Called by
 * ends_emit(). */
static void
finish_bare_emit(const struct end *e)
{
    const char *args[] = {arena_printf(e->out->arena, "%s *stream", e->stream)};

    function_note(e, "waits for the end of the stream, as vc_stream_finish().");
    function_head(e, "enum vc_status", "finish", args, 1);
    text_add(e->out, "    return vc_stream_finish((struct vc_stream *)stream, "
                     "NULL);\n}\n");
}

/* Emits the functions that half-close, finish, cancel and close, and those that
 * get the result and the initial metadata. Called by client_emit(). */
static void
ends_emit(const struct end *e)
{
    static const struct shape half_close = {
        "enum vc_status", "half_close", {NULL}, {NULL}};
    static const struct shape result = {
        "enum vc_status", "result", {"struct vc_result *result"}, {"result"}};
    static const struct shape initial = {
        "const struct vc_metadata *", "initial", {"size_t *n"}, {"n"}};
    static const struct shape cancel = {"void", "cancel", {NULL}, {NULL}};
    static const struct shape close = {"void", "close", {NULL}, {NULL}};

    if (e->sends != NULL) {
        function_note(e, "half-closes the stream, as vc_stream_half_close().");
        shape_emit(e, &half_close);
    }
    if (e->gets == NULL)
        finish_emit(e);
    else
        finish_bare_emit(e);
    function_note(e, "gets the result and the initial metadata, as\n"
                     " * vc_stream_result() and vc_stream_initial().");
    shape_emit(e, &result);
    shape_emit(e, &initial);
    function_note(e, "ends the call, as vc_stream_cancel(), and frees the "
                     "stream,\n * as vc_stream_close().");
    shape_emit(e, &cancel);
    shape_emit(e, &close);
}

/* Emits all of the client's end. Called by emit_stream(). */
static void
client_emit(const struct end *e)
{
    events_emit(e);
    run_emit(e);
    open_emit(e);
    start_emit(e);
    messages_emit(e);
    ends_emit(e);
}

/* --- the server ---------------------------------------------------------- */

/* Emits the function by which a handler sets callbacks. Called by
 * server_emit(). */
static void
serve_emit(const struct end *e)
{
    const char *args[] = {
        "struct vc_call *call",
        arena_printf(e->out->arena, "%s *stream", e->stream),
        arena_printf(e->out->arena, "const struct %s_%s_events *events",
                     e->name, e->side),
        "void *arg",
    };

    text_add(e->out, "\n/* Serves the stream by callbacks, which are copied, "
                     "as vc_stream_serve(). */\n"
                     "static inline enum vc_status\n");
    emit_list(e->out, arena_printf(e->out->arena, "%s_serve(", e->name), args,
              sizeof args / sizeof args[0], ")\n{\n");
    events_copy(e);
    text_add(e->out, "    return vc_stream_serve(call, (struct vc_stream *)"
                     "stream, &untyped, arg);\n}\n");
}

/* Emits all of the handler's end. Called by emit_stream(). */
static void
server_emit(const struct end *e)
{
    events_emit(e);
    run_emit(e);
    serve_emit(e);
    messages_emit(e);
}

/* --- both ---------------------------------------------------------------- */

/* Returns the client's or the handler's end of a method's stream, by value; its
 * texts are constants or lie in the arena. Called by emit_stream() for both. */
static struct end
emit_stream_end_of(struct text *out, const struct model_service *service,
                   const struct model_method *method, bool client)
{
    const char *request =
        method->client_streaming ? method->request.c_type : NULL;
    const char *reply = method->server_streaming ? method->reply.c_type : NULL;
    struct end e = {
        .out = out,
        .service = service,
        .method = method,
        .name = arena_printf(out->arena, "%s_%s", service->c_prefix,
                             method->c_name),
        .side = client ? "client" : "server",
        .verbs = client ? "" : "server_",
        .sends = client ? request : reply,
        .gets = client ? reply : request,
    };

    e.stream = arena_printf(out->arena, "struct %s_%s_stream", e.name, e.side);
    return e;
}

void
emit_stream_types(struct text *out, const struct model_service *service,
                  const struct model_method *method)
{
    text_addf(out,
              "\n/* The stream of %s at either end; "
              "see verbcall/stream.h. */\n"
              "struct %s_%s_client_stream;\n"
              "struct %s_%s_server_stream;\n",
              method->name, service->c_prefix, method->c_name,
              service->c_prefix, method->c_name);
}

void
emit_stream(struct text *out, const struct model_service *service,
            const struct model_method *method)
{
    struct end client = emit_stream_end_of(out, service, method, true);
    struct end server = emit_stream_end_of(out, service, method, false);

    client_emit(&client);
    server_emit(&server);
}
