/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/resolver.h. */
#include "rpc/balance/resolver.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/balance/changes.h"
#include "rpc/balance/endpoint_metadata.h"
#include "rpc/options.h"
#include "transport/core/handle.h"

#define WATCHES 16u
/* Between two calls of again(). */
#define AGAIN_US UINT64_C(1000000)

/* A descriptor that the resolver watches; its source's fd is -1 if it is
 * free. */
struct watch {
    struct vc__source source;
    struct vc_resolver *resolver;
    void (*ready)(void *state, int fd);
};

struct vc_resolver {
    struct vc__handle handle;
    const struct vc_resolver_type *type;
    struct vc__changes *changes;
    struct vc__engine *engine;
    struct vc__waiter stopped;

    pthread_mutex_t lock;
    void *state;               /* lock; set when open() has returned */
    bool is_open;              /* lock: open() has returned VC_OK */
    bool posted;               /* lock: `task` is posted */
    bool times;                /* lock: the timer is to be set, to: */
    uint64_t due;              /* lock */
    void (*fire)(void *state); /* lock; NULL: to be stopped */
    bool again;                /* lock: again() is to be called */
    uint64_t asked;            /* lock: when it was last */
    bool closing;              /* lock */

    /* The holder's. */
    struct vc__task task;
    struct vc__timer timer;
    void (*timed)(void *state); /* what the timer calls */
    struct watch watches[WATCHES];
};

/* --- the holder's part, unless a comment or the header says otherwise ----- */

/* fire() of the timer: calls the function that vc_resolver_timer() was given.
 * Not if another time was asked for, which the task will set, or the resolver
 * is being closed. */
static void
resolver_on_timer(struct vc__timer *timer)
{
    struct vc_resolver *r = caa_container_of(timer, struct vc_resolver, timer);
    bool replaced;

    pthread_mutex_lock(&r->lock);
    replaced = r->times || r->closing;
    pthread_mutex_unlock(&r->lock);
    if (!replaced)
        r->timed(r->state);
}

/* For resolver_run(): sets the timer, or stops it, if `fire` is NULL. If memory
 * is short the resolver is called at once. */
static void
timer_set(struct vc_resolver *r, uint64_t due, void (*fire)(void *state))
{
    r->timed = fire;
    if (fire == NULL)
        vc__timer_stop(&r->engine->timers, &r->timer);
    else if (!vc__timer_start(&r->engine->timers, &r->timer, due,
                              resolver_on_timer))
        fire(r->state);
}

/* For resolver_run(), when the resolver is being closed: stops the timer and
 * watches no descriptor any more, so that nothing of the resolver is called on
 * the holder, and ends the wait of vc__resolver_close(). */
static void
resolver_stop(struct vc_resolver *r)
{
    vc__timer_stop(&r->engine->timers, &r->timer);
    for (unsigned i = 0; i < WATCHES; i++) {
        if (r->watches[i].source.fd >= 0)
            vc__engine_remove(r->engine, &r->watches[i].source);
        r->watches[i].source.fd = -1;
    }
    vc__waiter_done(&r->stopped);
}

/* The task: sets the timer and calls again(), if that was asked for; or, when
 * the resolver is being closed, stops all. */
static void
resolver_run(struct vc__task *task)
{
    struct vc_resolver *r = caa_container_of(task, struct vc_resolver, task);
    bool times, again, closing;
    void (*fire)(void *state);
    uint64_t due;

    pthread_mutex_lock(&r->lock);
    closing = r->closing;
    r->posted = closing; /* once it is closed no task is posted any more */
    times = r->times;
    due = r->due;
    fire = r->fire;
    again = r->again;
    r->times = r->again = false;
    pthread_mutex_unlock(&r->lock);
    if (closing) {
        resolver_stop(r);
        return;
    }
    if (times)
        timer_set(r, due, fire);
    if (again)
        r->type->again(r->state);
}

/* For what asks the holder for something, as vc_resolver_timer() and
 * vc__resolver_again(), and for opening and closing: has resolver_run() called,
 * once open() has returned. Under the lock, on any thread. */
static void
resolver_post(struct vc_resolver *r)
{
    if (r->is_open && !r->posted) {
        r->posted = true;
        vc__engine_post(r->engine, &r->task);
    }
}

void
vc_resolver_timer(struct vc_resolver *r, uint32_t ms, void (*fire)(void *state))
{
    vc__must(r, VC__RESOLVER);
    pthread_mutex_lock(&r->lock);
    r->times = true;
    r->due = vc__now() + (uint64_t)ms * 1000u;
    r->fire = fire;
    resolver_post(r);
    pthread_mutex_unlock(&r->lock);
}

