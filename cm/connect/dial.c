/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/dial.h. All of this file runs on the holder of the engine. */
#include "cm/connect/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "cm/connect/features.h"
#include "transport/core/random.h"

/* The shortest retry time that is accepted from a server; doubled with each
 * refusal, up to RETRY_MAX_US. So a hostile server cannot make the client retry
 * without pause. */
#define RETRY_MIN_US UINT64_C(10000)
#define RETRY_MAX_US UINT64_C(80000)

/* How informative an error is; higher is more. */
enum {
    REASON_NOTHING,
    REASON_BY_SILENCE, /* no answer, or no way leads there */
    REASON_BY_HOST,    /* the host was reached and refused */
    REASON_BY_US,      /* something is wrong at this end */
    REASON_BY_SERVER,  /* a server gave the reason */
};

/* Adds a way that is not tried yet, unless the plan is full, or the address is
 * not of the plan's family. For vc__dial_begin() and moved_add(). */
static void
way_add(struct vc__dial *d, const struct vc__place *to,
        const struct vc__dial_offer *offer)
{
    struct vc__dial_way *w;

    if (d->n_ways == VC__DIAL_WAYS_MAX ||
        (d->family != AF_UNSPEC && d->family != to->addr.ss_family))
        return;
    w = &d->ways[d->n_ways++];
    memset(w, 0, sizeof *w);
    w->to = *to;
    w->offer = *offer;
    w->state = VC__DIAL_FRESH;
    w->move = d->n_moves;
}

void
vc__dial_begin(struct vc__dial *d, const struct vc__dial_opts *opts)
{
    d->due = opts->due;
    d->seed = opts->seed;
    d->head_start_us = (uint64_t)opts->head_start_ms * 1000;
    d->fresh_at = 0;
    d->family = opts->family;
    d->decided = false;
    d->n_ways = d->n_moves = 0;
    d->reason_rank = REASON_NOTHING;
    d->n_carriers = opts->n_carriers;
    for (unsigned i = 0; i < opts->n_carriers; i++)
        d->carriers[i] = opts->carriers[i];
    for (unsigned i = 0; i < opts->n_places; i++)
        way_add(d, &opts->places[i], &opts->offer);
    if (d->n_ways == 0 && opts->n_places > 0)
        vc__error_put(&d->error, VC_UNAVAILABLE,
                      "the target has no address of bind_address's family "
                      "(IPv4 or IPv6): use another bind_address, or none");
    else
        vc__error_put(
            &d->error, VC_UNAVAILABLE,
            "the timeout elapsed before an attempt to connect could start: "
            "raise connect_timeout_ms, or the timeout of the call");
}

/* --- what to do next --------------------------------------------------- */

/* The number of ways that are being tried. For vc__dial_next(). */
static unsigned
under_way(const struct vc__dial *d)
{
    unsigned n = 0;

    for (unsigned i = 0; i < d->n_ways; i++)
        n += d->ways[i].state == VC__DIAL_UNDER_WAY;
    return n;
}

/* The next way not yet tried, NULL if none; ways of the last move come first.
 * For vc__dial_next(). */
static struct vc__dial_way *
fresh_way(struct vc__dial *d)
{
    struct vc__dial_way *best = NULL;

    for (unsigned i = 0; i < d->n_ways; i++) {
        struct vc__dial_way *w = &d->ways[i];

        if (w->state == VC__DIAL_FRESH &&
            (best == NULL || w->move > best->move))
            best = w;
    }
    return best;
}

/* The way that is to be retried first; NULL if none. For vc__dial_next(). */
static struct vc__dial_way *
later_way(struct vc__dial *d)
{
    struct vc__dial_way *best = NULL;

    for (unsigned i = 0; i < d->n_ways; i++) {
        struct vc__dial_way *w = &d->ways[i];

        if (w->state == VC__DIAL_LATER && (best == NULL || w->at < best->at))
            best = w;
    }
    return best;
}

/* Has the owner try this way: fills in *step, and returns TRY. For
 * vc__dial_next(). */
static enum vc__dial_what
dial_try(struct vc__dial *d, struct vc__dial_way *w, struct vc__dial_step *step)
{
    w->state = VC__DIAL_UNDER_WAY;
    step->which = (unsigned)(w - d->ways);
    step->way = w;
    return VC__DIAL_TRY;
}

/* The delay before the next way is tried too. With little time left it is a
 * quarter of that, so that most of the time is left for the next way. For
 * vc__dial_next(). */
static uint64_t
head_start(const struct vc__dial *d, uint64_t now)
{
    uint64_t us = (d->due - now) / 4;

    return us < d->head_start_us ? us : d->head_start_us;
}

