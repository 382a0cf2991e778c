/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long a caller keeps an engine that other callers wait for
 * (doc/architecture-transport.md, "Many callers"). If it hands the engine over
 * after each call, each call costs a wake-up and a change of thread, which may
 * take many times as long as the call. So an eager thread, one that calls again
 * at once, may keep the engine for a tenure of some wake-ups. The other eager
 * threads sleep meanwhile, and learn of their replies when their turn comes. A
 * thread that is not eager is served at once, and ends a tenure.
 *
 * Tenures make calls wait, so there are tenures only where they pay. The engine
 * measures from time to time how many replies come with and without them. Where
 * the holder's own reply is late, those that have theirs are notified at once.
 * If the holder does not come back, one of the others takes the engine when its
 * deferral ends.
 *
 * The holder of the engine calls all of this, except init; judge, are_off,
 * entered and left, any thread for itself; and replied, any thread.
 *
 * Called by: engine_open.c (init), engine.c (forbid, left, goes_on, end,
 * is_late), rpc/client/call.c (replied), engine_queue.c (judge, are_off,
 * tenures_before, entered, left, end), tenure.c (left, review). */
#ifndef VC_TRANSPORT_TENURE_H
#define VC_TRANSPORT_TENURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A tenure lasts as long as so many wake-ups: the hand-over at its end, which
 * costs a few, then is a small part of it. */
#define VC__TENURE_WAKEUPS 20u
/* A waiter is deferred for twice the tenures of those before it and its own,
 * but for no more than so many: nobody may advance the engine meanwhile. */
#define VC__TENURES_DEFERRED 64u
/* Stretches of time, in tenures: the trials without and with them. Then one is
 * decided on. Each time that the decision is the same, it is for twice as long:
 * a trial may be disturbed, and trials make some calls wait. */
#define VC__TENURES_TRIAL        8u
#define VC__TENURES_WITH         16u
#define VC__TENURES_WITH_MOST    256u
#define VC__TENURES_WITHOUT      256u
#define VC__TENURES_WITHOUT_MOST 2048u
/* They pay if a reply takes so many percent of its time without them. */
#define VC__TENURES_BEGIN 80u
#define VC__TENURES_GO_ON 90u
/* A decision ends when nobody has waited for so long; half a trial ends one. */
#define VC__TENURES_GAP 16u

struct vc__tenure {
    /* How long one lasts; 0: there are none at present. Any thread reads it. */
    atomic_uint us;
    bool forbidden; /* for ever: a library thread advances the engine */

    uint64_t since; /* when the holder first kept the engine; 0: not yet */
    bool over;      /* it ends when the holder wants the engine again */
    bool ended;     /* there are none from now on: notify all */
    uint64_t waits; /* the first tick of the holder's wait; 0: none yet */

    /* The stretch of time that is measured. */
    bool decided;        /* no trial */
    bool settled;        /* a tenure has passed in the trial with them */
    bool pays;           /* the last decision: with tenures */
    unsigned length;     /* of what was decided, in tenures; 0: nothing yet */
    uint64_t begin, end; /* end 0: none has begun */
    uint64_t last;       /* when others last waited as the holder left */
    uint64_t replies_begin; /* `replies` at its begin */
    uint64_t pace[2];       /* ns a reply, in the last trial without, with */
    _Atomic uint64_t replies;
};

/* Called by vc__engine_init(), alone. */
void vc__tenure_init(struct vc__tenure *t);

/* There are no tenures any more. Called by vc__engine_serve(), which then
 * notifies the others. */
void vc__tenure_forbid(struct vc__tenure *t);

/* A caller has its reply. Called by call_on_ended() (rpc/client/call.c), mostly
 * on the holder. Relaxed, and not one atomic step: for measuring. */
static inline void
vc__tenure_replied(struct vc__tenure *t)
{
    atomic_store_explicit(
        &t->replies,
        atomic_load_explicit(&t->replies, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

/* Judges whether the calling thread is eager: since vc__tenure_left() it has
 * not slept, nor worked for as long as two wake-ups take. Returns 0 if it is
 * not, or there are no tenures; otherwise how long one lasts. Called by
 * vc__engine_queue(). */
uint64_t vc__tenure_judge(const struct vc__tenure *t);

/* True if there are no tenures any more, after the caller was queued as
 * deferred: it may have missed that all were notified. Sequentially consistent,
 * as are the end of tenures and vc__token_notify(): either this thread sees the
 * end, or the holder sees its waiter. Called by vc__engine_queue(). */
static inline bool
vc__tenure_are_off(const struct vc__tenure *t)
{
    return atomic_load(&t->us) == 0;
}

/* For how many tenures a waiter is deferred. Called by vc__engine_queue(). */
static inline uint64_t
vc__tenures_before(unsigned ahead)
{
    return ahead < VC__TENURES_DEFERRED / 2 ? 2 * (ahead + 1)
                                            : VC__TENURES_DEFERRED;
}

/* The calling thread has the engine, after it had to wait. Called by
 * vc__engine_queue(). */
void vc__tenure_entered(const struct vc__tenure *t);

/* The calling thread leaves the engine to others, or its wait has ended.
 * Called by engine_leave_to_others() and vc__engine_queue(). */
void vc__tenure_left(const struct vc__tenure *t);

/* For vc__tenure_goes_on(), and tests: ends the stretch of time, if that is
 * due, and begins the next one. A wake-up costs wakeup_us. */
void vc__tenure_review(struct vc__tenure *t, uint64_t now, uint32_t wakeup_us);

/* The holder leaves, and others wait: true if it keeps the engine. Sets t->over
 * if it is to hand it over when it wants it again. Called by
 * engine_leave_to_others(). */
bool vc__tenure_goes_on(struct vc__tenure *t, uint32_t wakeup_us);

/* The holder hands the engine over. Called by engine_leave_to_others() and
 * vc__engine_queue(). */
static inline void
vc__tenure_end(struct vc__tenure *t)
{
    t->since = 0;
    t->over = t->ended = false;
}

/* At a tick: true if the holder has waited for its reply for as long as a
 * tenure lasts. Called by engine_tick(). */
static inline bool
vc__tenure_is_late(struct vc__tenure *t, uint64_t now)
{
    unsigned us = atomic_load_explicit(&t->us, memory_order_relaxed);

    if (t->waits == 0)
        t->waits = now;
    return us != 0 && now - t->waits >= us;
}

#endif
