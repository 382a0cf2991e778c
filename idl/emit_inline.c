/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of x.vc.h that only give types to the library's. They are
 * inline, and so nothing in a program that calls none of them; what they say
 * is C and C++. */
#include "idl/emit.h"

#define CHANNEL "struct vc_channel *channel"
#define OPTS    "const struct vc_call_opts *opts"
#define STREAM  "struct vc_stream *stream"
#define EVENTS  "const struct vc_stream_events *events"

struct maker {
    struct text *out;
    const struct model_service *service;
    const struct model_method *method;
    const char *name; /* of the method in C, as "demo_log_watch" */
};

/* From "static" to what opens the body. */
static void
emit_head(const struct maker *m, const char *suffix, const char *const *args,
          size_t n)
{
    text_add(m->out, "static inline enum vc_status\n");
    emit_list(m->out, arena_printf(m->out->arena, "%s%s(", m->name, suffix),
              args, n, ")\n{\n");
}

static void
emit_note(const struct maker *m, const char *text)
{
    text_addf(m->out, "\n/* %s */\n", text);
}

static void
emit_async(const struct maker *m)
{
    static const char *const values[] = {"request", "opts", "done", "arg",
                                         "call"};
    const char *args[] = {
        CHANNEL,
        arena_printf(m->out->arena, "const %s *request",
                     m->method->request.c_type),
        OPTS,
        "vc_async_done *done",
        "void *arg",
        "struct vc_async **call",
    };

    emit_note(m, arena_printf(m->out->arena,
                              "Does not wait, as vc_channel_call_async(); "
                              "the reply is a\n * %s.",
                              m->method->reply.c_type));
    emit_deprecated(m->out, m->service, m->method);
    emit_head(m, "_async", args, sizeof args / sizeof args[0]);
    emit_library_call(m->out, "    return vc_channel_call_async(", m->service,
                      m->method, values, sizeof values / sizeof values[0]);
    text_add(m->out, "}\n");
}

static void
emit_open(const struct maker *m)
{
    bool request = !m->method->client_streaming;
    const char *values[] = {request ? "request" : "NULL", "opts", "stream"};
    const char *args[4] = {CHANNEL};
    size_t n = 1;

    if (request)
        args[n++] = arena_printf(m->out->arena, "const %s *request",
                                 m->method->request.c_type);
    args[n++] = OPTS;
    args[n++] = "struct vc_stream **stream";

    text_add(m->out, "\n");
    emit_comment(m->out, "", m->method->comment,
                 m->method->deprecated || m->service->deprecated
                     ? " Deprecated.\n Opens a stream, as vc_stream_open()."
                     : " Opens a stream, as vc_stream_open().");
    emit_deprecated(m->out, m->service, m->method);
    emit_head(m, "", args, n);
    emit_library_call(m->out, "    return vc_stream_open(", m->service,
                      m->method, values, sizeof values / sizeof values[0]);
    text_add(m->out, "}\n");
}

/* The same with callbacks. */
static void
emit_start(const struct maker *m)
{
    bool request = !m->method->client_streaming;
    const char *values[] = {request ? "request" : "NULL", "opts", "events",
                            "arg", "stream"};
    const char *args[6] = {CHANNEL};
    size_t n = 1;

    if (request)
        args[n++] = arena_printf(m->out->arena, "const %s *request",
                                 m->method->request.c_type);
    args[n++] = OPTS;
    args[n++] = EVENTS;
    args[n++] = "void *arg";
    args[n++] = "struct vc_stream **stream";
    emit_note(m, arena_printf(m->out->arena,
                              "The same with callbacks, as "
                              "vc_stream_start(); messages are\n * %s.",
                              m->method->reply.c_type));
    emit_deprecated(m->out, m->service, m->method);
    emit_head(m, "_start", args, n);
    emit_library_call(m->out, "    return vc_stream_start(", m->service,
                      m->method, values, sizeof values / sizeof values[0]);
    text_add(m->out, "}\n");
}

