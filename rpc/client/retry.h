/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Shall a call that has failed be tried again, and when? What has certainly
 * not been executed may be; what may have been, only if its method says that
 * this does no harm. Waits double, with 20 % of chance; a channel whose calls
 * mostly fail stops trying, so that retries do not bring a server down that
 * has too much to do (as gRPC's retryThrottling). Pure; the budget may be used
 * by any threads at a time. */
#ifndef VC_RPC_RETRY_H
#define VC_RPC_RETRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

/* Of a channel. */
struct vc__retry_policy {
    unsigned max_attempts; /* the first included */
    uint32_t backoff_ms;   /* before the second */
};

/* Tenths of tokens that are missing, of ten tokens; zeroed it is full. An
 * attempt that failed costs one, a call that was good gives back a tenth;
 * there are no retries while half or more are missing. */
struct vc__retry_budget {
    atomic_uint missing;
};

#define VC__RETRY_TOKENS 100u
#define VC__RETRY_COST   10u

/* An attempt that has failed. */
struct vc__retry_facts {
    enum vc_status status;
    enum vc_outcome outcome;
    uint32_t method_flags; /* VC_METHOD_* */
    uint32_t call_flags;   /* VC_CALL_* */
    unsigned attempt;      /* 1: the first */
    bool has_pushback;     /* the server has said when: */
    int32_t pushback_ms;   /* below 0 never */
    uint64_t took_us;      /* by this attempt */
    uint64_t left_us;      /* to the deadline; UINT64_MAX: there is none */
};

enum vc__retry {
    VC__RETRY_NO = 0,
    VC__RETRY_AGAIN,
    VC__RETRY_STARVED, /* no, for the budget alone */
};

/* Again, *wait_us from now, or not. There is time for another attempt that takes
 * as long, or else an error that tells little would take the place of this one;
 * but a call that waits for its server to be there does so to its deadline, and
 * *wait_us may end there. Charges the budget. The seed is the caller's. */
enum vc__retry vc__retry_again(const struct vc__retry_policy *policy,
                               struct vc__retry_budget *budget,
                               const struct vc__retry_facts *facts,
                               uint64_t *seed, uint64_t *wait_us);

void vc__retry_refill(struct vc__retry_budget *budget);

/* A call was good. */
static inline void
vc__retry_good(struct vc__retry_budget *budget)
{
    /* Relaxed: a count, no data hangs on it. Mostly nothing is missing, and
     * then nothing is written that others read. */
    if (atomic_load_explicit(&budget->missing, memory_order_relaxed) != 0)
        vc__retry_refill(budget);
}

#endif
