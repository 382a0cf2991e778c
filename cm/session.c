/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Slots, requests and replies of one session (doc/wire.md, section 4). */
#include "cm/session.h"

#include <stdlib.h>
#include <string.h>

#include "cm/pool.h"
#include "transport/le.h"

#define NO_SLOT     UINT16_MAX
#define SLOTS_FIRST 8u

/* --- birth and death --------------------------------------------------- */

/* OPEN: name length, name, number of methods, their hashes. */
static bool
open_make(struct vc__session *s)
{
    const struct vc_service *service = s->service;
    size_t name = strlen(service->name);
    size_t len = 2 + name + 2 + 4 * (size_t)service->n_methods;
    uint8_t *out = malloc(len);

    if (out == NULL)
        return false;
    s->open_body = out;
    vc__put16(out, (uint16_t)name);
    memcpy(out + 2, service->name, name);
    out += 2 + name;
    vc__put16(out, (uint16_t)service->n_methods);
    out += 2;
    for (unsigned i = 0; i < service->n_methods; i++)
        vc__put32(out + (size_t)i * 4, service->methods[i].hash);
    s->open.body = s->open_body;
    s->open.frame.type = VC__FRAME_OPEN;
    s->open.frame.session = s->id;
    s->open.frame.body_len = (uint32_t)len;
    return true;
}

struct vc__session *
vc__session_new(struct vc__pool *pool, const struct vc_service *service,
                uint32_t id)
{
    struct vc__session *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->pool = pool;
    s->service = service;
    s->id = id;
    s->free_slot = NO_SLOT;
    CDS_INIT_LIST_HEAD(&s->waiting);
    CDS_INIT_LIST_HEAD(&s->open.node);
    if (!open_make(s)) {
        free(s);
        return NULL;
    }
    return s;
}

void
vc__session_free(struct vc__session *s)
{
    for (unsigned i = 0; i < s->n_slots; i++)
        vc__assembly_end(&s->slots[i].assembly, &s->pool->budget);
    free(s->slots);
    free(s->open_body);
    free(s);
}

/* --- slots ------------------------------------------------------------- */

static void
slot_free(struct vc__session *s, uint16_t i)
{
    s->slots[i].busy = false;
    s->slots[i].request = NULL;
    s->slots[i].next_free = s->free_slot;
    s->free_slot = i;
}

/* Doubles the slots within the peer's limit. */
static bool
slots_grow(struct vc__session *s)
{
    unsigned limit = vc__pool_slots(s->pool);
    unsigned n = s->n_slots == 0 ? SLOTS_FIRST : s->n_slots * 2u;
    struct vc__slot *slots;

    if (n > limit)
        n = limit;
    if (n <= s->n_slots)
        return false;
    slots = realloc(s->slots, n * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof *slots);
    s->slots = slots;
    while (s->n_slots < n)
        slot_free(s, s->n_slots++);
    return true;
}

/* NO_SLOT when all are taken. */
static uint16_t
slot_take(struct vc__session *s)
{
    uint16_t i;

    if (s->free_slot == NO_SLOT && !slots_grow(s))
        return NO_SLOT;
    i = s->free_slot;
    s->free_slot = s->slots[i].next_free;
    s->slots[i].busy = true;
    return i;
}

void
vc__session_reset(struct vc__session *s)
{
    s->opened = false;
    s->free_slot = NO_SLOT;
    for (unsigned i = 0; i < s->n_slots; i++) {
        vc__assembly_end(&s->slots[i].assembly, &s->pool->budget);
        memset(&s->slots[i], 0, sizeof s->slots[i]);
    }
    if (s->n_slots > vc__pool_slots(s->pool))
        s->n_slots = vc__pool_slots(s->pool);
    for (unsigned i = s->n_slots; i-- > 0;)
        slot_free(s, (uint16_t)i);
}

/* --- requests ---------------------------------------------------------- */

