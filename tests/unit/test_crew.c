/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's threads, real ones: an engine keeps running while a
 * handler blocks, as long as a thread is left for it.
 * tests/sim/test_takeover* have the rest. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/crew.h"
#include "transport/core/engine.h"
#include "transport/core/habit.h"

#define SPIN_US  1000u
#define PATIENCE 10000000u
#define MANY     8u

struct bench;

/* A handler that blocks until *go is set. */
struct job {
    struct bench *bench;
    struct vc__task post, task, finish;
    atomic_bool *go;
    atomic_bool began, kept, done;
    struct vc__habit habit;
    struct vc__waiter *awaits; /* awaited first, on the engine */
};

struct bench {
    struct vc__engine engine;
    struct vc__crew crew;
    atomic_bool go;
    struct job jobs[MANY];
    struct vc__task task;
    struct vc__waiter waiter;
};

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_int_equal(0, vc__engine_init(&b->engine, SPIN_US));
    memset(&b->crew, 0xa5, sizeof b->crew);
    assert_int_equal(0, vc__crew_init(&b->crew, 1));
    vc__crew_watch(&b->crew, 0, &b->engine);
    vc__waiter_init(&b->waiter);
    *state = b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    vc__crew_stop(&b->crew);
    vc__crew_fini(&b->crew);
    vc__engine_fini(&b->engine);
    free(b);
    return 0;
}

static bool
becomes_true(atomic_bool *word)
{
    uint64_t until = vc__now() + PATIENCE;

    while (!atomic_load(word) && vc__now() < until)
        sched_yield();
    return atomic_load(word);
}

static void
job_finish(struct vc__task *task)
{
    struct job *j = caa_container_of(task, struct job, finish);

    atomic_store(&j->done, true);
}

static void
job_run(struct vc__task *task)
{
    struct job *j = caa_container_of(task, struct job, task);
    struct vc__engine *e = &j->bench->engine;

    struct vc__handler_run *handler_run =
        vc__engine_release(e, &j->habit, NULL);

    atomic_store(&j->began, true);
    if (j->awaits != NULL)
        vc__engine_wait(e, j->awaits, VC__FOREVER);
    if (j->go != NULL)
        becomes_true(j->go);
    atomic_store(&j->kept, vc__engine_resume(handler_run));
    if (atomic_load(&j->kept))
        atomic_store(&j->done, true);
    else
        vc__engine_post(e, &j->finish);
}

static void
job_begin(struct vc__task *task)
{
    struct job *j = caa_container_of(task, struct job, post);

    vc__engine_handle(&j->bench->engine, &j->task);
}

static void
job_post(struct bench *b, unsigned i, atomic_bool *go)
{
    struct job *j = &b->jobs[i];

    j->bench = b;
    j->go = go;
    j->post.run = job_begin;
    j->task.run = job_run;
    j->finish.run = job_finish;
    vc__engine_post(&b->engine, &j->post);
}

static void
let_go(struct vc__task *task)
{
    struct bench *b = caa_container_of(task, struct bench, task);

    atomic_store(&b->go, true);
    vc__waiter_done(&b->waiter);
}

static void
an_engine_goes_on_while_a_handler_blocks(void **state)
{
    struct bench *b = *state;

    assert_int_equal(0, vc__crew_start(&b->crew, 1));
    job_post(b, 0, &b->go);
    assert_true(becomes_true(&b->jobs[0].began));

    b->task.run = let_go;
    vc__engine_post(&b->engine, &b->task);

    assert_true(becomes_true(&b->jobs[0].done));
    assert_true(atomic_load(&b->go));
    assert_false(atomic_load(&b->jobs[0].kept));
}

static void
a_fast_handler_keeps_its_engine(void **state)
{
    struct bench *b = *state;

    for (unsigned i = 0; i < MANY; i++)
        job_post(b, i, NULL);
    b->task.run = let_go;
    vc__engine_post(&b->engine, &b->task);

    /* No thread watches the engine here. */
    assert_true(vc__engine_wait(&b->engine, &b->waiter, VC__FOREVER));
    vc__engine_catch_up(&b->engine, VC__FOREVER);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(atomic_load(&b->jobs[i].kept));
}

