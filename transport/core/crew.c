/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/crew.h. Static functions about jobs and about starting and
 * stopping run on the threads of the functions that call them. Those under
 * "what a hand does" run on the hand's own thread, those of the watcher on the
 * watcher's, without the lock unless said otherwise. vc__crew_lend() and
 * vc__crew_rouse() stand there, too: crew.h says who calls them. */
#include "transport/core/crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "transport/core/clock.h"
#include "transport/core/engine.h"
#include "transport/core/habit.h"
#include "transport/core/hand.h"
#include "transport/core/handoff.h"
#include "transport/core/invariant.h"
#include "transport/core/thread.h"
#include "transport/core/watch_interval.h"

/* A handler that the watcher sees again after so long loses its engine. */
#define LIMIT_US 100
/* After so many looks that saw no handler run, the watcher rests. */
#define QUIET_LOOKS 20

/* --- jobs -------------------------------------------------------------- */

/* For vc__crew_is_short() and vc__crew_begin(): spare threads beyond one for
 * each engine. Under the lock. */
static unsigned
left_for_jobs(const struct vc__crew *crew)
{
    unsigned left = vc__hands_left(crew);

    return left > crew->n_engines ? left - crew->n_engines : 0;
}

bool
vc__crew_is_short(struct vc__crew *crew, const struct vc__share *share)
{
    bool is_short;

    pthread_mutex_lock(&crew->lock);
    is_short = crew->max > 0 && (!vc__job_queue_is_empty(&crew->queue) ||
                                 !vc__share_is_fair(vc__share_threads(share),
                                                    left_for_jobs(crew)));
    pthread_mutex_unlock(&crew->lock);
    return is_short;
}

/* For job_start() and hand_rest(): takes out the next waiting job when `left`
 * threads are left and the engines keep theirs. While the crew stops, all jobs
 * run. NULL: there is none. Under the lock. */
static struct vc__job *
job_next(struct vc__crew *crew, unsigned left)
{
    left = left > crew->n_engines ? left - crew->n_engines : 0;
    return vc__job_next(&crew->queue,
                        atomic_load(&crew->stop) ? crew->max : left);
}

/* For vc__crew_begin() and job_start(): has a hand that vc__hand_get() returned
 * run the job, on its own thread. Under the lock. */
static void
hand_run(struct vc__hand *h, struct vc__job *job)
{
    h->job = job;
    h->crew->n_working++;
    vc__waiter_hand(&h->order);
}

/* Called when a job was queued (vc__crew_begin()) or a thread came back
 * (vc__crew_return()): has a hand run the waiting job whose turn it is, if
 * there is a hand for it. Under the lock. */
static void
job_start(struct vc__crew *crew)
{
    struct vc__job *job = job_next(crew, vc__hands_left(crew));
    struct vc__hand *h = job != NULL ? vc__hand_get(crew) : NULL;

    if (h != NULL)
        hand_run(h, job);
    else if (job != NULL)
        vc__job_requeue(&crew->queue, job);
}

/* For vc__crew_begin(): true if a handler runs whose end lets the next job
 * begin: one of a job, or one of the share that was taken over or lent its
 * engine. False while the crew stops. Under the lock. */
static bool
thread_comes_back(const struct vc__crew *crew, const struct vc__share *share)
{
    return (crew->n_working > 0 || vc__share_threads(share) > 0) &&
           !atomic_load(&crew->stop);
}

enum vc__job_begin
vc__crew_begin(struct vc__crew *crew, struct vc__job *job)
{
    enum vc__job_begin begin = VC__JOB_BEGINS;
    struct vc__hand *h = NULL;

    pthread_mutex_lock(&crew->lock);
    if (!vc__share_waits(job->share) &&
        vc__share_is_fair(vc__share_threads(job->share), left_for_jobs(crew)))
        h = vc__hand_get(crew);
    job->waits = false;
    if (h != NULL) {
        vc__share_hold(job->share);
        hand_run(h, job);
    } else if (thread_comes_back(crew, job->share)) {
        vc__job_await(&crew->queue, job);
        job_start(crew);
        begin = job->waits ? VC__JOB_WAITS : VC__JOB_BEGINS;
    } else {
        begin = VC__JOB_NO_THREAD;
    }
    pthread_mutex_unlock(&crew->lock);
    return begin;
}

