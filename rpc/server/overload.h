/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which of the calls that wait to begin are not worth beginning. Times go in,
 * a verdict comes out: pure, the holder of an engine asks (doc/overload.md).
 *
 * A call that cannot end in time is not begun. And a queue that was not empty
 * for as long as its calls are given is standing: what waits may be more than
 * goes. Then those that have waited for half of that are shed, so that those
 * which are begun have time enough; what waits less, as behind callers that are
 * as many all the time, or in a burst, is served. This is the controlled delay
 * of B. Maurer, "Fail at Scale" (ACM Queue 13-8, 2015), by the calls' deadlines
 * in place of its 100 and 5 ms. A client that has fewer calls waiting than the
 * average client is not shed, so that its calls are served whatever others ask
 * for.
 */
#ifndef VC_RPC_OVERLOAD_H
#define VC_RPC_OVERLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What calls are taken to be given at most; and at least: a shorter queue is
 * none, but a moment in which the thread did not run. */
#define VC__GIVEN_MAX_US 1000000u
#define VC__GIVEN_MIN_US 5000u

/* What runs of a method usually take at least, in microseconds: eight in nine
 * take longer. Relaxed: a hint, which any thread may write that has run one. */
struct vc__usual {
    atomic_uint us;
};

/* A run took so long. Any thread. */
void vc__usual_ran(struct vc__usual *u, uint64_t us);

/* Some of those that are said to be in vain are let pass, so that it is learned
 * when runs get shorter. Any thread. */
void vc__usual_doubt(struct vc__usual *u);

/* Do runs usually take longer than that? Then this one cannot end in time. Any
 * thread. */
static inline bool
vc__usual_is_over(struct vc__usual *u, uint64_t left_us)
{
    if (left_us >= atomic_load_explicit(&u->us, memory_order_relaxed))
        return false;
    vc__usual_doubt(u);
    return true;
}

/* How long a call may wait for a thread that has so much left: twice as long as
 * its method usually takes, or half of what it has, 5 s at most, whichever is
 * longer; but not until it could not end in time. */
uint64_t vc__overload_patience(const struct vc__usual *u, uint64_t left_us);

/* Of the calls of an engine that wait to begin; all zero before the first. */
struct vc__overload {
    unsigned waiting;        /* calls */
    unsigned clients;        /* that have some of them */
    uint64_t clock;          /* as last read */
    uint64_t since;          /* the queue has not been empty since; 0: it is */
    uint64_t begun;          /* the last call began; 0: nobody knows */
    unsigned takeover;       /* the engine's number then */
    struct vc__usual *usual; /* of its method */
    uint32_t given_us; /* what calls are given: quick to fall, slow to rise */
    uint32_t run_us;   /* from one begin to the next; smoothed */
};

/* What is known of a call whose turn has come. */
struct vc__overload_call {
    uint64_t came, due; /* due: VC__FOREVER for none */
    unsigned waiting;   /* of its client, itself included */
    unsigned takeover;  /* how often the engine has left a handler */
    struct vc__usual *usual;
    uint32_t priority; /* enum vc_priority */
    bool exempt;       /* is not shed */
};

enum vc__overload_verdict {
    VC__OVERLOAD_RUN,
    VC__OVERLOAD_LATE,  /* its deadline has passed */
    VC__OVERLOAD_SHORT, /* it would pass while it runs */
    VC__OVERLOAD_SHED,  /* others come first */
};

/* A call has come, of a client that has *waiting already, and waits. */
static inline void
vc__overload_came(struct vc__overload *o, unsigned *waiting)
{
    o->waiting++;
    if ((*waiting)++ == 0)
        o->clients++;
}

/* It waits no more, whatever becomes of it. */
static inline void
vc__overload_left(struct vc__overload *o, unsigned *waiting)
{
    if (--*waiting == 0)
        o->clients--;
    if (--o->waiting == 0)
        o->since = o->begun = 0;
}

/* Calls are given so long; of one that others are in front of. */
void vc__overload_given(struct vc__overload *o, uint64_t us);

/* Of a call that others were in front of, before vc__overload_left(). With
 * VC__OVERLOAD_RUN it begins now. */
enum vc__overload_verdict
vc__overload_judge(struct vc__overload *o, uint64_t now,
                   const struct vc__overload_call *call);

/* Of a call that nothing was in front of. The clock is not asked: it was when
 * this one came, if it has a deadline; so nothing is known of how long it
 * takes. */
static inline enum vc__overload_verdict
vc__overload_judge_first(struct vc__overload *o, uint64_t due,
                         struct vc__usual *usual)
{
    o->begun = 0;
    if (due <= o->clock) /* it has come in parts, slowly */
        return VC__OVERLOAD_LATE;
    return vc__usual_is_over(usual, due - o->clock) ? VC__OVERLOAD_SHORT
                                                    : VC__OVERLOAD_RUN;
}

/* It was begun on another thread, so the next may begin before it has ended. */
static inline void
vc__overload_apart(struct vc__overload *o)
{
    o->begun = 0;
}

/* For how long the queue has been standing; 0: it is not. */
uint64_t vc__overload_standing(const struct vc__overload *o, uint64_t now);

#endif