enum vc__dial_what
vc__dial_next(struct vc__dial *d, uint64_t now, struct vc__dial_step *step)
{
    struct vc__dial_way *fresh = fresh_way(d), *later = later_way(d);
    unsigned n = under_way(d);

    if (d->decided)
        return VC__DIAL_FAIL;
    if (now >= d->due || (fresh == NULL && later == NULL))
        return n > 0 ? VC__DIAL_NOTHING : VC__DIAL_FAIL;
    if (later != NULL && later->at <= now)
        return dial_try(d, later, step);
    if (fresh != NULL && (n == 0 || d->fresh_at <= now)) {
        d->fresh_at = now + head_start(d, now);
        return dial_try(d, fresh, step);
    }
    step->at = fresh != NULL ? d->fresh_at : later->at;
    if (later != NULL && later->at < step->at)
        step->at = later->at;
    return VC__DIAL_WAIT;
}

/* --- what a failure leads to ------------------------------------------- */

/* Keeps the more informative error; on a tie the earlier one, except that a
 * deciding refusal replaces it. A server's reject with a status other than
 * UNAVAILABLE decides: the plan then fails. For vc__dial_failed(). */
static void
error_note(struct vc__dial *d, const struct vc__dial_failure *f)
{
    bool other = f->error->status != VC_UNAVAILABLE;
    int reason_rank = f->reject != NULL ? REASON_BY_SERVER
                      : other           ? REASON_BY_US
                      : f->heard        ? REASON_BY_HOST
                                        : REASON_BY_SILENCE;

    if (f->reject != NULL && other)
        d->decided = true;
    if (reason_rank > d->reason_rank || d->decided) {
        d->error = *f->error;
        d->reason_rank = reason_rank;
    }
}

/* Has a way retried at this time, and returns true; false if that is too late
 * for the plan. For dial_answer() and the functions that it calls. */
static bool
try_again(struct vc__dial *d, struct vc__dial_way *w, uint64_t at)
{
    if (at >= d->due)
        return false;
    w->state = VC__DIAL_LATER;
    w->at = at;
    return true;
}

/* Rejected with a retry time: returns true if the way is retried after it. For
 * dial_answer(). */
static bool
again_after(struct vc__dial *d, struct vc__dial_way *w, uint64_t now,
            uint32_t retry_ms)
{
    uint64_t wait = (uint64_t)retry_ms * 1000;
    uint64_t least = RETRY_MIN_US;

    if (retry_ms == 0) /* the server gave no retry time */
        return false;
    for (unsigned i = 0; i < w->busy && least < RETRY_MAX_US; i++)
        least *= 2;
    w->busy++;
    if (wait < least)
        wait = least;
    /* Up to 50 % more, so that clients refused together do not return
     * together. */
    wait += wait / 2 * vc__random_below(&d->seed, 1001) / 1000;
    return try_again(d, w, now + wait);
}

/* Lowers the offer to the server's counter-offer. Returns false if that asks
 * for more than we offered, or changes nothing. For again_with_less(). */
static bool
offer_meet(struct vc__dial_way *w, const struct vc__reject *r)
{
    struct vc__dial_offer offer = w->offer;

    if ((r->features & ~offer.features) != 0 ||
        (r->features != 0 && !(r->features & VC__FEATURES_SAID)) ||
        r->credits > offer.credits || r->log2_eager > offer.log2_eager ||
        r->log2_message > offer.log2_message)
        return false;
    if (r->features != 0)
        offer.features = r->features;
    if (r->credits != 0)
        offer.credits = r->credits;
    if (r->log2_eager != 0)
        offer.log2_eager = r->log2_eager;
    if (r->log2_message != 0)
        offer.log2_message = r->log2_message;
    if (offer.features == w->offer.features &&
        offer.credits == w->offer.credits &&
        offer.log2_eager == w->offer.log2_eager &&
        offer.log2_message == w->offer.log2_message)
        return false;
    w->offer = offer;
    return true;
}

/* Rejected with a counter-offer: returns true if the way is retried with it.
 * For dial_answer(). */
static bool
again_with_less(struct vc__dial *d, struct vc__dial_way *w, uint64_t now,
                const struct vc__reject *r)
{
    if (w->met || !offer_meet(w, r))
        return false;
    w->met = true;
    return try_again(d, w, now);
}

/* --- moved ------------------------------------------------------------- */

/* Converts an address of a reject. Returns false if it cannot be a server's
 * address. For moved_add(). */
static bool
addr_of(const struct vc__reject_addr *a, const struct sockaddr_storage *from,
        struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    const struct sockaddr_in6 *from6 = (const struct sockaddr_in6 *)from;

    /* Names are valid only within one process or host, where no other address
     * is used. */
    if ((a->family == VC__REJECT_NAME) != (from->ss_family == AF_UNIX))
        return false;
    if (a->family == VC__REJECT_NAME) {
        if (vc__addr_is_local(from))
            vc__addr_local_of_key(out, a->addr);
        else
            vc__addr_of_key(out, a->addr);
        return true;
    }
    memset(out, 0, sizeof *out);
    if (a->family == 4) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(a->port);
        memcpy(&v4->sin_addr, a->addr, 4);
        return a->port != 0 && a->addr[0] != 0 && a->addr[0] < 224;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(a->port);
    memcpy(&v6->sin6_addr, a->addr, 16);
    /* The scope id is local to this host: it is taken from `from`, which is on
     * the same network. */
    if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && from6->sin6_family == AF_INET6)
        v6->sin6_scope_id = from6->sin6_scope_id;
    return a->port != 0 && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) &&
           !IN6_IS_ADDR_MULTICAST(&v6->sin6_addr);
}

