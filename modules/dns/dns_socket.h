/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sockets for c-ares. Its own ones raise SIGPIPE, which ends the program, when
 * a DNS server closes a TCP connection at the wrong moment. On the holder;
 * sockets are also closed on the thread of dns_close(). */
#ifndef VC_DNS_SOCKET_H
#define VC_DNS_SOCKET_H

#include <ares.h>

/* Used by dns_asker.c for each of its channels. */
extern const struct ares_socket_functions vc__dns_sockets;

#endif
