/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations table of datagrams, and moving packets. A packet is written
 * into a buffer that is kept until the peer has acknowledged it; a short one is
 * copied from there into a smaller buffer. Functions named ud_wire_ are entries
 * of the table, with the results that transport/transport.h names; reserve,
 * commit, flush, heard, probe and proven run under the lock of the link, reserve,
 * commit and flush on any thread. All else runs on the holder of the engine.
 * See transport/ud/wire.h. */
#include "transport/ud/wire.h"

#include <errno.h>
#include <string.h>

#include "transport/rdma/wire.h"
#include "transport/ud/answers.h"
#include "transport/ud/ud.h"

/* --- sending ------------------------------------------------------------- */

/* Gets an empty packet to write. False: the one before waits for the window, or
 * there is no memory; writable() will come. For ud_wire_reserve(). */
static bool
packet_get(struct vc__ud_wire *u)
{
    struct vc__ud_port *p = u->port;
    bool good;

    vc__lock_take(&p->lock);
    if (u->at == NULL)
        u->at = vc__ud_packet_new(p, VC__PACKET_MAX);
    good = u->at != NULL && vc__ud_unsent(u) == NULL;
    u->wants_room = !good;
    if (u->at == NULL && cds_list_empty(&u->waiting))
        cds_list_add_tail(&u->waiting, &p->waiting);
    vc__lock_give(&p->lock);
    return good;
}

/* Returns where to write the next packet. NULL: the one before waits for the
 * window, or there is no memory; writable() will come. */
static uint8_t *
ud_wire_reserve(struct vc__wire *w, uint32_t *room)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);

    if (u->at == NULL)
        u->at = atomic_exchange(&u->port->spare, NULL);
    *room = VC__PACKET_MAX;
    if ((u->at == NULL || vc__ud_unsent(u) != NULL) && !packet_get(u))
        return NULL;
    return vc__ud_packet_data(u->at);
}

/* Returns the packet to be sent: the reserved one, or a copy of it in a smaller
 * buffer. (P). For ud_wire_commit(). */
static struct vc__ud_packet *
packet_choose(struct vc__ud_wire *u, uint32_t len)
{
    struct vc__ud_packet *packet = u->at, *small = NULL;

    if (len <= u->payload)
        small = vc__ud_packet_new(u->port, len);
    if (small == NULL) {
        u->at = NULL;
        return packet;
    }
    memcpy(vc__ud_packet_data(small), vc__ud_packet_data(packet), len);
    return small;
}

/* Sends the packet that was written where reserve() said, as far as the window
 * allows. 0, or an errno: the connection is broken. */
static int
ud_wire_commit(struct vc__wire *w, uint32_t len)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    struct vc__ud_packet *packet;
    int err;

    vc__lock_take(&u->port->lock);
    packet = packet_choose(u, len);
    packet->len = len;
    packet->pieces = (uint8_t)((len + u->payload - 1) / u->payload);
    packet->unacked = packet->pieces;
    vc__ud_unsent_set(u, packet);
    u->unsent_piece = 0;
    err = vc__ud_pump(u, vc__now());
    vc__lock_give(&u->port->lock);
    return err;
}

/* Gives back the packet that was reserved and not needed: the next to write one
 * is likely to find it there. */
static void
ud_wire_flush(struct vc__wire *w)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    struct vc__ud_packet *none = NULL, *at = u->at;

    u->at = NULL;
    if (at == NULL ||
        atomic_compare_exchange_strong(&u->port->spare, &none, at))
        return;
    vc__lock_take(&u->port->lock);
    vc__ud_packet_release(at);
    vc__lock_give(&u->port->lock);
}

/* There is nothing to account for: the port does that. */
static void
ud_wire_retire(struct vc__wire *w, uint32_t ticket)
{
    (void)w;
    (void)ticket;
}

/* True if the peer has acknowledged the first datagram, or there is none. After
 * 2^32 of them another is taken for the first, until its acknowledgement. */
