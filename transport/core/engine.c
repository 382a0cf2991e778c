/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The progress loop (doc/architecture.md, "Who polls"). It knows nothing of
 * RDMA: completion queues and event channels are sources. See
 * transport/core/engine.h. Static functions run on the holder, but for
 * engine_await(), looked_at() and handler_run_lend(). */
#include "transport/core/engine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/core/habit.h"
#include "transport/core/handoff.h"

/* Polls between two readings of the clock, whatever they find. */
#define POLLS_PER_CLOCK 64
/* The holder polls this long without yielding: a round trip of a local network
 * is over by then, and the kernel's own work on this core can wait as long. */
#define YIELD_AFTER_US 50
/* While there is traffic, the engine looks at the descriptors this often. */
#define LOOK_EVERY_US 1000
/* It looks this often while links connect or disconnect, or are not polled
 * (cold_wires). Connecting takes several events, one after the other, and each
 * would wait LOOK_EVERY_US. */
#define LOOK_WIRES_US 20
/* An engine that no thread has looked at for so long is looked at before a
 * call. */
#define CATCH_UP_US 10000
/* It catches up in so many turns at most, as one turn may not handle all that
 * has come meanwhile. */
#define CATCH_UP_TURNS 16
/* Handlers may run in a row for so long before the engine is polled: it does
 * not notice what comes meanwhile. */
#define HANDLERS_ROW_US 100
/* Handlers between two readings of the clock; they may take long: under load
 * each turn of a server runs many. */
#define HANDLERS_PER_CLOCK 16

#define EVENTS 16

/* A timer that is due within so long may be late by VC__SLACK_US. */
#define SLACK_MS 50

/* --- the token --------------------------------------------------------- */

static void engine_park(struct vc__engine *e);

/* For engine_leave(), when others wait: keeps the token for a later call of
 * this thread, or hands it over. */
__attribute__((noinline)) static void
engine_leave_to_others(struct vc__engine *e)
{
    bool watched = vc__token_is_watched(&e->token);

    if (watched)
        vc__tenure_forbid(&e->tenure);
    else if (vc__tenure_goes_on(&e->tenure, vc__spin_wakeup_us(&e->spin)) &&
             vc__token_keep(&e->token))
        return;
    if (e->tenure.ended)
        vc__token_notify(&e->token, true);
    vc__tenure_end(&e->tenure);
    if (watched)
        engine_park(e);
    vc__token_pass(&e->token, &e->ledger.held[VC__COUNT_token_handovers]);
    if (watched)
        vc__engine_rearm(e);
    vc__tenure_left(&e->tenure);
}

/* Ends the holder's turn: leaves the token free, or to others. Called by
 * engine_return(), and at the end of catch_up, serve, settle and turn. */
static void
engine_leave(struct vc__engine *e)
{
    if (!vc__token_drop(&e->token))
        engine_leave_to_others(e);
}

/* --- handlers ---------------------------------------------------------- */

void
vc__engine_handle(struct vc__engine *e, struct vc__task *task)
{
    cds_list_add_tail(&task->node, &e->handlers);
}

/* Called by engine_poll() and engine_run_handlers(), which would run one if
 * true. Relaxed: when `spent` becomes false, the engine is kicked. */
static bool
handler_may_run(struct vc__engine *e)
{
    return !cds_list_empty(&e->handlers) && e->depth == 0 &&
           (e->crew == NULL ||
            !atomic_load_explicit(&e->crew->spent, memory_order_relaxed));
}

void
vc__engine_handled(struct vc__engine *e, uint64_t now)
{
    if (e->round == 0)
        e->round = now;
    e->polls_soon = now - e->round >= HANDLERS_ROW_US;
}

/* For engine_run_handlers(): the holder waits in a handler while others are
 * ready. True: a crew thread is the holder now, and runs them. False: there is
 * none. Handlers of a method that waits so take a thread each, as if they were
 * taken over: its habit knows before the next one begins. */
static bool
engine_lend(struct vc__engine *e)
{
    const struct vc__handler_run *s = vc__handler_run_of(e);

    if (e->crew == NULL)
        return false;
    if (!s->lost && s->habit != NULL)
        vc__habit_was_long(s->habit);
    e->depth--;
    if (vc__crew_lend(e->crew, e))
        return true;
    e->depth++;
    return false;
}

/* For engine_advance(), vc__engine_serve() and turn: runs handlers, until
 * polling is due or none may run; a handler that waits lends the engine for
 * them. Returns false if another thread has the engine now. */
