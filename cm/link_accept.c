/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The passive side of connecting: a request whose hello was found good
 * becomes a link. */
#include <errno.h>
#include <string.h>

#include "cm/link.h"
#include "transport/rdma/device.h"

/* The id was born in the listener's event channel. */
static int
id_adopt(struct vc__link *link, struct rdma_cm_id *id)
{
    if (id->channel != link->cm->channel &&
        rdma_migrate_id(id, link->cm->channel) != 0)
        return errno;
    return 0;
}

static int
accept_send(struct vc__link *link, struct rdma_cm_id *id)
{
    uint8_t accept[VC__ACCEPT_SIZE];
    struct rdma_conn_param param = {
        .private_data = accept,
        .private_data_len = sizeof accept,
        .responder_resources = link->reads_in,
        .initiator_depth = link->reads_out,
        .rnr_retry_count = VC__RNR_RETRY_COUNT,
        .srq = 1,
        .qp_num = link->qp.qp->qp_num,
    };

    vc__accept_put(accept, &link->accept);
    link->asked = true;
    return rdma_accept(id, &param) == 0 ? 0 : errno;
}

/* The QP is ready to receive before the peer hears of it. */
static int
offer(struct vc__link *link, struct rdma_cm_id *id, uint8_t reads_in,
      uint8_t reads_out)
{
    const struct ibv_device_attr *attr = &link->device->attr;
    int err;

    link->reads_in =
        vc__cm_reads(VC__READS_WANTED, reads_in, attr->max_qp_rd_atom);
    link->reads_out =
        vc__cm_reads(VC__READS_WANTED, reads_out, attr->max_qp_init_rd_atom);
    link->accept.credits = (uint16_t)link->granted;
    link->accept.log2_eager = VC__BUFFER_LOG2;
    err = vc__qp_to_init(&link->qp, id);
    if (err == 0)
        err = vc__qp_to_rtr(&link->qp, id, link->reads_in);
    if (err == 0)
        err = accept_send(link, id);
    return err;
}

/* It gets ready to send while the peer's answer is under way: what comes is
 * looked at after that. The answer may be that it has left. */
static void
accepted(struct vc__link *link)
{
    int err = vc__qp_to_rts(&link->qp, link->id, link->reads_out);

    if (err == 0)
        vc__link_open_io(link, link->hello.credits);
    else
        vc__link_end(link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                     "%s has left as it was accepted: %s", vc__link_peer(link),
                     strerror(err));
}

enum vc_status
vc__link_accept(struct vc__link *link, struct rdma_cm_id *id,
                const struct vc__hello *hello, uint8_t reads_in,
                uint8_t reads_out)
{
    enum vc_status status;
    int err;

    link->hello = *hello;
    vc__link_addr(link, rdma_get_peer_addr(id));
    status = vc__link_prepare(link, id);
    if (status != VC_OK)
        return status;
    err = id_adopt(link, id);
    if (err == 0)
        err = offer(link, id, reads_in, reads_out);
    if (err != 0) {
        vc__link_unprepare(link);
        return vc__fail(vc__status_of_errno(err), "cannot accept %s: %s",
                        vc__link_peer(link), strerror(err));
    }
    id->context = &link->handler;
    link->id = id;
    vc__link_event(link, VC__LINK_EV_ACCEPT);
    vc__link_timer(link, link->timeout_ms);
    if (link->state == VC__LINK_OFFERED)
        accepted(link);
    return VC_OK;
}
