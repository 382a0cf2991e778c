/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The header of a multicast datagram (doc/wire.md, section 7): who has
 * published it, its number, and the one-way method that it calls. Pure, any
 * thread.
 *
 * Called by: rpc/client/publisher.c (put), rpc/server/server_multicast.c (get).
 */
#ifndef VC_TRANSPORT_MULTICAST_H
#define VC_TRANSPORT_MULTICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VC__MULTICAST_HEADER    48
#define VC__MULTICAST_PUBLISHER 16
#define VC__MULTICAST_VERSION   1

struct vc__multicast {
    uint16_t port; /* of the target: a group address has no ports */
    uint8_t publisher[VC__MULTICAST_PUBLISHER]; /* not all zero */
    uint64_t sequence; /* of this publisher's datagrams, from 1 */
    uint64_t service;  /* FNV-1a, 64 bits, of its full name */
    uint32_t method;   /* FNV-1a, 32 bits, of its name */
    uint32_t body_len;
    const uint8_t *body; /* points into the datagram that was read */
};

/* Writes the header; the message follows it. Called for each call of a
 * publisher, under its lock. */
void vc__multicast_put(uint8_t out[VC__MULTICAST_HEADER],
                       const struct vc__multicast *m);

/* Reads a datagram of len bytes. False if it is not exactly one that
 * vc__multicast_put() begins. Called for each datagram that a server receives,
 * on the holder. */
bool vc__multicast_get(struct vc__multicast *m, const uint8_t *data,
                       size_t len);

#endif
