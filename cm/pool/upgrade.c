/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Moves the calls of vc://HOST:PORT to the best transport that reaches the
 * peer. The first link is the one that came up first: RDMA or TCP. After that
 *
 * - shared memory is tried at once, if the accept named a socket, which only
 *   clients on the same host can reach;
 * - transports better than the present links are tried again while calls are
 *   made: every SETTLE_US, and after two failures every 2 * SETTLE_US.
 *
 * When a better link is up, the worse ones are closed; calls in progress there
 * continue on it as after a lost link. A link that carries a stream stays until
 * the stream has ended. A link by a transport that may carry no calls
 * (vc__pool_opts.require) only finds the peer. If no other link then comes up,
 * calls end with the reason. See cm/pool/pool.h. All of this file runs on the
 * holder of the engine, except vc__upgrade_init(), and without the pool's lock
 * unless a comment says otherwise. Functions named upgrade_on_ are callbacks of
 * the search's dial run. */
#include "cm/pool/pool.h"

#define SETTLE_US UINT64_C(3000000)

/* For the callbacks: the pool that this dial run, their argument, belongs
 * to. */
static struct vc__pool *
upgrade_pool_of_dial_run(struct vc__dial_run *d)
{
    return caa_container_of(d, struct vc__pool, upgrade.dial_run);
}

/* The rank of the link's transport in the pool's choice: 0 is the best. Under
 * the lock. For best_link(), best_rank(), lesser_find() and
 * vc__upgrade_lose(). */
static unsigned
rank_of(const struct vc__pool *p, const struct vc__pool_link *pl)
{
    return vc__choice_rank(&p->opts.choice, pl->link.wire->transport);
}

/* For link_join() of pool_link.c, under the lock. */
bool
vc__upgrade_suits(const struct vc__pool *p,
                  const struct vc__transport *transport)
{
    return p->opts.require.n == 0 ||
           vc__choice_has(&p->opts.require, transport);
}

/* For best_rank(), lesser_find() and vc__upgrade_lose(): the best link that may
 * carry calls, but not this one, or NULL; NULL if there is none. Under the
 * lock, which protects the links of a peer. */
static struct vc__pool_link *
best_link(const struct vc__pool *p, const struct vc__pool_link *but)
{
    struct vc__pool_link *pl, *best = NULL;

    if (p->peer == NULL)
        return NULL;
    cds_list_for_each_entry (pl, &p->peer->links, node) {
        if (pl != but && !pl->scout &&
            (best == NULL || rank_of(p, pl) < rank_of(p, best)))
            best = pl;
    }
    return best;
}

/* The rank of the best link: transports of a lower rank are better. The number
 * of transports if no link may carry calls. Called when a link has joined or
 * was lost, the timer fires, or a search begins or fails. */
static unsigned
best_rank(struct vc__pool *p)
{
    const struct vc__pool_link *best;
    unsigned rank;

    vc__lock_take(&p->lock);
    best = best_link(p, NULL);
    rank = best != NULL ? rank_of(p, best) : p->opts.choice.n;
    vc__lock_give(&p->lock);
    return rank;
}

/* --- lesser links -------------------------------------------------------- */

/* For carries_stream() and is_busy_for_program(), under the lock: true if a
 * call of the program's is in progress that its caller has not abandoned; with
 * of_stream, only if it is a stream. */
static bool
session_has_call(const struct vc__session *s, bool of_stream)
{
    for (unsigned i = 0; s->n_busy > 0 && i < s->n_slots; i++) {
        const struct vc__request *r = s->slots[i].request;

        if (r == NULL || (r->message != NULL && r->own))
            continue;
        if (!of_stream || s->slots[i].stream != 0)
            return true;
    }
    return false;
}

/* For lesser_find(): true if the link may not be closed yet, as it carries a
 * stream of the program's. Under the lock. */
static bool
carries_stream(const struct vc__pool_link *pl)
{
    const struct vc__session *s;

    cds_list_for_each_entry (s, &pl->sessions, node) {
        if (session_has_call(s, true))
            return true;
    }
    return false;
}

/* For lesser_close(): a worse link that can be closed now; NULL if there is
 * none. From now on no call begins on any worse link. *streams: true if one
 * stays for its streams. */
static struct vc__link *
lesser_find(struct vc__pool *p, bool *streams)
{
    struct vc__pool_link *best, *pl, *lesser = NULL;

    *streams = false;
    vc__lock_take(&p->lock);
    best = best_link(p, NULL);
    if (best != NULL) {
        vc__peer_place(p->peer, &best->link);
        cds_list_for_each_entry (pl, &p->peer->links, node) {
            if (rank_of(p, pl) <= rank_of(p, best))
                continue;
            pl->leaving = true;
            if (carries_stream(pl))
                *streams = true;
            else
                lesser = pl;
        }
    }
    vc__lock_give(&p->lock);
    return lesser == NULL ? NULL : &lesser->link;
}

/* Closes the worse links, when a link has joined, or the timer fires. Returns
 * true if some are left because of their streams. */
