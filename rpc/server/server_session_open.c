/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * OPEN and CLOSE: opens sessions, binds them to a link, and answers when a
 * client closes one. Also sessions of multicast groups, which have neither. The
 * holder of the engine only. See rpc/server/server_session.h. */
#include <stdlib.h>
#include <string.h>

#include "rpc/server/server_cancel.h"
#include "rpc/server/server_counts.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_log.h"
#include "rpc/server/server_session.h"
#include "transport/core/le.h"

/* Sessions are allocated in slabs: the more sessions, the larger the next
 * slab. */
struct vc__server_slab {
    struct vc__server_slab *next;
    struct vc__server_session sessions[];
};

#define SLAB_MAX 64u

/* Adds spare sessions to the peer. False without memory. Called by
 * server_session_open_take(). */
static bool
sessions_make(struct vc__server_peer *peer)
{
    unsigned n = peer->n_sessions < SLAB_MAX ? peer->n_sessions : SLAB_MAX;
    struct vc__server_slab *slab;

    n = n == 0 ? 1 : n;
    slab = malloc(sizeof *slab + n * sizeof slab->sessions[0]);
    if (slab == NULL)
        return false;
    slab->next = peer->slabs;
    peer->slabs = slab;
    while (n-- > 0)
        cds_list_add(&slab->sessions[n].node, &peer->spare);
    return true;
}

/* Takes a spare session, zeroed; NULL without memory. Called by session_new()
 * and vc__server_session_group_open(). */
static struct vc__server_session *
server_session_open_take(struct vc__server_peer *peer)
{
    struct vc__server_session *s;

    if (cds_list_empty(&peer->spare) && !sessions_make(peer))
        return NULL;
    s = cds_list_entry(peer->spare.next, struct vc__server_session, node);
    cds_list_del(&s->node);
    return memset(s, 0, sizeof *s);
}

void
vc__server_session_free(struct vc__server_session *s)
{
    vc__opened_put(s->opened);
    if (s->slots != &s->first)
        free(s->slots);
    cds_list_add(&s->node, &s->peer->spare);
}

void
vc__server_sessions_free(struct vc__server_peer *peer)
{
    while (peer->slabs != NULL) {
        struct vc__server_slab *slab = peer->slabs;

        peer->slabs = slab->next;
        free(slab);
    }
}

/* The OPEN failed: its body is malformed, which breaks the protocol; or there
 * was no memory. Returns false. Called by session_new() and
 * vc__server_session_open(). */
static bool
open_refuse(struct vc__server_link *sl, const struct vc__frame *f)
{
    return !vc__opened_is_whole(f) &&
           vc__server_breach(sl, "an OPEN with a malformed body");
}

/* Returns the weight of the session's replies: the one that the client's
 * channel has for its requests. A client built before weights existed sends 0.
 * Called by session_new(). */
static uint32_t
weight_of(const struct vc__frame *open)
{
    if (open->method == 0)
        return 1;
    return open->method < VC__WEIGHT_MAX ? open->method : VC__WEIGHT_MAX;
}

/* The fingerprint of the client's schema that an OPEN stands for: its own, or
 * of an older client, which has none in an OPEN, that of the hello if both name
 * the same service; 0: unknown. Called by session_new(). */
static uint32_t
schema_of(const struct vc__server_peer *peer, const struct vc__frame *f)
{
    if (f->deadline != 0 || vc__opened_service(f) != peer->service)
        return f->deadline;
    return peer->fingerprint;
}

/* Called by session_new() if the client's schema of the service is not the
 * server's, nor accepted: counts it, and logs it once per client. */
static void
schema_tell(struct vc__server_link *sl, const struct vc__server_session *s)
{
    const struct vc__opened *opened = s->opened;
    struct vc_server *server = sl->part->server;
    bool refuses = server->services.schemas.check == VC_SCHEMA_REFUSE;

    vc__server_count(s, VC__COUNT_schemas_differ, 1);
    if (sl->peer->schema_logged)
        return;
    sl->peer->schema_logged = true;
    vc__server_log(
        server, VC__LOG_SCHEMA,
        "client %s has another schema of %.*s (%08x, the server's is %08x), "
        "which is %s: build both from one .proto file, or accept the older one "
        "(compat= of protoc-gen-verbcall, vc_server_schema_accept())",
        sl->origin->text, (int)vc__get16(opened->body), opened->body + 2,
        (unsigned)opened->schema, (unsigned)opened->ours,
        refuses ? "refused" : "used as it is");
}

/* Makes a session for the seat, bound to no link yet. False without memory, or
 * when the frame is malformed. Called by vc__server_session_open(). */
static bool
session_new(struct vc__server_link *sl, struct vc__server_seat *seat,
            const struct vc__frame *f)
{
    struct vc__server_session *s = server_session_open_take(sl->peer);
    struct vc__frame open = *f;

    if (s == NULL)
        return false;
    s->peer = sl->peer;
    s->number = f->session;
    s->slots = &s->first;
    s->n_slots = 1;
    CDS_INIT_LIST_HEAD(&s->node);
    vc__flow_init(&s->flow, weight_of(f));
    open.deadline = schema_of(sl->peer, f);
    s->opened = vc__opened_get(&sl->peer->opened,
                               &s->peer->part->server->services, &open);
    if (s->opened == NULL) {
        vc__server_session_free(s);
        return open_refuse(sl, f);
    }
    seat->session = s;
    s->peer->n_sessions++;
    vc__server_count(s, VC__COUNT_sessions_server, 1);
    vc__server_count(s, VC__COUNT_sessions_server_opened, 1);
    if (s->opened->verdict != VC__SCHEMA_TAKEN)
        schema_tell(sl, s);
    return true;
}

