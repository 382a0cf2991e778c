/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/tenure.h; clock_gettime(2), getrusage(2). */
#include "transport/core/tenure.h"

#include <time.h>

#include "transport/core/clock.h"
#include "transport/core/thread.h"

/* What a thread has done so far. */
struct doings {
    long waits;
    uint64_t cpu_us;
};

/* Of the calling thread. The pointers are only compared. */
static _Thread_local struct {
    const struct vc__tenure *of;    /* the engine's that it left; NULL: none */
    struct doings left;             /* when it did so */
    const struct vc__tenure *eager; /* the engine's for which it is */
    uint64_t seen; /* when it last kept that, or had it after a wait */
} self;

static struct doings
doings_now(void)
{
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (struct doings){.waits = vc__thread_waits(),
                           .cpu_us = (uint64_t)cpu.tv_sec * 1000000 +
                                     (uint64_t)cpu.tv_nsec / 1000};
}

static unsigned
us_of(const struct vc__tenure *t)
{
    return atomic_load_explicit(&t->us, memory_order_relaxed);
}

void
vc__tenure_init(struct vc__tenure *t)
{
    *t = (struct vc__tenure){0};
}

void
vc__tenure_forbid(struct vc__tenure *t)
{
    t->forbidden = true;
    t->ended = us_of(t) != 0;
    atomic_store(&t->us, 0);
}

uint64_t
vc__tenure_judge(const struct vc__tenure *t)
{
    unsigned us = us_of(t);
    struct doings now;

    self.eager = NULL;
    if (us == 0 || self.of != t)
        return 0;
    now = doings_now();
    if (now.waits != self.left.waits ||
        now.cpu_us - self.left.cpu_us > us * 2 / VC__TENURE_WAKEUPS)
        return 0;
    self.eager = t;
    return us;
}

void
vc__tenure_entered(const struct vc__tenure *t)
{
    if (us_of(t) != 0)
        self.seen = vc__now();
}

void
vc__tenure_left(const struct vc__tenure *t)
{
    if (us_of(t) == 0)
        return;
    self.of = t;
    self.left = doings_now();
}

/* For vc__tenure_review(): begins a stretch of so many tenures. */
static void
stretch_begin(struct vc__tenure *t, uint64_t now, unsigned tenures,
              unsigned tenure_us)
{
    t->begin = now;
    t->end = now + (uint64_t)tenures * tenure_us;
    t->replies_begin = atomic_load_explicit(&t->replies, memory_order_relaxed);
}

/* For vc__tenure_review(): nanoseconds a reply took in this stretch. */
static uint64_t
stretch_pace(const struct vc__tenure *t, uint64_t now)
{
    uint64_t n = atomic_load_explicit(&t->replies, memory_order_relaxed) -
                 t->replies_begin;

    return (now - t->begin) * 1000 / (n > 0 && n < INT64_MAX ? n : 1);
}

/* For vc__tenure_review(): decides after a trial; returns for how long, in
 * tenures. */
static unsigned
tenure_decide(struct vc__tenure *t)
{
    /* To begin with them takes more than to go on. */
    unsigned percent = t->pays ? VC__TENURES_GO_ON : VC__TENURES_BEGIN;
    bool pays = 100 * t->pace[1] <= percent * t->pace[0];
    unsigned most = pays ? VC__TENURES_WITH_MOST : VC__TENURES_WITHOUT_MOST;

    if (t->length == 0 || pays != t->pays)
        t->length = pays ? VC__TENURES_WITH : VC__TENURES_WITHOUT;
    else if (t->length < most)
        t->length *= 2;
    t->pays = pays;
    return t->length;
}

/* A decided stretch is followed by a trial without and one with tenures. If
 * nobody waits for a while, the stretch says nothing, and begins anew. */
void
vc__tenure_review(struct vc__tenure *t, uint64_t now, uint32_t wakeup_us)
{
    unsigned us = VC__TENURE_WAKEUPS * wakeup_us;
    uint64_t gap = now - t->last;
    bool idle =
        gap > us * (t->decided ? VC__TENURES_GAP : VC__TENURES_TRIAL / 2);
    bool with = us_of(t) != 0;

    t->last = now;
    if (!idle && now < t->end)
        return;
    if (idle || t->decided) {
        with = false;
        t->decided = false;
        stretch_begin(t, now, VC__TENURES_TRIAL, us);
    } else if (!with) {
        t->pace[0] = stretch_pace(t, now);
        with = true;
        t->settled = false;
        stretch_begin(t, now, VC__TENURES_TRIAL, us);
    } else {
        t->pace[1] = stretch_pace(t, now);
        t->decided = true;
        stretch_begin(t, now, tenure_decide(t), us);
        with = t->pays;
    }
    t->ended = us_of(t) != 0 && !with;
    atomic_store(&t->us, with ? us : 0);
}

/* For vc__tenure_goes_on(): the holder's tenure is over. A trial with tenures
 * is measured from the first one's end on: before, no thread is eager. */
static void
tenure_passed(struct vc__tenure *t, uint64_t now)
{
    vc__tenure_left(t);
    if (t->decided || t->settled)
        return;
    t->settled = true;
    stretch_begin(t, now, VC__TENURES_TRIAL, us_of(t));
}

/* For vc__tenure_goes_on(): true if this thread is eager, and has wanted the
 * engine within a tenure's time. */
static bool
thread_is_eager(const struct vc__tenure *t, uint64_t now)
{
    bool eager = self.eager == t && now - self.seen < us_of(t);

    self.seen = now;
    return eager;
}

bool
vc__tenure_goes_on(struct vc__tenure *t, uint32_t wakeup_us)
{
    uint64_t now;

    if (t->forbidden)
        return false;
    now = vc__now();
    vc__tenure_review(t, now, wakeup_us);
    if (us_of(t) == 0 || !thread_is_eager(t, now))
        return false;
    if (t->since == 0)
        t->since = now;
    t->over = now - t->since >= us_of(t);
    if (t->over)
        tenure_passed(t, now);
    return true;
}
