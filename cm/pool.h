/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool: the links to one target and the sessions that share them. So far it
 * has one link at a time, made when a request wants it and made anew after it
 * was lost.
 *
 * vc__session_start() and vc__pool_session() run together from any threads;
 * what says "under the lock" is for cm/session.c. */
#ifndef VC_CM_POOL_H
#define VC_CM_POOL_H

#include <stdatomic.h>

#include "cm/dialer.h"
#include "cm/session.h"
#include "cm/target.h"

enum vc__pool_state {
    VC__POOL_IDLE,       /* no link; the next request makes one */
    VC__POOL_CONNECTING, /* name, address, route, hello */
    VC__POOL_UP,
    VC__POOL_CLOSED, /* no request is taken any more */
};

struct vc__pool_link;

/* Somebody who waits for the link. */
struct vc__pool_waiter {
    struct vc__waiter waiter;
    struct cds_list_head node;
    struct vc__error error; /* status VC_OK when it is up */
};

struct vc__pool {
    struct vc__cm *cm;
    struct vc__target target;
    uint32_t connect_ms;
    uint8_t log2_message;
    uint8_t instance[VC__ID_SIZE]; /* ours */

    pthread_mutex_t lock;
    enum vc__pool_state state;              /* lock */
    struct vc__pool_link *link;             /* lock; NULL unless up */
    _Atomic(struct vc__session *) sessions; /* lock to add; read without */
    struct vc__session **by_id;             /* lock; from 1 */
    uint32_t n_sessions;                    /* lock */
    const struct vc_service *asked;         /* lock; service of the hello */
    struct cds_list_head connecting; /* lock; of struct vc__pool_waiter */
    size_t budget;                   /* lock; for long replies */
    atomic_uint peer_message_max;    /* what the last link's peer takes, or 0 */

    /* Calls and connects under way, and the pool's owner: none of them may be
     * left when it is freed. `unused` is done by the last. */
    atomic_uint users;
    struct vc__waiter unused;

    /* The holder's own. */
    struct vc__task connect, close;
    struct vc__timer timer;        /* of looking up the name */
    struct vc__pool_link *current; /* up */
    struct vc__dialer dialer;      /* while connecting */
    struct vc__lookup *lookup;
    uint64_t due;               /* connecting must be over */
    unsigned n_links;           /* alive, down ones included */
    struct vc__waiter *closer;  /* set once the pool is closing */
    struct vc__waiter *closing; /* handed to `close` */
};

void vc__pool_init(struct vc__pool *p, struct vc__cm *cm,
                   const struct vc__target *target, uint32_t connect_ms,
                   uint8_t log2_message, const uint8_t instance[VC__ID_SIZE]);

/* Ends all requests with VC_CANCELLED, takes the link down, waits for it and
 * for those who are between vc__pool_enter() and vc__pool_leave(), and frees
 * the sessions. Not from a handler. */
void vc__pool_fini(struct vc__pool *p);

/* Whoever uses a session does so between these two. */
static inline void
vc__pool_enter(struct vc__pool *p)
{
    /* Relaxed: nobody enters a pool that may be freed already. */
    atomic_fetch_add_explicit(&p->users, 1, memory_order_relaxed);
}

static inline void
vc__pool_leave(struct vc__pool *p)
{
    /* Release, so that the pool is freed after all that its users did, and
     * acquire for the last of them, who says so. */
    if (atomic_fetch_sub_explicit(&p->users, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&p->unused);
}

/* The session of a service, made at its first use. NULL without memory, or
 * when there are too many. Any thread. */
struct vc__session *vc__pool_session(struct vc__pool *p,
                                     const struct vc_service *service);

/* Waits until there is a link, made with this service in its hello if there
 * is none. Any thread. */
enum vc_status vc__pool_connect(struct vc__pool *p,
                                const struct vc_service *service);

/* --- under the lock ---------------------------------------------------- */

/* A request of s is there: connects if need be. False: *error says why it
 * cannot be taken. */
bool vc__pool_want(struct vc__pool *p, const struct vc__session *s,
                   struct vc__error *error);

static inline bool
vc__pool_is_up(const struct vc__pool *p)
{
    return p->state == VC__POOL_UP;
}

/* Does the peer of the link that is up let us have this many sessions? */
bool vc__pool_has_room(const struct vc__pool *p, uint32_t sessions);

/* Of the link that is up. */
uint16_t vc__pool_slots(const struct vc__pool *p);
bool vc__pool_send(struct vc__pool *p, struct vc__send *const *sends,
                   unsigned n);
bool vc__pool_unsend(struct vc__pool *p, struct vc__send *s);

static inline uint32_t
vc__pool_message_max(const struct vc__pool *p)
{
    return 1u << p->log2_message;
}

#endif
