/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of sessions: opened, bound to a link, called, cancelled, closed. What
 * breaks the protocol ends the link; what is only a bad request is
 * answered. */
#include "rpc/server_session.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/server_call.h"
#include "rpc/server_link.h"
#include "transport/le.h"

/* --- OPEN -------------------------------------------------------------- */

/* The body of an OPEN frame, checked. */
struct open_body {
    const char *name;
    uint16_t name_len;
    uint16_t n_methods;
    const uint8_t *hashes;
};

static bool
open_parse(struct open_body *o, const struct vc__frame *f)
{
    uint32_t len = f->body_len;

    if (len < 4)
        return false;
    o->name_len = vc__get16(f->body);
    if (o->name_len == 0 || o->name_len > len - 4)
        return false;
    o->name = (const char *)f->body + 2;
    o->n_methods = vc__get16(f->body + 2 + o->name_len);
    o->hashes = f->body + 4 + o->name_len;
    return len - 4 - o->name_len == 4u * o->n_methods;
}

static uint16_t
method_by_hash(const struct vc_service *service, uint32_t hash)
{
    for (uint32_t i = 0; i < service->n_methods; i++) {
        if (service->methods[i].hash == hash)
            return (uint16_t)i;
    }
    return VC__NO_METHOD;
}

static bool
same_methods(const struct vc_service *service, const struct open_body *o)
{
    bool same = service->n_methods == o->n_methods;

    for (unsigned i = 0; same && i < o->n_methods; i++)
        same = service->methods[i].hash == vc__get32(o->hashes + 4 * i);
    return same;
}

/* False without memory. */
static bool
map_make(struct vc__server_session *s, const struct open_body *o)
{
    const struct vc_service *service = s->entry->service;

    s->n_methods = o->n_methods;
    if (same_methods(service, o))
        return true;
    s->map = malloc((o->n_methods + 1u) * sizeof *s->map);
    if (s->map == NULL)
        return false;
    for (unsigned i = 0; i < o->n_methods; i++)
        s->map[i] = method_by_hash(service, vc__get32(o->hashes + 4 * i));
    return true;
}

static struct vc__server_part *
part_of(const struct vc__server_session *s)
{
    return s->peer->part;
}

static void
arrival_drop(struct vc__server_session *s, struct vc__server_slot *slot)
{
    if (slot->arrival == NULL)
        return;
    vc__assembly_end(&slot->arrival->assembly, &part_of(s)->budget);
    free(slot->arrival);
    slot->arrival = NULL;
}

static void
session_free(struct vc__server_session *s)
{
    vc__service_put(s->entry);
    free(s->slots);
    free(s->map);
    free(s);
}

/* False without memory. */
static bool
session_new(struct vc__server_link *sl, struct vc__server_seat *seat,
            uint32_t number, const struct open_body *o)
{
    struct vc__server_session *s = calloc(1, sizeof *s);

    if (s == NULL)
        return false;
    s->peer = sl->peer;
    s->number = number;
    CDS_INIT_LIST_HEAD(&s->node);
    vc__flow_init(&s->flow, 1);
    s->entry =
        vc__services_get(&part_of(s)->server->services, o->name, o->name_len);
    if (s->entry != NULL && !map_make(s, o)) {
        session_free(s);
        return false;
    }
    seat->session = s;
    s->peer->n_sessions++;
    return true;
}

static void
session_bind(struct vc__server_session *s, struct vc__server_link *sl)
{
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &sl->sessions);
    s->link = sl;
}

/* Is it the service that the session was opened for? */
static bool
same_service(const struct vc__server_session *s, const struct open_body *o)
{
    const char *name;

    if (s->entry == NULL)
        return true; /* it has none, whatever the name */
    name = s->entry->service->name;
    return strlen(name) == o->name_len &&
           memcmp(name, o->name, o->name_len) == 0;
}

/* Newer than what the seat knows, in the order of bindings? */
static bool
is_newer(const struct vc__server_seat *seat, uint32_t binding)
{
    return (int32_t)(binding - seat->binding) > 0;
}

bool
vc__server_session_open(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__server_seat *seat;
    struct open_body o;

    if (!open_parse(&o, f))
        return false;
    seat = vc__server_peer_seat(sl->peer, f->session);
    if (seat == NULL)
        return false;
    if (!is_newer(seat, f->sequence)) /* from a link that was lost */
        return seat->session != NULL && seat->session->link != sl;
    if (seat->session == NULL) {
        if (!session_new(sl, seat, f->session, &o))
            return false;
    } else if (!same_service(seat->session, &o)) {
        return false;
    } else if (seat->session->link != NULL) {
        vc__server_session_unbind(seat->session);
    }
    seat->binding = f->sequence;
    session_bind(seat->session, sl);
    return true;
}

/* --- slots ------------------------------------------------------------- */

static bool
slots_grow(struct vc__server_session *s, uint16_t i)
{
    unsigned n = s->n_slots == 0 ? 1 : s->n_slots;
    struct vc__server_slot *slots;

    if (i < s->n_slots)
        return true;
    while (n <= i)
        n *= 2;
    slots = realloc(s->slots, n * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof *slots);
    s->slots = slots;
    s->n_slots = (uint16_t)n;
    return true;
}

