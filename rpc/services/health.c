/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * grpc.health.v1.Health, a service like any other: except for errors and
 * handles it uses only the public interface. The functions of
 * verbcall/health.h: any thread. The handlers run on the handler's thread: one
 * that was the holder and has released the engine, or one of the crew. The
 * callbacks of Watch run as handlers, on one of the former kind. All share the
 * state under "the lock", that of struct vc_health. */
#include <verbcall/health.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <urcu/list.h>

#include <verbcall/call.h>
#include <verbcall/server.h>

#include "grpc/health/v1/health.vc.h"
#include "transport/core/error.h"
#include "transport/core/handle.h"

/* The health of one name. */
struct state {
    struct state *next;
    bool serving;
    char name[];
};

struct vc_health {
    struct vc__handle handle;
    pthread_mutex_t lock;
    struct state *states;          /* lock */
    unsigned n_states;             /* lock */
    struct cds_list_head watchers; /* lock; of struct watcher */
    unsigned n_watchers;           /* lock */
    bool stopped;                  /* lock */
};

typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus status_word;
typedef struct grpc_health_v1_health_watch_server_stream watch_stream;

#define WORD(name)                                                             \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

/* Called by word_of(), state_put() and vc_health_remove(), with the lock once
 * other threads have h. Returns where the pointer to the state is, or where it
 * would be added. */
