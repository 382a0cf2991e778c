/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FNV-1a, which identifies services and methods on the wire. For the generator,
 * and for the library, which matches names with hashes. Pure, any thread. The
 * numbers are those of https://datatracker.ietf.org/doc/draft-eastlake-fnv/,
 * section 5.
 *
 * Called by: rpc/protobuf_c/protobuf_c_schema.c (hash_32_more), idl/model.c
 * (hash_32, hash_64), idl/schema.c (hash_32), rpc/balance/endpoint_file.c
 * (hash_32), rpc/protobuf_c/protobuf_c_table.c (hash_32, hash_64),
 * rpc/balance/watched_file.c (hash_64), rpc/server/service.c (hash_64),
 * address.c (hash_64). */
#ifndef VC_TRANSPORT_HASH_H
#define VC_TRANSPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_32_OF_NOTHING UINT32_C(0x811c9dc5)

/* Continues from the hash of what came before; returns the hash of both. Called
 * by hash_32(), and when a protobuf-c service is added. */
static inline uint32_t
hash_32_more(uint32_t hash, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT32_C(0x01000193);
    return hash;
}

/* The hash of a method's name, or of the text of a service's fingerprint.
 * Called when code is generated (idl/) or a protobuf-c service is added;
 * also for a target in a file of servers (rpc/balance/endpoint_file.c). */
static inline uint32_t
hash_32(const char *data, size_t length)
{
    return hash_32_more(HASH_32_OF_NOTHING, data, length);
}

/* The hash of a service's full name, which is its id, or of a name in an
 * address, which is its key. Called when code is generated, when a protobuf-c
 * service is added, when a server looks up or removes a service by its name,
 * and by vc__addr_key(); also for the text of a watched file
 * (rpc/balance/watched_file.c). */
static inline uint64_t
hash_64(const char *data, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
