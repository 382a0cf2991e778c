/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a link receives: packets are checked for their sequence and credits and
 * handed up frame by frame. And the opening and closing of both directions;
 * sending is in link_send.c. */
#include <string.h>

#include "cm/link.h"
#include "transport/le.h"
#include "transport/rdma/device.h"

/* --- what comes in ----------------------------------------------------- */

static struct vc__link *
link_of(struct vc__qp *qp)
{
    return caa_container_of(qp, struct vc__link, qp);
}

static void
link_malformed(struct vc__link *link, const char *what)
{
    vc__link_end(link, VC__LINK_EV_BROKEN, VC_INTERNAL,
                 "%s broke the protocol: %s", vc__link_peer(link), what);
}

/* What the peer has handled. */
static void
acks_take(struct vc__link *link)
{
    while (!cds_list_empty(&link->sent)) {
        struct vc__send *s =
            cds_list_entry(link->sent.next, struct vc__send, node);

        if (!vc__credit_is_acked(&link->credit, s->packet))
            return;
        cds_list_del(&s->node);
        vc__link_send_end(s, VC__SEND_ACKED);
    }
}

/* Receives are promised before the peer hears of it, and taken back when it
 * has used the last that it was told of. */
static void
window_follow(struct vc__link *link)
{
    struct vc__credit *c = &link->credit;
    uint32_t next = vc__window_next(&link->window, c), promised;

    if (next > link->granted) {
        if (vc__device_grant(link->device, next - link->granted) != VC_OK) {
            link->window.max = c->window; /* there are no more */
            return;
        }
        link->granted = next;
    }
    c->window = next;
    promised = vc__window_promised(c);
    if (link->granted > promised) {
        vc__device_ungrant(link->device, link->granted - promised);
        link->granted = promised;
    }
}

/* A packet took a credit and brought some: with them, what waited may go. And
 * what it acknowledges is over before its frames are looked at, for a client
 * calls again when it has the reply. */
static bool
packet_arrived(struct vc__link *link, const struct vc__credit_word *word)
{
    bool good;

    pthread_mutex_lock(&link->lock);
    good = vc__credit_arrived(&link->credit, word);
    if (!good) {
        vc__link_breach(link, vc__credit_breach(&link->credit, word));
    } else {
        window_follow(link);
        acks_take(link);
        if (!vc__schedule_is_empty(&link->schedule))
            vc__link_flush(link);
    }
    vc__link_unlock(link);
    return good;
}

/* Its frames have been handled. Only now is the peer told so: it may forget
 * what we have seen. */
static void
packet_handled(struct vc__link *link)
{
    vc__credit_handled(&link->credit);
    if (vc__credit_is_due(&link->credit)) {
        pthread_mutex_lock(&link->lock);
        vc__link_flush(link);
        vc__link_unlock(link);
    } else {
        vc__link_push_arrived(link);
    }
}

static bool
frame_take(struct vc__link *link, const struct vc__frame *f)
{
    return f->type == VC__FRAME_PING ? vc__link_ping(link, f)
                                     : link->ops->frame(link, f);
}

static void
frames_handle(struct vc__link *link, struct vc__packet_reader *reader)
{
    struct vc__frame f;
    int got;

    while ((got = vc__frame_next(reader, &f)) == 1) {
        if (!frame_take(link, &f)) {
            link_malformed(link, link->breach != NULL
                                     ? link->breach
                                     : "a frame that could not be taken");
            return;
        }
        if (link->state != VC__LINK_UP)
            return;
    }
    if (got < 0)
        link_malformed(link, reader->breach);
}

static void
packet_handle(struct vc__link *link, struct vc__packet_reader *reader,
              const struct vc__credit_word *word)
{
    if (!packet_arrived(link, word)) {
        link_malformed(link, link->breach);
        return;
    }
    frames_handle(link, reader);
    if (link->state == VC__LINK_UP)
        packet_handled(link);
}

