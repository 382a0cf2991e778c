/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/placement.h. */
#include "cm/pool/placement.h"

#include "cm/pool/pool.h"

struct vc__pool_link *
vc__placement_link(const struct vc__peer *peer)
{
    struct vc__pool_link *pl, *best = NULL;

    cds_list_for_each_entry (pl, &peer->links, node) {
        if (!pl->leaving && (best == NULL || pl->n_busy < best->n_busy))
            best = pl;
    }
    return best;
}
