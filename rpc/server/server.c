/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Admission of clients, and the creation of a server. Connection requests come
 * to engine 0 and are distributed to all engines. The section "admission" runs
 * on the holder of engine 0, except offer_accept(). The functions for the
 * program, and the other sections: any thread, as verbcall/server.h says. */
#include "rpc/server/server.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/connect/target.h"
#include "rpc/codec/codec.h"
#include "rpc/interceptor.h"
#include "rpc/rdma_opts.h"
#include "rpc/server/server_call.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_listen.h"
#include "rpc/server/server_log.h"
#include "rpc/server/server_op.h"
#include "rpc/server/server_opts.h"

#define BUSY_RETRY_MS 1000u

/* --- admission --------------------------------------------------------- */

/* Writes the source address of a request: IPv4 mapped into IPv6, zeros for
 * other transports. Called by server_turn_away() for the limits of each
 * address. */
static void
source_of(const struct sockaddr_storage *addr, uint8_t source[16])
{
    const struct sockaddr_in6 *v6 = (const void *)addr;
    const struct sockaddr_in *v4 = (const void *)addr;

    memset(source, 0, 16);
    if (addr->ss_family == AF_INET6) {
        memcpy(source, &v6->sin6_addr, 16);
    } else if (addr->ss_family == AF_INET) {
        source[10] = source[11] = 0xff;
        memcpy(source + 12, &v4->sin_addr, 4);
    }
}

/* Fills in *reject; returns true, as server_turn_away() and reject_draining()
 * do for a client that is rejected. Called by these, and by
 * vc__server_on_request(). */
static bool
reject_as(struct vc__reject *reject, enum vc__reject_reason reason,
          const char *text)
{
    reject->reason = (uint8_t)reason;
    snprintf(reject->text, sizeof reject->text, "%s", text);
    return true;
}

/* Rejects a client of a server that drains or is closed, with the alternative
 * if the client can use it. Called by server_turn_away(). Returns true. */
static bool
reject_draining(struct vc_server *server, const struct vc__incoming *in,
                struct vc__reject *reject)
{
    struct vc__redirect_to to;
    bool suits;

    pthread_mutex_lock(&server->lock);
    to = server->alternative;
    suits = server->has_alternative && vc__redirect_suits(&to, in);
    pthread_mutex_unlock(&server->lock);
    if (!suits)
        return reject_as(reject, VC__REJECT_DRAINING, "");
    reject->n_addrs = 1;
    reject->addrs[0] = to.addr;
    return reject_as(reject, VC__REJECT_MOVED, "");
}

/* Asked by server_turn_away(): true if the client offers to receive more than
 * the server's options allow. *reject then has a counter-offer. */
static bool
offers_too_much(const struct vc_server *server, const struct vc__hello *hello,
                struct vc__reject *reject)
{
    if (server->client_credits != 0 && hello->credits > server->client_credits)
        reject->credits = server->client_credits;
    if (server->client_log2_message != 0 &&
        hello->log2_message > server->client_log2_message)
        reject->log2_message = server->client_log2_message;
    return reject->credits != 0 || reject->log2_message != 0;
}

/* Called by vc__server_on_request() first. True if the client is rejected;
 * *reject then says why. Otherwise the client counts as a link that is half
 * open. */
static bool
server_turn_away(struct vc_server *server, const struct vc__incoming *in,
                 const struct vc__hello *hello, struct vc__reject *reject)
{
    uint8_t source[16];
    const char *text;

    memset(reject, 0, sizeof *reject);
    if (atomic_load(&server->draining))
        return reject_draining(server, in, reject);
    if (!(hello->flags & VC__HELLO_POOL) &&
        vc__redirect_find(&server->redirect, hello->service, in, reject))
        return true;
    if (hello->security != 0)
        return reject_as(reject, VC__REJECT_SECURITY,
                         "this server has no security mode");
    if (hello->flags & ~(VC__HELLO_POOL | VC__HELLO_RESUME))
        return reject_as(reject, VC__REJECT_LIMIT,
                         "datagrams are not supported");
    if (offers_too_much(server, hello, reject))
        return reject_as(reject, VC__REJECT_LIMIT,
                         "take client_max_message, client_packets of the "
                         "server");
    /* Sessions that are resumed go on after their service was removed. Only the
     * peer's engine knows whether there are any: vc__server_link_accept(). */
    if (!(hello->flags & (VC__HELLO_POOL | VC__HELLO_RESUME)) &&
        !vc__services_has(&server->services, hello->service))
        return reject_as(reject, VC__REJECT_SERVICE, VC__SERVER_NO_SERVICE);
    source_of(&in->peer, source);
    return !vc__admission_take(&server->admission, vc__now(), source,
                               hello->flags & VC__HELLO_RESUME,
                               &reject->retry_ms, &text) &&
           reject_as(reject, VC__REJECT_BUSY, text);
}

