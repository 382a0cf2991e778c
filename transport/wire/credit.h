/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sequences and credits of one link (doc/wire.md, section 3). A packet may be
 * sent only into a receive buffer that the peer has posted, so RNR never
 * happens. Each packet reports which packets of the other direction have been
 * handled, and how many beyond those may come. Both are absolute, so any later
 * update makes up for a lost one, and the number of buffers can follow the
 * load. The last credit is kept for a packet without frames: otherwise two ends
 * without credits could wait for each other for ever. Pure; the owner
 * serialises, the link by its lock. Inline, as each packet asks several times.
 *
 * For each packet received: arrived() with its header, and handled() when its
 * frames were handled and its buffer is free again. The receiving thread, the
 * holder, may call next(), handled() and is_due() without the lock: what they
 * write and read is atomic, each word for itself. All else is called under the
 * link's lock: on the holder when a packet has come, on any thread that sends.
 *
 * Called by: cm/link/link_io.c (init, next, is_due, breach, arrived, handled,
 * is_acked), cm/link/link_keepalive.c (next), cm/link/link_send.c (next,
 * can_send, must_tell, sent), cm/link/window.c (next, promised_end),
 * cm/link/window.h (next, promised_end). */
#ifndef VC_TRANSPORT_CREDIT_H
#define VC_TRANSPORT_CREDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/core/invariant.h"

/* Fewest buffers that an end may grant. With two on both sides each packet that
 * returns a credit would make the peer owe half its window in turn, and an idle
 * link would never fall silent (tests/unit/test_credit.c). */
#define VC__CREDIT_MIN 3

/* Sequences count packets modulo 2^32. */
struct vc__credit {
    uint32_t tx_next;         /* the next packet to send */
    uint32_t tx_acked;        /* packets before it: handled by the peer */
    uint32_t tx_end;          /* packets before it may be sent */
    uint32_t rx_reported;     /* packets before it: reported as handled */
    uint32_t window;          /* the window that this end wants; the
                               * receiver's */
    _Atomic uint32_t rx_next; /* packets before it were handled here */
    _Atomic uint32_t rx_end;  /* packets before it may come: so promised */
};

/* What a header reports beside its own sequence. */
struct vc__credit_word {
    uint32_t ack;    /* packets of the other direction before it: handled */
    uint16_t window; /* so many from there on may come */
};

/* granted: buffers posted here for the peer; got: those that the peer has
 * posted; both VC__CREDIT_MIN..65535. Called by vc__link_open_io(), when the
 * link comes up. */
static inline void
vc__credit_init(struct vc__credit *c, uint32_t granted, uint32_t got)
{
    *c = (struct vc__credit){
        .tx_end = got, .rx_end = granted, .window = granted};
}

/* Sequence of the next packet to handle. Called by vc__link_on_received(), on
 * the holder without the lock, to check the sequence of a packet; and by this
 * header, cm/link/window.c and vc__window_promised(). Acquire: pairs with
 * vc__credit_handled(), so that what the handling of the packets before it did
 * is seen. */
static inline uint32_t
vc__credit_next(const struct vc__credit *c)
{
    return atomic_load_explicit(&c->rx_next, memory_order_acquire);
}

/* The end of what may come: packets before it have been promised. For this
 * header, cm/link/window.c and vc__window_promised(). Relaxed: no other data
 * depends on the word. */
static inline uint32_t
vc__credit_promised_end(const struct vc__credit *c)
{
    return atomic_load_explicit(&c->rx_end, memory_order_relaxed);
}

/* Packets that may be sent now, with frames or without. For this header. */
static inline uint32_t
vc__credit_left(const struct vc__credit *c)
{
    return c->tx_end - c->tx_next;
}

/* True if a packet with frames may be sent now. doc/wire.md 3.2: the last
 * credit is kept for a packet without frames. Called by packet_send() and
 * queue_flush() (cm/link/link_send.c). */
