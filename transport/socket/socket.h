/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sockets as wires and ears want them. The functions have no state of their
 * own. The holder of an engine calls them. Only vc__socket_new() and
 * vc__socket_addr_len() are called by listen() of a transport, too, on any
 * thread.
 *
 * Called by: transport/tcp/connect.c (addr_len, new, tune, say),
 * transport/tcp/listen.c (addr_len, new, say), ear.c (addr_plain, tune,
 * fds_close, read), transport/shm/connect.c (new, fds_close, say, read),
 * transport/shm/listen.c (new, say), transport/shm/wire.c (fds_close). */
#ifndef VC_TRANSPORT_SOCKET_SOCKET_H
#define VC_TRANSPORT_SOCKET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Bytes that an IPv4 or IPv6 address has, as connect(2) and bind(2) want them.
 * Called by dial() and listen() of TCP. */
socklen_t vc__socket_addr_len(const struct sockaddr_storage *addr);

/* An IPv4 address in the form of an IPv6 one becomes itself. Other addresses
 * stay as they are. Called for the peer of an accepted connection (ear.c). */
void vc__socket_addr_plain(struct sockaddr_storage *addr);

/* Returns a socket that does not block, nor outlives an exec; on failure -1,
 * and errno is set. Called by dial() and listen() of TCP and of shared
 * memory. */
int vc__socket_new(int family);

/* Sets TCP's options of a socket that was connected (TCP) or accepted (ear.c).
 * Those that a socket does not have, as one of this host, are left out. */
void vc__socket_tune(int fd);

/* Descriptors that go with what is sent, or came with it. */
#define VC__SOCKET_FDS 2
struct vc__socket_fds {
    int fd[VC__SOCKET_FDS];
    unsigned n;
    bool cut; /* more came than there is room for, or this process may have */
};

/* Closes them all; fds is empty then. Called for a stranger that is turned away
 * or whose ear closes (ear.c), and by shared memory when an accept has come or
 * the wire is freed. */
void vc__socket_fds_close(struct vc__socket_fds *fds);

/* Sends a record, with descriptors unless they are NULL, to a peer that has
 * been sent little yet: the record goes whole. Returns 0 or an errno; ENOBUFS:
 * a part only was sent. Called by hello(), accept() and reject() of TCP and of
 * shared memory. */
int vc__socket_say(int fd, uint8_t kind, const void *data, size_t len,
                   const struct vc__socket_fds *fds);

/* As recv(2) without waiting; descriptors that come are added to fds.
 * Called by ears for a hello, and by shared memory for the answer. Returns the
 * number of bytes, 0 at the end, or -1 and errno. */
ssize_t vc__socket_read(int fd, void *out, size_t size,
                        struct vc__socket_fds *fds);

#endif
