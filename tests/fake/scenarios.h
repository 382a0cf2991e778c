/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two ends of a connection in one thread, for the scenarios that run against
 * a real device and against the fake, and must come to the same. */
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
};

/* What the two ends are to be like; all 0 is usual. */
struct wish {
    bool srq;         /* the server receives from one */
    unsigned depth;   /* of the send queues; 16 */
    unsigned timeout; /* RDMA_OPTION_ID_ACK_TIMEOUT of the client */
    uint8_t retry, rnr_retry;
    bool retries_given; /* these two are meant; else 6 and 6 */
    int access;         /* of the server's memory */
};

struct pair {
    struct wish wish;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    uint16_t port;
    struct end client, server;
    struct rdma_cm_event last; /* a copy, without its private data */
    uint8_t said[256];         /* that */
    unsigned said_len;
};

/* A line of the outcome: "scenario: ..." */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The name of an errno, of the value that rdma_... or ibv_... gave. */
const char *errno_name(int err);

/* The next event within ms, in p->last; false: none came. */
bool event_next(struct pair *p, int ms);
/* It must be this one; says what came instead. */
bool event_expect(struct pair *p, enum rdma_cm_event_type type);

void pair_open(struct pair *p, const struct wish *wish);
/* Up to where the client may connect; false says why. */
bool pair_resolve(struct pair *p);
/* A request has come: p->server.id is its id. */
bool pair_ask(struct pair *p, const void *data, uint8_t len);
bool pair_accept(struct pair *p, const void *data, uint8_t len);
/* All of that. */
bool pair_connect(struct pair *p, const struct wish *wish);
void pair_close(struct pair *p);

bool end_make(struct pair *p, struct end *e);
/* Posts a receive of len bytes, a send, ...; what posting gives. */
int end_receive(struct end *e, uint32_t len);
int end_send(struct end *e, uint32_t len, unsigned flags);
/* The next completion within ms: its status, or -1. */
int end_complete(struct end *e, struct ibv_wc *wc, int ms);
/* "success", "WR flushed", ..., "none" */
const char *complete_text(struct end *e, int ms);
const char *state_text(struct end *e);

#endif