/* False: no slot, or no link any more. One that waits in a session which the
 * link that came up has no room for waits for its deadline. */
static bool
request_launch(struct vc__session *s, struct vc__request *r)
{
    uint16_t slot = vc__pool_has_room(s->pool, s->id) ? slot_take(s) : NO_SLOT;
    struct vc__send *sends[2];
    unsigned n = 0;

    if (slot == NO_SLOT)
        return false;
    r->slot = slot;
    r->send->frame.type = VC__FRAME_CALL;
    r->send->frame.slot = slot;
    r->send->frame.session = s->id;
    r->send->frame.sequence = s->slots[slot].sequence + 1;
    if (!s->opened)
        sends[n++] = &s->open;
    sends[n++] = r->send;
    s->slots[slot].request = r;
    s->slots[slot].sequence++;
    r->state = VC__REQUEST_SENT;
    r->taken = vc__pool_send(s->pool, sends, n);
    if (r->taken) {
        s->opened = true;
        return true;
    }
    s->slots[slot].sequence--;
    r->state = VC__REQUEST_WAITING;
    slot_free(s, slot);
    return false;
}

void
vc__session_launch(struct vc__session *s)
{
    while (!cds_list_empty(&s->waiting)) {
        struct vc__request *r =
            cds_list_entry(s->waiting.next, struct vc__request, node);

        cds_list_del(&r->node);
        r->send->fresh = false;
        if (!request_launch(s, r)) {
            cds_list_add(&r->node, &s->waiting);
            return;
        }
    }
}

void
vc__session_start(struct vc__session *s, struct vc__request *r)
{
    struct vc__error error;
    bool good;

    pthread_mutex_lock(&s->pool->lock);
    good = vc__pool_want(s->pool, s, &error);
    if (good) {
        r->state = VC__REQUEST_WAITING;
        if (!vc__pool_is_up(s->pool) || !cds_list_empty(&s->waiting) ||
            !request_launch(s, r))
            cds_list_add_tail(&r->node, &s->waiting);
    }
    pthread_mutex_unlock(&s->pool->lock);
    if (!good)
        r->failed(r, &error);
}

/* It has a slot. Nothing of it has gone: the slot is as if never taken. Else
 * the slot stays busy until the reply comes, for the server may still run
 * it. */
static enum vc_outcome
request_detach(struct vc__session *s, struct vc__request *r)
{
    struct vc__slot *slot = &s->slots[r->slot];

    if (vc__pool_unsend(s->pool, r->send)) {
        r->taken = false;
        slot->sequence--;
        slot_free(s, r->slot);
        vc__session_launch(s);
        return VC_OUTCOME_NOT_EXECUTED;
    }
    slot->request = NULL;
    return VC_OUTCOME_UNKNOWN;
}

bool
vc__session_abandon(struct vc__session *s, struct vc__request *r,
                    enum vc_outcome *outcome)
{
    bool mine = true;

    pthread_mutex_lock(&s->pool->lock);
    switch (r->state) {
    case VC__REQUEST_WAITING:
        cds_list_del(&r->node);
        *outcome = VC_OUTCOME_NOT_EXECUTED;
        break;
    case VC__REQUEST_SENT:
        *outcome = request_detach(s, r);
        break;
    case VC__REQUEST_COMPLETING:
        mine = false;
        break;
    }
    pthread_mutex_unlock(&s->pool->lock);
    return mine;
}

bool
vc__session_waits(const struct vc__session *s)
{
    for (unsigned i = 0; i < s->n_slots; i++)
        if (s->slots[i].request != NULL)
            return true;
    return false;
}

void
vc__session_take_all(struct vc__session *s, struct cds_list_head *sent,
                     struct cds_list_head *waiting)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        struct vc__request *r = s->slots[i].request;

        if (r == NULL)
            continue;
        s->slots[i].request = NULL;
        r->state = VC__REQUEST_COMPLETING;
        cds_list_add_tail(&r->node, r->send->gone ? sent : waiting);
    }
    while (!cds_list_empty(&s->waiting)) {
        struct vc__request *r =
            cds_list_entry(s->waiting.next, struct vc__request, node);

        r->state = VC__REQUEST_COMPLETING;
        cds_list_del(&r->node);
        cds_list_add_tail(&r->node, waiting);
    }
}