static struct state **
state_at(struct vc_health *h, const char *name)
{
    struct state **at = &h->states;

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* Called with the lock, by health_check(), watcher_enter() and
 * health_changed(). Returns what clients get: SERVICE_UNKNOWN for a name
 * without a state. */
static status_word
word_of(struct vc_health *h, const char *name)
{
    const struct state *s = *state_at(h, name);

    if (s == NULL)
        return WORD(SERVICE_UNKNOWN);
    return s->serving && !h->stopped ? WORD(SERVING) : WORD(NOT_SERVING);
}

/* --- Check ------------------------------------------------------------- */

/* The handler of Check, on the handler's thread. VC_OK with *reply, or
 * VC_NOT_FOUND for a name without a state. */
static enum vc_status
health_check(struct vc_call *call,
             const Grpc__Health__V1__HealthCheckRequest *request,
             Grpc__Health__V1__HealthCheckResponse *reply, void *arg)
{
    struct vc_health *h = arg;

    pthread_mutex_lock(&h->lock);
    reply->status = word_of(h, request->service);
    pthread_mutex_unlock(&h->lock);
    if (reply->status == WORD(SERVICE_UNKNOWN))
        return vc_call_fail(call, VC_NOT_FOUND,
                            "the server has set no health state for service %s",
                            request->service);
    return VC_OK;
}

/* --- Watch ------------------------------------------------------------- */

/* A call of Watch, which no thread waits for. A thread that has set `owned`
 * under the lock is its owner until it clears that: only the owner sends, and
 * ends the call. on_end() frees the watcher, and follows only when the owner
 * has ended the call. So the lock is never held while a message is sent or a
 * call is ended, and yet the owner's watcher remains. */
struct watcher {
    struct cds_list_head node; /* lock; in health->watchers */
    struct watcher *after;     /* the owner's; the next one that it owns */
    struct vc_health *health;
    struct vc_call *call; /* the owner's */
    watch_stream *stream; /* the same */
    const char *name;     /* in the request, which lives until on_end() */
    status_word word;     /* lock; the newest of this name */
    status_word sent;     /* lock; the last one that was sent, or UNKNOWN */
    bool full;            /* lock; no room for `word` until on_writable() */
    bool owned;           /* lock */
    enum vc_status over;  /* lock; why the client no longer watches, or VC_OK */
};

/* What the owner of a watcher does next. */
enum watcher_step {
    WATCHER_REST, /* nothing until something changes */
    WATCHER_SEND,
    WATCHER_END,
};

/* Called with the lock, by watcher_take() and watcher_next(). Returns what the
 * owner must do next. A status that must be sent goes before the end by
 * vc_health_stop(), if there is room for it: a client that receives nothing
 * must not keep a server from stopping. */
static enum watcher_step
watcher_step_of(const struct watcher *w)
{
    if (w->over != VC_OK)
        return WATCHER_END;
    if (w->word != w->sent && !w->full)
        return WATCHER_SEND;
    return w->health->stopped ? WATCHER_END : WATCHER_REST;
}

/* Called with the lock by watchers_take(), when states have changed or
 * vc_health_stop() runs, on any thread; and by watcher_wake(), on on_writable()
 * or on_cancel(), as a handler. Not for a new watcher, which has an owner from
 * the start. True: this thread is the owner now, and must call
 * watcher_run() without the lock. False: another thread is, or there is nothing
 * to do. */
static bool
watcher_take(struct watcher *w)
{
    if (w->owned || watcher_step_of(w) == WATCHER_REST)
        return false;
    w->owned = true;
    return true;
}

/* Called by watcher_run(), the owner: returns the next step. If nothing is left
 * to do, this thread is not the owner any more, and must not use the watcher.
 * Else *word is what to send, or *over why the client no longer watches, VC_OK
 * after vc_health_stop(). The watcher counts as full until the message is
 * accepted: on_writable() may run before watcher_send() has the lock again. */
static enum watcher_step
watcher_next(struct watcher *w, status_word *word, enum vc_status *over)
{
    enum watcher_step step;

    pthread_mutex_lock(&w->health->lock);
    step = watcher_step_of(w);
    *word = w->word;
    *over = w->over;
    w->full |= step == WATCHER_SEND;
    w->owned = step != WATCHER_REST;
    pthread_mutex_unlock(&w->health->lock);
    return step;
}

/* Called by watcher_run(), the owner: sends this status. VC_OK also if there is
 * no room: then on_writable() or on_cancel() follows. Other statuses are those
 * of the stream, with the thread's last error. */
static enum vc_status
watcher_send(struct watcher *w, status_word word)
{
    Grpc__Health__V1__HealthCheckResponse said =
        GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    enum vc_status status;
    bool sent;

    said.status = word;
    status =
        grpc_health_v1_health_watch_server_try_send(w->stream, &said, &sent);
    if (status != VC_OK || !sent)
        return status;
    pthread_mutex_lock(&w->health->lock);
    w->sent = word;
    w->full = false;
    pthread_mutex_unlock(&w->health->lock);
    return VC_OK;
}

/* Called by watchers_run(), watcher_wake() and health_watch(), on the owner's
 * thread, without the lock. Sends the newest status, or ends the call; then
 * watcher_on_end() frees the watcher. */
static void
watcher_run(struct watcher *w)
{
    enum watcher_step step;
    status_word word;
    enum vc_status over;

    while ((step = watcher_next(w, &word, &over)) == WATCHER_SEND) {
        enum vc_status status = watcher_send(w, word);

        if (status != VC_OK) {
            vc_call_end(w->call,
                        vc_call_fail(w->call, status, "%s", vc_error()));
            return;
        }
    }
    if (step == WATCHER_REST)
        return;
    if (over == VC_OK)
        over = vc_call_fail(w->call, VC_UNAVAILABLE,
                            "the server is about to stop");
    vc_call_end(w->call, over);
}

/* Called without the lock by vc_health_set(), vc_health_remove() and
 * vc_health_stop(), with what watchers_take() has returned: sends the status to
 * each of these clients, or ends its call. */
static void
watchers_run(struct watcher *w)
{
    while (w != NULL) {
        struct watcher *next = w->after;

        watcher_run(w);
        w = next;
    }
}

/* Called with the lock, by health_changed() and vc_health_stop(). Returns the
 * watchers that this thread now owns, for watchers_run(): those with something
 * to do that no other thread owns. */
static struct watcher *
watchers_take(struct vc_health *h)
{
    struct watcher *w, *all = NULL, **last = &all;

    cds_list_for_each_entry (w, &h->watchers, node) {
        if (watcher_take(w)) {
            *last = w;
            last = &w->after;
        }
    }
    *last = NULL;
    return all;
}

/* Called by watcher_on_writable() and watcher_on_cancel() with the lock, which
 * it releases: the watcher has changed. Calls watcher_run() if this thread is
 * the owner now. */
static void
watcher_wake(struct watcher *w)
{
    bool taken = watcher_take(w);

    pthread_mutex_unlock(&w->health->lock);
    if (taken)
        watcher_run(w);
}

/* on_writable() of the stream, as a handler: there is room for a status. */
static void
watcher_on_writable(watch_stream *stream, void *arg)
{
    struct watcher *w = arg;

    (void)stream;
    pthread_mutex_lock(&w->health->lock);
    w->full = false;
    watcher_wake(w);
}

/* on_cancel() of the stream, as a handler: the client no longer watches. An
 * owner on another thread may have ended the call already; but on_end() runs
 * only after this. */
static void
watcher_on_cancel(watch_stream *stream, enum vc_status status, void *arg)
{
    struct watcher *w = arg;

    (void)stream;
    pthread_mutex_lock(&w->health->lock);
    w->over = status;
    watcher_wake(w);
}

/* Takes the watcher out of the list and frees it. Called by watcher_on_end(),
 * and by health_watch() if no callbacks follow; without the lock. */
static void
watcher_leave(struct watcher *w)
{
    pthread_mutex_lock(&w->health->lock);
    cds_list_del(&w->node);
    w->health->n_watchers--;
    pthread_mutex_unlock(&w->health->lock);
    free(w);
}

/* on_end() of the stream, as a handler, when the owner has ended the call:
 * frees the watcher. */
static void
watcher_on_end(watch_stream *stream, enum vc_status status, void *arg)
{
    (void)stream;
    (void)status;
    watcher_leave(arg);
}

static const struct grpc_health_v1_health_watch_server_events watcher_events = {
    .on_writable = watcher_on_writable,
    .on_cancel = watcher_on_cancel,
    .on_end = watcher_on_end,
};

/* Called by health_watch(). Returns a watcher that this thread owns, so that no
 * other one sends before the stream has callbacks. NULL without memory. */
static struct watcher *
watcher_new(struct vc_health *h, struct vc_call *call, watch_stream *stream,
            const char *name)
{
    struct watcher *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->health = h;
    w->call = call;
    w->stream = stream;
    w->name = name;
    w->sent = WORD(UNKNOWN); /* which is never sent */
    w->owned = true;
    return w;
}

/* Called by health_watch(): adds the watcher to the list, with the present
 * status of its name. False: VC_HEALTH_WATCHERS_MAX calls watch already. */
static bool
watcher_enter(struct watcher *w)
{
    struct vc_health *h = w->health;
    bool enters;

    pthread_mutex_lock(&h->lock);
    enters = h->n_watchers < VC_HEALTH_WATCHERS_MAX;
    if (enters) {
        w->word = word_of(h, w->name);
        cds_list_add_tail(&w->node, &h->watchers);
        h->n_watchers++;
    }
    pthread_mutex_unlock(&h->lock);
    return enters;
}

/* The handler of Watch, on the handler's thread: makes a watcher and sends the
 * first status. The watch ends only by an error. Returns what vc_call_later()
 * does, or the error of a call that cannot watch. */
static enum vc_status
health_watch(struct vc_call *call,
             const Grpc__Health__V1__HealthCheckRequest *request,
             watch_stream *stream, void *arg)
{
    struct watcher *w = watcher_new(arg, call, stream, request->service);
    enum vc_status status;

    if (w == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "the server has no memory for a call of Watch");
    if (!watcher_enter(w)) {
        free(w);
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "%d calls of Watch run already, the most there may "
                            "be: poll with Check instead",
                            VC_HEALTH_WATCHERS_MAX);
    }
    status =
        grpc_health_v1_health_watch_serve(call, stream, &watcher_events, w);
    if (status == VC_RESOURCE_EXHAUSTED || status == VC_INTERNAL)
        watcher_leave(w); /* serve() has failed */
    else
        watcher_run(w);
    return status;
}

