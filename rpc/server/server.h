/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The internals of a server. It has a part for each engine, which owns the
 * links of that engine, so a link's state needs no lock. The functions of this
 * header: any thread, without the server's lock.
 *
 * Called by: server_handler.c (enter, leave), server_close.c (leave, destroy),
 * server.c (destroy). */
#ifndef VC_RPC_SERVER_H
#define VC_RPC_SERVER_H

#include <verbcall/multicast.h>
#include <verbcall/server.h>

#include "cm/connect/admission.h"
#include "cm/connect/choice.h"
#include "cm/link/listener.h"
#include "rpc/runtime.h"
#include "rpc/server/overload.h"
#include "rpc/server/redirect.h"
#include "rpc/server/server_load.h"
#include "rpc/server/service.h"

#define VC__SERVER_SLOTS   256 /* of a session */
#define VC__SERVER_BUCKETS 256 /* hash table of peers by token */

/* The calls of a part that are shed. */
struct vc__shedding {
    /* Calls shed since shedding began, 0: not shedding; that number when
     * `quiet` was started. */
    uint64_t n, seen;
    uint64_t since;
    struct vc__timer quiet;
    bool stopped; /* true: the server closes, and reports no shedding */
};

struct vc__server_part {
    struct vc_server *server;
    struct vc__progress *progress;
    unsigned index;              /* of the engine */
    struct cds_list_head links;  /* of struct vc__server_link */
    struct cds_list_head lonely; /* of struct vc__server_peer: without links */
    struct cds_list_head peers[VC__SERVER_BUCKETS];
    unsigned n_peers, n_lonely;
    struct cds_list_head stock; /* of struct vc_call, for reuse */
    unsigned n_stock;
    struct vc__overload overload;
    struct cds_list_head turns;    /* of peers: rpc/server/server_turn.h */
    struct vc_call *first;         /* waits without a queue; or NULL */
    struct vc__timer no_turn;      /* checks whether handlers may begin */
    uint64_t chance;               /* random state: spreads retries */
    struct cds_list_head arrivals; /* the longest without a part first */
    struct vc__timer stalled;      /* checks for stalled arrivals */
    uint64_t arriving;             /* bytes that arrivals hold */
    uint64_t arriving_counted; /* `arriving`, as last reported to the ledger */
    struct vc__trimmer trimmer;
    struct vc__shedding shedding;
    struct vc__part_load load;
    struct cds_list_head ops;     /* of struct vc__server_op_part, waiting */
    struct cds_list_head orphans; /* closed sessions whose calls still run */
    bool closing;
};

struct vc_server {
    struct vc__handle handle;
    struct vc_runtime *runtime;
    struct vc__services services;
    uint8_t log2_message;
    uint8_t client_log2_message; /* most that clients may offer; 0: any */
    uint16_t client_credits;     /* the same */
    uint32_t handshake_ms;
    uint32_t max_sessions;                 /* of a client */
    uint32_t keepalive_ms;                 /* 0: off */
    uint64_t stream_stall_us;              /* 0: off */
    uint32_t max_calls, max_calls_session; /* at a time; 0: no limit */
    atomic_bool limited;                   /* see rpc/server/server_limit.h */
    atomic_uint calls; /* running, as far as they are counted */
    char name[VC__ACCEPT_TEXT_MAX + 1];
    size_t request_memory;
    struct vc__store store;
    struct vc__interceptors *interceptors; /* NULL: none */
    void (*on_overload)(bool sheds, const char *line, void *arg);
    void *overload_arg;
    vc_multicast_lost *multicast_lost; /* set before it listens */
    void *multicast_arg;
    struct vc__server_load *load; /* NULL: replies have no load reports */

    struct vc__redirect redirect;
    struct vc__admission admission;     /* requests come to engine 0 only */
    atomic_bool draining;               /* a drain or a close has begun */
    atomic_bool shut;                   /* a close has begun */
    struct vc__ear_opts ear_opts;       /* the server frees its group */
    struct vc__wire_opts wire_opts;     /* of its links */
    struct vc__choice choice;           /* transports of vc:// */
    bool has_alternative;               /* lock */
    struct vc__redirect_to alternative; /* lock; for later connects */
    unsigned turn;                 /* for the next new client; engine 0 only */
    struct vc__server_part *parts; /* one for each engine */

    pthread_mutex_t lock;
    struct vc__listening *listening;             /* lock */
    uint16_t port;                               /* lock; the one added last */
    struct vc__error missed[VC__TRANSPORTS_MAX]; /* lock; index as `choice` */

    /* The local socket by which clients of this host reach vc://: written
     * before has_local is set. */
    pthread_mutex_t local_lock;
    bool local_begun; /* local_lock: true if it is open or has failed */
    atomic_bool has_local;
    struct vc__local local;

    /* Threads between vc__server_enter() and vc__server_leave(), and one for
     * the owner: the server is freed when it is 0. The last one completes
     * `unused`. */
    atomic_uint users;
    struct vc__waiter unused;

    /* Drains and closes (rpc/server/server_op.h). `ops` has those under way.
     * `n_ops` counts the owner, and those whose done() has not returned; the
     * last of them completes `no_ops`. */
    struct cds_list_head ops; /* engine 0 */
    atomic_uint n_ops;
    struct vc__waiter no_ops;
    struct vc__server_op *last_op; /* for vc_server_free() */
    atomic_bool closed;            /* a close has succeeded */
};

/* Keeps the server during code that may run on after the last call has ended;
 * vc__server_leave() follows. Called by vc__call_finish(), callbacks_begin()
 * and callbacks_close() (rpc/server/server_handler.c). */
static inline void
vc__server_enter(struct vc_server *server)
{
    /* Relaxed: a call that has not ended keeps the server. */
    atomic_fetch_add_explicit(&server->users, 1, memory_order_relaxed);
}

/* Called by the same functions after that code, and by vc_server_free() for the
 * owner. The last one to leave lets vc_server_free() go on. */
static inline void
vc__server_leave(struct vc_server *server)
{
    /* Release and acquire: the server is freed after all of this. */
    if (atomic_fetch_sub_explicit(&server->users, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&server->unused);
}

/* Frees a server that is closed, and that no thread uses any more: called by
 * vc_server_free(). Or frees one that vc_server_new() could not complete:
 * called by that. */
void vc__server_destroy(struct vc_server *server);

#endif