/* --- replies ----------------------------------------------------------- */

static void
reply_lost(const struct vc__assembly *a, struct vc__reply_frame *reply)
{
    static const char *const texts[] = {
        [VC__ASSEMBLY_KEPT] = "",
        [VC__ASSEMBLY_TOO_LONG] = "the reply is over our limit of messages",
        [VC__ASSEMBLY_NO_BUDGET] = "too many long replies at a time",
        [VC__ASSEMBLY_NO_MEMORY] = "out of memory for the reply",
    };

    reply->status = VC_RESOURCE_EXHAUSTED;
    reply->outcome = VC_OUTCOME_EXECUTED;
    reply->body = (const uint8_t *)texts[a->loss];
    reply->len = (uint32_t)strlen(texts[a->loss]);
}

/* The reply is whole: its slot is free for the next. */
static void
reply_take(struct vc__session *s, const struct vc__frame *f,
           struct vc__request **r)
{
    *r = s->slots[f->slot].request;
    if (*r != NULL)
        (*r)->state = VC__REQUEST_COMPLETING;
    slot_free(s, f->slot);
    vc__session_launch(s);
}

static bool
reply_first(struct vc__session *s, const struct vc__frame *f,
            struct vc__request **r, struct vc__reply_frame *reply)
{
    struct vc__slot *slot = &s->slots[f->slot];

    if (slot->assembly.total != 0)
        return false;
    if (f->flags & VC__FRAME_MORE)
        return f->method == VC_OK &&
               vc__assembly_begin(&slot->assembly, f,
                                  vc__pool_message_max(s->pool),
                                  &s->pool->budget);
    if (f->flags & VC__FRAME_NOT_EXECUTED && f->method == VC_OK)
        return false;
    reply->status = (enum vc_status)f->method;
    reply->outcome = f->flags & VC__FRAME_NOT_EXECUTED ? VC_OUTCOME_NOT_EXECUTED
                                                       : VC_OUTCOME_EXECUTED;
    reply->body = f->body;
    reply->len = f->body_len;
    reply_take(s, f, r);
    return true;
}

static bool
reply_more(struct vc__session *s, const struct vc__frame *f,
           struct vc__request **r, struct vc__reply_frame *reply,
           struct vc__assembly *done)
{
    struct vc__slot *slot = &s->slots[f->slot];
    int got = vc__assembly_add(&slot->assembly, f, &s->pool->budget);

    if (got <= 0)
        return got == 0;
    *done = slot->assembly;
    memset(&slot->assembly, 0, sizeof slot->assembly);
    if (done->loss != VC__ASSEMBLY_KEPT) {
        reply_lost(done, reply);
    } else {
        reply->status = VC_OK;
        reply->outcome = VC_OUTCOME_EXECUTED;
        reply->body = done->data;
        reply->len = done->total;
    }
    reply_take(s, f, r);
    return true;
}

bool
vc__session_reply(struct vc__session *s, const struct vc__frame *f,
                  struct vc__request **r, struct vc__reply_frame *reply,
                  struct vc__assembly *done)
{
    const struct vc__request *asked;

    *r = NULL;
    if (f->slot >= s->n_slots || !s->slots[f->slot].busy ||
        s->slots[f->slot].sequence != f->sequence)
        return false;
    /* What still waits for a credit cannot be answered, and must not end while
     * the link has it in its queue. */
    asked = s->slots[f->slot].request;
    if (asked != NULL && !asked->send->gone)
        return false;
    if (f->type == VC__FRAME_REPLY)
        return reply_first(s, f, r, reply);
    return reply_more(s, f, r, reply, done);
}
