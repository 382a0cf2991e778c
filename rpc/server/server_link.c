/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Accepts the links of clients, and passes their frames to the files of
 * sessions and streams. A frame that breaks the protocol ends the link; a
 * request that is merely bad is answered. See rpc/server/server_link.h. All of
 * this file runs on the holder of the engine; functions named on_ and
 * server_link_on_ are callbacks of links. */
#include "rpc/server/server_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/server/server_log.h"
#include "rpc/server/server_op.h"
#include "rpc/server/server_session.h"

/* A client that is rejected because the server is full may retry after this. */
#define BUSY_RETRY_MS 1000

/* Returns the server's link that contains this one, for the callbacks of
 * server_link_ops. */
static struct vc__server_link *
server_link_of(struct vc__link *link)
{
    return caa_container_of(link, struct vc__server_link, link);
}

/* --- callbacks of the link --------------------------------------------- */

/* cm/link calls them on the holder, through server_link_ops. */

/* Called by server_link_on_frame(): passes a frame to the function for its
 * type. False: the frame breaks the protocol, or there is no memory; the link
 * ends. */
static bool
frame_handle(struct vc__server_link *sl, const struct vc__frame *f)
{
    switch (f->type) {
    case VC__FRAME_OPEN:
        return vc__server_session_open(sl, f);
    case VC__FRAME_CALL:
        return vc__server_session_call(sl, f);
    case VC__FRAME_DATA:
        return vc__server_session_data(sl, f);
    case VC__FRAME_MESSAGE:
    case VC__FRAME_HALF:
    case VC__FRAME_WINDOW:
        return vc__server_session_stream(sl, f);
    case VC__FRAME_CANCEL:
        return vc__server_session_cancel(sl, f);
    case VC__FRAME_CLOSE:
        return vc__server_session_leave(sl, f);
    default:
        return vc__server_breach(sl, "a frame that no client sends");
    }
}

/* A frame was received. False: it breaks the protocol, as a first one that is
 * neither OPEN nor CLOSE, or there is no memory; the link ends. The first frame
 * that is valid makes the link trusted. */
static bool
server_link_on_frame(struct vc__link *link, const struct vc__frame *f)
{
    struct vc__server_link *sl = server_link_of(link);

    /* The first frame must open a session, or close one whose link was lost. */
    if (!sl->trusted && f->type != VC__FRAME_OPEN && f->type != VC__FRAME_CLOSE)
        return vc__server_breach(sl, "a first frame that opens no session");
    if (!frame_handle(sl, f))
        return false;
    if (!sl->trusted)
        vc__link_trust(link);
    return true;
}

/* Called by vc__link_trust(), once: in server_link_on_frame() when the first
 * frame was valid, or in vc__link_ping() when a PING came before. The link no
 * longer counts as half open. If the server drains, sends GOAWAY. */
static void
on_trusted(struct vc__link *link)
{
    struct vc__server_link *sl = server_link_of(link);

    sl->trusted = true;
    vc__admission_trust(&sl->part->server->admission);
    /* The link was accepted, but not yet up, when the drain began. Without
     * memory for GOAWAY the link is closed once its client has no calls. */
    if (atomic_load(&sl->part->server->draining) && !sl->goaway_sent)
        vc__server_link_goaway(sl);
}

/* The link is up: does nothing. */
static void
server_link_on_up(struct vc__link *link)
{
    (void)link; /* the client sends first */
}

/* The link is down, or will never be up: unbinds its sessions. Running calls go
 * on, as their client may come back by another link, but streams end. */
static void
server_link_on_down(struct vc__link *link)
{
    struct vc__server_link *sl = server_link_of(link);
    struct vc__server_session *s, *next;

    cds_list_for_each_entry_safe (s, next, &sl->sessions, node)
        vc__server_session_unbind(s);
}

/* Asked by keepalive: true if a call of the client runs, also if it came by
 * another link. */
static bool
server_link_on_busy(struct vc__link *link)
{
    return server_link_of(link)->peer->n_calls > 0;
}

/* Frees a link that is gone, or could not be accepted; may free the peer.
 * Called by server_link_on_gone() and accept_try(). */
static void
server_link_free(struct vc__server_link *sl)
{
    struct vc__server_peer *peer = sl->peer;

    cds_list_del(&sl->node);
    vc__link_fini(&sl->link);
    vc__admission_gone(&sl->part->server->admission, sl->trusted);
    vc__server_ops_check(sl->part);
    vc__origin_put(sl->origin);
    free(sl);
    vc__server_peer_leave(peer);
}

