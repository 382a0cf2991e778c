/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of a call as the library has them: whole, with defaults, and
 * checked. Any thread. */
#ifndef VC_RPC_CALL_OPTS_H
#define VC_RPC_CALL_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/call.h>
#include <verbcall/channel.h>
#include <verbcall/service.h>

/* VC_INVALID_ARGUMENT unless there is such a method, which streams or does
 * not. */
enum vc_status vc__method_check(const struct vc_service *service,
                                unsigned method, bool streams);

/* Is there such a method, without streams? */
static inline bool
vc__method_is_unary(const struct vc_service *service, unsigned method)
{
    return service != NULL && method < service->n_methods &&
           !(service->methods[method].flags &
             (VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM));
}

/* The same for options that are not NULL. */
enum vc_status vc__call_opts_take_given(struct vc_call_opts *out,
                                        const struct vc_call_opts *opts,
                                        uint32_t default_ms);

/* A program's options, which may be NULL, or older and shorter than ours.
 * default_ms stands for a timeout_ms that is not set.
 * VC_INVALID_ARGUMENT  an option may not be; nothing of them can be used */
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
