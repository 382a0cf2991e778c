/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Completion queues: each completion is taken once, by a thread that asks for
 * it, whichever thread advanced the engine. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/crowd.h"

#define SEEDS   sim_few(8u)
#define MANY    3000u
#define LONG    40000u
#define THREADS 4u

static struct crowd crowd;

static void
thousands_come_out_once_each(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        crowd_open(&crowd, seed, 0, NULL);
        crowd_serve(&crowd);
        for (unsigned i = 0; i < MANY; i++)
            crowd_call_queued(&crowd, i % 100 == 0 ? LONG : 64);
        crowd_await(&crowd, MANY);
        assert_int_equal(MANY, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

static void
with_none_under_way_it_waits_as_long_as_it_is_told(void **state)
{
    struct vc_completion end;
    uint64_t start;

    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    start = fake_now_us();
    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     vc_completions_next(crowd.queue, 50, &end));
    assert_in_range(fake_now_us() - start, 50 * MS, 52 * MS);
    start = fake_now_us();
    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     vc_completions_next(crowd.queue, 0, &end));
    assert_true(fake_now_us() - start < 1 * MS);
    crowd_close(&crowd);
}

static void
looking_without_waiting_advances_the_runtime(void **state)
{
    struct vc_completion end;
    uint64_t until;

    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    crowd_serve(&crowd);
    crowd_call_queued(&crowd, 64);
    until = fake_now_us() + 10 * S;
    while (vc_completions_next(crowd.queue, 0, &end) != VC_OK) {
        assert_true(fake_now_us() < until);
        fake_sleep_us(100);
    }
    crowd_told(&end);
    assert_int_equal(1, crowd_count(&crowd, VC_OK));
    crowd_close(&crowd);
}

static void
an_end_says_what_vc_error_would(void **state)
{
    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    crowd.server.sleep_us = 50 * MS;
    crowd_serve(&crowd);
    crowd.opts.timeout_ms = 20;
    crowd_call_queued(&crowd, 64);
    crowd_await(&crowd, 1);
    assert_int_equal(VC_DEADLINE_EXCEEDED, crowd.calls[0].status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, crowd.calls[0].outcome);
    assert_non_null(strstr(crowd.calls[0].text, "within 20 ms"));
    crowd_close(&crowd);
}

/* --- several threads --------------------------------------------------- */

/* Sleeps until a call ends; another thread receives its reply. */
static void *
sleeper_main(void *arg)
{
    struct vc_completion end;

    (void)arg;
    if (vc_completions_next(crowd.queue, VC_NO_DEADLINE, &end) == VC_OK)
        crowd_told(&end);
    return NULL;
}

static void *
caller_main(void *arg)
{
    (void)arg;
    sim_echo(crowd.channel, 64, 5000, 0, NULL);
    return NULL;
}

/* With even seeds the blocking caller holds the engine first, and the sleepers
 * wait for it. With odd seeds a sleeper may hold it first. */
