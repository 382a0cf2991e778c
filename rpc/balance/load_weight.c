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
