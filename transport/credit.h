/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sequences and credits of one link (doc/wire.md, section 3): a packet may be
 * sent only into a receive buffer that the peer has posted, so RNR never
 * happens. Each packet says which packets of the other direction have been
 * handled, and how many beyond those may come. Both are absolute, so any later
 * word makes up for one that was lost, and the number of buffers can follow
 * the load. The last credit is kept for a packet without frames, or two ends
 * that have none left could wait for each other for ever. Pure; the owner
 * serialises. Inline, as each packet asks several times.
 *
 * For each packet that came: arrived() when its frames are to be handled, and
 * handled() with its header when they were and its buffer is free again. */
#ifndef VC_TRANSPORT_CREDIT_H
#define VC_TRANSPORT_CREDIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Fewest buffers that an end may grant. With two on both sides each packet
 * that gives a credit back would make the peer owe half its window in turn,
 * and an idle link would never fall silent (tests/unit/test_credit.c). */
#define VC__CREDIT_MIN 3

/* Sequences count packets modulo 2^32. */
struct vc__credit {
    uint32_t tx_next;  /* the next packet that we send */
    uint32_t tx_acked; /* those before it were handled by the peer */
    uint32_t tx_end;   /* those before it may be sent */
    uint32_t rx_next;  /* those before it were handled here */
    uint32_t rx_told;  /* what the peer was told of that */
    uint32_t rx_end;   /* those before it may come, as the peer was told */
    uint32_t window;   /* how many we want to be able to come */
};

/* What a header says beside its own sequence. */
struct vc__credit_word {
    uint32_t ack;    /* packets of the other direction before it: handled */
    uint16_t window; /* so many from there on may come */
};

/* granted: buffers we posted for the peer; got: what it posted for us; both
 * VC__CREDIT_MIN..65535. */
static inline void
vc__credit_init(struct vc__credit *c, uint32_t granted, uint32_t got)
{
    *c = (struct vc__credit){
        .tx_end = got, .rx_end = granted, .window = granted};
}

/* Packets that may go now. */
static inline uint32_t
vc__credit_left(const struct vc__credit *c)
{
    return c->tx_end - c->tx_next;
}

/* May a packet with frames go now? doc/wire.md 3.2: the last credit is kept
 * for a packet without frames. */
static inline bool
vc__credit_can_send(const struct vc__credit *c)
{
    return vc__credit_left(c) >= 2;
}

/* The end of what may come, if the peer were told now. It never goes back. */
static inline uint32_t
vc__credit_end(const struct vc__credit *c)
{
    uint32_t end = c->rx_next + c->window;

    return (int32_t)(end - c->rx_end) > 0 ? end : c->rx_end;
}

/* Must a packet without frames go now, because half the window is to be told
 * and no packet with frames waits that would carry it, or may not go?
 * doc/wire.md 3.3: half the window is rounded up, and never less than two, as
 * VC__CREDIT_MIN is three: each such packet is answered by less than one, and
 * silence follows. */
static inline bool
vc__credit_must_tell(const struct vc__credit *c)
{
    return vc__credit_left(c) >= 1 &&
           (vc__credit_end(c) - c->rx_end) * 2 >= c->window;
}

/* A packet goes: takes its credit and its sequence, and says what else to
 * write in its header. */
static inline uint32_t
vc__credit_sent(struct vc__credit *c, struct vc__credit_word *word)
{
    assert(vc__credit_left(c) > 0);

    c->rx_end = vc__credit_end(c);
    c->rx_told = c->rx_next;
    word->ack = c->rx_next;
    word->window = (uint16_t)(c->rx_end - c->rx_next);
    return c->tx_next++;
}

/* The packet that came had a credit. If not, the peer is broken, and on a
 * shared receive queue it took another link's buffer. */
static inline bool
vc__credit_arrived(const struct vc__credit *c)
{
    return c->rx_next != c->rx_end;
}

/* A packet that said this was handled. False when it speaks of packets that
 * we never sent, or takes back what was granted: the peer is broken. */
static inline bool
vc__credit_handled(struct vc__credit *c, const struct vc__credit_word *word)
{
    uint32_t end = word->ack + word->window;

    c->rx_next++;
    if (word->ack - c->tx_acked > c->tx_next - c->tx_acked ||
        (int32_t)(end - c->tx_end) < 0)
        return false;
    c->tx_acked = word->ack;
    c->tx_end = end;
    return true;
}

/* Was the packet with this sequence handled by the peer? Only for those sent
 * since. */
static inline bool
vc__credit_is_acked(const struct vc__credit *c, uint32_t sequence)
{
    return (int32_t)(c->tx_acked - sequence) > 0;
}

#endif
