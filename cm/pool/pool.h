/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool: the links to one target and the clients that share them. A link is
 * made when one is first wanted. More are made while the calls outstanding on a
 * link stay above a mark; idle ones are closed. When the last link is lost, a
 * new one resumes the sessions.
 *
 * The holder of the engine owns the links; any thread makes calls. What they
 * share is under the pool's lock. A function is for the holder, without that
 * lock, unless its comment or section says otherwise. The order of locks is
 * pool, link, engine.
 *
 * Called by: pools.c (init, shut, close, fini), rpc/balance/servers.c (connect,
 * count_one, describe), rpc/balance/subchannel.c (cancel), pool.c (refuse,
 * requests_fail, nowhere_end, nowhere_init, tally_open, attempt_init,
 * attempt_begin, attempt_is_under_way, health_refused, health_update,
 * peer_drop, attempt, attempt_for, waiters_take, waiters_wake, log_failing,
 * upgrade_init, look, former_check), pool_link.c (refuse, requests_fail, grow,
 * count_replies, has_ways, part, home_enter, is_moved, attempt_cancel, failed,
 * peer_drop, launch, push, is_wanted, attempt, hurry, waiters_take,
 * waiters_wake, close_check, upgrade_joined, upgrade_lose, upgrade_log,
 * upgrade_unused, upgrade_cancel, upgrade_suits, missed, look, former_check),
 * rpc/balance/health_watch.c (refuse), client.c (refuse_soon, requests_fail,
 * want, grow), gate.c (requests_fail, push), pool_await.c (want, hurry),
 * session.c (tidy, count_replies), upgrade.c (count_one, attempt_hello,
 * attempt_offer, log_transport, log_ready, upgrade_log, missed, link_new),
 * rpc/client/attempt.c (count_one), session_reply.c (count_replies,
 * message_max), rpc/balance/loads.c (readied), rpc/balance/server_line.c
 * (health_name, calls_begun, calls_failed), rpc/balance/custom.c (calls,
 * prompt), rpc/balance/picker.c (calls, prompt), rpc/balance/servers.h
 * (call_failed), pool_ahead.c (prompt_now), rpc/balance/field.c (prompt),
 * rpc/balance/changes.c (nowhere_fail, go_home), pool_home.c (part, home_post,
 * health_update, peer_drop, attempt), pool_health.c (home_post, attempt_for),
 * pool_connect.c (home_hello, lookup, lookup_cancel, failed, attempt,
 * attempt_hello, attempt_offer, missed, link_new), pool_close.c
 * (attempt_cancel, failed, peer_drop, close_check, upgrade_cancel),
 * pool_lookup.c (attempt_dial, lookup_cancel, failed, attempt), pool_nowhere.c
 * (failed), peer.c (health_update, starve), many files (count, health). */
#ifndef VC_CM_POOL_H
#define VC_CM_POOL_H

#include <stdatomic.h>

#include <verbcall/service.h>

#include "cm/connect/choice.h"
#include "cm/connect/cm.h"
#include "cm/connect/target.h"
#include "cm/pool/dial_run.h"
#include "cm/pool/peer.h"
#include "cm/pool/pool_ahead.h"
#include "cm/pool/throttle.h"

/* Bytes of long replies that may be in assembly at a time. */
#define VC__REPLY_BUDGET ((size_t)1 << 30)
_Static_assert(VC__REPLY_BUDGET >= VC__MESSAGE_MAX,
               "the longest reply fits into the budget");

/* The options of a pool. Channels of one engine with equal ones share a pool:
 * pools_same() of cm/pool/pools.c compares all of them. */
struct vc__pool_opts {
    struct vc__target target;
    /* For vc:// targets; others have the transports of their addresses. */
    struct vc__choice choice;
    struct vc__choice require; /* may carry calls; n is 0: all */
    uint32_t connect_ms;
    uint32_t head_start_ms; /* of an address before the next is tried, too */
    uint32_t idle_ms;       /* idle time after which a link is closed */
    uint32_t keepalive_ms;  /* 0: off */
    unsigned min_links, max_links;
    uint8_t log2_message;
    struct sockaddr_storage source; /* to connect from; AF_UNSPEC: any */
    struct vc__wire_opts wire;
    bool nowhere, recalls;          /* see "nowhere" below; not shared */
    const struct vc_service *ahead; /* see cm/pool/pool_ahead.h; or NULL */
};

