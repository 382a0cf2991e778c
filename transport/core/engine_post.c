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

/* --- on the holder ------------------------------------------------------- */

/* For vc__engine_run_tasks(): moves the posted tasks to e->tasks. Returns true if a
 * thread, also the holder itself, has posted a task or called
 * vc__engine_stir() since the last time. */
static bool
engine_take_inbox(struct vc__engine *e)
{
    if (!atomic_load_explicit(&e->has_inbox, memory_order_relaxed))
        return false;
    e->traffic = true;
    vc__lock_take(&e->inbox_lock);
    atomic_store(&e->has_inbox, false);
    if (!cds_list_empty(&e->inbox)) {
        e->inbox.prev->next = &e->tasks;
        e->inbox.next->prev = e->tasks.prev;
        e->tasks.prev->next = e->inbox.next;
        e->tasks.prev = e->inbox.prev;
        CDS_INIT_LIST_HEAD(&e->inbox);
    }
    vc__lock_give(&e->inbox_lock);
    return true;
}

/* For vc__engine_run_tasks(): runs all tasks, also those that they add; returns how
 * many. */
static unsigned
run_all(struct cds_list_head *tasks)
{
    unsigned n = 0;

    while (!cds_list_empty(tasks)) {
        struct vc__task *task =
            cds_list_entry(tasks->next, struct vc__task, node);

        cds_list_del(&task->node);
        task->run(task);
        n++;
    }
    return n;
}

unsigned
vc__engine_run_tasks(struct vc__engine *e)
{
    bool took = engine_take_inbox(e);

    return run_all(&e->tasks) + took;
}
