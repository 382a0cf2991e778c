/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool: the links to one target and the clients that share them. The first
 * request makes a link; more are made while the calls outstanding on a link
 * stay above a mark; those that are idle are closed. When the last is lost, a
 * new one resumes the sessions.
 *
 * Two threads meet in it under its lock: the holder of the engine, to whom the
 * links belong, and whoever makes a call. The order of locks is pool, link,
 * engine. */
#ifndef VC_CM_POOL_H
#define VC_CM_POOL_H

#include <stdatomic.h>

#include <verbcall/service.h>

#include "cm/connect/backoff.h"
#include "cm/connect/choice.h"
#include "cm/connect/cm.h"
#include "cm/connect/target.h"
#include "cm/pool/dial_run.h"
#include "cm/pool/peer.h"
#include "cm/pool/throttle.h"

/* Bytes of long replies that may be arriving at a time. */
#define VC__REPLY_BUDGET ((size_t)1 << 30)

/* What a pool is made for. Channels with the same share one. */
struct vc__pool_opts {
    struct vc__target target;
    /* Of vc:// targets; else there is one, the target's. */
    struct vc__choice choice;
    struct vc__choice require; /* that may carry calls; n is 0: all of those */
    uint32_t connect_ms;
    uint32_t idle_ms;      /* of a link, before it is closed */
    uint32_t keepalive_ms; /* 0: off */
    unsigned min_links, max_links;
    uint8_t log2_message;
    struct sockaddr_storage source; /* to connect from; AF_UNSPEC: any */
    struct vc__wire_opts wire;
};

/* Somebody who waits for a link. */
struct vc__pool_waiter {
    struct vc__waiter waiter;
    struct cds_list_head node;
    const void *owner;
    const struct vc_service *service;
    struct vc__error error; /* status VC_OK when it is up */
};

/* What is counted under a pool's lock. */
enum vc__pool_count {
    VC__POOL_SESSIONS,
    VC__POOL_SESSIONS_OPENED,
    VC__POOL_SESSIONS_MOVED,
    VC__POOL_CALLS_STARTED,
    VC__POOL_CALLS_ENDED,
    VC__POOL_CALLS_GIVEN_UP,
    VC__POOL_CALLS_THROTTLED,
    VC__POOL_CALLS_WAITING,
    VC__POOL_CALLS_SENT_AGAIN,
    VC__POOL_REPLIES_ARRIVING,
    VC__POOL_CALLS_RETRIED,
    VC__POOL_CALLS_NOT_RETRIED,
    VC__POOL_STREAMS,
    VC__POOL_STREAMS_OPENED,
    VC__POOL_CANCELS_SENT,
    VC__POOL_UPGRADES,
    VC__POOL_COUNTS
};

/* Links that the pools of a process may have together. */
struct vc__link_cap {
    atomic_uint n;
    unsigned max;
};

/* Getting one link up: a name, its addresses. */
struct vc__pool_attempt {
    struct vc__lookup *lookup;
    struct vc__timer timer; /* of waiting, then of looking up the name */
    struct vc__dial_run dial_run;
    uint64_t due; /* it must be over */
};

/* Seeking a better transport than the present one: cm/pool/upgrade.c. */
struct vc__upgrade {
    struct vc__dial_run dial_run;
    struct vc__timer timer;
    unsigned failed; /* in a row */
    unsigned logged; /* rank of the transport that was logged last */
    uint64_t seen;   /* calls begun when it last looked */
};

struct vc__pool {
    struct vc__cm *cm;
    struct vc__engine *engine;
    struct vc__link_cap *cap;
    struct vc__pool_opts opts;
    uint8_t instance[VC__ID_SIZE]; /* ours */
    struct vc__throttle throttle;  /* of calls to its peer */

