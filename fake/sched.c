/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads and the clock. Each thread of the world is a real one, but only the
 * one that holds the baton runs. Threads pass the baton by bare futex calls,
 * which the thread sanitizer does not take for synchronisation: it judges the
 * program as if all threads ran at once. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "real.h"

#define CALL_COST (FAKE__US / 5)
/* The time that passes while all threads poll and find nothing. */
#define IDLE_STEP (2 * FAKE__US)
/* The thread that polled last continues, except one in so many times. */
#define IDLE_STAY 16

/* How often and how long an interrupted thread is stalled. */
#define STALL_ONE_IN 32
#define STALL_MAX    (2 * FAKE__MS)

enum go {
    GO_WAIT,
    GO_RUN,
    GO_DIE
};
enum task_state {
    TASK_READY,
    TASK_BLOCKED,
    TASK_GONE
};

struct fake__task {
    struct fake_process *process;
    struct fake__task *next;
    pthread_t thread;
    unsigned number; /* from 1, in the order of creation */
    int go;          /* futex: enum go */
    enum task_state state;
    const void *key;
    uint64_t until;
    bool timed_out;
    bool idle;   /* polled, found nothing, and nothing has happened since */
    bool first;  /* of its process */
    bool joined; /* by pthread_join() */
    unsigned depth;
    void *(*body)(void *);
    void *arg, *result;
};

static struct {
    struct fake__task *tasks, **end; /* living */
    struct fake__task *gone;         /* ended, perhaps still to be joined */
    uint64_t soonest; /* no blocked task's `until` is before it */
    unsigned numbers;
    unsigned events; /* being run: their thread may not die now */
} S;

static _Thread_local struct fake__task *me;

/* --- the thread sanitizer ---------------------------------------------- */

void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line)
    __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));
void __tsan_acquire(void *x) __attribute__((weak));
void __tsan_release(void *x) __attribute__((weak));

