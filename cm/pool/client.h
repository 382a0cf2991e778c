/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client: the calls of one service through a pool, on behalf of one owner. It
 * has a session at the pool's present peer, opened in the packet of its first
 * call, and the requests that wait for a link or a slot. Any thread, without
 * the pool's lock unless the comment says otherwise.
 *
 * Called by: rpc/balance/health_watch.c (init, close, start, abandon, add),
 * rpc/balance/subchannel.c (init, close), rpc/client/attempt.c (start,
 * abandon), rpc/client/stream_again.c (start, add), rpc/client/stream_open.c
 * (start, move), rpc/client/stream_client.c (abandon, add), client.c (launch,
 * take), gate.c (launch, take), pool.c (launch, take), pool_link.c (launch). */
#ifndef VC_CM_CLIENT_H
#define VC_CM_CLIENT_H

#include <verbcall/service.h>

#include "cm/pool/session.h"

struct vc__gate;
struct vc__pool;

struct vc__client {
    struct vc__pool *pool;
    struct cds_list_head node; /* in pool->clients */
    struct vc__client *next;   /* for its owner's own list */
    void *owner;               /* for its owner */
    const struct vc_service *service;
    struct vc__session *session;  /* lock; NULL: none at pool->peer */
    struct cds_list_head waiting; /* lock; of struct vc__request */
    uint32_t weight;              /* 1..VC__WEIGHT_MAX */
    uint32_t quota; /* bytes of requests in progress at a time; 0: no limit */
    bool closed;    /* lock: true once closed; then `held`, too */
    bool held;      /* lock: true while no request is sent */
    bool own_used;  /* lock: true while `own` is in use */
    struct vc__gate *gate;  /* lock; NULL: none holds its requests back */
    struct vc__session own; /* lock: memory for one session */
};

/* Initialises a client in the caller's memory, and adds it to the pool. Called
 * for the first attempt of a service at a server of a channel, on the thread
 * that starts the attempt; and when a server's health is to be watched, on the
 * thread that adds the server. */
void vc__client_init(struct vc__client *c, struct vc__pool *pool,
                     const struct vc_service *service, uint32_t weight,
                     uint32_t quota);

/* Ends its requests with VC_CANCELLED: failed() runs before this returns. It
 * accepts no more. A second call does nothing. Called on the thread of
 * vc_channel_close(); by an attempt that is a service's first and meets the
 * closing; and on the holder when a server was dropped, or the watch of its
 * health ends. vc__pool_cancel() must follow if it may have requests: that
 * wakes a sleeping holder that waits for one of them. */
void vc__client_close(struct vc__client *c);

/* Sends a request, or queues it until it can be sent. May call failed() before
 * it returns. Called for each attempt of a call or stream, on the thread that
 * starts it, and on the holder for the stream that watches the health. */
void vc__client_start(struct vc__client *c, struct vc__request *r);

/* Abandons a request: its callbacks will not run. *outcome says whether it may
 * have been executed. Returns false, without *outcome, if it is too late:
 * replied() or failed() runs, has run, or is due; or the request was abandoned
 * before. Called after a deadline or a cancel, maybe under a canceller's lock,
 * when another attempt of the call has won, and when a stream or the watch of
 * the health ends early. */
bool vc__client_abandon(struct vc__client *c, struct vc__request *r,
                        enum vc_outcome *outcome);

/* --- under the pool's lock; the last two, of streams, without it --------- */

/* Sends as many waiting requests as possible. The caller must push the links
 * afterwards. Those for which there is no session or memory go to
 * pool->refused, for vc__pool_refuse(). On the holder when a link comes up or
 * goes down, a gate opens, or a frame of a session has come; on any thread when
 * a request was abandoned. */
void vc__client_launch(struct vc__client *c);

/* Moves all waiting requests to `out`; the caller then fails them. On the
 * holder when no server can be reached, or none with the service, or the gate
 * is shut; on the thread that closes the client. */
void vc__client_take(struct vc__client *c, struct cds_list_head *out);

/* A stream's request, which has ended at its client, if it has one, is started
 * at this one next. Afterwards vc__client_add() refuses messages for the former
 * one. Without the lock, on the thread that starts the attempt, before
 * vc__client_start(). */
void vc__client_move(struct vc__client *to, struct vc__request *r);

/* Sends one more frame of a stream (a message, HALF or WINDOW), or queues it
 * with its waiting request. Returns false if the request has ended there, or was
 * moved to another client: the frame is still the caller's. Without the lock, on
 * a thread that uses the stream, or on the holder. */
bool vc__client_add(struct vc__client *c, struct vc__request *r,
                    struct vc__send *send);

#endif
