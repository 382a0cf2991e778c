/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The completion queue of a port: finds the wire of each datagram by its key,
 * and answers one that no wire has. All of it runs on the holder of the engine.
 * See transport/ud/port.h. */
#include <errno.h>

#include "transport/ud/post.h"
#include "transport/ud/wire.h"

/* RESETs are sent this far apart at least: a flood of strangers' datagrams is
 * not answered. */
#define RESET_PAUSE_US 2000u

/* --- wires by key -------------------------------------------------------- */

/* Returns the wire with this key; NULL if there is none. (P). For
 * datagram_handle(). */
static struct vc__ud_wire *
wire_find(const struct vc__ud_port *p, uint32_t key)
{
    struct vc__ud_wire *u = p->buckets[key % VC__UD_BUCKETS];

    while (u != NULL && u->key != key)
        u = u->chain;
    return u;
}

/* Returns the wire that sends with this key to the QP with this number, NULL if
 * there is none. (P). For reset_take(). */
static struct vc__ud_wire *
wire_find_sender(struct vc__ud_port *p, uint32_t key, uint32_t qpn)
{
    struct vc__ud_wire *u;

    cds_list_for_each_entry (u, &p->wires, node) {
        if (u->theirs.key == key && u->theirs.qpn == qpn && u->ah != NULL)
            return u;
    }
    return NULL;
}

/* --- strangers ----------------------------------------------------------- */

/* Answers a datagram whose key no wire has: its sender finds out at once that
 * the connection is gone. Only a host that has, or had, a connection is
 * answered: to make an address handle for another one may block, and anybody
 * can forge a source. For datagram_handle(). */
static void
reset_send(struct vc__ud_port *p, struct ibv_wc *wc, struct ibv_grh *grh,
           uint32_t key, uint64_t now)
{
    struct vc__datagram d = {.key = key, .flags = VC__DATAGRAM_RESET};
    struct ibv_ah_attr attr = {0};
    struct vc__ud_ah *ah;

    if (now < p->reset_at ||
        ibv_init_ah_from_wc(p->device->verbs, p->number, wc, grh, &attr) != 0)
        return;
    p->reset_at = now + RESET_PAUSE_US;
    vc__lock_take(&p->lock);
    ah = vc__ud_can_post(p) ? vc__ud_ah_find(p, &attr) : NULL;
    if (ah != NULL)
        vc__ud_post(p, ah->ah, wc->src_qp, RDMA_UDP_QKEY, &d, NULL, 0, 0);
    vc__lock_give(&p->lock);
}

/* The peer has no connection of this key any more. For datagram_handle(). */
static void
reset_take(struct vc__ud_port *p, uint32_t key, uint32_t qpn)
{
    struct vc__ud_wire *u;
    bool leaving = false;

    vc__lock_take(&p->lock);
    u = wire_find_sender(p, key, qpn);
    if (u != NULL)
        leaving = u->leaving;
    vc__lock_give(&p->lock);
    if (u == NULL)
        vc__count(&p->device->engine->ledger, VC__COUNT_datagrams_dropped, 1);
    else if (leaving)
        u->wire.ops->left(&u->wire);
    else
        u->wire.ops->failed(&u->wire,
                            "the peer does not know this connection any more");
}

/* --- datagrams ----------------------------------------------------------- */

/* Has the wire send to where this datagram came from, unless it knows that
 * already: a server learns it by the first datagram of its client. (P). False:
 * it cannot, for lack of memory; the client sends again. For wire_of(). */
static bool
wire_ah_set(struct vc__ud_wire *u, struct ibv_wc *wc, struct ibv_grh *grh)
{
    struct vc__ud_port *p = u->port;
    struct ibv_ah_attr attr = {0};

    if (u->ah != NULL)
        return true;
    if (ibv_init_ah_from_wc(p->device->verbs, p->number, wc, grh, &attr) != 0)
        return false;
    u->ah = vc__ud_ah_get(p, &attr);
    return u->ah != NULL;
}

/* Returns the wire of this datagram, ready to answer; NULL: there is none, and
 * *known is true if that is for lack of memory or as its sender is another.
 * (P). For datagram_handle(). */
static struct vc__ud_wire *
wire_of(struct vc__ud_port *p, uint32_t key, struct ibv_wc *wc,
        struct ibv_grh *grh, bool *known)
{
    struct vc__ud_wire *u = wire_find(p, key);

    *known = u != NULL;
    if (u != NULL && (u->theirs.qpn != wc->src_qp || !wire_ah_set(u, wc, grh)))
        u = NULL;
    return u;
}

/* Unlocks the port, after what may have made work for the end of the batch. For
 * datagram_handle() and completion_take(). */
static void
port_unlock(struct vc__ud_port *p)
{
    p->unsettled |= !cds_list_empty(&p->acking) || !cds_list_empty(&p->waiting);
    vc__lock_give(&p->lock);
}

/* A datagram has come. Returns true if its buffer is kept. For
 * receive_handle(). */
static bool
datagram_handle(struct vc__ud_port *p, struct ibv_wc *wc,
                struct vc__buffer *buffer, uint64_t now)
{
    struct ibv_grh *grh = (struct ibv_grh *)(void *)buffer->data;
    uint32_t len = wc->byte_len > VC__UD_GRH ? wc->byte_len - VC__UD_GRH : 0;
    struct vc__ud_arrival arrival;
    struct vc__ud_wire *u = NULL;
    struct vc__datagram d;
    bool known = true;

