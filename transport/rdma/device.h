/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One RDMA device as one engine uses it: protection domain, completion queue,
 * shared receive queue, registered buffers, and the QPs bound to them. The
 * holder of the engine only; but vc__device_free() is also called by
 * vc__rdma_close(), when no thread advances the engine any more.
 *
 * Called by: context.c (new, free, get, doom), device.c (free, doom, cq_more,
 * cq_less, account), wire.c (put, grant, ungrant), transport/ud/port.c (put),
 * qp.c (cq_more, cq_less, account, add_qp, del_qp, drain), device_queues.c
 * (account). */
#ifndef VC_TRANSPORT_RDMA_DEVICE_H
#define VC_TRANSPORT_RDMA_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

#include "transport/core/engine.h"
#include "transport/rdma/buffer.h"
#include "transport/rdma/qp_cache.h"

#define VC__WC_BATCH 16

struct vc__qp;

/* The values of a device that were last reported to the engine's ledger. */
struct vc__device_counted {
    struct vc__qp_stats warm;
    uint64_t idle, in_use, posted, promised;
    uint64_t receive, receive_limit, send, send_limit;
};

/* One that uses a device without a QP in its table, and is notified when the
 * device is doomed. It adds itself to device->watchers. */
struct vc__device_watcher {
    struct cds_list_head node;
    /* On the holder, in the loop of the engine; may not remove itself. */
    void (*doomed)(struct vc__device_watcher *w);
};

struct vc__device {
    struct vc__engine *engine;
    struct cds_list_head node; /* in the list of the engine's devices */
    struct ibv_context *verbs;
    struct ibv_device_attr attr;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct vc__source completions, async;

    /* The CQ must have room for every possible completion: those of all posted
     * receives and of the send queues of all QPs. */
    unsigned cq_need;

    struct vc__buffers receive, send;
    unsigned granted; /* receives promised to peers */
    unsigned posted;  /* receives in the SRQ or about to be reposted */
    bool watched;     /* the SRQ will report that few receives are left */

    /* Completions polled but not yet handled. They are kept here so that a
     * handler that waits continues where its interrupted caller stopped. */
    struct ibv_wc wc[VC__WC_BATCH];
    int wc_at, wc_n;

    /* Handled buffers to be posted to the SRQ again. */
    struct vc__buffer *repost;
    unsigned n_repost;

    /* QPs by number (24 bits): a table of tables. */
    struct vc__qp **qps[4096];
    unsigned n_qps;
    struct vc__qp_cache warm; /* idle QPs, not in the table */

    struct vc__device_counted counted;

    /* The number of users. doomed: the device was removed or has failed; no new
     * user may take it, and it is freed when there are no users left. */
    unsigned users;
    bool doomed;
    struct cds_list_head watchers;
    struct vc__task bury;
};

/* Called by vc__rdma_device(), for the first wire on a device.
 * Opens the device of this verbs context for the engine, with limits for bytes
 * of pinned memory and for idle QPs. The caller becomes its first user.
 * VC_RESOURCE_EXHAUSTED  no queues or memory available
 * VC_UNAVAILABLE         the device is being removed
 * others                 of the device, by vc__status_of_errno() */
enum vc_status vc__device_new(struct vc__engine *engine,
                              struct ibv_context *verbs, size_t memory,
                              unsigned warm, struct vc__device **device);

/* Closes and frees the device. All QPs in use must have been released. Called
 * by vc__rdma_close(), and by a task when a doomed device has no users left. */
void vc__device_free(struct vc__device *d);

/* Adds a user: called by vc__rdma_device() for each further wire. Removes one:
 * called when a wire is freed, or could not be prepared. */
void vc__device_get(struct vc__device *d);
void vc__device_put(struct vc__device *d);

/* Marks the device as removed or failed (doomed). May be called several times;
 * `why` is for the log. Called for each DEVICE_REMOVAL (context.c) and for a
 * fatal asynchronous event (device.c). */
void vc__device_doom(struct vc__device *d, const char *why);

/* Grant promises n more receives to a peer, and posts as many as are missing;
 * ungrant takes that promise back, and the receives stay posted. Called by
 * promise() and release() of the wire. Both have the device report again when
 * few receives are left. Grant returns VC_OK; or an error, and
 * nothing is promised: VC_RESOURCE_EXHAUSTED when the receives, the CQ or the
 * memory are used up, others of the device. */
enum vc_status vc__device_grant(struct vc__device *d, unsigned n);
void vc__device_ungrant(struct vc__device *d, unsigned n);

/* Makes room in the CQ for n more completions; gives it back. Called for the
 * send queue of each QP (vc__qp_init(), vc__qp_fini()), and for new receives.
 * On failure the room is as before. VC_RESOURCE_EXHAUSTED: the CQ is full;
 * otherwise the error of ibv_resize_cq(3), by vc__device_fail(). */
enum vc_status vc__device_cq_more(struct vc__device *d, unsigned n);
void vc__device_cq_less(struct vc__device *d, unsigned n);

/* Reports to the engine's ledger what has changed in the device's QPs, receives
 * and memory. Called after each change of them: grants, QPs set up or released,
 * the device opened or closed. */
void vc__device_account(struct vc__device *d);

/* Adds a QP to the table of QPs by number; removes it. Called by qp.c when a
 * connection takes a QP and when it releases it. VC_RESOURCE_EXHAUSTED: no
 * memory for the table. */
enum vc_status vc__device_add_qp(struct vc__device *d, struct vc__qp *qp);
void vc__device_del_qp(struct vc__device *d, struct vc__qp *qp);

/* Handles all completions and asynchronous events that had arrived before the
 * call. Called by warm_give() (qp.c) when a QP is released, before and after it
 * is reset or destroyed. */
void vc__device_drain(struct vc__device *d);

#endif
