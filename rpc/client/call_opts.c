/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/call_opts.h. */
#include "rpc/client/call_opts.h"

#include <string.h>

#include "rpc/canceller.h"
#include "transport/core/error.h"

static enum vc_status
opts_check(const struct vc_call_opts *opts)
{
    if (!vc__timeout_is_good(opts->timeout_ms))
        return vc__fail(VC_INVALID_ARGUMENT, "timeout_ms: %u is not in 1..%d",
                        opts->timeout_ms, INT32_MAX);
    if (opts->metadata == NULL && opts->n_metadata > 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "metadata: is NULL, and n_metadata is %zu",
                        opts->n_metadata);
    if (opts->result != NULL && opts->result->size < sizeof *opts->result)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "result: its size is %zu; set it by VC_RESULT_INIT",
                        opts->result->size);
    if (opts->priority > VC_PRIORITY_SHEDDABLE)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "priority: %u is none of enum vc_priority",
                        (unsigned)opts->priority);
    return VC_OK;
}

enum vc_status
vc__call_opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts,
                   uint32_t default_ms)
{
    static const struct vc_call_opts defaults = VC_CALL_OPTS_INIT;

    *out = defaults;
    if (opts != NULL)
        memcpy(out, opts, opts->size < sizeof *out ? opts->size : sizeof *out);
    if (opts != NULL && opts_check(out) != VC_OK)
        return VC_INVALID_ARGUMENT;
    if (out->timeout_ms == 0)
        out->timeout_ms = default_ms;
    if (out->parent != NULL && out->priority == VC_PRIORITY_DEFAULT)
        out->priority = ((const struct vc__parent *)out->parent)->priority;
    return VC_OK;
}

enum vc_status
vc__method_check(const struct vc_service *service, unsigned method,
                 bool streams)
{
    const uint32_t kinds = VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM;

    if (service == NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "the service of the call is NULL");
    if (method >= service->n_methods)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s has %u methods, and none with the number %u",
                        service->name, (unsigned)service->n_methods, method);
    if (((service->methods[method].flags & kinds) != 0) != streams)
        return vc__fail(VC_INVALID_ARGUMENT,
                        streams ? "%s.%s has no stream: call it"
                                : "%s.%s streams: open a stream of it",
                        service->name, service->methods[method].name);
    return VC_OK;
}
