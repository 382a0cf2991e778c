/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/share.h. */
#include "transport/core/share.h"

#include <stdlib.h>

struct vc__share *
vc__share_new(void)
{
    struct vc__share *share = calloc(1, sizeof *share);

    if (share == NULL)
        return NULL;
    atomic_init(&share->holders, 1);
    CDS_INIT_LIST_HEAD(&share->jobs);
    return share;
}

void
vc__share_put(struct vc__share *share)
{
    /* Release and acquire: the last holder sees what all others did. */
    if (atomic_fetch_sub_explicit(&share->holders, 1, memory_order_acq_rel) ==
        1)
        free(share);
}

bool
vc__share_is_fair(unsigned has, unsigned left)
{
    return left > 0 && vc__share_fits(has, 1, left);
}

void
vc__job_queue_init(struct vc__job_queue *queue)
{
    CDS_INIT_LIST_HEAD(&queue->shares);
}

void
vc__job_await(struct vc__job_queue *queue, struct vc__job *job)
{
    struct vc__share *share = job->share;

    if (!vc__share_waits(share))
        cds_list_add_tail(&share->node, &queue->shares);
    cds_list_add_tail(&job->node, &share->jobs);
    job->waits = true;
}

void
vc__job_unqueue(struct vc__job *job)
{
    cds_list_del(&job->node);
    if (!vc__share_waits(job->share))
        cds_list_del(&job->share->node);
    job->waits = false;
}

/* For vc__job_next(), under the crew's lock: the share whose turn it is, of
 * those that may have one of `left` threads; NULL if there is none. */
static struct vc__share *
share_next(struct vc__job_queue *queue, unsigned left)
{
    struct vc__share *share;

    cds_list_for_each_entry (share, &queue->shares, node) {
        if (vc__share_is_fair(vc__share_threads(share), left))
            return share;
    }
    return NULL;
}

struct vc__job *
vc__job_next(struct vc__job_queue *queue, unsigned left)
{
    struct vc__share *share = share_next(queue, left);
    struct vc__job *job;

    if (share == NULL)
        return NULL;
    job = cds_list_entry(share->jobs.next, struct vc__job, node);
    cds_list_del(&share->node);
    cds_list_add_tail(&share->node, &queue->shares);
    vc__job_unqueue(job);
    vc__share_hold(share);
    return job;
}

/* vc__job_next() has made the share the last in turn. */
void
vc__job_requeue(struct vc__job_queue *queue, struct vc__job *job)
{
    struct vc__share *share = job->share;

    vc__share_put(share);
    if (vc__share_waits(share))
        cds_list_del(&share->node);
    cds_list_add(&share->node, &queue->shares);
    cds_list_add(&job->node, &share->jobs);
    job->waits = true;
}
