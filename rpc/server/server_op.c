/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_op.h. "Engine 0", or "the part's engine", means: on the
 * holder of that. All tasks but `deliver` are posted, so they run in the order
 * of posting: the tasks that a part has posted to engine 0 run before the
 * part's end. */
#include "rpc/server/server_op.h"

#include <stdlib.h>

#include "rpc/server/server_log.h"
#include "transport/core/handoff.h"

/* With several engines, each one without a thread of the library is advanced
 * for this long at a time: longer than a holder polls, so that it sleeps. */
#define SLICE_MS 10u
/* Rounds over all engines without sleep, before the first with SLICE_MS. */
#define ROUNDS 4u

/* The operation in whose done() this thread is; the innermost one. */
static _Thread_local struct vc__server_op *delivering;

/* Returns engine 0. Called by the functions of this file, on any thread. */
static struct vc__engine *
home_of(const struct vc__server_op *op)
{
    return &op->server->runtime->progress[0].engine;
}

/* --- on all parts ------------------------------------------------------- */

/* Posts a task to the part's engine. Called on engine 0, by op_begin() and
 * op_end(). */
static void
part_post(struct vc__server_op_part *p, struct vc__task *task)
{
    atomic_store(&p->busy, true);
    vc__engine_post(p->engine, task);
}

static void op_end(struct vc__server_op *op);

/* A task on engine 0, posted by part_over(): all parts are over, so the
 * operation ends, unless its end has begun. */
static void
on_over(struct vc__task *task)
{
    op_end(caa_container_of(task, struct vc__server_op, task));
}

/* Counts one down; true for the last. Called by part_over() and part_end(), on
 * the part's engine: for the last part the operation then goes on on engine 0;
 * and by op_leave(), on any thread: the last operation has ended. */
static bool
part_is_last(atomic_uint *left)
{
    /* Acquire and release: engine 0 sees what all parts have found. */
    return atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel) == 1;
}

/* The part is over; the last one ends the operation. Called on the part's
 * engine, by part_begin() and vc__server_ops_check(). */
static void
part_over(struct vc__server_op_part *p)
{
    struct vc__server_op *op = p->op;

    if (p->waits)
        cds_list_del(&p->node);
    p->waits = false;
    atomic_store(&p->busy, false);
    if (!part_is_last(&op->left))
        return;
    op->task.run = on_over;
    vc__engine_post(home_of(op), &op->task);
}

void
vc__server_ops_check(struct vc__server_part *part)
{
    struct vc__server_op_part *p, *next;

    cds_list_for_each_entry_safe (p, next, &part->ops, node) {
        if (p->op->kind->is_over(part))
            part_over(p);
    }
}

/* A task on the part's engine, posted by op_begin(): the first step. The part
 * then waits in part->ops, unless it is over. */
static void
part_begin(struct vc__task *task)
{
    struct vc__server_op_part *p =
        caa_container_of(task, struct vc__server_op_part, begin);

    p->op->kind->begin(p);
    if (p->op->kind->is_over(p->part)) {
        part_over(p);
        return;
    }
    p->waits = true;
    cds_list_add_tail(&p->node, &p->part->ops);
}

/* --- the end -------------------------------------------------------------- */

/* The last user in n_ops wakes vc__server_ops_await(). Called when an operation
 * has ended, by op_deliver() or server_op_on_ended(), and for the owner by
 * vc__server_ops_await(). Any thread. */
static void
op_leave(struct vc_server *server)
{
    struct vc__engine *home = &server->runtime->progress[0].engine;

    if (!part_is_last(&server->n_ops))
        return;
    vc__waiter_done(&server->no_ops);
    /* The thread that frees the server may be the holder, asleep. The engine
     * still exists: this thread is about to return into it. */
    vc__engine_kick(home);
}

/* A task of server_op_on_ended(), which engine 0 runs like a handler: on its
 * holder, which releases the engine meanwhile. Calls done(), of an operation
 * that vc__server_op_start() has started, and frees the operation. */
static void
op_deliver(struct vc__task *task)
{
    struct vc__server_op *op =
        caa_container_of(task, struct vc__server_op, deliver);
    struct vc__handler_run *handler_run =
        vc__engine_release(home_of(op), NULL, NULL);

    if (op->error.status != VC_OK)
        vc__error_raise(&op->error);
    op->outer = delivering;
    delivering = op;
    op->done(op->error.status, op->arg);
    delivering = op->outer;
    vc__engine_resume(handler_run);
    if (op->server != NULL) /* done() did not free the server */
        op_leave(op->server);
    free(op);
}

