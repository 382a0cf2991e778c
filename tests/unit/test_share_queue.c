/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How clients share the handler threads, and the order in which waiting
 * jobs start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/share.h"

#define CLIENTS 4u
#define JOBS    3u
#define PLENTY  100u

struct bench {
    struct vc__job_queue queue;
    struct vc__share *shares[CLIENTS];
    struct vc__job jobs[CLIENTS][JOBS];
};

static struct bench bench;

static int
bench_setup(void **state)
{
    memset(&bench, 0xa5, sizeof bench);
    vc__job_queue_init(&bench.queue);
    for (unsigned i = 0; i < CLIENTS; i++) {
        bench.shares[i] = vc__share_new();
        assert_non_null(bench.shares[i]);
        for (unsigned k = 0; k < JOBS; k++)
            bench.jobs[i][k].share = bench.shares[i];
    }
    *state = &bench;
    return 0;
}

static void
share_put_threads(struct vc__share *share)
{
    while (vc__share_threads(share) > 0)
        vc__share_put(share);
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    for (unsigned i = 0; i < CLIENTS; i++) {
        share_put_threads(b->shares[i]);
        vc__share_put(b->shares[i]);
    }
    return 0;
}

/* Queues all jobs of the clients 0..n-1, client by client. */
static void
clients_await(struct bench *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < JOBS; k++)
            vc__job_await(&b->queue, &b->jobs[i][k]);
}

/* Asserts that job k of client i is next. */
static void
assert_next(struct bench *b, unsigned i, unsigned k)
{
    struct vc__job *job = vc__job_next(&b->queue, PLENTY);

    assert_non_null(job);
    assert_int_equal(job - b->jobs[0], i * JOBS + k);
    assert_false(job->waits);
}

static void
assert_nothing_waits(struct bench *b)
{
    assert_null(vc__job_next(&b->queue, PLENTY));
    assert_true(vc__job_queue_is_empty(&b->queue));
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_false(vc__share_waits(b->shares[i]));
}

/* Takes threads out of *left as long as the share is fair; returns the
 * share's threads. */
static unsigned
share_take_all(struct vc__share *share, unsigned *left)
{
    for (; vc__share_is_fair(vc__share_threads(share), *left); --*left)
        vc__share_hold(share);
    return vc__share_threads(share);
}

/* --- threads ----------------------------------------------------------- */

static void
one_client_leaves_threads_to_the_next(void **state)
{
    static const unsigned expected[CLIENTS] = {223, 28, 3, 1};
    struct bench *b = *state;
    unsigned left = 255;

    for (unsigned i = 0; i < CLIENTS; i++)
        assert_int_equal(share_take_all(b->shares[i], &left), expected[i]);
    assert_int_equal(left, 0);

    share_put_threads(b->shares[1]);
    left = expected[1];
    assert_false(vc__share_is_fair(vc__share_threads(b->shares[0]), left));
    assert_int_equal(share_take_all(b->shares[2], &left), 27);
    assert_int_equal(left, 4);
}

static void
the_last_thread_is_for_a_client_that_has_none(void **state)
{
    struct bench *b = *state;

    assert_false(vc__share_is_fair(vc__share_threads(b->shares[0]), 0));
    assert_true(vc__share_is_fair(vc__share_threads(b->shares[0]), 1));
    vc__share_hold(b->shares[0]);
    assert_false(vc__share_is_fair(vc__share_threads(b->shares[0]), 1));
    assert_true(vc__share_is_fair(vc__share_threads(b->shares[0]), 2));
    assert_true(vc__share_is_fair(vc__share_threads(b->shares[1]), 1));
}

/* --- turns ------------------------------------------------------------- */

static void
clients_take_turns_and_the_jobs_of_each_keep_their_order(void **state)
{
    struct bench *b = *state;

    clients_await(b, 3);
    for (unsigned k = 0; k < JOBS; k++)
        for (unsigned i = 0; i < 3; i++)
            assert_next(b, i, k);
    assert_nothing_waits(b);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(vc__share_threads(b->shares[i]), JOBS);
}