/* The client has the last reply, or does not want it. */
static void
slot_settle(struct vc__server_session *s, struct vc__server_slot *slot)
{
    struct vc_call *call = slot->call;

    if (slot->state == VC__SLOT_REPLYING)
        vc__link_withdraw(&s->link->link, vc__call_send(call));
    slot->state = VC__SLOT_FREE;
    slot->call = NULL;
    if (call != NULL)
        vc__call_release(call);
}

/* As if the last call had never come. */
static void
slot_rewind(struct vc__server_slot *slot)
{
    slot->state = VC__SLOT_FREE;
    slot->call = NULL;
    slot->sequence--;
}

/* Hands the reply to the link, now or again. */
static void
reply_go(struct vc__server_session *s, struct vc__server_slot *slot)
{
    struct vc__send *send = vc__call_send(slot->call);

    slot->state = VC__SLOT_REPLYING;
    send->flow = &s->flow;
    vc__link_send(&s->link->link, send);
}

void
vc__server_session_sent(struct vc__server_session *s, uint16_t i,
                        enum vc__send_end end)
{
    struct vc__server_slot *slot = &s->slots[i];
    struct vc_call *call = slot->call;

    slot->state = VC__SLOT_KEPT;
    if (end != VC__SEND_ACKED)
        return;
    slot->state = VC__SLOT_FREE;
    slot->call = NULL;
    vc__call_release(call);
}

/* --- calls that run ---------------------------------------------------- */

static void
call_count(struct vc__server_session *s)
{
    s->n_calls++;
    s->peer->n_calls++;
}

/* It runs no more. May free the session, the peer and the part. */
static void
call_over(struct vc__server_session *s)
{
    struct vc__server_peer *peer = s->peer;

    s->n_calls--;
    if (s->closed && s->n_calls == 0)
        session_free(s);
    vc__server_peer_release(peer);
}

static struct vc__call_site
site_of(struct vc__server_session *s, uint16_t i, uint16_t method, uint64_t due)
{
    return (struct vc__call_site){
        .session = s, .slot = i, .method = method, .due = due};
}

static void
call_begin(const struct vc__call_site *site, const uint8_t *body, uint32_t len)
{
    site->session->slots[site->slot].state = VC__SLOT_RUNNING;
    call_count(site->session);
    vc__call_begin(site, body, len);
}

static void
call_refuse(const struct vc__call_site *site, enum vc_status status,
            const char *text)
{
    site->session->slots[site->slot].state = VC__SLOT_RUNNING;
    call_count(site->session);
    vc__call_refuse(site, status, text);
}

void
vc__server_session_reply(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];

    if (s->closed)
        slot_settle(s, slot);
    else if (s->link == NULL || slot->arrival != NULL)
        slot->state = VC__SLOT_KEPT;
    else
        reply_go(s, slot);
    call_over(s);
}

void
vc__server_session_skip(struct vc__server_session *s, uint16_t i)
{
    slot_rewind(&s->slots[i]);
    call_over(s);
}

/* --- CALL, DATA and CANCEL --------------------------------------------- */

/* The open session of this number; NULL with *late when it has moved to
 * another link, and what comes on this one is dropped. */
static struct vc__server_session *
session_find(struct vc__server_link *sl, uint32_t number, bool *late)
{
    const struct vc__server_peer *peer = sl->peer;
    const struct vc__server_seat *seat;

    *late = false;
    if (number < 1 || number > peer->n_seats)
        return NULL;
    seat = &peer->seats[number - 1];
    if (seat->session != NULL && seat->session->link == sl)
        return seat->session;
    *late = seat->binding != 0;
    return NULL;
}

static uint64_t
due_of(uint32_t deadline)
{
    return deadline == VC__DEADLINE_NONE ? VC__FOREVER : vc__now() + deadline;
}

static bool
arrival_begin(struct vc__server_session *s, struct vc__server_slot *slot,
              const struct vc__frame *f, uint32_t max)
{
    struct vc__server_arrival *a = calloc(1, sizeof *a);

    if (a == NULL)
        return false;
    a->due = due_of(f->deadline);
    a->method = f->method;
    slot->arrival = a;
    return vc__assembly_begin(&a->assembly, f, max, &part_of(s)->budget);
}

static bool
call_first(struct vc__server_session *s, const struct vc__frame *f)
{
    struct vc__server_slot *slot = &s->slots[f->slot];
    struct vc__call_site site =
        site_of(s, f->slot, f->method, due_of(f->deadline));
    slot_settle(s, slot);
    slot->sequence = f->sequence;
    slot->asked = true;
    if (f->flags & VC__FRAME_MORE) {
        slot->state = VC__SLOT_ARRIVING;
        return arrival_begin(s, slot, f,
                             1u << part_of(s)->server->log2_message);
    }
    call_begin(&site, f->body, f->body_len);
    return true;
}