/* A thread that waits for a link. */
struct vc__pool_waiter {
    struct vc__waiter waiter;
    struct cds_list_head node;
    const void *owner;
    const struct vc_service *service;
    bool taken;             /* the pool's lock: it is about to be woken */
    struct vc__error error; /* status is VC_OK if a link is up */
};

/* Counters kept under a pool's lock. */
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

/* The limit of links of all pools of a process together. */
struct vc__link_cap {
    atomic_uint n;
    unsigned max;
};

/* An attempt to get one link up: a name and its addresses. */
struct vc__pool_attempt {
    struct vc__pool_found *found; /* while addresses are found out */
    struct vc__lookup *lookup;
    struct vc__timer timer; /* of the backoff, then of the name lookup */
    struct vc__dial_run dial_run;
    uint64_t due; /* deadline of the attempt */
    uint32_t ms;  /* its whole time */
    bool refused; /* a server has rejected the service's schema */
};

/* The search for a better transport than the present one: cm/pool/upgrade.c. */
struct vc__upgrade {
    struct vc__dial_run dial_run;
    struct vc__timer timer;
    unsigned failed; /* failures in a row */
    unsigned logged; /* rank of the transport logged last */
    uint64_t seen;   /* calls begun at the last look */
};

/* Whether calls can be sent at once; see vc__pool_health(). */
enum vc__pool_health {
    VC__POOL_IDLE,       /* there is no link, and none is being made */
    VC__POOL_CONNECTING, /* the first is being made */
    VC__POOL_READY,      /* a link takes calls */
    VC__POOL_FAILING,    /* the last attempt has failed */
};

struct vc__pool {
    struct vc__cm *cm;
    struct vc__engine *engine;
    struct vc__link_cap *cap;
    struct vc__pool_opts opts;
    char *addresses;               /* of opts.target.all; or NULL */
    uint8_t instance[VC__ID_SIZE]; /* this client's */
    struct vc__throttle throttle;  /* for calls to its peer */

    struct vc__lock lock;
    bool closed;                /* lock: true once no request is accepted */
    bool attempting;            /* lock: true while a link is made */
    bool posted;                /* lock: true while `connect` is posted */
    bool refusing;              /* lock: true while `refuse` is posted */
    bool tidying;               /* lock: true while `tidy` is posted */
    bool starving;              /* lock: true while `starved` is posted */
    bool home_posted;           /* lock: true while `home` is posted */
    bool home_due;              /* lock: see vc__pool_go_home() */
    uint64_t not_before;        /* lock: earliest next attempt */
    struct vc__backoff backoff; /* lock */
    struct vc__error failure;   /* lock: of the last attempt */
    bool failing;               /* lock: true from a failed attempt without
                                     other links on, until a link is up */
    uint64_t refused_until; /* lock: no prompt before, after UNIMPLEMENTED */
    struct vc__peer *peer;  /* lock; NULL: none is known */
    struct cds_list_head former;  /* lock: former peers that still run calls */
    struct cds_list_head clients; /* lock */
    struct cds_list_head gates;   /* lock; see cm/pool/gate.h */
    struct cds_list_head refused; /* lock; to fail: vc__pool_refuse() */
    struct cds_list_head broken;  /* lock; streams, the same */
    struct vc__error broken_by;   /* lock: why their link was lost */
    struct vc__error lost;      /* lock: why the last link was lost, or VC_OK */
    uint64_t asked;             /* lock; id of the service of the next hello */
    uint32_t asked_fingerprint; /* lock; the same */
    struct vc__error *missed;   /* lock; why each transport last failed, as in
                                 `choice`; NULL if not vc:// */
    struct cds_list_head connecting; /* lock; of struct vc__pool_waiter */
    _Atomic(void *) spare;           /* see cm/pool/session_note.c */
    struct vc__store store;          /* memory of long replies, */
    struct vc__account replies;      /* and what they use of it */
    struct vc__trimmer trimmer;      /* the holder's */
    struct vc__tally tally;          /* lock; of enum vc__pool_count */
    atomic_uint peer_message_max;    /* limit of the last peer; 0: none yet */
    atomic_uint health;              /* enum vc__pool_health */
    atomic_uint readied;             /* see vc__pool_readied() */
    _Atomic uint64_t prompt_at;      /* see vc__pool_prompt() */
    _Atomic uint64_t calls_failed;   /* see vc__pool_call_failed() */
    struct vc__pool_ahead ahead;

