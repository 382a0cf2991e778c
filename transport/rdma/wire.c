/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations table of RDMA, and moving packets. A packet is written into a
 * registered buffer or, while all of those are in use, into a small array to be
 * sent inline. A short packet is sent inline from either. See
 * transport/rdma/wire.h. Functions named rdma_wire_ are entries of the table
 * (but rdma_wire_of()), with the results that transport/transport.h names.
 * Under the lock of the link, cm/link/link_send.c calls reserve and commit, on
 * any thread; and link_io.c calls retire, link_keepalive.c probe, proven and
 * drops_probe, and link_send.c mark for it, on the holder of the engine. All
 * else runs on the holder, too. While the wire is up, rdma_wire_describe() may
 * run on any thread. */
#include "transport/rdma/wire.h"

#include <errno.h>

#include "transport/core/path_memory.h"
#include "transport/rdma/device.h"
#include "transport/rdma/rdma.h"

/* --- callbacks of the QP ------------------------------------------------- */

/* Called by device.c through qp_ops, on the holder of the engine. They pass the
 * event to the link by the wire's ops. */

/* Returns the wire that has this QP. For the three callbacks. */
static struct vc__wire *
rdma_wire_of(struct vc__qp *qp)
{
    return &caa_container_of(qp, struct vc__rdma_wire, qp)->wire;
}

/* received() of qp_ops: device.c has a packet of this QP. Passes it to the
 * link. */
static void
wire_received(struct vc__qp *qp, const uint8_t *data, uint32_t len)
{
    struct vc__wire *w = rdma_wire_of(qp);

    w->ops->received(w, data, len);
}

/* sent() of qp_ops: device.c has the completion of a signalled send. The link
 * then calls retire(). */
static void
wire_sent(struct vc__qp *qp, uint32_t number)
{
    struct vc__wire *w = rdma_wire_of(qp);

    w->ops->writable(w, number);
}

/* failed() of qp_ops: device.c has a failed completion, or an asynchronous
 * event. Tells the link. */
static void
wire_failed(struct vc__qp *qp, enum ibv_wc_status why)
{
    struct vc__wire *w = rdma_wire_of(qp);

    w->ops->failed(w, ibv_wc_status_str(why));
}

/* probe_lost() of qp_ops: device.c has the completion of a probe that was not
 * acknowledged. Either the path drops it, having no bytes, or the peer's host
 * is gone. */
static void
wire_probe_lost(struct vc__qp *qp)
{
    struct vc__wire *w = rdma_wire_of(qp);

    vc__path_empty_lost(vc__rdma_paths(w), vc__rdma_device_name(w),
                        (const struct sockaddr *)&w->peer, vc__now());
}

static const struct vc__qp_ops qp_ops = {.received = wire_received,
                                         .sent = wire_sent,
                                         .failed = wire_failed,
                                         .probe_lost = wire_probe_lost};

/* --- sending ------------------------------------------------------------- */

/* Entries of the table vc__rdma: the link calls them under its lock. Their
 * results are those of the table: an errno from commit or probe means a broken
 * connection; NULL from reserve means no room now. */

/* Returns where to write the next packet. NULL: the send queue is full. Without
 * a free send buffer, the room is what can be sent inline. */
static uint8_t *
rdma_wire_reserve(struct vc__wire *w, uint32_t *room)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);

    if (!vc__qp_has_room(&r->qp))
        return NULL;
    if (vc__qp_has_buffer(&r->qp)) {
        *room = VC__BUFFER_SIZE;
        r->at = vc__qp_buffer(&r->qp);
    } else {
        *room = r->qp.max_inline;
        r->at = r->small;
    }
    return r->at;
}

/* Posts the packet that was written where reserve() said. 0, or an errno: the
 * connection is broken. */
static int
rdma_wire_commit(struct vc__wire *w, uint32_t len)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);

    return vc__qp_send(&r->qp, r->at, len);
}

/* Called inside writable(): the sends up to this number have completed, so
 * there is room again. */
static void
rdma_wire_retire(struct vc__wire *w, uint32_t ticket)
{
    vc__qp_retire(&vc__rdma_wire_of(w)->qp, ticket);
}

/* Posts a probe; *ticket is what proven() is asked about. If the queue has no
 * room for a probe, the last signalled send proves the same. 0, or an errno:
 * the connection is broken. */
