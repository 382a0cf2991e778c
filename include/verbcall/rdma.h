/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Settings of the queue pairs of RDMA connections: for users who know their
 * network. Channels and servers take these options by their field `rdma`; TCP,
 * shared memory and connections within the process ignore them. */
#ifndef VERBCALL_RDMA_H
#define VERBCALL_RDMA_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* For a value of 0, as 0 in a field stands for the default. */
#define VC_RDMA_NONE UINT32_MAX

/* Initialize it with VC_RDMA_OPTS_INIT, or write VC_CHANNEL_OPTS(.rdma =
 * VC_RDMA_OPTS(.tos = 104)) where it is used; 0 in a field means its default.
 * It is copied. Each end sets its own queue pair by its own options: a peer's
 * request raises nothing. */
struct vc_rdma_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* RDMA READs and atomic operations at a time, 1..255 or VC_RDMA_NONE,
     * default 16: those that this end accepts from its peer, and those that it
     * sends. The queue pair gets the minimum of this, of the device's limit
     * (max_qp_rd_atom, max_qp_init_rd_atom of ibv_query_device(3)) and of the
     * peer's value. Each costs the adapter some memory per connection, so the
     * default is not the device's maximum; calls use none of them. */
    uint32_t responder_resources;
    uint32_t initiator_depth;

    /* 1: announces to the peer that hardware flow control is available; default
     * 0. rdma_connect(3) and rdma_accept(3) exchange this value, but it
     * configures nothing: Verbcall has its own flow control (doc/wire.md). For
     * peers that ask for it. */
    uint32_t flow_control;

    /* How often the adapter retransmits a packet that the peer's adapter does
     * not acknowledge, 1..6 or VC_RDMA_NONE, default 6. The specification also
     * allows 7, but with 7 Soft-RoCE retransmits for ever and would never
     * detect a dead peer. */
    uint32_t retry_count;

    /* How often the adapter retransmits a packet for which the peer had no
     * receive posted, 1..6 or VC_RDMA_NONE, default 6; 7 would be for ever. The
     * peer's program gets the same value for the packets that it sends. Between
     * ends that follow the protocol, credits prevent this case. */
    uint32_t rnr_retry_count;

    /* How long the adapter waits for an acknowledgement: 4.096 us times two to
     * the power of this, 1..31, default 14: 67 ms. The default of rdma_cm is
     * usually 19, so that one lost packet costs 2 s. Adapters may wait longer:
     * those of Mellanox from ConnectX-5 on wait 268 ms (16) at least. */
    uint32_t ack_timeout;

    /* How long the peer's adapter waits when this end had no receive posted: an
     * encoded time of the specification, 1 (10 us) .. 31 (491 ms), default 14:
     * 1.28 ms. The default of rdma_cm is 0, which is 655 ms. */
    uint32_t min_rnr_timer;

    /* Type of service of the packets that this end sends, 1..255, as in an IP
     * header (RFC 2474): switches use it to separate RDMA from other traffic.
     * Default 0: that of the system. A server that sets none uses that of its
     * client. */
    uint32_t tos;
};

#define VC_RDMA_OPTS_INIT VC_SIZED_INIT(vc_rdma_opts)
#define VC_RDMA_OPTS(...) VC_SIZED(vc_rdma_opts, __VA_ARGS__)

VC_END_DECLS

#endif
