/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Completion queues. A queue lists the ended calls themselves, so that no end
 * is lost if memory is short. A thread that waits advances the engine that
 * calls of this queue are under way on; if there are several, one after the
 * other. Any thread of the program; over_by_queue() runs on the holder, and so
 * do the functions that it calls then. The lock is the queue's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rpc/client/async.h"
#include "rpc/client/call_opts.h"

/* With calls on several engines, a thread waits for each so long at a time; it
 * advances the engine, unless another thread does. */
#define SLICE_MS 1u

/* A thread in vc_completions_next(). */
struct looker {
    struct vc__waiter waiter;
    struct cds_list_head node; /* in queue->lookers, while it waits */
    struct vc__engine *engine;
    bool woken;
};

struct vc_completions {
    struct vc__handle handle;
    struct vc_runtime *runtime;
    struct vc__lock lock;
    struct cds_list_head ended;   /* lock; of struct vc_async */
    struct cds_list_head lookers; /* lock */
    unsigned holders;             /* lock; the owner, and calls under way */
    unsigned turn;                /* lock; of the engines */
    bool freed;                   /* lock */
    int fd;                       /* lock; -1 until requested */
    unsigned under_way[];         /* lock; calls on each engine */
};

/* --- the descriptor ---------------------------------------------------- */

/* For over_by_queue() and vc_completions_fd(): makes the descriptor readable,
 * if there is one: an ended call is in the queue. Under the lock. */
static void
fd_raise(struct vc_completions *q)
{
    uint64_t one = 1;

    /* It fails only if the counter is full; then the descriptor is readable. */
    if (q->fd >= 0 && write(q->fd, &one, sizeof one) < 0)
        return;
}

/* Makes it unreadable: called by ended_take() when the last ended call is
 * taken. Under the lock. */
static void
fd_lower(struct vc_completions *q)
{
    uint64_t count;

    if (q->fd >= 0 && read(q->fd, &count, sizeof count) < 0)
        return;
}

int
vc_completions_fd(struct vc_completions *q)
{
    int fd;

    if (!vc__good(q, VC__COMPLETIONS)) {
        vc__bad(q, VC__COMPLETIONS);
        return -1;
    }
    vc__lock_take(&q->lock);
    if (q->fd < 0) {
        q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (q->fd < 0)
            vc__fail(VC_RESOURCE_EXHAUSTED,
                     "no file descriptor for the completion queue: raise "
                     "ulimit -n");
        else if (!cds_list_empty(&q->ended))
            fd_raise(q);
    }
    fd = q->fd;
    vc__lock_give(&q->lock);
    return fd;
}

/* --- creating and freeing ---------------------------------------------- */

