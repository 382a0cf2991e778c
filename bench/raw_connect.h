/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connections of a program that uses rdma_cm and verbs only: rdma_create_qp(),
 * rdma_connect() and rdma_accept(), and an end that sleeps in
 * rdma_get_cm_event(). PD, CQ and SRQ are created once. The QPs are as
 * Verbcall's: 64 sends, 256 bytes inline. */
#ifndef BENCH_RAW_CONNECT_H
#define BENCH_RAW_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include <netdb.h>
#include <rdma/rdma_cma.h>

struct raw_end {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct ibv_pd *pd; /* NULL, with the rest, until the first connection */
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_mr *mr;
    char room[64]; /* the buffer of all receives */
};

/* raw_serve - accepts connections at this address, port 0, on a thread that
 * lives until the process ends. Returns the port, or 0 on an error. */
uint16_t raw_serve(struct raw_end *end, const struct addrinfo *addr);

/* raw_open, raw_close - open and close the end that connects. */
bool raw_open(struct raw_end *end);
void raw_close(struct raw_end *end);

/* raw_connect - connects, and posts a first message as short as Verbcall's.
 * Returns the id, or NULL. raw_leave - disconnects and destroys the id. */
struct rdma_cm_id *raw_connect(struct raw_end *end,
                               const struct addrinfo *addr);
void raw_leave(struct raw_end *end, struct rdma_cm_id *id);

/* raw_qp_new - creates a QP like those of the connections; call it after the
 * first connection. Returns NULL on an error. raw_qp_init - moves the QP to
 * INIT. raw_qp_reset - moves the QP to ERR and RESET, as after a connection. */
struct ibv_qp *raw_qp_new(struct raw_end *end);
bool raw_qp_init(struct ibv_qp *qp);
bool raw_qp_reset(struct ibv_qp *qp);

#endif
