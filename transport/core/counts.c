/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/counts.h. */
#include "transport/core/counts.h"

#include <string.h>

#include "transport/core/invariant.h"

_Static_assert(VC__COUNTS <= UINT8_MAX, "which[] has bytes");

void
vc__ledger_init(struct vc__ledger *l)
{
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    CDS_INIT_LIST_HEAD(&l->tallies);
}

void
vc__ledger_fini(struct vc__ledger *l)
{
    pthread_mutex_destroy(&l->lock);
}

/* For vc__ledger_sum() and vc__tally_close(): adds the tally's counters to
 * their places in sum. Under the ledger's lock. */
static void
tally_sum(const struct vc__tally *t, uint64_t sum[VC__COUNTS])
{
    for (unsigned i = 0; i < t->n; i++)
        sum[t->which[i]] +=
            atomic_load_explicit(&t->value[i], memory_order_relaxed);
}

void
vc__ledger_sum(struct vc__ledger *l, uint64_t sum[VC__COUNTS])
{
    const struct vc__tally *t;

    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < VC__COUNTS; i++)
        sum[i] += l->past[i] +
                  atomic_load_explicit(&l->held[i], memory_order_relaxed);
    cds_list_for_each_entry (t, &l->tallies, node)
        tally_sum(t, sum);
    pthread_mutex_unlock(&l->lock);
}

void
vc__tally_open(struct vc__tally *t, struct vc__ledger *l, const uint8_t *which,
               unsigned n)
{
    vc__invariant(n <= VC__TALLY_MAX);
    t->which = which;
    t->n = n;
    for (unsigned i = 0; i < n; i++)
        vc__tally_set(t, i, 0);
    pthread_mutex_lock(&l->lock);
    cds_list_add(&t->node, &l->tallies);
    pthread_mutex_unlock(&l->lock);
}

void
vc__tally_close(struct vc__tally *t, struct vc__ledger *l)
{
    pthread_mutex_lock(&l->lock);
    tally_sum(t, l->past);
    cds_list_del(&t->node);
    pthread_mutex_unlock(&l->lock);
}
