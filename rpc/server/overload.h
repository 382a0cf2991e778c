/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decides which of the waiting calls are not worth beginning. Pure: times go
 * in, a verdict comes out (doc/overload.md). Times are in microseconds; `now`
 * is vc__now(). Functions of struct vc__overload are called by
 * rpc/server/server_handler.c on the holder of the engine, unless said
 * otherwise.
 *
 * A call that cannot end before its deadline is not begun. A queue is standing
 * when it has not been empty for as long as its calls are given until their
 * deadlines. Then calls may be coming faster than they are served. From a
 * standing queue, calls that have waited for half of that time are shed, so
 * that calls which are begun have time enough. Shorter waits, as in a burst or
 * with a constant number of callers, are served. This is the controlled delay
 * of B. Maurer, "Fail at Scale" (ACM Queue 13-8, 2015), with the calls'
 * deadlines in place of its 100 and 5 ms. A client that has fewer calls waiting
 * than the average client is exempt: its calls are served whatever other
 * clients ask for.
 *
 * Called by: overload.c (usual_ran, usual_is_over, standing), server_handler.c
 * (usual_ran, usual_is_over, came, left, given, judge, judge_first, apart),
 * server_thread.c (thread_wait), server_turn.c (left). */
#ifndef VC_RPC_OVERLOAD_H
#define VC_RPC_OVERLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The most that calls are taken to be given; and the least: a queue that stands
 * for less is only a moment in which the thread did not run. */
#define VC__GIVEN_MAX_US 1000000u
#define VC__GIVEN_MIN_US 5000u

/* The least that runs of a method usually take, in microseconds: eight in nine
 * take longer. Relaxed: a hint, which any thread that has run the method may
 * write. */
struct vc__usual {
    atomic_uint us;
};

/* Learns that a run took `us`. Called on the holder by vc__overload_judge(),
 * and on the handler's thread when that is one of the crew, by
 * server_handler_run_learn(). Any thread. */
void vc__usual_ran(struct vc__usual *u, uint64_t us);

/* Lowers the usual time a little, so that some of the calls that would be
 * refused are let pass: the server learns when runs get shorter. Called by
 * vc__usual_is_over() for each such call. Any thread. */
void vc__usual_doubt(struct vc__usual *u);

/* True if runs usually take longer than left_us: a call with so little time
 * left cannot end in time. Then also calls vc__usual_doubt(). Called when a
 * call is judged on the holder, and again on the thread of the crew that is
 * about to run it (rpc/server/server_handler.c). Any thread. */
static inline bool
vc__usual_is_over(struct vc__usual *u, uint64_t left_us)
{
    if (left_us >= atomic_load_explicit(&u->us, memory_order_relaxed))
        return false;
    vc__usual_doubt(u);
    return true;
}

/* Returns how long a call with left_us until its deadline may wait for a thread
 * or its turn: twice as long as its method usually takes, or half of left_us,
 * but at most 5 s, whichever is longer; but no longer than it could still end
 * in time, 0 if it cannot. Called by thread_wait_start()
 * (rpc/server/server_thread.c) on the holder. */
uint64_t vc__overload_thread_wait(const struct vc__usual *u, uint64_t left_us);

/* State of an engine's calls that wait to begin; all zero before the first. */
struct vc__overload {
    unsigned waiting;        /* calls */
    unsigned clients;        /* that have calls waiting */
    uint64_t clock;          /* the time, as last read */
    uint64_t since;          /* not empty since then, as far as known; 0:
                              * empty, or not yet noticed */
    uint64_t begun;          /* when the last call began; 0: not known */
    unsigned takeover;       /* the engine's number of takeovers then */
    struct vc__usual *usual; /* of that call's method */
    uint32_t given_us; /* time calls are given; quick to fall, slow to rise */
    uint32_t run_us;   /* from one begin to the next, smoothed */
};

/* What is known of a call whose turn has come. */
struct vc__overload_call {
    uint64_t came, due; /* arrival, 0: before `since`; deadline, VC__FOREVER
                         * for none */
    unsigned waiting;   /* calls of its client that wait, itself included */
    unsigned takeover;  /* how often the engine was taken over from a handler */
    struct vc__usual *usual;
    uint32_t priority; /* enum vc_priority */
    bool exempt;       /* true: never VC__OVERLOAD_SHED */
};

enum vc__overload_verdict {
    VC__OVERLOAD_RUN,
    VC__OVERLOAD_LATE,  /* its deadline has passed */
    VC__OVERLOAD_SHORT, /* its deadline would pass while it runs */
    VC__OVERLOAD_SHED,  /* other calls are served first */
};

/* A call has come, and waits; its client has *waiting calls already. Counts it.
 * Called by vc__call_came(). */
static inline void
vc__overload_came(struct vc__overload *o, unsigned *waiting)
{
    o->waiting++;
    if ((*waiting)++ == 0)
        o->clients++;
}

/* A call no longer waits, whether it begins or not. Called by call_run(), the
 * task whose turn it is, and by vc__turn_leave(), for a call that is shed while
 * it waits for its turn. */
static inline void
vc__overload_left(struct vc__overload *o, unsigned *waiting)
{
    if (--*waiting == 0)
        o->clients--;
    if (--o->waiting == 0)
        o->since = o->begun = 0;
}

/* Learns the time until the deadline, `us`, of a call that came while others
 * waited. Called by came_after_others() for each such call whose deadline has
 * not passed. */
void vc__overload_given(struct vc__overload *o, uint64_t us);

/* Judges a call whose turn has come, and since whose arrival other handlers
 * have begun, before vc__overload_left(). Also learns the time of the run that
 * began last. With VC__OVERLOAD_RUN the caller begins the call, unless there is
 * no memory for the reply; with any other verdict it refuses the call. Called
 * by judge_after_others(). */
enum vc__overload_verdict
vc__overload_judge(struct vc__overload *o, uint64_t now,
                   const struct vc__overload_call *call);

/* Judges a call that did not wait for others: RUN, LATE or SHORT, never SHED.
 * Does not read the clock: if the call has a deadline, the clock was read when
 * it came. So no run time is learned, neither that of the last call nor that of
 * this one. Called by call_judge(). */
static inline enum vc__overload_verdict
vc__overload_judge_first(struct vc__overload *o, uint64_t due,
                         struct vc__usual *usual)
{
    o->begun = 0;
    if (due <= o->clock) /* the call came in parts, slowly */
        return VC__OVERLOAD_LATE;
    return vc__usual_is_over(usual, due - o->clock) ? VC__OVERLOAD_SHORT
                                                    : VC__OVERLOAD_RUN;
}

/* Forgets when the last call began: the time from then to the next begin says
 * nothing of how long a run takes. Called by call_handle() for a call that
 * begins on another thread, now or later, or was shed instead; by
 * call_turn_down() if there is no memory for the reply; by call_end() for a
 * call whose parent.asked is set, as by reading its deadline. */
static inline void
vc__overload_apart(struct vc__overload *o)
{
    o->begun = 0;
}

/* Returns for how long the queue has been standing; 0: it is not. Called by
 * vc__overload_judge(). */
uint64_t vc__overload_standing(const struct vc__overload *o, uint64_t now);

#endif