static void
the_last_thread_begins_no_handler_but_goes_on(void **state)
{
    struct bench *b = *state;

    assert_int_equal(0, vc__crew_start(&b->crew, 2));
    for (unsigned i = 0; i < MANY; i++)
        job_post(b, i, &b->go);
    assert_true(becomes_true(&b->jobs[0].began));
    assert_true(becomes_true(&b->jobs[1].began));
    assert_true(becomes_true(&b->crew.spent));
    assert_false(atomic_load(&b->jobs[2].began));

    b->task.run = let_go; /* by the third thread */
    vc__engine_post(&b->engine, &b->task);

    for (unsigned i = 0; i < MANY; i++)
        assert_true(becomes_true(&b->jobs[i].done));
}

static void
a_handler_that_waits_lends_the_engine_to_the_next(void **state)
{
    struct bench *b = *state;
    bool is_long;

    b->jobs[0].awaits = &b->waiter;
    assert_int_equal(0, vc__crew_start(&b->crew, 4));
    job_post(b, 0, NULL);
    assert_true(becomes_true(&b->jobs[0].began));
    job_post(b, 1, &b->go);
    assert_true(becomes_true(&b->jobs[1].began));
    is_long = vc__habit_is_long(&b->jobs[0].habit);

    b->task.run = let_go;
    vc__engine_post(&b->engine, &b->task);

    assert_true(becomes_true(&b->jobs[0].done));
    assert_true(becomes_true(&b->jobs[1].done));
    assert_true(is_long);
}

static void
stopping_waits_for_handlers_and_their_results_are_kept(void **state)
{
    struct bench *b = *state;

    assert_int_equal(0, vc__crew_start(&b->crew, 4));
    for (unsigned i = 0; i < 3; i++)
        job_post(b, i, &b->go);
    for (unsigned i = 0; i < 3; i++)
        assert_true(becomes_true(&b->jobs[i].began));
    atomic_store(&b->go, true);

    vc__crew_stop(&b->crew);
    vc__engine_settle(&b->engine);

    for (unsigned i = 0; i < 3; i++)
        assert_true(atomic_load(&b->jobs[i].done));
}

/* Reads crew->n under its lock; the watching thread is not counted. */
static unsigned
threads_of(struct vc__crew *crew)
{
    unsigned n;

    pthread_mutex_lock(&crew->lock);
    n = crew->n;
    pthread_mutex_unlock(&crew->lock);
    return n;
}

static void
a_crew_has_as_many_threads_as_it_may_and_begins_anew(void **state)
{
    struct bench *b = *state;

    for (unsigned times = 0; times < 2; times++) {
        assert_int_equal(threads_of(&b->crew), 0);
        assert_int_equal(0, vc__crew_start(&b->crew, 2));
        for (unsigned i = 0; i < MANY; i++)
            job_post(b, i, &b->go);
        assert_true(becomes_true(&b->crew.spent));
        assert_int_equal(threads_of(&b->crew), 3);
        atomic_store(&b->go, true);
        for (unsigned i = 0; i < MANY; i++)
            assert_true(becomes_true(&b->jobs[i].done));

        vc__crew_stop(&b->crew);
        assert_false(b->crew.started);
        assert_int_equal(b->crew.max, 0);
        assert_int_equal(b->crew.n_idle, 0);
        assert_int_equal(b->crew.retry, 0);
        assert_false(atomic_load(&b->crew.spent));
        assert_false(atomic_load(&b->crew.stop));
        assert_false(atomic_load(&b->crew.resting));
        atomic_store(&b->go, false);
        memset(b->jobs, 0, sizeof b->jobs);
    }
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_engine_goes_on_while_a_handler_blocks),
        T(a_fast_handler_keeps_its_engine),
        T(the_last_thread_begins_no_handler_but_goes_on),
        T(a_handler_that_waits_lends_the_engine_to_the_next),
        T(stopping_waits_for_handlers_and_their_results_are_kept),
        T(a_crew_has_as_many_threads_as_it_may_and_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