struct vc__server_session *
vc__server_session_group_open(struct vc__server_link *sl,
                              const struct vc__frame *f, uint16_t slots)
{
    struct vc__server_session *s = server_session_open_take(sl->peer);

    if (s == NULL)
        return NULL;
    s->peer = sl->peer;
    s->link = sl;
    s->slots = calloc(slots, sizeof *s->slots);
    s->opened =
        s->slots == NULL
            ? NULL
            : vc__opened_get(&sl->peer->opened, &sl->part->server->services, f);
    if (s->opened == NULL) {
        free(s->slots);
        cds_list_add(&s->node, &sl->peer->spare);
        return NULL;
    }
    s->n_slots = slots;
    s->closed = true;
    s->n_calls = 1; /* dropped by vc__server_session_group_end() */
    s->peer->n_calls++;
    cds_list_add(&s->node, &sl->part->orphans);
    return s;
}

void
vc__server_session_group_end(struct vc__server_session *s)
{
    struct vc__server_peer *peer = s->peer;

    s->link = NULL;
    if (--s->n_calls == 0) {
        cds_list_del(&s->node);
        vc__server_session_free(s);
    }
    vc__server_peer_release(peer);
}

bool
vc__server_session_group_call(struct vc__server_session *s, uint16_t method,
                              const uint8_t *body, uint32_t len)
{
    struct vc__call_site site = {
        .session = s, .method = method, .due = VC__FOREVER};

    while (site.slot < s->n_slots && s->slots[site.slot].state != VC__SLOT_FREE)
        site.slot++;
    if (site.slot == s->n_slots)
        return false;
    vc__server_slot_set(s, &s->slots[site.slot], VC__SLOT_RUNNING);
    s->n_calls++;
    s->peer->n_calls++;
    vc__server_count(s, VC__COUNT_calls_received, 1);
    vc__call_begin(&site, body, len, NULL);
    return true;
}

void
vc__server_session_give_up(struct vc__server_session *s)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        if (s->slots[i].state == VC__SLOT_RUNNING)
            vc__call_cancel(s->slots[i].call);
    }
}

/* Called by vc__server_session_open(): binds a session to the link that its
 * OPEN came by. It is new or unbound, and in no list (cds_list_del() does
 * nothing then). */
static void
session_bind(struct vc__server_session *s, struct vc__server_link *sl)
{
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &sl->sessions);
    s->link = sl;
}

bool
vc__server_session_open(struct vc__server_link *sl, const struct vc__frame *f)
{
    struct vc__server_seat *seat = vc__server_peer_seat(sl->peer, f->session);

    if (seat == NULL)
        return !vc__server_peer_may_have(sl->peer, f->session) &&
               vc__server_breach(sl, "an OPEN of a session out of range");
    if (!vc__server_seat_is_older(seat,
                                  f->sequence)) /* from a link that was lost */
        return (seat->binding != 0 &&
                (seat->session == NULL || seat->session->link != sl)) ||
               vc__server_breach(sl, "an OPEN with an old binding");
    if (seat->session == NULL) {
        if (!session_new(sl, seat, f))
            return false;
    } else if (!vc__opened_names(seat->session->opened, f)) {
        return vc__opened_is_whole(f)
                   ? vc__server_breach(sl, "an OPEN of another service")
                   : open_refuse(sl, f);
    } else {
        if (seat->session->link != NULL)
            vc__server_session_unbind(seat->session);
        vc__server_count(seat->session, VC__COUNT_sessions_server_moved, 1);
    }
    seat->binding = f->sequence;
    session_bind(seat->session, sl);
    return true;
}

void
vc__server_session_renew(struct vc__server_session *s)
{
    struct vc__frame open = {.body = s->opened->body,
                             .body_len = s->opened->len,
                             .deadline = s->opened->schema};
    struct vc__opened *now = vc__opened_get(
        &s->peer->opened, &s->peer->part->server->services, &open);

    if (now == NULL) /* without memory the session stays as it is */
        return;
    vc__opened_put(s->opened);
    s->opened = now;
}

/* send->done, called by the link on the holder, under its lock: the answer to
 * the CLOSE was sent, or the link was lost. */
static void
farewell_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    free(send);
}

/* Called by vc__server_session_leave(): answers a CLOSE, so the client may use
 * the number again. False without memory: the link ends. */
static bool
server_session_farewell(struct vc__server_link *sl, const struct vc__frame *f)
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
        return vc__server_breach(sl, VC__NEVER_OPEN);
    if (!vc__server_seat_is_older(seat,
                                  f->sequence)) /* from a link that was lost */
        return seat->session == NULL || seat->session->link != sl ||
               vc__server_breach(sl, "a CLOSE with an old binding");
    if (seat->session != NULL)
        vc__server_session_close(seat->session);
    seat->binding = f->sequence;
    return server_session_farewell(sl, f);
}
