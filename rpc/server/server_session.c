/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Open sessions: their CALL, DATA and CANCEL frames, their slots and replies,
 * and their end. OPEN and CLOSE are in server_session_open.c, frames of streams
 * in stream_server.c. A frame that breaks the protocol ends the link; a request
 * that is merely bad is answered. The holder of the engine only. See
 * rpc/server/server_session.h. */
#include "rpc/server/server_session.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/server/server_arrival.h"
#include "rpc/server/server_cancel.h"
#include "rpc/server/server_counts.h"
#include "rpc/server/server_deadline.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_reply.h"
#include "rpc/server/stream_server.h"
#include "transport/core/le.h"

/* Returns the session's part. Called by call_first() and
 * call_first_part(). */
static struct vc__server_part *
server_session_part_of(const struct vc__server_session *s)
{
    return s->peer->part;
}

/* --- slots ------------------------------------------------------------- */

/* Makes slot i exist. False without memory. Called by slot_for(). */
static bool
server_session_slots_grow(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slots, *old = s->slots;
    unsigned n = s->n_slots;

    if (i < s->n_slots)
        return true;
    while (n <= i)
        n *= 2;
    slots = realloc(old == &s->first ? NULL : old, n * sizeof *slots);
    if (slots == NULL)
        return false;
    if (old == &s->first)
        *slots = s->first;
    memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof *slots);
    s->slots = slots;
    s->n_slots = (uint16_t)n;
    return true;
}

/* The client has the last reply, or does not want it: frees the slot. Called by
 * call_first() and vc__server_session_cancel() for the slot's next call, by
 * vc__server_session_close(), and by vc__server_session_reply() after that. */
static void
slot_settle(struct vc__server_session *s, struct vc__server_slot *slot)
{
    struct vc_call *call = slot->call;

    if (slot->state == VC__SLOT_REPLYING)
        vc__link_withdraw(&s->link->link, vc__call_send(call));
    vc__server_slot_set(s, slot, VC__SLOT_FREE);
    slot->call = NULL;
    if (call != NULL)
        vc__call_release(call);
}

/* Resets the slot as if the last call had never come. Called by
 * vc__server_session_skip(), and by vc__server_session_unbind() for a request
 * whose parts have not all come. */
static void
server_session_slot_rewind(struct vc__server_session *s,
                           struct vc__server_slot *slot)
{
    vc__server_slot_set(s, slot, VC__SLOT_FREE);
    slot->call = NULL;
    slot->sequence--;
}

/* Gives the reply to the link: when it is ready (vc__server_session_reply()),
 * was made short (reply_shorten()), or is asked for again (call_again(),
 * arrival_done(), call_cancel()). */
static void
reply_go(struct vc__server_session *s, struct vc__server_slot *slot)
{
    struct vc__send *send = vc__call_send(slot->call);

    if (slot->state == VC__SLOT_KEPT)
        vc__server_count(s, VC__COUNT_calls_answered_again, 1);
    vc__server_slot_set(s, slot, VC__SLOT_REPLYING);
    send->flow = &s->flow;
    vc__link_send(&s->link->link, send);
}

void
vc__server_session_sent(struct vc__server_session *s, uint16_t i,
                        enum vc__send_end end)
{
    struct vc__server_slot *slot = &s->slots[i];
    struct vc_call *call = slot->call;

    vc__server_slot_set(s, slot,
                        end == VC__SEND_ACKED ? VC__SLOT_FREE : VC__SLOT_KEPT);
    if (end != VC__SEND_ACKED)
        return;
    slot->call = NULL;
    vc__call_release(call);
}

/* --- running calls ----------------------------------------------------- */

/* A call runs from now on, as far as sessions count. Called by call_runs(). */
static void
call_count(struct vc__server_session *s)
{
    s->n_calls++;
    s->peer->n_calls++;
    vc__server_count(s, VC__COUNT_calls_received, 1);
}

/* A call no longer runs. May free the session and the peer. Called by
 * vc__server_session_reply() and vc__server_session_skip(). */