static bool
lesser_close(struct vc__pool *p)
{
    struct vc__link *link;
    bool streams;

    while ((link = lesser_find(p, &streams)) != NULL)
        vc__link_close(link, VC_UNAVAILABLE,
                       "calls now use a better transport");
    return streams;
}

void
vc__upgrade_lose(struct vc__pool *p, const struct vc__pool_link *lost)
{
    struct vc__pool_link *best = best_link(p, lost), *pl;

    if (best == NULL || !best->leaving)
        return;
    cds_list_for_each_entry (pl, &p->peer->links, node) {
        if (pl != lost && rank_of(p, pl) == rank_of(p, best))
            pl->leaving = false;
    }
    vc__peer_place(p->peer, &best->link);
}

/* --- links that only showed the way --------------------------------------- */

/* For scouts_give_up(): a link that may carry no calls; NULL if there is
 * none. */
static struct vc__link *
scout_find(struct vc__pool *p)
{
    struct vc__pool_link *pl;
    struct vc__link *link = NULL;

    vc__lock_take(&p->lock);
    if (p->peer != NULL) {
        cds_list_for_each_entry (pl, &p->peer->links, node) {
            if (pl->scout)
                link = &pl->link;
        }
    }
    vc__lock_give(&p->lock);
    return link;
}

/* No required transport is available: closes a link that may carry no calls, if
 * there is one. Its end then ends all calls. Called when a search has failed,
 * or finds nothing to try. */
static void
scouts_give_up(struct vc__pool *p, const char *why)
{
    struct vc__link *link = scout_find(p);

    if (link != NULL)
        vc__link_close(link, VC_FAILED_PRECONDITION,
                       "the option require excludes %s, which reaches the "
                       "server, and %s does not reach it: %.150s",
                       link->wire->transport->scheme,
                       p->opts.require.best[0]->scheme, why);
}

/* --- seeking ------------------------------------------------------------- */

static void on_settled(struct vc__timer *timer);

/* Starts the timer for on_settled(). Called when a better transport is to be
 * looked for later, and while worse links stay. If out of memory for the timer,
 * the links stay as they are. */
static void
upgrade_settle(struct vc__pool *p)
{
    struct vc__upgrade *u = &p->upgrade;
    uint64_t us = u->failed > 1 ? 2 * SETTLE_US : SETTLE_US;

    vc__timer_start(&p->engine->timers, &u->timer,
                    vc__timer_beat(vc__now() + us, SETTLE_US / 8), on_settled);
}

/* For upgrade_seek(): fills `places` with those to which transports better than
 * this rank lead. Returns their number. */
static unsigned
places_find(struct vc__pool *p, unsigned rank, bool at_once,
            struct vc__place *places)
{
    unsigned n = 0;

    vc__lock_take(&p->lock);
    for (unsigned i = 0; p->peer != NULL && i < rank; i++) {
        struct vc__place *to = &places[n];

        to->transport = p->opts.choice.best[i];
        to->addr = p->peer->home;
        if (to->transport->local && p->peer->has_local)
            vc__addr_drawn(&to->addr, p->peer->local.name, p->peer->local.uid);
        n += to->transport->local ? p->peer->has_local : !at_once;
    }
    vc__lock_give(&p->lock);
    return n;
}

/* Looks for a transport better than the best link's, when a link has joined, or
 * the timer fires. at_once: transports tried for the first link are not tried
 * again. Does nothing while a search is in progress. */
static void
upgrade_seek(struct vc__pool *p, bool at_once)
{
    struct vc__place places[VC__TRANSPORTS_MAX];
    struct vc__dial_opts opts = {
        .places = places,
        .due = vc__after_ms(vc__now(), p->opts.connect_ms),
        .seed = vc__now(),
        .head_start_ms = p->opts.head_start_ms,
        .offer = vc__pool_attempt_offer(p)};
    unsigned rank = best_rank(p);

    if (p->upgrade.dial_run.active)
        return;
    opts.n_places = places_find(p, rank, at_once, places);
    if (opts.n_places > 0)
        vc__dial_run_start(&p->upgrade.dial_run, &opts);
    else if (rank == p->opts.choice.n)
        scouts_give_up(p,
                       "the server has announced no shared-memory socket: let "
                       "it listen at vc:// with shm among its transports");
    else if (rank > 0)
        upgrade_settle(p);
}

/* For is_used(), under the lock: true if a call of the program's is in progress
 * at this peer. */
static bool
is_busy_for_program(const struct vc__peer *peer)
{
    const struct vc__pool_link *pl;
    const struct vc__session *s;

    cds_list_for_each_entry (pl, &peer->links, node) {
        cds_list_for_each_entry (s, &pl->sessions, node) {
            if (session_has_call(s, false))
                return true;
        }
    }
    cds_list_for_each_entry (s, &peer->loose, node) {
        if (session_has_call(s, false))
            return true;
    }
    return false;
}