/* Draws an address that is not yet taken, with a probability by its weight;
 * returns its index. One must be left. For dial_follow(). */
static unsigned
dial_draw(struct vc__dial *d, const struct vc__reject *r, const bool *taken)
{
    uint32_t sum = 0, at;
    unsigned last = 0;

    for (unsigned i = 0; i < r->n_addrs; i++)
        sum += taken[i] ? 0 : r->addrs[i].weight;
    at = vc__random_below(&d->seed, sum);
    for (unsigned i = 0; i < r->n_addrs; i++) {
        if (taken[i])
            continue;
        /* Weight 0 is drawn only if no others are left. */
        if (sum == 0 || at < r->addrs[i].weight)
            return i;
        at -= r->addrs[i].weight;
        last = i;
    }
    return last;
}

/* Rejected as moved once too often: sets the plan's error. For
 * dial_follow(). */
static void
dial_circle(struct vc__dial *d, const struct vc__error *last)
{
    vc__error_put(&d->error, VC_UNAVAILABLE,
                  "the client was redirected more than %u times: see that the "
                  "servers' redirects do not lead in a circle; the last: %s",
                  VC__DIAL_MOVES_MAX, last->text);
}

/* Adds ways to an address of the reject: by each carrier, or, without carriers,
 * by the transport that carried the reject. Adds none to an invalid address.
 * For dial_follow(). */
static void
moved_add(struct vc__dial *d, const struct vc__place *from,
          const struct vc__reject_addr *there,
          const struct vc__dial_offer *offer)
{
    struct vc__place to = {.transport = from->transport};

    if (!addr_of(there, &from->addr, &to.addr))
        return;
    if (d->n_carriers == 0)
        way_add(d, &to, offer);
    for (unsigned i = 0; i < d->n_carriers; i++) {
        to.transport = d->carriers[i];
        way_add(d, &to, offer);
    }
}

/* Rejected as moved: adds ways to the addresses of the reject; after
 * VC__DIAL_MOVES_MAX moves sets the plan's error instead. For
 * vc__dial_failed(). */
static void
dial_follow(struct vc__dial *d, const struct vc__dial_way *from,
            const struct vc__dial_failure *f)
{
    const struct vc__reject *r = f->reject;
    const struct vc__dial_offer offer = from->offer;
    const struct vc__place to = from->to;
    bool taken[VC__REJECT_ADDRS] = {false};
    unsigned before = d->n_ways;

    if (r->n_addrs == 0)
        return;
    if (d->n_moves == VC__DIAL_MOVES_MAX) {
        dial_circle(d, f->error);
        return;
    }
    d->n_moves++;
    for (unsigned n = 0; n < r->n_addrs; n++) {
        unsigned i = dial_draw(d, r, taken);

        taken[i] = true;
        moved_add(d, &to, &r->addrs[i], &offer);
    }
    /* From here on, errors of the new addresses are more informative. */
    if (d->n_ways > before)
        d->reason_rank = REASON_NOTHING;
}

/* Returns true if the same way is retried after its failure. If the server was
 * busy, or drains, a further way may be tried at once. For
 * vc__dial_failed(). */
static bool
dial_answer(struct vc__dial *d, struct vc__dial_way *w, uint64_t now,
            const struct vc__dial_failure *f)
{
    if (f->stale)
        return w->stale++ < VC__DIAL_STALE_MAX && try_again(d, w, now);
    if (f->reject == NULL)
        return false;
    switch (vc__reject_rule(f->reject->reason)->reaction) {
    case VC__REACTION_WAIT:
        d->fresh_at = now;
        return again_after(d, w, now, f->reject->retry_ms);
    case VC__REACTION_LOWER:
        return again_with_less(d, w, now, f->reject);
    case VC__REACTION_GIVE_UP:
    case VC__REACTION_MOVE: /* followed after this address is abandoned */
        break;
    }
    return false;
}

void
vc__dial_failed(struct vc__dial *d, unsigned which, uint64_t now,
                const struct vc__dial_failure *f)
{
    struct vc__dial_way *w = &d->ways[which];
    bool met = w->met;

    w->state = VC__DIAL_OVER;
    if (dial_answer(d, w, now, f)) {
        /* A counter-offer that can be met is no failure. */
        if (w->met == met)
            error_note(d, f);
        return;
    }
    error_note(d, f);
    d->fresh_at = now;
    if (f->reject != NULL &&
        vc__reject_rule(f->reject->reason)->reaction == VC__REACTION_MOVE)
        dial_follow(d, w, f);
}
