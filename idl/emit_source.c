/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * x.vc.c: tables that the library reads, and typed wrappers of the library's
 * untyped calls. It is C and C++: so tables have every field, in order.
 *
 * All of it runs within emit_source(), which generate.c calls for each file to
 * generate, on the only thread of the plugin. Text goes to the end of `out`;
 * strings made for that lie in its arena. */
#include "idl/emit.h"

#include <inttypes.h>

#define SET_LINE 12 /* bytes */

/* Emits the head of a method runner, and a cast to void for each argument that
 * this kind of method does not use. Called by emit_run(). */
static void
emit_run_head(struct text *out, const struct model_service *service,
              const struct model_method *method)
{
    static const char *const plain[] = {
        "struct vc_call *call", "const void *methods", "const void *request",
        "void *reply", "void *arg"};
    static const char *const stream[] = {
        "struct vc_call *call", "const void *methods",
        "const void *request",  "struct vc_stream *stream",
        "void *reply",          "void *arg"};
    bool streams = model_method_streams(method);

    emit_list(out,
              arena_printf(out->arena, "\nstatic enum vc_status\n%s_%s__run(",
                           service->c_prefix, method->c_name),
              streams ? stream : plain,
              streams ? sizeof stream / sizeof stream[0]
                      : sizeof plain / sizeof plain[0],
              ")\n");
    text_addf(out,
              "{\n"
              "    const struct %s_methods *handlers =\n"
              "        (const struct %s_methods *)methods;\n"
              "\n",
              service->c_prefix, service->c_prefix);
    if (method->client_streaming)
        text_add(out, "    (void)request;\n");
    if (method->server_streaming || method->one_way)
        text_add(out, "    (void)reply;\n");
}

/* Emits a function that runs a handler of the structure of handlers. Called by
 * emit_source() for each method. */
static void
emit_run(struct text *out, const struct model_service *service,
         const struct model_method *method)
{
    const char *args[5] = {"call"};
    size_t n = 1;

    if (!method->client_streaming)
        args[n++] = arena_printf(out->arena, "(const %s *)request",
                                 method->request.c_type);
    if (model_method_streams(method))
        args[n++] =
            arena_printf(out->arena, "(struct %s_%s_server_stream *)stream",
                         service->c_prefix, method->c_name);
    if (!method->server_streaming && !method->one_way)
        args[n++] =
            arena_printf(out->arena, "(%s *)reply", method->reply.c_type);
    args[n++] = "arg";

    emit_run_head(out, service, method);
    text_addf(out,
              "    if (handlers->%s == NULL)\n"
              "        return vc_call_no_handler(call);\n",
              method->c_name);
    emit_list(
        out,
        arena_printf(out->arena, "    return handlers->%s(", method->c_name),
        args, n, ");\n}\n");
}

/* Returns the flag for the method's idempotency_level, or NULL: it needs none.
 * For emit_flags(). */
static const char *
idempotency_flag(const struct model_method *method)
{
    switch (method->idempotency) {
    case IDL__METHOD_OPTIONS__IDEMPOTENCY_LEVEL__NO_SIDE_EFFECTS:
        return "VC_METHOD_NO_SIDE_EFFECTS";
    case IDL__METHOD_OPTIONS__IDEMPOTENCY_LEVEL__IDEMPOTENT:
        return "VC_METHOD_IDEMPOTENT";
    default:
        return NULL;
    }
}

/* Emits the flags of a method in the service's table, 0 if it has none. Called
 * by emit_source_method(). */
static void
emit_flags(struct text *out, const struct model_method *method)
{
    const char *const flags[] = {
        idempotency_flag(method),
        method->client_streaming ? "VC_METHOD_CLIENT_STREAM" : NULL,
        method->server_streaming ? "VC_METHOD_SERVER_STREAM" : NULL,
        method->one_way ? "VC_METHOD_ONE_WAY" : NULL,
        method->blocking ? "VC_METHOD_BLOCKING" : NULL,
    };
    const char *joint = "";

    text_add(out, "        VC_FIELD(flags) ");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i] != NULL) {
            text_addf(out, "%s%s", joint, flags[i]);
            joint = " |\n                        ";
        }
    text_add(out, joint[0] == '\0' ? "0,\n" : ",\n");
}