/* A task of vc__server_on_request(), on the holder of the engine of the offer's
 * part; called at once if that is engine 0. Accepts or rejects the client. */
static void
offer_accept(struct vc__task *task)
{
    vc__server_link_accept(caa_container_of(task, struct vc__offer, task));
}

/* Called by vc__server_on_request(): returns the part for the link. The link of
 * a known client goes to the engine that has the client's other links, that of
 * a new client to the next engine in turn. */
static struct vc__server_part *
part_for(struct vc_server *server, const struct vc__hello *hello)
{
    unsigned n = server->runtime->n;

    return &server->parts[hello->pool_token != 0
                              ? vc__server_peer_part(hello->pool_token, n)
                              : server->turn++ % n];
}

/* See rpc/server/server_listen.h. A client that is not turned away here may
 * still be rejected by vc__server_link_accept(). */
void
vc__server_on_request(struct vc__listener *l, const struct vc__incoming *in,
                      const struct vc__hello *hello)
{
    struct vc_server *server =
        caa_container_of(l, struct vc__listening, listener)->server;
    struct vc__reject reject;
    bool refused = server_turn_away(server, in, hello, &reject);
    struct vc__offer *o = refused ? NULL : calloc(1, sizeof *o);

    if (o == NULL) {
        if (!refused) {
            vc__admission_gone(&server->admission, false);
            vc__server_log(server, VC__LOG_STARVED,
                           "cannot accept a client: out of memory");
            reject_as(&reject, VC__REJECT_BUSY, "out of memory");
            reject.retry_ms = BUSY_RETRY_MS;
        }
        vc__listener_reject_with(in->context->engine, in, &reject);
        return;
    }
    o->task.run = offer_accept;
    o->part = part_for(server, hello);
    o->in = *in;
    o->hello = *hello;
    if (in->context->engine == &o->part->progress->engine)
        offer_accept(&o->task);
    else
        vc__engine_post(&o->part->progress->engine, &o->task);
}

/* --- services ---------------------------------------------------------- */

/* True if a method of the service has a limit of calls (max_calls). Called by
 * vc_server_add(). */
static bool
limits_calls(const struct vc_service *service)
{
    for (uint32_t i = 0; i < service->n_methods; i++) {
        if (service->methods[i].max_calls != 0)
            return true;
    }
    return false;
}

enum vc_status
vc_server_add(struct vc_server *server, const struct vc_service *service,
              const void *methods, size_t methods_size, void *arg)
{
    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    /* Set before the service is added: its first call must be counted. */
    if (limits_calls(service))
        atomic_store(&server->limited, true);
    return vc__services_add(&server->services, service, methods, methods_size,
                            arg, false);
}

enum vc_status
vc_server_remove(struct vc_server *server, const struct vc_service *service)
{
    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    return vc__services_remove(&server->services, service->name);
}

