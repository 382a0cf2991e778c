/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * x.vc.h: the interface of a file's services for programs. All of it runs
 * within emit_header(), which generate.c calls for each file to generate, on
 * the only thread of the plugin. The functions append to `out` and return
 * nothing. */
#include "idl/emit.h"

/* Emits the service's comment and the declaration of its struct vc_service.
 * Called by emit_header() for each service, first. */
static void
emit_header_service(struct text *out, const struct model_service *service)
{
    text_add(out, "\n");
    emit_comment(out, "", service->comment,
                 service->deprecated ? " Deprecated." : "");
    text_addf(out, "extern const struct vc_service %s_service;\n",
              service->c_prefix);
}

/* Emits the enum of the methods. Nothing if there are none: C requires an enum
 * to have a name in it. Called by emit_header() for each service. */
static void
emit_enum(struct text *out, const struct model_service *service)
{
    if (service->n_methods == 0)
        return;
    text_addf(
        out,
        "\n"
        "/* The numbers of the methods, for functions of the library. */\n"
        "enum %s_method {\n",
        service->c_prefix);
    for (size_t i = 0; i < service->n_methods; i++)
        text_addf(out, "    %s = %zu,\n", service->methods[i].c_enum, i);
    text_add(out, "};\n");
}

/* Emits the stream types of all methods with streams, which handlers use.
 * Called by emit_header() for each service. */
static void
emit_streams(struct text *out, const struct model_service *service)
{
    for (size_t i = 0; i < service->n_methods; i++)
        if (model_method_streams(&service->methods[i]))
            emit_stream_types(out, service, &service->methods[i]);
}

/* Emits a handler, a member of the structure of handlers. A client that streams
 * sends no request; there is no reply if the server streams or the method is
 * one-way. Called by emit_handlers() for each method. */
static void
emit_handler(struct text *out, const struct model_service *service,
             const struct model_method *method)
{
    const char *args[5] = {"struct vc_call *call"};
    size_t n = 1;

    if (!method->client_streaming)
        args[n++] = arena_printf(out->arena, "const %s *request",
                                 method->request.c_type);
    if (model_method_streams(method))
        args[n++] =
            arena_printf(out->arena, "struct %s_%s_server_stream *stream",
                         service->c_prefix, method->c_name);
    if (!method->server_streaming && !method->one_way)
        args[n++] = arena_printf(out->arena, "%s *reply", method->reply.c_type);
    args[n++] = "void *arg";

    emit_comment(out, "    ", method->comment,
                 method->deprecated ? " Deprecated." : "");
    emit_list(
        out,
        arena_printf(out->arena, "    enum vc_status (*%s)(", method->c_name),
        args, n, ");\n");
}

/* Emits the structure of handlers. Called by emit_header() for each service. */
static void
emit_handlers(struct text *out, const struct model_service *service)
{
    text_addf(out,
              "\n"
              "/* The handlers. Calls of one that is NULL fail with "
              "VC_UNIMPLEMENTED. */\n"
              "struct %s_methods {\n",
              service->c_prefix);
    for (size_t i = 0; i < service->n_methods; i++)
        emit_handler(out, service, &service->methods[i]);
    if (service->n_methods == 0)
        text_add(out, "    char no_methods; /* C has no empty structures */\n");
    text_add(out, "};\n");
}

/* Emits the declaration of <service>_add(). Called by emit_header() for each
 * service. */
static void
emit_header_add(struct text *out, const struct model_service *service)
{
    text_add(out, "\n/* Adds the service to a server, as vc_server_add(); "
                  "methods are copied. */\n"
                  "enum vc_status\n");
    emit_add_head(out, service, ");\n");
}

/* Emits the declaration of the client's blocking or one-way call. Called by
 * emit_header_method() for a method without streams. */
static void
emit_header_call(struct text *out, const struct model_service *service,
                 const struct model_method *method)
{
    bool deprecated = method->deprecated || service->deprecated;
    const char *what = method->one_way
                           ? " A one-way call, as vc_channel_call(): it "
                             "returns when the request is\n on its way."
                           : " A blocking call, as vc_channel_call(); "
                             "vc_message_free() frees the reply.";

    text_add(out, "\n");
    emit_comment(out, "", method->comment,
                 arena_printf(out->arena, "%s%s",
                              deprecated ? " Deprecated.\n" : "", what));
    emit_deprecated(out, service, method);
    text_add(out, "enum vc_status\n");
    emit_call_head(out, service, method, ");\n");
}

/* Emits the functions of a method: the client's, and those of its stream at
 * either end. Called by emit_header() for each method. */
static void
emit_header_method(struct text *out, const struct model_service *service,
                   const struct model_method *method)
{
    if (!model_method_streams(method))
        emit_header_call(out, service, method);
    emit_inline(out, service, method);
    if (model_method_streams(method))
        emit_stream(out, service, method);
}

void
emit_header(struct text *out, const struct model_file *file)
{
    emit_banner(out, file);
    text_addf(out, "#ifndef %s\n#define %s\n\n#include <verbcall/verbcall.h>\n",
              file->guard, file->guard);
    for (size_t i = 0; i < file->n_includes; i++)
        text_addf(out, "%s#include \"%s\"\n", i == 0 ? "\n" : "",
                  file->includes[i]);
    text_add(out, "\nVC_BEGIN_DECLS\n");

    for (size_t i = 0; i < file->n_services; i++) {
        const struct model_service *service = &file->services[i];

        emit_header_service(out, service);
        emit_enum(out, service);
        emit_streams(out, service);
        emit_handlers(out, service);
        emit_header_add(out, service);
        for (size_t j = 0; j < service->n_methods; j++)
            emit_header_method(out, service, &service->methods[j]);
    }
    text_add(out, "\nVC_END_DECLS\n\n#endif\n");
}
