/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a resolver says of a server: a copy of struct vc_endpoint of
 * verbcall/resolver.h. A plain struct, of its owner's thread. */
#ifndef VC_RPC_ENDPOINT_H
#define VC_RPC_ENDPOINT_H

#include <stdint.h>

#include <verbcall/resolver.h>

struct vc__endpoint {
    char target[VC_ENDPOINT_TARGET_MAX + 1];
    char label[VC_ENDPOINT_TEXT_MAX + 1];    /* "": none */
    char hash_key[VC_ENDPOINT_TEXT_MAX + 1]; /* "": its target */
    uint32_t weight;                         /* 1.. */
    uint32_t priority;
    uint32_t place; /* in the resolver's order, of a set that may change */
    const struct vc_metadata *metadata; /* see endpoint_metadata.h; or NULL */
    size_t n_metadata;
};

#endif
