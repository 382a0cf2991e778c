/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a wire of datagrams receives: puts them in order, and pieces together. A
 * packet in one piece is passed up where it was received. All of it runs on the
 * holder of the engine; the link's callbacks are called without the lock of the
 * port. See transport/ud/wire.h. */
#include <stdlib.h>
#include <string.h>

#include "transport/ud/wire.h"

/* Where the data of a datagram are in its receive. */
#define DATA_AT (VC__UD_GRH + VC__DATAGRAM_HEADER)

/* The packet is complete: passes it to the link. For the functions below. */
static void
packet_pass(struct vc__ud_wire *u, const uint8_t *data, uint32_t len)
{
    u->wire.ops->received(&u->wire, data, len);
}

/* Drops the packet that is being put together. For piece_add(), and when the
 * wire ends. */
static void
ud_assembly_drop(struct vc__ud_wire *u)
{
    free(u->assembly);
    u->assembly = NULL;
}

/* Begins to put a packet together, or checks that this piece is its next one.
 * NULL if all is well, else what is wrong. For piece_add(). */
static const char *
piece_check(struct vc__ud_wire *u, uint8_t piece, uint8_t pieces, uint32_t len)
{
    if (u->assembly == NULL) {
        if (piece != 0)
            return "a packet that begins in its middle";
        u->assembly = malloc(VC__PACKET_MAX);
        if (u->assembly == NULL)
            return "out of memory for a packet in pieces";
        u->assembled = 0;
        u->next_piece = 0;
        u->pieces = pieces;
    }
    if (piece != u->next_piece || pieces != u->pieces)
        return "pieces that do not belong together";
    if (len > VC__PACKET_MAX - u->assembled)
        return "a packet that is too long";
    return NULL;
}

/* Adds a piece of a packet that has several; passes the packet up when it is
 * complete. For piece_take(). */
static void
piece_add(struct vc__ud_wire *u, const uint8_t *data, uint32_t len,
          uint8_t piece, uint8_t pieces)
{
    const char *breach = piece_check(u, piece, pieces, len);
    uint8_t *packet = u->assembly;

    if (breach != NULL) {
        ud_assembly_drop(u);
        u->wire.ops->failed(&u->wire, breach);
        return;
    }
    memcpy(packet + u->assembled, data, len);
    u->assembled += len;
    if (++u->next_piece < u->pieces)
        return;
    u->assembly = NULL; /* the link may end the wire */
    packet_pass(u, packet, u->assembled);
    free(packet);
}

/* The next datagram in order. For vc__ud_take(). */
static void
piece_take(struct vc__ud_wire *u, const struct vc__buffer *buffer, uint32_t len,
           uint8_t piece, uint8_t pieces)
{
    const uint8_t *data = buffer->data + DATA_AT;

    if (pieces == 1 && u->assembly == NULL)
        packet_pass(u, data, len);
    else
        piece_add(u, data, len, piece, pieces);
}

/* Takes those that came before their turn, after the datagram before them. For
 * vc__ud_take(). */
static void
held_take(struct vc__ud_wire *u, uint32_t from)
{
    for (;; from++) {
        struct vc__ud_held *at = &u->held[from % VC__RELIABLE_WINDOW], held;

        if (from == 0) /* no datagram's */
            continue;
        if (at->buffer == NULL)
            return;
        held = *at;
        at->buffer = NULL;
        u->port->held--;
        piece_take(u, held.buffer, held.len, held.piece, held.pieces);
        vc__ud_receive_give_back(u->port, held.buffer);
    }
}

/* False: it came before its turn, and half of the receives are held for such
 * datagrams, so it counts as lost: peers that leave gaps must not take all
 * receives. For vc__ud_take_head(). */
static bool
receive_may_be_held(const struct vc__ud_wire *u, uint32_t sequence)
{
    return (int32_t)(sequence - u->reliable.expected) <= 0 ||
           u->port->held < u->port->posted / 2;
}

/* An acknowledgement that is due now waits for the end of the batch: data may
 * carry it until then. (P). For vc__ud_take_head(). */
static void
ack_plan(struct vc__ud_wire *u, uint64_t now)
{
    if (!vc__reliable_ack_due(&u->reliable, now))
        vc__ud_busy(u->port, u);
    else if (cds_list_empty(&u->acking))
        cds_list_add_tail(&u->acking, &u->port->acking);
}

struct vc__ud_arrival
vc__ud_take_head(struct vc__ud_wire *u, const struct vc__datagram *d,
                 uint64_t now)
{
    struct vc__ud_arrival a = {.kind = VC__RELIABLE_OUTSIDE};

    a.good = vc__ud_take_ack(u, d, now);
    if (!a.good)
        return a;
    u->heard = now;
    vc__reliable_heard(&u->reliable, now);
    if (d->sequence != 0 && receive_may_be_held(u, d->sequence))
        a.kind = vc__reliable_received(&u->reliable, d->sequence,
                                       d->flags & VC__DATAGRAM_ASKS, now);
    else if (d->flags & VC__DATAGRAM_ASKS)
        vc__ud_send_bare(u, 0);
    if (!vc__ud_is_done(u))
        vc__ud_send_lost(u, now);
    ack_plan(u, now);
    a.room = vc__ud_take_room(u);
    vc__ud_count(u);
    return a;
}

/* Keeps a datagram that came before its turn: its receive is not posted again
 * for now. For vc__ud_take(). */
static void
ahead_keep(struct vc__ud_wire *u, const struct vc__datagram *d,
           struct vc__buffer *buffer, uint32_t len)
{
    u->port->held++;
    u->held[d->sequence % VC__RELIABLE_WINDOW] =
        (struct vc__ud_held){.buffer = buffer,
                             .len = len - VC__DATAGRAM_HEADER,
                             .piece = d->piece,
                             .pieces = d->pieces};
}

bool
vc__ud_take(struct vc__ud_wire *u, struct vc__ud_arrival a,
            const struct vc__datagram *d, struct vc__buffer *buffer,
            uint32_t len)
{
    if (a.kind == VC__RELIABLE_OUTSIDE && (!a.good || d->sequence != 0))
        vc__count(&u->port->device->engine->ledger, VC__COUNT_datagrams_dropped,
                  1);
    if (a.kind == VC__RELIABLE_AHEAD)
        ahead_keep(u, d, buffer, len);
    if (a.kind == VC__RELIABLE_NEXT) {
        piece_take(u, buffer, len - VC__DATAGRAM_HEADER, d->piece, d->pieces);
        held_take(u, d->sequence + 1);
    }
    if (a.room)
        u->wire.ops->writable(&u->wire, 0);
    if (a.good && d->flags & VC__DATAGRAM_CLOSE)
        u->wire.ops->left(&u->wire);
    return a.kind == VC__RELIABLE_AHEAD;
}

void
vc__ud_drop_received(struct vc__ud_wire *u)
{
    ud_assembly_drop(u);
    for (unsigned i = 0; i < VC__RELIABLE_WINDOW; i++) {
        if (u->held[i].buffer == NULL)
            continue;
        vc__ud_receive_give_back(u->port, u->held[i].buffer);
        u->held[i].buffer = NULL;
        u->port->held--;
    }
}
