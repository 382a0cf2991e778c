/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connections as a program makes them that uses nothing but rdma_cm and verbs:
 * rdma_create_qp(), rdma_connect() and rdma_accept(), and an end that sleeps in
 * rdma_get_cm_event(). PD, CQ and SRQ are made once, and QPs are as Verbcall's:
 * 64 sends, 256 bytes inline. */
#ifndef BENCH_RAW_CONNECT_H
#define BENCH_RAW_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include <netdb.h>
#include <rdma/rdma_cma.h>

struct raw_end {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct ibv_pd *pd; /* with the rest NULL until the first connection */
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_mr *mr;
    char room[64]; /* all that is received goes here */
};

/* raw_serve - accepts connections at this address, port 0, on a thread that
 * lives until the process ends. The port, or 0. */
uint16_t raw_serve(struct raw_end *end, const struct addrinfo *addr);

/* raw_open, raw_close - the end that connects. */
bool raw_open(struct raw_end *end);
void raw_close(struct raw_end *end);

/* raw_connect - connects, and has sent a first message as short as ours; the
 * id, or NULL. raw_leave - ends it. */
struct rdma_cm_id *raw_connect(struct raw_end *end,
                               const struct addrinfo *addr);
void raw_leave(struct raw_end *end, struct rdma_cm_id *id);

/* raw_qp_new - a QP as those of the connections, after the first of them, or
 * NULL. raw_qp_init - moves it to INIT. raw_qp_reset - leaves it as it was
 * made, as after a connection. */
struct ibv_qp *raw_qp_new(struct raw_end *end);
bool raw_qp_init(struct ibv_qp *qp);
bool raw_qp_reset(struct ibv_qp *qp);

#endif
