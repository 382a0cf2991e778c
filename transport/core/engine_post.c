/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tasks for an engine, of its holder and of other threads, and how these wake
 * the holder. See transport/core/engine.h. */
#include "transport/core/engine.h"

#include <unistd.h>

void
vc__engine_kick(struct vc__engine *e)
{
    uint64_t one = 1;

    /* Relaxed: only for measuring. */
    atomic_store_explicit(&e->kicked, vc__now(), memory_order_relaxed);
    /* write() fails only when the counter is full, and then it wakes, too. */
    if (write(e->wake_fd, &one, sizeof one) < 0)
        return;
}

/* Both sequentially consistent, as are their counterparts in engine_sleep():
 * either the holder sees has_inbox before it sleeps, or this thread sees that
 * the holder sleeps. Without that a task could wait for ever. */
void
vc__engine_stir(struct vc__engine *e)
{
    atomic_store(&e->has_inbox, true);
    if (atomic_load(&e->asleep))
        vc__engine_kick(e);
}

void
vc__engine_post(struct vc__engine *e, struct vc__task *task)
{
    vc__lock_take(&e->inbox_lock);
    cds_list_add_tail(&task->node, &e->inbox);
    vc__lock_give(&e->inbox_lock);
    vc__engine_stir(e);
}

void
vc__engine_defer(struct vc__engine *e, struct vc__task *task)
{
    cds_list_add_tail(&task->node, &e->tasks);
}