static bool
engine_run_handlers(struct vc__engine *e)
{
    struct vc__handler_run s;

    if (cds_list_empty(&e->handlers))
        return true;
    if (e->depth > 0)
        return !engine_lend(e);
    e->round = 0;
    e->polls_soon = false;
    vc__handler_run_open(&s, e);
    while (!s.lost && !e->polls_soon && handler_may_run(e)) {
        struct vc__task *task =
            cds_list_entry(e->handlers.next, struct vc__task, node);

        cds_list_del(&task->node);
        e->handled++;
        task->run(task);
    }
    vc__handler_run_close(&s);
    return !s.lost;
}

/* --- progress ---------------------------------------------------------- */

/* One turn: polls each source that has poll(), and runs the tasks, but no
 * handler. For the loop, before timers, before a sleep or the engine is left to
 * the program's loop, and for catch_up and turn. Returns how much was done, and
 * 1 more if a handler may run. */
static unsigned
engine_poll(struct vc__engine *e)
{
    struct vc__source *s, *next;
    unsigned n = 0;

    cds_list_for_each_entry_safe (s, next, &e->sources, node)
        n += s->poll(s);
    if (vc__engine_has_tasks(e))
        n += vc__engine_run_tasks(e);
    return n + handler_may_run(e);
}

/* For engine_tick() and, on any thread, vc__engine_catch_up(). Relaxed: a hint
 * how stale the engine is, no data depends on it. */
static uint64_t
looked_at(struct vc__engine *e)
{
    return atomic_load_explicit(&e->looked, memory_order_relaxed);
}

/* For engine_look(): why a sleep ended. wakeups_timer also without an event. */
static enum vc__count
wakeup_cause(const struct epoll_event *events, int n)
{
    enum vc__count cause = VC__COUNT_wakeups_timer;

    for (int i = 0; i < n && cause != VC__COUNT_wakeups_event; i++)
        cause = events[i].data.ptr != NULL ? VC__COUNT_wakeups_event
                                           : VC__COUNT_wakeups_told;
    return cause;
}

/* For engine_look(): learns what a wake-up costs, if the time of its cause is
 * known: another thread's kick, or a timer that was soon due. The kernel may
 * delay a timer by its slack, and by a thousandth of its time. */
static void
wakeup_learn(struct vc__engine *e, enum vc__count cause, uint64_t began, int ms)
{
    uint64_t kicked = atomic_load_explicit(&e->kicked, memory_order_relaxed);
    uint64_t due = began + (uint64_t)ms * 1000 + VC__SLACK_US;
    uint64_t now = vc__now();

    if (cause == VC__COUNT_wakeups_told && kicked >= began)
        vc__spin_woke(&e->spin, now - kicked);
    else if (cause == VC__COUNT_wakeups_timer && ms > 0 && ms <= SLACK_MS &&
             now + VC__SLACK_US >= due) /* not by a signal */
        vc__spin_woke(&e->spin, now > due ? now - due : 0);
}

/* Looks at the descriptors, calls ready() of those with events, and returns how
 * many had events; that of vc__engine_kick() counts, too. Sleeps up to `ms`,
 * from `began` on, until there is an event: called so by engine_sleep(); by all
 * others with ms 0. */
static unsigned
engine_look(struct vc__engine *e, uint64_t began, int ms)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(e->epoll_fd, events, EVENTS, ms);

    if (ms != 0) {
        enum vc__count cause = wakeup_cause(events, n);

        vc__count(&e->ledger, cause, 1);
        wakeup_learn(e, cause, began, ms);
    }
    atomic_store(&e->asleep, false); /* what is posted now is seen in time */
    atomic_store_explicit(&e->looked, vc__now(), memory_order_relaxed);
    e->stirred |= n > 0;
    for (int i = 0; i < n; i++) {
        struct vc__source *s = events[i].data.ptr;
        uint64_t count;

        /* All other sources set e->traffic themselves. */
        if (s != NULL && s->poll == NULL && !s->judges)
            e->traffic = true;
        if (s != NULL)
            s->ready(s);
        else if (read(e->wake_fd, &count, sizeof count) < 0)
            continue; /* another look has read it */
    }
    return n > 0 ? (unsigned)n : 0;
}

unsigned
vc__engine_look(struct vc__engine *e)
{
    return engine_look(e, 0, 0);
}

/* For engine_tick(), engine_sleep() and vc__engine_turn(): runs due timers, but
 * handles first what has come meanwhile: otherwise a process that was stopped
 * for a while would take its peers for silent. */
static void
engine_run_timers(struct vc__engine *e, uint64_t now)
{
    if (vc__timers_next(&e->timers) > now)
        return;
    e->stirred = true;
    engine_look(e, 0, 0);
    engine_poll(e);
    vc__timers_run(&e->timers, now);
}

/* For engine_progress() and vc__engine_catch_up(): reads the clock, runs due
 * timers, and looks at the descriptors if that is due. Returns the time. */
