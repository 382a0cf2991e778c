/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Both ends of a connection, or a datagram service and its client, in one
 * thread, for the scenarios that run on a real device and on the fake, and must
 * have the same results. */
#ifndef FAKE_SCENARIOS_H
#define FAKE_SCENARIOS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER 4096u

/* One end. */
struct end {
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_mr *mr;
    uint8_t *memory; /* BUFFER to send from, BUFFER to receive into */
    /* Of a datagram service and its client: where end_send() sends to. */
    struct ibv_ah *ah;
    uint32_t qpn, qkey;
};

/* The properties of the two ends; 0 means the default. */
struct wish {
    bool datagrams;   /* RDMA_PS_UDP */
    bool srq;         /* the server receives from an SRQ */
    unsigned depth;   /* of the send queues; 16 */
    unsigned timeout; /* RDMA_OPTION_ID_ACK_TIMEOUT of the client */
    uint8_t retry, rnr_retry;
    bool retries_given; /* use these two; else 6 and 6 */
    bool most;          /* the client asks for as many READs as possible */
    bool bare;          /* the server accepts without parameters */
    int access;         /* of the server's memory */
    const char *from;   /* the client's address; else the routes choose */
};

struct pair {
    struct wish wish;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    uint16_t port;
    struct end client, server;
    struct rdma_cm_event last; /* a copy, without the private data */
    uint8_t said[256];         /* the private data of `last` */
    unsigned said_len;
};

/* Prints one line of the outcome: "scenario: ..." */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the name of an errno value that rdma_... or ibv_... returned. */
const char *errno_name(int err);

/* Gets the next event into p->last; false: none came within ms. */
bool event_next(struct pair *p, int ms);
/* Expects this event; false, and prints what came instead. */
bool event_expect(struct pair *p, enum rdma_cm_event_type type);

void pair_open(struct pair *p, const struct wish *wish);
/* Goes up to the resolved route; false, and prints why. */
bool pair_resolve(struct pair *p);
/* Gets the connect request: p->server.id is its id. */
bool pair_ask(struct pair *p, const void *data, uint8_t len);
bool pair_accept(struct pair *p, const void *data, uint8_t len);
/* All of these steps. */
bool pair_connect(struct pair *p, const struct wish *wish);
void pair_close(struct pair *p);

bool end_make(struct pair *p, struct end *e);
void end_free(struct end *e);
/* Post a receive of len bytes, or a send; return what posting returned. */
int end_receive(struct end *e, uint32_t len);
int end_send(struct end *e, uint32_t len, unsigned flags);
/* Returns the status of the next completion, or -1 if none came within ms. */
int end_complete(struct end *e, struct ibv_wc *wc, int ms);
/* Returns "success", "WR flushed", ..., or "none". */
const char *complete_text(struct end *e, int ms);
const char *state_text(struct end *e);
/* Gets the most RDMA READs at a time that the end's QP takes from its peer, and
 * sends to it; false when the QP cannot be queried. */
bool end_depths(struct end *e, unsigned *in, unsigned *out);

/* Further scenarios of the program faithful: accepts.c. */
void accepted_with_words(void);
void accepted_without_parameters(void);

#endif
