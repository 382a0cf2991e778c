/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How the queue pairs of RDMA connections are set: for those who know their
 * network. Channels and servers take these options by their field `rdma`; what
 * goes over TCP, shared memory or within the process takes no notice. */
#ifndef VERBCALL_RDMA_H
#define VERBCALL_RDMA_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* In place of 0, which stands for the default. */
#define VC_RDMA_NONE UINT32_MAX

/* It begins as VC_RDMA_OPTS_INIT, or is written where it is used as
 * VC_CHANNEL_OPTS(.rdma = VC_RDMA_OPTS(.tos = 104)); 0 in a field means its
 * default. It is copied. Each end sets its own queue pair by its own options:
 * what the peer asks for raises nothing. */
struct vc_rdma_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* RDMA READs and atomic operations at a time, 1..255 or VC_RDMA_NONE,
     * default 16: those that this end takes from its peer, and those that it
     * sends. The queue pair gets the least of this, of what the device can
     * (max_qp_rd_atom, max_qp_init_rd_atom of ibv_query_device(3)) and of what
     * the peer says. Each costs the adapter some memory a connection, which is
     * why it is not as many as can be; calls use none of them. */
    uint32_t responder_resources;
    uint32_t initiator_depth;

    /* 1: the peer is told that hardware flow control is available; default 0.
     * rdma_connect(3) and rdma_accept(3) exchange it, and it configures
     * nothing: Verbcall has its own (doc/wire.md). For peers that ask for it. */
    uint32_t flow_control;

    /* How often the adapter sends a packet again that the peer's adapter does
     * not acknowledge, 1..6 or VC_RDMA_NONE, default 6. The specification would
     * allow 7, by which Soft-RoCE sends again for ever, so that a dead peer
     * would never be found by it. */
    uint32_t retry_count;

    /* How often it sends one again for which the peer had no receive, 1..6 or
     * VC_RDMA_NONE, default 6; 7 would be for ever. The peer's program is told
     * the same for what it sends. Credits keep this from happening between ends
     * that keep the rules. */
    uint32_t rnr_retry_count;

    /* How long the adapter waits for an acknowledgement: 4.096 us times two to
     * the power of this, 1..31, default 14: 67 ms. rdma_cm's own is 19 as a rule,
     * by which one lost packet costs 2 s. Adapters may wait for longer: those of
     * Mellanox from ConnectX-5 on for 268 ms (16) at least. */
    uint32_t ack_timeout;

    /* How long the peer's adapter waits when this end had no receive for it: an
     * encoded time of the specification, 1 (10 us) .. 31 (491 ms), default 14:
     * 1.28 ms. rdma_cm's own is 0, which is 655 ms. */
    uint32_t min_rnr_timer;

    /* Type of service of what this end sends, 1..255, as in an IP header (RFC
     * 2474): switches tell RDMA from other traffic by it. Default 0: that of the
     * system. A server without one of its own answers with its client's. */
    uint32_t tos;
};

#define VC_RDMA_OPTS_INIT VC_SIZED_INIT(vc_rdma_opts)
#define VC_RDMA_OPTS(...) VC_SIZED(vc_rdma_opts, __VA_ARGS__)

VC_END_DECLS

#endif
