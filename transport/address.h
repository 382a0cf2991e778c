/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of peers, for people and in room of their own. Any thread. */
#ifndef VC_TRANSPORT_ADDRESS_H
#define VC_TRANSPORT_ADDRESS_H

#include <sys/socket.h>

/* "10.9.0.1:7471", "[fe80::1%eth0]:7471" */
#define VC__ADDR_TEXT 80
const char *vc__addr_text(const struct sockaddr *addr,
                          char text[VC__ADDR_TEXT]);

/* Copies the bytes that an address of its family has. */
void vc__addr_copy(struct sockaddr_storage *out, const struct sockaddr *addr);

#endif
