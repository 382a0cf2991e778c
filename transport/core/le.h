/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Little-endian integers at any address: everything on the wire is made of
 * these. Compilers turn each function into one move on little-endian machines.
 * put writes v to out, get returns the number that stands at in. Pure; called
 * by the codecs, on whatever thread packs or reads, for keys of names, and when
 * a channel or pool is made, for the seed of its random numbers.
 *
 * Called by: cm/connect/hello.c (put64), rpc/codec/fast_pack.c (put64),
 * rpc/load_report.c (put64), address.c (put64), transport/wire/multicast.c
 * (put64), many files (put16, put32, get16, get32, get64). */
#ifndef VC_TRANSPORT_LE_H
#define VC_TRANSPORT_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void
vc__put16(uint8_t *out, uint16_t v)
{
    v = htole16(v);
    memcpy(out, &v, sizeof v);
}

static inline void
vc__put32(uint8_t *out, uint32_t v)
{
    v = htole32(v);
    memcpy(out, &v, sizeof v);
}

static inline void
vc__put64(uint8_t *out, uint64_t v)
{
    v = htole64(v);
    memcpy(out, &v, sizeof v);
}

static inline uint16_t
vc__get16(const uint8_t *in)
{
    uint16_t v;

    memcpy(&v, in, sizeof v);
    return le16toh(v);
}

static inline uint32_t
vc__get32(const uint8_t *in)
{
    uint32_t v;

    memcpy(&v, in, sizeof v);
    return le32toh(v);
}

static inline uint64_t
vc__get64(const uint8_t *in)
{
    uint64_t v;

    memcpy(&v, in, sizeof v);
    return le64toh(v);
}

#endif
