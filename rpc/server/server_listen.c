/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_listen.h. At vc:// a server listens by every transport
 * that this machine has: over TCP and RDMA at the same port, and at a local
 * socket. The socket has a random name, which accepts contain for clients that
 * ask for it.
 *
 * The functions for the program: any thread, as verbcall/server.h says. Static
 * functions run on the thread of vc_server_listen(), which opens the listeners,
 * unless their comments say otherwise. The holder of engine 0 takes requests,
 * and closes listeners. */
#include "rpc/server/server_listen.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/connect/target.h"
#include "rpc/runtime.h"
#include "rpc/server/relisten.h"
#include "rpc/server/server_log.h"
#include "rpc/server/server_multicast.h"
#include "transport/core/words.h"

/* Returns the CM of engine 0, which has the listeners. Called by
 * listening_open(). */
static struct vc__cm *
listening_cm(struct vc_server *server)
{
    return &server->runtime->progress[0].cm;
}

/* Called by listen_by() and listen_local(): logs an open listener and adds it
 * to the list. No thread closes it before it is in the list. */
static void
listening_add(struct vc__listening *l)
{
    vc__listening_log(l, "");
    /* The port of a group is that of the target, and the holder of engine 0 may
     * read it already. */
    if (!l->transport->groups)
        vc__addr_port_set(&l->addr, vc__listener_port(&l->listener));
    vc__listening_list(l);
}

/* Returns a listener that is not open yet; NULL without memory, with
 * vc__error_last(). Called by listening_open() and listen_later(). */
