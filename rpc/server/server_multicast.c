/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_multicast.h. All of it runs on the holder of engine 0,
 * except vc_server_on_multicast_lost(): any thread. Whatever comes from the
 * network is checked before it is used, and each datagram that begins no call
 * is counted. */
#include "rpc/server/server_multicast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/server/multicast_loss.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_session.h"
#include "transport/core/le.h"
#include "transport/wire/multicast.h"

/* Calls of one service that may be under way at a time; more datagrams are
 * dropped. */
#define SLOTS 64u

/* As include/verbcall/multicast.h says. */
#define PUBLISHERS_MAX 1024u
#define BUCKETS        256u

struct publisher_seen {
    struct cds_list_head node; /* in the member's bucket */
    struct cds_list_head used; /* in member->used: the most recent one last */
    uint8_t id[VC__MULTICAST_PUBLISHER];
    struct vc__multicast_loss loss;
};

/* What a server knows of one group that it has joined. */
struct vc__multicast_member {
    struct vc__server_link link; /* without a wire, for the calls */
    struct vc_server *server;
    char text[VC__ADDR_TEXT];
    struct vc__server_session **sessions; /* one for each service */
    unsigned n_sessions;
    struct cds_list_head buckets[BUCKETS];
    struct cds_list_head used;
    unsigned n_publishers;
};

enum vc_status
vc_server_on_multicast_lost(struct vc_server *server, vc_multicast_lost *lost,
                            void *arg)
{
    bool listens;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    pthread_mutex_lock(&server->lock);
    listens = server->listening != NULL;
    if (!listens) {
        server->multicast_lost = lost;
        server->multicast_arg = arg;
    }
    pthread_mutex_unlock(&server->lock);
    return listens ? vc__fail(VC_FAILED_PRECONDITION,
                              "vc_server_on_multicast_lost(): the server "
                              "listens already; set the callback before its "
                              "first vc_server_listen()")
                   : VC_OK;
}

/* Counts a datagram of the member. Called where one is handled. */
static void
member_count(const struct vc__multicast_member *m, enum vc__count which,
             int64_t n)
{
    vc__count(&m->link.part->progress->engine.ledger, which, n);
}

/* --- the member ----------------------------------------------------------- */

/* Returns the origin of the calls, as text: the target. NULL without memory.
 * Called by member_new(). */
static struct vc__origin *
member_origin(const struct vc__listening *l, const char *text)
{
    struct vc__origin *origin = malloc(sizeof *origin);

    if (origin == NULL)
        return NULL;
    origin->refs = 1;
    snprintf(origin->text, sizeof origin->text, "%s://%s", l->transport->scheme,
             text);
    return origin;
}

/* Returns the peer that stands for all publishers; NULL without memory. Called
 * by member_new(). */
static struct vc__server_peer *
member_peer(struct vc__server_part *part)
{
    const struct vc__hello hello = {.log2_message = part->server->log2_message};
    struct vc__server_peer *peer = vc__server_peer_new(part, &hello);

    if (peer != NULL)
        vc__server_peer_join(peer);
    return peer;
}

/* Makes the member of a listener, at its first datagram. NULL without memory.
 * Called by vc__multicast_take(). */
static struct vc__multicast_member *
member_new(struct vc__listening *l)
{
    struct vc__multicast_member *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->server = l->server;
    vc__addr_text((const struct sockaddr *)&l->addr, m->text);
    m->link.is_group = true;
    m->link.part = &l->server->parts[0];
    m->link.origin = member_origin(l, m->text);
    if (m->link.origin != NULL)
        m->link.peer = member_peer(m->link.part);
    CDS_INIT_LIST_HEAD(&m->used);
    for (unsigned i = 0; i < BUCKETS; i++)
        CDS_INIT_LIST_HEAD(&m->buckets[i]);
    if (m->link.peer != NULL)
        return m;
    free(m->link.origin);
    free(m);
    return NULL;
}

void
vc__multicast_member_free(struct vc__multicast_member *m)
{
    struct publisher_seen *p, *next;

    if (m == NULL)
        return;
    cds_list_for_each_entry_safe (p, next, &m->used, used)
        free(p);
    for (unsigned i = 0; i < m->n_sessions; i++)
        vc__server_session_group_end(m->sessions[i]);
    free(m->sessions);
    vc__origin_put(m->link.origin);
    vc__server_peer_leave(m->link.peer);
    free(m);
}

/* --- publishers ----------------------------------------------------------- */

