/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/address.h. */
#include "transport/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static socklen_t
addr_size(const struct sockaddr *addr)
{
    return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                       : sizeof(struct sockaddr_in);
}

const char *
vc__addr_text(const struct sockaddr *addr, char text[VC__ADDR_TEXT])
{
    char host[64], port[8];

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