void
vc__resolver_again(struct vc_resolver *r, uint64_t now)
{
    if (r->type->again == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (r->is_open && !r->closing && now >= r->asked + AGAIN_US) {
        r->asked = now;
        r->again = true;
        resolver_post(r);
    }
    pthread_mutex_unlock(&r->lock);
}

/* --- descriptors, on the holder ------------------------------------------- */

/* ready() of a watch's source. */
static void
watch_on_ready(struct vc__source *s)
{
    struct watch *w = caa_container_of(s, struct watch, source);

    /* The engine reports several events at a time: it may be forgotten
     * since. */
    if (s->fd >= 0)
        w->ready(w->resolver->state, s->fd);
}

/* For vc_resolver_watch() and vc_resolver_forget(): the watch of this
 * descriptor; of -1: a free one. NULL: there is none. */
static struct watch *
watch_find(struct vc_resolver *r, int fd)
{
    for (unsigned i = 0; i < WATCHES; i++) {
        if (r->watches[i].source.fd == fd)
            return &r->watches[i];
    }
    return NULL;
}

/* For vc_resolver_watch(): a descriptor that is not watched yet, in a free
 * watch. What it reports is no traffic. VC_RESOURCE_EXHAUSTED if the kernel
 * refuses it: then the watch stays free. */
static enum vc_status
descriptor_add(struct vc_resolver *r, struct watch *w, int fd)
{
    int err;

    w->source =
        (struct vc__source){.fd = fd, .ready = watch_on_ready, .judges = true};
    w->resolver = r;
    err = vc__engine_add(r->engine, &w->source);
    if (err == 0)
        return VC_OK;
    w->source.fd = -1;
    return vc__fail(VC_RESOURCE_EXHAUSTED, "vc_resolver_watch(): %s",
                    strerror(err));
}

enum vc_status
vc_resolver_watch(struct vc_resolver *r, int fd, bool writes,
                  void (*ready)(void *state, int fd))
{
    struct watch *w;
    enum vc_status status = VC_OK;

    if (!vc__good(r, VC__RESOLVER))
        return vc__bad(r, VC__RESOLVER);
    if (fd < 0 || ready == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_resolver_watch(): fd is negative, or ready is "
                        "NULL");
    w = watch_find(r, fd);
    if (w == NULL) {
        w = watch_find(r, -1);
        if (w == NULL)
            return vc__fail(VC_RESOURCE_EXHAUSTED,
                            "vc_resolver_watch(): a resolver watches at most "
                            "%u descriptors",
                            WATCHES);
        status = descriptor_add(r, w, fd);
    }
    if (status != VC_OK)
        return status;
    w->ready = ready;
    vc__engine_await_room(r->engine, &w->source, writes);
    return VC_OK;
}

void
vc_resolver_forget(struct vc_resolver *r, int fd)
{
    struct watch *w;

    vc__must(r, VC__RESOLVER);
    w = fd < 0 ? NULL : watch_find(r, fd);
    if (w == NULL)
        return;
    vc__engine_remove(r->engine, &w->source);
    w->source.fd = -1;
}

/* --- what it says: any thread --------------------------------------------- */

static const struct vc__option endpoint_numbers[] = {
    VC__OPTION_IN(vc_endpoint, weight, 1, 1, VC_ENDPOINT_WEIGHT_MAX),
    VC__OPTION_IN(vc_endpoint, priority, 0, 1, VC_ENDPOINT_PRIORITY_MAX),
};

static const struct vc__options endpoint_opts =
    VC__OPTIONS(vc_endpoint, "VC_ENDPOINT_INIT", endpoint_numbers);

/* Copies a text of an endpoint, or "" for NULL, for endpoint_take().
 * VC_INVALID_ARGUMENT if it is too long. */
static enum vc_status
endpoint_text(char *out, size_t size, const char *text, const char *name)
{
    size_t len = text == NULL ? 0 : strnlen(text, size);

    if (len == size)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.%s: \"%.60s...\" is longer than %zu bytes",
                        name, text, size - 1);
    memcpy(out, text == NULL ? "" : text, len + 1);
    return VC_OK;
}

/* Copies and checks an endpoint, for vc_resolver_set(). VC_INVALID_ARGUMENT if
 * it is malformed; whether its target is, is checked when its server is made.
 * Its metadata were checked. */
static enum vc_status
endpoint_take(struct vc__endpoint *out, const void *from,
              struct vc__endpoint_room *room)
{
    struct vc_endpoint e;
    enum vc_status status = vc__options_take(&e, &endpoint_opts, from);

    if (status != VC_OK)
        return status;
    vc__endpoint_metadata_copy(out, e.metadata, e.n_metadata, room);
    if (e.target == NULL || e.target[0] == '\0')
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.target: there is none");
    out->weight = e.weight;
    out->priority = e.priority;
    status = endpoint_text(out->target, sizeof out->target, e.target, "target");
    if (status == VC_OK)
        status = endpoint_text(out->label, sizeof out->label, e.label, "label");
    if (status == VC_OK)
        status = endpoint_text(out->hash_key, sizeof out->hash_key, e.hash_key,
                               "hash_key");
    return status;
}