/* For on_settled(): true if a call of the program's has begun since the last
 * check, or is in progress, or a thread waits in vc__pool_connect(). A Watch of
 * the library's own (rpc/balance/health_watch.c) is no use. */
static bool
is_used(struct vc__pool *p)
{
    struct vc__upgrade *u = &p->upgrade;
    uint64_t began;
    bool used;

    vc__lock_take(&p->lock);
    began = atomic_load_explicit(&p->tally.value[VC__POOL_CALLS_STARTED],
                                 memory_order_relaxed);
    used = began != u->seen || !cds_list_empty(&p->connecting) ||
           (p->peer != NULL && is_busy_for_program(p->peer));
    u->seen = began;
    vc__lock_give(&p->lock);
    return used;
}

/* For on_settled(): true if the present peer has any link. */
static bool
has_links(struct vc__pool *p)
{
    bool has;

    vc__lock_take(&p->lock);
    has = p->peer != NULL && p->peer->n_links > 0;
    vc__lock_give(&p->lock);
    return has;
}

/* The timer of upgrade_settle() fires: closes worse links, and looks for a
 * better transport while calls are made. */
static void
on_settled(struct vc__timer *timer)
{
    struct vc__pool *p =
        caa_container_of(timer, struct vc__pool, upgrade.timer);
    bool streams;

    if (!has_links(p)) /* the next link to join starts again */
        return;
    streams = lesser_close(p);
    if (is_used(p))
        upgrade_seek(p, false);
    else if (streams || best_rank(p) > 0)
        upgrade_settle(p);
    if (streams && !vc__timer_running(timer))
        upgrade_settle(p);
}

/* --- its dial run --------------------------------------------------------- */

/* ops->link_new: the search tries a way. Returns the new link's try; NULL, with
 * vc__error_last(), if none can be made. pool_link_on_gone() frees the link. */
static struct vc__try *
upgrade_on_link_new(struct vc__dial_run *d,
                    const struct vc__transport *transport, uint32_t ms)
{
    struct vc__pool *p = upgrade_pool_of_dial_run(d);
    struct vc__pool_link *pl = vc__pool_link_new(p, transport, ms);

    if (pl == NULL)
        return NULL;
    vc__pool_attempt_hello(p, &pl->link.hello);
    return &pl->try;
}

/* ops->missed: one better transport has failed; others may succeed. Keeps its
 * error for descriptions. */
static void
upgrade_on_missed(struct vc__dial_run *d, const struct vc__transport *transport,
                  const struct vc__error *error)
{
    vc__pool_missed(upgrade_pool_of_dial_run(d), transport, error);
}

/* ops->failed: no better transport could be used. Looks again later; or, if no
 * link may carry calls, closes one, whose end ends all calls. */
static void
upgrade_on_failed(struct vc__dial_run *d, const struct vc__error *error)
{
    struct vc__pool *p = upgrade_pool_of_dial_run(d);
    unsigned rank = best_rank(p);

    p->upgrade.failed++;
    if (rank == p->opts.choice.n) {
        scouts_give_up(p, error->text);
        return;
    }
    if (p->upgrade.failed == 1)
        vc__pool_log_transport(p, rank, "still use");
    upgrade_settle(p);
}

void
vc__upgrade_log(struct vc__pool *p)
{
    unsigned rank = best_rank(p);

    if (p->opts.target.transport != NULL || rank == p->upgrade.logged ||
        rank == p->opts.choice.n)
        return;
    p->upgrade.logged = rank;
    vc__pool_log_transport(p, rank, "use");
}

static const struct vc__dial_run_ops dial_run_ops = {
    .link_new = upgrade_on_link_new,
    .missed = upgrade_on_missed,
    .failed = upgrade_on_failed};

/* Any thread: the pool is being made. */
void
vc__upgrade_init(struct vc__pool *p)
{
    vc__dial_run_init(&p->upgrade.dial_run, p->engine, &dial_run_ops,
                      &p->opts.source);
    p->upgrade.logged = p->opts.choice.n;
}

void
vc__upgrade_joined(struct vc__pool *p, struct vc__pool_link *pl)
{
    bool sought = pl->try.dial_run == &p->upgrade.dial_run;

    vc__pool_log_ready(p);
    if (p->opts.target.transport != NULL)
        return;
    vc__pool_missed(p, pl->link.wire->transport, NULL);
    if (sought)
        vc__pool_count_one(p, VC__POOL_UPGRADES);
    p->upgrade.failed = 0;
    vc__upgrade_log(p);
    if (lesser_close(p))
        upgrade_settle(p);
    if (!sought)
        upgrade_seek(p, true);
    else if (best_rank(p) > 0)
        upgrade_settle(p);
}

void
vc__upgrade_unused(struct vc__pool *p)
{
    p->upgrade.failed++;
    upgrade_settle(p);
}

void
vc__upgrade_cancel(struct vc__pool *p)
{
    vc__timer_stop(&p->engine->timers, &p->upgrade.timer);
    vc__dial_run_stop(&p->upgrade.dial_run);
}
