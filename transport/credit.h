/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Credits of one link (doc/wire.md, section 3): a packet may be sent only into
 * a receive buffer that the peer has posted, so RNR never happens. The last
 * credit is kept for a packet without frames that gives credits back, or two
 * ends that have none left could wait for each other for ever. Pure; the
 * owner serialises.
 *
 * For each packet that came: arrived(), then got() with its header's number,
 * and reposted() when its buffer is free again. */
#ifndef VC_TRANSPORT_CREDIT_H
#define VC_TRANSPORT_CREDIT_H

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
void vc__credit_init(struct vc__credit *c, uint32_t granted, uint32_t got);

/* May a packet with frames go now? */
bool vc__credit_can_send(const struct vc__credit *c);

/* Must a packet without frames go now, because half the window is owed and no
 * packet with frames waits that would carry it, or may not go? */
bool vc__credit_must_tell(const struct vc__credit *c);

/* A packet goes: takes its credit and returns what to write in its header. */
uint16_t vc__credit_sent(struct vc__credit *c);

/* A packet came. False when the peer had no credit left for it: the peer is
 * broken, and on a shared receive queue it took another link's buffer. */
bool vc__credit_arrived(struct vc__credit *c);

/* n buffers were posted again after the peer had filled them. */
void vc__credit_reposted(struct vc__credit *c, uint32_t n);

/* The header of a packet said n. False when that is more than we ever used:
 * the peer is broken. */
bool vc__credit_got(struct vc__credit *c, uint32_t n);

#endif