/* Logs how the operation has ended. Called by server_op_on_ended(). */
static void
op_log(const struct vc__server_op *op)
{
    if (op->error.status == VC_OK)
        vc__server_log(op->server, VC__LOG_SERVER, "%s", op->kind->done);
    else
        vc__server_log(op->server, VC__LOG_SERVER, "not %s: %s", op->kind->done,
                       op->error.text);
}

/* A task on engine 0, posted by the last part_end(): the operation has ended.
 * Sets its result, and wakes the thread of vc__server_op_run(), or queues
 * op_deliver(). */
static void
server_op_on_ended(struct vc__task *task)
{
    struct vc__server_op *op =
        caa_container_of(task, struct vc__server_op, ended);

    cds_list_del(&op->node);
    if (op->error.status == VC_OK)
        op->kind->result(op);
    op_log(op);
    if (op->is_blocking) {
        op_leave(op->server);
        vc__waiter_done(&op->over); /* op may be freed from here on */
        return;
    }
    op->deliver.run = op_deliver;
    vc__engine_handle(home_of(op), &op->deliver);
}

/* A task on the part's engine, posted by op_end(): the last step. */
static void
part_end(struct vc__task *task)
{
    struct vc__server_op_part *p =
        caa_container_of(task, struct vc__server_op_part, end);
    struct vc__server_op *op = p->op;

    op->kind->end(p);
    if (p->waits)
        cds_list_del(&p->node);
    p->waits = false;
    atomic_store(&p->busy, false);
    if (!part_is_last(&op->ending))
        return;
    op->ended.run = server_op_on_ended;
    vc__engine_post(home_of(op), &op->ended);
}

/* Engine 0: has each part end. Does something at the first call only. Called by
 * on_over(), server_op_on_timer(), server_op_timer_set() and
 * vc__server_ops_end(). The task of on_over() may still be posted then: it runs
 * before server_op_on_ended() is posted, since all parts must end first. */
static void
op_end(struct vc__server_op *op)
{
    if (op->ends)
        return;
    op->ends = true;
    vc__timer_stop(&home_of(op)->timers, &op->timer);
    for (unsigned i = 0; i < op->n; i++) {
        op->parts[i].end.run = part_end;
        part_post(&op->parts[i], &op->parts[i].end);
    }
}

void
vc__server_ops_end(struct vc_server *server,
                   const struct vc__server_op_kind *kind, enum vc_status status,
                   const char *text)
{
    struct vc__server_op *op;

    cds_list_for_each_entry (op, &server->ops, node) {
        if (op->kind != kind || op->ends)
            continue;
        vc__error_put(&op->error, status, "%s", text);
        op_end(op);
    }
}

/* --- begin ---------------------------------------------------------------- */

/* The timer of server_op_timer_set(), on engine 0: the timeout has elapsed. */
static void
server_op_on_timer(struct vc__timer *timer)
{
    op_end(caa_container_of(timer, struct vc__server_op, timer));
}

/* Called by op_begin() on engine 0: starts the timer of the timeout, if there
 * is one. Without memory for the timer the operation fails. */
static void
server_op_timer_set(struct vc__server_op *op)
{
    uint64_t due = vc__due(op->began, op->timeout_ms);

    if (due == VC__FOREVER || vc__timer_start(&home_of(op)->timers, &op->timer,
                                              due, server_op_on_timer))
        return;
    vc__error_put(&op->error, VC_RESOURCE_EXHAUSTED,
                  "out of memory for a timer");
    op_end(op);
}

/* A task on engine 0, posted by op_post(): begins the operation on each
 * part. */
static void
op_begin(struct vc__task *task)
{
    struct vc__server_op *op =
        caa_container_of(task, struct vc__server_op, task);

    cds_list_add_tail(&op->node, &op->server->ops);
    if (op->kind->prepare != NULL)
        op->kind->prepare(op);
    for (unsigned i = 0; i < op->n; i++)
        part_post(&op->parts[i], &op->parts[i].begin);
    server_op_timer_set(op);
}

/* Begins the operation, by a task on engine 0. Any thread: that of
 * vc__server_op_start() or vc__server_op_run(). */
