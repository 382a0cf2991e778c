/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How clients share the threads that run handlers, and the queue of handlers
 * that wait for one. These are counts and lists only: the caller runs the
 * handlers (transport/core/crew.h).
 *
 * No client gets all threads: a client that has seven times as many as are left
 * waits until its own handlers end. This is the dynamic threshold of A.
 * Choudhury, E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
 * Packet Switches" (IEEE/ACM Transactions on Networking 6-2, 1998). Clients
 * with waiting handlers take turns; handlers of one client begin in the order
 * in which they came.
 *
 * May run together: vc__share_new, put, hold and threads, from any threads.
 * vc__share_fits and is_fair are pure. The others are called under one lock of
 * the caller, the crew's (but for its init and fini, which run alone), and so
 * is put when it lowers the number of threads.
 *
 * Called by: memory.c (fits), share.c (fits, put, hold, threads, is_fair,
 * waits, job_unqueue), rpc/server/server_peer.c (new, put), crew.c (put, hold,
 * threads, is_fair, waits, job_queue_init, job_queue_is_empty, job_await,
 * job_unqueue, job_next, job_requeue), engine.c (hold),
 * rpc/server/server_adapt.c (is_fair). */
#ifndef VC_TRANSPORT_SHARE_H
#define VC_TRANSPORT_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <urcu/list.h>

struct vc__engine;
struct vc__handler_run;

/* What one client has of the threads. Lives until its owner, and each thread
 * that it has, have put it. */
struct vc__share {
    atomic_uint holders;       /* its owner, and each thread that it has */
    struct cds_list_head jobs; /* lock; struct vc__job that wait */
    struct cds_list_head node; /* lock; in queue->shares, if jobs wait */
};

/* A handler that begins on a thread of its own: it is expected to block, or
 * likely to lose its engine while its client has its share. It runs on a thread
 * of the crew that does not hold the engine, within a handler run that is lost
 * (transport/core/handoff.h). A job lives in its owner, which may be freed when
 * run() returns. */
struct vc__job {
    void (*run)(struct vc__job *job, struct vc__handler_run *handler_run);
    struct vc__engine *engine;
    struct vc__share *share;
    bool waits; /* lock; true while the job is in a queue */
    struct cds_list_head node;
};

/* Jobs that wait for a thread. */
struct vc__job_queue {
    struct cds_list_head shares; /* lock; shares whose jobs wait, by turn */
};

/* An owner has at most so many times what is left to the others. */
#define VC__SHARE_TIMES 7u

/* True if an owner that has `own` may take `size` more of the `left` that are
 * free; size is at most left. The first that an owner takes need not leave
 * anything. Called by memory.c for bytes, and vc__share_is_fair() for
 * threads. */
static inline bool
vc__share_fits(size_t own, size_t size, size_t left)
{
    return own == 0 || own + size <= VC__SHARE_TIMES * (left - size);
}

/* Makes the share of a new client, with its owner's hold. Returns NULL if out
 * of memory. Called by vc__server_peer_new(), on the holder. */
struct vc__share *vc__share_new(void);
/* Drops one hold; the last frees the share. Called by peer_free() for the
 * owner, on the holder; by crew.c and vc__job_requeue() for a thread, under the
 * crew's lock. */
void vc__share_put(struct vc__share *share);

/* Holds the share for one more thread. Called under the crew's lock, or by
 * handler_run_lend() (engine.c) on that thread itself. */
static inline void
vc__share_hold(struct vc__share *share)
{
    /* Relaxed: another hold exists, so the share cannot be freed meanwhile. */
    atomic_fetch_add_explicit(&share->holders, 1, memory_order_relaxed);
}

/* The number of threads that the share has. Called by crew.c and share_next().
 * Relaxed: the number may be a moment old. */
static inline unsigned
vc__share_threads(const struct vc__share *share)
{
    return atomic_load_explicit(&share->holders, memory_order_relaxed) - 1;
}

/* True if a client that has `has` of something may have one more of the `left`
 * that are free: it has none, or then has at most seven times what is left.
 * False if none is left. Called by the crew for threads, and by
 * vc__adapt_take() for the running calls of a method
 * (rpc/server/server_adapt.c). */
bool vc__share_is_fair(unsigned has, unsigned left);

/* True if jobs of the share wait. Called by vc__crew_begin(), whose new job
 * then waits as well, and by share.c. */
static inline bool
vc__share_waits(struct vc__share *share)
{
    return !cds_list_empty(&share->jobs);
}

/* Makes an empty queue; called by vc__crew_init(). */
void vc__job_queue_init(struct vc__job_queue *queue);

/* True if no job waits. Called by vc__crew_is_short() and vc__crew_fini(). */
static inline bool
vc__job_queue_is_empty(struct vc__job_queue *queue)
{
    return cds_list_empty(&queue->shares);
}

/* Queues the job after those of its share. Called by vc__crew_begin(). */
void vc__job_await(struct vc__job_queue *queue, struct vc__job *job);

/* Removes the job, which waits, from the queue. Called by vc__crew_withdraw()
 * and vc__job_next(). */
void vc__job_unqueue(struct vc__job *job);

/* Takes out the job whose turn it is, among the shares that may have one of
 * `left` threads. Holds its share for the thread. Returns NULL if there is
 * none. Called by job_next() (crew.c), when a job was queued, a thread is free,
 * or a share got one back. */
struct vc__job *vc__job_next(struct vc__job_queue *queue, unsigned left);

/* Undoes the last vc__job_next() when there is no thread for the job after all:
 * puts its share, makes the job the first of its share, and the share the next
 * in turn. Called by job_start() (crew.c). */
void vc__job_requeue(struct vc__job_queue *queue, struct vc__job *job);

#endif