/* The last callback: the link has released all of its resources, and is
 * freed. */
static void
server_link_on_gone(struct vc__link *link)
{
    server_link_free(server_link_of(link));
}

static const struct vc__link_ops server_link_ops = {
    .trusted = on_trusted,
    .up = server_link_on_up,
    .frame = server_link_on_frame,
    .busy = server_link_on_busy,
    .down = server_link_on_down,
    .gone = server_link_on_gone};

/* --- accepting --------------------------------------------------------- */

/* The holder of the part's engine, within vc__server_link_accept(). */

/* Fills in the accept, except the token, for server_link_new(). */
static void
accept_fill(const struct vc_server *server, const struct vc__hello *hello,
            struct vc__accept *a)
{
    a->version = hello->version_max < VC__VERSION_MAX ? hello->version_max
                                                      : VC__VERSION_MAX;
    a->log2_message = server->log2_message;
    a->max_sessions = server->max_sessions;
    a->max_slots = VC__SERVER_SLOTS;
    a->keepalive_ms = server->keepalive_ms;
    memcpy(a->instance, server->runtime->instance, sizeof a->instance);
    memcpy(a->text, server->name, sizeof a->text);
    if (atomic_load(&server->has_local))
        a->local = server->local;
}

/* Returns a new link's origin, with a reference for server_link_make(), which
 * calls this. NULL without memory. */
static struct vc__origin *
origin_new(const struct vc__incoming *in)
{
    const struct vc__transport *t = in->context->transport;
    struct vc__origin *origin = malloc(sizeof *origin);
    char addr[VC__ADDR_TEXT];

    if (origin == NULL)
        return NULL;
    origin->refs = 1;
    vc__addr_text((const struct sockaddr *)&in->peer, addr);
    if (t->local) /* the text begins with "shm:" already */
        snprintf(origin->text, sizeof origin->text, "%s", addr);
    else
        snprintf(origin->text, sizeof origin->text, "%s:%s%s", t->scheme,
                 t->named ? "" : "//", addr);
    return origin;
}

/* Allocates a link, all of it zero, except its origin. NULL without memory.
 * Called by server_link_new(). */
static struct vc__server_link *
server_link_make(const struct vc__incoming *in, size_t wire_size)
{
    struct vc__server_link *sl = calloc(1, sizeof *sl + wire_size);

    if (sl == NULL)
        return NULL;
    sl->origin = origin_new(in);
    if (sl->origin != NULL)
        return sl;
    free(sl);
    return NULL;
}

/* Makes a link of this peer, ready for vc__link_accept(). NULL without memory.
 * Called by accept_try(), which frees it by server_link_free() if it is not
 * accepted. */
static struct vc__server_link *
server_link_new(const struct vc__offer *o, struct vc__server_peer *peer,
                struct vc__context *context)
{
    struct vc__server_part *part = o->part;
    struct vc__server_link *sl =
        server_link_make(&o->in, context->transport->wire_size);

    if (sl == NULL)
        return NULL;
    sl->part = part;
    sl->peer = peer;
    CDS_INIT_LIST_HEAD(&sl->sessions);
    cds_list_add(&sl->node, &part->links);
    vc__link_init(&sl->link, context, sl + 1, &server_link_ops,
                  part->server->handshake_ms);
    vc__link_keepalive_set(&sl->link, part->server->keepalive_ms);
    sl->link.wire->opts = part->server->wire_opts;
    accept_fill(part->server, &o->hello, &sl->link.accept);
    sl->link.accept.pool_token = peer->token;
    sl->link.has_local = atomic_load(&part->server->has_local);
    vc__server_peer_join(peer);
    return sl;
}

/* Called by peer_of() for a link that offers other features than its client's
 * other links: returns a counter-offer, theirs; 0 if the link has not offered
 * all of these. */
static uint32_t
counter_of(const struct vc__server_peer *peer, const struct vc__hello *hello)
{
    uint32_t counter = peer->features | VC__FEATURES_SAID;

    return (counter & ~hello->features) == 0 ? counter : 0;
}

/* Asked by peer_of(): true if the client's schema of the service that it asks
 * for is to be refused. o->text then says so. */
static bool
is_schema_refused(struct vc__offer *o)
{
    struct vc__services *services = &o->part->server->services;
    uint32_t ours = 0;

    if (services->schemas.check != VC_SCHEMA_REFUSE ||
        vc__services_judge(services, o->hello.service, o->hello.fingerprint,
                           &ours) == VC__SCHEMA_TAKEN)
        return false;
    snprintf(o->text, sizeof o->text,
             "client %08x, server %08x: build both from one .proto",
             (unsigned)o->hello.fingerprint, (unsigned)ours);
    return true;
}

