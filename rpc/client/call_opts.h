/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks the options of a call and fills in the defaults. On the thread that
 * makes the call, the stream, or the service of protobuf-c: any. What fails is
 * then that thread's last error.
 *
 * Called by: async_call.c (method_check, method_is_unary), call.c (all),
 * completions.c (method_check, method_is_unary), stream_open.c (method_check),
 * async_seen.c (take), method_config.c (take), method_config.h (take),
 * rpc/protobuf_c/protobuf_c_client.c (take). */
#ifndef VC_RPC_CALL_OPTS_H
#define VC_RPC_CALL_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/call.h>
#include <verbcall/channel.h>
#include <verbcall/service.h>

/* VC_INVALID_ARGUMENT unless the service has this method, and it streams or not
 * as `streams` says. */
enum vc_status vc__method_check(const struct vc_service *service,
                                unsigned method, bool streams);

/* True if the service has this method and it does not stream. */
static inline bool
vc__method_is_unary(const struct vc_service *service, unsigned method)
{
    return service != NULL && method < service->n_methods &&
           !(service->methods[method].flags &
             (VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM));
}

/* vc__call_opts_take() for options that are not NULL; returns the same. */
enum vc_status vc__call_opts_take_given(struct vc_call_opts *out,
                                        const struct vc_call_opts *opts,
                                        uint32_t default_ms);

/* Copies, checks and completes a program's options. These may be NULL, or an
 * older and shorter struct. default_ms replaces a timeout_ms that is 0. A
 * parent's priority replaces a default one. VC_OK, or
 * VC_INVALID_ARGUMENT  an option is not allowed; *out must not be used */
static inline enum vc_status
vc__call_opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts,
                   uint32_t default_ms)
{
    if (opts != NULL)
        return vc__call_opts_take_given(out, opts, default_ms);
    *out = (struct vc_call_opts)VC_CALL_OPTS_INIT;
    out->timeout_ms = default_ms;
    return VC_OK;
}

#endif
