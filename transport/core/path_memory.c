/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/path_memory.h. The static functions run on the thread of
 * their caller, under the lock. */
#include "transport/core/path_memory.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void
vc__path_memory_init(struct vc__path_memory *m)
{
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
}

void
vc__path_memory_fini(struct vc__path_memory *m)
{
    pthread_mutex_destroy(&m->lock);
}

/* True if nothing is remembered. Called before the lock is taken, by all that
 * only look. Relaxed: what a thread has seen lost itself it also sees here; a
 * loss that another thread is reporting just now may be missed. */
static bool
path_memory_is_empty(const struct vc__path_memory *m)
{
    return m == NULL || atomic_load_explicit(&m->n, memory_order_relaxed) == 0;
}

/* Makes a path that has only its key. Called by path_find() and path_add(). */
static struct vc__path
path_key(const char *device, const struct sockaddr *peer)
{
    struct vc__path p = {.family = peer->sa_family};

    snprintf(p.device, sizeof p.device, "%s", device);
    if (peer->sa_family == AF_INET)
        memcpy(p.addr, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    else if (peer->sa_family == AF_INET6)
        memcpy(p.addr, &((const struct sockaddr_in6 *)peer)->sin6_addr, 16);
    return p;
}

/* True if less than `us` have passed since that time. Another thread may have
 * read the clock later than this one. Called by path_find() and
 * vc__path_met(). */
static bool
path_is_within(uint64_t us, uint64_t since, uint64_t now)
{
    return now <= since || now - since < us;
}

/* Returns the path, or NULL if it is not remembered, or has not been used for
 * too long. Called by all functions about a path. */
static struct vc__path *
path_find(struct vc__path_memory *m, const char *device,
          const struct sockaddr *peer, uint64_t now)
{
    const struct vc__path key = path_key(device, peer);
    unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);

    for (struct vc__path *p = m->paths; p < m->paths + n; p++) {
        if (p->family == key.family &&
            memcmp(p->addr, key.addr, sizeof key.addr) == 0 &&
            strcmp(p->device, key.device) == 0 &&
            path_is_within(VC__PATH_AGE_US, p->used, now))
            return p;
    }
    return NULL;
}

/* Returns the place for a new path: a free one, or that of the path which was
 * not used for longest. Called by path_add(). */
static struct vc__path *
path_place(struct vc__path_memory *m)
{
    unsigned n = atomic_load_explicit(&m->n, memory_order_relaxed);
    struct vc__path *oldest = m->paths;

    if (n < VC__PATHS_MAX) {
        /* Relaxed: readers without the lock only want to know whether it is
         * 0. */
        atomic_store_explicit(&m->n, n + 1, memory_order_relaxed);
        return &m->paths[n];
    }
    for (struct vc__path *p = m->paths; p < m->paths + n; p++) {
        if (p->used < oldest->used)
            oldest = p;
    }
    return oldest;
}

/* Adds a path that is not remembered, and returns it. Called by
 * vc__path_empty_lost(). */
static struct vc__path *
path_add(struct vc__path_memory *m, const char *device,
         const struct sockaddr *peer)
{
    struct vc__path *p = path_place(m);

    *p = path_key(device, peer);
    return p;
}

void
vc__path_empty_lost(struct vc__path_memory *m, const char *device,
                    const struct sockaddr *peer, uint64_t now)
{
    struct vc__path *p;

    if (m == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    p = path_find(m, device, peer, now);
    if (p == NULL)
        p = path_add(m, device, peer);
    p->lost = p->used = now;
    pthread_mutex_unlock(&m->lock);
}

bool
vc__path_drops_empty(struct vc__path_memory *m, const char *device,
                     const struct sockaddr *peer, uint64_t now)
{
    bool drops;

    if (path_memory_is_empty(m))
        return false;
    pthread_mutex_lock(&m->lock);
    drops = path_find(m, device, peer, now) != NULL;
    pthread_mutex_unlock(&m->lock);
    return drops;
}

void
vc__path_is_used(struct vc__path_memory *m, const char *device,
                 const struct sockaddr *peer, uint64_t now)
{
    struct vc__path *p;

    if (path_memory_is_empty(m))
        return;
    pthread_mutex_lock(&m->lock);
    p = path_find(m, device, peer, now);
    if (p != NULL)
        p->used = now;
    pthread_mutex_unlock(&m->lock);
}

bool
vc__path_met(struct vc__path_memory *m, const char *device,
             const struct sockaddr *peer, uint64_t now, uint64_t *ago)
{
    struct vc__path *p;
    bool first;

    if (path_memory_is_empty(m))
        return false;
    pthread_mutex_lock(&m->lock);
    p = path_find(m, device, peer, now);
    first =
        p != NULL && !p->met && path_is_within(VC__PATH_MEET_US, p->lost, now);
    if (first) {
        p->met = true;
        *ago = now > p->lost ? now - p->lost : 0;
    }
    pthread_mutex_unlock(&m->lock);
    return first;
}
