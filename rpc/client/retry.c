/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/retry.h. vc__retry_again() calls all static functions,
 * directly or not; the other functions call those of the budget, too. */
#include "rpc/client/retry.h"

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "transport/core/random.h"

/* How often a wait is multiplied at most. */
#define STEPS 64u

/* --- the budget -------------------------------------------------------- */

/* The number in force, or the default. Relaxed, as all accesses to a budget: no
 * other data depends on them. */
static unsigned
budget_number(atomic_uint *number, unsigned otherwise)
{
    unsigned n = atomic_load_explicit(number, memory_order_relaxed);

    return n != 0 ? n : otherwise;
}

/* Adds `by` to what is missing, within 0 and the size. */
static void
budget_move(struct vc__retry_budget *b, int by)
{
    unsigned is = atomic_load_explicit(&b->missing, memory_order_relaxed);
    unsigned to, size = budget_number(&b->size, VC__RETRY_TOKENS);

    do {
        to = by < 0 && is < (unsigned)-by ? 0 : is + (unsigned)by;
        if (to > size)
            to = size;
    } while (!atomic_compare_exchange_weak_explicit(
        &b->missing, &is, to, memory_order_relaxed, memory_order_relaxed));
}

void
vc__retry_refill(struct vc__retry_budget *budget)
{
    budget_move(budget, -(int)budget_number(&budget->gives, VC__RETRY_GIVES));
}

void
vc__retry_resize(struct vc__retry_budget *b, unsigned size, unsigned gives)
{
    uint64_t before = budget_number(&b->size, VC__RETRY_TOKENS);
    uint64_t missing = atomic_load_explicit(&b->missing, memory_order_relaxed);

    atomic_store_explicit(&b->size, size, memory_order_relaxed);
    atomic_store_explicit(&b->gives, gives, memory_order_relaxed);
    missing = missing * budget_number(&b->size, VC__RETRY_TOKENS) / before;
    atomic_store_explicit(&b->missing, (unsigned)missing, memory_order_relaxed);
}

/* True if less than half of the tokens are missing. */
static bool
budget_allows(struct vc__retry_budget *b)
{
    return atomic_load_explicit(&b->missing, memory_order_relaxed) * 2 <
           budget_number(&b->size, VC__RETRY_TOKENS);
}

/* --- the decision ------------------------------------------------------ */

/* True if the status may be different the next time. Never if the call itself
 * has ended: its caller has cancelled it, or its deadline has passed. */
static bool
is_passing(const struct vc__retry_policy *p, const struct vc__retry_facts *f)
{
    bool ends = f->status == VC_CANCELLED || f->status == VC_DEADLINE_EXCEEDED;

    return (unsigned)f->status < 32 && p->codes >> f->status & 1 &&
           (f->answered || !ends);
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

/* True if the call was not executed, for whatever reason but its own end,
 * another server may take it, and there is time. With VC_CALL_NO_RETRY only if
 * there was no server yet. */
static bool
goes_elsewhere(const struct vc__retry_facts *f)
{
    return f->elsewhere && f->status != VC_CANCELLED &&
           f->status != VC_DEADLINE_EXCEEDED &&
           f->outcome == VC_OUTCOME_NOT_EXECUTED &&
           (f->nowhere || !(f->call_flags & VC_CALL_NO_RETRY)) &&
           f->left_us > 0;
}

/* The backoff of the policy before the next attempt, in microseconds. */
static uint64_t
backoff_of(const struct vc__retry_policy *p, unsigned attempt)
{
    double most = (double)p->max_backoff_us, us = (double)p->backoff_us;
    unsigned steps = attempt - 1 < STEPS ? attempt - 1 : STEPS;

    for (unsigned i = 0; i < steps && (us < most || p->multiplier < 1); i++)
        us *= p->multiplier;
    return us < most ? (uint64_t)us : p->max_backoff_us;
}

/* Microseconds until the next attempt: the server's pushback, or the backoff
 * with its jitter. */
static uint64_t
wait_of(const struct vc__retry_policy *p, const struct vc__retry_facts *f,
        uint64_t *seed)
{
    uint64_t us = backoff_of(p, f->attempt);

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
    if (is_waiting(f)) {
        wait = wait_of(f->waits != NULL ? f->waits : policy, f, seed);
        *wait_us = wait < f->left_us ? wait : f->left_us;
        return VC__RETRY_AGAIN;
    }
    if (f->nowhere || !is_passing(policy, f))
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
