/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How what two ends say is cut out of a stream of bytes (doc/wire.md, section
 * 2.9): each record is a header of 4 bytes and a body. Pure, any thread.
 *
 * Called by: socket.c (put), transport/tcp/write.c (put), transport/tcp/read.c
 * (get), transport/shm/connect.c (wants), ear.c (wants). */
#ifndef VC_TRANSPORT_SOCKET_RECORD_H
#define VC_TRANSPORT_SOCKET_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/core/le.h"
#include "transport/wire/packet.h"

#define VC__RECORD_HEADER 4u /* bytes on the wire */
#define VC__RECORD_MAX    (VC__RECORD_HEADER + VC__PACKET_MAX)

/* No text, no TLS and no HTTP/2 begins with one of these. */
enum vc__record_kind {
    VC__RECORD_HELLO = 0xc1,
    VC__RECORD_ACCEPT,
    VC__RECORD_REJECT,
    VC__RECORD_PACKET,
    VC__RECORD_NOTHING, /* asks the peer's kernel to acknowledge it */
};

struct vc__record {
    uint8_t kind; /* enum vc__record_kind */
    uint16_t len; /* of the body */
};

/* Writes the header of a record of this kind, whose body has len bytes. Called
 * on the thread that sends it: by vc__socket_say(), and by commit() and probe()
 * of TCP. */
static inline void
vc__record_put(uint8_t out[VC__RECORD_HEADER], uint8_t kind, uint32_t len)
{
    out[0] = kind;
    out[1] = 0;
    vc__put16(out + 2, (uint16_t)len);
}

/* For vc__record_get(): the most bytes of a body of this kind; -1: there is no
 * such kind. */
static inline int
vc__record_most(uint8_t kind)
{
    switch (kind) {
    case VC__RECORD_HELLO:
        return 56;
    case VC__RECORD_ACCEPT:
        return 196;
    case VC__RECORD_REJECT:
        return 148;
    case VC__RECORD_PACKET:
        return VC__PACKET_MAX;
    case VC__RECORD_NOTHING:
        return 0;
    default:
        return -1;
    }
}

/* Reads a header into *r, on the holder. True if it is valid; false: it is none
 * of ours, or of a longer body than there can be. Called by vc__record_wants(),
 * and for what TCP receives. */
static inline bool
vc__record_get(const uint8_t header[VC__RECORD_HEADER], struct vc__record *r)
{
    r->kind = header[0];
    r->len = vc__get16(header + 2);
    return header[1] == 0 && (int)r->len <= vc__record_most(r->kind);
}

/* Bytes that a record of one of the two kinds has, of which len have come; at
 * first only those of its header are known. 0: the header is invalid, or of
 * another kind. Called while a hello (ear.c) or the answer over shared memory
 * comes, on the holder. */
static inline uint32_t
vc__record_wants(const uint8_t *bytes, uint32_t len, uint8_t kind,
                 uint8_t or_kind)
{
    struct vc__record r;

    if (len < VC__RECORD_HEADER)
        return VC__RECORD_HEADER;
    if (!vc__record_get(bytes, &r) || (r.kind != kind && r.kind != or_kind))
        return 0;
    return VC__RECORD_HEADER + r.len;
}

#endif