static void
call_over(struct vc__server_session *s)
{
    struct vc__server_peer *peer = s->peer;

    s->n_calls--;
    if (s->closed && s->n_calls == 0) {
        cds_list_del(&s->node);
        vc__server_session_free(s);
    }
    vc__server_peer_release(peer);
}

/* Returns a site without streams or metadata. Called by call_first(),
 * arrival_done() and vc__server_session_cancel(). */
static struct vc__call_site
site_of(struct vc__server_session *s, uint16_t i, uint16_t method, uint64_t due)
{
    return (struct vc__call_site){
        .session = s, .slot = i, .method = method, .due = due};
}

/* The slot has a call now. Called by call_begin(), and by both that refuse. */
static void
call_runs(const struct vc__call_site *site)
{
    vc__server_slot_set(site->session, &site->session->slots[site->slot],
                        VC__SLOT_RUNNING);
    call_count(site->session);
}

/* A request is complete, and in time; whether a handler takes it is decided
 * later. Called by call_first() and arrival_done(). */
static void
call_begin(const struct vc__call_site *site, const uint8_t *body, uint32_t len,
           struct vc__assembly *whole)
{
    call_runs(site);
    vc__call_begin(site, body, len, whole);
}

/* A request that no handler gets counts like any other, and is answered. Called
 * by call_first(), arrival_done() and vc__server_session_cancel(). */
static void
call_refuse(const struct vc__call_site *site, enum vc_status status,
            const char *text)
{
    call_runs(site);
    vc__call_refuse(site, status, text);
}

/* True if the call is being sent again in parts, so that its answer waits for
 * the last one. A message of a stream that is still arriving is dropped, since
 * it is of no use after the reply. Called by vc__server_session_reply(). */
static bool
arrival_of_call(struct vc__server_session *s, struct vc__server_slot *slot)
{
    if (slot->arrival != NULL && slot->arrival->in_message)
        vc__server_arrival_drop(s, slot);
    return slot->arrival != NULL && !slot->arrival->refused;
}

void
vc__server_session_reply(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];

    if (s->closed)
        slot_settle(s, slot);
    else if (!slot->asked || arrival_of_call(s, slot))
        vc__server_slot_set(s, slot, VC__SLOT_KEPT);
    else
        reply_go(s, slot);
    call_over(s);
}

void
vc__server_session_skip(struct vc__server_session *s, uint16_t i)
{
    server_session_slot_rewind(s, &s->slots[i]);
    call_over(s);
}

/* --- CALL, DATA and CANCEL --------------------------------------------- */

struct vc__server_session *
vc__server_session_find(struct vc__server_link *sl, uint32_t number, bool *late)
{
    const struct vc__server_peer *peer = sl->peer;
    const struct vc__server_seat *seat;

    *late = false;
    if (number < 1 || number > peer->n_seats) {
        vc__server_breach(sl, VC__NEVER_OPEN);
        return NULL;
    }
    seat = &peer->seats[number - 1];
    if (seat->session != NULL && seat->session->link == sl)
        return seat->session;
    *late = seat->binding != 0;
    if (!*late)
        vc__server_breach(sl, VC__NEVER_OPEN);
    return NULL;
}

/* True if requests in parts may be answered, and cancelled, before their last
 * part. Asked by call_first_part() and arrival_cancel(). */
static bool
has_cuts(const struct vc__server_session *s)
{
    return (s->peer->features & VC__FEATURE_CUT) != 0;
}

/* Answers the call of a request that was not kept. Called by call_first_part()
 * and arrival_done(). */
static void
arrival_refuse(const struct vc__call_site *site,
               const struct vc__server_arrival *a)
{
    call_runs(site);
    vc__call_refuse_lost(site, &a->assembly);
}

/* Called by call_first() for the first part of a request. One that is not kept
 * is answered now, so that its client need not send the rest; without cuts,
 * after its last part. False: the link ends. */
