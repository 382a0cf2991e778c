/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The weight of a server by what it reports of its load (gRPC A58, "Subchannel
 * Weights"). Pure. Any thread. */
#ifndef VC_RPC_LOAD_WEIGHT_H
#define VC_RPC_LOAD_WEIGHT_H

/* Returns qps / (utilization + eps / qps * penalty), or 0 if the report says
 * nothing: then an earlier weight stays. qps are the queries per second that
 * the server answers, eps those of them that fail, utilization is 1.0 if it is
 * fully used. The numbers are those of a server, and may be any, NaN too. eps
 * and penalty count only if both are above 0. */
float vc__load_weight(double qps, double eps, double utilization,
                      double penalty);

#endif
