/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/load_opts.h. */
#include "rpc/balance/load_opts.h"

#include "rpc/options.h"

#define DAY_MS 86400000u

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_load_opts, name, otherwise, min, max)
#define OR_NONE(name, otherwise, min, max)                                     \
    VC__OPTION_OR(vc_load_opts, name, otherwise, min, max, VC_LOAD_NONE)

/* The defaults, and the least of update_ms, are A58's. */
static const struct vc__option numbers[] = {
    IN(ignore, 0, 1, 1),
    OR_NONE(blackout_ms, 10000, 1, DAY_MS),
    IN(expiration_ms, 180000, 1, DAY_MS),
    IN(update_ms, 1000, 100, DAY_MS),
    OR_NONE(error_penalty, 1000, 1, 1000000),
};

static const struct vc__options load_opts =
    VC__OPTIONS(vc_load_opts, "VC_LOAD_OPTS_INIT or VC_LOAD_OPTS()", numbers);

/* For vc__load_opts_over(): the option; 0 for VC_LOAD_NONE. */
static uint32_t
load_number(uint32_t value)
{
    return value == VC_LOAD_NONE ? 0 : value;
}

void
vc__load_opts_over(struct vc__load_rules *rules,
                   const struct vc_load_opts *opts)
{
    if (opts->blackout_ms != 0)
        rules->blackout_us = load_number(opts->blackout_ms) * UINT64_C(1000);
    if (opts->expiration_ms != 0)
        rules->expiration_us = opts->expiration_ms * UINT64_C(1000);
    if (opts->update_ms != 0)
        rules->update_us = opts->update_ms * UINT64_C(1000);
    if (opts->error_penalty != 0)
        rules->penalty = load_number(opts->error_penalty) / 1000.0;
}

enum vc_status
vc__load_opts_take(struct vc__load_rules *out, const struct vc_load_opts *opts)
{
    struct vc_load_opts own;
    enum vc_status status = vc__options_take(&own, &load_opts, opts);

    if (status != VC_OK)
        return status;
    *out = (struct vc__load_rules){.ignore = own.ignore != 0};
    vc__load_opts_over(out, &own); /* the defaults are filled in */
    return VC_OK;
}
