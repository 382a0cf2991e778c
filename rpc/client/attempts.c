/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/attempts.h. */
#include "rpc/client/attempts.h"

#include "rpc/text.h"

/* --- limits ------------------------------------------------------------ */

/* For cancellers_join(): the call ends with its parent, or earlier. Sets
 * a->parent without a reference. VC_DEADLINE_EXCEEDED if it is too late,
 * VC_RESOURCE_EXHAUSTED if memory is short. */
static enum vc_status
parent_join(struct vc__attempts *a, struct vc__parent *parent, uint64_t now)
{
    uint64_t due = parent->due;

    if (now >= due)
        return vc__fail(
            VC_DEADLINE_EXCEEDED,
            "the deadline of the parent call (vc_call_opts.parent) has passed");
    if (due < a->due) {
        a->due = a->until = due;
        a->ms = (uint32_t)((due - now + 999) / 1000);
    }
    a->parent = vc__parent_children(parent);
    return a->parent != NULL ? VC_OK
                             : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* For vc__attempts_begin_at(), with its errors: takes references to the canceller
 * and to that of the parent, and shortens the deadline to the parent's; on the
 * thread that begins the call. After a failure it holds none. Inlined, it cost
 * each call 16 instructions more, with a canceller or not. */
static __attribute__((noinline)) enum vc_status
cancellers_join(struct vc__attempts *a, const struct vc_call_opts *opts,
                uint64_t now)
{
    enum vc_status status = VC_OK;

    a->canceller = opts->canceller;
    a->parent = NULL;
    if (opts->parent != NULL)
        status = parent_join(a, (struct vc__parent *)opts->parent, now);
    if (status != VC_OK)
        return status;
    if (a->canceller != NULL)
        vc__canceller_hold(a->canceller);
    if (a->parent != NULL)
        vc__canceller_hold(a->parent);
    return VC_OK;
}

enum vc_status
vc__attempts_begin_at(struct vc__attempts *a, const struct vc_call_opts *opts,
                      uint64_t now, uint32_t early_us)
{
    a->began = now;
    a->ms = opts->timeout_ms;
    a->due = vc__due(now, a->ms);
    a->until = vc__due(now + early_us, a->ms);
    a->flags = opts->flags;
    a->number = 1;
    a->moved = 0;
    a->seen = false;
    a->cancellable = opts->canceller != NULL || opts->parent != NULL;
    return a->cancellable ? cancellers_join(a, opts, now) : VC_OK;
}

/* A parent may leave less time than the call's own timeout, and a hedge begins
 * soon. */
enum vc_status
vc__attempts_begin(struct vc__attempts *a, const struct vc_call_opts *opts,
                   uint32_t rough_us)
{
    if (opts->timeout_ms < VC__FAR_US / 1000 || opts->parent != NULL ||
        opts->hedge_ms != 0)
        return vc__attempts_begin_at(a, opts, vc__now(), 0);
    return vc__attempts_begin_at(a, opts, vc__now_rough(), rough_us);
}

void
vc__attempts_end(struct vc__attempts *a)
{
    if (!a->cancellable)
        return;
    vc__canceller_put(a->canceller);
    vc__canceller_put(a->parent);
}

/* --- the next attempt -------------------------------------------------- */

/* For facts_of(): true if another server may be tried at once. Not if the
 * server has answered, or a policy of the program's own has chosen the same one
 * twice in a row; the latter does not count if there was no server yet. */
static bool
may_move(const struct vc__attempts *a, const struct vc__attempt *u,
         bool nowhere)
{
    return !u->answered && (nowhere || !vc__pick_key_insists(&u->key)) &&
           vc__channel_elsewhere(u->channel, u->before, a->moved);
}

/* The facts of failed attempt u, for vc__attempts_next(). A lack of resources
 * here that lasts counts as a pushback: no retry. */
static struct vc__retry_facts
facts_of(const struct vc__attempts *a, const struct vc__attempt *u,
         uint64_t now)
{
    uint64_t left = a->due > now ? a->due - now : 0;
    bool lasts = vc__lack_lasts(u->error.lack);
    bool nowhere = u->before != NULL && u->before->opts.nowhere;

    return (struct vc__retry_facts){
        .status = u->error.status,
        .outcome = u->error.outcome,
        .method_flags = u->method->flags,
        .call_flags = a->flags,
        .attempt = a->number - a->moved,
        .has_pushback = u->has_pushback || lasts,
        .pushback_ms = lasts ? -1 : u->pushback_ms,
        .nowhere = nowhere,
        .elsewhere = may_move(a, u, nowhere),
        .answered = u->answered,
        .waits = &u->channel->retry,
        .took_us = now - a->began,
        .left_us = a->due == VC__FOREVER ? UINT64_MAX : left,
    };
}

bool
vc__attempts_in_time(const struct vc__attempts *a, struct vc__attempt *u,
                     uint64_t now)
{
    struct vc__error was;
    const char *service = u->service->name, *method = u->method->name;

    if (now < a->due)
        return true;
    was = u->error;
    vc__error_put(&u->error, VC_DEADLINE_EXCEEDED, VC__TEXT_NO_SERVER, service,
                  method, a->ms,
                  vc__text_without_names(was.text, service, method));
    return false;
}

bool
vc__attempts_next(struct vc__attempts *a, struct vc__attempt *u,
                  const struct vc__call_policy *policy, uint64_t *wait_us)
{
    struct vc_channel *c = u->channel;
    uint64_t now = vc__now();
    struct vc__retry_facts facts = facts_of(a, u, now);
    /* Relaxed: the values must only differ. */
    uint64_t seed = now ^ atomic_fetch_add_explicit(
                              &c->chance, UINT64_C(0x9e3779b97f4a7c15),
                              memory_order_relaxed);

    enum vc__retry retry =
        vc__retry_again(policy == NULL ? &c->retry : &policy->retry, &c->budget,
                        &facts, &seed, wait_us);

    if (retry == VC__RETRY_STARVED)
        vc__channel_count(c, VC__POOL_CALLS_NOT_RETRIED);
    if (facts.nowhere) /* there was no attempt yet; or it has waited too long */
        return (!u->before->opts.recalls || vc__attempts_in_time(a, u, now)) &&
               retry != VC__RETRY_NO;
    if (u->error.status == VC_UNAVAILABLE)
        vc__channel_lost(c, now);
    if (retry != VC__RETRY_AGAIN && retry != VC__RETRY_ELSEWHERE)
        return false;
    vc__channel_count(c, VC__POOL_CALLS_RETRIED);
    a->number++;
    a->moved += retry == VC__RETRY_ELSEWHERE;
    a->seen |= u->error.outcome != VC_OUTCOME_NOT_EXECUTED;
    return true;
}

void
vc__attempts_settle(const struct vc__attempts *a, struct vc__error *error)
{
    if (a->seen && error->outcome == VC_OUTCOME_NOT_EXECUTED)
        error->outcome = VC_OUTCOME_UNKNOWN;
}

/* For vc__attempts_expired(): returns a text of what an attempt at this pool,
 * or at none (NULL), has waited for. */
static const char *
no_answer_of(const struct vc__pool *pool)
{
    if (pool == NULL || !pool->opts.nowhere)
        return "no answer";
    return pool->opts.recalls ? VC__TEXT_WAITS : VC__TEXT_NOWHERE;
}

void
vc__attempts_expired(const struct vc__attempts *a, struct vc__attempt *u,
                     enum vc_outcome outcome)
{
    const struct vc__pool *pool = u->before;
    char target[VC__TARGET_TEXT] = "";

    if (pool != NULL && !pool->opts.nowhere)
        vc__target_text(&pool->opts.target, target);
    vc__error_put(&u->error, VC_DEADLINE_EXCEEDED, "%s.%s: %s within %u ms%s%s",
                  u->service->name, u->method->name, no_answer_of(pool), a->ms,
                  target[0] == '\0' ? "" : " from ", target);
    u->error.outcome = outcome;
    if (outcome == VC_OUTCOME_NOT_EXECUTED)
        return;
    vc__servers_failed(&u->channel->servers, u->client, u->held);
    vc__servers_judge(&u->channel->servers, u->held, false);
}
