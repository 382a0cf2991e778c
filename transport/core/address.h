/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of peers: IPv4, IPv6, and of AF_UNIX, which stands for a name
 * within this process, or, if sun_path begins with '/' or '@', for a path or a
 * name of this host. A name within the process may also be known by its key only:
 * sun_path begins with 0, and the key follows. Any thread. */
#ifndef VC_TRANSPORT_ADDRESS_H
#define VC_TRANSPORT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* "10.9.0.1:7471", "[fe80::1%eth0]:7471", "inproc://NAME", "shm:NAME",
 * "shm:///PATH" */
#define VC__ADDR_TEXT 128
const char *vc__addr_text(const struct sockaddr *addr,
                          char text[VC__ADDR_TEXT]);

/* Copies the bytes that an address of its family has. */
void vc__addr_copy(struct sockaddr_storage *out, const struct sockaddr *addr);

/* Sets the port of an IPv4 or IPv6 address; others have none and stay as they
 * are. */
void vc__addr_port_set(struct sockaddr_storage *addr, uint16_t port);

/* 127.0.0.0/8, as an address of IPv6, too, or ::1? */
bool vc__addr_is_loopback(const struct sockaddr *addr);

/* Bytes of a name's key, which is a hash of it. */
#define VC__ADDR_KEY 8

/* Is it of this host, and not of this process? */
bool vc__addr_is_local(const struct sockaddr_storage *addr);
/* Of such a path or "@NAME", of less than VC__ADDR_LOCAL bytes; and of the key
 * of such a name: "@#KEY", in hexadecimal digits. */
#define VC__ADDR_LOCAL 98
void vc__addr_local(struct sockaddr_storage *out, const char *name);
void vc__addr_local_of_key(struct sockaddr_storage *out,
                           const uint8_t key[VC__ADDR_KEY]);

/* Of a socket of this host that nobody can guess: "@!" and its name in
 * hexadecimal digits, then '.' and the user who must have made it. */
#define VC__ADDR_DRAWN 16
void vc__addr_drawn(struct sockaddr_storage *out,
                    const uint8_t name[VC__ADDR_DRAWN], uint32_t uid);
/* Is it of these? Then *uid is its user. */
bool vc__addr_is_drawn(const struct sockaddr_storage *addr, uint32_t *uid);

/* Of a name, of less than VC__ADDR_NAME bytes; and of a key. */
#define VC__ADDR_NAME 64
void vc__addr_name(struct sockaddr_storage *out, const char *name);
void vc__addr_of_key(struct sockaddr_storage *out,
                     const uint8_t key[VC__ADDR_KEY]);

/* The key of an address of AF_UNIX, that of its name. A path has none. */
void vc__addr_key(const struct sockaddr_storage *addr,
                  uint8_t key[VC__ADDR_KEY]);

#endif