/* Takes the lock because crew_take() may have taken the engine a moment ago,
 * and not yet held the share for the thread. The calling thread need not be a
 * hand: hands look for jobs themselves. */
void
vc__crew_return(struct vc__crew *crew, struct vc__share *share)
{
    pthread_mutex_lock(&crew->lock);
    vc__share_put(share);
    job_start(crew);
    pthread_mutex_unlock(&crew->lock);
}

bool
vc__crew_withdraw(struct vc__crew *crew, struct vc__job *job)
{
    bool waits;

    pthread_mutex_lock(&crew->lock);
    waits = job->waits;
    if (waits)
        vc__job_unqueue(job);
    pthread_mutex_unlock(&crew->lock);
    return waits;
}

/* For vc__hand_main() and hand_rest(): runs the job, its handler included, on
 * the hand's thread, which the job's share has. Without the lock. */
static void
job_run(struct vc__crew *crew, struct vc__job *job)
{
    struct vc__share *share = job->share;
    struct vc__handler_run s;

    vc__handler_run_open(&s, job->engine);
    s.lost = true;
    job->run(job, &s);
    vc__handler_run_close(&s);
    pthread_mutex_lock(&crew->lock);
    crew->n_working--;
    vc__share_put(share);
    pthread_mutex_unlock(&crew->lock);
}

/* --- what a hand does -------------------------------------------------- */

/* For vc__hand_main(): the hand has done its order: runs the jobs that wait,
 * and then is idle. Returns true if the thread waits for its next order; false
 * if it is to end, as the crew stops. */
static bool
hand_rest(struct vc__hand *h)
{
    struct vc__crew *crew = h->crew;
    struct vc__job *job;
    bool goes_on;

    pthread_mutex_lock(&crew->lock);
    while ((job = job_next(crew, vc__hands_left(crew) + 1)) != NULL) {
        crew->n_working++;
        pthread_mutex_unlock(&crew->lock);
        job_run(crew, job);
        pthread_mutex_lock(&crew->lock);
    }
    goes_on = !atomic_load(&crew->stop);
    if (goes_on)
        vc__hand_put(h);
    pthread_mutex_unlock(&crew->lock);
    return goes_on;
}

/* Each round carries out one order: of vc__hand_order(), or of hand_run().
 * Without an order the thread sleeps, also from its start until
 * engines_serve(). */
void *
vc__hand_main(void *arg)
{
    struct vc__hand *h = arg;

    do {
        vc__waiter_sleep(&h->order, VC__FOREVER);
        vc__waiter_take(&h->order);
        if (h->job != NULL)
            job_run(h->crew, h->job);
        else if (h->engine != NULL)
            vc__engine_serve(h->engine, &h->crew->stop, h->holds);
        else
            break;
    } while (hand_rest(h));
    return NULL;
}

bool
vc__crew_lend(struct vc__crew *crew, struct vc__engine *e)
{
    struct vc__hand *h;

    pthread_mutex_lock(&crew->lock);
    h = vc__hand_get(crew);
    if (h != NULL)
        vc__hand_order(h, e, true);
    pthread_mutex_unlock(&crew->lock);
    return h != NULL;
}

/* --- the watcher ------------------------------------------------------- */

void
vc__crew_rouse(struct vc__crew *crew)
{
    if (atomic_exchange(&crew->resting, false))
        vc__waiter_hand(&crew->rouse);
}

/* For crew_take(): records that a handler was taken over; `habit` is of its
 * method, or NULL. One that uses the processor all the time does not block: on
 * threads of their own they would only share it. Under the lock. */
static void
habit_learn(struct vc__habit *habit, bool burns)
{
    if (habit == NULL)
        return;
    vc__habit_was_long(habit);
    if (!burns)
        vc__habit_blocked(habit);
}

/* For crew_look(): gives e to another thread, if there is one and handler `run`
 * still has e. The watcher is the holder from vc__engine_take() to
 * vc__hand_order(). */
