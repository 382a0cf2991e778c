/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * x.vc.c: tables that the library reads, and functions that give its untyped
 * calls their types. */
#include "idl/emit.h"

#include <inttypes.h>

/* Runs a handler out of the structure of handlers. */
static void
emit_run(struct text *out, const struct model_service *service,
         const struct model_method *method)
{
    static const char *const args[] = {
        "struct vc_call *call", "const void *methods", "const void *request",
        "void *reply", "void *arg"};

    emit_list(out,
              arena_printf(out->arena, "\nstatic enum vc_status\n%s_%s__run(",
                           service->c_prefix, method->c_name),
              args, sizeof args / sizeof args[0], ")\n");
    text_addf(out,
              "{\n"
              "    const struct %s_methods *handlers = methods;\n"
              "\n"
              "    if (handlers->%s == NULL)\n"
              "        return vc_call_no_handler(call);\n"
              "    return handlers->%s(call, request, reply, arg);\n"
              "}\n",
              service->c_prefix, method->c_name, method->c_name);
}

static const char *
method_flags(const struct model_method *method)
{
    switch (method->idempotency) {
    case IDL__METHOD_OPTIONS__IDEMPOTENCY_LEVEL__NO_SIDE_EFFECTS:
        return "VC_METHOD_NO_SIDE_EFFECTS";
    case IDL__METHOD_OPTIONS__IDEMPOTENCY_LEVEL__IDEMPOTENT:
        return "VC_METHOD_IDEMPOTENT";
    default:
        return "0";
    }
}

static void
emit_method(struct text *out, const struct model_service *service,
            const struct model_method *method)
{
    text_addf(out,
              "    {\n"
              "        .name = \"%s\",\n"
              "        .hash = UINT32_C(0x%08" PRIx32 "),\n"
              "        .flags = %s,\n"
              "        .request = {.desc = &%s__descriptor},\n"
              "        .reply = {.desc = &%s__descriptor},\n"
              "        .run = %s_%s__run,\n"
              "    },\n",
              method->name, method->hash, method_flags(method),
              method->request.c_lower, method->reply.c_lower, service->c_prefix,
              method->c_name);
}

static void
emit_table(struct text *out, const struct model_service *service)
{
    if (service->n_methods == 0)
        return;
    text_addf(out, "\nstatic const struct vc_method %s__table[] = {\n",
              service->c_prefix);
    for (size_t i = 0; i < service->n_methods; i++)
        emit_method(out, service, &service->methods[i]);
    text_add(out, "};\n");
}

static void
emit_service(struct text *out, const struct model_service *service)
{
    text_addf(out,
              "\nconst struct vc_service %s_service = {\n"
              "    .name = \"%s\",\n"
              "    .id = UINT64_C(0x%016" PRIx64 "),\n"
              "    .fingerprint = UINT32_C(0x%08" PRIx32 "),\n"
              "    .n_methods = %zu,\n",
              service->c_prefix, service->full_name, service->id,
              service->fingerprint, service->n_methods);
    if (service->n_methods > 0)
        text_addf(out, "    .methods = %s__table,\n", service->c_prefix);
    else
        text_add(out, "    .methods = NULL,\n");
    text_add(out, "};\n");
}

static void
emit_add(struct text *out, const struct model_service *service)
{
    const char *args[] = {
        "server",  arena_printf(out->arena, "&%s_service", service->c_prefix),
        "methods", "sizeof *methods",
        "arg",
    };

    text_add(out, "\nenum vc_status\n");
    emit_add_head(out, service, ")\n");
    text_add(out, "{\n");
    emit_list(out, "    return vc_server_add(", args,
              sizeof args / sizeof args[0], ");\n");
    text_add(out, "}\n");
}

static void
emit_call(struct text *out, const struct model_service *service,
          const struct model_method *method)
{
    const char *args[] = {
        "channel",
        arena_printf(out->arena, "&%s_service", service->c_prefix),
        arena_printf(out->arena, "%zu", (size_t)(method - service->methods)),
        "request",
        "opts",
        "&message",
    };

    text_add(out, "\nenum vc_status\n");
    emit_call_head(out, service, method, ")\n");
    text_add(out, "{\n"
                  "    void *message = NULL;\n"
                  "    enum vc_status status;\n"
                  "\n");
    emit_list(out, "    status = vc_channel_call(", args,
              sizeof args / sizeof args[0], ");\n");
    text_add(out, "    if (status == VC_OK)\n"
                  "        *reply = message;\n"
                  "    return status;\n"
                  "}\n");
}

void
emit_source(struct text *out, const struct model_file *file)
{
    emit_banner(out, file);
    text_addf(out, "#include \"%s.vc.h\"\n", file->stem);
    for (size_t i = 0; i < file->n_services; i++) {
        const struct model_service *service = &file->services[i];

        for (size_t j = 0; j < service->n_methods; j++)
            emit_run(out, service, &service->methods[j]);
        emit_table(out, service);
        emit_service(out, service);
        emit_add(out, service);
        for (size_t j = 0; j < service->n_methods; j++)
            emit_call(out, service, &service->methods[j]);
    }
}
