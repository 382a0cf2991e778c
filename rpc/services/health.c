/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * grpc.health.v1.Health, a service like any other: except for errors and
 * handles it uses only the public interface. The functions of
 * verbcall/health.h: any thread. The handlers run on any thread that runs
 * handlers, and share the state with them under "the lock", that of struct
 * vc_health. */
#include <verbcall/health.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    pthread_cond_t changed; /* signalled when any of these changes */
    struct state *states;   /* lock */
    unsigned n_states;      /* lock */
    unsigned n_watchers;    /* lock */
    bool stopped;           /* lock */
};

typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus status_word;

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

/* Called with the lock, by health_check() and watcher_await(). Returns what
 * clients get: SERVICE_UNKNOWN for a name without a state. */
static status_word
word_of(struct vc_health *h, const char *name)
{
    const struct state *s = *state_at(h, name);

    if (s == NULL)
        return WORD(SERVICE_UNKNOWN);
    return s->serving && !h->stopped ? WORD(SERVING) : WORD(NOT_SERVING);
}

/* --- Check ------------------------------------------------------------- */

/* The handler of Check, on any thread that runs handlers. VC_OK with *reply, or
 * VC_NOT_FOUND. */
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

struct watcher {
    struct vc_health *health;
    bool over; /* health->lock; true if the client no longer watches */
};

/* Set by vc_call_on_cancel(): the client no longer watches. On a thread that
 * advances the runtime, or at once within vc_call_on_cancel(). */
static void
watcher_over(struct vc_call *call, void *arg)
{
    struct watcher *w = arg;

    (void)call;
    pthread_mutex_lock(&w->health->lock);
    w->over = true;
    pthread_cond_broadcast(&w->health->changed);
    pthread_mutex_unlock(&w->health->lock);
}

/* Called by watcher_run(); blocks the handler's thread. Waits until the status
 * differs from *word. False: the watch must end; the last status has been
 * sent. */
static bool
watcher_await(struct watcher *w, const char *name, status_word *word)
{
    struct vc_health *h = w->health;
    status_word old = *word;

    pthread_mutex_lock(&h->lock);
    while ((*word = word_of(h, name)) == old && !w->over && !h->stopped)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return *word != old;
}

/* Called by health_watch(), on the handler's thread: sends the status, and each
 * change of it. Returns VC_UNAVAILABLE when the watch must end, else the error
 * of sending. */
static enum vc_status
watcher_run(struct watcher *w, const char *name,
            struct grpc_health_v1_health_watch_server_stream *stream)
{
    Grpc__Health__V1__HealthCheckResponse said =
        GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    status_word word = WORD(UNKNOWN); /* which is never sent */

    while (watcher_await(w, name, &word)) {
        enum vc_status status;

        said.status = word;
        status = grpc_health_v1_health_watch_server_send(stream, &said);
        if (status != VC_OK)
            return status;
    }
    return VC_UNAVAILABLE;
}

/* Called by health_watch(). False: VC_HEALTH_WATCHERS_MAX calls watch
 * already. */
static bool
watcher_enter(struct vc_health *h)
{
    bool enters;

    pthread_mutex_lock(&h->lock);
    enters = h->n_watchers < VC_HEALTH_WATCHERS_MAX;
    if (enters)
        h->n_watchers++;
    pthread_mutex_unlock(&h->lock);
    return enters;
}

/* Called at the end of health_watch(), if watcher_enter() was true. */
static void
watcher_leave(struct vc_health *h)
{
    pthread_mutex_lock(&h->lock);
    h->n_watchers--;
    pthread_mutex_unlock(&h->lock);
}

/* The handler of Watch; it keeps its thread for as long as the client watches.
 * Returns a status other than VC_OK, as a watch ends only by an error. */
static enum vc_status
health_watch(struct vc_call *call,
             const Grpc__Health__V1__HealthCheckRequest *request,
             struct grpc_health_v1_health_watch_server_stream *stream,
             void *arg)
{
    struct watcher w = {.health = arg};
    enum vc_status status;

    if (!watcher_enter(w.health))
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "%d calls of Watch run already, the most there may "
                            "be: poll with Check instead",
                            VC_HEALTH_WATCHERS_MAX);
    status = vc_call_on_cancel(call, watcher_over, &w);
    if (status == VC_OK)
        status = watcher_run(&w, request->service, stream);
    vc_call_on_cancel(call, NULL, NULL);
    watcher_leave(w.health);
    return status != VC_UNAVAILABLE
               ? status
               : vc_call_fail(call, status, "the server is about to stop");
}

static const struct grpc_health_v1_health_methods methods = {
    .check = health_check,
    .watch = health_watch,
};

/* --- for the server ---------------------------------------------------- */

/* Called by state_put(). NULL without memory. */
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
 * thread has h. False without memory, or when all names are used. */
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

enum vc_status
vc_health_set(struct vc_health *health, const char *service, bool serving)
{
    bool good;

    if (!vc__good(health, VC__HEALTH))
        return vc__bad(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    good = state_put(health, service, serving);
    pthread_cond_broadcast(&health->changed);
    pthread_mutex_unlock(&health->lock);
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
    struct state **at, *s;

    if (!vc__good(health, VC__HEALTH))
        return vc__bad(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    at = state_at(health, service);
    s = *at;
    if (s != NULL) {
        *at = s->next;
        health->n_states--;
        pthread_cond_broadcast(&health->changed);
    }
    pthread_mutex_unlock(&health->lock);
    if (s == NULL)
        return vc__fail(VC_NOT_FOUND, "service %s has no health state",
                        service);
    free(s);
    return VC_OK;
}

void
vc_health_stop(struct vc_health *health)
{
    vc__must(health, VC__HEALTH);
    pthread_mutex_lock(&health->lock);
    health->stopped = true;
    pthread_cond_broadcast(&health->changed);
    pthread_mutex_unlock(&health->lock);
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
    pthread_cond_init(&h->changed, NULL);
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
    pthread_cond_destroy(&health->changed);
    pthread_mutex_destroy(&health->lock);
    free(health);
}
