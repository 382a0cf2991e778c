/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The header of a datagram, and the introduction that goes before a hello and
 * an accept: doc/wire.md, section 2.12. Pure, any thread.
 *
 * Called by: post.h (put), port_receive.c (get), connect.c (intro_put,
 * intro_get), answers.c (intro_get). */
#ifndef VC_TRANSPORT_UD_DATAGRAM_H
#define VC_TRANSPORT_UD_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define VC__DATAGRAM_HEADER 20u
/* The smallest MTU of a port that datagrams go by: then the longest packet,
 * VC__PACKET_MAX, goes in no more than so many. */
#define VC__DATAGRAM_MTU    1024u
#define VC__DATAGRAM_PIECES 9u

/* Flags of a datagram. */
#define VC__DATAGRAM_ASKS  0x01u /* to be acknowledged at once */
#define VC__DATAGRAM_CLOSE 0x02u /* its sender closes the connection */
#define VC__DATAGRAM_RESET 0x04u /* its sender has no connection of this key */
#define VC__DATAGRAM_FLAGS 0x07u

struct vc__datagram {
    uint32_t key;       /* drawn by its receiver; RESET: by its sender's peer */
    uint32_t sequence;  /* 0: it carries no data */
    uint32_t ack, sack; /* see transport/ud/reliable.h */
    uint8_t flags;
    uint8_t piece, pieces; /* piece of a packet: 0..pieces-1, of 1..9 */
    uint8_t window;        /* datagrams that may be under way to its sender */
};

/* Writes all bytes of `out`. Called when a datagram is sent. */
void vc__datagram_put(uint8_t out[VC__DATAGRAM_HEADER],
                      const struct vc__datagram *d);

/* Reads the header of a datagram of len bytes. False: it is not one; *d is then
 * unspecified. Called for each datagram that arrives. */
bool vc__datagram_get(struct vc__datagram *d, const uint8_t *in, uint32_t len);

/* What each end says of itself, before its hello or accept. */
#define VC__INTRO 16u
struct vc__intro {
    uint32_t key;   /* that its datagrams are to have */
    uint32_t qpn;   /* of its QP, 24 bits */
    uint16_t mtu;   /* of its port, bytes: VC__DATAGRAM_MTU.. */
    uint8_t window; /* datagrams that may be under way to it: 1.. */
};

/* Writes all bytes of `out`. Called with a hello and an accept. */
void vc__intro_put(uint8_t out[VC__INTRO], const struct vc__intro *i);

/* Reads what a hello or accept of len bytes begins with. False: no peer that
 * knows this protocol has sent it; *i is then unspecified. */
bool vc__intro_get(struct vc__intro *i, const uint8_t *in, uint32_t len);

#endif
