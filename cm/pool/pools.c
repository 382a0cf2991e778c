/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/pools.h. Static functions run inside vc__pools_get(), under the
 * lock of the pools, on a thread that opens a channel or gets servers from a
 * resolver, unless their comments say otherwise. */
#include "cm/pool/pools.h"

#include <stdlib.h>
#include <string.h>

#include "transport/core/invariant.h"

struct entry {
    struct vc__pool pool;
    struct cds_list_head node;
    unsigned users;
    bool retired;                /* not in the list any more */
    void (*closed)(void *owner); /* of vc__pools_close() */
    void *owner;
};

void
vc__pools_init(struct vc__pools *ps, struct vc__cm *cm, const uint8_t *instance,
               struct vc__link_cap *cap)
{
    ps->cm = cm;
    ps->instance = instance;
    ps->cap = cap;
    pthread_mutex_init(&ps->lock, NULL);
    CDS_INIT_LIST_HEAD(&ps->list);
}

void
vc__pools_fini(struct vc__pools *ps)
{
    vc__invariant(cds_list_empty(&ps->list));
    pthread_mutex_destroy(&ps->lock);
}

/* For pools_same(): true if both name the same transports in one order. */
static bool
same_choice(const struct vc__choice *a, const struct vc__choice *b)
{
    bool same = a->n == b->n;

    for (unsigned i = 0; same && i < a->n; i++)
        same = a->best[i] == b->best[i];
    return same;
}

/* For pools_same(): true if both name the same transport, host and port, and
 * the same list of addresses, in one order. */
static bool
same_target(const struct vc__target *a, const struct vc__target *b)
{
    return a->transport == b->transport && strcmp(a->host, b->host) == 0 &&
           strcmp(a->port, b->port) == 0 &&
           strcmp(a->all == NULL ? "" : a->all, b->all == NULL ? "" : b->all) ==
               0;
}

/* For pools_same(): true if all options of a wire are equal. */
static bool
same_wire(const struct vc__wire_opts *a, const struct vc__wire_opts *b)
{
    return a->reads_in == b->reads_in && a->reads_out == b->reads_out &&
           a->flow_control == b->flow_control && a->retries == b->retries &&
           a->rnr_retries == b->rnr_retries &&
           a->ack_timeout == b->ack_timeout && a->rnr_timer == b->rnr_timer &&
           a->tos == b->tos;
}

/* For pools_entry_find(): true if channels with these options share a pool. */
static bool
pools_same(const struct vc__pool_opts *a, const struct vc__pool_opts *b)
{
    return !a->nowhere && !b->nowhere && same_target(&a->target, &b->target) &&
           a->head_start_ms == b->head_start_ms &&
           a->connect_ms == b->connect_ms && a->idle_ms == b->idle_ms &&
           a->min_links == b->min_links && a->max_links == b->max_links &&
           a->keepalive_ms == b->keepalive_ms &&
           a->log2_message == b->log2_message && a->ahead == b->ahead &&
           same_wire(&a->wire, &b->wire) &&
           same_choice(&a->choice, &b->choice) &&
           same_choice(&a->require, &b->require) &&
           memcmp(&a->source, &b->source, sizeof a->source) == 0;
}

/* For vc__pools_get(): the pool with these options; NULL if there is none. */
static struct entry *
pools_entry_find(struct vc__pools *ps, const struct vc__pool_opts *opts)
{
    struct entry *e;

    cds_list_for_each_entry (e, &ps->list, node) {
        if (pools_same(&e->pool.opts, opts))
            return e;
    }
    return NULL;
}

/* For vc__pools_get(): makes a pool without users, and adds it to the list.
 * NULL if out of memory. entry_closed() frees it. */
static struct entry *
pools_entry_new(struct vc__pools *ps, const struct vc__pool_opts *opts)
{
    struct entry *e = calloc(1, sizeof *e);

    if (e == NULL)
        return NULL;
    if (!vc__pool_init(&e->pool, ps->cm, ps->cap, opts, ps->instance)) {
        free(e);
        return NULL;
    }
    cds_list_add(&e->node, &ps->list);
    return e;
}

struct vc__pool *
vc__pools_get(struct vc__pools *ps, const struct vc__pool_opts *opts)
{
    struct entry *e;

    pthread_mutex_lock(&ps->lock);
    e = pools_entry_find(ps, opts);
    if (e == NULL)
        e = pools_entry_new(ps, opts);
    if (e != NULL)
        e->users++;
    pthread_mutex_unlock(&ps->lock);
    return e == NULL ? NULL : &e->pool;
}

/* For vc__pools_retire() and vc__pools_leave(), on their threads, under the
 * lock: no other channel gets the pool from now on. */
static void
entry_unlist(struct entry *e)
{
    if (!e->retired)
        cds_list_del(&e->node);
    e->retired = true;
}

void
vc__pools_retire(struct vc__pools *ps, struct vc__pool *pool)
{
    struct entry *e = caa_container_of(pool, struct entry, pool);
    bool only;

    pthread_mutex_lock(&ps->lock);
    only = e->users == 1;
    if (only)
        entry_unlist(e);
    pthread_mutex_unlock(&ps->lock);
    if (only)
        vc__pool_shut(pool);
}

bool
vc__pools_leave(struct vc__pools *ps, struct vc__pool *pool)
{
    struct entry *e = caa_container_of(pool, struct entry, pool);
    bool last;

    pthread_mutex_lock(&ps->lock);
    last = --e->users == 0;
    if (last)
        entry_unlist(e);
    pthread_mutex_unlock(&ps->lock);
    if (last)
        vc__pool_shut(pool);
    return last;
}

/* closed() of a pool: on the holder, by a task. Frees the pool, and calls the
 * closed() of vc__pools_close(). */
static void
entry_closed(struct vc__pool *pool)
{
    struct entry *e = caa_container_of(pool, struct entry, pool);
    void (*closed)(void *owner) = e->closed;
    void *owner = e->owner;

    vc__pool_fini(pool);
    free(e);
    closed(owner);
}

void
vc__pools_close(struct vc__pool *pool, void (*closed)(void *owner), void *owner)
{
    struct entry *e = caa_container_of(pool, struct entry, pool);

    e->closed = closed;
    e->owner = owner;
    vc__pool_close(pool, entry_closed);
}