static bool
call_first_part(const struct vc__call_site *site, const struct vc__frame *f)
{
    struct vc__server_session *s = site->session;
    struct vc__server_slot *slot = &s->slots[site->slot];
    uint32_t max = 1u << server_session_part_of(s)->server->log2_message;

    vc__server_slot_set(s, slot, VC__SLOT_ARRIVING);
    if (!vc__server_arrival_begin(s, slot, f, max))
        return false;
    if (slot->arrival->assembly.loss == VC__ASSEMBLY_KEPT || !has_cuts(s))
        return true;
    slot->arrival->refused = true;
    arrival_refuse(site, slot->arrival);
    return true;
}

/* Called by vc__server_session_call() for a CALL with a new sequence number: a
 * new call of the slot, or its first part. False: the link ends. */
static bool
call_first(struct vc__server_session *s, const struct vc__frame *f)
{
    struct vc__server_slot *slot = &s->slots[f->slot];
    struct vc__call_site site =
        site_of(s, f->slot, f->method,
                vc__server_due(server_session_part_of(s), f->deadline));

    site.metadata = vc__metadata_of(f);
    slot_settle(s, slot);
    slot->sequence = f->sequence;
    slot->asked = true;
    slot->stream = f->flags & VC__FRAME_STREAMS;
    site.kind = f->flags & VC__FRAME_STREAMS;
    if (f->flags & VC__FRAME_MORE)
        return call_first_part(&site, f);
    if (f->deadline == 0)
        call_refuse(&site, VC_DEADLINE_EXCEEDED, VC__SERVER_LATE);
    else
        call_begin(&site, f->body, f->body_len, NULL);
    return true;
}

/* Called by vc__server_session_call(): the call was sent before, on a link that
 * was lost. Joins or answers it. False: the link ends. */
static bool
call_again(struct vc__server_session *s, const struct vc__frame *f)
{
    struct vc__server_slot *slot = &s->slots[f->slot];

    if (slot->asked || slot->arrival != NULL ||
        (slot->state != VC__SLOT_RUNNING && slot->state != VC__SLOT_KEPT))
        return vc__server_breach(s->link, "a duplicate CALL");
    slot->asked = true;
    if (f->flags & VC__FRAME_MORE)
        return vc__server_arrival_begin(s, slot, f, 0);
    if (slot->state == VC__SLOT_KEPT)
        reply_go(s, slot);
    else
        vc__server_count(s, VC__COUNT_calls_joined, 1);
    return true;
}

/* Called by vc__server_session_call() and vc__server_session_cancel(). Returns
 * the frame's slot; NULL if it is over the limit, or without memory: the link
 * ends. */
static struct vc__server_slot *
slot_for(struct vc__server_session *s, uint16_t i)
{
    if (i >= VC__SERVER_SLOTS) {
        vc__server_breach(s->link, "a slot over the limit");
        return NULL;
    }
    return server_session_slots_grow(s, i) ? &s->slots[i] : NULL;
}

/* True if the slot's next call may begin, or be cancelled before it comes.
 * False: the frame breaks the protocol. Asked by vc__server_session_call() and
 * vc__server_session_cancel(). */
static bool
slot_is_ready(struct vc__server_session *s, const struct vc__server_slot *slot,
              uint32_t sequence)
{
    if (sequence != slot->sequence + 1)
        return vc__server_breach(s->link, "a call out of sequence");
    if (slot->state == VC__SLOT_RUNNING || slot->arrival != NULL)
        return vc__server_breach(s->link, "a slot that is not free");
    return true;
}

bool
vc__server_session_call(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s =
        vc__server_session_find(sl, f->session, &late);
    struct vc__server_slot *slot;

    if (s == NULL)
        return late;
    if (!vc__stream_call_fits(f))
        return vc__server_breach(
            sl, "a message in the CALL of a client that streams");
    slot = slot_for(s, f->slot);
    if (slot == NULL)
        return false;
    if (f->sequence == slot->sequence)
        return call_again(s, f);
    return slot_is_ready(s, slot, f->sequence) && call_first(s, f);
}

