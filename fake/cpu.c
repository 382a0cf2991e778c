/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The processor of a world. Only one of its threads runs at a time, so all are
 * bound to the same processor: waking a thread on another costs ten times as
 * much. Static functions run on the thread of their caller: one thread of the
 * world runs at a time (world.h). */
#define _GNU_SOURCE /* sched_setaffinity() */
#include <sched.h>

#include "real.h"

/* How often a world checks whether it shares its processor: after so many turns
 * of the baton and so much real time. The world's CPU time should be at least
 * LOOK_SHARE of the real time. */
#define LOOK_TURNS 1024
#define LOOK_NS    (20 * FAKE__MS)
#define LOOK_SHARE 0.75

static struct {
    bool bound;
    cpu_set_t allowed; /* before the world began */
    int cpu;           /* of all threads; -1: any */
    unsigned turns;
    uint64_t real, used; /* at the last check */
} C = {.cpu = -1};

/* The processor that the calling thread is bound to; at first its creator's. */
static _Thread_local int mine = -1;

/* Called by fake__cpu_begin() and fake__cpu_look(). */
static uint64_t
real_clock(clockid_t clock)
{
    struct timespec t;

    __real_clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * FAKE__S + (uint64_t)t.tv_nsec;
}

/* Called by fake__cpu_begin() and baton_await() (sched.c). */
void
fake__cpu_follow(void)
{
    cpu_set_t one;

    if (mine == C.cpu)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)C.cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    mine = C.cpu;
}

/* Also called in a process forked from the world. Called by fake__cpu_begin()
 * and fake__threads_end() (sched.c). */
void
fake__cpu_end(void)
{
    if (C.bound)
        sched_setaffinity(0, sizeof C.allowed, &C.allowed);
    C.bound = false;
    C.cpu = mine = -1;
}

/* Called by fake__threads_begin() (sched.c). */
void
fake__cpu_begin(void)
{
    static bool forks_known;

    fake__cpu_end(); /* after a test that failed within its world */
    if (!forks_known)
        pthread_atfork(NULL, NULL, fake__cpu_end);
    forks_known = true;
    if (sched_getaffinity(0, sizeof C.allowed, &C.allowed) != 0 ||
        CPU_COUNT(&C.allowed) == 1)
        return;
    C.bound = true;
    C.cpu = sched_getcpu();
    C.real = real_clock(CLOCK_MONOTONIC);
    C.used = real_clock(CLOCK_PROCESS_CPUTIME_ID);
    fake__cpu_follow();
}

/* Called by fake__cpu_look(). */
static int
cpu_after(int cpu)
{
    do
        cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET((size_t)cpu, &C.allowed));
    return cpu;
}

/* A world that shares its processor moves to the next one. It moves in one of
 * two cases, by the real clock, so that two worlds do not both move at once.
 * Called by schedule() (sched.c). */
void
fake__cpu_look(void)
{
    uint64_t real, used;

    if (!C.bound || ++C.turns % LOOK_TURNS != 0)
        return;
    real = real_clock(CLOCK_MONOTONIC);
    if (real - C.real < LOOK_NS)
        return;
    used = real_clock(CLOCK_PROCESS_CPUTIME_ID);
    if ((double)(used - C.used) < LOOK_SHARE * (double)(real - C.real) &&
        real / FAKE__US % 2 == 0)
        C.cpu = cpu_after(C.cpu);
    C.real = real;
    C.used = used;
}
