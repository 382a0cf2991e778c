/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Slots, requests and replies of one session (doc/wire.md, section 4). See
 * cm/pool/session.h. All of this file runs under the pool's lock, unless
 * pool_leave() drops a former peer, when no other thread uses the pool.
 * Threads: any that starts or abandons calls, writes to streams or closes a
 * channel, or the holder when a link comes up, goes down or has a frame, or the
 * pool closes. */
#include "cm/pool/session.h"

#include <stdlib.h>
#include <string.h>

#include "cm/pool/client.h"
#include "cm/pool/peer.h"
#include "cm/pool/placement.h"
#include "cm/pool/pool.h"
#include "cm/pool/session_note.h"

#define NO_SLOT UINT16_MAX

void
vc__request_count_end(struct vc__pool *pool, const struct vc__request *r)
{
    if (r->message != NULL) {
        if (r->own)
            return;
        vc__pool_count(pool, VC__POOL_STREAMS, -1);
    }
    vc__pool_count(pool, VC__POOL_CALLS_ENDED, 1);
}

void
vc__request_complete(struct vc__pool *pool, struct vc__request *r)
{
    if (r->state == VC__REQUEST_WAITING)
        vc__pool_count(pool, VC__POOL_CALLS_WAITING, -1);
    r->state = VC__REQUEST_COMPLETING;
    vc__request_count_end(pool, r);
}

/* --- birth and death --------------------------------------------------- */

/* An unbound session with one free slot: for session_alloc() and
 * session_remains(). */
static void
session_init(struct vc__session *s, struct vc__peer *peer)
{
    memset(s, 0, sizeof *s);
    s->peer = peer;
    s->slots = &s->first;
    s->n_slots = 1;
    s->first.next_free = NO_SLOT;
    vc__flow_init(&s->flow, 1);
    CDS_INIT_LIST_HEAD(&s->node);
}

/* For vc__session_new(): NULL if out of memory. Each client has memory for one
 * session, so that opening the first allocates nothing. It needs another while
 * calls still run at a former peer. */
static struct vc__session *
session_alloc(struct vc__peer *peer, struct vc__client *client)
{
    bool own = !client->own_used;
    struct vc__session *s = own ? &client->own : malloc(sizeof *s);

    if (s == NULL)
        return NULL;
    session_init(s, peer);
    s->own = own;
    s->client = client;
    s->flow.weight = client->weight;
    client->own_used = true;
    return s;
}

/* Gives back the memory of a session: that of its client (s->own), or allocated
 * memory. Called by session_end(), and if it got no seat. */
static void
session_give(struct vc__session *s)
{
    if (s->own)
        s->client->own_used = false;
    else
        free(s);
}

struct vc__session *
vc__session_new(struct vc__peer *peer, struct vc__client *client, bool *full)
{
    struct vc__session *s = session_alloc(peer, client);

    *full = false;
    if (s == NULL)
        return NULL;
    if (!vc__peer_seat(peer, s, full)) {
        session_give(s);
        return NULL;
    }
    cds_list_add_tail(&s->node, &peer->loose);
    vc__pool_count(peer->pool, VC__POOL_SESSIONS, 1);
    vc__pool_count(peer->pool, VC__POOL_SESSIONS_OPENED, 1);
    return s;
}

/* Drops the parts of a reply or message that have come: its session ends, or
 * loses its link. For session_end() and vc__session_unbind(). */
static void
session_assembly_drop(struct vc__session *s, struct vc__slot *slot)
{
    slot->wasted = false;
    if (slot->assembly == NULL)
        return;
    vc__assembly_end(slot->assembly);
    vc__pool_count_replies(s->peer->pool);
    free(slot->assembly);
    slot->assembly = NULL;
}

/* For vc__session_free() and vc__session_close(). It has no seat any more. */
static void
session_end(struct vc__session *s)
{
    if (s->link != NULL) {
        /* A CANCEL may wait there for a credit. */
        vc__link_drop(&s->link->link, &s->flow);
        vc__session_unbind(s);
    }
    for (unsigned i = 0; i < s->n_slots; i++)
        session_assembly_drop(s, &s->slots[i]);
    cds_list_del(&s->node);
    if (s->slots != &s->first)
        free(s->slots);
    session_give(s);
}

void
vc__session_free(struct vc__session *s)
{
    vc__peer_unseat(s->peer, s);
    vc__pool_count(s->peer->pool, VC__POOL_SESSIONS, -1);
    session_end(s);
}

/* --- slots ------------------------------------------------------------- */

/* Makes a slot free. Called by session_slots_grow() for each new one, by
 * vc__session_slot_end() when the reply has come, and by session_slot_rewind()
 * for a call that was taken back unsent. */
