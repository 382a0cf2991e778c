/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sending half of transport/ud/reliable.h; reliable_receive.c is the other.
 * See transport/ud/reliable.h. Bit i of a set stands for the sequence unacked +
 * i; bit 0, the oldest, is never in `received`. The functions of "sets and
 * sequences" are called by those after them. */
#include "transport/ud/reliable.h"

#include "transport/core/invariant.h"

#define NEVER  UINT64_MAX
#define HALVED 2u /* the least window that a loss leaves */

void
vc__reliable_init(struct vc__reliable *r, unsigned tries)
{
    *r = (struct vc__reliable){
        .next = 1,
        .unacked = 1,
        .window = VC__RELIABLE_FIRST,
        .threshold = VC__RELIABLE_WINDOW,
        .recover = 1,
        .rto = VC__RELIABLE_RTO_FIRST,
        .tries = tries,
        .expected = 1,
        .ack_at = NEVER,
    };
}

/* --- sets and sequences ------------------------------------------------ */

/* True if sequence a is before b. */
static bool
sequence_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* The number of datagrams in a set. */
static uint32_t
set_count(uint32_t set)
{
    /* Most are empty, and not all processors count bits. */
    return set == 0 ? 0 : (uint32_t)__builtin_popcount(set);
}

/* The set of the first n, at most 32. */
static uint32_t
set_first(uint32_t n)
{
    return (uint32_t)((UINT64_C(1) << n) - 1);
}

/* The set without its first n, at most 32, the rest moved to the front. */
static uint32_t
set_after(uint32_t set, uint32_t n)
{
    return (uint32_t)((uint64_t)set >> n);
}

/* The last of a set that is not empty. */
static uint32_t
set_last(uint32_t set)
{
    return 31u - (uint32_t)__builtin_clz(set);
}

/* What is known of the datagram unacked + i. */
static const struct vc__reliable_sent *
reliable_sent(const struct vc__reliable *r, uint32_t i)
{
    return &r->sent[(r->unacked + i) % VC__RELIABLE_WINDOW];
}

/* How many sequences there are from the oldest under way to the next. */
static uint32_t
reliable_span(const struct vc__reliable *r)
{
    return r->next - r->unacked;
}

/* What the peer has reported: the sequence 0 is received without a report. */
static uint32_t
reliable_reported(const struct vc__reliable *r)
{
    uint32_t i = 0 - r->unacked;

    return i < VC__RELIABLE_WINDOW ? r->received & ~(1u << i) : r->received;
}

/* --- sending ----------------------------------------------------------- */

bool
vc__reliable_is_quiet(const struct vc__reliable *r)
{
    return r->timeouts >= r->tries;
}

uint32_t
vc__reliable_room(const struct vc__reliable *r)
{
    uint32_t missing = reliable_span(r) - set_count(r->received);
    uint32_t room = VC__RELIABLE_WINDOW - reliable_span(r);

    /* The sequence 0 takes a place in the window, too, if it is passed over. */
    if (UINT32_MAX - r->next < room)
        room--;
    /* No room for a quiet peer: its window is 1 and full. */
    if (missing >= r->window)
        return 0;
    return room < r->window - missing ? room : r->window - missing;
}

uint32_t
vc__reliable_send(struct vc__reliable *r, uint64_t now)
{
    uint32_t sequence = r->next;

    vc__invariant(vc__reliable_room(r) > 0);
    /* Nobody waits for the sequence 0: it counts as received. */
    if (++r->next == 0)
        r->received |= 1u << (r->next++ - r->unacked);
    r->sent[sequence % VC__RELIABLE_WINDOW] =
        (struct vc__reliable_sent){.at = now, .after = r->next, .times = 1};
    return sequence;
}

/* --- acknowledgements -------------------------------------------------- */

/* RFC 6298, 2. Called by reliable_measure(). */
static void
reliable_sample(struct vc__reliable *r, uint64_t rtt)
{
    uint64_t off = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;

    if (r->srtt == 0) {
        r->srtt = rtt > 0 ? rtt : 1;
        r->rttvar = rtt / 2;
    } else {
        r->rttvar = (3 * r->rttvar + off + 2) / 4;
        r->srtt = (7 * r->srtt + rtt + 4) / 8;
    }
}

/* The timeout by the round trips, without doubling: RFC 6298, 2. Called by
 * reliable_measure() and vc__reliable_heard(). */
static uint64_t
reliable_rto(const struct vc__reliable *r)
{
    uint64_t rto = r->srtt + 4 * r->rttvar;

    if (r->srtt == 0)
        return VC__RELIABLE_RTO_FIRST;
    if (rto < VC__RELIABLE_RTO_MIN)
        return VC__RELIABLE_RTO_MIN;
    return rto < VC__RELIABLE_RTO_MAX ? rto : VC__RELIABLE_RTO_MAX;
}