static void
crew_take(struct vc__crew *crew, struct vc__engine *e, uint64_t run)
{
    bool burns = vc__thread_burns(
        atomic_load_explicit(&e->runner, memory_order_relaxed));
    struct vc__hand *h;

    pthread_mutex_lock(&crew->lock);
    h = vc__hand_get(crew);
    if (h != NULL && vc__engine_take(e, run)) {
        vc__count(&e->ledger, VC__COUNT_handlers_left, 1);
        e->takeovers++;
        habit_learn(e->habit, burns);
        if (e->share != NULL)
            vc__share_hold(e->share);
        vc__hand_order(h, e, true);
    } else if (h != NULL) {
        vc__hand_put(h);
    }
    pthread_mutex_unlock(&crew->lock);
}

struct sight {
    bool moved;   /* a handler runs, or has run since the last look */
    bool handler; /* a handler runs that did not at the last look */
};

/* For watcher_main(): a look at all engines. Takes an engine from a handler
 * that the last look saw as well. */
static struct sight
crew_look(struct vc__crew *crew)
{
    struct sight sight = {false, false};

    for (unsigned i = 0; i < crew->n_engines; i++) {
        struct vc__watched *w = &crew->watched[i];
        uint64_t run = atomic_load(&w->engine->run);
        bool handler = vc__run_is_handler(run);

        if (handler && run == w->seen)
            crew_take(crew, w->engine, run);
        sight.moved |= handler || run != w->seen;
        sight.handler |= handler && run != w->seen;
        w->seen = run;
    }
    return sight;
}

/* For crew_rest(): the last look before the watcher rests. True if it may not,
 * as a handler has run or the crew stops. */
static bool
has_moved(const struct vc__crew *crew)
{
    for (unsigned i = 0; i < crew->n_engines; i++)
        if (atomic_load(&crew->watched[i].engine->run) != crew->watched[i].seen)
            return true;
    return atomic_load(&crew->stop);
}

/* For crew_rest() and crew_pause(): sleeps until `until`, or until the watcher
 * is woken. */
static void
crew_sleep(struct vc__crew *crew, uint64_t until)
{
    vc__waiter_sleep(&crew->rouse, until);
    vc__waiter_take(&crew->rouse);
}

/* For watcher_main(): sleeps until a handler begins or the crew stops. For the
 * memory order see vc__handler_run_release(). */
static void
crew_rest(struct vc__crew *crew)
{
    atomic_store(&crew->resting, true);
    if (has_moved(crew))
        atomic_store(&crew->resting, false);
    else
        crew_sleep(crew, VC__FOREVER);
}

/* For watcher_main(): sleeps until the next look, which is `soon` (100 us) or
 * after the interval, and learns how late it woke up. */
static void
crew_pause(struct vc__crew *crew, struct vc__watch_interval *interval,
           bool soon)
{
    uint64_t due =
        vc__now() + (soon ? LIMIT_US : vc__watch_interval_us(interval));

    crew_sleep(crew, due);
    vc__watch_interval_woke(interval, due, vc__now());
}

/* What the watcher's thread runs, from vc__crew_start() to vc__crew_stop();
 * returns NULL. A look after 100 us is not followed by another one so soon.
 * Otherwise short handlers would be looked at ten times a millisecond. */
static void *
watcher_main(void *arg)
{
    struct vc__crew *crew = arg;
    struct vc__watch_interval interval = {0};
    unsigned quiet = 0;
    bool soon = false;

    prctl(PR_SET_TIMERSLACK, 1ul); /* else each look is 50 us late */
    while (!atomic_load(&crew->stop)) {
        struct sight sight = crew_look(crew);

        soon = sight.handler && !soon;
        quiet = sight.moved ? 0 : quiet + 1;
        if (quiet < QUIET_LOOKS)
            crew_pause(crew, &interval, soon);
        else
            crew_rest(crew);
    }
    return NULL;
}

/* --- init, fini, start and stop ---------------------------------------- */

int
vc__crew_init(struct vc__crew *crew, unsigned n_engines)
{
    memset(crew, 0, sizeof *crew);
    CDS_INIT_LIST_HEAD(&crew->idle);
    vc__job_queue_init(&crew->queue);
    vc__waiter_init(&crew->rouse);
    crew->watched = calloc(n_engines, sizeof *crew->watched);
    if (crew->watched == NULL)
        return ENOMEM;
    crew->n_engines = n_engines;
    pthread_mutex_init(&crew->lock, NULL);
    return 0;
}