static void
op_post(struct vc__server_op *op, uint32_t timeout_ms)
{
    op->timeout_ms = timeout_ms;
    op->began = vc__now();
    op->ends = false;
    op->error.status = VC_OK;
    atomic_store(&op->left, op->n);
    atomic_store(&op->ending, op->n);
    for (unsigned i = 0; i < op->n; i++) {
        struct vc__server_part *part = &op->server->parts[i];

        op->parts[i] =
            (struct vc__server_op_part){.op = op,
                                        .part = part,
                                        .engine = &part->progress->engine,
                                        .begin.run = part_begin};
    }
    op->task.run = op_begin;
    atomic_fetch_add(&op->server->n_ops, 1);
    vc__engine_post(home_of(op), &op->task);
}

struct vc__server_op *
vc__server_op_new(struct vc_server *server,
                  const struct vc__server_op_kind *kind)
{
    unsigned n = server->runtime->n;
    struct vc__server_op *op = calloc(1, sizeof *op + n * sizeof op->parts[0]);

    if (op == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    op->server = server;
    op->n = n;
    op->kind = kind;
    return op;
}

void
vc__server_op_free(struct vc__server_op *op)
{
    free(op);
}

void
vc__server_op_start(struct vc__server_op *op, uint32_t timeout_ms,
                    vc_server_done *done, void *arg)
{
    op->done = done;
    op->arg = arg;
    op_post(op, timeout_ms);
}

/* --- waiting -------------------------------------------------------------- */

/* Called by op_await(), with several engines: advances each engine that has
 * work for the operation, or engine 0 if there is none. */
static void
op_advance(struct vc__server_op *op, uint32_t slice_ms)
{
    bool any = false;

    for (unsigned i = op->n; i-- > 0;) {
        struct vc__engine *e = op->parts[i].engine;

        if (i > 0 ? !atomic_load(&op->parts[i].busy) : any)
            continue;
        any = i > 0;
        vc__engine_wait(e, &op->over, vc__after_ms(vc__now(), slice_ms));
    }
}

/* Waits for op->over on the thread of vc__server_op_run(), and advances the
 * engines meanwhile. */
static void
op_await(struct vc__server_op *op)
{
    if (op->n == 1) {
        vc__engine_wait(op->parts[0].engine, &op->over, VC__FOREVER);
        return;
    }
    for (unsigned i = 0; !vc__waiter_is_done(&op->over); i++)
        op_advance(op, i < ROUNDS ? 0 : SLICE_MS);
}

enum vc_status
vc__server_op_run(struct vc__server_op *op, uint32_t timeout_ms)
{
    op->is_blocking = true;
    vc__waiter_init(&op->over);
    op_post(op, timeout_ms);
    op_await(op);
    return op->error.status == VC_OK ? VC_OK : vc__error_raise(&op->error);
}

enum vc_status
vc__server_op_may_block(const struct vc_server *server, const char *what,
                        const char *instead)
{
    if (!vc__runtime_is_within(server->runtime))
        return VC_OK;
    return vc__fail(VC_FAILED_PRECONDITION,
                    "%s() within a handler or done() would wait for itself: "
                    "call %s",
                    what, instead);
}

/* Returns how many of the server's operations have this thread in their done().
 * Called by vc__server_ops_await(). */
static unsigned
delivering_count(const struct vc_server *server)
{
    unsigned n = 0;

    for (struct vc__server_op *op = delivering; op != NULL; op = op->outer)
        n += op->server == server;
    return n;
}

/* Called by vc__server_ops_await(): the operations in whose done() this thread
 * is, if any, do not touch the server any more. */
static void
delivering_forget(struct vc_server *server)
{
    for (struct vc__server_op *op = delivering; op != NULL; op = op->outer) {
        if (op->server == server) {
            op->server = NULL;
            atomic_fetch_sub(&server->n_ops, 1);
        }
    }
}

bool
vc__server_ops_await(struct vc_server *server)
{
    unsigned mine = delivering_count(server);

    if (vc__runtime_is_within(server->runtime) &&
        atomic_load(&server->n_ops) != mine + 1) /* one for the owner */
        return false;
    delivering_forget(server);
    op_leave(server);
    vc__engine_wait(&server->runtime->progress[0].engine, &server->no_ops,
                    VC__FOREVER);
    return true;
}