static void
slot_free(struct vc__session *s, uint16_t i)
{
    s->slots[i].busy = false;
    s->slots[i].request = NULL;
    s->slots[i].next_free = s->free_slot;
    s->free_slot = i;
}

/* For slot_take(): doubles the slots within the peer's limit. False if that is
 * reached, or out of memory. */
static bool
session_slots_grow(struct vc__session *s)
{
    struct vc__slot *slots, *old = s->slots;
    unsigned n = s->n_slots * 2u;

    if (n > s->peer->max_slots)
        n = s->peer->max_slots;
    if (n <= s->n_slots)
        return false;
    slots = realloc(old == &s->first ? NULL : old, n * sizeof *slots);
    if (slots == NULL)
        return false;
    if (old == &s->first)
        *slots = s->first;
    memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof *slots);
    s->slots = slots;
    while (s->n_slots < n)
        slot_free(s, s->n_slots++);
    return true;
}

/* For vc__session_launch(): returns a free slot, now busy, or NO_SLOT. */
static uint16_t
slot_take(struct vc__session *s)
{
    uint16_t i;

    if (s->free_slot == NO_SLOT && !session_slots_grow(s))
        return NO_SLOT;
    i = s->free_slot;
    s->free_slot = s->slots[i].next_free;
    s->slots[i].busy = true;
    return i;
}

/* For vc__session_launch(): counts one call more in progress. */
static void
busy_more(struct vc__session *s)
{
    s->n_busy++;
    s->link->n_busy++;
    s->link->n_calls++;
}

/* One call less: its reply has come, or it was taken back unsent. For
 * vc__session_slot_end() and session_slot_rewind(). */
static void
busy_less(struct vc__session *s)
{
    s->n_busy--;
    if (s->link != NULL)
        s->link->n_busy--;
}

void
vc__session_slot_end(struct vc__session *s, uint16_t slot)
{
    slot_free(s, slot);
    busy_less(s);
}

/* --- binding ----------------------------------------------------------- */

/* Appends a frame to the session's flow and link, for all functions below that
 * send. The thread pushes the link once it has left the lock. */
static void
session_append(struct vc__session *s, struct vc__send *send)
{
    send->flow = &s->flow;
    vc__link_append(&s->link->link, send);
}

/* For cancel_send() and vc__session_abandon(): a CANCEL of the slot's call,
 * which session_append() must follow. NULL if out of memory. */
static struct vc__send *
cancel_new(struct vc__session *s, uint16_t i)
{
    struct vc__send *send = vc__note_new(s, VC__FRAME_CANCEL, 0);

    if (send == NULL)
        return NULL;
    send->frame.slot = i;
    send->frame.sequence = s->slots[i].sequence;
    vc__pool_count(s->peer->pool, VC__POOL_CANCELS_SENT, 1);
    return send;
}

/* Sends a CANCEL. For cancels_resend(): the slot's caller has abandoned the
 * call, and the peer's answer frees the slot. For vc__session_request_stop():
 * the peer has replied, and gets no more parts of the request. Returns false if
 * out of memory. */
static bool
cancel_send(struct vc__session *s, uint16_t i)
{
    struct vc__send *send = cancel_new(s, i);

    if (send != NULL)
        session_append(s, send);
    return send != NULL;
}

/* For vc__session_request_stop() and vc__session_abandon(): drops the parts of
 * a request that the link has not sent yet. The caller then sends a CANCEL, by
 * which the peer knows that no more parts come. Returns false if none was left,
 * or the peer needs all of them. */
static bool
request_cut(struct vc__session *s, const struct vc__request *r)
{
    struct vc__link *link = &s->link->link;

    return vc__send_is_long(r->send) && link->features & VC__FEATURE_CUT &&
           vc__link_cut(link, r->send);
}

bool
vc__session_request_stop(struct vc__session *s, uint16_t i)
{
    return !request_cut(s, s->slots[i].request) || cancel_send(s, i);
}

/* For vc__session_bind(): sends CANCELs of calls that no caller waits for, and
 * whose slots the answers free. False if out of memory. */
static bool
cancels_resend(struct vc__session *s)
{
    for (uint16_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].busy && s->slots[i].request == NULL &&
            !cancel_send(s, i))
            return false;
    }
    return true;
}

/* For vc__session_bind(): sends calls again that callers wait for. */
static void
calls_resend(struct vc__session *s)
{
    for (uint16_t i = 0; i < s->n_slots; i++) {
        struct vc__request *r = s->slots[i].request;

        if (!s->slots[i].busy || r == NULL)
            continue;
        r->send->fresh = false;
        if (r->exposed)
            vc__pool_count(s->peer->pool, VC__POOL_CALLS_SENT_AGAIN, 1);
        session_append(s, r->send);
    }
}

