/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of x.vc.h that are typed wrappers of the library's asynchronous
 * calls. They are inline, so they cost nothing in a program that calls none of
 * them; they are valid C and C++.
 *
 * All of it runs within emit_inline(), which emit_header.c calls for each
 * method, on the only thread of the plugin. Text goes to the end of `out`;
 * strings made for that lie in its arena. */
#include "idl/emit.h"

struct maker {
    struct text *out;
    const struct model_service *service;
    const struct model_method *method;
    const char *name; /* of the method in C, as "demo_log_watch" */
};

/* Emits from "static" to the opening of the body; suffix ends the function's
 * name. Called by emit_async() and emit_queued(). */
static void
emit_head(const struct maker *m, const char *suffix, const char *const *args,
          size_t n)
{
    text_add(m->out, "static inline enum vc_status\n");
    emit_list(m->out, arena_printf(m->out->arena, "%s%s(", m->name, suffix),
              args, n, ")\n{\n");
}

/* Emits the comment before a function. Called by emit_async() and
 * emit_queued(). */
static void
emit_note(const struct maker *m, const char *text)
{
    text_addf(m->out, "\n/* %s */\n", text);
}

/* Emits a function that calls done() with its real types, which that of
 * emit_async() needs. Called by emit_inline(). */
static void
emit_done(const struct maker *m)
{
    static const char *const args[] = {"vc_function *done",
                                       "enum vc_status status", "void *reply",
                                       "void *arg"};

    text_add(m->out, "\nstatic inline void\n");
    emit_list(m->out, arena_printf(m->out->arena, "%s__done(", m->name), args,
              sizeof args / sizeof args[0], ")\n{\n");
    text_addf(m->out,
              "    ((void (*)(enum vc_status, %s *, void *))\n"
              "         done)(status, (%s *)reply, arg);\n"
              "}\n",
              m->method->reply.c_type, m->method->reply.c_type);
}

/* Sets the first arguments of both kinds of asynchronous calls, and returns how
 * many they are. Called by emit_async() and emit_queued(). */
static size_t
call_args(const struct maker *m, const char **args)
{
    args[0] = "struct vc_channel *channel";
    args[1] = arena_printf(m->out->arena, "const %s *request",
                           m->method->request.c_type);
    args[2] = "const struct vc_call_opts *opts";
    return 3;
}

/* Emits the call that ends with done(). Called by emit_inline(). */
static void
emit_async(const struct maker *m)
{
    const char *values[] = {"request",
                            "opts",
                            arena_printf(m->out->arena, "%s__done", m->name),
                            "(vc_function *)done",
                            "arg",
                            "call"};
    const char *args[6];
    size_t n = call_args(m, args);

    args[n++] = arena_printf(m->out->arena,
                             "void (*done)(enum vc_status status, %s *reply, "
                             "void *arg)",
                             m->method->reply.c_type);
    args[n++] = "void *arg";
    args[n++] = "struct vc_async **call";
    emit_note(m,
              "Starts the call without waiting, as vc_channel_call_async();\n"
              " * vc_message_free() frees the reply.");
    emit_deprecated(m->out, m->service, m->method);
    emit_head(m, "_async", args, n);
    emit_library_call(m->out, "    return vc_channel_call_typed(", m->service,
                      m->method, values, sizeof values / sizeof values[0]);
    text_add(m->out, "}\n");
}

/* Emits the call that ends in a completion queue. Called by emit_inline(). */
static void
emit_queued(const struct maker *m)
{
    static const char *const values[] = {"request", "opts", "queue", "tag",
                                         "call"};
    const char *args[6];
    size_t n = call_args(m, args);

    args[n++] = "struct vc_completions *queue";
    args[n++] = "void *tag";
    args[n++] = "struct vc_async **call";
    emit_note(m, arena_printf(
                     m->out->arena,
                     "Starts the call; its completion goes to the queue, as\n"
                     " * vc_channel_call_queued(). The reply is a\n"
                     " * %s.",
                     m->method->reply.c_type));
    emit_deprecated(m->out, m->service, m->method);
    emit_head(m, "_queued", args, n);
    emit_library_call(m->out, "    return vc_channel_call_queued(", m->service,
                      m->method, values, sizeof values / sizeof values[0]);
    text_add(m->out, "}\n");
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

    if (!model_method_has_async(method))
        return;
    emit_done(&maker);
    emit_async(&maker);
    emit_queued(&maker);
}