/* It has been sent before, on a link that was lost. */
static bool
call_again(struct vc__server_session *s, const struct vc__frame *f)
{
    struct vc__server_slot *slot = &s->slots[f->slot];
    if (slot->asked || slot->arrival != NULL ||
        (slot->state != VC__SLOT_RUNNING && slot->state != VC__SLOT_KEPT))
        return false;
    slot->asked = true;
    if (f->flags & VC__FRAME_MORE)
        return arrival_begin(s, slot, f, 0);
    if (slot->state == VC__SLOT_KEPT)
        reply_go(s, slot);
    return true;
}

bool
vc__server_session_call(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s = session_find(sl, f->session, &late);
    struct vc__server_slot *slot;

    if (s == NULL)
        return late;
    if (f->slot >= VC__SERVER_SLOTS || !slots_grow(s, f->slot))
        return false;
    slot = &s->slots[f->slot];
    if (f->sequence == slot->sequence)
        return call_again(s, f);
    if (f->sequence != slot->sequence + 1 || slot->state == VC__SLOT_RUNNING ||
        slot->arrival != NULL)
        return false;
    return call_first(s, f);
}

/* A request is whole, or lost. */
static void
arrival_done(struct vc__server_session *s, uint16_t i)
{
    struct vc__server_slot *slot = &s->slots[i];
    struct vc__server_arrival *a = slot->arrival;
    struct vc__call_site site = site_of(s, i, a->method, a->due);
    struct vc__server_part *part = part_of(s);

    slot->arrival = NULL;
    if (slot->state == VC__SLOT_KEPT)
        reply_go(s, slot);
    else if (slot->state == VC__SLOT_RUNNING)
        ; /* joined */
    else if (a->assembly.loss == VC__ASSEMBLY_KEPT)
        call_begin(&site, a->assembly.data, a->assembly.total);
    else
        call_refuse(&site, VC_RESOURCE_EXHAUSTED,
                    a->assembly.loss == VC__ASSEMBLY_TOO_LONG
                        ? "the request is over the server's limit of messages"
                        : "the server has no memory left for long requests");
    vc__assembly_end(&a->assembly, &part->budget);
    free(a);
}

bool
vc__server_session_data(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s = session_find(sl, f->session, &late);
    int got;

    if (f->flags & VC__FRAME_OF_REPLY)
        return false;
    if (s == NULL)
        return late;
    if (f->slot >= s->n_slots || f->sequence != s->slots[f->slot].sequence ||
        s->slots[f->slot].arrival == NULL)
        return false;
    got = vc__assembly_add(&s->slots[f->slot].arrival->assembly, f,
                           &part_of(s)->budget);
    if (got > 0)
        arrival_done(s, f->slot);
    return got >= 0;
}

/* The client does not want the call any more, and must know when its slot is
 * free. */
bool
vc__server_session_cancel(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s = session_find(sl, f->session, &late);
    struct vc__call_site site;
    struct vc__server_slot *slot;

    if (s == NULL)
        return late;
    if (f->slot >= VC__SERVER_SLOTS || !slots_grow(s, f->slot))
        return false;
    slot = &s->slots[f->slot];
    if (f->sequence == slot->sequence && slot->arrival == NULL) {
        if (slot->state == VC__SLOT_KEPT)
            reply_go(s, slot);
        return slot->state != VC__SLOT_FREE;
    }
    if (f->sequence != slot->sequence + 1 || slot->arrival != NULL ||
        slot->state == VC__SLOT_RUNNING)
        return false;
    slot_settle(s, slot);
    slot->sequence = f->sequence;
    site = site_of(s, f->slot, 0, VC__FOREVER);
    call_refuse(&site, VC_CANCELLED, "its caller has given it up");
    return true;
}

/* --- the end ----------------------------------------------------------- */

void
vc__server_session_unbind(struct vc__server_session *s)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        struct vc__server_slot *slot = &s->slots[i];

        slot->asked = false;
        if (slot->state == VC__SLOT_REPLYING) {
            vc__link_withdraw(&s->link->link, vc__call_send(slot->call));
            slot->state = VC__SLOT_KEPT;
        }
        arrival_drop(s, slot);
        if (slot->state == VC__SLOT_ARRIVING)
            slot_rewind(slot);
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
    peer->seats[s->number - 1].session = NULL;
    peer->n_sessions--;
    s->closed = true;
    if (s->n_calls == 0)
        session_free(s);
}

static void
farewell_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    free(send);
}

/* The client may use the number again. */
static bool
farewell(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__send *send = calloc(1, sizeof *send);

    if (send == NULL)
        return false;
    send->flow = &sl->link.control;
    send->frame.type = VC__FRAME_CLOSE;
    send->frame.session = f->session;
    send->frame.sequence = f->sequence;
    send->done = farewell_done;
    vc__link_send(&sl->link, send);
    return true;
}

bool
vc__server_session_leave(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__server_seat *seat = vc__server_peer_seat(sl->peer, f->session);

    if (seat == NULL || seat->binding == 0)
        return false;
    if (!is_newer(seat, f->sequence)) /* from a link that was lost */
        return seat->session == NULL || seat->session->link != sl;
    if (seat->session != NULL)
        vc__server_session_close(seat->session);
    seat->binding = f->sequence;
    return farewell(sl, f);
}
