/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/outlier_opts.h. */
#include "rpc/balance/outlier_opts.h"

#include <verbcall/resolver.h>

#include "rpc/options.h"

#define DAY_MS 86400000u

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_outlier_opts, name, otherwise, min, max)
#define OR_NONE(name, otherwise, min, max)                                     \
    VC__OPTION_OR(vc_outlier_opts, name, otherwise, min, max, VC_OUTLIER_NONE)
#define METHODS (VC_OUTLIER_SUCCESS_RATE | VC_OUTLIER_FAILURE_PERCENTAGE)

/* The defaults are A50's. */
static const struct vc__option numbers[] = {
    VC__OPTION(vc_outlier_opts, methods, METHODS, 0, METHODS, 0,
               "VC_OUTLIER_SUCCESS_RATE and VC_OUTLIER_FAILURE_PERCENTAGE",
               VC__OPTION_FLAGS),
    IN(interval_ms, 10000, 10, DAY_MS),
    IN(base_ejection_ms, 30000, 1, DAY_MS),
    IN(max_ejection_ms, 300000, 1, DAY_MS),
    OR_NONE(max_ejection_percent, 10, 1, 100),
    OR_NONE(success_rate_stdev_factor, 1900, 1, 1000000),
    OR_NONE(success_rate_enforcement, 100, 1, 100),
    IN(success_rate_minimum_hosts, 5, 1, VC_ENDPOINTS_MAX),
    IN(success_rate_request_volume, 100, 1, 1000000000),
    OR_NONE(failure_percentage_threshold, 85, 1, 100),
    OR_NONE(failure_percentage_enforcement, 100, 1, 100),
    IN(failure_percentage_minimum_hosts, 5, 1, VC_ENDPOINTS_MAX),
    IN(failure_percentage_request_volume, 50, 1, 1000000000),
};

static const struct vc__options outlier_opts = VC__OPTIONS(
    vc_outlier_opts, "VC_OUTLIER_OPTS_INIT or VC_OUTLIER_OPTS()", numbers);

/* For vc__outlier_opts_take(): the option; 0 for VC_OUTLIER_NONE. */
static uint32_t
zero_if_none(uint32_t value)
{
    return value == VC_OUTLIER_NONE ? 0 : value;
}

/* For vc__outlier_opts_take(): the policy of options that are in range. */
static void
outlier_policy_fill(struct vc__outlier_policy *out,
                    const struct vc_outlier_opts *own)
{
    uint32_t max_ms = own->max_ejection_ms > own->base_ejection_ms
                          ? own->max_ejection_ms
                          : own->base_ejection_ms;

    *out = (struct vc__outlier_policy){
        .interval_us = own->interval_ms * UINT64_C(1000),
        .base_us = own->base_ejection_ms * UINT64_C(1000),
        .max_us = max_ms * UINT64_C(1000),
        .max_percent = zero_if_none(own->max_ejection_percent),
    };
    out->rule[VC__OUTLIER_SUCCESS_RATE] = (struct vc__outlier_rule){
        .on = (own->methods & VC_OUTLIER_SUCCESS_RATE) != 0,
        .limit = zero_if_none(own->success_rate_stdev_factor),
        .enforcement = zero_if_none(own->success_rate_enforcement),
        .minimum_hosts = own->success_rate_minimum_hosts,
        .request_volume = own->success_rate_request_volume,
    };
    out->rule[VC__OUTLIER_FAILURE_PERCENTAGE] = (struct vc__outlier_rule){
        .on = (own->methods & VC_OUTLIER_FAILURE_PERCENTAGE) != 0,
        .limit = zero_if_none(own->failure_percentage_threshold),
        .enforcement = zero_if_none(own->failure_percentage_enforcement),
        .minimum_hosts = own->failure_percentage_minimum_hosts,
        .request_volume = own->failure_percentage_request_volume,
    };
}

enum vc_status
vc__outlier_opts_take(struct vc__outlier_policy *out,
                      const struct vc_outlier_opts *opts)
{
    struct vc_outlier_opts own;
    enum vc_status status = vc__options_take(&own, &outlier_opts, opts);

    if (status != VC_OK)
        return status;
    outlier_policy_fill(out, &own);
    if (opts == NULL) {
        for (unsigned m = 0; m < VC__OUTLIER_METHODS; m++)
            out->rule[m].on = false;
    }
    return VC_OK;
}