/* Called by request_end(): a request is complete, lost or cancelled. Its call
 * begins, or is joined or answered. The peer is held until the arrival is
 * freed. */
static void
arrival_done(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];
    struct vc__server_arrival *a = slot->arrival;
    struct vc__call_site site = site_of(s, i, a->method, a->due);
    struct vc__server_peer *peer = s->peer;

    site.kind = a->kind;
    slot->arrival = NULL;
    site.metadata = vc__assembly_metadata(&a->assembly);
    vc__server_arrival_unreserve(a);
    peer->n_calls++;
    if (slot->state == VC__SLOT_KEPT)
        reply_go(s, slot);
    else if (slot->state == VC__SLOT_RUNNING)
        vc__server_count(s, VC__COUNT_calls_joined, 1);
    else if (a->cancelled)
        call_refuse(&site, VC_CANCELLED, VC__GIVEN_UP);
    else if (vc__now() >= a->due)
        call_refuse(&site, VC_DEADLINE_EXCEEDED, VC__SERVER_LATE);
    else if (a->assembly.loss == VC__ASSEMBLY_KEPT)
        call_begin(&site, a->assembly.data, a->assembly.total, &a->assembly);
    else
        arrival_refuse(&site, a);
    vc__server_arrival_free(peer, a);
    vc__server_peer_release(peer);
}

/* No more parts of a request come: handles it, unless it was answered before.
 * Called by vc__server_session_data() and arrival_cancel(). */
static void
request_end(struct vc__server_session *s, uint16_t i)
{
    if (s->slots[i].arrival->refused)
        vc__server_arrival_drop(s, &s->slots[i]);
    else
        arrival_done(s, i);
}

/* Called by vc__server_session_data(): a message of a stream is complete, or
 * lost. False: it breaks the protocol. */
static bool
message_done(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];
    bool good;

    vc__server_arrival_unreserve(slot->arrival);
    good = vc__server_message_whole(s, i, &slot->arrival->assembly);
    vc__server_arrival_drop(s, slot);
    return good;
}

/* Asked by vc__server_session_data(): true for parts of a message whose call
 * has ended without it. The slot may have had another call since. */
static bool
is_of_ended(const struct vc__server_slot *slot, uint32_t sequence)
{
    if (slot->sequence != sequence)
        return (int32_t)(slot->sequence - sequence) > 0;
    return slot->stream && slot->state != VC__SLOT_RUNNING;
}

#define DATA_OF_NONE "DATA without a message"

bool
vc__server_session_data(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s =
        vc__server_session_find(sl, f->session, &late);
    struct vc__server_slot *slot;
    int got;

    if (f->flags & VC__FRAME_OF_REPLY)
        return vc__server_breach(sl, "DATA of a reply");
    if (s == NULL)
        return late;
    if (f->slot >= s->n_slots)
        return vc__server_breach(sl, DATA_OF_NONE);
    slot = &s->slots[f->slot];
    if (slot->arrival == NULL || f->sequence != slot->sequence)
        return is_of_ended(slot, f->sequence) ||
               vc__server_breach(sl, DATA_OF_NONE);
    got = vc__server_arrival_add(s, slot->arrival, f);
    if (got > 0 && slot->arrival->in_message)
        return message_done(s, f->slot);
    if (got > 0)
        request_end(s, f->slot);
    return got >= 0 || vc__server_breach(sl, "DATA that is not the next part");
}

/* The client no longer waits for the reply. If it is long, and nothing of it
 * was sent, a short error takes its place. False: the reply stays as it is.
 * Called by vc__server_session_overdue() and call_cancel(). */
static bool
reply_shorten(struct vc__server_session *s, struct vc__server_slot *slot)
{
    bool replying = slot->state == VC__SLOT_REPLYING;

    if (slot->call->long_reply == NULL ||
        (replying &&
         !vc__link_unsend(&s->link->link, vc__call_send(slot->call))))
        return false;
    vc__reply_forget(slot->call);
    if (replying) { /* do not count it as a repeated answer */
        vc__server_slot_set(s, slot, VC__SLOT_RUNNING);
        reply_go(s, slot);
    }
    return true;
}