static uint64_t
engine_tick(struct vc__engine *e)
{
    uint64_t now = vc__now();

    e->ticked = now;
    engine_run_timers(e, now);
    if (vc__tenure_is_late(&e->tenure, now))
        vc__token_notify(&e->token, false);
    if (now - looked_at(e) >=
        (e->awaiting_wires + e->cold_wires > 0 ? LOOK_WIRES_US : LOOK_EVERY_US))
        engine_look(e, 0, 0);
    return now;
}

/* For engine_progress(): arms all sources and polls once more; if that finds
 * nothing, sleeps until something comes, a timer is due, or `until`. Then runs
 * the timers that are due. */
static void
engine_sleep(struct vc__engine *e, uint64_t until)
{
    struct vc__source *s;
    uint64_t next = vc__timers_next(&e->timers);

    cds_list_for_each_entry (s, &e->sources, node)
        s->arm(s);
    /* See vc__engine_stir(). */
    atomic_store(&e->asleep, true);
    if (engine_poll(e) == 0 && !atomic_load(&e->has_inbox)) {
        uint64_t now = vc__now();

        vc__token_notify(&e->token, false); /* there may be no tick for long */
        engine_look(e, now, vc__ms_left(now, next < until ? next : until));
    }
    atomic_store(&e->asleep, false);
    e->drowsy = true;
    e->woke = vc__now();
    engine_run_timers(e, e->woke);
}

/* --- watched by the program ---------------------------------------------- */

/* For engine_leave_to_others(), if watched. There may be no holder soon:
 * whatever comes from now on must make its descriptor readable, as must what is
 * there already. */
static void
engine_park(struct vc__engine *e)
{
    uint64_t next = vc__timers_next(&e->timers);
    struct vc__source *s;

    cds_list_for_each_entry (s, &e->sources, node)
        s->arm(s);
    if (next != e->alarm)
        vc__engine_alarm(e, next);
    /* See vc__engine_stir(). */
    atomic_store(&e->asleep, true);
    if (engine_poll(e) > 0 || atomic_load(&e->has_inbox) ||
        vc__timers_next(&e->timers) < e->alarm)
        vc__engine_kick(e);
}

/* For engine_hopes() and engine_advance(): traffic has come, found by polling or
 * after a sleep; or a wait begins (`waits`), which says nothing about the
 * peer. */
static void
engine_note_traffic(struct vc__engine *e, uint64_t now)
{
    if (!e->waits)
        vc__spin_came(&e->spin, (e->drowsy ? e->woke : now) - e->quiet,
                      !e->drowsy);
    e->traffic = e->drowsy = e->waits = false;
    e->quiet = now;
}

/* For engine_hopes(): true if the engine polls for answers to PINGs, or for
 * further PINGs of peers: while each comes within a wake-up's time of the one
 * before. With many links all of them then cost one wake-up. */
static bool
engine_expects(struct vc__engine *e, uint64_t now)
{
    uint64_t us = vc__spin_wakeup_us(&e->spin);

    if (e->awaiting_answers != e->answers_seen)
        e->answers_since = now;
    e->answers_seen = e->awaiting_answers;
    if (e->pings != e->pings_seen)
        e->pings_since = now;
    e->pings_seen = e->pings;
    return e->spin.max_us >= us &&
           ((e->awaiting_answers > 0 && now - e->answers_since < us) ||
            now - e->pings_since < us);
}

/* Called by engine_progress() after polling found nothing. True if it is worth
 * polling on; yields the processor first if it has polled for long. */
static bool
engine_hopes(struct vc__engine *e, uint64_t now)
{
    if (e->traffic)
        engine_note_traffic(e, now);
    if (e->drowsy)
        return engine_expects(e, now);
    if (now - e->quiet >= vc__spin_us(&e->spin))
        return false;
    if (now - e->quiet >= YIELD_AFTER_US)
        sched_yield();
    return true;
}

/* Called in each round of vc__engine_serve() and engine_advance(). Polls until
 * something was done, or a handler may run: true. False when `until` has
 * passed, after a sleep, or when a look or a timer did something. Runs no
 * handler. */
static bool
engine_progress(struct vc__engine *e, uint64_t until)
{
    uint64_t now;

    if (e->polls >= POLLS_PER_CLOCK || e->handled >= HANDLERS_PER_CLOCK) {
        e->polls = e->handled = 0;
        engine_tick(e);
    }
    for (unsigned i = e->polls + 1;; i++) {
        if (engine_poll(e) > 0) {
            e->polls = i;
            return true;
        }
        /* An engine that was woken without traffic does not spin. */
        if (i < POLLS_PER_CLOCK && (!e->drowsy || e->traffic))
            continue;
        now = engine_tick(e);
        i = 0;
        /* The tick may have ended the caller's wait, or read a kick: neither
         * would end a sleep. */
        if (now >= until || e->stirred)
            break;
        if (!engine_hopes(e, now)) {
            if (!e->drowsy)
                vc__count(&e->ledger, VC__COUNT_spun_us,
                          (int64_t)(now - e->quiet));
            engine_sleep(e, until);
            break;
        }
    }
    e->stirred = false;
    e->polls = 0;
    return false;
}