/* For vc__session_bind(): moves the session to this link, under its next
 * binding. */
static void
link_take(struct vc__session *s, struct vc__pool_link *pl)
{
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &pl->sessions);
    s->link = pl;
    if (s->binding != 0 && s->client != NULL)
        vc__pool_count(s->peer->pool, VC__POOL_SESSIONS_MOVED, 1);
    s->binding = vc__peer_binding(s->peer);
    pl->n_busy += s->n_busy;
}

/* For vc__session_bind() and close_send(): sends an OPEN, as the session is new
 * at its link, or about to be closed. Returns false if out of memory. */
static bool
open_send(struct vc__session *s)
{
    struct vc__send *send = vc__note_open(s);

    if (send == NULL)
        return false;
    session_append(s, send);
    s->open_here = true;
    return true;
}

/* For vc__session_bind(): sends the CLOSE again, as it or its answer was lost,
 * or for the first time. An OPEN precedes it if the peer may have none. Returns
 * false if out of memory. */
static bool
close_send(struct vc__session *s)
{
    struct vc__send *send;

    if (s->open != NULL && !s->open_here) {
        if (!open_send(s))
            return false;
        s->binding = vc__peer_binding(s->peer);
    }
    send = vc__note_new(s, VC__FRAME_CLOSE, 0);
    if (send != NULL)
        session_append(s, send);
    return send != NULL;
}

bool
vc__session_bind(struct vc__session *s, struct vc__pool_link *pl)
{
    bool good;

    link_take(s, pl);
    good =
        s->client == NULL ? close_send(s) : open_send(s) && cancels_resend(s);
    if (good) {
        calls_resend(s);
    } else {
        vc__link_drop(&pl->link, &s->flow); /* an OPEN, and CANCELs */
        vc__session_unbind(s);
    }
    return good;
}

/* For vc__session_unbind(): the link of a stream is lost, and the stream ends
 * with it. vc__pool_refuse() then fails it. */
static void
stream_break(struct vc__session *s, struct vc__slot *slot,
             const struct vc__error *why)
{
    struct vc__pool *p = s->peer->pool;
    struct vc__request *r = slot->request;

    vc__request_complete(p, r);
    slot->request = NULL;
    s->bytes -= r->send->frame.body_len;
    p->broken_by = *why;
    cds_list_add_tail(&r->node, &p->broken);
}

void
vc__session_unbind(struct vc__session *s)
{
    const struct vc__error *why = &s->link->link.error;

    s->link->n_busy -= s->n_busy;
    s->link = NULL;
    s->open_here = false;
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &s->peer->loose);
    for (unsigned i = 0; i < s->n_slots; i++) {
        struct vc__slot *slot = &s->slots[i];

        session_assembly_drop(s, slot);
        if (slot->request != NULL)
            slot->request->exposed = vc__request_is_exposed(slot->request);
        if (slot->request != NULL && slot->stream)
            stream_break(s, slot, why);
    }
}

/* --- requests ---------------------------------------------------------- */

/* For vc__session_launch(): true if a session that has calls in progress would
 * exceed its client's quota with this one. */
static bool
is_over_quota(const struct vc__session *s, const struct vc__request *r)
{
    uint32_t quota = s->client->quota;

    return quota != 0 && s->n_busy > 0 &&
           (s->bytes > quota || r->send->frame.body_len > quota - s->bytes);
}

void
vc__session_add(struct vc__session *s, struct vc__request *r,
                struct vc__send *send)
{
    send->frame.slot = r->slot;
    send->frame.session = s->number;
    send->frame.sequence = s->slots[r->slot].sequence;
    session_append(s, send);
}

/* For vc__session_launch(): sends the messages of a stream that waited with
 * it. */
static void
queued_add(struct vc__session *s, struct vc__request *r)
{
    while (!cds_list_empty(&r->queued)) {
        struct vc__send *send =
            cds_list_entry(r->queued.next, struct vc__send, node);

        cds_list_del(&send->node);
        vc__session_add(s, r, send);
    }
}

bool
vc__session_launch(struct vc__session *s, struct vc__request *r, bool *entered)
{
    uint16_t slot = is_over_quota(s, r) ? NO_SLOT : slot_take(s);

    if (slot == NO_SLOT)
        return false;
    r->session = s;
    r->slot = slot;
    r->send->frame.type = VC__FRAME_CALL;
    r->send->frame.slot = slot;
    r->send->frame.session = s->number;
    r->send->frame.sequence = ++s->slots[slot].sequence;
    s->slots[slot].request = r;
    s->slots[slot].stream = r->send->frame.flags & VC__FRAME_STREAMS;
    s->bytes += r->send->frame.body_len;
    r->state = VC__REQUEST_SENT;
    busy_more(s);
    r->send->flow = &s->flow;
    if (entered != NULL && r->message == NULL)
        *entered = vc__link_enter(&s->link->link, r->send);
    else
        vc__link_append(&s->link->link, r->send);
    if (r->message != NULL)
        queued_add(s, r);
    return true;
}