static struct vc__listening *
listening_new(struct vc_server *server, const struct vc__transport *transport,
              const struct sockaddr_storage *addr)
{
    struct vc__listening *l = calloc(1, sizeof *l);

    if (l == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    l->server = server;
    l->transport = transport;
    l->addr = *addr;
    l->listener.request = vc__server_on_request;
    l->listener.lost = vc__relisten_lost;
    l->listener.back = vc__relisten_back;
    l->listener.datagram = vc__multicast_take;
    return l;
}

/* Makes and opens a listener. VC_OK: listening_add() must follow with *out.
 * Else returns the status of vc__listener_open(), or VC_RESOURCE_EXHAUSTED
 * without memory, with vc__error_last(). Called by listen_by() and
 * local_open(). */
static enum vc_status
listening_open(struct vc_server *server, const struct vc__transport *transport,
               const struct sockaddr_storage *addr, struct vc__listening **out)
{
    struct vc__listening *l = listening_new(server, transport, addr);
    enum vc_status status;

    if (l == NULL)
        return VC_RESOURCE_EXHAUSTED;
    status =
        vc__listener_open(&l->listener, listening_cm(server), transport,
                          (const struct sockaddr *)addr, &server->ear_opts);
    if (status == VC_OK)
        *out = l;
    else
        free(l);
    return status;
}

/* Listens by one transport. *addr gets the port that the system has chosen; the
 * server's own may already be that of another thread's listener. VC_OK, or the
 * status of listening_open(). Called by server_listen_at(), and for vc:// by
 * listen_by_all(). */
static enum vc_status
listen_by(struct vc_server *server, const struct vc__transport *transport,
          struct sockaddr_storage *addr)
{
    struct vc__listening *l;
    enum vc_status status = listening_open(server, transport, addr, &l);

    if (status != VC_OK)
        return status;
    vc__addr_port_set(addr, vc__listener_port(&l->listener));
    listening_add(l);
    return VC_OK;
}

/* --- vc:// --------------------------------------------------------------- */

/* Stores the last error: why the server does not listen by this transport, for
 * vc_server_describe(). Called by listen_by_all(), listen_later() and
 * local_open(). */
static void
server_listen_missed(struct vc_server *server,
                     const struct vc__transport *transport)
{
    pthread_mutex_lock(&server->lock);
    server->missed[vc__choice_rank(&server->choice, transport)] =
        *vc__error_last();
    pthread_mutex_unlock(&server->lock);
}

/* Called by listen_by_all() if RDMA lacks memory or descriptors: tries again
 * later, as they may be there then. */
static void
listen_later(struct vc_server *server, const struct vc__transport *transport,
             const struct sockaddr_storage *addr)
{
    const struct vc__error why = *vc__error_last();
    struct vc__listening *l = listening_new(server, transport, addr);

    if (l == NULL)
        server_listen_missed(server, transport);
    else
        vc__relisten_later(l, &why);
}

/* Called by listen_local(), under local_lock: opens the local socket, whose
 * name accepts contain from now on. NULL: it failed, which is stored. */
static struct vc__listening *
local_open(struct vc_server *server, const struct vc__transport *shm)
{
    struct sockaddr_storage addr;
    struct vc__listening *l;

    server->local.uid = geteuid();
    if (getrandom(server->local.name, sizeof server->local.name, 0) !=
        (ssize_t)sizeof server->local.name) {
        vc__fail(VC_UNAVAILABLE, "no random numbers: getrandom() failed");
        server_listen_missed(server, shm);
        return NULL;
    }
    vc__addr_drawn(&addr, server->local.name, server->local.uid);
    if (listening_open(server, shm, &addr, &l) != VC_OK) {
        server_listen_missed(server, shm);
        return NULL;
    }
    atomic_store(&server->has_local, true);
    return l;
}

/* Called by listen_by_all() first: listens at the local socket, once per
 * server, so that all accepts by other transports of vc:// contain its name.
 * Another thread that listens at vc:// waits meanwhile. */
static void
listen_local(struct vc_server *server, const struct vc__transport *shm)
{
    struct vc__listening *l = NULL;

    pthread_mutex_lock(&server->local_lock);
    if (!server->local_begun)
        l = local_open(server, shm);
    server->local_begun = true;
    pthread_mutex_unlock(&server->local_lock);
    if (l != NULL)
        listening_add(l);
}

/* Listens at vc://, for server_listen_at(). TCP comes first: if it fails, as
 * its port is taken, the server does not listen by RDMA either, and the error
 * is returned. If RDMA fails, TCP is enough: VC_OK; without TCP the error of
 * RDMA is returned. If neither is chosen: VC_INVALID_ARGUMENT, as nobody could
 * reach the server. */
static enum vc_status
listen_by_all(struct vc_server *server, struct sockaddr_storage *addr)
{
    const struct vc__transport *tcp = vc__transport_find("tcp", 3),
                               *rdma = vc__transport_find("rdma", 4),
                               *shm = vc__transport_find("shm", 3);
    bool by_tcp = vc__choice_has(&server->choice, tcp);
    bool by_rdma = rdma != NULL && vc__choice_has(&server->choice, rdma);
    enum vc_status status = VC_OK;

    if (!by_tcp && !by_rdma)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc:// by shm alone: clients get the name of its "
                        "socket by rdma or tcp only; add one of them to "
                        "vc_server_opts.transports or VERBCALL_TRANSPORTS, or "
                        "listen at shm:NAME");
    if (vc__choice_has(&server->choice, shm))
        listen_local(server, shm);
    if (by_tcp)
        status = listen_by(server, tcp, addr);
    if (status != VC_OK || !by_rdma)
        return status;
    status = vc__target_reaches(rdma, addr, "listen at");
    if (status == VC_OK)
        status = listen_by(server, rdma, addr);
    if (status == VC_OK || !by_tcp)
        return status;
    if (status == VC_RESOURCE_EXHAUSTED)
        listen_later(server, rdma, addr);
    else
        server_listen_missed(server, rdma);
    return VC_OK;
}

/* --- the end -------------------------------------------------------------- */

/* Takes a listener out of the list; NULL if there is none. only: at this
 * address; NULL: at any. Called by server_listen_deafen(), on engine 0. */
