/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/server_set.h. */
#include "rpc/balance/server_set.h"

#include <stdlib.h>

struct vc__server_set *
vc__server_set_new(unsigned n, struct vc__endpoint *about)
{
    struct vc__server_set *set =
        calloc(1, sizeof *set + n * sizeof set->sub[0]);

    if (set == NULL) {
        free(about);
        return NULL;
    }
    set->n = n;
    set->about = about;
    return set;
}

void
vc__server_set_free(struct vc__server_set *set)
{
    if (set == NULL)
        return;
    free(set->about);
    free(set);
}
