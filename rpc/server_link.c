/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a client turned into sessions and calls. What breaks the protocol
 * ends the link; what is only a bad request is answered. */
#include "rpc/server_link.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/server_call.h"
#include "transport/le.h"

/* A peer that is turned away because we are full may come again after. */
#define BUSY_RETRY_MS 1000

static struct vc__server_link *
server_link_of(struct vc__link *link)
{
    return caa_container_of(link, struct vc__server_link, link);
}

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

static void
session_free(struct vc__server_session *s, size_t *budget)
{
    for (unsigned i = 0; i < s->n_slots; i++)
        vc__assembly_end(&s->slots[i].assembly, budget);
    vc__service_put(s->entry);
    free(s->slots);
    free(s->map);
    free(s);
}

/* The table of sessions holds this id. */
static bool
sessions_grow(struct vc__server_link *sl, uint32_t id)
{
    struct vc__server_session **sessions;

    if (id <= sl->n_sessions)
        return true;
    sessions = realloc(sl->sessions, id * sizeof(*sessions));
    if (sessions == NULL)
        return false;
    memset(sessions + sl->n_sessions, 0,
           (id - sl->n_sessions) * sizeof(*sessions));
    sl->sessions = sessions;
    sl->n_sessions = id;
    return true;
}

static bool
session_add(struct vc__server_link *sl, uint32_t id, const struct open_body *o)
{
    struct vc__server_session *s;

    if (!sessions_grow(sl, id))
        return false;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return false;
    s->id = id;
    s->entry =
        vc__services_get(&sl->part->server->services, o->name, o->name_len);
    if (s->entry != NULL && !map_make(s, o)) {
        session_free(s, &sl->part->budget);
        return false;
    }
    sl->sessions[id - 1] = s;
    return true;
}

static struct vc__server_session *
session_find(const struct vc__server_link *sl, uint32_t id)
{
    return id >= 1 && id <= sl->n_sessions ? sl->sessions[id - 1] : NULL;
}

/* The first session must be of the service that the hello named: so a hash
 * that two names share does no harm. */
static bool
on_open(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct open_body o;

    if (!open_parse(&o, f) || f->session < 1 ||
        f->session > VC__SERVER_SESSIONS ||
        session_find(sl, f->session) != NULL)
        return false;
    if (!sl->trusted &&
        vc__service_id(o.name, o.name_len) != sl->link.hello.service)
        return false;
    return session_add(sl, f->session, &o);
}

/* --- CALL and DATA ----------------------------------------------------- */

static bool
slots_grow(struct vc__server_session *s, uint16_t slot)
{
    unsigned n = s->n_slots == 0 ? 8 : s->n_slots;
    struct vc__server_slot *slots;

    if (slot < s->n_slots)
        return true;
    while (n <= slot)
        n *= 2;
    slots = realloc(s->slots, n * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof *slots);
    s->slots = slots;
    s->n_slots = n;
    return true;
}

static uint64_t
due_of(uint32_t deadline)
{
    return deadline == VC__DEADLINE_NONE ? VC__FOREVER : vc__now() + deadline;
}

static struct vc__call_site
site_of(struct vc__server_link *sl, struct vc__server_session *s, uint16_t i)
{
    return (struct vc__call_site){
        .link = sl,
        .session = s,
        .slot = i,
        .method = s->slots[i].method,
        .due = s->slots[i].due,
    };
}

static void
call_begin(struct vc__server_link *sl, struct vc__server_session *s,
           uint16_t slot, const uint8_t *body, uint32_t len)
{
    const struct vc__call_site site = site_of(sl, s, slot);

    sl->n_calls++;
    vc__call_begin(&site, body, len);
}

static void
call_refuse(struct vc__server_link *sl, struct vc__server_session *s,
            uint16_t slot, enum vc__assembly_loss loss)
{
    const struct vc__call_site site = site_of(sl, s, slot);

    sl->n_calls++;
    vc__call_refuse(&site, VC_RESOURCE_EXHAUSTED,
                    loss == VC__ASSEMBLY_TOO_LONG
                        ? "the request is over the server's limit of messages"
                        : "the server has no memory left for long requests");
}

static bool
on_call(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__server_session *s = session_find(sl, f->session);
    struct vc__server_slot *slot;

    if (s == NULL || f->slot >= VC__SERVER_SLOTS || !slots_grow(s, f->slot))
        return false;
    slot = &s->slots[f->slot];
    if (slot->busy || f->sequence != slot->sequence + 1)
        return false;
    slot->busy = true;
    slot->sequence = f->sequence;
    slot->method = f->method;
    slot->due = due_of(f->deadline);
    if (f->flags & VC__FRAME_MORE)
        return vc__assembly_begin(&slot->assembly, f,
                                  1u << sl->part->server->log2_message,
                                  &sl->part->budget);
    call_begin(sl, s, f->slot, f->body, f->body_len);
    return true;
}

