/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_cancel.h. The section "notifying" runs on the
 * holder; the others on the thread of vc_call_is_cancelled() or
 * vc_call_on_cancel(), which may be any; server_cancel_engine_of(),
 * watch_fire() and watch_put() on both. */
#include "rpc/server/server_cancel.h"
#include "rpc/server/stream_server.h"

#include <stdlib.h>

#include <verbcall/call.h>

#include "rpc/server/server_counts.h"
#include "rpc/server/server_thread.h"

/* A handler's request to be notified. The call holds a reference, and so does
 * any thread that is about to use it. */
struct vc__call_watch {
    atomic_uint refs;
    struct vc_call *call; /* valid until the call has ended */

    pthread_mutex_t lock;
    void (*tell)(struct vc_call *call, void *arg); /* lock; NULL: none set */
    void *arg;                                     /* lock */
    bool running;                                  /* lock; tell() is running */
    pthread_t runner;                              /* lock; its thread */
    struct vc__waiter *unset;                      /* lock; waits for its end */
    bool armed;                                    /* lock; timer requested */

    /* The holder's. */
    struct vc__task arm;    /* starts `timer` */
    struct vc__timer timer; /* the deadline */
    bool over;              /* the call has ended */
};

/* Returns the engine of the call. Called by watch_set(), arm_run() and
 * vc__call_unwatch(). */
static struct vc__engine *
server_cancel_engine_of(const struct vc_call *call)
{
    return &vc__call_part(call)->progress->engine;
}

/* --- watches ----------------------------------------------------------- */

/* Drops a reference; the last one frees the watch. Called by watch_of(),
 * call_tell(), arm_run(), vc__call_unwatch() and vc_call_on_cancel(). */
