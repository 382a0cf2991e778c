/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes, from their start to their leaks, and the beginning and end of the
 * world. Static functions run on the thread of their caller: one thread of the
 * world runs at a time (world.h). */
#include <string.h>

#include "real.h"

static struct {
    struct fake_process *main;
    int numbers;
} P;

/* --- processes --------------------------------------------------------- */

/* Reports the leaks of a process. Called by fake__process_end(). */
static unsigned
process_leaks(const struct fake_process *p)
{
    const struct fake_census *c = &p->census;
    const struct {
        const char *what;
        unsigned n;
    } left[] = {
        {"verbs contexts", c->contexts},
        {"PDs", c->pds},
        {"CQs", c->cqs},
        {"SRQs", c->srqs},
        {"QPs", c->qps},
        {"MRs", c->mrs},
        {"memory windows", c->mws},
        {"address handles", c->ahs},
        {"completion channels", c->comp_channels},
        {"event channels", c->event_channels},
        {"connection ids", c->ids},
        {"events not acknowledged", c->events},
        {"descriptors", c->descriptors},
        {"pieces of memory", p == P.main ? 0 : c->blocks},
    };
    unsigned sum = 0;

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        sum += left[i].n;
        if (left[i].n > 0)
            fprintf(stderr, "fake: %s did not give back %u %s\n", p->name,
                    left[i].n, left[i].what);
    }
    return sum;
}

/* Ends a process that has returned or was killed. Called in this file and
 * sched.c. */
void
fake__process_end(struct fake_process *p)
{
    p->ended = true;
    if (!p->unclean)
        p->leaks = process_leaks(p);
    fake__threads_kill(p);
    fake__release(p);
    fake__cm_exit(p);
    fake__verbs_exit(p);
    fake__fds_exit(p);
    if (p != P.main)
        fake__heap_exit(p);
    fake__wake(p);
}

/* Called by fake_process_start() and fake_begin(). */
static struct fake_process *
process_new(struct fake_host *host, const char *name)
{
    struct fake_process *p = fake__alloc(sizeof *p);
    struct fake_process **end = &fake__world.processes;

    while (*end != NULL)
        end = &(*end)->next;
    *end = p;
    snprintf(p->name, sizeof p->name, "%s", name);
    p->host = host;
    p->number = P.numbers++;
    return p;
}

struct start {
    void (*body)(void *);
    void *arg;
};

/* The first thread of a process runs it, for fake_process_start(). */
static void *
process_main(void *arg)
{
    struct start *s = arg;

    s->body(s->arg);
    return NULL;
}

struct fake_process *
fake_process_start(struct fake_host *host, const char *name,
                   void (*body)(void *), void *arg)
{
    FAKE_CALL_SAFE("fake_process_start");
    struct fake_process *p = process_new(host, name);
    struct start *s = fake__alloc(sizeof *s);
    pthread_t thread;

    *s = (struct start){body, arg};
    fake__thread_new(p, process_main, s, &thread);
    return p;
}

void
fake_process_kill(struct fake_process *p)
{
    FAKE_CALL_SAFE("fake_process_kill");

    if (p->ended)
        return;
    p->doomed = p->unclean = true;
    p->frozen = false;
    if (p != fake__self())
        fake__process_end(p);
}

void
fake_process_freeze(struct fake_process *p)
{
    FAKE_CALL_SAFE("fake_process_freeze");

    p->frozen = true;
}

void
fake_process_thaw(struct fake_process *p)
{
    FAKE_CALL_SAFE("fake_process_thaw");

    p->frozen = false;
    fake__threads_thaw();
}

bool
fake_process_ended(const struct fake_process *p)
{
    if (p->ended)
        fake__acquire(p);
    return p->ended;
}

bool
fake_process_wait(struct fake_process *p, uint64_t us)
{
    FAKE_CALL_SAFE("fake_process_wait");
    uint64_t until = fake__world.now + us * FAKE__US;

    while (!p->ended && fake__block(p, until))
        continue;
    return fake_process_ended(p);
}

const char *
fake_process_name(const struct fake_process *p)
{
    return p->name;
}

struct fake_process *
fake_process_self(void)
{
    return fake__self();
}

void
fake_census(const struct fake_process *p, struct fake_census *out)
{
    *out = p->census;
}

unsigned
fake_calls(const struct fake_process *p)
{
    return p->calls;
}

unsigned
fake_allocations(const struct fake_process *p)
{
    return p->allocations;
}

uint64_t
fake_now_us(void)
{
    return fake__world.now / FAKE__US;
}

uint64_t
fake_steps(void)
{
    return fake__world.steps;
}

void
fake_sleep_us(uint64_t us)
{
    FAKE_CALL_SAFE("fake_sleep_us");
    uint64_t until = fake__world.now + us * FAKE__US;

    while (fake__world.now < until)
        fake__block(NULL, until);
}

/* --- the world --------------------------------------------------------- */

void
fake_begin(const struct fake_opts *opts)
{
    fake__notes_end(); /* of a test that failed within its world */
    memset(&P, 0, sizeof P);
    memset(&fake__world, 0, sizeof fake__world);
    fake__base_begin(opts->seed);
    fake__world.opts = *opts;
    fake__world.now = FAKE__S; /* some programs use 0 for never */
    P.main = process_new(fake_host_new("local", "10.9.0.1"), "main");
    fake__threads_begin(P.main);
}

/* Called by fake_end(). */
static void
world_free(void)
{
    fake__cm_end();
    fake__verbs_end();
    fake__fds_end();
    fake__heap_end();
    fake__notes_end();
    fake__base_end();
}

unsigned
fake_end(void)
{
    unsigned leaks = 0;

    for (struct fake_process *p = fake__world.processes; p != NULL; p = p->next)
        if (p != P.main)
            fake_process_kill(p);
    fake__unwatched(true);
    fake__process_end(P.main);
    for (struct fake_process *p = fake__world.processes; p != NULL; p = p->next)
        leaks += p->leaks;
    fake__threads_end();
    world_free();
    fake__unwatched(false);
    return leaks;
}
