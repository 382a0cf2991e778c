/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a drain and a close of a server have in common. An operation begins on
 * engine 0, then on the engine of each part; it waits until all parts are over,
 * or for its time; then it ends on each part, and at last on engine 0. Any
 * number of them may be under way. */
#ifndef VC_RPC_SERVER_OP_H
#define VC_RPC_SERVER_OP_H

#include "rpc/server/server.h"

struct vc__server_op;

/* One part of the server, as an operation sees it. The part's engine, but for
 * what is said. */
struct vc__server_op_part {
    struct vc__server_op *op;
    struct vc__server_part *part;
    struct vc__task begin, end;
    struct cds_list_head node; /* in part->ops while it `waits` */
    bool waits;
    atomic_bool busy; /* its engine has something to do for the operation */

    /* What it has found. */
    bool no_memory;
    bool is_late;              /* it was not over in time */
    unsigned n_calls;          /* that still run, */
    const struct vc_call *old; /* the oldest of them; valid in end() */
    uint64_t old_began;
    char old_text[192]; /* names it */
};

struct vc__server_op_kind {
    const char *done; /* what the server is then: "drained" */

    /* On engine 0, before all else; NULL: nothing. */
    void (*prepare)(struct vc__server_op *op);

    /* On each part's engine: at first; whether it is over; when all are over
     * or the time is. */
    void (*begin)(struct vc__server_op_part *p);
    bool (*is_over)(struct vc__server_part *part);
    void (*end)(struct vc__server_op_part *p);

    /* On engine 0, behind all of that: writes op->error unless it is good. */
    void (*result)(struct vc__server_op *op);
};

struct vc__server_op {
    struct vc_server *server;
    const struct vc__server_op_kind *kind;
    uint32_t timeout_ms;
    struct cds_list_head node; /* in server->ops; engine 0 */
    struct vc__timer timer;    /* engine 0 */
    struct vc__task task;      /* on engine 0: it begins, all are over */
    struct vc__task ended;     /* on engine 0 */
    struct vc__task deliver;   /* calls done() */
    atomic_uint left;          /* parts that have not begun, or are not over */
    atomic_uint ending;        /* parts that have not ended */
    bool ends;                 /* engine 0 */
    bool is_blocking;          /* whoever waits for `over` frees it */
    struct vc__waiter over;
    struct vc__error error; /* VC_OK: none */
    uint64_t began;

    vc_server_done *done;
    void *arg;
    struct vc__server_op *outer; /* whose done() has called this one's */

    struct vc__server_op_part parts[]; /* one an engine */
};

/* NULL, with vc_error(), without memory. */
struct vc__server_op *vc__server_op_new(struct vc_server *server,
                                        const struct vc__server_op_kind *kind);
void vc__server_op_free(struct vc__server_op *op);

/* done(status, arg) follows on a thread that advances the runtime. Any
 * thread. */
void vc__server_op_start(struct vc__server_op *op, uint32_t timeout_ms,
                         vc_server_done *done, void *arg);

/* Runs it to its end on this thread, which is in no callback of the runtime.
 * The operation is the caller's again. */
enum vc_status vc__server_op_run(struct vc__server_op *op, uint32_t timeout_ms);

/* VC_FAILED_PRECONDITION with a text within a callback of the runtime, where
 * `what`, which blocks, cannot succeed. */
enum vc_status vc__server_op_may_block(const struct vc_server *server,
                                       const char *what, const char *instead);

/* The time of all of this kind is over, with this error. Engine 0. */
void vc__server_ops_end(struct vc_server *server,
                        const struct vc__server_op_kind *kind,
                        enum vc_status status, const char *text);

/* A link or a client of the part has gone. The part's engine. */
void vc__server_ops_check(struct vc__server_part *part);

/* Waits until done() of each operation has returned, but for those in which
 * this thread is: they do not touch the server any more. False: this thread is
 * in a callback, where others cannot be waited for. */
bool vc__server_ops_await(struct vc_server *server);

#endif