    /* The holder's own. */
    struct vc__task connect, refuse, tidy, starved, home, close;
    struct vc__pool_attempt attempt;
    struct vc__upgrade upgrade;
    struct vc__timer look; /* looks for idle links */
    unsigned n_links;      /* not freed; includes those down */
    unsigned
        n_unanswered;  /* links of this peer lost in a row without a reply */
    bool said_failing; /* the last line of the log about that */
    bool homing;       /* written under the lock: the attempt leads to the
                        * target, though there is a peer with links, which
                        * moved */
    bool closing;      /* no more links; sessions are being closed, */
    bool leaving;      /* then its links */
    bool ending;       /* the last one is freed: `close` was posted again */
    void (*closed_call)(struct vc__pool *p); /* of vc__pool_close() */
};

/* Initialises a pool. Returns false if out of memory. Called by
 * vc__pools_get(), on any thread that opens a channel or adds servers to it. */
bool vc__pool_init(struct vc__pool *p, struct vc__cm *cm,
                   struct vc__link_cap *cap, const struct vc__pool_opts *opts,
                   const uint8_t instance[VC__ID_SIZE]);

/* Accepts no more requests. Called by vc__pools_leave() for the pool's last
 * user, on the holder, and by vc__pools_retire(), for vc_channel_close(). */
void vc__pool_shut(struct vc__pool *p);

/* Begins to close the links of a pool after vc__pool_shut(). All clients are
 * closed. closed() is then called on the holder, by a task, and may free the
 * pool. Called by vc__pools_close(). */
void vc__pool_close(struct vc__pool *p, void (*closed)(struct vc__pool *p));
/* Frees what the pool has allocated. Called by pools.c in closed(). */
void vc__pool_fini(struct vc__pool *p);

/* Blocks until a link takes calls and its peer has the first packet, or none can
 * be made; makes one, with this service in its hello. `owner` is for
 * vc__pool_cancel(), after which, with *closing true, it begins no wait. VC_OK,
 * or the status of vc__error_last(), which says why no link came up, as
 * VC_UNAVAILABLE after connect_ms if the pool leads nowhere. */
enum vc_status vc__pool_connect(struct vc__pool *p,
                                const struct vc_service *service,
                                const void *owner, const atomic_bool *closing);

/* Cancels the waits of this owner in vc__pool_connect(): VC_CANCELLED. Also
 * wakes a sleeping holder. For vc_channel_close(), on its thread. */
void vc__pool_cancel(struct vc__pool *p, const void *owner);

/* Fails the requests that vc__client_launch() has put into p->refused for lack
 * of memory or sessions, and the streams in p->broken, whose link was lost.
 * Without locks, as their callbacks may do anything. Called after each event of
 * a link or gate that may have put some there, by a task, and when the watch of
 * a server's health ends. */
void vc__pool_refuse(struct vc__pool *p);

/* Posts vc__pool_refuse() to the holder if p->refused is not empty. Called by
 * vc__client_abandon(), on any thread, under the lock. */
void vc__pool_refuse_soon(struct vc__pool *p);

/* Fails these requests with this error and outcome: removes each from the list
 * and calls its failed(). Without locks: the holder, or any thread that closes
 * a client. */
void vc__requests_fail(struct cds_list_head *requests, struct vc__error *error,
                       enum vc_outcome outcome);

/* --- any thread, under the lock ----------------------------------------- */

/* A request or thread waits for a link: has one made if there is none. Returns
 * false with *error if the last attempts have failed and the next is too far
 * off. Called when a request starts, or a thread begins to wait for a link. */
bool vc__pool_want(struct vc__pool *p, const struct vc_service *service,
                   struct vc__error *error);

