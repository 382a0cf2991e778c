/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes the datagrams between two ends reliable: it numbers them, acknowledges
 * those of the peer, and says which to send again and when. Pure: the clock is
 * a parameter, in microseconds, and each function returns what to do; nothing
 * is allocated, sent or kept here except numbers. The caller serialises.
 *
 * Sequences are 32 bits and wrap around; 0 is no datagram's and is passed over
 * then. A datagram that carries data has one; each datagram also carries an
 * acknowledgement: the sequence that is expected next, and a bit for each of
 * the 32 after it that has been received (SACK). At most VC__RELIABLE_WINDOW
 * datagrams are sent and not acknowledged: sequence % VC__RELIABLE_WINDOW is a
 * place for each of them, and for each that arrived ahead.
 *
 * - A round trip is measured by datagrams that were sent once (Karn). The
 *   timeout is that of RFC 6298, at least VC__RELIABLE_RTO_MIN; it doubles with
 *   each timeout, up to VC__RELIABLE_RTO_MAX, until a round trip is measured.
 * - A datagram is sent again at once when VC__RELIABLE_LATER that were sent
 *   later have been received: fewer may be reordering. Where datagrams have
 *   overtaken each other it also has the time of a slow round trip.
 * - The window begins with VC__RELIABLE_FIRST, grows by one for each datagram
 *   that is acknowledged with all before it until the first loss, then by one
 *   for each window; a loss halves it, to 2 at least, once for each window. A
 *   timeout sets it to 1, and it grows as at first to half of what it was. Lost
 *   datagrams are sent again as the window allows, the oldest at once.
 * - Acknowledgements go with data; alone after two datagrams, at once for
 *   something that arrived out of order or twice or asks for it, else after
 *   VC__RELIABLE_ACK_DELAY.
 * - A peer that acknowledges nothing is quiet after VC__RELIABLE_TRIES timeouts
 *   in a row: nothing more is sent to it until something of it arrives. What
 *   that means is for the caller to say.
 *
 * Called by: wire.c (init), reliable.c (room, is_quiet, heard), wire_send.c
 * (room, send, acknowledged, resend, ack, ack_due, due), wire_receive.c
 * (received, ack_due, heard), port_receive.c (ack_due). */
#ifndef VC_TRANSPORT_UD_RELIABLE_H
#define VC_TRANSPORT_UD_RELIABLE_H

#include <stdbool.h>
#include <stdint.h>

#define VC__RELIABLE_WINDOW    32u
#define VC__RELIABLE_FIRST     4u
#define VC__RELIABLE_LATER     3u
#define VC__RELIABLE_RTO_FIRST 100000u /* before a round trip is known */
#define VC__RELIABLE_RTO_MIN   20000u  /* four ticks of 4 ms, and some */
#define VC__RELIABLE_RTO_MAX   4000000u
#define VC__RELIABLE_ACK_DELAY 5000u

struct vc__reliable_sent {
    uint64_t at;    /* when it was last sent */
    uint32_t after; /* the first sequence that was not sent before that */
    uint8_t times;  /* how often it was sent */
};

struct vc__reliable {
    /* Sending: unacked..next-1 are under way; bit i: unacked + i has been
     * received, or is lost and is to be sent again. */
    uint32_t next, unacked;
    uint32_t received, lost;
    uint32_t window, threshold; /* of congestion */
    uint32_t grown;             /* acknowledged since the window grew */
    uint32_t recover;           /* losses before this sequence were counted */
    bool recovering;            /* from a loss: the window does not grow */
    bool reorders;              /* datagrams have overtaken each other */
    uint64_t srtt, rttvar, rto; /* srtt 0: not known */
    unsigned timeouts;          /* in a row */
    unsigned tries;             /* timeouts until the peer is quiet, not 0 */
    struct vc__reliable_sent sent[VC__RELIABLE_WINDOW];

    /* Receiving. */
    uint32_t expected;
    uint32_t later;      /* bit i: expected + 1 + i has been received */
    unsigned unreported; /* received and not acknowledged */
    uint64_t ack_at;     /* when to acknowledge; UINT64_MAX: nothing to do */

    /* Counted, for the owner to read and clear. */
    uint32_t resent, duplicates;
};

/* Begins. Both ends begin with sequence 1. `tries`, at least 1: see above; a
 * datagram is sent so often before the peer is quiet. */
void vc__reliable_init(struct vc__reliable *r, unsigned tries);

/* How many new datagrams may be sent now. */
uint32_t vc__reliable_room(const struct vc__reliable *r);

/* A new datagram is sent now; only when there is room. Returns its sequence. */
uint32_t vc__reliable_send(struct vc__reliable *r, uint64_t now);

/* The peer has acknowledged this much, with any datagram. Afterwards all before
 * r->unacked have been received. Returns false, and changes nothing, if it
 * acknowledges what was not sent: the datagram is not of this peer. An old one
 * (reordered) is good and says nothing new. */
bool vc__reliable_acknowledged(struct vc__reliable *r, uint32_t ack,
                               uint32_t sack, uint64_t now);

/* Returns true, and in *sequence a datagram that is to be sent again now; it
 * then counts as sent at `now`. Called until it returns false: after
 * vc__reliable_acknowledged() and vc__reliable_heard(), and when
 * vc__reliable_due() has passed. */
bool vc__reliable_resend(struct vc__reliable *r, uint64_t now,
                         uint32_t *sequence);

/* A datagram with this sequence has arrived. */
enum vc__reliable_kind {
    VC__RELIABLE_NEXT,    /* the expected one; expected is then the next that
                           * is missing: those between, but 0, arrived before */
    VC__RELIABLE_AHEAD,   /* new, but one before it is missing: keep it */
    VC__RELIABLE_AGAIN,   /* received before: drop it */
    VC__RELIABLE_OUTSIDE, /* no datagram that the peer may send: drop it */
};
enum vc__reliable_kind vc__reliable_received(struct vc__reliable *r,
                                             uint32_t sequence, bool asks,
                                             uint64_t now);

/* What a datagram that goes now acknowledges. Nothing remains to be
 * acknowledged then. */
void vc__reliable_ack(struct vc__reliable *r, uint32_t *ack, uint32_t *sack);

/* True if an acknowledgement is due now that no data has carried. */
bool vc__reliable_ack_due(const struct vc__reliable *r, uint64_t now);

/* When vc__reliable_resend() or vc__reliable_ack_due() have something to do
 * next; 0: at once; UINT64_MAX: never, as things are. */
uint64_t vc__reliable_due(const struct vc__reliable *r);

/* True if the peer has let `tries` timeouts in a row pass. */
bool vc__reliable_is_quiet(const struct vc__reliable *r);

/* Something authentic of the peer has arrived: it is not quiet any more, and
 * what is under way to a peer that was quiet is sent again. */
void vc__reliable_heard(struct vc__reliable *r, uint64_t now);

#endif
