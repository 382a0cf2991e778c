/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sockets as wires and ears want them. Any thread. */
#ifndef VC_TRANSPORT_TCP_SOCKET_H
#define VC_TRANSPORT_TCP_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Bytes that an address of this family has. */
socklen_t vc__socket_addr_len(const struct sockaddr_storage *addr);

/* An IPv4 address in the form of an IPv6 one becomes itself. */
void vc__socket_addr_plain(struct sockaddr_storage *addr);

/* A socket that does not block, nor outlives an exec. -1 and errno. */
int vc__socket_new(int family);

/* What a connected socket is set to. It fails for none of ours. */
void vc__socket_tune(int fd);

/* Sends a record to who has been sent little yet: it goes whole. 0 or an
 * errno. */
int vc__socket_say(int fd, uint8_t kind, const void *data, size_t len);

#endif
