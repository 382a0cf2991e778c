/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The weight of a server by what it reports of its load (gRPC A58, "Subchannel
 * Weights"): what it is, from when on it is used, and for how long. Pure: times
 * go in, by vc__now().
 *
 * Called by: load_weight.c (load_weight, load_is_fresh), loads.c (load_take,
 * load_now, load_is_fresh). */
#ifndef VC_RPC_LOAD_WEIGHT_H
#define VC_RPC_LOAD_WEIGHT_H

#include "rpc/load_report.h"

/* The numbers of A58: a server must have reported for so long before its weight
 * is used; after so long without a report it is used no more; and what errors
 * cost. */
#define VC__LOAD_BLACKOUT_US   UINT64_C(10000000)
#define VC__LOAD_EXPIRATION_US UINT64_C(180000000)
#define VC__LOAD_PENALTY       1.0

/* What a server has reported. Zeroed before. Of loads.c, on the holder, but for
 * `used`: that is under the lock of the servers (vc__servers_enter()). */
struct vc__load {
    float weight;     /* of the last report; 0: there was none */
    unsigned connect; /* the connection at that time, vc__pool_readied() */
    uint64_t since;   /* of the reports that go on; 0: there are none */
    uint64_t updated; /* the last one */
    float used;       /* the weight by which it is chosen; 0: none */
};

/* Returns qps / (utilization + eps / qps * penalty), or 0 if the report says
 * nothing: then an earlier weight stays. qps are the queries per second that
 * the server answers, eps those of them that fail, utilization is 1.0 if it is
 * fully used. The numbers are those of a server, and may be any, NaN too. eps
 * and penalty count only if both are above 0. Any thread. */
float vc__load_weight(double qps, double eps, double utilization,
                      double penalty);

/* A report has come. `connect` is another number when the server has been
 * connected anew: then its blackout begins again. */
void vc__load_take(struct vc__load *load, const struct vc__load_report *report,
                   unsigned connect, uint64_t now);

/* Returns the weight by which the server is chosen now; 0: none. */
float vc__load_now(struct vc__load *load, unsigned connect, uint64_t now);

/* True until the weight of the last report has expired. */
bool vc__load_is_fresh(const struct vc__load *load, uint64_t now);

#endif
