/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/load_weight.h. */
#include "rpc/balance/load_weight.h"

#include <float.h>

float
vc__load_weight(double qps, double eps, double utilization, double penalty)
{
    double weight;

    /* Also if one of them is NaN. */
    if (!(qps > 0 && utilization > 0))
        return 0;
    if (eps > 0 && penalty > 0)
        utilization += eps / qps * penalty;
    weight = qps / utilization;
    return weight >= (double)FLT_MIN && weight <= (double)FLT_MAX
               ? (float)weight
               : 0;
}

/* Called by vc__load_take() and vc__load_now(), on the holder: after a connect
 * the reports begin anew. */
static void
load_connect(struct vc__load *load, unsigned connection)
{
    if (load->connection != connection)
        load->since = 0;
    load->connection = connection;
}

bool
vc__load_is_fresh(const struct vc__load *load,
                  const struct vc__load_rules *rules, uint64_t now)
{
    return load->weight > 0 && now - load->updated < rules->expiration_us;
}

void
vc__load_take(struct vc__load *load, const struct vc__load_rules *rules,
              const struct vc__load_report *report, unsigned connection,
              uint64_t now)
{
    /* Also if it is NaN. */
    double utilization = report->application_utilization > 0
                             ? report->application_utilization
                             : report->cpu_utilization;
    float weight =
        vc__load_weight(report->rps, report->eps, utilization, rules->penalty);

    if (!(weight > 0))
        return;
    load_connect(load, connection);
    if (load->since == 0 || !vc__load_is_fresh(load, rules, now))
        load->since = now;
    load->weight = weight;
    load->updated = now;
}

float
vc__load_now(struct vc__load *load, const struct vc__load_rules *rules,
             unsigned connection, uint64_t now)
{
    load_connect(load, connection);
    if (!vc__load_is_fresh(load, rules, now))
        load->since = 0;
    return load->since != 0 && now - load->since >= rules->blackout_us
               ? load->weight
               : 0;
}
