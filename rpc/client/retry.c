/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/retry.h. vc__retry_again() calls all static functions,
 * directly or not; vc__retry_refill() calls budget_move(), too. */
#include "rpc/client/retry.h"

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "transport/core/random.h"

/* How often the wait doubles: up to sixteen times the first. */
#define DOUBLINGS 4u

/* --- the budget -------------------------------------------------------- */

/* Adds `by` to what is missing, within 0 and VC__RETRY_TOKENS. Relaxed, as all
 * accesses: no other data depends on this count. */
static void
budget_move(struct vc__retry_budget *b, int by)
{
    unsigned is = atomic_load_explicit(&b->missing, memory_order_relaxed);
    unsigned to;

    do {
        to = by < 0 && is < (unsigned)-by ? 0 : is + (unsigned)by;
        if (to > VC__RETRY_TOKENS)
            to = VC__RETRY_TOKENS;
    } while (!atomic_compare_exchange_weak_explicit(
        &b->missing, &is, to, memory_order_relaxed, memory_order_relaxed));
}

void
vc__retry_refill(struct vc__retry_budget *budget)
{
    budget_move(budget, -1);
}

/* True if less than half of the tokens are missing. */
static bool
budget_allows(struct vc__retry_budget *b)
{
    return atomic_load_explicit(&b->missing, memory_order_relaxed) <
           VC__RETRY_TOKENS / 2;
}

/* --- the decision ------------------------------------------------------ */

/* True if the status may be different the next time. */
static bool
is_passing(const struct vc__retry_facts *f)
{
    return f->status == VC_UNAVAILABLE || f->status == VC_RESOURCE_EXHAUSTED;
}

/* True if the call was not executed, or may be executed twice. */
static bool
is_harmless(const struct vc__retry_facts *f)
{
    return f->outcome == VC_OUTCOME_NOT_EXECUTED ||
           f->method_flags & (VC_METHOD_IDEMPOTENT | VC_METHOD_NO_SIDE_EFFECTS);
}

/* True if the server refuses retries, or this end lacks something for long. */
static bool
is_forbidden(const struct vc__retry_facts *f)
{
    return f->has_pushback && f->pushback_ms < 0;
}

/* True if the call waits for its server to be ready: then this failure is only
 * a part of the wait. */
static bool
is_waiting(const struct vc__retry_facts *f)
{
    return f->call_flags & VC_CALL_WAIT_FOR_READY &&
           f->status == VC_UNAVAILABLE &&
           f->outcome == VC_OUTCOME_NOT_EXECUTED && !is_forbidden(f);
}

/* True if the call was not sent, for whatever reason but its own end, and
 * another server may take it. */
static bool
goes_elsewhere(const struct vc__retry_facts *f)
{
    return f->elsewhere && f->status != VC_CANCELLED &&
           f->status != VC_DEADLINE_EXCEEDED &&
           f->outcome == VC_OUTCOME_NOT_EXECUTED &&
           (f->nowhere || !(f->call_flags & VC_CALL_NO_RETRY)) &&
           f->left_us > 0;
}

/* Microseconds until the next attempt: the server's pushback, or the backoff
 * with its jitter. */
static uint64_t
wait_of(const struct vc__retry_policy *p, const struct vc__retry_facts *f,
        uint64_t *seed)
{
    unsigned doublings =
        f->attempt - 1 < DOUBLINGS ? f->attempt - 1 : DOUBLINGS;
    uint64_t us = (uint64_t)p->backoff_ms * 1000u << doublings;

    if (f->has_pushback)
        return (uint64_t)f->pushback_ms * 1000u;
    return us - us / 5 + vc__random_below(seed, (uint32_t)(us * 2 / 5) + 1);
}

enum vc__retry
vc__retry_again(const struct vc__retry_policy *policy,
                struct vc__retry_budget *budget,
                const struct vc__retry_facts *f, uint64_t *seed,
                uint64_t *wait_us)
{
    uint64_t wait;

    if (goes_elsewhere(f)) {
        *wait_us = 0;
        return VC__RETRY_ELSEWHERE;
    }
    if (!is_passing(f))
        return VC__RETRY_NO;
    if (is_waiting(f)) {
        wait = wait_of(policy, f, seed);
        *wait_us = wait < f->left_us ? wait : f->left_us;
        return VC__RETRY_AGAIN;
    }
    if (f->nowhere)
        return VC__RETRY_NO;
    budget_move(budget, VC__RETRY_COST);
    if (f->call_flags & VC_CALL_NO_RETRY || f->attempt >= policy->max_attempts)
        return VC__RETRY_NO;
    if (is_forbidden(f) || !is_harmless(f))
        return VC__RETRY_NO;
    wait = wait_of(policy, f, seed);
    *wait_us = wait;
    if (f->left_us != UINT64_MAX &&
        (wait >= f->left_us || f->took_us >= f->left_us - wait))
        return VC__RETRY_NO;
    return budget_allows(budget) ? VC__RETRY_AGAIN : VC__RETRY_STARVED;
}
