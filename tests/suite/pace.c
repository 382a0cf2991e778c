/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause */
#include "tests/suite/pace.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define SLEEP_US 4000u
/* The work of a step is so long that a quiet guest without KVM does it in a
 * fifth of the sleep; a real processor needs less, and is not judged by it. */
#define WORK_ROUNDS 100000u
#define STEP_US     5000u

/* A program that runs for longer than 20 minutes is not measured to its end. */
#define STEPS_MAX (1u << 18)

/* In memory that the processes share. */
struct steps {
    atomic_uint n;             /* published (release) after ended[n - 1] */
    uint64_t ended[STEPS_MAX]; /* by fixture_ms() */
};

static struct steps *steps;

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

/* One write, which no line of the test's can come between. */
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
step(void)
{
    const struct timespec sleep = {.tv_nsec = SLEEP_US * 1000};
    uint64_t begin = now_us();
    uint64_t took;

    nanosleep(&sleep, NULL);
    work();
    took = now_us() - begin;
    /* Never faster than real time. */
    if (took < STEP_US) {
        const struct timespec rest = {.tv_nsec = (long)(STEP_US - took) * 1000};

        nanosleep(&rest, NULL);
    }
    steps->ended[atomic_load(&steps->n)] = fixture_ms();
    atomic_fetch_add(&steps->n, 1);
    if (took > PACE_STALL_MS * 1000)
        report(took / 1000);
}

void
pace_start(void)
{
    pid_t parent = getpid();

    if (getenv("VC_TEST_PACE") == NULL)
        return;
    steps = mmap(NULL, sizeof *steps, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(steps != MAP_FAILED);
    /* Lines of the test and of the process come out in their order. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    switch (fork()) {
    case -1:
        perror("fork");
        exit(1);
    case 0:
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent && atomic_load(&steps->n) < STEPS_MAX)
            step();
        _exit(0);
    }
}

/* How many steps have ended by then. */
static unsigned
steps_by(uint64_t ms)
{
    unsigned low = 0, high = atomic_load(&steps->n);

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (steps->ended[middle] <= ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t
pace_between(uint64_t since_ms, uint64_t until_ms)
{
    uint64_t real = until_ms - since_ms, paced;

    if (steps == NULL || atomic_load(&steps->n) == STEPS_MAX)
        return real;
    /* The step that was under way counts, as it may just have been due. */
    paced = (uint64_t)(steps_by(until_ms) - steps_by(since_ms) + 1) * STEP_US /
            1000;
    return paced < real ? paced : real;
}

uint64_t
pace_since(uint64_t since_ms)
{
    return pace_between(since_ms, fixture_ms());
}