static struct vc__listening *
listening_take(struct vc_server *server, const struct sockaddr_storage *only)
{
    struct vc__listening **at = &server->listening, *l;

    pthread_mutex_lock(&server->lock);
    while (*at != NULL && only != NULL &&
           memcmp(&(*at)->addr, only, sizeof *only) != 0)
        at = &(*at)->next;
    l = *at;
    if (l != NULL)
        *at = l->next;
    pthread_mutex_unlock(&server->lock);
    return l;
}

/* Closes and frees the listeners at this address, or all if it is NULL. Called
 * by vc__server_deafen() and drop_run(), on engine 0. */
static void
server_listen_deafen(struct vc_server *server,
                     const struct sockaddr_storage *only)
{
    struct vc__listening *l;

    while ((l = listening_take(server, only)) != NULL) {
        vc__relisten_stop(l);
        vc__listener_close(&l->listener);
        vc__multicast_member_free(l->member);
        free(l);
    }
}

void
vc__server_deafen(struct vc_server *server)
{
    server_listen_deafen(server, NULL);
}

/* Closes the listeners at one address, on engine 0. */
struct drop {
    struct vc__task task;
    struct vc__waiter waiter;
    struct vc_server *server;
    const struct sockaddr_storage *addr;
};

/* A task on engine 0, posted by listening_drop(), whose thread waits: closes
 * the listeners at the address. */
static void
drop_run(struct vc__task *task)
{
    struct drop *d = caa_container_of(task, struct drop, task);

    server_listen_deafen(d->server, d->addr);
    vc__waiter_done(&d->waiter);
}

/* Has engine 0 close the listeners at this address, and waits for it. Called by
 * first_drop(). */
static void
listening_drop(struct vc_server *server, const struct sockaddr_storage *addr)
{
    struct vc__engine *engine = &server->runtime->progress[0].engine;
    struct drop d = {.task.run = drop_run, .server = server, .addr = addr};

    vc__waiter_init(&d.waiter);
    vc__engine_post(engine, &d.task);
    vc__engine_wait(engine, &d.waiter, VC__FOREVER);
}

/* --- addresses ----------------------------------------------------------- */

/* Asked by addrs_find() for ::1: true if this machine has the address, as some
 * have no IPv6 addresses. */
static bool
has_address(const struct sockaddr_storage *addr)
{
    int fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage any_port = *addr;
    bool has;

    if (fd < 0)
        return false;
    vc__addr_port_set(&any_port, 0);
    has = bind(fd, (struct sockaddr *)&any_port, sizeof(struct sockaddr_in6)) ==
          0;
    close(fd);
    return has;
}

/* Called by vc_server_listen(): finds the addresses of the target. False if it
 * is neither numeric nor localhost. "localhost" stands for both loopback
 * addresses, as a client may use either. No resolver is asked: a server's
 * addresses must not depend on one. */
static bool
addrs_find(const struct vc__target *target, struct vc__addrs *addrs)
{
    struct vc__target local = *target;
    struct vc__addrs v6;

    if (strcasecmp(target->host, "localhost") != 0 || target->port[0] == '\0')
        return vc__target_numeric(target, addrs) && addrs->n > 0;
    strcpy(local.host, "127.0.0.1");
    if (!vc__target_numeric(&local, addrs) || addrs->n == 0)
        return false;
    strcpy(local.host, "::1");
    if (vc__target_numeric(&local, &v6) && v6.n > 0 && has_address(&v6.addr[0]))
        addrs->addr[addrs->n++] = v6.addr[0];
    return true;
}

/* Called by listen_at_each(): listens at one address, by the target's
 * transport, or by all for vc://. Returns the status of listen_by() or of
 * listen_by_all(). */
static enum vc_status
server_listen_at(struct vc_server *server, const struct vc__target *target,
                 struct sockaddr_storage *addr)
{
    return target->transport == NULL
               ? listen_by_all(server, addr)
               : listen_by(server, target->transport, addr);
}