    if (vc__datagram_get(&d, buffer->data + VC__UD_GRH, len)) {
        if (d.flags & VC__DATAGRAM_RESET) {
            reset_take(p, d.key, wc->src_qp);
            return false;
        }
        vc__lock_take(&p->lock);
        u = wire_of(p, d.key, wc, grh, &known);
        if (u != NULL)
            arrival = vc__ud_take_head(u, &d, now);
        port_unlock(p);
    }
    if (u != NULL)
        return vc__ud_take(u, arrival, &d, buffer, len);
    vc__count(&p->device->engine->ledger, VC__COUNT_datagrams_dropped, 1);
    if (!known)
        reset_send(p, wc, grh, d.key, now);
    return false;
}

/* A receive has completed. For completion_take(). */
static void
receive_take(struct vc__ud_port *p, struct ibv_wc *wc, uint64_t now)
{
    struct vc__buffer *b = (struct vc__buffer *)(uintptr_t)wc->wr_id;

    if (wc->status != IBV_WC_SUCCESS || !datagram_handle(p, wc, b, now))
        vc__ud_receive_give_back(p, b);
}

/* Passes a completion on. For vc__ud_poll(). */
static void
completion_take(struct vc__ud_port *p, struct ibv_wc *wc, uint64_t now)
{
    bool is_send = wc->wr_id & 1;

    if (is_send) {
        vc__lock_take(&p->lock);
        vc__ud_retire(p, (uint32_t)(wc->wr_id >> 1));
        port_unlock(p);
    } else {
        receive_take(p, wc, now);
    }
    /* A receive that was too short for its datagram concerns only that. */
    if (wc->status != IBV_WC_SUCCESS &&
        (is_send || wc->status == IBV_WC_WR_FLUSH_ERR))
        vc__ud_port_fail(p);
}

/* --- after a batch ------------------------------------------------------- */

/* Sends the acknowledgements that are due and that no data have carried since.
 * For batch_settle(). */
static void
acks_send(struct vc__ud_port *p, uint64_t now)
{
    struct vc__ud_wire *u, *next;

    cds_list_for_each_entry_safe (u, next, &p->acking, acking) {
        cds_list_del_init(&u->acking);
        if (u->ah != NULL && vc__reliable_ack_due(&u->reliable, now))
            vc__ud_send_bare(u, 0);
        vc__ud_busy(p, u);
    }
}

/* Returns a wire of this list that waited for room in the send queue and has it
 * now; NULL: none, and those that are left wait on. (P). For batch_settle(). */
static struct vc__ud_wire *
waiting_take(struct vc__ud_port *p, struct cds_list_head *waiting, uint64_t now)
{
    while (!cds_list_empty(waiting) && vc__ud_can_post(p)) {
        struct vc__ud_wire *u =
            cds_list_first_entry(waiting, struct vc__ud_wire, waiting);

        cds_list_del_init(&u->waiting);
        vc__ud_pump(u, now);
        if (vc__ud_take_room(u))
            return u;
    }
    cds_list_splice(waiting, &p->waiting);
    CDS_INIT_LIST_HEAD(waiting);
    return NULL;
}

/* After a batch of completions that leaves something: acknowledges, and has the
 * wires send that waited for room. One that has to wait again, for memory, is
 * asked after a later batch. For vc__ud_poll(). */
static void
batch_settle(struct vc__ud_port *p, uint64_t now)
{
    CDS_LIST_HEAD(waiting);
    struct vc__ud_wire *u;

    p->unsettled = false;
    vc__lock_take(&p->lock);
    acks_send(p, now);
    cds_list_splice(&p->waiting, &waiting);
    CDS_INIT_LIST_HEAD(&p->waiting);
    while ((u = waiting_take(p, &waiting, now)) != NULL) {
        vc__lock_give(&p->lock);
        u->wire.ops->writable(&u->wire, 0);
        vc__lock_take(&p->lock);
    }
    vc__lock_give(&p->lock);
}

/* --- the source ---------------------------------------------------------- */

/* True if completions of the last poll are unhandled, or a new poll finds some.
 * For vc__ud_poll(). */
static bool
port_completions_found(struct vc__ud_port *p)
{
    if (p->wc_at < p->wc_n)
        return true;
    p->wc_at = 0;
    p->wc_n = ibv_poll_cq(p->cq, VC__WC_BATCH, p->wc);
    if (p->wc_n < 0)
        p->wc_n = 0;
    return p->wc_n > 0;
}

unsigned
vc__ud_poll(struct vc__source *s)
{
    struct vc__ud_port *p =
        caa_container_of(s, struct vc__ud_port, completions);
    uint64_t now;
    unsigned n = 0;

    if (!port_completions_found(p))
        return 0;
    now = vc__now();
    for (; p->wc_at < p->wc_n; n++) {
        struct ibv_wc wc = p->wc[p->wc_at++];

        completion_take(p, &wc, now);
    }
    if (p->unsettled)
        batch_settle(p, now);
    return n;
}

void
vc__ud_arm(struct vc__source *s)
{
    struct vc__ud_port *p =
        caa_container_of(s, struct vc__ud_port, completions);

    vc__ud_receives_repost(p);
    /* Fails only when the device is removed; its removal event is handled
     * then. */
    ibv_req_notify_cq(p->cq, 0);
}

void
vc__ud_ready(struct vc__source *s)
{
    struct vc__ud_port *p =
        caa_container_of(s, struct vc__ud_port, completions);
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(p->channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
}