enum vc_status
vc_server_schema_accept(struct vc_server *server,
                        const struct vc_service *service,
                        const uint32_t *fingerprints, size_t n)
{
    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    if (vc__schemas_accept(&server->services.schemas, service->id, fingerprints,
                           n))
        return VC_OK;
    return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* --- creation ---------------------------------------------------------- */

/* Called by server_fill(): makes the part of each engine. False without
 * memory. */
static bool
parts_make(struct vc_server *server)
{
    unsigned n = server->runtime->n;

    server->parts = calloc(n, sizeof *server->parts);
    for (unsigned i = 0; server->parts != NULL && i < n; i++) {
        struct vc__server_part *part = &server->parts[i];

        part->server = server;
        part->index = i;
        part->progress = &server->runtime->progress[i];
        vc__trimmer_init(&part->trimmer, &server->store,
                         &part->progress->engine.timers);
        CDS_INIT_LIST_HEAD(&part->arrivals);
        CDS_INIT_LIST_HEAD(&part->ops);
        CDS_INIT_LIST_HEAD(&part->orphans);
        CDS_INIT_LIST_HEAD(&part->links);
        CDS_INIT_LIST_HEAD(&part->turns);
        CDS_INIT_LIST_HEAD(&part->stock);
        CDS_INIT_LIST_HEAD(&part->lonely);
        for (unsigned b = 0; b < VC__SERVER_BUCKETS; b++)
            CDS_INIT_LIST_HEAD(&part->peers[b]);
    }
    return server->parts != NULL;
}

void
vc__server_destroy(struct vc_server *server)
{
    for (unsigned i = 0; server->parts != NULL && i < server->runtime->n; i++)
        vc__call_free_stock(&server->parts[i]);
    vc__server_op_free(server->last_op);
    vc__store_fini(&server->store);
    vc__services_fini(&server->services);
    vc__interceptors_put(server->interceptors);
    vc__server_load_free(server->load);
    free(server->parts);
    pthread_mutex_destroy(&server->local_lock);
    pthread_mutex_destroy(&server->lock);
    free((char *)server->ear_opts.group);
    atomic_fetch_sub(&server->runtime->users, 1);
    vc__handle_fini(&server->handle);
    free(server);
}

/* Called by opts_keep(): sets the limits of connections. */
static void
admission_init(struct vc_server *server, const struct vc_server_opts *opts)
{
    const struct vc__admission_limits limits = {
        .links = opts->max_links,
        .half_open = opts->max_half_open,
        .per_second = opts->connects_per_second,
        .per_second_source = opts->connects_per_second_source,
    };
    uint64_t seed;

    memcpy(&seed, server->runtime->instance, sizeof seed);
    vc__admission_init(&server->admission, &limits, seed);
}

/* Called by vc_server_new(), before any other thread knows the server: stores
 * the options in it, except those that vc_server_new() stores itself, and
 * shm_group, which server_fill() copies. */
static void
opts_keep(struct vc_server *s, const struct vc_server_opts *opts)
{
    s->log2_message = vc__log2_message(opts->max_message);
    s->request_memory = vc__codec_memory((size_t)1 << s->log2_message);
    vc__store_init(&s->store, opts->max_memory, true);
    admission_init(s, opts);
    s->handshake_ms = opts->handshake_timeout_ms;
    s->max_sessions = opts->max_sessions;
    s->client_credits = (uint16_t)opts->client_packets;
    if (opts->client_max_message != 0)
        s->client_log2_message = vc__log2_message(opts->client_max_message);
    s->keepalive_ms = opts->keepalive_ms;
    s->stream_stall_us = opts->stream_stall_ms == VC_STREAM_STALL_OFF
                             ? 0
                             : opts->stream_stall_ms * (uint64_t)1000;
    s->on_overload = opts->on_overload;
    s->overload_arg = opts->overload_arg;
    s->max_calls = opts->max_calls;
    s->max_calls_session = opts->max_calls_session;
    atomic_init(&s->limited, s->max_calls != 0 || s->max_calls_session != 0 ||
                                 opts->load_reports != 0);
    memcpy(s->name, opts->name, strlen(opts->name) + 1);
    s->services.adaptive_limit = opts->adaptive_limit;
    s->services.schemas.check = opts->schema_check;
    s->ear_opts.mode = opts->shm_mode;
    s->ear_opts.ipv6_only = opts->ipv6_only != 0;
    s->ear_opts.reuse_address = opts->reuse_address != 0;
}

/* Called by vc_server_new(): allocates what belongs to the server. False
 * without memory; vc__server_destroy() frees what there is. */
static bool
server_fill(struct vc_server *s, const struct vc_server_opts *opts)
{
    if (opts->shm_group != NULL &&
        (s->ear_opts.group = strdup(opts->shm_group)) == NULL)
        return false;
    if (opts->load_reports != 0 && (s->load = vc__server_load_new()) == NULL)
        return false;
    return vc__services_init(&s->services) && parts_make(s) &&
           (s->last_op = vc__server_op_new(s, NULL)) != NULL;
}

enum vc_status
vc_server_new(struct vc_runtime *runtime,
              const struct vc_server_opts *user_opts, struct vc_server **server)
{
    struct vc_server_opts opts;
    struct vc__redirect redirect;
    struct vc__choice choice;
    struct vc__wire_opts wire;
    struct sockaddr_storage source = {.ss_family = AF_UNSPEC};
    struct vc_server *s;
    enum vc_status status;

    if (!vc__good(runtime, VC__RUNTIME))
        return vc__bad(runtime, VC__RUNTIME);
    status = vc__server_opts_take(&opts, user_opts);
    if (status == VC_OK)
        status = vc__rdma_opts_take(&wire, opts.rdma);
    if (status == VC_OK)
        status = vc__redirect_init(&redirect, &opts);
    if (status == VC_OK && opts.multicast_address != NULL)
        status = vc__address_parse(&source, opts.multicast_address);
    if (status == VC_OK)
        status = vc__choice_make(&choice, "vc_server_opts.transports",
                                 opts.transports, vc__choice_allowed());
    if (status != VC_OK)
        return status;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__handle_init(&s->handle, VC__SERVER);
    s->runtime = runtime;
    atomic_fetch_add(&runtime->users, 1);
    opts_keep(s, &opts);
    s->redirect = redirect;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->local_lock, NULL);
    atomic_init(&s->users, 1);
    vc__waiter_init(&s->unused);
    CDS_INIT_LIST_HEAD(&s->ops);
    atomic_init(&s->n_ops, 1);
    vc__waiter_init(&s->no_ops);
    s->choice = choice;
    s->wire_opts = wire;
    s->ear_opts.source = source;
    if (!server_fill(s, &opts)) {
        vc__server_destroy(s);
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    *server = s;
    return VC_OK;
}
