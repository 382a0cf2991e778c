/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Credits of one link (doc/wire.md, section 3): a packet may be sent only into
 * a receive buffer that the peer has posted, so RNR never happens. The last
 * credit is kept for a packet without frames that gives credits back, or two
 * ends that have none left could wait for each other for ever. For each buffer
 * that we granted there is one place: allowed (the peer may fill it), filled
 * and not yet posted again (not counted here), or owed. Pure; the owner
 * serialises. Inline, as each packet asks several times.
 *
 * For each packet that came: arrived(), then got() with its header's number,
 * and reposted() when its buffer is free again. */
#ifndef VC_TRANSPORT_CREDIT_H
#define VC_TRANSPORT_CREDIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Fewest buffers that an end may grant. With two on both sides each packet
 * that gives a credit back would make the peer owe half its window in turn,
 * and an idle link would never fall silent (tests/unit/test_credit.c). */
#define VC__CREDIT_MIN 3

struct vc__credit {
    uint32_t have;    /* packets that we may send now */
    uint32_t window;  /* what we granted: buffers of ours that the peer fills */
    uint32_t owed;    /* reposted, not yet told to the peer */
    uint32_t limit;   /* what the peer granted: have may never exceed it */
    uint32_t allowed; /* packets that the peer may still send, as it knows or
                       * will know from what is on its way */
};

/* granted: buffers we posted for the peer; got: what it posted for us; both
 * VC__CREDIT_MIN..65535. */
static inline void
vc__credit_init(struct vc__credit *c, uint32_t granted, uint32_t got)
{
    c->have = got;
    c->window = granted;
    c->owed = 0;
    c->limit = got;
    c->allowed = granted;
}

/* May a packet with frames go now? doc/wire.md 3.2: the last credit is kept
 * for a packet without frames. */
static inline bool
vc__credit_can_send(const struct vc__credit *c)
{
    return c->have >= 2;
}

/* Must a packet without frames go now, because half the window is owed and no
 * packet with frames waits that would carry it, or may not go? doc/wire.md
 * 3.3: half the window is rounded up, and never less than two, as
 * VC__CREDIT_MIN is three: each such packet is answered by less than one, and
 * silence follows. */
static inline bool
vc__credit_must_tell(const struct vc__credit *c)
{
    return c->have >= 1 && c->owed * 2 >= c->window;
}

/* A packet goes: takes its credit and returns what to write in its header. */
static inline uint16_t
vc__credit_sent(struct vc__credit *c)
{
    uint32_t told = c->owed;

    assert(c->have > 0);
    assert(told <= UINT16_MAX);

    c->have--;
    c->owed = 0;
    c->allowed += told;
    return (uint16_t)told;
}

/* A packet came. False when the peer had no credit left for it: the peer is
 * broken, and on a shared receive queue it took another link's buffer. */
static inline bool
vc__credit_arrived(struct vc__credit *c)
{
    if (c->allowed == 0)
        return false;
    c->allowed--;
    return true;
}

/* n buffers were posted again after the peer had filled them. */
static inline void
vc__credit_reposted(struct vc__credit *c, uint32_t n)
{
    c->owed += n;
}

/* The header of a packet said n. False when that is more than we ever used:
 * the peer is broken. */
static inline bool
vc__credit_got(struct vc__credit *c, uint32_t n)
{
    if (n > c->limit - c->have)
        return false;
    c->have += n;
    return true;
}

#endif
