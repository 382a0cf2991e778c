/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The weight of a server by what it reports of its load (gRPC A58, "Subchannel
 * Weights"): what it is, from when on it is used, and for how long. Pure: times
 * are parameters, those of vc__now().
 *
 * Called by: load_weight.c (load_weight, load_is_fresh), loads.c (load_used,
 * load_use, load_take, load_now, load_is_fresh), server_line.c (load_used),
 * server_set.c (load_used). */
#ifndef VC_RPC_LOAD_WEIGHT_H
#define VC_RPC_LOAD_WEIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpc/load_report.h"

/* The options of a channel (verbcall/load.h). */
struct vc__load_rules {
    bool ignore;
    uint64_t blackout_us;   /* of reports, before a weight is used */
    uint64_t expiration_us; /* without a report, until it is not used */
    uint64_t update_us;     /* for the caller: between two computations */
    double penalty;         /* what errors cost */
};

/* What a server has reported. Zeroed before. Of loads.c, on the holder, but for
 * `used`: that changes between vc__servers_enter() and vc__servers_exit(), and
 * any thread may read it. */
struct vc__load {
    float weight;        /* of the last report; 0: there was none */
    _Atomic float used;  /* the weight by which it is chosen; 0: none */
    unsigned connection; /* at the last report: vc__pool_readied() */
    uint64_t since;      /* the first report that counts; 0: there is none */
    uint64_t updated;    /* the last report */
};

/* Returns qps / (utilization + eps / qps * penalty), or 0 if the report says
 * nothing: then an earlier weight stays. qps are the queries per second that
 * the server answers, eps those of them that fail, utilization is 1.0 if it is
 * fully used. The numbers are those of a server, and may be any, NaN too. eps
 * and penalty count only if both are above 0. Any thread. */
float vc__load_weight(double qps, double eps, double utilization,
                      double penalty);

/* The weight by which the server is chosen, any thread; and its change, on the
 * holder. Relaxed, both: only the number matters. */
static inline float
vc__load_used(const struct vc__load *load)
{
    return atomic_load_explicit(&load->used, memory_order_relaxed);
}

static inline void
vc__load_use(struct vc__load *load, float weight)
{
    atomic_store_explicit(&load->used, weight, memory_order_relaxed);
}

/* A report was received, on the holder, for vc__loads_take(): keeps its weight;
 * one that says nothing changes nothing. `connection` is another number when
 * the server has been connected anew: then its blackout begins again. */
void vc__load_take(struct vc__load *load, const struct vc__load_rules *rules,
                   const struct vc__load_report *report, unsigned connection,
                   uint64_t now);

/* Returns the weight by which the server is to be chosen now; 0: none. On the
 * holder: called by the timer of loads.c. `connection` as above. */
float vc__load_now(struct vc__load *load, const struct vc__load_rules *rules,
                   unsigned connection, uint64_t now);

/* True until the weight of the last report has expired; false if there was no
 * report. On the holder. */
bool vc__load_is_fresh(const struct vc__load *load,
                       const struct vc__load_rules *rules, uint64_t now);

#endif