static const struct grpc_health_v1_health_methods methods = {
    .check = health_check,
    .watch = health_watch,
};

/* --- for the server ---------------------------------------------------- */

/* Called by state_put(): returns the state of a new name, which the caller adds
 * to the list. NULL without memory. */
static struct state *
state_new(const char *name)
{
    size_t size = strlen(name) + 1;
    struct state *s = malloc(sizeof *s + size);

    if (s != NULL) {
        s->next = NULL;
        memcpy(s->name, name, size);
    }
    return s;
}

/* Called with the lock by vc_health_set(); and by health_new(), before another
 * thread has h. Sets the state of the name, perhaps a new one, and returns
 * true. False without memory, or when there are VC_HEALTH_MAX other names. */
static bool
state_put(struct vc_health *h, const char *name, bool serving)
{
    struct state **at = state_at(h, name);

    if (*at == NULL) {
        if (h->n_states == VC_HEALTH_MAX || (*at = state_new(name)) == NULL)
            return false;
        h->n_states++;
    }
    (*at)->serving = serving;
    return true;
}

/* Called with the lock, by vc_health_set() and vc_health_remove(): this name
 * may have another status now. Returns what watchers_take() does. */
static struct watcher *
health_changed(struct vc_health *h, const char *name)
{
    status_word word = word_of(h, name);
    struct watcher *w;

    cds_list_for_each_entry (w, &h->watchers, node) {
        if (strcmp(w->name, name) == 0)
            w->word = word;
    }
    return watchers_take(h);
}