static void
watch_put(struct vc__call_watch *w)
{
    if (atomic_fetch_sub(&w->refs, 1) > 1)
        return;
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void arm_run(struct vc__task *task);

/* Makes a watch with one reference, for the call. NULL without memory. Called
 * by watch_of(). */
static struct vc__call_watch *
watch_new(struct vc_call *call)
{
    struct vc__call_watch *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    atomic_init(&w->refs, 1);
    w->call = call;
    w->arm.run = arm_run;
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

/* Returns the call's watch, which is made at the first use, without a reference
 * for the caller; NULL without memory. Called by vc_call_on_cancel(). */
static struct vc__call_watch *
watch_of(struct vc_call *call)
{
    struct vc__call_watch *w = atomic_load(&call->watch), *was = NULL;

    if (w != NULL)
        return w;
    w = watch_new(call);
    if (w == NULL)
        return NULL;
    if (atomic_compare_exchange_strong(&call->watch, &was, w))
        return w;
    watch_put(w); /* another thread was faster */
    return was;
}

/* Runs tell(), if it is set, without the lock. The call may end before that
 * returns, so the caller must hold the watch. Called by call_tell(), and by
 * vc_call_on_cancel() if the call is cancelled already. */
static void
watch_fire(struct vc__call_watch *w)
{
    void (*tell)(struct vc_call * call, void *arg);
    struct vc__waiter *unset;
    void *arg;

    pthread_mutex_lock(&w->lock);
    tell = w->tell;
    arg = w->arg;
    w->tell = NULL;
    if (tell != NULL) {
        w->running = true;
        w->runner = pthread_self();
    }
    pthread_mutex_unlock(&w->lock);
    if (tell == NULL)
        return;
    tell(w->call, arg);
    pthread_mutex_lock(&w->lock);
    w->running = false;
    unset = w->unset;
    w->unset = NULL;
    pthread_mutex_unlock(&w->lock);
    if (unset != NULL)
        vc__waiter_done(unset);
}

/* --- notifying --------------------------------------------------------- */

/* Notifies the handler, if it asked for that, and cancels the calls whose
 * parent this one is; once. Called by vc__call_cancel(), or by
 * server_cancel_on_deadline(). Sequentially consistent, as are
 * vc_call_on_cancel() and vc__parent_children(): either they see that the call
 * is cancelled, or this function sees its watch and its children. */
static void
call_tell(struct vc_call *call)
{
    struct vc__call_watch *w;

    if (!vc__parent_cancel(&call->parent))
        return;
    vc__server_count(call->site.session, VC__COUNT_calls_cancelled, 1);
    w = atomic_load(&call->watch);
    if (w != NULL)
        atomic_fetch_add(&w->refs, 1);
    vc__parent_cancel_children(&call->parent);
    if (w == NULL)
        return;
    watch_fire(w);
    watch_put(w);
}

void
vc__call_cancel(struct vc_call *call)
{
    call->unwanted = true;
    if (call->stream != NULL)
        vc__stream_server_cancelled(call);
    call_tell(call);
    vc__thread_forgo(call);
}

/* The timer of arm_run(), on the holder: the call's deadline has passed. */
static void
server_cancel_on_deadline(struct vc__timer *timer)
{
    call_tell(caa_container_of(timer, struct vc__call_watch, timer)->call);
}

/* A task, posted by watch_set(), on the holder: starts the timer of the
 * deadline, unless the call has ended; drops the task's reference. Without
 * memory for the timer the handler is not notified of its deadline. */
static void
arm_run(struct vc__task *task)
{
    struct vc__call_watch *w =
        caa_container_of(task, struct vc__call_watch, arm);

    if (!w->over)
        vc__timer_start(&server_cancel_engine_of(w->call)->timers, &w->timer,
                        w->call->site.due, server_cancel_on_deadline);
    watch_put(w);
}

void
vc__call_unwatch(struct vc_call *call)
{
    struct vc__call_watch *w = atomic_exchange(&call->watch, NULL);

    if (w == NULL)
        return;
    w->over = true;
    vc__timer_stop(&server_cancel_engine_of(call)->timers, &w->timer);
    watch_put(w);
}

/* --- for handlers ------------------------------------------------------ */

/* Declared in verbcall/call.h: called by handlers, vc_call_on_cancel() and
 * protobuf_c_server_turn_run(). Unless the call was cancelled, this counts as
 * reading the deadline: see vc_call_deadline_us(). */
bool
vc_call_is_cancelled(const struct vc_call *call)
{
    vc__must(call, VC__CALL);
    return atomic_load(&call->parent.cancelled) ||
           vc_call_deadline_us(call) == 0;
}

/* Called by watch_set(), with the lock. Waits, without the lock, until no
 * tell() runs. False inside of tell(), or if another thread waits already. */
static bool
watch_still(struct vc__call_watch *w)
{
    while (w->running) {
        struct vc__waiter waiter;

        if (pthread_equal(w->runner, pthread_self()) || w->unset != NULL)
            return false;
        vc__waiter_init(&waiter);
        w->unset = &waiter;
        pthread_mutex_unlock(&w->lock);
        vc__waiter_await(&waiter);
        pthread_mutex_lock(&w->lock);
    }
    return true;
}

/* Called by watch_set(), with the lock. True if the timer of the deadline must
 * be started, which only the holder may do; then takes a reference for
 * `arm`. */
static bool
must_arm(struct vc__call_watch *w)
{
    bool arm = w->tell != NULL && !w->armed && w->call->site.due != VC__FOREVER;

    if (arm) {
        w->armed = true;
        atomic_fetch_add(&w->refs, 1);
    }
    return arm;
}

/* Called by vc_call_on_cancel(), with the lock: sets tell(), or none if it is
 * NULL, and posts the task that starts the timer, if must_arm() asks for it.
 * False, and nothing is set, if watch_still() is false. */
static bool
watch_set(struct vc__call_watch *w,
          void (*tell)(struct vc_call *call, void *arg), void *arg)
{
    if (!watch_still(w))
        return false;
    w->tell = tell;
    w->arg = arg;
    if (must_arm(w))
        vc__engine_post(server_cancel_engine_of(w->call), &w->arm);
    return true;
}

/* Once the lock is released tell() may end the call, and the server with its
 * engine may be freed. After that only the watch is used, to which a
 * reference is held. watch_fire() takes the lock after the call was
 * cancelled: so either watch_fire() finds tell(), or this function sees that
 * the call is cancelled. */
enum vc_status
vc_call_on_cancel(struct vc_call *call,
                  void (*tell)(struct vc_call *call, void *arg), void *arg)
{
    struct vc__call_watch *w;
    bool set, late;

    if (!vc__good(call, VC__CALL))
        return vc__bad(call, VC__CALL);
    w = watch_of(call);
    if (w == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    atomic_fetch_add(&w->refs, 1);
    pthread_mutex_lock(&w->lock);
    set = watch_set(w, tell, arg);
    late = set && tell != NULL && vc_call_is_cancelled(call);
    pthread_mutex_unlock(&w->lock);
    if (late)
        watch_fire(w);
    watch_put(w);
    return set ? VC_OK
               : vc__fail(VC_FAILED_PRECONDITION,
                          "vc_call_on_cancel() within its own callback, or on "
                          "two threads at a time: call it elsewhere");
}
