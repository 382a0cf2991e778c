/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Posts a datagram to the send queue of a port. Inline, as each call does it.
 * Any thread, under the lock of the port.
 *
 * Called by: port_receive.c (ud_post), wire_send.c (ud_post). */
#ifndef VC_TRANSPORT_UD_POST_H
#define VC_TRANSPORT_UD_POST_H

#include "transport/ud/port.h"

/* Writes the header where the request reads it: right before inline data that
 * begin a packet, so that both go as one piece; else in memory of the request's
 * own. For vc__ud_post(). */
static inline void
ud_post_header(struct vc__ud_port *p, const struct vc__datagram *d,
               uint8_t *data, uint32_t len, bool together)
{
    size_t slot = p->sent % VC__UD_SENDS;
    uint8_t *header = together ? data - VC__DATAGRAM_HEADER
                               : p->headers + slot * VC__UD_HEADER_SPACE;

    vc__datagram_put(header, d);
    p->sge[0].addr = (uintptr_t)header;
    p->sge[0].length = VC__DATAGRAM_HEADER + (together ? len : 0);
}

/* Accounts for a request that was posted. For vc__ud_post(). */
static inline void
ud_post_account(struct vc__ud_port *p, struct vc__ud_packet *reads, bool signal)
{
    p->reads[p->sent % VC__UD_SENDS] = reads;
    if (reads != NULL)
        reads->refs++;
    p->sent++;
    if (signal)
        p->signalled = p->sent;
}

/* Posts a datagram to this address; data are len bytes of the packet from
 * offset on, or packet is NULL and there are none. Only when it can be posted:
 * vc__ud_can_post(). 0 or an errno. Called by wire_send.c, and for a stranger
 * by reset_send(). */
static inline __attribute__((always_inline)) int
vc__ud_post(struct vc__ud_port *p, struct ibv_ah *ah, uint32_t qpn,
            uint32_t qkey, const struct vc__datagram *d,
            struct vc__ud_packet *packet, uint32_t offset, uint32_t len)
{
    bool is_inline = VC__DATAGRAM_HEADER + len <= p->inline_max;
    bool together = is_inline && packet != NULL && offset == 0;
    /* A request that is not inline keeps its packet until it has completed. */
    bool signal = !is_inline || p->sent + 1 - p->signalled >= VC__UD_SENDS / 4;
    uint8_t *data = packet == NULL ? NULL : vc__ud_packet_data(packet) + offset;
    struct ibv_send_wr *wr = &p->wr, *bad;
    int err;

    ud_post_header(p, d, data, len, together);
    wr->num_sge = 1;
    if (packet != NULL && !together) {
        p->sge[1] = (struct ibv_sge){.addr = (uintptr_t)data,
                                     .length = len,
                                     .lkey = packet->buffer->lkey};
        wr->num_sge = 2;
    }
    wr->wr_id = (uint64_t)(p->sent + 1) << 1 | 1;
    wr->send_flags =
        (is_inline ? IBV_SEND_INLINE : 0u) | (signal ? IBV_SEND_SIGNALED : 0u);
    wr->wr.ud.ah = ah;
    wr->wr.ud.remote_qpn = qpn;
    wr->wr.ud.remote_qkey = qkey;
    err = ibv_post_send(p->qp, wr, &bad);
    if (err == 0)
        ud_post_account(p, is_inline ? NULL : packet, signal);
    return err;
}

#endif