static void
io_received(struct vc__qp *qp, const uint8_t *data, uint32_t len)
{
    struct vc__link *link = link_of(qp);
    struct vc__ledger *ledger = &link->cm->engine->ledger;
    struct vc__packet_reader reader;
    struct vc__packet p;

    vc__count(ledger, VC__COUNT_packets_received, 1);
    vc__count(ledger, VC__COUNT_bytes_received, len);

    /* A packet may overtake the ESTABLISHED event, and says the same. */
    if (link->state != VC__LINK_UP)
        vc__link_event(link, VC__LINK_EV_ESTABLISHED);
    if (link->state != VC__LINK_UP)
        return;
    link->keepalive.heard = true;
    if (!vc__packet_open(&reader, data, len, &p))
        link_malformed(link, "a packet without a header");
    else if (p.sequence != vc__credit_next(&link->credit))
        link_malformed(link, "a packet out of sequence");
    else if (!link->active && p.sequence == 0 && p.count == 0)
        link_malformed(link, "a first packet without an OPEN");
    else
        packet_handle(link, &reader, &p.word);
}

static void
io_sent(struct vc__qp *qp, uint32_t number)
{
    struct vc__link *link = link_of(qp);

    pthread_mutex_lock(&link->lock);
    vc__qp_retire(qp, number);
    vc__link_flush(link);
    vc__link_unlock(link);
}

static void
io_failed(struct vc__qp *qp, enum ibv_wc_status why)
{
    struct vc__link *link = link_of(qp);

    vc__link_end(link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                 "the connection to %s broke: %s", vc__link_peer(link),
                 ibv_wc_status_str(why));
}

const struct vc__qp_ops vc__link_qp_ops = {
    .received = io_received, .sent = io_sent, .failed = io_failed};

/* --- opening and closing ----------------------------------------------- */

static void
grant_end(struct vc__link *link)
{
    if (link->granted > 0)
        vc__device_ungrant(link->device, link->granted);
    link->granted = 0;
}

/* The queues are made for `window`; the peer gets fewer to begin with. */
static enum vc_status
prepare_with(struct vc__link *link, unsigned window)
{
    unsigned first = window < VC__WINDOW_FIRST ? window : VC__WINDOW_FIRST;
    enum vc_status status = vc__device_grant(link->device, first);

    if (status != VC_OK)
        return status;
    link->granted = first;
    link->window.max = window;
    status = vc__qp_init(&link->qp, link->device, &vc__link_qp_ops, window * 2,
                         window / 2);
    if (status != VC_OK)
        grant_end(link);
    return status;
}

enum vc_status
vc__link_prepare(struct vc__link *link, struct rdma_cm_id *id)
{
    enum vc_status status = vc__cm_device(link->cm, id, &link->device);
    unsigned window;

    if (status != VC_OK)
        return status;
    window = vc__window_for(link->device->n_qps);
    if (link->credits_max != 0 && link->credits_max < window)
        window = link->credits_max;
    do {
        status = prepare_with(link, window);
        window /= 2;
    } while (status == VC_RESOURCE_EXHAUSTED && window >= VC__WINDOW_MIN);
    if (status != VC_OK)
        vc__link_unprepare(link);
    return status;
}

void
vc__link_unprepare(struct vc__link *link)
{
    if (link->device == NULL)
        return;
    vc__qp_fini(&link->qp, !link->asked || link->left_cleanly);
    grant_end(link);
    vc__device_put(link->device);
    link->device = NULL;
}

void
vc__link_open_io(struct vc__link *link, uint32_t peer_credits)
{
    pthread_mutex_lock(&link->lock);
    vc__credit_init(&link->credit, link->granted, peer_credits);
    link->open = true;
    pthread_mutex_unlock(&link->lock);
}

void
vc__link_close_io(struct vc__link *link)
{
    struct vc__send *s, *next;

    pthread_mutex_lock(&link->lock);
    link->open = false;
    vc__link_arrivals_take(link);
    while ((s = vc__schedule_clear(&link->schedule)) != NULL)
        vc__link_send_end(s, VC__SEND_LOST);
    cds_list_for_each_entry_safe (s, next, &link->sent, node)
        vc__link_send_end(s, VC__SEND_LOST);
    CDS_INIT_LIST_HEAD(&link->sent);
    vc__link_unlock(link);
}