enum vc_status
vc_completions_new(struct vc_runtime *runtime, struct vc_completions **queue)
{
    struct vc_completions *q;

    if (!vc__good(runtime, VC__RUNTIME))
        return vc__bad(runtime, VC__RUNTIME);
    q = calloc(1, sizeof *q + runtime->n * sizeof q->under_way[0]);
    if (q == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__handle_init(&q->handle, VC__COMPLETIONS);
    q->runtime = runtime;
    q->fd = -1;
    q->holders = 1;
    vc__lock_init(&q->lock);
    CDS_INIT_LIST_HEAD(&q->ended);
    CDS_INIT_LIST_HEAD(&q->lookers);
    *queue = q;
    return VC_OK;
}

/* Drops a reference to the queue, for vc_completions_free() and
 * over_by_queue(); the last one frees it. Under the lock, which it releases. */
static void
completions_queue_put(struct vc_completions *q)
{
    bool last = --q->holders == 0;

    vc__lock_give(&q->lock);
    if (!last)
        return;
    if (q->fd >= 0)
        close(q->fd);
    free(q);
}

/* Frees the reply of an ended call that no thread took before its queue was
 * freed, and drops the queue's reference to the call. Called by
 * vc_completions_free() or over_by_queue(), without the lock. */
static void
completions_drop(struct vc_async *a)
{
    if (a->won->error.status == VC_OK)
        vc_message_free(a->won->reply);
    vc__async_put(a);
}

void
vc_completions_free(struct vc_completions *q)
{
    struct vc_async *a, *next;
    CDS_LIST_HEAD(ended);

    if (vc__nothing_to_free(q, VC__COMPLETIONS))
        return;
    vc__handle_fini(&q->handle);
    vc__lock_take(&q->lock);
    q->freed = true;
    cds_list_splice(&q->ended, &ended);
    CDS_INIT_LIST_HEAD(&q->ended);
    completions_queue_put(q);
    cds_list_for_each_entry_safe (a, next, &ended, node)
        completions_drop(a);
}

/* --- calls ------------------------------------------------------------- */

/* For call_join() and over_by_queue(): returns the index in under_way[] of an
 * engine of the queue's runtime. */
static unsigned
engine_number(const struct vc_completions *q, const struct vc__engine *e)
{
    const struct vc__progress *p =
        caa_container_of(e, struct vc__progress, engine);

    return (unsigned)(p - q->runtime->progress);
}

/* For over_by_queue() and lookers_move(): wakes a thread in completions_look().
 * Under the lock. A looker that is the holder of its engine sleeps where only a
 * kick wakes it. held: the engine whose holder this thread is, or NULL: its
 * lookers need no kick. */
static void
looker_wake(struct looker *l, const struct vc__engine *held)
{
    struct vc__engine *e = l->engine;

    cds_list_del(&l->node);
    l->woken = true;
    vc__waiter_done(&l->waiter);
    if (e != held)
        vc__engine_kick(e);
}

/* A call begins on an engine that no call of this queue was under way on:
 * threads that look at other engines must look at it, too. For call_join(),
 * under the lock. */
static void
lookers_move(struct vc_completions *q, const struct vc__engine *e)
{
    struct looker *l, *next;

    cds_list_for_each_entry_safe (l, next, &q->lookers, node) {
        if (l->engine != e)
            looker_wake(l, NULL);
    }
}

/* Called by vc_channel_call_queued() before the call starts: the queue counts
 * it, and lives until it is over. */
static void
call_join(struct vc_completions *q, struct vc_async *a)
{
    a->queue = q;
    vc__lock_take(&q->lock);
    q->holders++;
    if (q->under_way[engine_number(q, a->engine)]++ == 0)
        lookers_move(q, a->engine);
    vc__lock_give(&q->lock);
}

/* over() of the call: async_finish() calls it on the holder of its engine.
 * Leaves the channel, puts the call into the queue and wakes one looker; if the
 * queue was freed, drops the call. */
static void
over_by_queue(struct vc_async *a)
{
    struct vc_completions *q = a->queue;
    bool freed;

    vc__async_leave(a);
    vc__lock_take(&q->lock);
    q->under_way[engine_number(q, a->engine)]--;
    freed = q->freed;
    if (!freed) {
        if (cds_list_empty(&q->ended))
            fd_raise(q);
        cds_list_add_tail(&a->node, &q->ended);
        if (!cds_list_empty(&q->lookers))
            looker_wake(cds_list_entry(q->lookers.next, struct looker, node),
                        a->engine);
    }
    completions_queue_put(q);
    if (freed)
        completions_drop(a);
}

/* For vc_channel_call_queued(): VC_OK if channel and queue are valid and have
 * the same runtime, else VC_INVALID_ARGUMENT. */
static enum vc_status
queue_check(const struct vc_channel *channel,
            const struct vc_completions *queue)
{
    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    if (!vc__good(queue, VC__COMPLETIONS))
        return vc__bad(queue, VC__COMPLETIONS);
    return queue->runtime == channel->runtime
               ? VC_OK
               : vc__fail(VC_INVALID_ARGUMENT,
                          "the completion queue is of another runtime: make it "
                          "with that of the channel");
}

enum vc_status
vc_channel_call_queued(struct vc_channel *channel,
                       const struct vc_service *service, unsigned method,
                       const void *request, const struct vc_call_opts *opts,
                       struct vc_completions *queue, void *tag,
                       struct vc_async **call)
{
    struct vc_async *a;
    enum vc_status status = queue_check(channel, queue);

    if (status != VC_OK)
        return status;
    if (!vc__method_is_unary(service, method))
        return vc__method_check(service, method, false);
    a = vc__async_new_seen(channel, service, method, request, opts,
                           over_by_queue);
    if (a == NULL)
        return vc__error_last()->status;
    a->arg = tag;
    if (call != NULL) {
        vc__async_hold(a);
        *call = a;
    }
    call_join(queue, a);
    vc__async_start(a);
    return VC_OK;
}

/* --- waiting ----------------------------------------------------------- */

/* For vc_completions_next(): fills the program's completion, which then owns
 * the reply, and drops the queue's reference to the call. */
static void
completion_fill(struct vc_completion *c, struct vc_async *a)
{
    const struct vc__error *error = &a->won->error;
    bool good = error->status == VC_OK;

    _Static_assert(sizeof c->text == sizeof error->text, "the text fits");
    c->tag = a->arg;
    c->status = error->status;
    c->outcome = good ? VC_OUTCOME_EXECUTED : error->outcome;
    c->reply = good ? a->won->reply : NULL;
    c->text[0] = '\0';
    if (!good)
        memcpy(c->text, error->text, strlen(error->text) + 1);
    vc__async_put(a);
}

/* For ended_next(): takes the oldest ended call, with its reference. Under the
 * lock. NULL if there is none. */
static struct vc_async *
ended_take(struct vc_completions *q)
{
    struct vc_async *a;

    if (cds_list_empty(&q->ended))
        return NULL;
    a = cds_list_entry(q->ended.next, struct vc_async, node);
    cds_list_del(&a->node);
    if (cds_list_empty(&q->ended))
        fd_lower(q);
    return a;
}

/* For completions_look(), under the lock. Returns the next engine with calls,
 * or the first if none has any. *only is set if no other engine has calls. */
static struct vc__engine *
engine_choose(struct vc_completions *q, bool *only)
{
    unsigned n = q->runtime->n, busy = 0, chosen = 0;

    for (unsigned i = 1; i <= n; i++) {
        unsigned at = (q->turn + i) % n;

        if (q->under_way[at] > 0 && busy++ == 0)
            chosen = at;
    }
    q->turn = chosen;
    *only = busy <= 1;
    return &q->runtime->progress[chosen].engine;
}

/* For ended_await(): waits, advancing an engine, until this thread is woken,
 * until `until`, or for its slice of time. Returns at once if an ended call is
 * in the queue. */
static void
completions_look(struct vc_completions *q, uint64_t until)
{
    struct looker l = {.woken = false};
    uint64_t slice = until;
    bool only;

    vc__waiter_init(&l.waiter);
    vc__lock_take(&q->lock);
    if (!cds_list_empty(&q->ended)) {
        vc__lock_give(&q->lock);
        return;
    }
    l.engine = engine_choose(q, &only);
    cds_list_add_tail(&l.node, &q->lookers);
    vc__lock_give(&q->lock);
    if (!only)
        slice = vc__after_ms(vc__now(), SLICE_MS);
    vc__engine_wait(l.engine, &l.waiter, slice < until ? slice : until);
    vc__lock_take(&q->lock);
    if (!l.woken)
        cds_list_del(&l.node);
    vc__lock_give(&q->lock);
}

/* For vc_completions_next() and ended_await(): takes the lock, and the oldest
 * ended call, as ended_take(). NULL if there is none. */
static struct vc_async *
ended_next(struct vc_completions *q)
{
    struct vc_async *a;

    vc__lock_take(&q->lock);
    a = ended_take(q);
    vc__lock_give(&q->lock);
    return a;
}

/* For vc_completions_next(): waits for an ended call, at most until `until`;
 * NULL if there is none. */
static struct vc_async *
ended_await(struct vc_completions *q, uint64_t until)
{
    for (;;) {
        struct vc_async *a;
        bool late = until != VC__FOREVER && vc__now() >= until;

        /* Even without time the engine gets a turn. */
        completions_look(q, until);
        a = ended_next(q);
        if (a != NULL || late)
            return a;
    }
}

enum vc_status
vc_completions_next(struct vc_completions *q, uint32_t timeout_ms,
                    struct vc_completion *completion)
{
    struct vc_async *a;

    if (!vc__good(q, VC__COMPLETIONS))
        return vc__bad(q, VC__COMPLETIONS);
    a = ended_next(q);
    if (a == NULL)
        a = ended_await(q, vc__due(vc__now(), timeout_ms));
    if (a == NULL)
        return vc__fail(VC_DEADLINE_EXCEEDED, "no call ended within %u ms",
                        timeout_ms);
    completion_fill(completion, a);
    return VC_OK;
}
