/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the packets of a link may contain: the hello offers features, the accept
 * chooses among them (doc/wire.md, section 2.8). Pure; any thread. */
#ifndef VC_CM_FEATURES_H
#define VC_CM_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/wire/packet.h"

#define VC__FEATURE_LONG      0x1u /* messages in several parts */
#define VC__FEATURE_STREAMS   0x2u
#define VC__FEATURE_METADATA  0x4u
#define VC__FEATURE_COALESCED 0x8u /* several frames in a packet */

/* The accept says where the server listens for its own host. */
#define VC__FEATURE_LOCAL 0x10u

/* What every end has that was built before features were said. */
#define VC__FEATURES_FIRST                                                     \
    (VC__FEATURE_LONG | VC__FEATURE_STREAMS | VC__FEATURE_METADATA |           \
     VC__FEATURE_COALESCED)

/* Set when the other bits mean something. */
#define VC__FEATURES_SAID 0x80000000u

/* What this end offers and chooses among. */
#define VC__FEATURES_OURS (VC__FEATURES_SAID | VC__FEATURES_FIRST)

/* What an accept says to a hello that offers `offered`; more: what this end can
 * here besides. */
static inline uint32_t
vc__features_choose(uint32_t offered, uint32_t more)
{
    return offered & VC__FEATURES_SAID ? offered & (VC__FEATURES_OURS | more)
                                       : 0;
}

/* The features of a link whose accept has chosen `chosen`. */
static inline uint32_t
vc__features_of(uint32_t chosen)
{
    return chosen & VC__FEATURES_SAID ? chosen & ~VC__FEATURES_SAID
                                      : VC__FEATURES_FIRST;
}

/* Whether a link has all that every frame before features was made of. */
static inline bool
vc__features_has_first(uint32_t features)
{
    return (features & VC__FEATURES_FIRST) == VC__FEATURES_FIRST;
}

/* The first feature that this end, as a client, needs of a link and does not
 * have, in words; NULL when it has all. */
const char *vc__features_missing(uint32_t features);

/* The rule that a frame breaks on a link with these features, as it uses
 * another one; NULL when it breaks none. */
const char *vc__features_breach(uint32_t features, const struct vc__frame *f);

#endif
