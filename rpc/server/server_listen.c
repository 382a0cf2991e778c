/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_listen.h. At vc:// a server listens by every transport
 * that this machine has: over TCP and RDMA at the same port, and at a socket of
 * its host whose name is drawn, and told by accepts to those who ask for it. */
#include "rpc/server/server_listen.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "cm/connect/target.h"
#include "rpc/runtime.h"
#include "transport/core/words.h"

static struct vc__cm *
listening_cm(struct vc_server *server)
{
    return &server->runtime->progress[0].cm;
}

static void
listening_add(struct vc_server *server, struct vc__listening *l)
{
    pthread_mutex_lock(&server->lock);
    l->next = server->listening;
    server->listening = l;
    if (!l->listener.ear->opts.is_drawn)
        server->port = vc__listener_port(&l->listener);
    pthread_mutex_unlock(&server->lock);
}

static enum vc_status
listen_by(struct vc_server *server, const struct vc__transport *transport,
          const struct sockaddr_storage *addr)
{
    struct vc__listening *l = calloc(1, sizeof *l);
    enum vc_status status;

    if (l == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    l->server = server;
    l->listener.request = vc__server_on_request;
    status =
        vc__listener_open(&l->listener, listening_cm(server), transport,
                          (const struct sockaddr *)addr, &server->ear_opts);
    if (status == VC_OK)
        listening_add(server, l);
    else
        free(l);
    return status;
}

/* --- vc:// --------------------------------------------------------------- */

/* Why it does not listen by this transport, for vc_server_describe(). */
static void
missed(struct vc_server *server, const struct vc__transport *transport)
{
    pthread_mutex_lock(&server->lock);
    server->missed[vc__choice_rank(&server->choice, transport)] =
        *vc__error_last();
    pthread_mutex_unlock(&server->lock);
}

/* Once a server. Before the others listen, so that each of their accepts tells
 * of it. */
static void
listen_local(struct vc_server *server, const struct vc__transport *shm)
{
    struct sockaddr_storage addr;

    if (atomic_exchange(&server->local_begun, true))
        return;
    server->local.uid = geteuid();
    if (getrandom(server->local.name, sizeof server->local.name, 0) !=
        (ssize_t)sizeof server->local.name) {
        vc__fail(VC_UNAVAILABLE, "no random numbers: getrandom() failed");
        missed(server, shm);
        return;
    }
    vc__addr_drawn(&addr, server->local.name, server->local.uid);
    if (listen_by(server, shm, &addr) == VC_OK)
        atomic_store(&server->has_local, true);
    else
        missed(server, shm);
}

static void
port_set(struct sockaddr_storage *addr, uint16_t port)
{
    if (addr->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)addr)->sin_port = htons(port);
}

/* TCP comes first: where its port is taken, nothing listens. Without RDMA it is
 * enough. */
static enum vc_status
listen_by_all(struct vc_server *server, struct sockaddr_storage *addr)
{
    const struct vc__transport *tcp = vc__transport_find("tcp", 3),
                               *rdma = vc__transport_find("rdma", 4),
                               *shm = vc__transport_find("shm", 3);
    bool by_tcp = vc__choice_has(&server->choice, tcp);
    enum vc_status status = VC_OK;

    if (vc__choice_has(&server->choice, shm))
        listen_local(server, shm);
    if (by_tcp) {
        status = listen_by(server, tcp, addr);
        port_set(addr, vc_server_port(server));
    }
    if (status != VC_OK || rdma == NULL ||
        !vc__choice_has(&server->choice, rdma))
        return status;
    status = listen_by(server, rdma, addr);
    if (status == VC_OK || !by_tcp)
        return status;
    missed(server, rdma);
    return VC_OK;
}

enum vc_status
vc_server_listen(struct vc_server *server, const char *text)
{
    struct vc__target target;
    struct vc__addrs addrs;
    enum vc_status status = vc__target_parse(&target, text);

    if (status != VC_OK)
        return status;
    if (atomic_load(&server->shut))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "cannot listen at \"%.100s\": the server has been "
                        "closed; make a new one",
                        text);
    if (!vc__target_numeric(&target, &addrs) || addrs.n == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "cannot listen at \"%s\": give a numeric address of "
                        "this machine, [::] or 0.0.0.0",
                        target.host);
    status = vc__runtime_serve(server->runtime);
    if (status != VC_OK)
        return status;
    return target.transport == NULL
               ? listen_by_all(server, &addrs.addr[0])
               : listen_by(server, target.transport, &addrs.addr[0]);
}

uint16_t
vc_server_port(const struct vc_server *server)
{
    struct vc_server *s = (struct vc_server *)server; /* for its lock */
    uint16_t port;

    pthread_mutex_lock(&s->lock);
    port = s->port;
    pthread_mutex_unlock(&s->lock);
    return port;
}

/* --- in words ------------------------------------------------------------ */

static void
add_listening(struct vc__words *w, const struct vc__listening *l)
{
    const struct vc__ear *ear = l->listener.ear;

    if (ear->opts.is_drawn)
        vc__words_add(w, "%s: listens for who is told of it\n",
                      ear->context->transport->scheme);
    else if (vc__listener_port(&l->listener) == 0)
        vc__words_add(w, "%s: listens at a name\n",
                      ear->context->transport->scheme);
    else
        vc__words_add(w, "%s: listens at port %u\n",
                      ear->context->transport->scheme,
                      vc__listener_port(&l->listener));
}

size_t
vc_server_describe(const struct vc_server *server, char *text, size_t size)
{
    struct vc_server *s = (struct vc_server *)server; /* for its lock */
    struct vc__words w;

    vc__words_begin(&w, text, size);
    pthread_mutex_lock(&s->lock);
    for (const struct vc__listening *l = s->listening; l != NULL; l = l->next)
        add_listening(&w, l);
    for (unsigned i = 0; i < s->choice.n; i++) {
        if (s->missed[i].status != VC_OK)
            vc__words_add(&w, "not %s: %s\n", s->choice.best[i]->scheme,
                          s->missed[i].text);
    }
    pthread_mutex_unlock(&s->lock);
    return w.len;
}

/* --- the end --------------------------------------------------------------- */

static struct vc__listening *
listening_take(struct vc_server *server)
{
    struct vc__listening *l;

    pthread_mutex_lock(&server->lock);
    l = server->listening;
    if (l != NULL)
        server->listening = l->next;
    pthread_mutex_unlock(&server->lock);
    return l;
}

void
vc__server_deafen(struct vc_server *server)
{
    struct vc__listening *l;

    while ((l = listening_take(server)) != NULL) {
        vc__listener_close(&l->listener);
        free(l);
    }
}
