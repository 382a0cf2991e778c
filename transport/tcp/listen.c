/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ports to listen at, and rejected requests. Static functions run within
 * vc__tcp_listen(), on any thread, but tcp_offer(). See transport/tcp/wire.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "transport/socket/ear.h"
#include "transport/tcp/wire.h"

/* offer() of the ear: called on the holder when a hello is complete. The handle
 * of a request is its socket. Always true: TCP turns nobody away. */
static bool
tcp_offer(struct vc__ear *ear, struct vc__incoming *in, int fd,
          const struct vc__socket_fds *fds)
{
    (void)ear;
    (void)fds; /* TCP carries none */
    in->handle = (void *)(intptr_t)fd;
    return true;
}

/* Sends the reject, and closes the request's socket. */
void
vc__tcp_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    int fd = (int)(intptr_t)in->handle;

    /* Fails only when the peer has disconnected; then no answer is needed. */
    vc__socket_say(fd, VC__RECORD_REJECT, data, len, NULL);
    close(fd);
}

/* Called by listen() when it fails: sets the thread's error, from the errno of
 * the call that failed. Returns its status. */
static enum vc_status
tcp_fail_bind(const struct sockaddr *addr, int err)
{
    char text[VC__ADDR_TEXT];

    vc__addr_text(addr, text);
    switch (err) {
    case EADDRINUSE:
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: the port is in use; use another",
                        text);
    case EADDRNOTAVAIL:
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: that is not an address of this "
                        "machine; see `ip addr`",
                        text);
    case EACCES:
        return vc__fail(
            VC_PERMISSION_DENIED,
            "cannot listen at %s: this user may not use ports below 1024; use "
            "another port, or give the program CAP_NET_BIND_SERVICE",
            text);
    default:
        return vc__fail_errno(err, "cannot listen at %s", text);
    }
}

/* The port of a bound socket, in host order; 0: it is not known. Called by
 * listen(). */
static uint16_t
tcp_port_of(int fd)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;

    if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    /* sin6_port is at the same offset. */
    return ntohs(((const struct sockaddr_in *)&addr)->sin_port);
}

/* Binds the socket to the address; returns 0 or an errno. By default, a socket
 * bound to the IPv6 wildcard accepts IPv4 connections, too. Called by
 * listen(). */
static int
socket_bind(int fd, const struct sockaddr *addr, bool ipv6_only)
{
    const int on = 1, only = ipv6_only;
    struct sockaddr_storage copy;

    vc__addr_copy(&copy, addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (addr->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    return bind(fd, addr, vc__socket_addr_len(&copy)) == 0 ? 0 : errno;
}

/* Binds a new socket to the address and listens; the ear has it from then
 * on. */
enum vc_status
vc__tcp_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__socket_ear *e = vc__socket_ear_of(ear);
    int fd = vc__socket_new(addr->sa_family), err;

    if (fd < 0)
        return tcp_fail_bind(addr, errno);
    e->offer = tcp_offer;
    err = socket_bind(fd, addr, ear->opts.ipv6_only);
    if (err == 0) {
        /* Not changed after the open: then the holder reads it for the log,
         * and any thread by vc__tcp_port(). */
        e->port = tcp_port_of(fd);
        err = vc__socket_ear_open(e, fd);
    }
    if (err == 0)
        return VC_OK;
    close(fd);
    return tcp_fail_bind(addr, err);
}

/* Closes the socket, and those of clients without a hello. */
void
vc__tcp_unlisten(struct vc__ear *ear)
{
    vc__socket_ear_close(vc__socket_ear_of(ear));
}

/* The port that the socket was bound to. */
uint16_t
vc__tcp_port(const struct vc__ear *ear)
{
    return caa_container_of(ear, const struct vc__socket_ear, ear)->port;
}
