/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_socket.h. c-ares calls all functions. Each returns what
 * its system call does, so -1 with errno if that fails: socket_receive() calls
 * recvfrom(2), socket_send() sendmsg(2), the others that of their name. c-ares
 * sets no options of these sockets itself. */
#include "modules/dns/dns_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Makes a socket that does not block. */
static ares_socket_t
socket_open(int family, int type, int protocol, void *arg)
{
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    int on = 1;

    (void)arg;
    /* Without the option a question waits for others: slower, no failure. */
    if (fd >= 0 && type == SOCK_STREAM)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Closes a socket, also inside dns_close(). */
static int
socket_close(ares_socket_t fd, void *arg)
{
    (void)arg;
    return close(fd);
}

/* Connects a socket, without waiting. */
static int
socket_connect(ares_socket_t fd, const struct sockaddr *addr,
               ares_socklen_t len, void *arg)
{
    (void)arg;
    return connect(fd, addr, len);
}

/* Receives what a DNS server has sent. */
static ares_ssize_t
socket_receive(ares_socket_t fd, void *to, size_t size, int flags,
               struct sockaddr *from, ares_socklen_t *len, void *arg)
{
    (void)arg;
    return recvfrom(fd, to, size, flags, from, len);
}

/* Sends a question, without SIGPIPE. */
static ares_ssize_t
socket_send(ares_socket_t fd, const struct iovec *parts, int n, void *arg)
{
    const struct msghdr m = {
        .msg_iov = (struct iovec *)parts,
        .msg_iovlen = (size_t)n,
    };

    (void)arg;
    return sendmsg(fd, &m, MSG_NOSIGNAL);
}

const struct ares_socket_functions vc__dns_sockets = {
    .asocket = socket_open,
    .aclose = socket_close,
    .aconnect = socket_connect,
    .arecvfrom = socket_receive,
    .asendv = socket_send,
};