static void
a_thread_asleep_in_next_is_woken_by_anothers_work(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20 * SEEDS; seed++) {
        pthread_t sleepers[3], caller;
        uint64_t start;

        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 5 * MS;
        crowd_serve(&crowd);
        vc_channel_connect(crowd.channel, &suite_probe_service);
        start = fake_now_us();
        if (seed % 2 == 0)
            pthread_create(&caller, NULL, caller_main, NULL);
        for (unsigned i = 0; i < 3; i++)
            pthread_create(&sleepers[i], NULL, sleeper_main, NULL);
        if (seed % 2 != 0)
            pthread_create(&caller, NULL, caller_main, NULL);
        fake_sleep_us(seed * 10);
        for (unsigned i = 0; i < 3; i++)
            crowd_call_queued(&crowd, 64);
        for (unsigned i = 0; i < 3; i++)
            pthread_join(sleepers[i], NULL);
        pthread_join(caller, NULL);
        assert_true(fake_now_us() - start < 100 * MS);
        assert_int_equal(3, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

static atomic_uint taken;

static void *
taker_main(void *arg)
{
    struct vc_completion end;

    (void)arg;
    while (atomic_load(&taken) < 200) {
        if (vc_completions_next(crowd.queue, 1, &end) != VC_OK)
            continue;
        crowd_told(&end);
        atomic_fetch_add(&taken, 1);
    }
    return NULL;
}

static void
many_threads_may_take_from_one_queue(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pthread_t takers[THREADS];

        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        if (seed % 2 == 0)
            assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        atomic_store(&taken, 0);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_create(&takers[i], NULL, taker_main, NULL);
        for (unsigned i = 0; i < 200; i++)
            crowd_call_queued(&crowd, 64);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(takers[i], NULL);
        assert_int_equal(200, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

/* --- several engines --------------------------------------------------- */

#define ENGINES 3u

/* A client whose runtime has several engines, with a channel on each. */
struct several {
    struct vc_runtime *runtime;
    struct vc_channel *own, *channels[ENGINES];
    unsigned n;
};

static void
several_open(struct several *s, uint64_t seed, unsigned n, uint64_t sleep_us)
{
    crowd_open(&crowd, seed, 2, NULL);
    crowd.server.sleep_us = sleep_us;
    crowd_serve(&crowd);
    s->n = n;
    assert_int_equal(VC_OK, sim_runtime(&s->runtime, n));
    vc_completions_free(crowd.queue);
    assert_int_equal(VC_OK, vc_completions_new(s->runtime, &crowd.queue));
    s->own = crowd.channel;
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(VC_OK, vc_channel_open(s->runtime, crowd.server.target,
                                                NULL, &s->channels[i]));
}

static void
several_close(struct several *s)
{
    for (unsigned i = 0; i < crowd.n; i++) {
        vc_async_free(crowd.calls[i].handle);
        crowd.calls[i].handle = NULL;
    }
    for (unsigned i = 0; i < s->n; i++)
        vc_channel_close(s->channels[i]);
    vc_completions_free(crowd.queue);
    vc_runtime_free(s->runtime);
    crowd.channel = s->own;
    crowd.queue = NULL;
    crowd_close(&crowd);
}

static void
the_calls_of_several_engines_come_into_one_queue(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct several s;

        several_open(&s, seed, 3, 2 * MS);
        for (unsigned i = 0; i < 3; i++) {
            crowd.channel = s.channels[i];
            for (unsigned j = 0; j < 10; j++)
                crowd_call_queued(&crowd, 64);
        }
        crowd_await(&crowd, 30);
        assert_int_equal(30, crowd_count(&crowd, VC_OK));
        several_close(&s);
    }
}

/* A waiting thread finds the call on any engine, whichever engine had the last
 * call. */
static void
the_only_engine_with_a_call_is_looked_at(void **state)
{
    struct vc_completion end;
    struct several s;
    uint64_t start;

    (void)state;
    several_open(&s, 1, 3, 2 * MS);
    start = fake_now_us();
    for (unsigned i = 0; i < 18; i++) {
        crowd.channel = s.channels[i % 6 < 3 ? i % 3 : i / 6];
        crowd_call_queued(&crowd, 64);
        assert_int_equal(VC_OK, vc_completions_next(crowd.queue, 1000, &end));
        crowd_told(&end);
    }
    assert_int_equal(18, crowd_count(&crowd, VC_OK));
    assert_true(fake_now_us() - start < S);
    several_close(&s);
}

/* The thread waits on that engine until the call ends. If it looked at the
 * others each millisecond, the world would make 28000 steps in this second, and
 * not 2000. */
static void
a_wait_for_the_only_engine_with_a_call_is_one(void **state)
{
    struct vc_completion end;
    struct several s;
    uint64_t steps;

    (void)state;
    several_open(&s, 1, 3, S);
    crowd.channel = s.channels[1];
    crowd_call_queued(&crowd, 64);
    steps = fake_steps();
    assert_int_equal(VC_OK, vc_completions_next(crowd.queue, 10000, &end));
    assert_in_range(fake_steps() - steps, 1, 8000);
    crowd_told(&end);
    assert_int_equal(1, crowd_count(&crowd, VC_OK));
    several_close(&s);
}

static void *
late_main(void *arg)
{
    struct vc_completion end;

    (void)arg;
    if (vc_completions_next(crowd.queue, VC_NO_DEADLINE, &end) == VC_OK)
        crowd_told(&end);
    return NULL;
}

/* A thread that sleeps on one engine must notice a call that begins on
 * another. */
static void
a_thread_asleep_hears_of_a_call_on_another_engine(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        struct several s;
        pthread_t thread;

        several_open(&s, seed, 2, 0);
        pthread_create(&thread, NULL, late_main, NULL);
        fake_sleep_us(seed * 50);
        crowd.channel = s.channels[seed % 2];
        crowd_call_queued(&crowd, 64);
        pthread_join(thread, NULL);
        assert_int_equal(1, crowd_count(&crowd, VC_OK));
        several_close(&s);
    }
}

/* --- the descriptor ---------------------------------------------------- */

static bool
is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

static void
the_descriptor_is_readable_while_an_end_is_there(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_completion end;
        int fd;

        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        fd = vc_completions_fd(crowd.queue);
        assert_true(fd >= 0);
        assert_false(is_readable(fd, 0));
        for (unsigned i = 0; i < 2; i++)
            crowd_call_queued(&crowd, 64);
        for (unsigned i = 0; i < 2; i++) {
            assert_true(is_readable(fd, 10000));
            assert_int_equal(VC_OK, vc_completions_next(crowd.queue, 0, &end));
            crowd_told(&end);
        }
        assert_false(is_readable(fd, 0));
        assert_int_equal(fd, vc_completions_fd(crowd.queue));
        crowd_close(&crowd);
    }
}

/* --- completions that are not taken ------------------------------------ */

static void
a_queue_may_be_freed_with_calls_under_way_and_ends_in_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 100;
        crowd_serve(&crowd);
        if (seed % 2 == 0)
            assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        for (unsigned i = 0; i < 20; i++)
            crowd_call_queued(&crowd, 64);
        sim_echo(crowd.channel, 64, 5000, 0, NULL);
        if (seed % 3 == 0)
            crowd_close_channel(&crowd);
        vc_completions_free(crowd.queue);
        crowd.queue = NULL;
        for (unsigned i = 0; i < 20; i++) {
            vc_async_free(crowd.calls[i].handle);
            crowd.calls[i].handle = NULL;
            atomic_store(&crowd.calls[i].ends, 1);
        }
        crowd_close(&crowd);
    }
}

