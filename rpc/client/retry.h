/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The retry policy: whether a failed call is tried again, and when. A call that
 * was certainly not executed may be. One that may have been executed is retried
 * only if its method says that this does no harm. Each wait is twice the one
 * before, with 20 % of jitter. A channel whose calls mostly fail stops
 * retrying, so that retries do not bring down an overloaded server (as gRPC's
 * retryThrottling). Pure; any threads may use a budget at the same time. A
 * failed attempt is judged on the caller's thread if the call blocks, else on
 * the holder; that of a stream also inside vc__client_start() or
 * vc_channel_close().
 *
 * Called by: attempts.c (again), stream_again.c (again), async.c (good), call.c
 * (good), stream_client.c (good). */
#ifndef VC_RPC_RETRY_H
#define VC_RPC_RETRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

/* The options of a channel. */
struct vc__retry_policy {
    unsigned max_attempts; /* the first one included */
    uint32_t backoff_ms;   /* wait before the second, in milliseconds */
};

/* A channel's budget of ten tokens, counted in tenths; if zeroed it is full. A
 * failed attempt costs one token, a successful call gives back a tenth. There
 * are no retries while half or more are missing. */
struct vc__retry_budget {
    atomic_uint missing;
};

#define VC__RETRY_TOKENS 100u
#define VC__RETRY_COST   10u

/* The facts of a failed attempt. */
struct vc__retry_facts {
    enum vc_status status;
    enum vc_outcome outcome;
    uint32_t method_flags; /* VC_METHOD_* */
    uint32_t call_flags;   /* VC_CALL_* */
    unsigned attempt;      /* 1: the first; without those that were moved */
    bool has_pushback;     /* the server has sent a pushback: */
    int32_t pushback_ms;   /* in milliseconds; below 0: no retry */
    bool elsewhere;        /* no server has it, and another may be tried */
    bool nowhere;          /* there was no server yet to send it to */
    uint64_t took_us;      /* by this attempt, in microseconds */
    uint64_t left_us;      /* to the deadline; UINT64_MAX: no deadline */
};

enum vc__retry {
    VC__RETRY_NO = 0,
    VC__RETRY_AGAIN,
    VC__RETRY_ELSEWHERE, /* at once; it is no attempt of the policy's */
    VC__RETRY_STARVED,   /* no, only because of the budget */
};

/* Decides whether another attempt follows, *wait_us from now. A call that could
 * not be sent goes to another server at once, if there is one (gRPC's
 * transparent retry, proposal A6): that charges nothing. Normally there must be
 * time for an attempt that takes as long as this one: otherwise a less useful
 * error would replace this one. A call that waits for its server to be ready
 * does so until its deadline, and *wait_us may end there, or be 0 after it: the
 * caller then ends the call as too late. One that had no server to go to, as
 * they are not known, ends at once otherwise. Other failures that may pass
 * charge the budget, even if no attempt follows. The caller owns the seed. */
enum vc__retry vc__retry_again(const struct vc__retry_policy *policy,
                               struct vc__retry_budget *budget,
                               const struct vc__retry_facts *facts,
                               uint64_t *seed, uint64_t *wait_us);

/* Gives back a tenth of a token. Called by vc__retry_good(). */
void vc__retry_refill(struct vc__retry_budget *budget);

/* A call has succeeded. */
static inline void
vc__retry_good(struct vc__retry_budget *budget)
{
    /* Relaxed: no other data depends on this count. Mostly nothing is missing;
     * then nothing is written that other threads read. */
    if (atomic_load_explicit(&budget->missing, memory_order_relaxed) != 0)
        vc__retry_refill(budget);
}

#endif
