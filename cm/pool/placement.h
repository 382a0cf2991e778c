/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Chooses the link of a peer for a session. Under the pool's lock; any
 * thread.
 *
 * Called by: many files (link). */
#ifndef VC_CM_PLACEMENT_H
#define VC_CM_PLACEMENT_H

#include "cm/pool/peer.h"

/* Returns the link with the fewest calls in progress, the first on a tie; NULL
 * if no link is up that is to stay. Called when a session is bound, moved or
 * closed; when the link of a starved session is to be closed; and by
 * connect_join() and health_of(), to ask whether a link takes calls. */
struct vc__pool_link *vc__placement_link(const struct vc__peer *peer);

#endif
