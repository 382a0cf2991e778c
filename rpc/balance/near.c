/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/near.h. */
#include "rpc/balance/near.h"

#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "cm/connect/addresses.h"
#include "transport/core/address.h"

/* For address_is_here(): true if both are the same host's, whatever the ports;
 * a may be NULL. */
static bool
same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

    if (a == NULL || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
}

void
vc__near_begin(struct vc__near *near, const char *label)
{
    near->label = label;
    if (getifaddrs(&near->addresses) != 0)
        near->addresses = NULL;
}

void
vc__near_end(struct vc__near *near)
{
    if (near->addresses != NULL)
        freeifaddrs(near->addresses);
}

/* For target_is_here(): true if an interface of this machine has the
 * address. */
static bool
address_is_here(const struct vc__near *near, const struct sockaddr *addr)
{
    const struct ifaddrs *i = near->addresses;

    while (i != NULL && !same_host(i->ifa_addr, addr))
        i = i->ifa_next;
    return i != NULL;
}

/* For target_is_here(): true if it is a name of this machine. */
static bool
name_is_here(const char *host)
{
    char name[HOST_NAME_MAX + 1];

    if (strcmp(host, "localhost") == 0)
        return true;
    if (gethostname(name, sizeof name) != 0)
        return false;
    name[sizeof name - 1] = '\0';
    return strcmp(host, name) == 0;
}

/* For server_is_here(): true if the address is one of this host. */
static bool
target_is_here(const struct vc__near *near, const char *text)
{
    struct vc__target target;
    const struct sockaddr *addr;
    struct vc__addrs addrs;

    if (strncmp(text, "shm:", 4) == 0 || strncmp(text, "inproc:", 7) == 0)
        return true;
    if (vc__target_parse(&target, text) != VC_OK)
        return false;
    if (!vc__target_numeric(&target, &addrs))
        return name_is_here(target.host);
    if (addrs.n == 0)
        return false;
    addr = (const struct sockaddr *)&addrs.addr[0];
    /* Of 127.0.0.0/8 an interface has one address only. */
    return vc__addr_is_loopback(addr) || address_is_here(near, addr);
}

/* For vc__near_tier(): true if the server is on this host: one of its addresses
 * is. */
static bool
server_is_here(const struct vc__near *near, const char *text)
{
    char one[VC__ADDRESS_TEXT];

    for (unsigned i = 0; vc__addresses_get(text, i, one); i++) {
        if (target_is_here(near, one))
            return true;
    }
    return false;
}

unsigned
vc__near_tier(const struct vc__near *near, const struct vc__endpoint *e)
{
    if (server_is_here(near, e->target))
        return 0;
    return near->label != NULL && strcmp(e->label, near->label) == 0 ? 1 : 2;
}
