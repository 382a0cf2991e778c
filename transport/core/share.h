/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How clients share the threads that run handlers, and the queue of handlers
 * that wait for one. Counts and lists only: the caller runs the handlers
 * (transport/core/crew.h).
 *
 * No client gets all threads: a client that has seven times as many as are left
 * waits until its own handlers end. This is the dynamic threshold of
 * A. Choudhury, E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
 * Packet Switches" (IEEE/ACM Transactions on Networking 6-2, 1998). The clients
 * whose handlers wait take turns; handlers of one client begin in the order in
 * which they came.
 *
 * May run together: vc__share_new, put, hold and threads, from any threads. The
 * others are called under one lock of the caller, and so is put when it lowers
 * the number of threads. */
#ifndef VC_TRANSPORT_SHARE_H
#define VC_TRANSPORT_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <urcu/list.h>

struct vc__engine;
struct vc__handler_run;

/* What one client has of the threads. Lives until its owner and each thread that
 * it has have put it. */
struct vc__share {
    atomic_uint holders;       /* its owner, and each thread that it has */
    struct cds_list_head jobs; /* lock; of struct vc__job, those that wait */
    struct cds_list_head node; /* lock; in queue->shares, if some wait */
};

/* A handler that is expected to block: runs on a thread of the crew, which does
 * not hold the engine; within a handler run that is lost (transport/core/handoff.h).
 * Lives in its owner, which may be gone when run() returns. */
struct vc__job {
    void (*run)(struct vc__job *job, struct vc__handler_run *handler_run);
    struct vc__engine *engine;
    struct vc__share *share;
    bool waits; /* lock; true while the job is in a queue */
    struct cds_list_head node;
};

/* Jobs that wait for a thread. */
struct vc__job_queue {
    struct cds_list_head shares; /* lock; whose jobs wait, by turn */
};

/* An owner has at most so many times as much as is left to the others. */
#define VC__SHARE_TIMES 7u

/* True when an owner that has `own` may take `size` more of the `left` that
 * nobody has; size is no more than left. The first that an owner takes need not
 * leave anything. */
static inline bool
vc__share_fits(size_t own, size_t size, size_t left)
{
    return own == 0 || own + size <= VC__SHARE_TIMES * (left - size);
}

/* NULL without memory. */
struct vc__share *vc__share_new(void);
void vc__share_put(struct vc__share *share);

static inline void
vc__share_hold(struct vc__share *share)
{
    /* Relaxed: another hold exists, so the share cannot be freed meanwhile. */
    atomic_fetch_add_explicit(&share->holders, 1, memory_order_relaxed);
}

/* The number of threads that the share has. Relaxed: the number may be a moment
 * old. */
static inline unsigned
vc__share_threads(const struct vc__share *share)
{
    return atomic_load_explicit(&share->holders, memory_order_relaxed) - 1;
}

/* True when a client that has so many of something may have one more, of those
 * that are left: it has none, or fewer than seven times as many as others may
 * have then. */
bool vc__share_is_fair(unsigned has, unsigned left);

/* True when jobs of the share wait. */
static inline bool
vc__share_waits(struct vc__share *share)
{
    return !cds_list_empty(&share->jobs);
}

void vc__job_queue_init(struct vc__job_queue *queue);

static inline bool
vc__job_queue_is_empty(struct vc__job_queue *queue)
{
    return cds_list_empty(&queue->shares);
}

/* The job waits, after those of its share. */
void vc__job_await(struct vc__job_queue *queue, struct vc__job *job);

/* The job waits no more. */
void vc__job_unqueue(struct vc__job *job);

/* Takes the job out whose turn it is, of those whose share may have one of so
 * many threads that are left; its share is held for the thread. NULL: none. */
struct vc__job *vc__job_next(struct vc__job_queue *queue, unsigned left);

/* There is no thread after all for the job that vc__job_next() has given last:
 * puts its share, and the job waits as the first of its share, whose turn it is.
 */
void vc__job_requeue(struct vc__job_queue *queue, struct vc__job *job);

#endif
