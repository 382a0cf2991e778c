/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The common part of draining and closing a server. An operation begins on
 * engine 0, then on the engine of each part. It waits until all parts are over,
 * or until its timeout, unless vc__server_ops_end() ends it early; then it ends
 * on each part, and at last on engine 0. Any number of operations may be under
 * way. Called by rpc/server/drain.c and rpc/server/server_close.c, in the
 * functions for the program. Any thread, except where noted.
 *
 * Called by: drain.c (new, free, start, run, may_block), server.c (new, free),
 * server_close.c (new, free, start, run, may_block, server_ops_end,
 * server_ops_await), server_link.c (server_ops_check), server_peer.c
 * (server_ops_check). */
#ifndef VC_RPC_SERVER_OP_H
#define VC_RPC_SERVER_OP_H

#include "rpc/server/server.h"

struct vc__server_op;

/* One part of the server in an operation. Belongs to the part's engine, except
 * where noted. */
struct vc__server_op_part {
    struct vc__server_op *op;
    struct vc__server_part *part;
    struct vc__engine *engine; /* the part's, which is the runtime's */
    struct vc__task begin, end;
    struct cds_list_head node; /* in part->ops while `waits` */
    bool waits;
    atomic_bool busy; /* its engine has work for the operation */

    /* The part's results. */
    bool no_memory;
    bool is_late;              /* not over at the timeout */
    unsigned n_calls;          /* that run, or wait for their turn */
    const struct vc_call *old; /* the oldest of them; valid in end() */
    uint64_t old_began;        /* VC__FOREVER: it waits for its turn */
    char old_text[192];        /* names that call */
};

/* The steps of drain.c and of server_close.c; only server_op.c calls them, on
 * the holder of the engine that is named. */
struct vc__server_op_kind {
    const char *done; /* the server's state afterwards: "drained" */

    /* On engine 0, before all else; NULL for a drain. */
    void (*prepare)(struct vc__server_op *op);

    /* On each part's engine: the first step; true if the part is over; the last
     * step, when all parts are over or the timeout has elapsed. */
    void (*begin)(struct vc__server_op_part *p);
    bool (*is_over)(struct vc__server_part *part);
    void (*end)(struct vc__server_op_part *p);

    /* On engine 0, after all parts have ended: sets op->error on failure. */
    void (*result)(struct vc__server_op *op);
};

/* The thread of vc__server_op_run() uses neither the server nor its parts while
 * it waits: once the operation has ended, vc_server_free() on another thread
 * may free both before this one sees that. */
struct vc__server_op {
    struct vc_server *server;
    unsigned n; /* parts, one for each engine */
    const struct vc__server_op_kind *kind;
    uint32_t timeout_ms;
    struct cds_list_head node; /* in server->ops; engine 0 */
    struct vc__timer timer;    /* engine 0 */
    struct vc__task task;      /* on engine 0: the begin, then the end */
    struct vc__task ended;     /* on engine 0 */
    struct vc__task deliver;   /* calls done() */
    atomic_uint left;          /* parts that have not begun, or are not over */
    atomic_uint ending;        /* parts that have not ended */
    bool ends;                 /* engine 0; true once the end has begun */
    bool is_blocking;          /* the thread that waits for `over` frees it */
    struct vc__waiter over;
    struct vc__error error; /* VC_OK: none */
    uint64_t began;

    vc_server_done *done;
    void *arg;
    struct vc__server_op *outer; /* in whose done() this one's is called */

    struct vc__server_op_part parts[]; /* one for each engine */
};

/* new: makes an operation that has not started; NULL without memory, with
 * vc_error(). Called when a drain or close begins; also by vc_server_new(), for
 * the close that vc_server_free() makes; its kind is set later.
 * free: frees one that has not started, or that vc__server_op_run() has run.
 * NULL is allowed. Called by vc_server_drain(), vc_server_close(),
 * vc_server_free(), vc__server_destroy(), and by drain_new() if it fails. */
struct vc__server_op *vc__server_op_new(struct vc_server *server,
                                        const struct vc__server_op_kind *kind);
void vc__server_op_free(struct vc__server_op *op);

/* Starts the operation, which frees itself after done(). done(status, arg) is
 * called on the holder of engine 0, which has released the engine. Called by
 * vc_server_drain_start() and vc_server_close_start(), on any thread. */
void vc__server_op_start(struct vc__server_op *op, uint32_t timeout_ms,
                         vc_server_done *done, void *arg);

/* Runs the operation to its end on this thread, which must not be in a callback
 * of the runtime. The caller owns the operation again afterwards. Returns the
 * operation's status: VC_OK, or that of op->error, with vc_error(). Called by
 * vc_server_drain(), vc_server_close() and vc_server_free(). */
enum vc_status vc__server_op_run(struct vc__server_op *op, uint32_t timeout_ms);

/* Called first by vc_server_drain() and vc_server_close(). Returns
 * VC_FAILED_PRECONDITION with a text inside a callback of the runtime, where
 * the blocking function `what` cannot succeed; else VC_OK. The text names
 * `instead`, which does not block. */
enum vc_status vc__server_op_may_block(const struct vc_server *server,
                                       const char *what, const char *instead);

/* Ends all operations of this kind early, with this error. Called when a close
 * begins, for the drains, by close_prepare() (rpc/server/server_close.c). The
 * holder of engine 0. */
void vc__server_ops_end(struct vc_server *server,
                        const struct vc__server_op_kind *kind,
                        enum vc_status status, const char *text);

/* A link or a client of the part is gone: checks whether operations are over.
 * Called by server_link_free() and peer_free(). The holder of the part's
 * engine. */
void vc__server_ops_check(struct vc__server_part *part);

/* Waits until done() of each operation has returned, except operations in whose
 * done() this thread is: these no longer touch the server. False: there are
 * others, and this thread is in a handler or callback, where it cannot wait for
 * them. Called by vc_server_free(), once the server is closed. */
bool vc__server_ops_await(struct vc_server *server);

#endif
