/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The trace, the rules that apply to it, and calls that fail. Static functions
 * run on the thread of their caller: one thread of the world runs at a time
 * (world.h). */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

#define LINE 256
#define TAIL 4000 /* end of the trace that fake__stuck() prints */

struct rule {
    struct rule *next;
    char text[LINE];
    unsigned nth;  /* 0: every line */
    unsigned wait; /* matching lines until it applies */
    bool done;
    enum fake_deed deed;
    uint64_t us;
    void (*act)(void *);
    void *arg;
};

struct fault {
    struct fault *next;
    const struct fake_process *process; /* NULL: any */
    char call[48];                      /* "": memory */
    unsigned nth;                       /* 0: has occurred */
    int err;
};

static struct {
    char *trace;
    size_t len, room;
    struct rule *rules;
    struct fault *faults;
    unsigned failed;
} N;

/* --- the trace --------------------------------------------------------- */

/* Called by trace_line(). */
static void
trace_add(const char *line, size_t len)
{
    if (N.len + len + 1 > N.room) {
        N.room = (N.room + len) * 2 + 4096;
        N.trace = __real_realloc(N.trace, N.room);
        if (N.trace == NULL)
            abort();
    }
    memcpy(N.trace + N.len, line, len + 1);
    N.len += len;
}

/* Called by fake__note(). */
static void
trace_line(const char *text)
{
    char line[LINE + 32];
    uint64_t us = (fake__world.now - FAKE__S) / FAKE__US;
    int len = snprintf(line, sizeof line, "[%3llu.%03llu] %s\n",
                       (unsigned long long)(us / 1000),
                       (unsigned long long)(us % 1000), text);

    trace_add(line, (size_t)len);
    for (int i = 0; i < len; i++)
        fake__record((unsigned char)line[i]);
}

const char *
fake_trace(void)
{
    return N.trace == NULL ? "" : N.trace;
}

/* Called by rules_follow(). */
static void
rule_apply(struct rule *r, struct fake__fate *fate)
{
    if (r->act != NULL) {
        r->act(r->arg);
        return;
    }
    fate->lose |= r->deed == FAKE_LOSE;
    fate->drop |= r->deed == FAKE_DROP;
    fate->flush |= r->deed == FAKE_FLUSH;
    fate->alter |= r->deed == FAKE_ALTER;
    fate->twice |= r->deed == FAKE_TWICE;
    if (r->deed == FAKE_TWICE)
        fate->again = r->us * FAKE__US;
    if (r->deed == FAKE_DELAY)
        fate->delay += r->us * FAKE__US;
}

/* Called by fake__note(). */
static void
rules_follow(const char *text, struct fake__fate *fate)
{
    for (struct rule *r = N.rules; r != NULL; r = r->next) {
        if (r->done || strstr(text, r->text) == NULL)
            continue;
        if (r->wait > 0 && --r->wait > 0)
            continue;
        r->done = r->nth > 0;
        rule_apply(r, fate);
    }
}

/* Called in most files of the fake. */
struct fake__fate
fake__note(const char *format, ...)
{
    struct fake__fate fate = {0};
    char text[LINE];
    va_list args;

    if (!fake__world.opts.trace && N.rules == NULL)
        return fate;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (fake__world.opts.trace)
        trace_line(text);
    rules_follow(text, &fate);
    fake__die_if_doomed();
    return fate;
}

/* Called by fake_rule() and fake_when(). */
static struct rule *
rule_new(const char *text, unsigned nth)
{
    struct rule *r = fake__alloc(sizeof *r), **end = &N.rules;

    snprintf(r->text, sizeof r->text, "%s", text);
    r->nth = r->wait = nth;
    while (*end != NULL)
        end = &(*end)->next;
    *end = r;
    return r;
}

void
fake_rule(const char *text, unsigned nth, enum fake_deed deed, uint64_t us)
{
    FAKE_CALL_SAFE("fake_rule");
    struct rule *r = rule_new(text, nth);

    r->deed = deed;
    r->us = us;
}

void
fake_when(const char *text, unsigned nth, void (*deed)(void *), void *arg)
{
    FAKE_CALL_SAFE("fake_when");
    struct rule *r = rule_new(text, nth);

    r->act = deed;
    r->arg = arg;
}

void
fake_no_rules(void)
{
    FAKE_CALL_SAFE("fake_no_rules");

    N.rules = NULL;
}

/* --- calls that fail --------------------------------------------------- */

/* Called by fake__fault() and fake__memory_fails(). */
static int
fault_strikes(const struct fake_process *p, const char *call)
{
    for (struct fault *f = N.faults; f != NULL; f = f->next) {
        if (f->nth == 0 || (f->process != NULL && f->process != p))
            continue;
        if (strcmp(f->call, call) != 0 &&
            !(strcmp(f->call, "*") == 0 && call[0] != '\0'))
            continue;
        if (--f->nth > 0)
            continue;
        N.failed++;
        fake__note("%s: %s fails", p->name,
                   call[0] == '\0' ? "an allocation" : call);
        return f->err;
    }
    return 0;
}

/* Called by fake__enter() (sched.c). */
int
fake__fault(struct fake_process *p, const char *call)
{
    p->calls++;
    return fault_strikes(p, call);
}

/* Called by strikes() (heap.c). */
bool
fake__memory_fails(struct fake_process *p)
{
    return fault_strikes(p, "") != 0;
}

/* Called by fake_fail() and fake_fail_memory(). */
static void
fault_add(struct fake_process *p, const char *call, unsigned nth, int err)
{
    struct fault *f = fake__alloc(sizeof *f);

    f->process = p;
    snprintf(f->call, sizeof f->call, "%s", call);
    f->nth = nth;
    f->err = err;
    f->next = N.faults;
    N.faults = f;
}

void
fake_fail(struct fake_process *p, const char *name, unsigned nth, int err)
{
    FAKE_CALL_SAFE("fake_fail");

    fault_add(p, name, nth, err);
}

void
fake_fail_memory(struct fake_process *p, unsigned nth)
{
    FAKE_CALL_SAFE("fake_fail_memory");

    fault_add(p, "", nth, 1);
}

unsigned
fake_failed(void)
{
    return N.failed;
}

void
fake_fail_no_more(void)
{
    FAKE_CALL_SAFE("fake_fail_no_more");

    N.faults = NULL;
}

/* Called by fake_begin() and world_free() (process.c). */
void
fake__notes_end(void)
{
    __real_free(N.trace);
    memset(&N, 0, sizeof N);
}

/* Called in host.c, posix.c and sched.c. */
void
fake__stuck(const char *why)
{
    const char *tail = N.len > TAIL ? N.trace + N.len - TAIL : fake_trace();

    fprintf(stderr, "%s\nfake: seed %llu, %.3f ms, step %llu: %s\n", tail,
            (unsigned long long)fake__world.opts.seed,
            (double)(fake__world.now - FAKE__S) / (double)FAKE__MS,
            (unsigned long long)fake__world.steps, why);
    abort();
}