    pthread_mutex_t lock;
    bool closed;                  /* lock: no request is taken any more */
    bool attempting;              /* lock: a link is being made */
    bool posted;                  /* lock: `connect` is */
    bool refusing;                /* lock: `refuse` is */
    bool tidying;                 /* lock: `tidy` is */
    uint64_t not_before;          /* lock: when the next may be */
    struct vc__backoff backoff;   /* lock */
    struct vc__error failure;     /* lock: of the last attempt */
    struct vc__peer *peer;        /* lock; NULL: none is known */
    struct cds_list_head former;  /* lock: peers that calls still run at */
    struct cds_list_head clients; /* lock */
    struct cds_list_head refused; /* lock; requests for vc__pool_refuse() */
    struct cds_list_head broken;  /* lock; streams for it, too */
    struct vc__error broken_by;   /* lock: how the link of these went */
    struct vc__error lost; /* lock: how the last link went; VC_OK: it did not */
    const struct vc_service *asked; /* lock; service of the next hello */
    struct vc__error *missed; /* lock; why each transport last led nowhere, as
                                 in `choice`; NULL: one target, one transport */
    struct cds_list_head connecting; /* lock; of struct vc__pool_waiter */
    _Atomic(void *) spare;           /* see cm/pool/session_note.c */
    struct vc__store store;          /* for long replies, */
    struct vc__account replies;      /* and all that they have of it */
    struct vc__trimmer trimmer;      /* the holder's */
    struct vc__tally tally;          /* lock; of enum vc__pool_count */
    atomic_uint peer_message_max;    /* what the last peer takes, or 0 */

    /* The holder's own. */
    struct vc__task connect, refuse, tidy, close;
    struct vc__pool_attempt attempt;
    struct vc__upgrade upgrade;
    struct vc__timer look; /* for idle links */
    unsigned n_links;      /* alive, down ones included */
    unsigned
        n_unanswered; /* links lost in a row, of this peer, on which no reply came */
    struct vc__waiter *closer;  /* set once the pool is closing */
    struct vc__waiter *closing; /* handed to `close` */
};

/* False without memory. */
bool vc__pool_init(struct vc__pool *p, struct vc__cm *cm,
                   struct vc__link_cap *cap, const struct vc__pool_opts *opts,
                   const uint8_t instance[VC__ID_SIZE]);

/* Takes no requests any more. Any thread. */
void vc__pool_shut(struct vc__pool *p);

/* Shut: takes the links down, and waits for that. All clients are closed. Not from a
 * handler. */
void vc__pool_fini(struct vc__pool *p);

/* Waits until there is a link, made with this service in its hello if there
 * is none. Any thread. */
enum vc_status vc__pool_connect(struct vc__pool *p,
                                const struct vc_service *service,
                                const void *owner);

/* Those of this owner wait no more: VC_CANCELLED. Any thread. */
void vc__pool_cancel(struct vc__pool *p, const void *owner);

/* Ends what vc__client_launch() has put into p->refused: no session can be had
 * for it; and streams whose link was lost, in p->broken. The holder, without
 * locks: these end where they like. */
void vc__pool_refuse(struct vc__pool *p);

/* Has the holder do that, if there is any refused. Under the lock. */
void vc__pool_refuse_soon(struct vc__pool *p);

/* Ends these with this error and outcome. Without locks. */
void vc__requests_fail(struct cds_list_head *requests, struct vc__error *error,
                       enum vc_outcome outcome);

/* --- under the lock ---------------------------------------------------- */

/* A request waits: connects if there is no link. False with *error when the
 * last attempts have failed and the next is not to be yet. */
bool vc__pool_want(struct vc__pool *p, const struct vc_service *service,
                   struct vc__error *error);

/* A link has much to do: makes another within the limits. */
void vc__pool_grow(struct vc__pool *p);

/* A call at this peer was taken back unsent: if it was the last at a former
 * one, its links are closed. */
void vc__pool_tidy(struct vc__pool *p, const struct vc__peer *peer);

