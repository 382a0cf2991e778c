/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which features the packets of a link may use: the hello offers features, the
 * accept chooses among them (doc/wire.md, section 2.8). Pure; any thread.
 *
 * Called by: cm/link/link_accept.c (choose, of), rpc/server/server_peer.c
 * (choose, of), cm/link/link_connect.c (of, missing), cm/link/link_io.c
 * (has_first, cover, breach). */
#ifndef VC_CM_FEATURES_H
#define VC_CM_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/wire/packet.h"

#define VC__FEATURE_LONG      0x1u /* messages in several parts */
#define VC__FEATURE_STREAMS   0x2u
#define VC__FEATURE_METADATA  0x4u
#define VC__FEATURE_COALESCED 0x8u /* several frames in a packet */

/* The accept names the socket on which the server accepts clients of its
 * host. */
#define VC__FEATURE_LOCAL 0x10u

/* A request in parts may be answered before its last part, and a CANCEL ends
 * it early. */
#define VC__FEATURE_CUT 0x20u

/* The features of every peer built before features were negotiated. */
#define VC__FEATURES_FIRST                                                     \
    (VC__FEATURE_LONG | VC__FEATURE_STREAMS | VC__FEATURE_METADATA |           \
     VC__FEATURE_COALESCED)

/* Set if the other bits are meaningful. */
#define VC__FEATURES_SAID 0x80000000u

/* The features that this end offers and chooses among. */
#define VC__FEATURES_OURS                                                      \
    (VC__FEATURES_SAID | VC__FEATURES_FIRST | VC__FEATURE_CUT)

/* The features for an accept that answers a hello with `offered`. `more`:
 * further features that this end has on this link. Called on the holder, by a
 * server when a hello has come. */
static inline uint32_t
vc__features_choose(uint32_t offered, uint32_t more)
{
    return offered & VC__FEATURES_SAID ? offered & (VC__FEATURES_OURS | more)
                                       : 0;
}

/* The features of a link whose accept contained `chosen`. Called on the holder
 * by both ends. */
static inline uint32_t
vc__features_of(uint32_t chosen)
{
    return chosen & VC__FEATURES_SAID ? chosen & ~VC__FEATURES_SAID
                                      : VC__FEATURES_FIRST;
}

/* True if the link has all of VC__FEATURES_FIRST; then every frame type and
 * flag that they cover is allowed. Called by frame_take() for each frame, on
 * the holder, and by vc__features_cover(). */
static inline bool
vc__features_has_first(uint32_t features)
{
    return (features & VC__FEATURES_FIRST) == VC__FEATURES_FIRST;
}

/* True if the link may have frames of this type, whatever their flags, because
 * the first features cover them; false if vc__features_breach() must decide, as
 * for each type that a later feature adds. Called by frame_take_seldom(), on
 * the holder. */
static inline bool
vc__features_cover(uint32_t features, uint8_t type)
{
    return type <= VC__FRAME_WINDOW && vc__features_has_first(features);
}

/* The first feature, in words, that this end as a client needs and the link
 * does not have; NULL if it has all. Called by features_take() when the accept
 * has come, on the holder. */
const char *vc__features_missing(uint32_t features);

/* The rule that a frame breaks by using a feature that the link does not have;
 * NULL if none. Called by frame_take_seldom() unless vc__features_cover(), on
 * the holder. */
const char *vc__features_breach(uint32_t features, const struct vc__frame *f);

#endif