static bool
on_data(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__server_session *s = session_find(sl, f->session);
    struct vc__assembly done;
    int got;

    if (f->flags & VC__FRAME_OF_REPLY || s == NULL || f->slot >= s->n_slots ||
        f->sequence != s->slots[f->slot].sequence)
        return false;
    got = vc__assembly_add(&s->slots[f->slot].assembly, f, &sl->part->budget);
    if (got <= 0)
        return got == 0;
    done = s->slots[f->slot].assembly;
    memset(&s->slots[f->slot].assembly, 0, sizeof done);
    if (done.loss == VC__ASSEMBLY_KEPT)
        call_begin(sl, s, f->slot, done.data, done.total);
    else
        call_refuse(sl, s, f->slot, done.loss);
    vc__assembly_end(&done, &sl->part->budget);
    return true;
}

/* --- callbacks of the link --------------------------------------------- */

static bool
frame_handle(struct vc__server_link *sl, const struct vc__frame *f)
{
    switch (f->type) {
    case VC__FRAME_OPEN:
        return on_open(sl, f);
    case VC__FRAME_CALL:
        return on_call(sl, f);
    case VC__FRAME_DATA:
        return on_data(sl, f);
    default:
        return false;
    }
}

static bool
on_frame(struct vc__link *link, const struct vc__frame *f)
{
    struct vc__server_link *sl = server_link_of(link);

    /* Before the first session is open there is nothing to call. */
    if (!frame_handle(sl, f))
        return false;
    if (!sl->trusted) {
        sl->trusted = true;
        vc__admission_trust(&sl->part->server->admission);
        vc__link_trust(link);
    }
    return true;
}

static void
on_up(struct vc__link *link)
{
    (void)link; /* the client speaks first */
}

static void
on_down(struct vc__link *link)
{
    (void)link; /* calls that run find out when they send their reply */
}

static void
server_link_free(struct vc__server_link *sl)
{
    struct vc__server_part *part = sl->part;
    bool trusted = sl->trusted;

    for (unsigned i = 0; i < sl->n_sessions; i++) {
        if (sl->sessions[i] != NULL)
            session_free(sl->sessions[i], &part->budget);
    }
    free(sl->sessions);
    cds_list_del(&sl->node);
    vc__link_fini(&sl->link);
    free(sl);
    vc__admission_gone(&part->server->admission, trusted);
    part->n_links--;
    if (part->closer != NULL && part->n_links == 0)
        vc__waiter_done(part->closer);
}

static void
on_gone(struct vc__link *link)
{
    struct vc__server_link *sl = server_link_of(link);

    sl->gone = true;
    if (sl->n_calls == 0)
        server_link_free(sl);
}

void
vc__server_link_release(struct vc__server_link *sl,
                        struct vc__server_session *session, uint16_t slot)
{
    session->slots[slot].busy = false;
    sl->n_calls--;
    if (sl->gone && sl->n_calls == 0)
        server_link_free(sl);
}

static const struct vc__link_ops server_link_ops = {
    .up = on_up, .frame = on_frame, .down = on_down, .gone = on_gone};

/* --- accepting --------------------------------------------------------- */

static void
accept_fill(const struct vc_server *server, const struct vc__hello *hello,
            struct vc__accept *a)
{
    a->version = hello->version_max < VC__VERSION_MAX ? hello->version_max
                                                      : VC__VERSION_MAX;
    a->log2_message = server->log2_message;
    a->max_sessions = VC__SERVER_SESSIONS;
    a->max_slots = VC__SERVER_SLOTS;
    memcpy(a->instance, server->runtime->instance, sizeof a->instance);
    memcpy(a->text, server->name, sizeof a->text);
}

static struct vc__server_link *
server_link_new(struct vc__server_part *part, const struct vc__hello *hello)
{
    struct vc__server_link *sl = calloc(1, sizeof *sl);

    if (sl == NULL)
        return NULL;
    sl->part = part;
    vc__link_init(&sl->link, &part->progress->cm, &server_link_ops,
                  part->server->handshake_ms);
    accept_fill(part->server, hello, &sl->link.accept);
    return sl;
}

/* Why it cannot be accepted; NULL when it was. */
static const char *
accept_try(struct vc__offer *o)
{
    struct vc__server_part *part = o->part;
    struct vc__server_link *sl = NULL;

    if (part->closer != NULL) {
        vc__admission_gone(&part->server->admission, false);
        return "closing";
    }
    if (vc__cm_open(&part->progress->cm) == VC_OK)
        sl = server_link_new(part, &o->hello);
    if (sl == NULL) {
        vc__admission_gone(&part->server->admission, false);
        return "out of memory";
    }
    cds_list_add(&sl->node, &part->links);
    part->n_links++;
    if (vc__link_accept(&sl->link, o->id, &o->hello, o->reads_in,
                        o->reads_out) == VC_OK)
        return NULL;
    server_link_free(sl);
    return vc_error();
}

void
vc__server_link_accept(struct vc__offer *o)
{
    const char *fault = accept_try(o);

    if (fault != NULL) {
        vc__admission_rejected(&o->part->server->admission, VC__REJECT_BUSY);
        vc__listener_reject(o->id, VC__REJECT_BUSY, BUSY_RETRY_MS, "%s", fault);
    }
    free(o);
}