static void
emit_serve(const struct maker *m)
{
    static const char *const args[] = {"struct vc_call *call", STREAM, EVENTS,
                                       "void *arg"};
    const char *note = "The handler goes on by callbacks, as "
                       "vc_stream_serve().";

    if (m->method->client_streaming)
        note = arena_printf(m->out->arena,
                            "The handler goes on by callbacks, as "
                            "vc_stream_serve(); messages are\n * %s.",
                            m->method->request.c_type);
    emit_note(m, note);
    emit_head(m, "_serve", args, sizeof args / sizeof args[0]);
    text_add(m->out,
             "    return vc_stream_serve(call, stream, events, arg);\n}\n");
}

/* vc_stream_try_send() of a message. */
static void
emit_try(const struct maker *m, const char *suffix, const char *what,
         const char *type)
{
    const char *args[] = {
        STREAM,
        arena_printf(m->out->arena, "const %s *%s", type, what),
        "bool *sent",
    };

    emit_head(m, suffix, args, sizeof args / sizeof args[0]);
    text_addf(m->out, "    return vc_stream_try_send(stream, %s, sent);\n}\n",
              what);
}

/* vc_stream_send() of a message. */
static void
emit_send(const struct maker *m, const char *suffix, const char *what,
          const char *type)
{
    const char *args[] = {
        STREAM,
        arena_printf(m->out->arena, "const %s *%s", type, what),
    };

    emit_head(m, suffix, args, sizeof args / sizeof args[0]);
    text_addf(m->out, "    return vc_stream_send(stream, %s);\n}\n", what);
}

/* What gives a message: vc_stream_receive() and vc_stream_finish(). */
static void
emit_take(const struct maker *m, const char *suffix, const char *function,
          const char *what, const char *type)
{
    const char *args[] = {
        STREAM,
        arena_printf(m->out->arena, "%s **%s", type, what),
    };

    emit_head(m, suffix, args, sizeof args / sizeof args[0]);
    text_addf(m->out,
              "    void *message = NULL;\n"
              "    enum vc_status status = %s(stream, &message);\n"
              "\n"
              "    if (status == VC_OK)\n"
              "        *%s = (%s *)message;\n"
              "    return status;\n"
              "}\n",
              function, what, type);
}

static void
emit_client_stream(const struct maker *m)
{
    const char *request = m->method->request.c_type;

    emit_note(m, "The client sends, as vc_stream_send().");
    emit_send(m, "_send", "request", request);
    emit_note(m, "The same without waiting, as vc_stream_try_send().");
    emit_try(m, "_try_send", "request", request);
    emit_note(m, "The handler receives, as vc_stream_receive().");
    emit_take(m, "_request", "vc_stream_receive", "request", request);
}

static void
emit_server_stream(const struct maker *m)
{
    const char *reply = m->method->reply.c_type;

    emit_note(m, "The client receives, as vc_stream_receive().");
    emit_take(m, "_receive", "vc_stream_receive", "reply", reply);
    emit_note(m, "The handler sends, as vc_stream_send().");
    emit_send(m, "_reply", "reply", reply);
    emit_note(m, "The same without waiting, as vc_stream_try_send().");
    emit_try(m, "_try_reply", "reply", reply);
}

static void
emit_finish(const struct maker *m)
{
    emit_note(m, "The client has sent all, as vc_stream_finish().");
    emit_take(m, "_finish", "vc_stream_finish", "reply",
              m->method->reply.c_type);
}

void
emit_inline(struct text *out, const struct model_service *service,
            const struct model_method *method)
{
    const struct maker maker = {
        .out = out,
        .service = service,
        .method = method,
        .name = arena_printf(out->arena, "%s_%s", service->c_prefix,
                             method->c_name),
    };

    if (model_method_has_async(method))
        emit_async(&maker);
    if (model_method_streams(method)) {
        emit_open(&maker);
        emit_start(&maker);
        emit_serve(&maker);
    }
    if (method->client_streaming)
        emit_client_stream(&maker);
    if (method->server_streaming)
        emit_server_stream(&maker);
    else if (method->client_streaming)
        emit_finish(&maker);
}