static void
unwatched_begin(void)
{
    if (AnnotateIgnoreReadsBegin == NULL)
        return;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static void
unwatched_end(void)
{
    if (AnnotateIgnoreReadsEnd == NULL)
        return;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void
fake__unwatched(bool on)
{
    if (on)
        unwatched_begin();
    else
        unwatched_end();
}

void
fake__release(const void *x)
{
    if (__tsan_release != NULL)
        __tsan_release((void *)x);
}

void
fake__acquire(const void *x)
{
    if (__tsan_acquire != NULL)
        __tsan_acquire((void *)x);
}

/* --- the baton --------------------------------------------------------- */

static void
task_tell(struct fake__task *t, enum go go)
{
    __atomic_store_n(&t->go, (int)go, __ATOMIC_SEQ_CST);
    __real_syscall(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Ends the calling thread, whose process was killed. */
static void
task_die(void)
{
    while (me->depth > 0) {
        me->depth--;
        unwatched_end();
    }
    me = NULL;
    pthread_exit(NULL);
}

static void
baton_await(void)
{
    int go;

    while ((go = __atomic_load_n(&me->go, __ATOMIC_SEQ_CST)) == GO_WAIT)
        __real_syscall(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, GO_WAIT, NULL,
                       NULL, 0);
    __atomic_store_n(&me->go, GO_WAIT, __ATOMIC_SEQ_CST);
    if (go == GO_DIE)
        task_die();
    fake__cpu_follow();
}

static bool
may_run(const struct fake__task *t)
{
    return t->state == TASK_READY && !t->process->frozen && !t->process->doomed;
}

/* Picks at random a task that may run and does not poll for nothing; NULL if
 * there is none. */
static struct fake__task *
task_pick(void)
{
    struct fake__task *t, *last = NULL;
    uint64_t n = 0;

    for (t = S.tasks; t != NULL; t = t->next) {
        if (t->idle || !may_run(t))
            continue;
        last = t;
        n++;
    }
    if (n < 2)
        return last;
    n = fake__random(n);
    for (t = S.tasks; t->idle || !may_run(t) || n-- > 0; t = t->next)
        continue;
    return t;
}

static bool
anyone_polls(void)
{
    struct fake__task *t = S.tasks;

    while (t != NULL && !(t->idle && may_run(t)))
        t = t->next;
    return t != NULL;
}

static void
tasks_stir(void)
{
    for (struct fake__task *t = S.tasks; t != NULL; t = t->next)
        t->idle = false;
}

static void
task_ready(struct fake__task *t, bool timed_out)
{
    t->state = TASK_READY;
    t->timed_out = timed_out;
    t->idle = false;
}

/* The time of the next event or timeout. */
static uint64_t
next_moment(void)
{
    uint64_t next = fake__events_next();

    for (struct fake__task *t = S.tasks; t != NULL; t = t->next)
        if (t->state == TASK_BLOCKED && !t->process->frozen && t->until < next)
            next = t->until;
    return next;
}

/* Wakes the tasks whose timeout has passed. */
static void
tasks_wake(void)
{
    S.soonest = FAKE__FOREVER;
    for (struct fake__task *t = S.tasks; t != NULL; t = t->next) {
        if (t->state != TASK_BLOCKED || t->process->frozen)
            continue;
        if (t->until <= fake__world.now)
            task_ready(t, true);
        else if (t->until < S.soonest)
            S.soonest = t->until;
    }
}

void
fake__threads_thaw(void)
{
    S.soonest = 0; /* its threads' timeouts were skipped */
}

/* Runs due events and wakes due tasks. */
static void
run_due(void)
{
    bool any;

    S.events++;
    any = fake__events_run();
    S.events--;
    if (any)
        tasks_stir();
    if (fake__world.now >= S.soonest)
        tasks_wake();
}

static void
clock_set(uint64_t now)
{
    if (now > fake__world.now)
        fake__world.now = now;
    run_due();
}

static void
reap(void)
{
    if (me->process->doomed)
        return; /* another thread does */
    for (struct fake_process *p = fake__world.processes; p != NULL; p = p->next)
        if (p->doomed && !p->ended)
            fake__process_end(p);
}

/* Finds a task to end the calling thread's process, which was killed. */
static struct fake__task *
task_survivor(void)
{
    struct fake__task *t = S.tasks;

    while (t != NULL && t->process->doomed)
        t = t->next;
    return t;
}

/* All tasks that may run poll and find nothing: lets one or all of them try again.
 * Mostly the one with the baton, as passing the baton is costly. */
static void
idle_end(void)
{
    if (may_run(me) && fake__random(IDLE_STAY) > 0)
        me->idle = false;
    else
        tasks_stir();
}

/* The next task to run; NULL if none may. A process that was killed must end
 * first. */
static struct fake__task *
task_that_may(void)
{
    bool doomed = me->process->doomed && !me->process->ended;

    return doomed ? task_survivor() : task_pick();
}

/* The next task to run; time passes until there is one. */
static struct fake__task *
task_next(void)
{
    struct fake__task *t;

    while ((t = task_that_may()) == NULL) {
        uint64_t next = next_moment();

        if (anyone_polls()) {
            uint64_t step = fake__world.now + IDLE_STEP;

            idle_end();
            clock_set(next < step ? next : step);
            continue;
        }
        if (next == FAKE__FOREVER)
            fake__stuck("every thread waits for ever");
        clock_set(next);
    }
    fake__record(fake__world.now);
    fake__record(t->number);
    return t;
}

/* Lets another thread run, or continues this one. A thread of a frozen or
 * killed process may get the baton only to end a process; then it waits
 * again. */
static void
schedule(void)
{
    struct fake__task *t;

    reap();
    do {
        t = task_next();
        if (t != me) {
            fake__cpu_look();
            task_tell(t, GO_RUN);
            baton_await();
        }
        reap();
    } while (!may_run(me));
}

bool
fake__block(const void *key, uint64_t until)
{
    me->key = key;
    me->until = until;
    me->state = TASK_BLOCKED;
    me->timed_out = false;
    if (until < S.soonest)
        S.soonest = until;
    schedule();
    return !me->timed_out;
}

void
fake__wake(const void *key)
{
    for (struct fake__task *t = S.tasks; t != NULL; t = t->next)
        if (t->state == TASK_BLOCKED && t->key == key)
            task_ready(t, false);
}

void
fake__idle(void)
{
    if (me == NULL)
        return;
    me->idle = true;
    schedule();
}

/* Lets another thread run. Now and then this one is stalled for a while, as an
 * operating system does. */
static void
preempt(void)
{
    if (fake__random(STALL_ONE_IN) == 0)
        fake__block(NULL, fake__world.now + fake__random(STALL_MAX));
    else
        schedule();
}

/* Lets time pass; runs what is due; may switch threads. */
static void
step(void)
{
    unsigned every = fake__world.opts.switch_every;
    unsigned cost = fake__world.opts.call_ns;

    fake__world.steps++;
    clock_set(fake__world.now + (cost == 0 ? CALL_COST : cost));
    if (me->process->frozen || me->process->doomed)
        schedule();
    if (every > 0 && fake__random(every) == 0)
        preempt();
}

void
fake__die_if_doomed(void)
{
    if (me != NULL && me->process->doomed && S.events == 0)
        schedule();
}

struct fake__call
fake__enter(const char *name, bool may_fail)
{
    struct fake__call call = {0};

    if (me == NULL)
        return call;
    if (me->depth++ == 0) {
        unwatched_begin();
        if (name != NULL)
            step();
        if (may_fail)
            call.err = fake__fault(me->process, name);
    }
    return call;
}

void
fake__leave(struct fake__call *call)
{
    (void)call;
    if (me != NULL && --me->depth == 0)
        unwatched_end();
}

void
fake__point(void)
{
    struct fake__call call;

    if (me == NULL || me->depth > 0)
        return;
    call = fake__enter("", false);
    fake__leave(&call);
}

bool
fake__inside(void)
{
    return me != NULL;
}

struct fake_process *
fake__self(void)
{
    return me == NULL ? NULL : me->process;
}

/* --- threads ----------------------------------------------------------- */

static struct fake__task *
task_add(struct fake_process *p)
{
    struct fake__task *t = fake__alloc(sizeof *t);

    t->process = p;
    t->number = ++S.numbers;
    *S.end = t;
    S.end = &t->next;
    p->threads++;
    p->census.threads++;
    return t;
}

static void
task_gone(struct fake__task *t)
{
    struct fake__task **at = &S.tasks;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (S.end == &t->next)
        S.end = at;
    t->next = S.gone;
    S.gone = t;
    t->state = TASK_GONE;
    t->process->census.threads--;
    fake__wake(t);
}

/* Passes the baton on for the last time. */
static void
task_finish(void)
{
    struct fake__task *t;

    unwatched_begin();
    task_gone(me);
    if (me->first)
        fake__process_end(me->process);
    t = task_next();
    unwatched_end();
    me = NULL;
    task_tell(t, GO_RUN);
}

static void *
task_main(void *arg)
{
    void *result;

    me = arg;
    baton_await();
    me->result = result = me->body(me->arg);
    task_finish();
    return result;
}

int
fake__thread_new(struct fake_process *p, void *(*body)(void *), void *arg,
                 pthread_t *out)
{
    struct fake__task *t = task_add(p);

    t->first = p->threads == 1;
    t->body = body;
    t->arg = arg;
    if (__real_pthread_create(&t->thread, NULL, task_main, t) != 0)
        abort();
    *out = t->thread;
    return 0;
}

static struct fake__task *
task_find(struct fake__task *list, pthread_t thread)
{
    while (list != NULL &&
           (list->joined || !pthread_equal(list->thread, thread)))
        list = list->next;
    return list;
}

int
fake__thread_join(pthread_t thread, void **result)
{
    struct fake__task *t = task_find(S.tasks, thread);

    if (t == NULL)
        t = task_find(S.gone, thread);
    if (t == NULL)
        return __real_pthread_join(thread, result);
    while (t->state != TASK_GONE)
        fake__block(t, FAKE__FOREVER);
    t->joined = true;
    return __real_pthread_join(thread, result);
}

static void
thread_kill(struct fake__task *t)
{
    task_tell(t, GO_DIE);
    __real_pthread_join(t->thread, NULL);
    t->joined = true;
    task_gone(t);
}

/* Kills all threads of p except the calling one. */
void
fake__threads_kill(struct fake_process *p)
{
    struct fake__task *t, *next;

    for (t = S.tasks; t != NULL; t = next) {
        next = t->next;
        if (t->process == p && t != me)
            thread_kill(t);
    }
}

/* Makes the calling thread the first of the world. */
void
fake__threads_begin(struct fake_process *p)
{
    memset(&S, 0, sizeof S);
    S.soonest = FAKE__FOREVER;
    S.end = &S.tasks;
    me = task_add(p);
    me->thread = pthread_self();
    me->joined = true;
    fake__cpu_begin();
}

/* Takes the calling thread, the last one, out of the world again. */
void
fake__threads_end(void)
{
    for (struct fake__task *t = S.gone; t != NULL; t = t->next)
        if (!t->joined)
            __real_pthread_join(t->thread, NULL);
    fake__cpu_end();
    me = NULL;
}