/* Emits one message type of a method in the service's table. Called by
 * emit_source_method() for the request and the reply. */
static void
emit_type(struct text *out, const char *field,
          const struct model_message *message)
{
    text_addf(out,
              "        VC_FIELD(%s) {VC_FIELD(desc) &%s__descriptor,\n"
              "            VC_FIELD(packed_size) NULL, VC_FIELD(pack) NULL,\n"
              "            VC_FIELD(unpack) NULL},\n",
              field, message->c_lower);
}

/* Emits one method in the service's table. Called by emit_table() for each
 * method. */
static void
emit_source_method(struct text *out, const struct model_service *service,
                   const struct model_method *method)
{
    const char *run = arena_printf(out->arena, "%s_%s__run", service->c_prefix,
                                   method->c_name);
    bool streams = model_method_streams(method);

    text_addf(out,
              "    {\n"
              "        VC_FIELD(name) \"%s\",\n"
              "        VC_FIELD(hash) UINT32_C(0x%08" PRIx32 "),\n",
              method->name, method->hash);
    emit_flags(out, method);
    emit_type(out, "request", &method->request);
    emit_type(out, "reply", &method->reply);
    text_addf(out,
              "        VC_FIELD(run) %s,\n"
              "        VC_FIELD(run_stream) %s,\n"
              "        VC_FIELD(timeout_ms) %" PRIu32 ",\n"
              "        VC_FIELD(max_calls) %" PRIu32 ",\n"
              "        VC_FIELD(max_reply) %" PRIu32 ",\n"
              "    },\n",
              streams ? "NULL" : run, streams ? run : "NULL",
              method->timeout_ms, method->max_calls, method->max_reply);
}

/* Emits the FileDescriptorSet of the file, under the name of its first service.
 * Called by emit_source() for a file with services. */
static void
emit_set(struct text *out, const struct model_file *file)
{
    static const char digits[] = "0123456789abcdef";

    text_addf(out, "\nstatic const uint8_t %s__file[] = {",
              file->services[0].c_prefix);
    for (size_t i = 0; i < file->set.length; i++) {
        uint8_t byte = file->set.data[i];
        const char hex[] = {'0', 'x', digits[byte >> 4], digits[byte & 15],
                            ','};

        text_add(out, i % SET_LINE == 0 ? "\n    " : " ");
        text_add_bytes(out, hex, sizeof hex);
    }
    text_add(out, "\n};\n");
}

/* Emits the table of a service's methods; nothing if it has none. Called by
 * emit_source() for each service. */
static void
emit_table(struct text *out, const struct model_service *service)
{
    if (service->n_methods == 0)
        return;
    text_addf(out, "\nstatic const struct vc_method %s__table[] = {\n",
              service->c_prefix);
    for (size_t i = 0; i < service->n_methods; i++)
        emit_source_method(out, service, &service->methods[i]);
    text_add(out, "};\n");
}

/* Emits the struct vc_service of a service; all of a file use its one set.
 * Called by emit_source() for each service. */
static void
emit_source_service(struct text *out, const struct model_file *file,
                    const struct model_service *service)
{
    const char *set = file->services[0].c_prefix;

    text_addf(out,
              "\nconst struct vc_service %s_service = {\n"
              "    VC_FIELD(name) \"%s\",\n"
              "    VC_FIELD(id) UINT64_C(0x%016" PRIx64 "),\n"
              "    VC_FIELD(fingerprint) UINT32_C(0x%08" PRIx32 "),\n"
              "    VC_FIELD(n_methods) %zu,\n",
              service->c_prefix, service->full_name, service->id,
              service->fingerprint, service->n_methods);
    if (service->n_methods > 0)
        text_addf(out, "    VC_FIELD(methods) %s__table,\n", service->c_prefix);
    else
        text_add(out, "    VC_FIELD(methods) NULL,\n");
    text_addf(out,
              "    VC_FIELD(file) %s__file,\n"
              "    VC_FIELD(file_length) sizeof %s__file,\n"
              "};\n",
              set, set);
}