/* For vc__engine_wait(): advances the engine as the holder, until w is done or
 * the clock passes `until`. Returns false if another thread has the engine
 * now. */
static bool
engine_advance(struct vc__engine *e, struct vc__waiter *w, uint64_t until)
{
    while (!vc__waiter_is_done(w)) {
        bool busy = engine_progress(e, until);

        if (!engine_run_handlers(e))
            return false;
        if (until != VC__FOREVER && (!busy || e->polls >= POLLS_PER_CLOCK) &&
            vc__now() >= until)
            break;
    }
    /* What ended a long wait came soon after the last tick. A wait without one
     * was short: nothing new. */
    if (e->traffic && !e->waits)
        engine_note_traffic(e, e->ticked);
    return true;
}

/* For vc__engine_wait() and serve: waits for the token. Returns true if the
 * caller has it, false if w is done or the clock has passed `until`. */
static inline bool
engine_await(struct vc__engine *e, struct vc__waiter *w, uint64_t until)
{
    bool holds = vc__token_try(&e->token);

    return (holds && !e->tenure.over) || vc__engine_queue(e, w, until, holds);
}

/* For vc__engine_wait(): ends the wait of the holder: a handler that still has
 * the engine releases it again; any other thread leaves the token. */
static void
engine_return(struct vc__engine *e, struct vc__handler_run *s)
{
    if (s != NULL)
        e->depth--;
    if (s != NULL && !s->lost)
        vc__handler_run_release(s);
    else
        engine_leave(e);
}

/* For vc__engine_wait(), on the handler's thread, when the engine was lent: the
 * waiting handler keeps its thread, which its share then has. */
static void
handler_run_lend(struct vc__handler_run *s)
{
    if (!s->lost && s->share != NULL)
        vc__share_hold(s->share);
    s->lost = true;
}

bool
vc__engine_wait(struct vc__engine *e, struct vc__waiter *w, uint64_t until)
{
    struct vc__handler_run *s;
    bool holds;

    if (vc__waiter_is_done(w))
        return true;
    s = vc__handler_run_of(e);
    holds = s != NULL && vc__handler_run_resume(s);
    while (holds || engine_await(e, w, until)) {
        e->traffic = e->waits = true;
        e->tenure.waits = 0;
        if (s != NULL)
            e->depth++;
        if (engine_advance(e, w, until)) {
            engine_return(e, s);
            break;
        }
        holds = false;
        if (s != NULL)
            handler_run_lend(s);
    }
    return vc__waiter_is_done(w);
}

void
vc__engine_catch_up(struct vc__engine *e, uint64_t now)
{
    struct vc__waiter w;

    if (now < looked_at(e) + CATCH_UP_US || vc__handler_run_of(e) != NULL)
        return;
    vc__waiter_init(&w);
    if (vc__token_try(&e->token) || vc__token_enter(&e->token, &w, false)) {
        engine_tick(e);
        for (unsigned i = 0; i < CATCH_UP_TURNS && engine_poll(e) > 0; i++)
            continue;
        engine_leave(e);
    } else if (vc__token_unqueue(&e->token, &w)) {
        engine_leave(e);
    }
}

void
vc__engine_serve(struct vc__engine *e, atomic_bool *stop, bool holds)
{
    struct vc__waiter w;

    vc__waiter_init(&w);
    while (!holds)
        holds = engine_await(e, &w, VC__FOREVER);
    vc__tenure_forbid(&e->tenure);
    if (e->tenure.ended)
        vc__token_notify(&e->token, true);
    while (!atomic_load(stop)) {
        engine_progress(e, VC__FOREVER);
        if (!engine_run_handlers(e))
            return;
    }
    engine_leave(e);
}

void
vc__engine_settle(struct vc__engine *e)
{
    if (!vc__token_try(&e->token))
        return;
    vc__engine_run_tasks(e);
    engine_leave(e);
}

bool
vc__engine_turn(struct vc__engine *e)
{
    unsigned n = 0;
    bool did;

    /* In this order: see vc__engine_rearm(). */
    atomic_store(&e->must_rearm, true);
    if (vc__token_is_held(&e->token) || !vc__token_try(&e->token))
        return false;
    e->stirred = false;
    engine_look(e, 0, 0);
    engine_run_timers(e, vc__now());
    while (n < POLLS_PER_CLOCK && engine_poll(e) > 0) {
        n++;
        if (!engine_run_handlers(e))
            return true;
    }
    did = n > 0 || e->stirred;
    e->stirred = false;
    engine_leave(e);
    return did;
}