/* The round trip of a datagram that was sent once is over. The limit is for a
 * caller that slept. Called by reliable_measure() and
 * vc__reliable_acknowledged(). */
static void
reliable_measure_one(struct vc__reliable *r, const struct vc__reliable_sent *s,
                     uint64_t now)
{
    uint64_t rtt = now > s->at ? now - s->at : 0;

    reliable_sample(r, rtt < VC__RELIABLE_RTO_MAX ? rtt : VC__RELIABLE_RTO_MAX);
    r->rto = reliable_rto(r);
}

/* Measures the newest of these that was sent once: older ones may have waited
 * for the acknowledgement. Called by reliable_note(). */
static void
reliable_measure(struct vc__reliable *r, uint32_t fresh, uint64_t now)
{
    while (fresh != 0 && reliable_sent(r, set_last(fresh))->times != 1)
        fresh &= ~(1u << set_last(fresh));
    if (fresh != 0)
        reliable_measure_one(r, reliable_sent(r, set_last(fresh)), now);
}

/* The path reorders if one of these was sent once and a later one was reported
 * before. Called by vc__reliable_acknowledged(). */
static void
reliable_see_order(struct vc__reliable *r, uint32_t fresh)
{
    uint32_t before = reliable_reported(r);

    for (uint32_t i = 0; before >> i > 1; i++)
        if (fresh >> i & 1 && reliable_sent(r, i)->times == 1)
            r->reorders = true;
}

/* So many were acknowledged in order. Called by reliable_advance(). */
static void
reliable_grow(struct vc__reliable *r, uint32_t n)
{
    for (; n > 0 && !r->recovering && r->window < VC__RELIABLE_WINDOW; n--) {
        if (r->window >= r->threshold && ++r->grown < r->window)
            continue;
        r->grown = 0;
        r->window++;
    }
}

/* The first n, and those reported after them, are done. Called by
 * vc__reliable_acknowledged(). */
static void
reliable_advance(struct vc__reliable *r, uint32_t n)
{
    while (n < reliable_span(r) && r->received >> n & 1)
        n++;
    reliable_grow(r, n);
    r->received = set_after(r->received, n);
    r->lost = set_after(r->lost, n);
    r->unacked += n;
    if (!sequence_before(r->unacked, r->recover)) {
        r->recovering = false;
        r->recover = r->unacked;
    }
}

/* True if all this was sent. Called by vc__reliable_acknowledged(). */
static bool
reliable_was_sent(const struct vc__reliable *r, uint32_t ack, uint32_t sack)
{
    uint32_t end = ack;

    if (sack != 0)
        end += 2u + set_last(sack);
    return !sequence_before(r->next, ack) && !sequence_before(r->next, end);
}

/* True for the usual acknowledgement: the first n have arrived, the last of them
 * was sent once, and nothing was reported out of order. Asked by
 * vc__reliable_acknowledged(). */
static bool
reliable_is_plain(const struct vc__reliable *r, uint32_t n, uint32_t sack)
{
    return n - 1 < reliable_span(r) && (sack | r->received) == 0 &&
           r->timeouts == 0 && reliable_sent(r, n - 1)->times == 1;
}

/* Returns those that have arrived by any other acknowledgement and were not
 * known to; an empty set if it tells nothing new. Called by
 * vc__reliable_acknowledged(). */
static uint32_t
reliable_fresh(const struct vc__reliable *r, uint32_t ack, uint32_t sack)
{
    uint32_t n = ack - r->unacked, fresh;

    if (sequence_before(ack, r->unacked))
        return 0;
    fresh = (uint32_t)((uint64_t)sack << n << 1) | set_first(n);
    return fresh & ~r->received;
}

/* Notes that these have arrived. Called by vc__reliable_acknowledged(). */
static void
reliable_note(struct vc__reliable *r, uint32_t fresh, uint64_t now)
{
    vc__reliable_heard(r, now);
    r->timeouts = 0;
    reliable_measure(r, fresh, now);
    reliable_see_order(r, fresh);
    r->received |= fresh;
    r->lost &= ~fresh;
}

bool
vc__reliable_acknowledged(struct vc__reliable *r, uint32_t ack, uint32_t sack,
                          uint64_t now)
{
    uint32_t n = ack - r->unacked, fresh;

    if (reliable_is_plain(r, n, sack)) {
        reliable_measure_one(r, reliable_sent(r, n - 1), now);
    } else {
        if (!reliable_was_sent(r, ack, sack))
            return false;
        fresh = reliable_fresh(r, ack, sack);
        if (fresh == 0)
            return true;
        reliable_note(r, fresh, now);
    }
    reliable_advance(r, n);
    return true;
}

/* --- sending again ----------------------------------------------------- */

/* How many that were sent after the datagram unacked + i, for the first time,
 * have been received. Called by reliable_lost_at(). */