static void
closing_the_channel_puts_all_ends_into_the_queue(void **state)
{
    unsigned cancelled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 100;
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 50; i++)
            crowd_call_queued(&crowd, 64);
        crowd_await(&crowd, (unsigned)(seed % 30));
        crowd_close_channel(&crowd);
        crowd_await(&crowd, 50);
        cancelled += crowd_count(&crowd, VC_CANCELLED);
        assert_int_equal(50, crowd_count(&crowd, VC_CANCELLED) +
                                 crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
    assert_true(cancelled > 0);
}

static void
any_allocation_may_fail(void **state)
{
    bool struck = true;

    (void)state;
    for (unsigned n = 1; struck; n++) {
        crowd_open(&crowd, 2, 0, NULL);
        crowd_serve(&crowd);
        fake_fail_memory(fake_process_self(), n);
        for (unsigned i = 0; i < 40; i++)
            crowd_call_queued(&crowd, 64);
        struck = crowd_was_struck(&crowd);
        assert_true(crowd.refused <= 1);
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_come_out_once_each),
        cmocka_unit_test(with_none_under_way_it_waits_as_long_as_it_is_told),
        cmocka_unit_test(looking_without_waiting_advances_the_runtime),
        cmocka_unit_test(an_end_says_what_vc_error_would),
        cmocka_unit_test(a_thread_asleep_in_next_is_woken_by_anothers_work),
        cmocka_unit_test(many_threads_may_take_from_one_queue),
        cmocka_unit_test(the_calls_of_several_engines_come_into_one_queue),
        cmocka_unit_test(the_only_engine_with_a_call_is_looked_at),
        cmocka_unit_test(a_wait_for_the_only_engine_with_a_call_is_one),
        cmocka_unit_test(a_thread_asleep_hears_of_a_call_on_another_engine),
        cmocka_unit_test(the_descriptor_is_readable_while_an_end_is_there),
        cmocka_unit_test(
            a_queue_may_be_freed_with_calls_under_way_and_ends_in_it),
        cmocka_unit_test(closing_the_channel_puts_all_ends_into_the_queue),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