/* Endpoint i of an array of the program, whose structs may have another size.
 * For vc_resolver_set() and endpoints_room(). */
static const void *
endpoint_at(const struct vc_endpoint *endpoints, size_t i)
{
    return (const char *)endpoints + i * endpoints->size;
}

/* For vc_resolver_set(): checks the metadata of all, and returns in *room what
 * a copy takes. VC_INVALID_ARGUMENT if some are not allowed. */
static enum vc_status
endpoints_room(const struct vc_endpoint *endpoints, size_t n, size_t *room)
{
    enum vc_status status = VC_OK;
    struct vc_endpoint e;

    *room = 0;
    for (size_t i = 0; i < n && status == VC_OK; i++) {
        status =
            vc__options_copy(&e, &endpoint_opts, endpoint_at(endpoints, i));
        if (status == VC_OK)
            status = vc__endpoint_metadata_check(&e, room);
    }
    return status;
}

enum vc_status
vc_resolver_set(struct vc_resolver *r, const struct vc_endpoint *endpoints,
                size_t n)
{
    struct vc__endpoint_room memory;
    struct vc__endpoint *copy;
    enum vc_status status;
    size_t room;

    if (!vc__good(r, VC__RESOLVER))
        return vc__bad(r, VC__RESOLVER);
    if (n == 0 || n > VC_ENDPOINTS_MAX || endpoints == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_resolver_set(): %zu endpoints: there must be 1 to "
                        "%u",
                        n, VC_ENDPOINTS_MAX);
    status = endpoints_room(endpoints, n, &room);
    if (status != VC_OK)
        return status;
    copy = vc__endpoints_new(n, room, &memory);
    if (copy == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < n && status == VC_OK; i++)
        status = endpoint_take(&copy[i], endpoint_at(endpoints, i), &memory);
    if (status == VC_OK)
        return vc__changes_set(r->changes, copy, (unsigned)n);
    free(copy);
    return status;
}

void
vc_resolver_fail(struct vc_resolver *r, const char *why)
{
    vc__must(r, VC__RESOLVER);
    vc__changes_fail(r->changes, why == NULL ? "no reason is known" : why);
}

/* --- opening and closing: on the threads in resolver.h -------------------- */

/* For vc__resolver_open() and vc__resolver_make(): makes a resolver that is not
 * open yet. NULL if memory is short; no error is set. */
static struct vc_resolver *
resolver_new(const struct vc_resolver_type *type, struct vc__changes *changes,
             struct vc__engine *engine)
{
    struct vc_resolver *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    vc__handle_init(&r->handle, VC__RESOLVER);
    r->type = type;
    r->changes = changes;
    r->engine = engine;
    r->task.run = resolver_run;
    vc__waiter_init(&r->stopped);
    pthread_mutex_init(&r->lock, NULL);
    for (unsigned i = 0; i < WATCHES; i++)
        r->watches[i].source.fd = -1;
    return r;
}

/* For vc__resolver_close(), and vc__resolver_open() when it fails: frees a
 * resolver whose type has closed its part, or has not opened it. */
static void
resolver_free(struct vc_resolver *r)
{
    vc__handle_fini(&r->handle);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

enum vc_status
vc__resolver_open(struct vc_resolver **out, const struct vc_resolver_type *type,
                  const char *target, struct vc__changes *changes,
                  struct vc__engine *engine)
{
    struct vc_resolver *r = resolver_new(type, changes, engine);
    enum vc_status status;
    void *state = NULL;

    if (r == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = type->open(r, target, &state);
    if (status != VC_OK) {
        resolver_free(r);
        return vc__fail(status, "target \"%.100s\": %.300s", target,
                        changes->failure.status != VC_OK
                            ? changes->failure.text
                            : "its resolver refuses it");
    }
    pthread_mutex_lock(&r->lock);
    r->state = state;
    r->is_open = true;
    if (r->times)
        resolver_post(r);
    pthread_mutex_unlock(&r->lock);
    *out = r;
    return VC_OK;
}

struct vc_resolver *
vc__resolver_make(const struct vc_resolver_type *type, void *state,
                  struct vc__engine *engine)
{
    struct vc_resolver *r = resolver_new(type, NULL, engine);

    if (r == NULL)
        return NULL;
    r->state = state;
    r->is_open = true;
    return r;
}

struct vc__servers *
vc__resolver_servers(const struct vc_resolver *r)
{
    if (vc__good(r, VC__RESOLVER))
        return r->changes->servers;
    vc__bad(r, VC__RESOLVER);
    return NULL;
}

void
vc__resolver_close(struct vc_resolver *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    resolver_post(r);
    pthread_mutex_unlock(&r->lock);
    vc__engine_wait(r->engine, &r->stopped, VC__FOREVER);
    r->type->close(r->state);
    resolver_free(r);
}
