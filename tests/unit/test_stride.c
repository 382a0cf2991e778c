/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Weighted round robin; test_stride_memory.c has the tests that need another
 * malloc(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>

#include "rpc/balance/stride.h"
#include "tests/unit/random.h"

#define CHOICES 100000u
#define MANY    1024u
#define THREADS 4u

#define COUNT(a) ((unsigned)(sizeof(a) / sizeof(a)[0]))

static unsigned got[MANY];

static struct vc__stride *
stride_of(const float *weights, unsigned n)
{
    struct vc__stride *s = vc__stride_new(weights, n);

    assert_non_null(s);
    for (unsigned i = 0; i < n; i++)
        got[i] = 0;
    return s;
}

/* Chooses, and counts it. */
static unsigned
choose(const struct vc__stride *s, atomic_uint *sequence)
{
    unsigned server = vc__stride_next(s, sequence);

    assert_true(server < s->n);
    got[server]++;
    return server;
}

/* Each server has had its share, within 5 %. */
static void
assert_shares(const float *shares, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += (double)shares[i];
    for (unsigned i = 0; i < n; i++) {
        double due = CHOICES * (double)shares[i] / sum;

        if (got[i] < due * 0.95 || got[i] > due * 1.05)
            fail_msg("server %u of %u has %u calls, not %.0f", i, n, got[i],
                     due);
    }
}

static void
assert_shares_of(const float *weights, const float *shares, unsigned n,
                 unsigned first)
{
    struct vc__stride *s = stride_of(weights, n);
    atomic_uint sequence = first;

    for (unsigned i = 0; i < CHOICES; i++)
        choose(s, &sequence);
    assert_shares(shares, n);
    vc__stride_free(s);
}

/* --- shares -------------------------------------------------------------- */

static void
shares_follow_the_weights(void **state)
{
    static const float sets[][4] = {{1, 2, 3, 4},
                                    {1, 1, 1, 1},
                                    {7, 1, 1, 1},
                                    {0.001f, 0.002f, 0.003f, 0.01f},
                                    {1e30f, 2e30f, 3e30f, 4e30f},
                                    {FLT_MAX, FLT_MAX, FLT_MAX / 2, FLT_MAX},
                                    {1e-44f, 2e-44f, 1e-44f, 2e-44f}};

    (void)state;
    for (unsigned i = 0; i < COUNT(sets); i++) {
        assert_shares_of(sets[i], sets[i], 4, 0);
        assert_shares_of(sets[i], sets[i], 3, 123456789);
        assert_shares_of(sets[i], sets[i], 2, UINT_MAX - CHOICES / 2);
    }
}

static void
so_do_those_of_many_servers(void **state)
{
    static const unsigned numbers[] = {10, 100, 300};
    float weights[MANY];
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        weights[i] = (float)(5 + random_below(&seed, 46));
    for (unsigned i = 0; i < COUNT(numbers); i++)
        assert_shares_of(weights, weights, numbers[i], 0);
}

static void
one_weight_counts_for_ten_times_the_mean_at_most(void **state)
{
    float weights[100], shares[100];

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        weights[i] = shares[i] = 1;
    weights[0] = 1000;
    shares[0] = 10 * (1000 + 99) / 100.f;
    assert_shares_of(weights, shares, 100, 0);
    weights[0] = shares[0] = 10; /* of a mean of 1.09 */
    assert_shares_of(weights, shares, 100, 0);
}

static void
one_weight_counts_for_a_hundredth_of_the_mean_at_least(void **state)
{
    static const float low[] = {1000, 1000, 1}, lower[] = {1000, 1000, 1e-30f},
                       no_lower[] = {1000, 1000, 7},
                       shares[] = {1000, 1000, 2001 / 300.f};

    (void)state;
    assert_shares_of(low, shares, 3, 0);
    assert_shares_of(lower, shares, 3, 0);
    assert_shares_of(no_lower, no_lower, 3, 0);
}

static void
a_server_without_a_weight_gets_the_mean_of_the_others(void **state)
{
    static const float unknown[] = {0, -1, NAN, INFINITY, -INFINITY, -0.f};
    static const float shares[] = {100, 200, 300, 200};

    (void)state;
    for (unsigned i = 0; i < COUNT(unknown); i++) {
        float weights[] = {100, unknown[i], 300,
                           unknown[COUNT(unknown) - 1 - i]};

        assert_shares_of(weights, shares, 4, 0);
    }
}

static void
with_fewer_than_two_weights_the_servers_take_turns(void **state)
{
    static const float none[4] = {0}, one[4] = {0, 0, 3, NAN},
                       tiny[4] = {1e-44f}, huge[4] = {0, FLT_MAX, -1, 0};
    const float *const sets[] = {none, one, tiny, huge};

    (void)state;
    for (unsigned set = 0; set < COUNT(sets); set++) {
        struct vc__stride *s = stride_of(sets[set], 4);
        atomic_uint sequence = 2;

        for (unsigned i = 0; i < CHOICES; i++)
            assert_int_equal(choose(s, &sequence), (i + 2) % 4);
        vc__stride_free(s);
    }
}

static void
one_server_gets_all(void **state)
{
    static const float weights[] = {0, 1, 1e-44f, FLT_MAX, NAN};

    (void)state;
    for (unsigned i = 0; i < COUNT(weights); i++) {
        struct vc__stride *s = stride_of(&weights[i], 1);
        atomic_uint sequence = UINT_MAX - 5;

        for (unsigned k = 0; k < 10; k++)
            assert_int_equal(choose(s, &sequence), 0);
        assert_int_equal(sequence, 4);
        vc__stride_free(s);
    }
}

/* --- the order ----------------------------------------------------------- */

/* From a model of gRPC's scheduler, with its floating point numbers; so is the
 * next test. */
static void
weights_become_those_of_grpc(void **state)
{
    static const struct {
        float is[6];
        uint16_t becomes[6];
    } rows[] = {
        {{7, 11, 13, 0, 17, 3}, {26985, 42405, 50115, 39321, 65535, 11565}},
        {{1, 1, 1, 1, 1, 0.9f}, {65535, 65535, 65535, 65535, 65535, 58981}},
        {{0.3f, 0.1f, 0.7f, 0, 0, 0.9f},
         {21845, 7282, 50972, 36408, 36408, 65535}},
        {{1000, 999, 0, 1, 20, 30}, {65535, 65469, 26869, 269, 1311, 1966}},
        {{0.001f, 2000, 300000, 0, 10000, 1},
         {136, 437, 65535, 13631, 2185, 136}},
    };

    (void)state;
    for (unsigned row = 0; row < COUNT(rows); row++) {
        struct vc__stride *s = stride_of(rows[row].is, 6);

        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(s->weights[i], rows[row].becomes[i]);
        vc__stride_free(s);
    }
}

static void
choices_are_those_of_grpc(void **state)
{
    static const struct {
        float weights[6];
        unsigned n, first;
        uint8_t choices[24];
        unsigned next;
    } rows[] = {
        {{1, 2, 3, 0},
         4,
         0,
         {1, 2, 3, 2, 0, 1, 2, 3, 1, 2, 3, 2,
          0, 1, 2, 3, 1, 2, 3, 2, 0, 1, 2, 3},
         36},
        {{1, 2, 3, 0},
         4,
         UINT_MAX - 8,
         {0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 0,
          1, 2, 3, 1, 2, 3, 2, 0, 1, 2, 3, 1},
         26},
        {{5, 1, 1, 1, 1, 1},
         6,
         0,
         {0, 2, 4, 0, 0, 1, 3, 5, 0, 0, 0, 2,
          4, 0, 0, 1, 3, 5, 0, 0, 0, 2, 4, 0},
         67},
        {{1000, 1000, 1},
         3,
         0,
         {0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 1, 0,
          1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0},
         34},
    };

    (void)state;
    for (unsigned row = 0; row < COUNT(rows); row++) {
        struct vc__stride *s = stride_of(rows[row].weights, rows[row].n);
        atomic_uint sequence = rows[row].first;

        for (unsigned i = 0; i < 24; i++)
            assert_int_equal(choose(s, &sequence), rows[row].choices[i]);
        assert_int_equal(sequence, rows[row].next);
        vc__stride_free(s);
    }
}

static void
servers_of_equal_weight_take_turns(void **state)
{
    float weights[MANY];

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        weights[i] = 0.1f;
    for (unsigned n = 2; n <= MANY; n *= 2) {
        struct vc__stride *s = stride_of(weights, n);
        atomic_uint sequence = 0;

        for (unsigned i = 0; i < CHOICES; i++)
            assert_int_equal(choose(s, &sequence), i % n);
        vc__stride_free(s);
    }
}

/* Whatever the weight: the rounds from one choice of a server to its next are
 * as many each time, or one more. */
static void
the_choices_of_each_server_are_spread_evenly(void **state)
{
    static const float weights[] = {50, 1, 20, 3, 20, 7, 33, 0, 49, 2};
    struct vc__stride *s = stride_of(weights, COUNT(weights));
    unsigned last[COUNT(weights)] = {0}, least[COUNT(weights)],
             most[COUNT(weights)] = {0};
    atomic_uint sequence = 0;

    (void)state;
    for (unsigned i = 0; i < s->n; i++)
        least[i] = UINT_MAX;
    for (unsigned i = 0; i < CHOICES; i++) {
        unsigned at = choose(s, &sequence), round = (sequence - 1) / s->n,
                 gap = round - last[at];

        last[at] = round;
        if (got[at] > 1) {
            least[at] = gap < least[at] ? gap : least[at];
            most[at] = gap > most[at] ? gap : most[at];
        }
    }
    for (unsigned i = 0; i < s->n; i++) {
        assert_true(most[i] <= least[i] + 1);
        assert_int_equal(least[i], UINT16_MAX / s->weights[i]);
    }
    vc__stride_free(s);
}

/* Two of half its weight skip different rounds. A few times the phase moves, as
 * 65535 has no half. */
static void
a_heavy_server_does_not_get_its_calls_in_a_row(void **state)
{
    static const float weights[] = {2, 1, 1};
    struct vc__stride *s = stride_of(weights, 3);
    atomic_uint sequence = 0;
    unsigned last = 0, twice = 0;

    (void)state;
    for (unsigned i = 0; i < CHOICES; i++) {
        unsigned at = choose(s, &sequence);

        twice += i > 0 && at == last;
        last = at;
    }
    assert_in_range(twice, 0, 5);
    vc__stride_free(s);
}

/* --- the work ------------------------------------------------------------ */

static unsigned
most_turns_of(const float *weights, unsigned n, unsigned first)
{
    struct vc__stride *s = stride_of(weights, n);
    atomic_uint sequence = first;
    unsigned most = 0;

    for (unsigned i = 0; i < 1000; i++) {
        unsigned before = sequence;

        choose(s, &sequence);
        most = sequence - before > most ? sequence - before : most;
    }
    vc__stride_free(s);
    return most;
}

static void
a_choice_looks_at_each_server_once_at_most(void **state)
{
    float weights[MANY];

    (void)state;
    for (unsigned heavy = 0; heavy < MANY; heavy += MANY / 8) {
        for (unsigned i = 0; i < MANY; i++)
            weights[i] = i == heavy ? 1e9f : 1;
        assert_in_range(most_turns_of(weights, MANY, 0), 2, MANY);
        /* Where the sequence begins anew, too. */
        assert_in_range(most_turns_of(weights, 1000, UINT_MAX - 12345), 2,
                        1000);
    }
}

/* --- other weights -------------------------------------------------------- */

static void
other_weights_count_from_the_next_choice_on(void **state)
{
    static const float before[] = {4, 2, 1}, after[] = {1, 5, NAN},
                       shares[] = {1, 5, 3};
    struct vc__stride *s = stride_of(before, 3);
    atomic_uint sequence = 0;

    (void)state;
    for (unsigned i = 0; i < CHOICES; i++)
        choose(s, &sequence);
    assert_shares(before, 3);
    for (unsigned i = 0; i < 3; i++)
        got[i] = 0;
    vc__stride_weigh(s, after);
    for (unsigned i = 0; i < CHOICES; i++)
        choose(s, &sequence);
    assert_shares(shares, 3);
    assert_int_equal(1, s->heaviest);
    vc__stride_free(s);
}

static atomic_bool enough;

static void *
weights_run(void *arg)
{
    static const float sets[2][4] = {{1, 2, 3, 4}, {4, 3, 2, 1}};

    for (unsigned i = 0; !atomic_load(&enough); i++)
        vc__stride_weigh(arg, sets[i % 2]);
    return NULL;
}

/* Their choices go by the former weights or the new ones: each server gets at
 * least what it gets of either alone, nearly. */
static void
threads_choose_while_the_weights_change(void **state)
{
    static const float weights[] = {1, 2, 3, 4};
    struct vc__stride *s = stride_of(weights, 4);
    atomic_uint sequence = 0;
    pthread_t thread;

    (void)state;
    atomic_store(&enough, false);
    assert_int_equal(0, pthread_create(&thread, NULL, weights_run, s));
    for (unsigned i = 0; i < CHOICES; i++)
        choose(s, &sequence);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(got[i], CHOICES / 11, CHOICES * 9 / 20);
    vc__stride_free(s);
}

/* --- threads and schedulers ---------------------------------------------- */

struct thread {
    pthread_t id;
    const struct vc__stride *s;
    atomic_uint *sequence;
    pthread_barrier_t *start;
    unsigned got[4];
};

static void *
thread_run(void *arg)
{
    struct thread *t = arg;

    pthread_barrier_wait(t->start);
    for (unsigned i = 0; i < CHOICES / THREADS; i++)
        t->got[vc__stride_next(t->s, t->sequence)]++;
    return NULL;
}

/* Returns the number of the sequence after all threads have chosen. */
static unsigned
threads_choose(const float *weights)
{
    struct thread threads[THREADS] = {0};
    struct vc__stride *s = stride_of(weights, 4);
    pthread_barrier_t start;
    atomic_uint sequence = 0;

    pthread_barrier_init(&start, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i].s = s;
        threads[i].sequence = &sequence;
        threads[i].start = &start;
        assert_int_equal(
            pthread_create(&threads[i].id, NULL, thread_run, &threads[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
        for (unsigned k = 0; k < 4; k++)
            got[k] += threads[i].got[k];
    }
    pthread_barrier_destroy(&start);
    vc__stride_free(s);
    return sequence;
}

static void
threads_get_the_shares_of_one(void **state)
{
    static const float weights[] = {1, 2, 3, 4};

    (void)state;
    threads_choose(weights);
    assert_shares(weights, 4);
}

static void
no_two_threads_get_the_same_turn(void **state)
{
    static const float weights[] = {1, 1, 1, 1};

    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        assert_int_equal(threads_choose(weights), CHOICES);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(got[i], CHOICES / 4);
    }
}

static void
another_scheduler_goes_on_with_the_sequence(void **state)
{
    static const float before[] = {1, 1, 1}, after[] = {1, 1, 1, 1, 1};
    struct vc__stride *a = stride_of(before, 3), *b = stride_of(after, 5);
    atomic_uint sequence = 0;

    (void)state;
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(choose(a, &sequence), i % 3);
    assert_int_equal(choose(b, &sequence), 7 % 5);
    vc__stride_free(a);
    vc__stride_free(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_the_weights),
        cmocka_unit_test(so_do_those_of_many_servers),
        cmocka_unit_test(one_weight_counts_for_ten_times_the_mean_at_most),
        cmocka_unit_test(
            one_weight_counts_for_a_hundredth_of_the_mean_at_least),
        cmocka_unit_test(a_server_without_a_weight_gets_the_mean_of_the_others),
        cmocka_unit_test(with_fewer_than_two_weights_the_servers_take_turns),
        cmocka_unit_test(one_server_gets_all),
        cmocka_unit_test(weights_become_those_of_grpc),
        cmocka_unit_test(choices_are_those_of_grpc),
        cmocka_unit_test(servers_of_equal_weight_take_turns),
        cmocka_unit_test(the_choices_of_each_server_are_spread_evenly),
        cmocka_unit_test(a_heavy_server_does_not_get_its_calls_in_a_row),
        cmocka_unit_test(a_choice_looks_at_each_server_once_at_most),
        cmocka_unit_test(threads_get_the_shares_of_one),
        cmocka_unit_test(no_two_threads_get_the_same_turn),
        cmocka_unit_test(other_weights_count_from_the_next_choice_on),
        cmocka_unit_test(threads_choose_while_the_weights_change),
        cmocka_unit_test(another_scheduler_goes_on_with_the_sequence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
