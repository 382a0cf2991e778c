/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See library.h. */
#include "library.h"

enum vc_status
vc_server_add(struct vc_server *server, const struct vc_service *service,
              const void *methods, size_t methods_size, void *arg)
{
    server->service = service;
    server->methods = malloc(methods_size);
    CHECK(server->methods != NULL);
    memcpy(server->methods, methods, methods_size);
    server->arg = arg;
    return VC_OK;
}

enum vc_status
vc_call_no_handler(struct vc_call *call)
{
    (void)call;
    return VC_UNIMPLEMENTED;
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts, void **reply)
{
    const struct vc_method *m = &service->methods[method];
    ProtobufCMessage *message = malloc(m->reply.desc->sizeof_message);
    enum vc_status status;

    (void)opts;
    CHECK(message != NULL && service == channel->server->service);
    CHECK(((const ProtobufCMessage *)request)->descriptor == m->request.desc);
    m->reply.desc->message_init(message);
    status = m->run(NULL, channel->server->methods, request, message,
                    channel->server->arg);
    if (status == VC_OK)
        *reply = message;
    else
        free(message);
    return status;
}