/* Has another link made, within max_links, if the peer lets a client have
 * several: a link is busy, or there are fewer than min_links. On a thread that
 * sends or abandons a request, or the holder. */
void vc__pool_grow(struct vc__pool *p);

/* A call at this peer was taken back unsent. If it was the last call at a
 * former peer, a task closes the links of that. Called by
 * session_slot_rewind(). */
void vc__pool_tidy(struct vc__pool *p, const struct vc__peer *peer);

/* Adds n to a counter. */
static inline void
vc__pool_count(struct vc__pool *p, enum vc__pool_count which, int64_t n)
{
    vc__tally_add(&p->tally, which, n);
}

/* Adds 1 to a counter. Takes the lock itself. Called when a call or stream of a
 * channel is retried, or is not for lack of budget, or a call is throttled; and
 * for a better transport. */
void vc__pool_count_one(struct vc__pool *p, enum vc__pool_count which);

/* The memory used by long replies has changed: updates its gauge. Called by the
 * files that receive replies. */
void vc__pool_count_replies(struct vc__pool *p);

/* The longest message that this end takes. Constant: without the lock, too. */
static inline uint32_t
vc__pool_message_max(const struct vc__pool *p)
{
    return 1u << p->opts.log2_message;
}

/* True if the peer may be reached by another transport or at another address
 * than that of its link. Constant. For is_dead(), on the holder, without the
 * lock. */
static inline bool
vc__pool_has_ways(const struct vc__pool *p)
{
    return p->opts.choice.n > 1 || p->opts.target.all != NULL;
}

/* --- health: any thread, without the lock ------------------------------- */

/* What the pool has published last. Called by the choices among the pools of a
 * channel and other files of rpc/balance, also for vc_channel_connect(); and by
 * the files of the pool, mostly under its lock. */
static inline enum vc__pool_health
vc__pool_health(const struct vc__pool *p)
{
    return (enum vc__pool_health)atomic_load_explicit(&p->health,
                                                      memory_order_relaxed);
}

/* How often the pool has become ready, modulo 2^32. Called by
 * rpc/balance/loads.c: a server that is connected anew may be another. */
static inline unsigned
vc__pool_readied(const struct vc__pool *p)
{
    return atomic_load_explicit(&p->readied, memory_order_relaxed);
}

/* The name of the health, never NULL, for vc_channel_describe(). */
const char *vc__pool_health_name(const struct vc__pool *p);

/* Calls and streams that have begun and not ended, as far as this thread knows.
 * Called by policies that compare servers. */
static inline uint64_t
vc__pool_calls(const struct vc__pool *p)
{
    const _Atomic uint64_t *n = p->tally.value;
    uint64_t ended =
        atomic_load_explicit(&n[VC__POOL_CALLS_ENDED], memory_order_relaxed);
    uint64_t started =
        atomic_load_explicit(&n[VC__POOL_CALLS_STARTED], memory_order_relaxed);

    return started > ended ? started - ended : 0;
}

/* A call or stream that this server has answered, or may have seen, has ended
 * with another status than VC_OK, and was not cancelled here. Called by
 * vc__servers_failed(), on the thread that ends the attempt. */
static inline void
vc__pool_call_failed(struct vc__pool *p)
{
    /* Relaxed: only the number matters. */
    atomic_fetch_add_explicit(&p->calls_failed, 1, memory_order_relaxed);
}

/* Calls and streams that have begun, also those that never left this process. */
static inline uint64_t
vc__pool_calls_begun(const struct vc__pool *p)
{
    return atomic_load_explicit(&p->tally.value[VC__POOL_CALLS_STARTED],
                                memory_order_relaxed);
}

/* Those of vc__pool_call_failed(). Both are for vc_channel_describe(). */
static inline uint64_t
vc__pool_calls_failed(const struct vc__pool *p)
{
    return atomic_load_explicit(&p->calls_failed, memory_order_relaxed);
}

/* pool_health.c: has a link made, with this service in the hello, unless there
 * is one or one is being made. Takes the lock. Called by vc__pool_prompt(), and
 * by ahead_turn() on the holder. */
void vc__pool_prompt_now(struct vc__pool *p, const struct vc_service *service);