/* For vc__session_abandon(): nothing of the call was sent, so the slot is as if
 * never taken. */
static void
session_slot_rewind(struct vc__session *s, uint16_t i)
{
    s->slots[i].sequence--;
    slot_free(s, i);
    busy_less(s);
    vc__pool_tidy(s->peer->pool, s->peer);
}

/* Unless the request is taken back, its slot stays busy until the reply. */
enum vc_outcome
vc__session_abandon(struct vc__session *s, struct vc__request *r)
{
    bool stream = s->slots[r->slot].stream;
    /* Messages of a client's stream may be queued after its CALL. Every other
     * CALL that was not begun is taken back: a huge one may wait while later
     * frames of its flow are sent, so a CANCEL would come before it. */
    bool alone = !(r->send->frame.flags & VC__FRAME_CLIENT_STREAM);
    bool back =
        alone && s->link != NULL && vc__link_unsend(&s->link->link, r->send);
    struct vc__send *cancel;
    bool cut;

    s->bytes -= r->send->frame.body_len;
    if (back && !r->exposed) {
        session_slot_rewind(s, r->slot);
        return VC_OUTCOME_NOT_EXECUTED;
    }
    /* It is in the same flow: so it follows the request or its first part, and
     * precedes the slot's next call. Without a link it is sent when the session
     * is bound again. Without memory the handler runs until its deadline. */
    cancel = s->link != NULL ? cancel_new(s, r->slot) : NULL;
    cut = alone && cancel != NULL && request_cut(s, r);
    s->slots[r->slot].request = NULL;
    if (cancel != NULL)
        session_append(s, cancel);
    if (cut && !r->exposed) /* the peer never has all of it */
        return VC_OUTCOME_NOT_EXECUTED;
    return stream || vc__request_is_exposed(r) ? VC_OUTCOME_UNKNOWN
                                               : VC_OUTCOME_NOT_EXECUTED;
}

struct vc__request *
vc__session_take(struct vc__session *s)
{
    for (uint16_t i = 0; i < s->n_slots; i++) {
        struct vc__request *r = s->slots[i].request;

        if (r != NULL) {
            s->slots[i].request = NULL;
            s->bytes -= r->send->frame.body_len;
            return r;
        }
    }
    return NULL;
}

/* --- closing ----------------------------------------------------------- */

/* For vc__session_close(): makes what remains of a session, whose client may be
 * freed, until the peer has confirmed the CLOSE. NULL if out of memory. */
static struct vc__session *
session_remains(struct vc__session *s)
{
    const struct vc_service *service = s->client->service;
    uint32_t len = s->known ? 0 : vc__note_open_len(service);
    struct vc__session *left = malloc(sizeof *left + len);

    if (left == NULL)
        return NULL;
    session_init(left, s->peer);
    left->number = s->number;
    left->binding = s->binding;
    left->open_here = s->open_here;
    if (!s->known) {
        vc__note_open_put(service, (uint8_t *)(left + 1));
        left->open = (const uint8_t *)(left + 1);
        left->open_len = len;
        left->open_schema = service->fingerprint;
    }
    return left;
}

struct vc__link *
vc__session_close(struct vc__session *s)
{
    struct vc__peer *peer = s->peer;
    struct vc__pool_link *pl =
        s->link != NULL ? s->link : vc__placement_link(peer);
    struct vc__session *left;

    /* A pool that is closed makes no other link for the CLOSE. */
    if (s->binding == 0 || (peer->pool->closed && pl == NULL)) {
        vc__session_free(s);
        return NULL;
    }
    /* Its OPEN may wait there for a credit. */
    if (s->link != NULL && vc__link_drop(&s->link->link, &s->flow))
        s->open_here = false;
    left = session_remains(s);
    vc__peer_reseat(peer, s->number, left);
    session_end(s);
    if (left == NULL) { /* its number is never used again */
        vc__pool_count(peer->pool, VC__POOL_SESSIONS, -1);
        return NULL;
    }
    cds_list_add_tail(&left->node, &peer->loose);
    /* Without a link the CLOSE waits for one. */
    if (pl == NULL || !vc__session_bind(left, pl))
        return NULL;
    return &pl->link;
}

bool
vc__session_closed(struct vc__session *s, const struct vc__frame *f)
{
    if (s->client != NULL || f->sequence != s->binding)
        return false;
    vc__session_free(s);
    return true;
}