static inline bool
vc__credit_can_send(const struct vc__credit *c)
{
    return vc__credit_left(c) >= 2;
}

/* The end of what may come, if the peer were updated now. It never goes back.
 * For this header. */
static inline uint32_t
vc__credit_end(const struct vc__credit *c)
{
    uint32_t end = vc__credit_next(c) + c->window;
    uint32_t promised = vc__credit_promised_end(c);

    return (int32_t)(end - promised) > 0 ? end : promised;
}

/* True if half the window or more is unreported. doc/wire.md 3.3: rounded up,
 * and never less than two, as VC__CREDIT_MIN is three. So each such update is
 * answered by less than one, and silence follows. Called by packet_handled(),
 * on the holder without the lock, and by vc__credit_must_tell() with it. */
static inline bool
vc__credit_is_due(const struct vc__credit *c)
{
    return (vc__credit_end(c) - vc__credit_promised_end(c)) * 2 >= c->window;
}

/* True if a packet without frames must be sent now: an update is due, and a
 * credit is left. The caller has made sure that no packet with frames can carry
 * the update: none waits, or none may be sent. It is queue_flush(). */
static inline bool
vc__credit_must_tell(const struct vc__credit *c)
{
    return vc__credit_left(c) >= 1 && vc__credit_is_due(c);
}

/* A packet is sent: takes its credit, fills *word for its header, and returns
 * its sequence. Called by header_write(), for each packet. */
static inline uint32_t
vc__credit_sent(struct vc__credit *c, struct vc__credit_word *word)
{
    uint32_t next = vc__credit_next(c);
    uint32_t end = vc__credit_end(c);

    vc__invariant(vc__credit_left(c) > 0);
    atomic_store_explicit(&c->rx_end, end, memory_order_relaxed);
    c->rx_reported = next;
    word->ack = next;
    word->window = (uint16_t)(end - next);
    return c->tx_next++;
}

/* The rule that a received packet with this word breaks, in words, or NULL.
 * Called by vc__credit_arrived(), and again by packet_arrived() for the text. A
 * packet without a credit took another link's buffer from a shared receive
 * queue. */
static inline const char *
vc__credit_breach(const struct vc__credit *c,
                  const struct vc__credit_word *word)
{
    if (vc__credit_next(c) == vc__credit_promised_end(c))
        return "a packet without a credit";
    if (word->ack - c->tx_acked > c->tx_next - c->tx_acked)
        return (int32_t)(word->ack - c->tx_acked) < 0
                   ? "an acknowledgement number that decreases"
                   : "an acknowledgement of packets that were never sent";
    if ((int32_t)(word->ack + word->window - c->tx_end) < 0)
        return "a credit limit that decreases";
    return NULL;
}

/* Takes the word of a received packet, in packet_arrived() on the holder.
 * Returns true if that is done, false if it breaks a rule: the peer is broken,
 * and nothing is changed. */
static inline bool
vc__credit_arrived(struct vc__credit *c, const struct vc__credit_word *word)
{
    if (vc__credit_breach(c, word) != NULL)
        return false;
    c->tx_acked = word->ack;
    c->tx_end = word->ack + word->window;
    return true;
}

/* The received packet was handled: called by packet_handled(), on the holder,
 * without the lock. */
static inline void
vc__credit_handled(struct vc__credit *c)
{
    /* One writer. Release: pairs with vc__credit_next(). */
    atomic_store_explicit(
        &c->rx_next,
        atomic_load_explicit(&c->rx_next, memory_order_relaxed) + 1,
        memory_order_release);
}

/* True if the peer has handled the packet with this sequence, which was sent
 * less than 2^31 packets ago. Called by acks_take(), when a packet has come,
 * for messages that wait for that. */
static inline bool
vc__credit_is_acked(const struct vc__credit *c, uint32_t sequence)
{
    return (int32_t)(c->tx_acked - sequence) > 0;
}

#endif