/* Emits, at the beginning of <service>_add(), that the server accepts the older
 * versions of compat=. Called by emit_source_add() if there are any. */
static void
emit_accept(struct text *out, const struct model_service *service)
{
    const char *args[] = {
        "server",
        arena_printf(out->arena, "&%s_service", service->c_prefix),
        "accepted",
        "sizeof accepted / sizeof accepted[0]",
    };

    text_add(out, "    static const uint32_t accepted[] = {\n");
    for (size_t i = 0; i < service->n_accepted; i++)
        text_addf(out, "        UINT32_C(0x%08" PRIx32 "),\n",
                  service->accepted[i]);
    text_add(out, "    };\n"
                  "    enum vc_status status;\n"
                  "\n");
    emit_list(out, "    status = vc_server_schema_accept(", args,
              sizeof args / sizeof args[0], ");\n");
    text_add(out, "    if (status != VC_OK)\n"
                  "        return status;\n");
}

/* Emits <service>_add(). Called by emit_source() for each service. */
static void
emit_source_add(struct text *out, const struct model_service *service)
{
    const char *args[] = {
        "server",  arena_printf(out->arena, "&%s_service", service->c_prefix),
        "methods", "sizeof *methods",
        "arg",
    };

    text_add(out, "\nenum vc_status\n");
    emit_add_head(out, service, ")\n");
    text_add(out, "{\n");
    if (service->n_accepted > 0)
        emit_accept(out, service);
    emit_list(out, "    return vc_server_add(", args,
              sizeof args / sizeof args[0], ");\n");
    text_add(out, "}\n");
}

/* Emits the body of a one-way call, which never returns a reply. Called by
 * emit_source_call(). */
static void
emit_call_one_way(struct text *out, const struct model_service *service,
                  const struct model_method *method)
{
    static const char *const args[] = {"request", "opts", "&none"};

    text_add(out, "    void *none = NULL;\n\n");
    emit_library_call(out, "    return vc_channel_call(", service, method, args,
                      sizeof args / sizeof args[0]);
}

/* Emits the body of a blocking call with a reply. Called by
 * emit_source_call(). */
static void
emit_call_unary(struct text *out, const struct model_service *service,
                const struct model_method *method)
{
    static const char *const args[] = {"request", "opts",
                                       "reply == NULL ? NULL : &message"};

    text_add(out, "    void *message = NULL;\n"
                  "    enum vc_status status;\n"
                  "\n");
    emit_library_call(out, "    status = vc_channel_call(", service, method,
                      args, sizeof args / sizeof args[0]);
    text_addf(out,
              "    if (status == VC_OK)\n"
              "        *reply = (%s *)message;\n"
              "    return status;\n",
              method->reply.c_type);
}

/* Emits the client's blocking or one-way call; nothing for streams. Called
 * by emit_source() for each method. */
static void
emit_source_call(struct text *out, const struct model_service *service,
                 const struct model_method *method)
{
    if (model_method_streams(method))
        return; /* those are in the header */
    text_add(out, "\nenum vc_status\n");
    emit_call_head(out, service, method, ")\n");
    text_add(out, "{\n");
    if (method->one_way)
        emit_call_one_way(out, service, method);
    else
        emit_call_unary(out, service, method);
    text_add(out, "}\n");
}

void
emit_source(struct text *out, const struct model_file *file)
{
    emit_banner(out, file);
    text_addf(out, "#include \"%s.vc.h\"\n", file->stem);
    if (file->n_services > 0)
        emit_set(out, file);
    for (size_t i = 0; i < file->n_services; i++) {
        const struct model_service *service = &file->services[i];

        for (size_t j = 0; j < service->n_methods; j++)
            emit_run(out, service, &service->methods[j]);
        emit_table(out, service);
        emit_source_service(out, file, service);
        emit_source_add(out, service);
        for (size_t j = 0; j < service->n_methods; j++)
            emit_source_call(out, service, &service->methods[j]);
    }
}