static uint32_t
reliable_later(const struct vc__reliable *r, uint32_t i)
{
    uint32_t sent = reliable_sent(r, i)->after - r->unacked;

    return set_count(set_after(reliable_reported(r), sent));
}

/* When unacked + i is lost by what has been received: NEVER if that is too
 * little. Where datagrams overtake each other it has the time of a slow one
 * (RFC 8985 waits so, too). Called by reliable_find_lost() and
 * reliable_lost_first(). */
static uint64_t
reliable_lost_at(const struct vc__reliable *r, uint32_t i)
{
    if ((r->received | r->lost) >> i & 1 ||
        reliable_later(r, i) < VC__RELIABLE_LATER)
        return NEVER;
    return reliable_sent(r, i)->at +
           (r->reorders ? r->srtt + 2 * r->rttvar : 0);
}

/* When the next one is lost in this way. Called by vc__reliable_due(). */
static uint64_t
reliable_lost_first(const struct vc__reliable *r)
{
    uint64_t first = NEVER, at;

    for (uint32_t i = 0; r->received >> i > 1; i++)
        if ((at = reliable_lost_at(r, i)) < first)
            first = at;
    return first;
}

/* A window with this datagram in it has had a loss. Called by
 * reliable_find_lost(). */
static void
reliable_count_loss(struct vc__reliable *r, uint32_t sequence)
{
    if (sequence_before(sequence, r->recover))
        return;
    r->window = r->window / 2 > HALVED ? r->window / 2 : HALVED;
    r->threshold = r->window;
    r->grown = 0;
    r->recovering = true;
    r->recover = r->next;
}

/* Called by vc__reliable_resend(). */
static void
reliable_find_lost(struct vc__reliable *r, uint64_t now)
{
    for (uint32_t i = 0; r->received >> i > 1; i++) {
        if (reliable_lost_at(r, i) > now)
            continue;
        r->lost |= 1u << i;
        reliable_count_loss(r, r->unacked + i);
    }
}

/* When the oldest has waited too long; NEVER if nothing is under way, or the
 * oldest is to be sent again anyway. Called by vc__reliable_due() and
 * vc__reliable_resend(). */
static uint64_t
reliable_late_at(const struct vc__reliable *r)
{
    if (r->unacked == r->next || r->lost & 1 || vc__reliable_is_quiet(r))
        return NEVER;
    return reliable_sent(r, 0)->at + r->rto;
}

/* All that was not received counts as lost: RFC 6298, 5 and RFC 6675, 5.1. A
 * second timeout in a row does not lower the threshold again. Called by
 * vc__reliable_resend(). */
static void
reliable_time_out(struct vc__reliable *r)
{
    if (r->timeouts++ == 0)
        r->threshold = r->window / 2 > HALVED ? r->window / 2 : HALVED;
    r->window = 1;
    r->grown = 0;
    r->recovering = false;
    r->recover = r->next;
    r->lost = set_first(reliable_span(r)) & ~r->received;
    r->rto *= 2;
    if (r->rto > VC__RELIABLE_RTO_MAX)
        r->rto = VC__RELIABLE_RTO_MAX;
}

/* True if a lost one may be sent again now; the oldest always may. Called by
 * vc__reliable_due() and vc__reliable_resend(). */
static bool
reliable_may_resend(const struct vc__reliable *r)
{
    uint32_t flying = reliable_span(r) - set_count(r->received | r->lost);

    if (r->lost == 0 || vc__reliable_is_quiet(r))
        return false;
    return r->lost & 1 || flying < r->window;
}

bool
vc__reliable_resend(struct vc__reliable *r, uint64_t now, uint32_t *sequence)
{
    struct vc__reliable_sent *s;

    if (reliable_late_at(r) <= now)
        reliable_time_out(r);
    reliable_find_lost(r, now);
    if (!reliable_may_resend(r))
        return false;
    *sequence = r->unacked + (uint32_t)__builtin_ctz(r->lost);
    r->lost &= r->lost - 1;
    s = &r->sent[*sequence % VC__RELIABLE_WINDOW];
    s->at = now;
    s->after = r->next;
    if (s->times < UINT8_MAX)
        s->times++;
    r->resent++;
    return true;
}

void
vc__reliable_heard(struct vc__reliable *r, uint64_t now)
{
    (void)now;
    if (!vc__reliable_is_quiet(r))
        return;
    /* Its silence was no congestion. All under way is lost since then. */
    r->timeouts = 0;
    r->threshold = VC__RELIABLE_WINDOW;
    r->rto = reliable_rto(r);
}

uint64_t
vc__reliable_due(const struct vc__reliable *r)
{
    uint64_t at = r->ack_at, other = reliable_late_at(r);

    if (reliable_may_resend(r))
        return 0;
    if (other < at)
        at = other;
    if (vc__reliable_is_quiet(r))
        return at;
    other = reliable_lost_first(r);
    return other < at ? other : at;
}
