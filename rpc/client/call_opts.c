/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/call_opts.h. */
#include "rpc/client/call_opts.h"

#include <stdbool.h>

#include "rpc/canceller.h"
#include "rpc/client/result.h"
#include "rpc/options.h"
#include "transport/core/error.h"
#include "transport/core/words.h"

#define FLAGS (VC_CALL_NO_RETRY | VC_CALL_WAIT_FOR_READY)

static const struct vc__option numbers[] = {
    VC__OPTION_OR(vc_call_opts, timeout_ms, 0, 1, INT32_MAX, VC_NO_DEADLINE),
    VC__OPTION(vc_call_opts, flags, 0, 0, FLAGS, 0,
               "VC_CALL_NO_RETRY and VC_CALL_WAIT_FOR_READY", VC__OPTION_FLAGS),
    VC__OPTION_IN(vc_call_opts, hedge_ms, 0, 1, INT32_MAX),
    VC__OPTION_IN(vc_call_opts, priority, 0, VC_PRIORITY_CRITICAL,
                  VC_PRIORITY_SHEDDABLE),
};

static const struct vc__options call_opts =
    VC__OPTIONS(vc_call_opts, "VC_CALL_OPTS_INIT or VC_CALL_OPTS()", numbers);

/* For opts_check(): true for the numbers of most calls. Then the slower check
 * by the table is not needed. */
static bool
numbers_are_usual(const struct vc_call_opts *opts)
{
    return (opts->timeout_ms | opts->hedge_ms) <= INT32_MAX &&
           (opts->flags & ~FLAGS) == 0 &&
           opts->priority <= VC_PRIORITY_SHEDDABLE;
}

/* Checks a copy of the options, for vc__call_opts_take_given(). Returns
 * VC_INVALID_ARGUMENT if one is not allowed, else VC_OK. */
static enum vc_status
opts_check(struct vc_call_opts *opts)
{
    if (!numbers_are_usual(opts) &&
        vc__options_check(opts, &call_opts) != VC_OK)
        return VC_INVALID_ARGUMENT;
    if (opts->metadata == NULL && opts->n_metadata > 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_call_opts.metadata: is NULL, and n_metadata is %zu",
                        opts->n_metadata);
    return opts->result == NULL ? VC_OK : vc__result_check(opts->result);
}

enum vc_status
vc__call_opts_take_given(struct vc_call_opts *out,
                         const struct vc_call_opts *opts, uint32_t default_ms)
{
    if (opts->size == sizeof *out)
        *out = *opts;
    else if (vc__options_copy(out, &call_opts, opts) != VC_OK)
        return VC_INVALID_ARGUMENT;
    if (opts_check(out) != VC_OK)
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
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "%s has %u method%s: the method number %u is out of range",
            service->name, (unsigned)service->n_methods,
            vc__plural(service->n_methods), method);
    if (((service->methods[method].flags & kinds) != 0) != streams)
        return vc__fail(VC_INVALID_ARGUMENT,
                        streams ? "%s.%s does not stream: use "
                                  "vc_channel_call() or the generated call"
                                : "%s.%s streams: use vc_stream_open() or the "
                                  "generated function",
                        service->name, service->methods[method].name);
    return VC_OK;
}
