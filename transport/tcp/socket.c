/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/tcp/socket.h. */
#include "transport/tcp/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "transport/tcp/record.h"

/* Bytes that the kernel holds before they are on their way, at most: what is
 * urgent waits behind no more. */
#define UNSENT 65536

socklen_t
vc__socket_addr_len(const struct sockaddr_storage *addr)
{
    return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                       : sizeof(struct sockaddr_in);
}

void
vc__socket_addr_plain(struct sockaddr_storage *addr)
{
    const struct sockaddr_in6 v6 = *(const struct sockaddr_in6 *)addr;
    struct sockaddr_in *v4 = (struct sockaddr_in *)addr;

    if (addr->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return;
    memset(addr, 0, sizeof *addr);
    v4->sin_family = AF_INET;
    v4->sin_port = v6.sin6_port;
    memcpy(&v4->sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4->sin_addr);
}

int
vc__socket_new(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void
vc__socket_tune(int fd)
{
    const int on = 1, unsent = UNSENT;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

int
vc__socket_say(int fd, uint8_t kind, const void *data, size_t len)
{
    uint8_t record[VC__RECORD_HEADER + UINT8_MAX];
    ssize_t n;

    vc__record_put(record, kind, (uint32_t)len);
    if (len > 0)
        memcpy(record + VC__RECORD_HEADER, data, len);
    len += VC__RECORD_HEADER;
    n = send(fd, record, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno;
    return (size_t)n == len ? 0 : ENOBUFS;
}