static void
a_client_that_comes_later_waits_for_one_job_of_each_other(void **state)
{
    struct bench *b = *state;

    clients_await(b, 2);
    assert_next(b, 0, 0);
    vc__job_await(&b->queue, &b->jobs[2][0]);
    assert_next(b, 1, 0);
    assert_next(b, 0, 1);
    assert_next(b, 2, 0);
    assert_next(b, 1, 1);
    assert_next(b, 0, 2);
}

static void
a_client_that_has_its_share_is_passed_over_and_keeps_its_turn(void **state)
{
    struct bench *b = *state;

    clients_await(b, 3);
    vc__share_hold(b->shares[0]);
    assert_ptr_equal(vc__job_next(&b->queue, 1), &b->jobs[1][0]);
    assert_next(b, 0, 0);
    assert_next(b, 2, 0);
    assert_null(vc__job_next(&b->queue, 1)); /* each client has one */
    assert_null(vc__job_next(&b->queue, 0));
    assert_next(b, 1, 1);
}

/* --- withdrawing and requeueing ---------------------------------------- */

static void
a_withdrawn_job_never_begins(void **state)
{
    struct bench *b = *state;

    clients_await(b, 2);
    assert_true(b->jobs[0][0].waits);
    vc__job_unqueue(&b->jobs[0][0]);
    vc__job_unqueue(&b->jobs[1][1]);
    assert_false(b->jobs[0][0].waits);
    assert_next(b, 0, 1);
    assert_next(b, 1, 0);
    assert_next(b, 0, 2);
    assert_next(b, 1, 2);
    assert_nothing_waits(b);
}

static void
a_client_whose_jobs_are_all_withdrawn_has_no_turn(void **state)
{
    struct bench *b = *state;

    clients_await(b, 2);
    for (unsigned k = 0; k < JOBS; k++)
        vc__job_unqueue(&b->jobs[0][k]);
    assert_false(vc__share_waits(b->shares[0]));
    assert_next(b, 1, 0);
    vc__job_await(&b->queue, &b->jobs[0][0]); /* its turn is the last */
    assert_next(b, 1, 1);
    assert_next(b, 0, 0);
    vc__job_unqueue(&b->jobs[1][2]);
    assert_nothing_waits(b);
}

static void
without_a_thread_a_job_keeps_its_place(void **state)
{
    struct bench *b = *state;
    struct vc__job *job;

    clients_await(b, 2);
    job = vc__job_next(&b->queue, PLENTY);
    vc__job_requeue(&b->queue, job);
    assert_true(job->waits);
    assert_int_equal(vc__share_threads(b->shares[0]), 0);
    assert_next(b, 0, 0);
    assert_next(b, 1, 0);
}

static void
without_a_thread_the_only_job_of_a_client_keeps_its_place(void **state)
{
    struct bench *b = *state;
    struct vc__job *job;

    vc__job_await(&b->queue, &b->jobs[0][0]);
    for (unsigned k = 0; k < JOBS; k++)
        vc__job_await(&b->queue, &b->jobs[1][k]);
    job = vc__job_next(&b->queue, PLENTY);
    assert_false(vc__share_waits(b->shares[0]));
    vc__job_requeue(&b->queue, job);
    assert_true(vc__share_waits(b->shares[0]));
    assert_int_equal(vc__share_threads(b->shares[0]), 0);
    assert_next(b, 0, 0);
    assert_next(b, 1, 0);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(one_client_leaves_threads_to_the_next),
        T(the_last_thread_is_for_a_client_that_has_none),
        T(clients_take_turns_and_the_jobs_of_each_keep_their_order),
        T(a_client_that_comes_later_waits_for_one_job_of_each_other),
        T(a_client_that_has_its_share_is_passed_over_and_keeps_its_turn),
        T(a_withdrawn_job_never_begins),
        T(a_client_whose_jobs_are_all_withdrawn_has_no_turn),
        T(without_a_thread_a_job_keeps_its_place),
        T(without_a_thread_the_only_job_of_a_client_keeps_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