/* Returns the list of the publishers whose instance begins so. Called by
 * publisher_find() and publisher_take(). */
static struct cds_list_head *
publisher_bucket(struct vc__multicast_member *m, const uint8_t *id)
{
    return &m->buckets[vc__get32(id) % BUCKETS];
}

/* Returns a place for a new publisher: that of the one that was silent for the
 * longest time, if there are too many. NULL without memory. Called by
 * publisher_find(). */
static struct publisher_seen *
publisher_take(struct vc__multicast_member *m)
{
    struct publisher_seen *p;

    if (m->n_publishers < PUBLISHERS_MAX) {
        p = calloc(1, sizeof *p);
        m->n_publishers += p != NULL;
        return p;
    }
    p = cds_list_entry(m->used.next, struct publisher_seen, used);
    cds_list_del(&p->node);
    cds_list_del(&p->used);
    return memset(p, 0, sizeof *p);
}

/* Returns what is known of this publisher; NULL without memory. Called by
 * publisher_note(). */
static struct publisher_seen *
publisher_find(struct vc__multicast_member *m, const uint8_t *id)
{
    struct cds_list_head *bucket = publisher_bucket(m, id);
    struct publisher_seen *p;

    cds_list_for_each_entry (p, bucket, node) {
        if (memcmp(p->id, id, sizeof p->id) != 0)
            continue;
        cds_list_del(&p->used);
        cds_list_add_tail(&p->used, &m->used);
        return p;
    }
    p = publisher_take(m);
    if (p == NULL)
        return NULL;
    memcpy(p->id, id, sizeof p->id);
    cds_list_add(&p->node, bucket);
    cds_list_add_tail(&p->used, &m->used);
    return p;
}

/* Reports to the program what was lost of a publisher. Called by
 * publisher_note(). */
static void
loss_report(const struct vc__multicast_member *m,
            const struct publisher_seen *p)
{
    struct vc_multicast_loss loss = {
        .group = m->text,
        .received = p->loss.received,
        .lost = p->loss.lost,
        .late = p->loss.late,
        .duplicates = p->loss.duplicates,
    };

    memcpy(loss.publisher, p->id, sizeof loss.publisher);
    if (m->server->multicast_lost != NULL)
        m->server->multicast_lost(&loss, m->server->multicast_arg);
}

/* Counts a datagram by its number. True if its call is to begin. Called by
 * vc__multicast_take(). */
static bool
publisher_note(struct vc__multicast_member *m, const struct vc__multicast *d)
{
    struct publisher_seen *p = publisher_find(m, d->publisher);
    enum vc__multicast_came came;
    uint64_t lost;

    if (p == NULL) {
        member_count(m, VC__COUNT_multicast_refused, 1);
        return false;
    }
    lost = p->loss.lost;
    came = vc__multicast_loss_note(&p->loss, d->sequence);
    if (came == VC__MULTICAST_AGAIN)
        member_count(m, VC__COUNT_multicast_duplicates, 1);
    else if (came == VC__MULTICAST_WILD)
        member_count(m, VC__COUNT_multicast_foreign, 1);
    else
        member_count(m, VC__COUNT_multicast_received, 1);
    if (came == VC__MULTICAST_LATE)
        member_count(m, VC__COUNT_multicast_late, 1);
    if (p->loss.lost != lost) {
        member_count(m, VC__COUNT_multicast_lost,
                     (int64_t)(p->loss.lost - lost));
        loss_report(m, p);
    }
    return came == VC__MULTICAST_NEXT || came == VC__MULTICAST_LATE;
}

/* --- services ------------------------------------------------------------- */

/* Writes the body of an OPEN frame that names the service with all its methods.
 * Returns its length; with out NULL that is all. Called by
 * member_session_make(). */
static uint32_t
open_body(const struct vc_service *service, uint8_t *out)
{
    uint16_t n = (uint16_t)strlen(service->name);

    if (out != NULL) {
        vc__put16(out, n);
        memcpy(out + 2, service->name, n);
        vc__put16(out + 2 + n, (uint16_t)service->n_methods);
        for (uint32_t i = 0; i < service->n_methods; i++)
            vc__put32(out + 4 + n + 4 * i, service->methods[i].hash);
    }
    return 4u + n + 4 * service->n_methods;
}

/* Makes the session of this service. NULL without memory. A datagram has no
 * fingerprint that could be compared, so the session gets the service's own.
 * Called by member_session_add(). */