static int
rdma_wire_probe(struct vc__wire *w, uint32_t *ticket)
{
    struct vc__qp *qp = &vc__rdma_wire_of(w)->qp;
    int err = vc__qp_has_room(qp) ? vc__qp_probe(qp) : 0;

    *ticket = qp->signalled;
    return err;
}

/* True if a probe would be posted, and the path seems to drop it. */
static bool
rdma_wire_drops_probe(const struct vc__wire *w)
{
    const struct vc__rdma_wire *r =
        caa_container_of(w, const struct vc__rdma_wire, wire);

    return vc__qp_has_room(&r->qp) &&
           vc__path_drops_empty(vc__rdma_paths(w), vc__rdma_device_name(w),
                                (const struct sockaddr *)&w->peer, vc__now());
}

/* Has the completion of the packet that is committed next reported. If the path
 * is remembered, it stays so. */
static uint32_t
rdma_wire_mark(struct vc__wire *w)
{
    vc__path_is_used(vc__rdma_paths(w), vc__rdma_device_name(w),
                     (const struct sockaddr *)&w->peer, vc__now());
    return vc__qp_mark(&vc__rdma_wire_of(w)->qp);
}

/* True if the peer's adapter has acknowledged the probe of this ticket. */
static bool
rdma_wire_proven(const struct vc__wire *w, uint32_t ticket)
{
    const struct vc__rdma_wire *r =
        caa_container_of(w, const struct vc__rdma_wire, wire);

    return (int32_t)(r->qp.retired - ticket) >= 0;
}

/* --- receives ------------------------------------------------------------ */

/* Entries of the table vc__rdma: the link calls them on the holder of the
 * engine, to promise the peer n receives more, or n less. */

/* Called under the lock of the link by link_io.c, and without it by
 * prepare_with(). VC_RESOURCE_EXHAUSTED: no more receives are available. */
static enum vc_status
rdma_wire_promise(struct vc__wire *w, uint32_t n)
{
    enum vc_status status = vc__device_grant(vc__rdma_wire_of(w)->device, n);

    if (status == VC_OK)
        w->promised += n;
    return status;
}

/* Called under the lock of the link by link_io.c, and without it when the wire
 * is freed or its preparation fails. */
static void
rdma_wire_release(struct vc__wire *w, uint32_t n)
{
    vc__device_ungrant(vc__rdma_wire_of(w)->device, n);
    w->promised -= n;
}

/* --- setup and teardown -------------------------------------------------- */

/* With these shares, Soft-RoCE's CQ of 32767 entries is enough for 1024 links,
 * a server's default limit, and some more. */
uint32_t
vc__rdma_share(unsigned links)
{
    uint32_t window = VC__RDMA_SHARE_MOST;

    for (unsigned n = 64; links >= n && window > VC__RDMA_SHARE_LEAST; n *= 3)
        window /= 2;
    return window;
}

/* Takes receives and a QP for the wire: the queues are made for `window`; the
 * peer is promised no more than `first` to begin with. On failure nothing is
 * kept. Called by vc__rdma_prepare(). */
static enum vc_status
prepare_with(struct vc__rdma_wire *r, uint32_t window, uint32_t first)
{
    enum vc_status status =
        rdma_wire_promise(&r->wire, window < first ? window : first);

    if (status != VC_OK)
        return status;
    r->wire.window = window;
    status = vc__qp_init(&r->qp, r->device, &qp_ops, window * 2, window / 2);
    if (status != VC_OK)
        rdma_wire_release(&r->wire, r->wire.promised);
    return status;
}

/* Gives back what prepare() has taken, if anything. Called by fini(), and by
 * prepare() when it fails. */
static void
rdma_unprepare(struct vc__rdma_wire *r)
{
    if (r->device == NULL)
        return;
    vc__qp_fini(&r->qp, !r->asked || r->left_cleanly);
    if (r->wire.promised > 0)
        rdma_wire_release(&r->wire, r->wire.promised);
    vc__device_put(r->device);
    r->device = NULL;
}

/* Called by prepare() when it fails: sets the thread's error and returns its
 * status. If other links have pinned memory, this link may get it when they
 * close: then room is lacking, not the limit. */
static enum vc_status
fail_prepare(const struct vc__error *why, bool others)
{
    struct vc__error error = *why;

    if (error.lack == VC__LACK_PINNED && others)
        error.lack = VC__LACK_ROOM;
    return vc__error_raise(&error);
}