void
vc__server_session_overdue(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];

    if (slot->state == VC__SLOT_REPLYING || slot->state == VC__SLOT_KEPT)
        reply_shorten(s, slot);
}

/* Called by call_cancel(): a request in parts, or a message of a stream, is
 * cancelled. With cuts no more parts of a request come: it ends now; without,
 * by its last part. A message stays until its last part or its call's end. */
static void
arrival_cancel(struct vc__server_session *s, uint16_t i)
{
    s->slots[i].arrival->cancelled = true;
    if (has_cuts(s) && !s->slots[i].arrival->in_message)
        request_end(s, i);
}

/* Called by vc__server_session_cancel(): cancels the slot's last call. Its
 * reply is sent all the same: the client then knows that the slot is free.
 * False: the link ends. */
static bool
call_cancel(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];

    /* The reply has crossed the CANCEL; perhaps the parts go on. */
    if (slot->state == VC__SLOT_FREE && slot->arrival == NULL)
        return slot->asked ||
               vc__server_breach(s->link, "a CANCEL of an unknown call");
    slot->asked = true;
    if (slot->state == VC__SLOT_RUNNING) {
        vc__call_cancel(slot->call);
    } else if (slot->arrival == NULL) {
        bool kept = slot->state == VC__SLOT_KEPT;

        reply_shorten(s, slot);
        if (kept)
            reply_go(s, slot);
    }
    if (slot->arrival != NULL)
        arrival_cancel(s, i);
    return true;
}

bool
vc__server_session_cancel(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s =
        vc__server_session_find(sl, f->session, &late);
    struct vc__call_site site;
    struct vc__server_slot *slot;

    if (s == NULL)
        return late;
    vc__server_count(s, VC__COUNT_cancels_received, 1);
    slot = slot_for(s, f->slot);
    if (slot == NULL)
        return false;
    if (f->sequence == slot->sequence)
        return call_cancel(s, f->slot);
    if (!slot_is_ready(s, slot, f->sequence))
        return false;
    slot_settle(s, slot);
    slot->sequence = f->sequence;
    slot->asked = true;
    site = site_of(s, f->slot, 0, VC__FOREVER);
    call_refuse(&site, VC_CANCELLED, VC__GIVEN_UP);
    return true;
}

/* --- the end ----------------------------------------------------------- */

void
vc__server_session_unbind(struct vc__server_session *s)
{
    /* Drops messages of streams that wait in the flow, which the next link will
     * use. */
    vc__link_drop(&s->link->link, &s->flow);
    for (unsigned i = 0; i < s->n_slots; i++) {
        struct vc__server_slot *slot = &s->slots[i];

        slot->asked = false;
        if (slot->state == VC__SLOT_RUNNING && slot->stream)
            vc__stream_server_lost(slot->call);
        if (slot->state == VC__SLOT_REPLYING) {
            vc__link_withdraw(&s->link->link, vc__call_send(slot->call));
            vc__server_slot_set(s, slot, VC__SLOT_KEPT);
        }
        vc__server_arrival_drop(s, slot);
        if (slot->state == VC__SLOT_ARRIVING)
            server_session_slot_rewind(s, slot);
    }
    cds_list_del_init(&s->node);
    s->link = NULL;
}

void
vc__server_session_close(struct vc__server_session *s)
{
    struct vc__server_peer *peer = s->peer;

    if (s->link != NULL)
        vc__server_session_unbind(s);
    for (unsigned i = 0; i < s->n_slots; i++) {
        if (s->slots[i].state == VC__SLOT_KEPT)
            slot_settle(s, &s->slots[i]);
    }
    vc__server_session_give_up(s);
    peer->seats[s->number - 1].session = NULL;
    peer->n_sessions--;
    vc__server_count(s, VC__COUNT_sessions_server, -1);
    s->closed = true;
    if (s->n_calls == 0)
        vc__server_session_free(s);
    else
        cds_list_add(&s->node, &peer->part->orphans);
}
