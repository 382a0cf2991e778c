/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of peers: IPv4, IPv6, and of AF_UNIX, which stands for a name
 * within this process. Such a name may also be known by its key only: sun_path
 * begins with 0, and the key follows. Any thread. */
#ifndef VC_TRANSPORT_ADDRESS_H
#define VC_TRANSPORT_ADDRESS_H

#include <stdint.h>
#include <sys/socket.h>

/* "10.9.0.1:7471", "[fe80::1%eth0]:7471", "inproc://NAME" */
#define VC__ADDR_TEXT 80
const char *vc__addr_text(const struct sockaddr *addr,
                          char text[VC__ADDR_TEXT]);

/* Copies the bytes that an address of its family has. */
void vc__addr_copy(struct sockaddr_storage *out, const struct sockaddr *addr);

/* Of a name, of less than VC__ADDR_NAME bytes; and of a key. */
#define VC__ADDR_NAME 64
#define VC__ADDR_KEY  8
void vc__addr_name(struct sockaddr_storage *out, const char *name);
void vc__addr_of_key(struct sockaddr_storage *out,
                     const uint8_t key[VC__ADDR_KEY]);

/* The key of an address of AF_UNIX: a hash of its name. */
void vc__addr_key(const struct sockaddr_storage *addr,
                  uint8_t key[VC__ADDR_KEY]);

#endif