/* Called by listen_at_each(): closes the listeners at the first of two
 * addresses, since the second one failed; vc__error_last() keeps the reason.
 * The server's port becomes the former one, unless another port was set
 * since. */
static void
first_drop(struct vc_server *server, const struct sockaddr_storage *addr,
           uint16_t port_before)
{
    struct vc__error why = *vc__error_last();

    listening_drop(server, addr);
    pthread_mutex_lock(&server->lock);
    if (server->port == vc__addr_port(addr))
        server->port = port_before;
    pthread_mutex_unlock(&server->lock);
    vc__error_raise(&why);
}

/* Called by vc_server_listen(): listens at the target's address; or at both
 * addresses of localhost, at the same port, or at neither. VC_OK, or the error
 * of server_listen_at(). */
static enum vc_status
listen_at_each(struct vc_server *server, const struct vc__target *target,
               struct vc__addrs *addrs)
{
    uint16_t before = vc_server_port(server);
    enum vc_status status = server_listen_at(server, target, &addrs->addr[0]);

    for (unsigned i = 1; i < addrs->n && status == VC_OK; i++) {
        vc__addr_port_set(&addrs->addr[i], vc__addr_port(&addrs->addr[0]));
        status = server_listen_at(server, target, &addrs->addr[i]);
        if (status != VC_OK)
            first_drop(server, &addrs->addr[0], before);
    }
    return status;
}

enum vc_status
vc_server_listen(struct vc_server *server, const char *text)
{
    struct vc__target target;
    struct vc__addrs addrs;
    enum vc_status status;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    status = vc__target_parse(&target, text);
    if (status != VC_OK)
        return status;
    if (atomic_load(&server->shut))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "cannot listen at \"%.100s\": the server has been "
                        "closed; make a new one",
                        text);
    if (!addrs_find(&target, &addrs))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "cannot listen at \"%s\": give a numeric address of "
                        "this machine, localhost, [::] or 0.0.0.0",
                        target.host);
    if (target.transport != NULL)
        status =
            vc__target_reaches(target.transport, &addrs.addr[0], "listen at");
    if (status == VC_OK)
        status = vc__runtime_serve(server->runtime);
    return status == VC_OK ? listen_at_each(server, &target, &addrs) : status;
}

/* Also called by listen_at_each(). */
uint16_t
vc_server_port(const struct vc_server *server)
{
    struct vc_server *s = (struct vc_server *)server; /* for its lock */
    uint16_t port;

    vc__must(server, VC__SERVER);
    pthread_mutex_lock(&s->lock);
    port = s->port;
    pthread_mutex_unlock(&s->lock);
    return port;
}

/* --- description --------------------------------------------------------- */

/* Called under the server's lock, by vc_server_describe(), on any thread: adds
 * a line about a listener. */
static void
add_listening(struct vc__words *w, const struct vc__listening *l)
{
    const struct sockaddr *addr = (const struct sockaddr *)&l->addr;
    const char *scheme = l->transport->scheme;
    char text[VC__ADDR_TEXT];

    if (l->lost)
        vc__words_add(w, "not %s: %s\n", scheme, l->why.text);
    else if (l->listener.ear->opts.is_drawn)
        vc__words_add(
            w,
            "%s: listens for clients of this host that the server notifies\n",
            scheme);
    else if (vc__listener_port(&l->listener) == 0)
        vc__words_add(w, "%s: listens at a name\n", scheme);
    else
        vc__words_add(w, "%s: listens at %s%s\n", scheme,
                      vc__addr_text(addr, text),
                      vc__addr_is_loopback(addr) ? ", for this host only" : "");
}

size_t
vc_server_describe(const struct vc_server *server, char *text, size_t size)
{
    struct vc_server *s = (struct vc_server *)server; /* for its lock */
    struct vc__words w;

    vc__must(server, VC__SERVER);
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