static struct vc__server_session *
member_session_make(struct vc__multicast_member *m,
                    const struct vc_service *service)
{
    struct vc__frame open = {.type = VC__FRAME_OPEN,
                             .deadline = service->fingerprint};
    struct vc__server_session *s = NULL;
    uint8_t *body;

    open.body_len = open_body(service, NULL);
    body = malloc(open.body_len);
    if (body == NULL)
        return NULL;
    open_body(service, body);
    open.body = body;
    s = vc__server_session_group_open(&m->link, &open, SLOTS);
    free(body);
    if (s != NULL && s->opened->entry == NULL) { /* removed meanwhile */
        vc__server_session_group_end(s);
        s = NULL;
    }
    return s;
}

/* Makes the session of this service and keeps it. NULL without memory. Called
 * by member_session(). */
static struct vc__server_session *
member_session_add(struct vc__multicast_member *m,
                   const struct vc_service *service)
{
    struct vc__server_session **sessions = realloc(
        m->sessions, (m->n_sessions + 1) * sizeof(struct vc__server_session *));
    struct vc__server_session *s;

    if (sessions == NULL)
        return NULL;
    m->sessions = sessions;
    s = member_session_make(m, service);
    if (s != NULL)
        m->sessions[m->n_sessions++] = s;
    return s;
}

/* Returns the session of the service with this id, if it was named before and
 * is still served; ends that of one that is not. Called by member_session(). */
static struct vc__server_session *
member_session_known(struct vc__multicast_member *m, uint64_t id)
{
    for (unsigned i = 0; i < m->n_sessions; i++) {
        struct vc__server_session *s = m->sessions[i];
        const struct vc__service_entry *entry = s->opened->entry;

        if (entry->service->id != id)
            continue;
        if (!atomic_load(&entry->removed))
            return s;
        m->sessions[i] = m->sessions[--m->n_sessions];
        vc__server_session_group_end(s);
        return NULL;
    }
    return NULL;
}

/* Returns the session of the service with this id. NULL, with the counter for
 * that in *why, if there is no such service, or no memory. Called by
 * vc__multicast_take(). */
static struct vc__server_session *
member_session(struct vc__multicast_member *m, uint64_t id, enum vc__count *why)
{
    struct vc__server_session *s = member_session_known(m, id);
    struct vc__service_entry *entry;

    *why = VC__COUNT_multicast_refused;
    if (s != NULL)
        return s;
    entry = vc__services_get_id(&m->server->services, id);
    if (entry == NULL)
        *why = VC__COUNT_multicast_unknown;
    else
        s = member_session_add(m, entry->service);
    vc__service_put(entry);
    return s;
}

/* Begins the call of a datagram, or counts why not. Called by
 * vc__multicast_take(). */
static void
member_call(struct vc__multicast_member *m, const struct vc__multicast *d)
{
    enum vc__count why;
    struct vc__server_session *s = member_session(m, d->service, &why);
    const struct vc_service *service;
    uint32_t i = 0;

    if (s == NULL) {
        member_count(m, why, 1);
        return;
    }
    service = s->opened->entry->service;
    while (i < service->n_methods && service->methods[i].hash != d->method)
        i++;
    if (i == service->n_methods ||
        !(service->methods[i].flags & VC_METHOD_ONE_WAY))
        member_count(m, VC__COUNT_multicast_unknown, 1);
    else if (!vc__server_session_group_call(s, (uint16_t)i, d->body,
                                            d->body_len))
        member_count(m, VC__COUNT_multicast_refused, 1);
}

/* --- datagrams ------------------------------------------------------------ */

void
vc__multicast_take(struct vc__listener *listener, const uint8_t *data,
                   uint32_t len)
{
    struct vc__listening *l =
        caa_container_of(listener, struct vc__listening, listener);
    struct vc__ledger *ledger = &l->server->parts[0].progress->engine.ledger;
    struct vc__multicast d;

    if (!vc__multicast_get(&d, data, len) ||
        d.port != vc__addr_port(&l->addr)) {
        vc__count(ledger, VC__COUNT_multicast_foreign, 1);
        return;
    }
    if (l->member == NULL && !atomic_load(&l->server->draining))
        l->member = member_new(l);
    if (l->member == NULL || atomic_load(&l->server->draining)) {
        vc__count(ledger, VC__COUNT_multicast_refused, 1);
        return;
    }
    if (publisher_note(l->member, &d))
        member_call(l->member, &d);
}