static bool
ud_wire_heard(const struct vc__wire *w)
{
    const struct vc__ud_wire *u =
        caa_container_of(w, const struct vc__ud_wire, wire);
    bool heard;

    vc__lock_take(&u->port->lock);
    heard = u->reliable.unacked != 1 ||
            (u->reliable.next == 1 && vc__ud_unsent(u) == NULL);
    vc__lock_give(&u->port->lock);
    return heard;
}

/* --- signs of life ------------------------------------------------------- */

/* Asks the peer for an acknowledgement. Only its process can answer, and a
 * client without library threads may be between two calls: see proven(). */
static int
ud_wire_probe(struct vc__wire *w, uint32_t *ticket)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);

    vc__lock_take(&u->port->lock);
    vc__ud_send_bare(u, VC__DATAGRAM_ASKS);
    vc__lock_give(&u->port->lock);
    *ticket = 0;
    return 0;
}

/* True if the peer was heard lately. */
static bool
ud_wire_proven(const struct vc__wire *w, uint32_t ticket)
{
    const struct vc__ud_wire *u =
        caa_container_of(w, const struct vc__ud_wire, wire);
    uint64_t heard;

    (void)ticket;
    vc__lock_take(&u->port->lock);
    heard = u->heard;
    vc__lock_give(&u->port->lock);
    return !vc__ud_is_silent(heard, vc__now());
}

/* --- receives ------------------------------------------------------------ */

/* Receives are the port's, for all wires together: only the numbers change.
 * Always VC_OK. */
static enum vc_status
ud_wire_promise(struct vc__wire *w, uint32_t n)
{
    w->promised += n;
    return VC_OK;
}

/* The same, n less. */
static void
ud_wire_release(struct vc__wire *w, uint32_t n)
{
    w->promised -= n;
}

/* --- setup and teardown -------------------------------------------------- */

/* Draws a key that no wire of the port has, and that its peers cannot guess.
 * False: no random numbers. (P). For port_join(). */
static bool
key_draw(struct vc__ud_wire *u)
{
    struct vc__ud_port *p = u->port;
    const struct vc__ud_wire *other;

    do {
        if (!vc__ud_random(&u->key))
            return false;
        other = p->buckets[u->key % VC__UD_BUCKETS];
        while (other != NULL && other->key != u->key)
            other = other->chain;
    } while (other != NULL || u->key == 0);
    u->chain = p->buckets[u->key % VC__UD_BUCKETS];
    p->buckets[u->key % VC__UD_BUCKETS] = u;
    return true;
}

/* The wire begins to use its port. False: no random numbers. For
 * ud_wire_prepare(). */
static bool
port_join(struct vc__ud_wire *u)
{
    struct vc__ud_port *p = u->port;
    bool joined;

    vc__reliable_init(&u->reliable,
                      u->active ? UINT32_MAX : VC__UD_SERVER_TRIES);
    CDS_INIT_LIST_HEAD(&u->busy);
    CDS_INIT_LIST_HEAD(&u->waiting);
    CDS_INIT_LIST_HEAD(&u->acking);
    vc__lock_take(&p->lock);
    joined = key_draw(u);
    if (joined) {
        u->heard = vc__now();
        u->window = 1; /* until the peer is known */
        vc__ud_port_count(p, 1);
        cds_list_add_tail(&u->node, &p->wires);
    }
    vc__lock_give(&p->lock);
    return joined;
}

/* Takes a place in the port of the id's device. */
static enum vc_status
ud_wire_prepare(struct vc__wire *w, const struct vc__receives *receives)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    enum vc_status status =
        vc__ud_port_get(vc__ud_context_of(w->context), u->id, &u->port);

    if (status != VC_OK)
        return status;
    if (!port_join(u)) {
        u->port = NULL;
        return vc__fail(VC_UNAVAILABLE,
                        "no random numbers: getrandom() failed");
    }
    vc__ud_port_grow(u->port);
    w->window = receives->most;
    w->promised = receives->first < w->window ? receives->first : w->window;
    return VC_OK;
}

