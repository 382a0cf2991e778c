/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The retry policy: whether a failed call is tried again, and when. A call that
 * was certainly not executed may be. One that may have been executed is retried
 * only if its method says that this does no harm, whatever the policy says.
 * Each wait is twice the one before, or as the policy says, with 20 % of
 * jitter. A channel whose calls mostly fail stops retrying, so that retries do
 * not bring down an overloaded server (as gRPC's retryThrottling). Pure; any
 * threads may use a budget at the same time. A failed attempt is judged on the
 * caller's thread if the call blocks and is neither hedged nor one-way, else on
 * the holder; that of a stream also inside vc__client_start(), or on any thread
 * while the channel is being closed.
 *
 * Called by: attempts.c (again), stream_again.c (again), method_config.c
 * (resize), async.c (good), call.c (good), stream_client.c (good). */
#ifndef VC_RPC_RETRY_H
#define VC_RPC_RETRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

/* The options of a channel, or those of a method in its service config. */
struct vc__retry_policy {
    unsigned max_attempts; /* the first one included */
    uint32_t codes;        /* bits 1 << status: failures that may pass */
    /* The wait before the second attempt, and the most before any, in
     * microseconds up to VC__RETRY_WAIT_MAX, and what each wait is multiplied
     * by for the next. */
    uint64_t backoff_us, max_backoff_us;
    double multiplier;
};

#define VC__RETRY_ATTEMPTS_MAX 100u
#define VC__RETRY_WAIT_MAX     (UINT64_C(3600) * 1000 * 1000)

/* Of a channel whose service config says nothing. */
#define VC__RETRY_CODES (1u << VC_UNAVAILABLE | 1u << VC_RESOURCE_EXHAUSTED)
#define VC__RETRY_POLICY(attempts, ms)                                         \
    {                                                                          \
        .max_attempts = (attempts), .codes = VC__RETRY_CODES,                  \
        .backoff_us = (ms)*UINT64_C(1000),                                     \
        .max_backoff_us = (ms)*UINT64_C(16000), .multiplier = 2,               \
    }

/* A channel's budget of tokens, counted in thousandths; if zeroed it is full,
 * and has the default size. A failed attempt costs one token, a successful call
 * gives back a tenth, by default. There are no retries while half or more are
 * missing. */
struct vc__retry_budget {
    atomic_uint missing;
    atomic_uint size;  /* 0: VC__RETRY_TOKENS */
    atomic_uint gives; /* 0: VC__RETRY_GIVES */
};

#define VC__RETRY_TOKENS 10000u
#define VC__RETRY_COST   1000u
#define VC__RETRY_GIVES  100u

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
    bool answered;         /* the status is the server's */
    /* How long a call that waits for its server waits each time; NULL: as the
     * policy says. */
    const struct vc__retry_policy *waits;
    uint64_t took_us; /* by this attempt, in microseconds */
    uint64_t left_us; /* to the deadline; UINT64_MAX: no deadline */
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

/* Gives back a part of a token. Called by vc__retry_good(), on its threads. */
void vc__retry_refill(struct vc__retry_budget *budget);

/* From now on the budget has so many thousandths of a token, and a successful
 * call gives back so many; 0, 0: the default. As in gRPC the same share of it
 * is missing as before. Not for two threads at a time. Called by
 * vc__method_config_replace(): the service config of the channel changes, or
 * the channel is freed. */
void vc__retry_resize(struct vc__retry_budget *budget, unsigned size,
                      unsigned gives);

/* A call has succeeded: gives back a part of a token, if any is missing. On the caller's thread if the call blocks and
 * is neither hedged nor one-way, else on the holder. */
static inline void
vc__retry_good(struct vc__retry_budget *budget)
{
    /* Relaxed: no other data depends on this count. Mostly nothing is missing;
     * then nothing is written that other threads read. */
    if (atomic_load_explicit(&budget->missing, memory_order_relaxed) != 0)
        vc__retry_refill(budget);
}

#endif
