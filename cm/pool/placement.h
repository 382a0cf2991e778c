/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which link of a peer a session is placed on. */
#ifndef VC_CM_PLACEMENT_H
#define VC_CM_PLACEMENT_H

#include "cm/pool/peer.h"

/* The link with the fewest sessions that have something under way, the first of
 * equals; NULL when none is up that stays. Under the pool's lock. */
struct vc__pool_link *vc__placement_link(const struct vc__peer *peer);

#endif