/* Takes the wire out of the port's table. (P). For port_leave(). */
static void
bucket_leave(struct vc__ud_wire *u)
{
    struct vc__ud_wire **at = &u->port->buckets[u->key % VC__UD_BUCKETS];

    while (*at != u)
        at = &(*at)->chain;
    *at = u->chain;
}

/* The wire uses its port no longer. For ud_wire_fini(). */
static void
port_leave(struct vc__ud_wire *u)
{
    struct vc__ud_port *p = u->port;

    vc__ud_answer_drop(u);
    vc__ud_drop_received(u);
    vc__lock_take(&p->lock);
    vc__ud_drop_packets(u);
    if (u->at != NULL)
        vc__ud_packet_release(u->at);
    bucket_leave(u);
    cds_list_del(&u->node);
    cds_list_del(&u->busy);
    cds_list_del(&u->waiting);
    cds_list_del(&u->acking);
    if (u->ah != NULL)
        vc__ud_ah_put(p, u->ah);
    vc__ud_port_count(p, -1);
    vc__lock_give(&p->lock);
    if (p->failed && p->users == 0)
        vc__ud_port_fail(p);
    u->port = NULL;
}

/* Tells the peer by a CLOSE, which is repeated until it answers with its own.
 * False: it is not known where the peer is. */
static bool
ud_wire_leave(struct vc__wire *w)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    bool known;

    if (u->port == NULL)
        return false;
    vc__lock_take(&u->port->lock);
    known = u->ah != NULL && !u->port->failed;
    if (known) {
        u->leaving = true;
        vc__ud_drop_packets(u);
        vc__ud_send_due(u, vc__now());
        vc__ud_busy(u->port, u);
    }
    vc__lock_give(&u->port->lock);
    return known;
}

/* Gives back everything, but after an accept() that failed not the id. */
static void
ud_wire_fini(struct vc__wire *w)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);

    if (u->port != NULL)
        port_leave(u);
    w->promised = 0;
    vc__ud_disconnect(u);
}

/* --- the operations table ------------------------------------------------ */

/* Called through the table by vc__wire_describe(); writes nothing before
 * prepare(). */
static void
ud_wire_describe(const struct vc__wire *w, char *out, size_t size)
{
    const struct vc__ud_wire *u =
        caa_container_of(w, const struct vc__ud_wire, wire);

    if (u->port != NULL)
        snprintf(out, size, "%s, UD QP %u, %u bytes inline",
                 ibv_get_device_name(u->port->device->verbs->device),
                 (unsigned)u->port->qp->qp_num, (unsigned)u->port->inline_max);
}

/* The limits are those of rdma_connect(3) and rdma_accept(3) for RDMA_PS_UDP,
 * less the introduction; a reject has none. */
const struct vc__transport vc__rdma_ud = {
    .scheme = "rdma+ud",
    .port_space = RDMA_PS_UDP,
    .no_loopback = true,
    .made = VC__COUNT_links_made_ud,
    .hello_max = 180 - VC__INTRO,
    .accept_max = 136 - VC__INTRO,
    .reject_max = 136,
    .context_size = sizeof(struct vc__ud_context),
    .wire_size = sizeof(struct vc__ud_wire),
    .ear_size = sizeof(struct vc__rdma_ear),
    .open = vc__ud_open,
    .close = vc__ud_close,
    .dial = vc__ud_dial,
    .take = vc__ud_take_request,
    .prepare = ud_wire_prepare,
    .hello = vc__ud_hello,
    .accept = vc__ud_accept,
    .confirm = vc__ud_confirm,
    .leave = ud_wire_leave,
    .fini = ud_wire_fini,
    .reserve = ud_wire_reserve,
    .commit = ud_wire_commit,
    .flush = ud_wire_flush,
    .retire = ud_wire_retire,
    .heard = ud_wire_heard,
    .host_is_up = "its datagrams arrive",
    .probe = ud_wire_probe,
    .proven = ud_wire_proven,
    .describe = ud_wire_describe,
    .promise = ud_wire_promise,
    .release = ud_wire_release,
    .listen = vc__ud_listen,
    .unlisten = vc__rdma_unlisten,
    .port = vc__rdma_port,
    .reject = vc__ud_reject,
};