enum vc_status
vc_health_set(struct vc_health *health, const char *service, bool serving)
{
    struct watcher *due;
    bool good;

    if (!vc__good(health, VC__HEALTH))
        return vc__bad(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    good = state_put(health, service, serving);
    due = health_changed(health, service);
    pthread_mutex_unlock(&health->lock);
    watchers_run(due);
    if (!good)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "no memory for the health of service %s, or %d names "
                        "are there: remove others",
                        service, VC_HEALTH_MAX);
    return VC_OK;
}

enum vc_status
vc_health_remove(struct vc_health *health, const char *service)
{
    struct watcher *due = NULL;
    struct state **at, *s;

    if (!vc__good(health, VC__HEALTH))
        return vc__bad(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    at = state_at(health, service);
    s = *at;
    if (s != NULL) {
        *at = s->next;
        health->n_states--;
        due = health_changed(health, service);
    }
    pthread_mutex_unlock(&health->lock);
    watchers_run(due);
    if (s == NULL)
        return vc__fail(VC_NOT_FOUND, "service %s has no health state",
                        service);
    free(s);
    return VC_OK;
}

void
vc_health_stop(struct vc_health *health)
{
    struct watcher *w, *due;

    vc__must(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    health->stopped = true;
    cds_list_for_each_entry (w, &health->watchers, node) {
        if (w->word == WORD(SERVING))
            w->word = WORD(NOT_SERVING);
    }
    due = watchers_take(health);
    pthread_mutex_unlock(&health->lock);
    watchers_run(due);
}

/* Called by vc_health_new(). Returns an object in which "" is SERVING, for
 * vc_health_free(); NULL without memory. */
static struct vc_health *
health_new(void)
{
    struct vc_health *h = calloc(1, sizeof *h);

    if (h == NULL)
        return NULL;
    vc__handle_init(&h->handle, VC__HEALTH);
    pthread_mutex_init(&h->lock, NULL);
    CDS_INIT_LIST_HEAD(&h->watchers);
    if (state_put(h, "", true))
        return h;
    vc_health_free(h);
    return NULL;
}

enum vc_status
vc_health_new(struct vc_server *server, struct vc_health **health)
{
    struct vc_health *h = health_new();
    enum vc_status status;

    if (h == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = grpc_health_v1_health_add(server, &methods, h);
    if (status == VC_OK)
        *health = h;
    else
        vc_health_free(h);
    return status;
}

/* Also called by health_new() and vc_health_new(), if they fail. */
void
vc_health_free(struct vc_health *health)
{
    struct state *s, *next;

    if (vc__nothing_to_free(health, VC__HEALTH))
        return;
    vc__handle_fini(&health->handle);
    for (s = health->states; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    pthread_mutex_destroy(&health->lock);
    free(health);
}
