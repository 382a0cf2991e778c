/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a resolver says of endpoints, in one block of memory: the endpoints,
 * followed by the metadata that they point to. So free() of the first frees
 * all. On the thread that changes the servers of a channel, or its policy,
 * which may be the holder.
 *
 * Called by: resolver.c (check, copy, endpoints_new), endpoint_metadata.c
 * (copy, endpoints_new), changes.c (endpoints_copy). */
#ifndef VC_RPC_ENDPOINT_METADATA_H
#define VC_RPC_ENDPOINT_METADATA_H

#include "rpc/balance/endpoint.h"

/* Memory for metadata, which copies take piece by piece. */
struct vc__endpoint_room {
    char *at;
};

/* Checks the metadata of an endpoint, and adds to *room the bytes that a copy
 * takes. VC_INVALID_ARGUMENT if an entry is malformed, or there are more than
 * VC_ENDPOINT_METADATA_MAX or VC_ENDPOINT_METADATA_BYTES: then no entry beyond
 * the limits was read. */
enum vc_status vc__endpoint_metadata_check(const struct vc_endpoint *e,
                                           size_t *room);

/* Copies n entries, which were checked, into the room. */
void vc__endpoint_metadata_copy(struct vc__endpoint *out,
                                const struct vc_metadata *from, size_t n,
                                struct vc__endpoint_room *room);

/* Zeroed endpoints, with so many bytes for their metadata in *memory. NULL: no
 * memory. */
struct vc__endpoint *vc__endpoints_new(size_t n, size_t room,
                                       struct vc__endpoint_room *memory);

/* A copy of n endpoints and of their metadata, in the resolver's order: each at
 * its `place`. NULL: no memory. */
struct vc__endpoint *vc__endpoints_copy(const struct vc__endpoint *from,
                                        size_t n);

#endif