void
vc__crew_watch(struct vc__crew *crew, unsigned i, struct vc__engine *e)
{
    crew->watched[i].engine = e;
    e->crew = crew;
}

void
vc__crew_fini(struct vc__crew *crew)
{
    if (crew->watched == NULL)
        return;
    vc__invariant(crew->hands == NULL && crew->n_working == 0 &&
                  vc__job_queue_is_empty(&crew->queue));
    pthread_mutex_destroy(&crew->lock);
    free(crew->watched);
}

/* For hands_stop(): joins and frees all hands; none is started any more.
 * Without the lock. */
static void
hands_join(struct vc__crew *crew)
{
    while (crew->hands != NULL) {
        struct vc__hand *h = crew->hands;

        pthread_join(h->thread, NULL);
        crew->hands = h->next;
        free(h);
    }
    crew->n = 0;
}

/* For vc__crew_stop(), and vc__crew_start() when it fails: has all hands end,
 * and waits for them. There is no watcher then. No thread is started or lent
 * from now on. Without the lock. */
static void
hands_stop(struct vc__crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    atomic_store(&crew->stop, true);
    while (crew->n_idle > 0) {
        struct vc__hand *h =
            cds_list_entry(crew->idle.next, struct vc__hand, node);

        cds_list_del(&h->node);
        crew->n_idle--;
        vc__hand_order(h, NULL, false);
    }
    pthread_mutex_unlock(&crew->lock);
    vc__crew_kick(crew);
    hands_join(crew);
}

/* The last step of vc__crew_stop(), and of vc__crew_start() when it fails. All
 * threads have ended: the crew may be started again. */
static void
crew_reset(struct vc__crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->started = false;
    crew->max = 0;
    crew->retry = 0;
    pthread_mutex_unlock(&crew->lock);
    atomic_store(&crew->resting, false);
    atomic_store(&crew->stop, false);
    if (atomic_exchange(&crew->spent, false))
        vc__crew_kick(crew);
}

/* For vc__crew_start(): starts a hand for each engine, and the watcher. The
 * hands are idle until engines_serve(). Under the lock. Returns 0 or an errno;
 * then there may be hands, but no watcher. */
static int
crew_threads_start(struct vc__crew *crew)
{
    struct vc__hand *h;
    int err = 0;

    for (unsigned i = 0; i < crew->n_engines && err == 0; i++) {
        err = vc__hand_new(crew, &h);
        if (err == 0)
            vc__hand_put(h);
    }
    return err != 0
               ? err
               : vc__thread_start(&crew->watcher, NULL, watcher_main, crew);
}

/* For vc__crew_start(): orders one of the idle hands to serve each engine.
 * Under the lock, after crew_threads_start(). */
static void
engines_serve(struct vc__crew *crew)
{
    for (unsigned i = 0; i < crew->n_engines; i++)
        vc__hand_order(vc__hand_get(crew), crew->watched[i].engine, false);
}

/* No engine is served before all threads exist: one that runs a handler could
 * not be joined if a later one cannot be started. */
int
vc__crew_start(struct vc__crew *crew, unsigned spares)
{
    const unsigned n = crew->n_engines;
    int err;

    pthread_mutex_lock(&crew->lock);
    crew->started = true;
    crew->max = n + (spares > n ? spares : n);
    err = crew_threads_start(crew);
    if (err == 0)
        engines_serve(crew);
    else
        atomic_store(&crew->stop,
                     true); /* vc__hand_get() returns none of them */
    pthread_mutex_unlock(&crew->lock);
    if (err != 0) {
        hands_stop(crew);
        crew_reset(crew);
    }
    return err;
}

void
vc__crew_stop(struct vc__crew *crew)
{
    if (!crew->started)
        return;
    pthread_mutex_lock(&crew->lock);
    atomic_store(&crew->stop, true);
    pthread_mutex_unlock(&crew->lock);
    vc__waiter_hand(&crew->rouse);
    pthread_join(crew->watcher, NULL);
    hands_stop(crew);
    crew_reset(crew);
}
