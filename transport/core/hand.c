/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/hand.h. */
#include "transport/core/hand.h"

#include <errno.h>
#include <stdlib.h>

#include "transport/core/clock.h"
#include "transport/core/engine.h"
#include "transport/core/thread.h"

/* The time to the next try when the system has started no thread. */
#define RETRY_US 10000

void
vc__crew_kick(struct vc__crew *crew)
{
    for (unsigned i = 0; i < crew->n_engines; i++)
        vc__engine_kick(crew->watched[i].engine);
}

unsigned
vc__hands_left(const struct vc__crew *crew)
{
    return crew->n_idle + crew->max - crew->n;
}

/* For vc__hand_put() and vc__hand_get(), under the lock: updates crew->spent
 * after vc__hands_left() has changed, and wakes the holders when handlers may
 * begin again. */
static void
crew_count(struct vc__crew *crew)
{
    bool spent = vc__hands_left(crew) < crew->n_engines;

    if (spent == atomic_load(&crew->spent))
        return;
    atomic_store(&crew->spent, spent);
    if (!spent)
        vc__crew_kick(crew);
}

void
vc__hand_order(struct vc__hand *h, struct vc__engine *e, bool holds)
{
    h->job = NULL;
    h->engine = e;
    h->holds = holds;
    vc__waiter_hand(&h->order);
}

void
vc__hand_put(struct vc__hand *h)
{
    cds_list_add(&h->node, &h->crew->idle);
    h->crew->n_idle++;
    crew_count(h->crew);
}

int
vc__hand_new(struct vc__crew *crew, struct vc__hand **out)
{
    struct vc__hand *h = calloc(1, sizeof *h);
    int err;

    if (h == NULL)
        return ENOMEM;
    h->crew = crew;
    vc__waiter_init(&h->order);
    err = vc__thread_start(&h->thread, NULL, vc__hand_main, h);
    if (err != 0) {
        free(h);
        return err;
    }
    h->next = crew->hands;
    crew->hands = h;
    crew->n++;
    *out = h;
    return 0;
}

struct vc__hand *
vc__hand_get(struct vc__crew *crew)
{
    struct vc__hand *h;

    if (atomic_load(&crew->stop))
        return NULL;
    if (crew->n_idle > 0) {
        h = cds_list_entry(crew->idle.next, struct vc__hand, node);
        cds_list_del(&h->node);
        crew->n_idle--;
    } else {
        if (crew->n >= crew->max || vc__now() < crew->retry)
            return NULL;
        if (vc__hand_new(crew, &h) != 0) {
            crew->retry = vc__now() + RETRY_US;
            return NULL;
        }
    }
    crew_count(crew);
    return h;
}
