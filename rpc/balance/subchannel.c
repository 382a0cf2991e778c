/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/subchannel.h. */
#include "rpc/balance/subchannel.h"

#include <stdlib.h>

#include "rpc/balance/health_watch.h"
#include "rpc/balance/twin.h"

/* closed() of the pool; also for subchannel_leave(), if others use the pool. On
 * the holder. Calls gone(). */
static void
subchannel_gone(void *owner)
{
    struct vc__subchannel *s = owner;

    s->gone(s);
}

/* For subchannel_leave(), on the holder: closes the clients, which no call uses
 * any more, and frees them. */
static void
clients_free(struct vc__subchannel *s)
{
    struct vc__client *next;

    for (struct vc__client *cl = atomic_load(&s->clients); cl != NULL;
         cl = next) {
        next = cl->next;
        vc__client_close(cl);
        if (cl != &s->first)
            free(cl);
    }
}

/* A task, on the holder: run or posted by subchannel_drop(). Closes the pool,
 * if no other subchannel uses it, and frees what the subchannel has. Only now
 * is the pool left: another subchannel, of a server that was dropped and is
 * back or of another channel, may be the last to leave it, and frees it
 * then. */
static void
subchannel_leave(struct vc__task *task)
{
    struct vc__subchannel *s =
        caa_container_of(task, struct vc__subchannel, drop);
    bool last = vc__pools_leave(s->pools, s->pool);

    clients_free(s);
    vc__health_watch_free(s->watch);
    vc__twin_free(s->twin);
    if (last)
        vc__pools_close(s->pool, subchannel_gone, s);
    else
        subchannel_gone(s);
}

/* A task, on the holder: posted by vc__subchannel_put() of the last user. A
 * task of the watch, or the twin, may be posted, too, and runs before another
 * one that is posted now. */
static void
subchannel_drop(struct vc__task *task)
{
    struct vc__subchannel *s =
        caa_container_of(task, struct vc__subchannel, drop);

    if (s->watch == NULL && s->twin == NULL) {
        subchannel_leave(task);
        return;
    }
    if (s->watch != NULL)
        vc__health_watch_end(s->watch);
    if (s->twin != NULL)
        vc__twin_end(s->twin);
    s->drop.run = subchannel_leave;
    vc__engine_post(s->pool->engine, &s->drop);
}

bool
vc__subchannel_open(struct vc__subchannel *s, struct vc__pools *pools,
                    const struct vc__pool_opts *opts)
{
    s->pools = pools;
    s->pool = vc__pools_get(pools, opts);
    s->drop.run = subchannel_drop;
    atomic_init(&s->users, 1);
    return s->pool != NULL;
}

void
vc__subchannel_put(struct vc__subchannel *s)
{
    /* Release: the last user sees what all others did. Acquire: for the last,
     * whose task frees it. */
    if (atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) == 1)
        vc__engine_post(s->pool->engine, &s->drop);
}

/* For the three functions client_make(), client_add() and
 * vc__subchannel_client(): the newest client, or NULL. Any thread, with or
 * without the channel's lock (struct vc__client_opts). */
static struct vc__client *
first_client(struct vc__subchannel *s)
{
    /* Acquire: pairs with the store in client_make(). */
    return atomic_load_explicit(&s->clients, memory_order_acquire);
}

/* Returns the client of this service in the list from `from` on; NULL: none.
 * Called by vc__subchannel_client() and client_add(): with or without the lock,
 * as clients are only added in front. */
static struct vc__client *
client_find(struct vc__client *from, const struct vc_service *service)
{
    while (from != NULL && from->service != service)
        from = from->next;
    return from;
}

/* For client_add(), under the channel's lock: makes a client, and puts it in
 * front of the list. NULL if memory is short. */
static struct vc__client *
client_make(struct vc__subchannel *s, const struct vc_service *service,
            const struct vc__client_opts *opts)
{
    struct vc__client *cl =
        atomic_exchange(&s->first_used, true) ? malloc(sizeof *cl) : &s->first;

    if (cl == NULL)
        return NULL;
    vc__client_init(cl, s->pool, service, opts->weight, opts->quota);
    if (s->watch != NULL)
        vc__health_watch_admit(s->watch, cl);
    cl->next = first_client(s);
    cl->owner = s;
    atomic_store_explicit(opts->used, true, memory_order_relaxed);
    /* Sequentially consistent: see vc_channel_close(). */
    atomic_store(&s->clients, cl);
    return cl;
}

/* For vc__subchannel_client(), in a service's first call at this server: makes
 * its client. A service has one, which keeps the channel's quota, even if
 * several threads make that call at a time. NULL, with the error as this
 * thread's last, if memory is short, or the attempt is to fail. */
static struct vc__client *
client_add(struct vc__subchannel *s, const struct vc_service *service,
           const struct vc__client_opts *opts)
{
    struct vc__client *cl;

    if (s->pool == NULL) /* the refusal of rpc/balance/custom.h */
        return NULL;
    pthread_mutex_lock(opts->lock);
    cl = client_find(first_client(s), service);
    if (cl == NULL)
        cl = client_make(s, service, opts);
    pthread_mutex_unlock(opts->lock);
    if (cl == NULL)
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    else if (atomic_load(opts->closing))
        vc__client_close(cl);
    return cl;
}

struct vc__client *
vc__subchannel_client(struct vc__subchannel *s,
                      const struct vc_service *service,
                      const struct vc__client_opts *opts)
{
    struct vc__client *cl = client_find(first_client(s), service);

    return cl != NULL ? cl : client_add(s, service, opts);
}

void
vc__subchannel_cancel(struct vc__subchannel *s, const void *owner)
{
    vc__pools_retire(s->pools, s->pool);
    for (struct vc__client *cl = atomic_load(&s->clients); cl != NULL;
         cl = cl->next)
        vc__client_close(cl);
    /* Also wakes the engine, for the calls whose pause was broken. */
    vc__pool_cancel(s->pool, owner);
}