/* The same once the backoff after a failure is over. Else, or if there is a
 * link, takes no lock and does nothing. Called by a policy that wants the pool
 * connected, on a thread that starts an attempt. */
static inline void
vc__pool_prompt(struct vc__pool *p, const struct vc_service *service,
                uint64_t now)
{
    if (now >= atomic_load_explicit(&p->prompt_at, memory_order_relaxed))
        vc__pool_prompt_now(p, service);
}

/* --- nowhere: before the servers of a channel are known ------------------- */

/* A pool of the option `nowhere` has no target. Calls wait in it, as for a
 * link, until the servers are known, or cannot be found out.
 *
 * With the option `recalls` calls wait in it for a while only: 10 ms after one
 * has begun to wait, the pool ends all of them with VC_UNAVAILABLE, "not
 * executed", and they may choose a server again.
 *
 * Ends the calls with this error, soon, on the holder, and later ones at once;
 * those that wait were not executed, and may go to the servers. Called when
 * these are known, or cannot be found out, on any thread, without the lock. */
void vc__pool_nowhere_fail(struct vc__pool *p, const struct vc__error *why);
/* pool_nowhere.c, for the task `connect` of such a pool, on the holder, without
 * the lock: ends the calls, or, with `recalls`, has a timer end them. */
void vc__pool_nowhere_end(struct vc__pool *p);
/* The same file, for vc__pool_init(), on any thread: without `recalls` such a
 * pool begins with waiting. */
void vc__pool_nowhere_init(struct vc__pool *p);

/* --- home --------------------------------------------------------------- */

/* If the pool is where its server has sent it, by a redirect, the target is
 * tried again, once; soon after an attempt that is being made. Calls go on
 * meanwhile, and if the target sends the pool to the same server again, or
 * cannot be reached. Called for each server that a resolver has named. Any
 * thread, without the lock. */
void vc__pool_go_home(struct vc__pool *p);

/* pool_home.c, on the holder, under the lock. The peer drains, or the pool goes
 * elsewhere: new calls use the next peer, and those in progress end here. The
 * attempt, if there is one, counts as ended. vc__pool_former_check() must
 * follow, without the lock. Called by on_goaway() and vc__pool_home_enter(). */
void vc__pool_part(struct vc__pool *p);
/* Has the task `home` run, once, unless the pool is closed. Any thread, under
 * the lock. Called by vc__pool_go_home(), and by vc__pool_health_update() when
 * an attempt that has delayed it is over. */
void vc__pool_home_post(struct vc__pool *p);
/* A link that joins no present peer is up. False, with *error, if it was to
 * lead home and leads to where the pool is. Else the peer, if it has been left
 * for this link, is a former one now. Called by peer_for() of pool_link.c. */
bool vc__pool_home_enter(struct vc__pool *p, struct vc__pool_link *pl,
                         struct vc__error *error);
/* True if the new peer of this link is not that of the target. Called by
 * peer_for(). */
bool vc__pool_is_moved(const struct vc__pool *p,
                       const struct vc__pool_link *pl);
/* The same file: makes a hello that of a first link, as the pool goes home.
 * Without the lock. Called when such an attempt makes a link. */
void vc__pool_home_hello(const struct vc__pool *p, struct vc__hello *h);

/* --- between the files of the pool -------------------------------------- */

/* pool_counts.c: opens p->tally. Called by vc__pool_init(), on any thread. */
void vc__pool_tally_open(struct vc__pool *p);

/* pool_connect.c: the attempt to get a link up. vc__pool_init() calls
 * vc__pool_attempt_init(), on any thread. */
void vc__pool_attempt_init(struct vc__pool *p);
/* Begins an attempt, at p->not_before. Called by the task `connect`. Unless it
 * is cancelled, it ends with a link that joins a peer, or vc__pool_failed(). */
void vc__pool_attempt_begin(struct vc__pool *p);
/* Stops the attempt; vc__pool_failed() is not called. Called when the pool is
 * closed, or the peer drains or is not to be resumed. */
void vc__pool_attempt_cancel(struct vc__pool *p);
/* True while a name is looked up or connections are tried; false in the
 * backoff. Called by the task `connect`. */
