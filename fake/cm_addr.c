/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses and ports of the simulated rdma_cm: which id has which, and which
 * one listens there, by the rules of the kernel's cma.c. Static functions run
 * on the thread of their caller: one thread of the world runs at a time
 * (world.h). */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fake/cm.h"

#define EPHEMERAL_FIRST 40000

/* Called by most functions of this file. */
static const struct sockaddr_in *
in4(const struct sockaddr *addr)
{
    return (const struct sockaddr_in *)(const void *)addr;
}

/* Called by most functions of this file. */
static const struct sockaddr_in6 *
in6(const struct sockaddr *addr)
{
    return (const struct sockaddr_in6 *)(const void *)addr;
}

/* Called by most functions of this file. */
static const struct sockaddr *
src_of(const struct fake__id *id)
{
    return (const struct sockaddr *)&id->src;
}

/* Called in cm.c and this file. */
bool
fake__addr_is_any(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr);
    return in4(addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Called in cm.c. */
bool
fake__addr_is_group(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET6)
        return IN6_IS_ADDR_MULTICAST(&in6(addr)->sin6_addr);
    return IN_MULTICAST(ntohl(in4(addr)->sin_addr.s_addr));
}

/* Called in cm.c. */
bool
fake__addr_is_loopback(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&in6(addr)->sin6_addr);
    return ntohl(in4(addr)->sin_addr.s_addr) >> 24 == 127;
}

/* Called by conflict() and match(). */
bool
fake__addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&in6(a)->sin6_addr, &in6(b)->sin6_addr);
    return in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
}

/* Called by device_to() and rdma_resolve_addr() (cm.c). */
bool
fake__addr_on_link(const struct fake_host *host, const struct sockaddr *addr)
{
    const struct sockaddr *own = (const struct sockaddr *)&host->addr;

    if (own->sa_family != addr->sa_family)
        return false;
    if (own->sa_family == AF_INET6)
        return memcmp(&in6(own)->sin6_addr, &in6(addr)->sin6_addr, 8) == 0;
    return ((in4(own)->sin_addr.s_addr ^ in4(addr)->sin_addr.s_addr) &
            htonl(0xffffff00)) == 0;
}

/* Called by bind_to(), source_settle() and rdma_resolve_addr() (cm.c). */
void
fake__addr_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from,
           from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                       : sizeof(struct sockaddr_in));
}

/* Called in cm.c and this file. */
uint16_t
fake__addr_port(const struct sockaddr *addr)
{
    return ntohs(addr->sa_family == AF_INET6 ? in6(addr)->sin6_port
                                             : in4(addr)->sin_port);
}

/* Called by source_settle() (cm.c) and port_any(). */
void
fake__addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
    if (addr->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)addr)->sin_port = htons(port);
}

/* --- ports ------------------------------------------------------------- */

/* Called by port_is_free(), fake__port_check() and fake__listener_find(). */
static bool
owns(const struct fake__id *id, const struct fake_host *host,
     enum rdma_port_space ps, uint16_t port)
{
    return id->owns_port && !id->destroyed &&
           id->process->host == host->machine && id->ps == ps &&
           fake__addr_port(src_of(id)) == port;
}

/* Called by port_any(). */
static bool
port_is_free(const struct fake_host *host, enum rdma_port_space ps,
             uint16_t port)
{
    for (struct fake__id *i = fake__id_first(); i != NULL; i = i->next) {
        if (owns(i, host, ps, port))
            return false;
    }
    return true;
}

/* Called by port_any(). */
static uint16_t
port_next(struct fake_host *host)
{
    if (host->next_port < EPHEMERAL_FIRST || host->next_port == UINT16_MAX)
        host->next_port = EPHEMERAL_FIRST;
    return host->next_port++;
}

/* Called by fake__port_bind(). */
static int
port_any(struct fake__id *id)
{
    struct fake_host *host = id->process->host;

    for (unsigned i = EPHEMERAL_FIRST; i < UINT16_MAX; i++) {
        uint16_t port = port_next(host);

        if (port_is_free(host, id->ps, port)) {
            fake__addr_set_port(&id->src, port);
            return 0;
        }
    }
    return EADDRNOTAVAIL;
}

/* Called by fake__port_check(). */
static int
conflict(const struct fake__id *id, const struct fake__id *other,
         bool reuseaddr)
{
    const struct sockaddr *a = src_of(id), *b = src_of(other);

    if (reuseaddr && other->reuseaddr)
        return 0;
    if (id->afonly && other->afonly && a->sa_family != b->sa_family)
        return 0;
    if (fake__addr_is_any(a) || fake__addr_is_any(b))
        return EADDRNOTAVAIL; /* as in cma.c */
    return fake__addr_same(a, b) ? EADDRINUSE : 0;
}

/* Called by rdma_listen() (cm.c) and fake__port_bind(). */
int
fake__port_check(const struct fake__id *id, bool reuseaddr)
{
    uint16_t port = fake__addr_port(src_of(id));

    for (struct fake__id *i = fake__id_first(); i != NULL; i = i->next) {
        int err = 0;

        if (i != id && owns(i, id->process->host, id->ps, port))
            err = conflict(id, i, reuseaddr);
        if (err != 0)
            return err;
    }
    return 0;
}

/* Called by bind_to() (cm.c). */
int
fake__port_bind(struct fake__id *id)
{
    int err = fake__addr_port(src_of(id)) == 0
                  ? port_any(id)
                  : fake__port_check(id, id->reuseaddr);

    id->owns_port = err == 0;
    return err;
}

/* --- listeners --------------------------------------------------------- */

enum match {
    NO_MATCH,
    OTHER_FAMILY, /* :: accepts IPv4, too, or refuses it (AFONLY) */
    WILDCARD,
    EXACT,
};

/* Called by fake__listener_find(). */
static enum match
match(const struct fake__id *id, const struct sockaddr *addr)
{
    const struct sockaddr *own = src_of(id);

    if (!fake__addr_is_any(own))
        return fake__addr_same(own, addr) ? EXACT : NO_MATCH;
    if (own->sa_family == addr->sa_family)
        return WILDCARD;
    return own->sa_family == AF_INET6 ? OTHER_FAMILY : NO_MATCH;
}

/* Called by on_request() (cm_peer.c). */
struct fake__id *
fake__listener_find(const struct fake_host *host, enum rdma_port_space ps,
                    const struct sockaddr *addr)
{
    struct fake__id *found = NULL;
    enum match best = NO_MATCH;

    for (struct fake__id *i = fake__id_first(); i != NULL; i = i->next) {
        if (i->state == FAKE__LISTEN && !i->removed &&
            owns(i, host, ps, fake__addr_port(addr)) && match(i, addr) > best) {
            found = i;
            best = match(i, addr);
        }
    }
    return found;
}
