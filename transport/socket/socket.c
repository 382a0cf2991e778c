/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/socket/socket.h. */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "transport/socket/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "transport/socket/record.h"

/* Bytes that the kernel holds before they are on their way, at most: an urgent
 * message waits for no more. */
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

void
vc__socket_fds_close(struct vc__socket_fds *fds)
{
    while (fds->n > 0)
        close(fds->fd[--fds->n]);
}

/* Of a message. */
union control {
    char bytes[CMSG_SPACE(VC__SOCKET_FDS * sizeof(int))];
    struct cmsghdr align;
};

/* Has the message carry the descriptors of fds. Called by vc__socket_say(). */
static void
control_put(struct msghdr *message, union control *control,
            const struct vc__socket_fds *fds)
{
    struct cmsghdr *c;

    memset(control, 0, sizeof *control);
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
    c = CMSG_FIRSTHDR(message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds->n * sizeof(int));
    memcpy(CMSG_DATA(c), fds->fd, fds->n * sizeof(int));
}

int
vc__socket_say(int fd, uint8_t kind, const void *data, size_t len,
               const struct vc__socket_fds *fds)
{
    uint8_t header[VC__RECORD_HEADER];
    struct iovec parts[] = {{header, sizeof header}, {(void *)data, len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    union control control;
    ssize_t n;

    vc__record_put(header, kind, (uint32_t)len);
    if (fds != NULL)
        control_put(&message, &control, fds);
    n = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno;
    return (size_t)n == sizeof header + len ? 0 : ENOBUFS;
}

/* Moves the descriptors that came with a message to fds. Closes those that it
 * has no room for; sets fds->cut then, and when the kernel has dropped some.
 * Called by vc__socket_read(). */
static void
control_get(struct msghdr *message, struct vc__socket_fds *fds)
{
    if (message->msg_flags & MSG_CTRUNC)
        fds->cut = true;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL;
         c = CMSG_NXTHDR(message, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (fds->n < VC__SOCKET_FDS) {
                fds->fd[fds->n++] = fd;
            } else {
                close(fd);
                fds->cut = true;
            }
        }
    }
}

ssize_t
vc__socket_read(int fd, void *out, size_t size, struct vc__socket_fds *fds)
{
    struct iovec part = {out, size};
    union control control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n >= 0)
        control_get(&message, fds);
    return n;
}