/* Under the pool's lock. */
static inline void
vc__pool_count(struct vc__pool *p, enum vc__pool_count which, int64_t n)
{
    vc__tally_add(&p->tally, which, n);
}

/* One more, without the lock. Any thread. */
void vc__pool_count_one(struct vc__pool *p, enum vc__pool_count which);

/* The budget of long replies has changed. */
void vc__pool_count_replies(struct vc__pool *p);

static inline uint32_t
vc__pool_message_max(const struct vc__pool *p)
{
    return 1u << p->opts.log2_message;
}

/* --- between the files of the pool -------------------------------------- */

/* pool_counts.c */
void vc__pool_tally_open(struct vc__pool *p);

/* pool_connect.c: the attempt. The holder. */
void vc__pool_attempt_init(struct vc__pool *p);
void vc__pool_attempt_begin(struct vc__pool *p);
void vc__pool_attempt_cancel(struct vc__pool *p);
/* Begun, and not only waiting for its time. */
bool vc__pool_attempt_is_under_way(const struct vc__pool *p);

/* pool.c: the attempt is over, without a link. */
void vc__pool_failed(struct vc__pool *p, const struct vc__error *error);

/* pool.c, under the lock: a peer without links that will not come back: what
 * it may have seen ends, what it has not waits again. */
void vc__pool_peer_drop(struct vc__peer *peer, struct cds_list_head *unknown);
/* Lets what waits go; must be pushed, without the lock. */
void vc__pool_launch(struct vc__pool *p);
void vc__pool_push(struct vc__pool *p);
/* Is there anything that wants a link? Begins to get one. */
bool vc__pool_is_wanted(struct vc__pool *p);
void vc__pool_attempt(struct vc__pool *p);
void vc__pool_hurry(struct vc__pool *p);

/* Those who wait for a link: taken under the lock, woken without. */
void vc__pool_waiters_take(struct vc__pool *p, struct cds_list_head *out);
void vc__pool_waiters_wake(struct cds_list_head *waiters,
                           const struct vc__error *error);

/* pool.c: a link is gone: the closing of the pool may be over. */
void vc__pool_close_check(struct vc__pool *p);

/* The hello of a link that is to be made. The holder. */
void vc__pool_attempt_hello(struct vc__pool *p, struct vc__hello *h);
/* The most that it offers. */
struct vc__dial_offer vc__pool_attempt_offer(const struct vc__pool *p);

/* Logs which transport of vc:// calls go by, that of this rank, and why not by a
 * better one. what: "go by", "still go by". The holder. */
void vc__pool_log_transport(struct vc__pool *p, unsigned rank,
                            const char *what);

/* upgrade.c. The holder. */
void vc__upgrade_init(struct vc__pool *p);
/* This link has joined the pool's peer: lesser ones go, and a better one is
 * sought. */
void vc__upgrade_joined(struct vc__pool *p, struct vc__pool_link *pl);
/* One that it sought was up and could not join. */
void vc__upgrade_unused(struct vc__pool *p);
void vc__upgrade_cancel(struct vc__pool *p);
/* May it carry calls? */
bool vc__upgrade_suits(const struct vc__pool *p,
                       const struct vc__transport *transport);

/* pool_describe.c: a way by this transport led nowhere. */
void vc__pool_missed(struct vc__pool *p, const struct vc__transport *transport,
                     const struct vc__error *error);
/* For vc_channel_describe(). Any thread. */
size_t vc__pool_describe(struct vc__pool *p, char *text, size_t size);

/* pool_link.c: a link for an attempt, NULL as vc__dial_run_ops has it; begins to
 * look for idle ones. */
struct vc__pool_link *vc__pool_link_new(struct vc__pool *p,
                                        const struct vc__transport *transport,
                                        uint32_t timeout_ms);
void vc__pool_look(struct vc__pool *p);
/* Closes the links of former peers that have nothing under way any more. */
void vc__pool_former_check(struct vc__pool *p);

#endif
