/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/address.h. */
#include "transport/core/address.h"

#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "transport/core/hash.h"
#include "transport/core/le.h"

/* For vc__addr_text() and vc__addr_copy(): bytes of an address of its
 * family. */
static socklen_t
addr_size(const struct sockaddr *addr)
{
    switch (addr->sa_family) {
    case AF_INET6:
        return sizeof(struct sockaddr_in6);
    case AF_UNIX:
        return sizeof(struct sockaddr_un);
    default:
        return sizeof(struct sockaddr_in);
    }
}

/* For vc__addr_text(): writes to text, which it returns, the text of an AF_UNIX
 * address. A random name is not shown. One without a name may have a key, which
 * came in a redirect. */
static const char *
name_text(const struct sockaddr *addr, char text[VC__ADDR_TEXT])
{
    const char *name =
        ((const struct sockaddr_un *)(const void *)addr)->sun_path;
    uint64_t key;

    if (strncmp(name, "@!", 2) == 0) {
        snprintf(text, VC__ADDR_TEXT, "shm of this host");
        return text;
    }
    if (name[0] == '/' || name[0] == '@') {
        snprintf(text, VC__ADDR_TEXT,
                 name[0] == '/' ? "shm://%.107s" : "shm:%.107s",
                 name[0] == '/' ? name : name + 1);
        return text;
    }
    if (name[0] != '\0') {
        snprintf(text, VC__ADDR_TEXT, "inproc://%.*s", VC__ADDR_NAME - 1, name);
        return text;
    }
    key = vc__get64((const uint8_t *)name + 1);
    if (key == 0)
        snprintf(text, VC__ADDR_TEXT, "this process");
    else
        snprintf(text, VC__ADDR_TEXT, "inproc://#%016" PRIx64, key);
    return text;
}

const char *
vc__addr_text(const struct sockaddr *addr, char text[VC__ADDR_TEXT])
{
    char host[64], port[8];

    if (addr->sa_family == AF_UNIX)
        return name_text(addr, text);
    if (getnameinfo(addr, addr_size(addr), host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, VC__ADDR_TEXT, "?");
    else
        snprintf(text, VC__ADDR_TEXT,
                 addr->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return text;
}

void
vc__addr_copy(struct sockaddr_storage *out, const struct sockaddr *addr)
{
    memcpy(out, addr, addr_size(addr));
}

void
vc__addr_port_set(struct sockaddr_storage *addr, uint16_t port)
{
    if (addr->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
    else if (addr->ss_family == AF_INET)
        ((struct sockaddr_in *)addr)->sin_port = htons(port);
}

uint16_t
vc__addr_port(const struct sockaddr_storage *addr)
{
    if (addr->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
    return addr->ss_family == AF_INET
               ? ntohs(((const struct sockaddr_in *)addr)->sin_port)
               : 0;
}

bool
vc__addr_is_loopback(const struct sockaddr *addr)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

    if (addr->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return addr->sa_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(v6) ||
            (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET));
}

bool
vc__addr_is_group(const struct sockaddr *addr)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

    if (addr->sa_family == AF_INET)
        return IN_MULTICAST(ntohl(v4->sin_addr.s_addr));
    return addr->sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(v6);
}

bool
vc__addr_is_local(const struct sockaddr_storage *addr)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)addr;

    return addr->ss_family == AF_UNIX &&
           (un->sun_path[0] == '/' || un->sun_path[0] == '@');
}

void
vc__addr_local(struct sockaddr_storage *out, const char *name)
{
    struct sockaddr_un *un = (struct sockaddr_un *)out;

    memset(out, 0, sizeof *out);
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, VC__ADDR_LOCAL, "%s", name);
}

void
vc__addr_local_of_key(struct sockaddr_storage *out,
                      const uint8_t key[VC__ADDR_KEY])
{
    char name[VC__ADDR_LOCAL];

    snprintf(name, sizeof name, "@#%016" PRIx64, vc__get64(key));
    vc__addr_local(out, name);
}

void
vc__addr_drawn(struct sockaddr_storage *out, const uint8_t name[VC__ADDR_DRAWN],
               uint32_t uid)
{
    char text[VC__ADDR_LOCAL];
    size_t n = 2;

    memcpy(text, "@!", 2);
    for (unsigned i = 0; i < VC__ADDR_DRAWN; i++, n += 2)
        snprintf(text + n, sizeof text - n, "%02x", name[i]);
    snprintf(text + n, sizeof text - n, ".%" PRIu32, uid);
    vc__addr_local(out, text);
}

bool
vc__addr_is_drawn(const struct sockaddr_storage *addr, uint32_t *uid)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)addr;

    if (addr->ss_family != AF_UNIX || strncmp(un->sun_path, "@!", 2) != 0)
        return false;
    *uid =
        (uint32_t)strtoul(un->sun_path + 2 + 2 * VC__ADDR_DRAWN + 1, NULL, 10);
    return true;
}

void
vc__addr_name(struct sockaddr_storage *out, const char *name)
{
    struct sockaddr_un *un = (struct sockaddr_un *)out;

    memset(out, 0, sizeof *out);
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, VC__ADDR_NAME, "%s", name);
}

void
vc__addr_of_key(struct sockaddr_storage *out, const uint8_t key[VC__ADDR_KEY])
{
    struct sockaddr_un *un = (struct sockaddr_un *)out;

    memset(out, 0, sizeof *out);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path + 1, key, VC__ADDR_KEY);
}

void
vc__addr_key(const struct sockaddr_storage *addr, uint8_t key[VC__ADDR_KEY])
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)addr;
    const char *name = un->sun_path + (un->sun_path[0] == '@');

    if (name[0] == '\0')
        memcpy(key, un->sun_path + 1, VC__ADDR_KEY);
    else if (name[0] == '#')
        vc__put64(key, strtoull(name + 1, NULL, 16));
    else
        vc__put64(key, hash_64(name, strlen(name)));
}
