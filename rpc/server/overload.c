/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/overload.h, also for the threads. The static functions run on
 * the thread of their caller, the holder. */
#include "rpc/server/overload.h"

#include <verbcall/call.h>

#define USUAL_MAX_US   60000000u
#define USUAL_FIRST_US 10000u
/* The longest wait for a thread, of a call with much time left. */
#define PATIENCE_MAX_US 5000000u

void
vc__overload_given(struct vc__overload *o, uint64_t us)
{
    uint32_t given = us < VC__GIVEN_MAX_US ? (uint32_t)us : VC__GIVEN_MAX_US;

    if (o->given_us == 0)
        o->given_us = VC__GIVEN_MAX_US;
    if (given < o->given_us)
        o->given_us -= (o->given_us - given + 7) / 8;
    else
        o->given_us += (given - o->given_us) / 256;
}

/* Returns for how long a queue must not have been empty to be standing. Called
 * by wait_max_us() and vc__overload_standing(). */
static uint32_t
standing_us(const struct vc__overload *o)
{
    if (o->given_us == 0)
        return VC__GIVEN_MAX_US;
    return o->given_us < VC__GIVEN_MIN_US ? VC__GIVEN_MIN_US : o->given_us;
}

/* Returns how long a call may have waited before it is shed: sheddable calls
 * are shed long before the others, critical ones long after; but at least the
 * time of two runs. Called by vc__overload_judge(). */
static uint64_t
wait_max_us(const struct vc__overload *o, uint32_t priority)
{
    static const uint8_t eighths[] = {[VC_PRIORITY_DEFAULT] = 4,
                                      [VC_PRIORITY_CRITICAL] = 6,
                                      [VC_PRIORITY_SHEDDABLE] = 1};
    uint32_t wait = standing_us(o) / 8 * eighths[priority],
             runs = 2 * o->run_us;

    return wait > runs ? wait : runs;
}

uint64_t
vc__overload_standing(const struct vc__overload *o, uint64_t now)
{
    bool stands = o->since != 0 && now - o->since >= standing_us(o);

    return stands ? now - o->since : 0;
}

/* Lowers the usual time by an eighth or raises it by a 64th, so that eight in
 * nine runs are longer. The first run proves little: the process may have been
 * stopped meanwhile. */
void
vc__usual_ran(struct vc__usual *u, uint64_t us)
{
    uint32_t usual = atomic_load_explicit(&u->us, memory_order_relaxed);

    if (usual == 0)
        usual = us < USUAL_FIRST_US ? (uint32_t)us : USUAL_FIRST_US;
    else if (us > usual && usual < USUAL_MAX_US)
        usual += usual / 64 + 1;
    else if (us < usual)
        usual -= (usual + 7) / 8;
    atomic_store_explicit(&u->us, usual, memory_order_relaxed);
}

uint64_t
vc__overload_thread_wait(const struct vc__usual *u, uint64_t left_us)
{
    uint64_t usual = atomic_load_explicit(&u->us, memory_order_relaxed),
             half =
                 left_us / 2 < PATIENCE_MAX_US ? left_us / 2 : PATIENCE_MAX_US,
             wait = half < 2 * usual ? 2 * usual : half;

    if (wait < left_us && usual < left_us - wait)
        return wait;
    return usual < left_us ? left_us - usual : 0;
}

/* Called by vc__overload_judge(): learns the run time of the last call that
 * began, which has ended since. If this call was already waiting then, the
 * engine has run only that call since, beside the cost of getting here. Learns
 * nothing if the engine was taken over meanwhile. */
static void
overload_run_learn(struct vc__overload *o, uint64_t now,
                   const struct vc__overload_call *call)
{
    int64_t us = (int64_t)(now - o->begun);

    if (o->begun == 0 || call->came > o->begun || call->takeover != o->takeover)
        return;
    o->run_us = (uint32_t)((int64_t)o->run_us +
                           ((us < USUAL_MAX_US ? us : USUAL_MAX_US) -
                            (int64_t)o->run_us) /
                               8);
    vc__usual_ran(o->usual, (uint64_t)us);
}

/* True if the client has at least as many calls waiting as clients have on
 * average. Called by vc__overload_judge(): calls of other clients are not
 * shed. */
static bool
is_greedy(const struct vc__overload *o, const struct vc__overload_call *call)
{
    return (uint64_t)call->waiting * o->clients >= o->waiting;
}

/* Calls that are refused do not show how long they would take. */
void
vc__usual_doubt(struct vc__usual *u)
{
    uint32_t usual = atomic_load_explicit(&u->us, memory_order_relaxed);

    atomic_store_explicit(&u->us, usual - (usual + 511) / 512,
                          memory_order_relaxed);
}

enum vc__overload_verdict
vc__overload_judge(struct vc__overload *o, uint64_t now,
                   const struct vc__overload_call *call)
{
    o->clock = now;
    overload_run_learn(o, now, call);
    o->begun = 0;
    if (o->since == 0)
        o->since = now;
    if (call->due <= now)
        return VC__OVERLOAD_LATE;
    if (vc__usual_is_over(call->usual, call->due - now))
        return VC__OVERLOAD_SHORT;
    if (!call->exempt && vc__overload_standing(o, now) > 0 &&
        now - call->came > wait_max_us(o, call->priority) && is_greedy(o, call))
        return VC__OVERLOAD_SHED;
    o->begun = now;
    o->takeover = call->takeover;
    o->usual = call->usual;
    return VC__OVERLOAD_RUN;
}
