/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client: somebody who calls one service through a pool. It has a session at
 * the pool's present peer, opened in the packet of its first call, and the
 * requests that wait for a link or a slot. */
#ifndef VC_CM_CLIENT_H
#define VC_CM_CLIENT_H

#include <verbcall/service.h>

#include "cm/pool/session.h"

struct vc__pool;

struct vc__client {
    struct vc__pool *pool;
    struct cds_list_head node; /* in pool->clients */
    struct vc__client *next;   /* its owner's own list */
    const struct vc_service *service;
    struct vc__session *session;  /* lock; NULL: none at the present peer */
    struct cds_list_head waiting; /* lock; of struct vc__request */
    uint32_t weight;              /* 1..VC__WEIGHT_MAX */
    uint32_t quota; /* bytes of requests under way at a time, 0 for any */
    bool closed;    /* lock */
    bool own_used;  /* lock */
    struct vc__session own; /* lock: room for one */
};

/* In the caller's memory. Any thread, without the pool's lock, as all of
 * these. */
void vc__client_init(struct vc__client *c, struct vc__pool *pool,
                     const struct vc_service *service, uint32_t weight,
                     uint32_t quota);

/* Ends its requests with VC_CANCELLED; no more are taken. Once more does
 * nothing. Who waits for one as the holder, asleep, is woken by
 * vc__pool_cancel(), which is to follow. */
void vc__client_close(struct vc__client *c);

/* Sends a request, or lets it wait until it can go. */
void vc__client_start(struct vc__client *c, struct vc__request *r);

/* The caller does not want it any more. False: too late, replied() or
 * failed() runs or has run. *outcome says whether it may have been executed. */
bool vc__client_abandon(struct vc__client *c, struct vc__request *r,
                        enum vc_outcome *outcome);

/* --- for the pool, under its lock -------------------------------------- */

/* Lets what waits go as far as it can; what was appended must be pushed. */
void vc__client_launch(struct vc__client *c);

/* Takes all that waits. */
void vc__client_take(struct vc__client *c, struct cds_list_head *out);

/* One more message of a stream: it is sent, or waits with its request. False
 * when that has ended. Any thread. */
bool vc__client_add(struct vc__client *c, struct vc__request *r,
                    struct vc__send *send);

#endif