/* Returns the client's peer, new or known. NULL with the reason of the reject:
 * *fault, and *reason unless that stays. Called by accept_try(). */
static struct vc__server_peer *
peer_of(struct vc__offer *o, enum vc__reject_reason *reason, const char **fault)
{
    struct vc__server_part *part = o->part;
    struct vc__server_peer *peer = vc__server_peer_find(part, &o->hello);

    if (peer != NULL && vc__server_peer_agrees(peer, &o->hello))
        return peer;
    if (peer != NULL) {
        *reason = VC__REJECT_LIMIT;
        *fault = "all links of a client must offer the same features";
        o->counter = counter_of(peer, &o->hello);
        return NULL;
    }
    if (o->hello.flags & VC__HELLO_POOL) {
        *reason = VC__REJECT_POOL;
        *fault = "its last link was lost too long ago: its state was dropped";
        return NULL;
    }
    if (!vc__services_has(&part->server->services, o->hello.service)) {
        *reason = VC__REJECT_SERVICE;
        *fault = VC__SERVER_NO_SERVICE;
        return NULL;
    }
    if (is_schema_refused(o)) {
        *reason = VC__REJECT_SCHEMA;
        *fault = o->text;
        return NULL;
    }
    peer = vc__server_peer_new(part, &o->hello);
    if (peer == NULL)
        *fault = "out of memory";
    return peer;
}

/* Returns a text that describes vc__error_last() for the client. *reason is set
 * if a retry would not help soon. Called by accept_try(). */
static const char *
fault_of_host(enum vc__reject_reason *reason)
{
    enum vc__lack lack = vc__error_last()->lack;

    if (vc__lack_lasts(lack))
        *reason = VC__REJECT_UNABLE;
    return lack == VC__LACK_NOTHING ? vc_error() : vc__lack_text(lack);
}

/* Called by vc__server_link_accept(). Returns why the client cannot be
 * accepted, and has freed the link, if it had made one; NULL if it was
 * accepted. *starved: this is to be logged, if *reason is BUSY or UNABLE. It is
 * true if memory or descriptors are missing, or the engine cannot open the
 * transport; false if the part closes, or the link's accept failed for another
 * reason. With the other reasons it says nothing. */
static const char *
accept_try(struct vc__offer *o, enum vc__reject_reason *reason, bool *starved)
{
    struct vc__server_part *part = o->part;
    const char *fault = "out of memory";
    struct vc__server_peer *peer = NULL;
    struct vc__server_link *sl = NULL;
    struct vc__context *context;

    *starved = true;
    if (part->closing) {
        fault = "closing";
        *starved = false;
    } else if (vc__cm_open(&part->progress->cm, o->in.context->transport,
                           &context) != VC_OK)
        fault = fault_of_host(reason);
    else
        peer = peer_of(o, reason, &fault);
    if (peer != NULL) {
        sl = server_link_new(o, peer, context);
        if (sl == NULL)
            vc__server_peer_unless_used(peer);
    }
    if (sl == NULL) {
        vc__admission_gone(&part->server->admission, false);
        return fault;
    }
    if (vc__link_accept(&sl->link, &o->in, &o->hello) == VC_OK)
        return NULL;
    fault = fault_of_host(reason);
    *starved = vc_error_status() == VC_RESOURCE_EXHAUSTED;
    server_link_free(sl);
    return fault;
}

/* Called by vc__server_link_accept(): rejects the client, with a time after
 * which to try again if it is "busy". */
static void
offer_reject(const struct vc__offer *o, enum vc__reject_reason reason,
             const char *fault)
{
    struct vc__reject reject = {.reason = (uint8_t)reason,
                                .features = o->counter};

    if (reason == VC__REJECT_BUSY)
        reject.retry_ms = BUSY_RETRY_MS;
    snprintf(reject.text, sizeof reject.text, "%s", fault);
    vc__listener_reject_with(&o->part->progress->engine, &o->in, &reject);
}

void
vc__server_link_accept(struct vc__offer *o)
{
    enum vc__reject_reason reason = VC__REJECT_BUSY;
    bool starved;
    const char *fault = accept_try(o, &reason, &starved);

    if (fault != NULL) {
        if (starved &&
            (reason == VC__REJECT_BUSY || reason == VC__REJECT_UNABLE))
            vc__server_log(o->part->server, VC__LOG_STARVED,
                           "cannot accept a client: %s", fault);
        offer_reject(o, reason, fault);
    }
    free(o);
}