bool vc__pool_attempt_is_under_way(const struct vc__pool *p);

/* Connects to these places, at least one, in this order; that of a peer may
 * come first or instead (ways_find()). At vc:// they have no transport. Without
 * any transport for them, calls vc__pool_failed(). For lookup_end(). */
void vc__pool_attempt_dial(struct vc__pool *p, const struct vc__place *places,
                           unsigned n);

/* pool_lookup.c: finds out the addresses of the target, within the attempt's
 * time, for vc__pool_attempt_dial(); or ends with vc__pool_failed(). Called
 * when an attempt begins. */
void vc__pool_lookup(struct vc__pool *p);
/* Stops the lookup: nothing is called any more. Called when the attempt is
 * cancelled, or fails for want of memory. */
void vc__pool_lookup_cancel(struct vc__pool *p);

/* pool.c: no link can be made, for this reason. Unless other links are up, all
 * ends that waits for one, or was in progress on a lost one. The next attempt
 * waits for the backoff. VC_UNIMPLEMENTED, or VC_FAILED_PRECONDITION by a
 * reject, without other links and unless the pool is closed, says that the
 * server refuses the hello's service: of what waits only that for it ends, and
 * a hello for the next one follows. Called on the holder, when an attempt has
 * failed, no peer is to be resumed, or the pool closes or is of nowhere. */
void vc__pool_failed(struct vc__pool *p, const struct vc__error *error);

/* pool_health.c: the server does not serve what it was asked for: it counts as
 * failing, and is not asked again at once. Under the lock; for
 * vc__pool_failed(), which publishes the health then. */
void vc__pool_health_refused(struct vc__pool *p);
/* pool_health.c: publishes the health. Any thread, under the lock, after its
 * links, or p->attempting, failing or not_before have changed. Notifies gates,
 * and may post the tasks `home` and of pool_ahead.c. */
void vc__pool_health_update(struct vc__pool *p);

/* pool.c: drops and frees a peer without links that will not be resumed.
 * Requests that it may have seen are moved to `unknown`, the others wait again.
 * The holder, under the lock, except in pool_leave(). */
void vc__pool_peer_drop(struct vc__peer *peer, struct cds_list_head *unknown);
/* Appends waiting requests of all clients to links, after a link has come up or
 * gone down, or a former peer was lost. The holder, under the lock;
 * vc__pool_push() must follow, without it. */
void vc__pool_launch(struct vc__pool *p);
/* Pushes the links of the pool's peer, and calls vc__pool_refuse(). Called
 * after vc__pool_launch(), when a link has come up or gone down, and by
 * vc__gate_set(). Without the lock, as the peer and its links change on the
 * holder only. */
void vc__pool_push(struct vc__pool *p);
/* The next three: under the lock. True if any request or waiter needs a link.
 * The holder, when the peer drains or its last link is lost. */
bool vc__pool_is_wanted(struct vc__pool *p);
/* Has the holder make a link, by the task `connect`, unless one is being made
 * or the pool is closed. Any thread. */
void vc__pool_attempt(struct vc__pool *p);
/* The same; the hello asks for this service, which may be gone by then. */
void vc__pool_attempt_for(struct vc__pool *p, const struct vc_service *service);
/* Ends the backoff, unless the pool leads nowhere. For connect_join(), on the
 * thread that connects, and on the holder when the last link is lost. */
void vc__pool_hurry(struct vc__pool *p);

/* The threads that wait for a link: moves all of them to `out`. The holder,
 * under the lock, when a link is up or no server can be reached. */
void vc__pool_waiters_take(struct vc__pool *p, struct cds_list_head *out);
/* Wakes them, with this error or VC_OK. Without the lock: the holder, or any
 * thread that cancels some by vc__pool_cancel(). */
void vc__pool_waiters_wake(struct cds_list_head *waiters,
                           const struct vc__error *error);

/* pool_close.c: a session was closed, or a link freed: while the pool closes,
 * its links follow the last session, and a task calls closed() at the end. */
void vc__pool_close_check(struct vc__pool *p);

