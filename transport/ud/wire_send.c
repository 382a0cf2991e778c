/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a wire of datagrams sends: packets in pieces, once and again, and what
 * carries no data. All of it runs under the lock of the port; pump on any
 * thread, the rest on the holder. See transport/ud/wire.h. */
#include "transport/ud/post.h"
#include "transport/ud/wire.h"

/* A CLOSE is repeated after so long, until the link's timer ends the wire. */
#define CLOSE_AGAIN_US 100000u

/* The head of the next datagram to the peer, with what it acknowledges. For the
 * functions that send. */
static struct vc__datagram
datagram_of(struct vc__ud_wire *u)
{
    struct vc__datagram d = {
        .key = u->theirs.key,
        .window = u->port->window,
    };

    vc__reliable_ack(&u->reliable, &d.ack, &d.sack);
    cds_list_del_init(&u->acking);
    return d;
}

void
vc__ud_send_bare(struct vc__ud_wire *u, uint8_t flags)
{
    struct vc__datagram d;

    if (u->ah == NULL || !vc__ud_can_post(u->port))
        return;
    d = datagram_of(u);
    d.flags = flags;
    vc__ud_post(u->port, u->ah->ah, u->theirs.qpn, u->qkey, &d, NULL, 0, 0);
}

/* Sends the datagram with this sequence. 0 or an errno. For vc__ud_pump() and
 * vc__ud_send_lost(), when it can be posted. Inlined, with the posting: saves
 * some 50 instructions per packet. */
static inline __attribute__((always_inline)) int
piece_send(struct vc__ud_wire *u, uint32_t sequence)
{
    const struct vc__ud_out *out = &u->out[sequence % VC__RELIABLE_WINDOW];
    struct vc__ud_packet *packet = out->packet;
    uint32_t offset = out->piece * u->payload;
    struct vc__datagram d = datagram_of(u);

    d.sequence = sequence;
    /* The thread that connects waits for that: see heard(). */
    if (sequence == 1 && u->active)
        d.flags = VC__DATAGRAM_ASKS;
    d.piece = out->piece;
    d.pieces = packet->pieces;
    return vc__ud_post(
        u->port, u->ah->ah, u->theirs.qpn, u->qkey, &d, packet, offset,
        packet->len - offset < u->payload ? packet->len - offset : u->payload);
}

/* How many datagrams may be sent now: by our window, and by the peer's. For
 * vc__ud_pump() and vc__ud_take_room(). */
static uint32_t
wire_room(const struct vc__ud_wire *u)
{
    uint32_t room = vc__reliable_room(&u->reliable);
    uint32_t under_way = u->reliable.next - u->reliable.unacked;
    uint32_t theirs = u->window > under_way ? u->window - under_way : 0;

    return room < theirs ? room : theirs;
}

int
vc__ud_pump(struct vc__ud_wire *u, uint64_t now)
{
    struct vc__ud_packet *packet = vc__ud_unsent(u);
    int err = 0;

    while (err == 0 && packet != NULL && wire_room(u) > 0 &&
           vc__ud_can_post(u->port)) {
        uint32_t sequence = vc__reliable_send(&u->reliable, now);

        u->out[sequence % VC__RELIABLE_WINDOW] =
            (struct vc__ud_out){.packet = packet, .piece = u->unsent_piece};
        if (++u->unsent_piece == packet->pieces)
            packet = NULL;
        err = piece_send(u, sequence);
    }
    vc__ud_unsent_set(u, packet);
    if (packet != NULL && !vc__ud_can_post(u->port) &&
        cds_list_empty(&u->waiting))
        cds_list_add_tail(&u->waiting, &u->port->waiting);
    vc__ud_busy(u->port, u);
    return err;
}

/* The datagram with this sequence is not under way any more. 0 is none's. For
 * vc__ud_take_ack() and vc__ud_drop_packets(). */
static void
piece_done(struct vc__ud_wire *u, uint32_t sequence)
{
    struct vc__ud_packet *packet =
        u->out[sequence % VC__RELIABLE_WINDOW].packet;

    if (sequence == 0)
        return;
    packet->unacked--;
    vc__ud_packet_release(packet);
}

bool
vc__ud_take_ack(struct vc__ud_wire *u, const struct vc__datagram *d,
                uint64_t now)
{
    uint32_t from = u->reliable.unacked;

    if (!vc__reliable_acknowledged(&u->reliable, d->ack, d->sack, now))
        return false;
    if (d->window > 0)
        u->window = d->window;
    for (; from != u->reliable.unacked; from++)
        piece_done(u, from);
    return true;
}

void
vc__ud_send_lost(struct vc__ud_wire *u, uint64_t now)
{
    uint32_t sequence;

    if (vc__ud_is_done(u))
        return;
    while (vc__ud_can_post(u->port) &&
           vc__reliable_resend(&u->reliable, now, &sequence)) {
        /* A failure shows in the completion queue. */
        piece_send(u, sequence);
    }
    vc__ud_pump(u, now);
}

void
vc__ud_send_due(struct vc__ud_wire *u, uint64_t now)
{
    if (u->ah == NULL)
        return;
    vc__ud_send_lost(u, now);
    if (vc__reliable_ack_due(&u->reliable, now))
        vc__ud_send_bare(u, 0);
    if (u->leaving && now >= u->close_at) {
        vc__ud_send_bare(u, VC__DATAGRAM_CLOSE);
        u->close_at = now + CLOSE_AGAIN_US;
    }
}

void
vc__ud_count(struct vc__ud_wire *u)
{
    struct vc__ledger *l = &u->port->device->engine->ledger;
    struct vc__reliable *r = &u->reliable;

    if (r->resent > 0)
        vc__count(l, VC__COUNT_datagrams_resent, r->resent);
    if (r->duplicates > 0)
        vc__count(l, VC__COUNT_datagrams_again, r->duplicates);
    r->resent = r->duplicates = 0;
}

uint64_t
vc__ud_due(const struct vc__ud_wire *u)
{
    uint64_t due = vc__reliable_due(&u->reliable);

    return u->leaving && u->close_at < due ? u->close_at : due;
}

bool
vc__ud_take_room(struct vc__ud_wire *u)
{
    if (!u->wants_room || vc__ud_unsent(u) != NULL || wire_room(u) == 0 ||
        !vc__ud_can_post(u->port))
        return false;
    u->wants_room = false;
    return true;
}

void
vc__ud_drop_packets(struct vc__ud_wire *u)
{
    struct vc__ud_packet *unsent = vc__ud_unsent(u);
    struct vc__reliable *r = &u->reliable;

    /* Pieces that were not sent count as not acknowledged, too. */
    if (unsent != NULL) {
        unsent->unacked -= (uint8_t)(unsent->pieces - u->unsent_piece);
        vc__ud_packet_release(unsent);
        vc__ud_unsent_set(u, NULL);
    }
    for (; r->unacked != r->next; r->unacked++)
        piece_done(u, r->unacked);
}
