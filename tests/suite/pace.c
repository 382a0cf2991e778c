/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "tests/suite/pace.h"

#include <assert.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define SLEEP_US 20000u
/* The work of a step: a quiet guest without KVM needs a twentieth of the sleep
 * for it. A real processor needs less, which does not count against it. Shorter
 * steps would take a guest's time: what it emulates is translated anew, or at
 * least looked up, after each change of the process. */
#define WORK_ROUNDS 125000u
#define STEP_US     23000u

/* A program that runs for longer than 20 minutes is not measured to its end. */
#define STEPS_MAX (1u << 16)

/* Each pacer runs on a processor of its own; further processors are not
 * measured. */
#define PACERS_MAX 4

/* In memory that the processes share. */
struct steps {
    atomic_uint n;             /* published (release) after ended[n - 1] */
    uint64_t ended[STEPS_MAX]; /* by fixture_ms() */
};

static struct steps *steps[PACERS_MAX];
static unsigned n_pacers;

static uint64_t
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void
work(void)
{
    volatile uint32_t x = 1;

    for (unsigned i = 0; i < WORK_ROUNDS; i++)
        x = x * 1664525u + 1013904223u;
}

/* A single write, so that no output of the test comes between parts of the
 * line. */
static void
report(uint64_t ms)
{
    char line[64];
    int len = snprintf(line, sizeof line, "# stalled %llu ms\n",
                       (unsigned long long)ms);

    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(1);
}

static void
sleep_until(uint64_t us)
{
    uint64_t now = now_us(), left = us > now ? us - now : 0;
    const struct timespec sleep = {.tv_nsec = (long)left * 1000};

    nanosleep(&sleep, NULL);
}

/* Returns when the next step begins: a step never takes less than its time at
 * the usual pace. */
static uint64_t
step(struct steps *s, uint64_t begin)
{
    uint64_t took;

    sleep_until(begin + SLEEP_US);
    work();
    took = now_us() - begin;
    s->ended[atomic_load(&s->n)] = fixture_ms();
    atomic_fetch_add(&s->n, 1);
    if (took > PACE_STALL_MS * 1000)
        report(took / 1000);
    return begin + (took < STEP_US ? STEP_US : took);
}

/* If the process cannot be bound to the processor, it runs on any. */
static void
pacer_run(struct steps *s, int cpu, pid_t parent)
{
    cpu_set_t one;
    uint64_t begin = now_us();

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent && atomic_load(&s->n) < STEPS_MAX)
        begin = step(s, begin);
    _exit(0);
}

static void
pacer_start(int cpu)
{
    pid_t parent = getpid();
    struct steps *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert(s != MAP_FAILED);
    steps[n_pacers++] = s;
    switch (fork()) {
    case -1:
        perror("fork");
        exit(1);
    case 0:
        pacer_run(s, cpu, parent);
    }
}

void
pace_start(void)
{
    cpu_set_t all;

    if (getenv("VC_TEST_PACE") == NULL)
        return;
    /* Line buffering keeps the lines of the test and of the processes in
     * order. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE && n_pacers < PACERS_MAX; cpu++)
        if (CPU_ISSET(cpu, &all))
            pacer_start(cpu);
}

/* The number of steps that have ended by this time. */
static unsigned
steps_by(const struct steps *s, uint64_t ms)
{
    unsigned low = 0, high = atomic_load(&s->n);

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (s->ended[middle] <= ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The paced time by the steps of one processor. The step in progress counts in
 * full, as it may have been about to end. */
static uint64_t
paced(const struct steps *s, uint64_t since_ms, uint64_t until_ms)
{
    return (uint64_t)(steps_by(s, until_ms) - steps_by(s, since_ms) + 1) *
           STEP_US / 1000;
}

uint64_t
pace_between(uint64_t since_ms, uint64_t until_ms)
{
    uint64_t least = until_ms - since_ms;

    for (unsigned i = 0; i < n_pacers; i++) {
        uint64_t ms = paced(steps[i], since_ms, until_ms);

        if (atomic_load(&steps[i]->n) < STEPS_MAX && ms < least)
            least = ms;
    }
    return least;
}

uint64_t
pace_since(uint64_t since_ms)
{
    return pace_between(since_ms, fixture_ms());
}