/* pool_connect.c: fills the hello of a link to be made. */
void vc__pool_attempt_hello(struct vc__pool *p, struct vc__hello *h);
/* The most that its hello offers. Constant; called for each dial run. */
struct vc__dial_offer vc__pool_attempt_offer(const struct vc__pool *p);

/* Logs which transport the calls of a vc:// target use, the one of this rank,
 * and why no better one. what: "use", "still use". Called by upgrade.c when
 * that has changed, or the first search since a link joined has failed. */
void vc__pool_log_transport(struct vc__pool *p, unsigned rank,
                            const char *what);

/* Logs that the server cannot be reached, or does not serve what it was asked
 * for, when that was not so before. Called by vc__pool_failed(). Takes the
 * lock. */
void vc__pool_log_failing(struct vc__pool *p, const struct vc__error *why);
/* Logs that such a server is ready again. Called by vc__upgrade_joined(), when
 * a link has joined. */
void vc__pool_log_ready(struct vc__pool *p);

/* upgrade.c. vc__pool_init() calls vc__upgrade_init(), on any thread. */
void vc__upgrade_init(struct vc__pool *p);
/* A link has joined the pool's peer: logs what that changes, closes links by
 * worse transports, and looks for a better transport. If the target names its
 * transport, only vc__pool_log_ready() is called. For pool_link_on_up(). */
void vc__upgrade_joined(struct vc__pool *p, struct vc__pool_link *pl);
/* A link is lost, and about to leave its peer. If only links are left then that
 * stay for their streams, the best of them take calls again: so the pool stays
 * ready. Called by link_lost(), under the lock. */
void vc__upgrade_lose(struct vc__pool *p, const struct vc__pool_link *lost);
/* Logs by which transport calls go, if it has changed. Nothing is logged if the
 * target names its transport, or no link may carry calls. Called when a link of
 * the peer has joined or was lost. */
void vc__upgrade_log(struct vc__pool *p);
/* A better link was up but could not join: looks again later. Called by
 * link_unused(), as that link goes down. */
void vc__upgrade_unused(struct vc__pool *p);
/* Stops the search for a better transport. Called when the pool is closed, or
 * the peer drains or is not to be resumed. */
void vc__upgrade_cancel(struct vc__pool *p);
/* True if the transport may carry calls. Pure; the holder, when a link
 * joins. */
bool vc__upgrade_suits(const struct vc__pool *p,
                       const struct vc__transport *transport);

/* pool_describe.c: keeps the error of this transport for vc__pool_describe():
 * the engine cannot open it, a way by it has failed, or a link by it was lost.
 * NULL, from vc__upgrade_joined() only, clears it, as a link by it is up. Does
 * nothing if the target names its transport, or the channel may not use this
 * one. Holder, without the lock. */
void vc__pool_missed(struct vc__pool *p, const struct vc__transport *transport,
                     const struct vc__error *error);
/* Writes what vc_channel_describe() says of this pool to `text`, truncated to
 * size. Returns the length of all of it. Called by server_describe() of
 * rpc/balance/servers.c. Any thread, without the lock. */
size_t vc__pool_describe(struct vc__pool *p, char *text, size_t size);

/* pool_starved.c: a session with calls in progress could not be bound to a link
 * for lack of memory. A task closes that link soon, as RESOURCE_EXHAUSTED.
 * Called by peer_loose_bind() of peer.c, on the holder, under the lock. */
void vc__pool_starve(struct vc__pool *p);

/* pool_link.c: makes a link for an attempt or a better transport, when a dial
 * run needs one. NULL, with vc__error_last(), as in vc__dial_run_ops.
 * pool_link_on_gone() frees it. */
struct vc__pool_link *vc__pool_link_new(struct vc__pool *p,
                                        const struct vc__transport *transport,
                                        uint32_t timeout_ms);
/* Starts the timer that looks for idle links: when an attempt begins, and again
 * after each look. */
void vc__pool_look(struct vc__pool *p);
/* Closes the links of former peers that have nothing in progress, after a frame
 * or a task that may have ended the last call there, or after a link has taken
 * the pool elsewhere. Closing one link may take down the others, and with the
 * last one the peer is freed. */
void vc__pool_former_check(struct vc__pool *p);

#endif