/* Takes receives and a QP of the id's device for the wire; tries half the
 * window again and again while there is too little for it, down to the
 * least. */
enum vc_status
vc__rdma_prepare(struct vc__wire *w, const struct vc__receives *receives)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    enum vc_status status =
        vc__rdma_device(vc__rdma_context_of(w->context), r->id, &r->device);
    uint32_t window;

    if (status != VC_OK)
        return status;
    window = vc__rdma_share(r->device->n_qps);
    if (receives->most < window)
        window = receives->most;
    do {
        status = prepare_with(r, window, receives->first);
        window /= 2;
    } while (status == VC_RESOURCE_EXHAUSTED && window >= receives->least);
    if (status != VC_OK) {
        const struct vc__error why = *vc__error_last();
        bool others = r->device->granted > 0;

        rdma_unprepare(r);
        return fail_prepare(&why, others);
    }
    return VC_OK;
}

/* Starts or answers the disconnect handshake; flushes everything outstanding.
 * False: librdmacm refuses, as when the id is not connected. */
bool
vc__rdma_leave(struct vc__wire *w)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    bool sent = rdma_disconnect(r->id) == 0;

    r->leaving = true;
    if (!sent)
        r->left_cleanly = false;
    vc__qp_to_error(&r->qp);
    return sent;
}

/* Gives back what prepare() has taken, and destroys the id, if it is the
 * wire's. After an accept() that failed, the id stays for the reject. */
void
vc__rdma_fini(struct vc__wire *w)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);

    rdma_unprepare(r);
    if (r->owned)
        rdma_destroy_id(r->id);
    r->owned = false;
    r->id = NULL;
}

/* --- the operations table ------------------------------------------------ */

/* Called through the table by vc__wire_describe(); writes nothing before
 * prepare(). */
static void
rdma_wire_describe(const struct vc__wire *w, char *out, size_t size)
{
    const struct vc__rdma_wire *rw =
        caa_container_of(w, const struct vc__rdma_wire, wire);

    if (rw->qp.qp != NULL)
        snprintf(out, size, "%s, QP %u, %u bytes inline",
                 ibv_get_device_name(rw->device->verbs->device),
                 (unsigned)rw->qp.qp->qp_num, (unsigned)rw->qp.max_inline);
}

/* What the two tables share. The limits are those of rdma_connect(3),
 * rdma_accept(3) and rdma_reject(3) for RDMA_PS_TCP; with IP addresses those of
 * RDMA_PS_IB are the same. */
#define RDMA_TRANSPORT                                                         \
    .no_loopback = true, .made = VC__COUNT_links_made_rdma, .hello_max = 56,   \
    .accept_max = 196, .reject_max = 148,                                      \
    .context_size = sizeof(struct vc__rdma_context),                           \
    .wire_size = sizeof(struct vc__rdma_wire),                                 \
    .ear_size = sizeof(struct vc__rdma_ear), .open = vc__rdma_open,            \
    .close = vc__rdma_close, .dial = vc__rdma_dial, .take = vc__rdma_take,     \
    .prepare = vc__rdma_prepare, .hello = vc__rdma_hello,                      \
    .accept = vc__rdma_accept, .confirm = vc__rdma_confirm,                    \
    .leave = vc__rdma_leave, .fini = vc__rdma_fini,                            \
    .reserve = rdma_wire_reserve, .commit = rdma_wire_commit,                  \
    .retire = rdma_wire_retire, .host_is_up = "its adapter answers",           \
    .probe = rdma_wire_probe, .proven = rdma_wire_proven,                      \
    .drops_probe = rdma_wire_drops_probe, .mark = rdma_wire_mark,              \
    .describe = rdma_wire_describe, .promise = rdma_wire_promise,              \
    .release = rdma_wire_release, .ask = vc__rdma_ask,                         \
    .listen = vc__rdma_listen, .unlisten = vc__rdma_unlisten,                  \
    .port = vc__rdma_port, .reject = vc__rdma_reject

const struct vc__transport vc__rdma = {
    RDMA_TRANSPORT,
    .scheme = "rdma",
    .port_space = RDMA_PS_TCP,
};

const struct vc__transport vc__rdma_ib = {
    RDMA_TRANSPORT,
    .scheme = "rdma+ib",
    .port_space = RDMA_PS_IB,
};
