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
 * For each packet that came: arrived() with its header, and handled() when its
 * frames were and its buffer is free again. handled() and is_due() need no
 * lock, but are only for the one who receives: what they write and read is
 * atomic, each word for itself. */
#ifndef VC_TRANSPORT_CREDIT_H
#define VC_TRANSPORT_CREDIT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
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
    uint32_t rx_told;  /* those before it were handled, as the peer was told */
    uint32_t window;   /* how many we want to be able to come; the receiver's */
    _Atomic uint32_t rx_next; /* those before it were handled here */
    _Atomic uint32_t rx_end;  /* those before it may come, as it was told */
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

/* Acquire: pairs with vc__credit_handled(); the packets before it are handled,
 * and what that did is seen. */
static inline uint32_t
vc__credit_next(const struct vc__credit *c)
{
    return atomic_load_explicit(&c->rx_next, memory_order_acquire);
}

/* Relaxed: the word alone says all. */
static inline uint32_t
vc__credit_promised_end(const struct vc__credit *c)
{
    return atomic_load_explicit(&c->rx_end, memory_order_relaxed);
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
    uint32_t end = vc__credit_next(c) + c->window;
    uint32_t told = vc__credit_promised_end(c);

    return (int32_t)(end - told) > 0 ? end : told;
}

/* Is half the window to be told? doc/wire.md 3.3: rounded up, and never less
 * than two, as VC__CREDIT_MIN is three: each packet that tells so is answered
 * by less than one, and silence follows. */
static inline bool
vc__credit_is_due(const struct vc__credit *c)
{
    return (vc__credit_end(c) - vc__credit_promised_end(c)) * 2 >= c->window;
}

/* Must a packet without frames go now, because that is due and no packet with
 * frames waits that would carry it, or may not go? */
static inline bool
vc__credit_must_tell(const struct vc__credit *c)
{
    return vc__credit_left(c) >= 1 && vc__credit_is_due(c);
}

/* A packet goes: takes its credit and its sequence, and says what else to
 * write in its header. */
static inline uint32_t
vc__credit_sent(struct vc__credit *c, struct vc__credit_word *word)
{
    uint32_t next = vc__credit_next(c);
    uint32_t end = vc__credit_end(c);

    assert(vc__credit_left(c) > 0);

    atomic_store_explicit(&c->rx_end, end, memory_order_relaxed);
    c->rx_told = next;
    word->ack = next;
    word->window = (uint16_t)(end - next);
    return c->tx_next++;
}

/* The rule that a packet breaks which came and said this, or NULL. One without
 * a credit took another link's buffer from a shared receive queue. */
static inline const char *
vc__credit_breach(const struct vc__credit *c,
                  const struct vc__credit_word *word)
{
    if (vc__credit_next(c) == vc__credit_promised_end(c))
        return "a packet without a credit";
    if (word->ack - c->tx_acked > c->tx_next - c->tx_acked)
        return (int32_t)(word->ack - c->tx_acked) < 0
                   ? "an acknowledgement taken back"
                   : "an acknowledgement of packets that were never sent";
    if ((int32_t)(word->ack + word->window - c->tx_end) < 0)
        return "credits taken back";
    return NULL;
}

/* A packet came that said this. False when it breaks a rule: the peer is
 * broken, and nothing was taken. */
static inline bool
vc__credit_arrived(struct vc__credit *c, const struct vc__credit_word *word)
{
    if (vc__credit_breach(c, word) != NULL)
        return false;
    c->tx_acked = word->ack;
    c->tx_end = word->ack + word->window;
    return true;
}

/* It was handled. */
static inline void
vc__credit_handled(struct vc__credit *c)
{
    /* One writer. Release: pairs with vc__credit_next(). */
    atomic_store_explicit(
        &c->rx_next,
        atomic_load_explicit(&c->rx_next, memory_order_relaxed) + 1,
        memory_order_release);
}

/* Was the packet with this sequence handled by the peer? Only for those sent
 * since. */
static inline bool
vc__credit_is_acked(const struct vc__credit *c, uint32_t sequence)
{
    return (int32_t)(c->tx_acked - sequence) > 0;
}

#endif
