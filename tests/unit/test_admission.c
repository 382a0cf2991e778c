/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which clients may connect, which are refused, and when these retry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/admission.h"
#include "tests/unit/random.h"

#define T0     UINT64_C(5000000)
#define SECOND UINT64_C(1000000)
#define MANY   1000u

static const struct vc__admission_limits loose = {.links = MANY,
                                                  .half_open = MANY};

struct source {
    uint8_t addr[16];
};

static struct source
source(unsigned n)
{
    struct source s = {.addr = {[10] = 0xff,
                                [11] = 0xff,
                                [12] = 10,
                                [13] = (uint8_t)(n >> 16),
                                [14] = (uint8_t)(n >> 8),
                                [15] = (uint8_t)n}};

    return s;
}

/* Returns the retry time sent to the client; 0: the client is admitted. */
static uint32_t
ask(struct vc__admission *a, uint64_t now, unsigned from)
{
    struct source s = source(from);
    const char *text = NULL;
    uint32_t ms = 0;

    if (vc__admission_take(a, now, s.addr, false, &ms, &text))
        return 0;
    assert_non_null(text);
    assert_in_range(ms, 1, VC__ADMISSION_RETRY_MS);
    return ms;
}

static struct vc__admission *
admission_new(struct vc__admission_limits limits)
{
    struct vc__admission *a = malloc(sizeof *a);

    assert_non_null(a);
    vc__admission_init(a, &limits, 1);
    return a;
}

static void
links_are_counted_until_they_are_gone(void **state)
{
    struct vc__admission *a = admission_new(
        (struct vc__admission_limits){.links = 2, .half_open = 9});

    (void)state;
    assert_int_equal(0, ask(a, T0, 1));
    assert_int_equal(0, ask(a, T0, 2));
    vc__admission_trust(a);
    assert_int_not_equal(0, ask(a, T0, 3));
    assert_int_not_equal(0, ask(a, T0 + 100 * SECOND, 3));
    vc__admission_gone(a, true);
    assert_int_equal(0, ask(a, T0, 3));
    assert_int_not_equal(0, ask(a, T0, 4));
    free(a);
}

static void
half_open_links_are_counted_until_they_are_trusted_or_gone(void **state)
{
    struct vc__admission *a = admission_new(
        (struct vc__admission_limits){.links = 9, .half_open = 2});

    (void)state;
    assert_int_equal(0, ask(a, T0, 1));
    assert_int_equal(0, ask(a, T0, 2));
    assert_int_not_equal(0, ask(a, T0, 3));
    vc__admission_trust(a);
    assert_int_equal(0, ask(a, T0, 3));
    assert_int_not_equal(0, ask(a, T0, 4));
    vc__admission_gone(a, false);
    assert_int_equal(0, ask(a, T0, 4));
    assert_int_not_equal(0, ask(a, T0, 5));
    /* The end of a trusted link does not free a half-open place. */
    vc__admission_gone(a, true);
    assert_int_not_equal(0, ask(a, T0, 5));
    assert_int_equal(2, atomic_load(&a->links));
    free(a);
}

static void
without_limits_a_second_takes_any_number(void **state)
{
    struct vc__admission *a = admission_new(loose);

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(0, ask(a, T0, 1));
    free(a);
}

/* Tries to connect every millisecond for `us`; returns how often it
 * was admitted. */
static unsigned
knock(struct vc__admission *a, uint64_t from, uint64_t us, unsigned source)
{
    unsigned in = 0;

    for (uint64_t t = from; t < from + us; t += 1000)
        in += ask(a, t, source) == 0;
    return in;
}

static void
a_rate_lets_in_a_burst_of_a_second_and_then_so_many_a_second(void **state)
{
    static const uint32_t rates[] = {1, 2, 3, 7, 50, 100};

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct vc__admission_limits l = loose;
        struct vc__admission *a;

        l.per_second = rates[i];
        a = admission_new(l);
        for (unsigned n = 0; n < rates[i]; n++)
            assert_int_equal(0, ask(a, T0, n));
        assert_int_not_equal(0, ask(a, T0, 99));
        assert_in_range(knock(a, T0, 4 * SECOND, 7), 4 * rates[i] - 1,
                        4 * rates[i]);
        /* After a pause there is one burst again. */
        for (unsigned n = 0; n < rates[i]; n++)
            assert_int_equal(0, ask(a, T0 + 100 * SECOND, n));
        assert_int_not_equal(0, ask(a, T0 + 100 * SECOND, 99));
        free(a);
    }
}

static void
the_highest_rate_is_one_a_microsecond(void **state)
{
    struct vc__admission_limits l = {.links = 1u << 31,
                                     .half_open = 1u << 31,
                                     .per_second = VC__ADMISSION_RATE_MAX};
    struct vc__admission *a = admission_new(l);

    (void)state;
    for (unsigned n = 0; n < VC__ADMISSION_RATE_MAX; n++)
        assert_int_equal(0, ask(a, T0, 1));
    assert_int_not_equal(0, ask(a, T0, 1));
    assert_int_equal(0, ask(a, T0 + 1, 1));
    free(a);
}

static void
each_source_has_a_rate_of_its_own(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;

    (void)state;
    l.per_second_source = 2;
    a = admission_new(l);
    for (unsigned s = 0; s < 100; s++) {
        assert_int_equal(0, ask(a, T0, s));
        assert_int_equal(0, ask(a, T0, s));
        assert_int_not_equal(0, ask(a, T0, s));
    }
    assert_in_range(knock(a, T0, 10 * SECOND, 50), 19, 20);
    assert_int_equal(0, ask(a, T0 + 11 * SECOND, 51));
    free(a);
}

static void
one_refused_for_its_source_takes_nothing_of_the_others(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;

    (void)state;
    l.per_second = 10;
    l.per_second_source = 1;
    a = admission_new(l);
    assert_int_equal(0, ask(a, T0, 0));
    for (unsigned i = 0; i < 100; i++)
        assert_int_not_equal(0, ask(a, T0, 0));
    for (unsigned s = 1; s < 10; s++)
        assert_int_equal(0, ask(a, T0, s));
    assert_int_not_equal(0, ask(a, T0, 11));
    free(a);
}

static void
the_source_that_was_away_longest_is_forgotten_first(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;

    (void)state;
    l.per_second_source = 1;
    a = admission_new(l);
    for (unsigned s = 0; s < VC__ADMISSION_SOURCES; s++)
        assert_int_equal(0, ask(a, T0 + s, s));
    assert_int_not_equal(0, ask(a, T0 + 1000, 0)); /* seen again */
    assert_int_equal(0, ask(a, T0 + 1001, VC__ADMISSION_SOURCES));
    assert_int_not_equal(0, ask(a, T0 + 1002, 0));
    assert_int_not_equal(0, ask(a, T0 + 1002, 2));
    assert_int_equal(0, ask(a, T0 + 1003, 1)); /* was forgotten */
    free(a);
}

static void
those_refused_together_come_again_one_after_the_other(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;
    uint32_t last = 0;

    (void)state;
    l.per_second = 100;
    a = admission_new(l);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(0, ask(a, T0, i));
    for (unsigned i = 0; i < 99; i++) {
        uint32_t ms = ask(a, T0, i);

        assert_int_equal(last + 10, ms);
        last = ms;
    }
    free(a);
}

static void
the_longest_time_is_a_place_like_others(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;

    (void)state;
    l.per_second = 1;
    a = admission_new(l);
    assert_int_equal(0, ask(a, T0, 1));
    assert_int_equal(VC__ADMISSION_RETRY_MS, ask(a, T0, 2));
    /* That place is taken: the next is a second later. */
    assert_in_range(ask(a, T0 + SECOND - 1, 3), VC__ADMISSION_RETRY_MS / 2,
                    VC__ADMISSION_RETRY_MS);
    assert_int_equal(0, ask(a, T0 + SECOND, 2));
    assert_int_equal(VC__ADMISSION_RETRY_MS, ask(a, T0 + SECOND, 3));
    free(a);
}

static void
another_seed_spreads_otherwise(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission a, b;
    unsigned same = 0;

    (void)state;
    l.per_second = 1;
    vc__admission_init(&a, &l, 1);
    vc__admission_init(&b, &l, 2);
    for (unsigned i = 0; i < 100; i++)
        same += ask(&a, T0, i) == ask(&b, T0, i);
    assert_in_range(same, 2, 10); /* the first two get the same time */
}

static void
those_behind_the_longest_time_are_spread_over_its_second_half(void **state)
{
    struct vc__admission_limits l = loose;
    struct vc__admission *a;
    uint32_t least = UINT32_MAX, most = 0;

    (void)state;
    l.per_second = 2;
    a = admission_new(l);
    assert_int_equal(0, ask(a, T0, 1));
    assert_int_equal(0, ask(a, T0, 1));
    for (unsigned i = 0; i < 2; i++)
        ask(a, T0, 1);
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t ms = ask(a, T0, i);

        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    assert_in_range(least, VC__ADMISSION_RETRY_MS / 2,
                    VC__ADMISSION_RETRY_MS / 2 + 5);
    assert_in_range(most, VC__ADMISSION_RETRY_MS - 5, VC__ADMISSION_RETRY_MS);
    free(a);
}

/* A crowd of clients that retry at the time they got: all are admitted soon. */
static void
no_client_starves_that_comes_when_it_is_told(void **state)
{
    enum {
        CLIENTS = 200
    };
    uint64_t at[CLIENTS], seed = 9, last = 0;
    struct vc__admission_limits l = loose;
    struct vc__admission *a;
    unsigned left = CLIENTS;

    (void)state;
    l.per_second = 50;
    a = admission_new(l);
    for (unsigned i = 0; i < CLIENTS; i++)
        at[i] = T0;
    while (left > 0) {
        unsigned first = 0;
        uint32_t ms;

        for (unsigned i = 1; i < CLIENTS; i++)
            first = at[i] < at[first] ? i : first;
        last = at[first];
        ms = ask(a, last, first);
        at[first] = ms == 0 ? UINT64_MAX
                            : last + ms * 1000 +
                                  random_below(&seed, ms * 500); /* jitter */
        left -= ms == 0;
    }
    /* At this rate it takes 3 s after the burst. */
    assert_in_range(last - T0, 3 * SECOND - SECOND / 10, 5 * SECOND);
    free(a);
}

/* While calls are shed, few clients are admitted, except those that reconnect;
 * afterwards all are admitted. */
static void
few_connect_while_calls_are_shed(void **state)
{
    struct vc__admission *a = admission_new(loose);
    struct source s = source(1);
    unsigned in = 0;
    const char *text;
    uint32_t ms;

    (void)state;
    for (unsigned i = 0; i < 2 * VC__ADMISSION_SHEDDING; i++)
        assert_int_equal(0, ask(a, T0, 1));
    vc__admission_shed(a, T0);
    for (unsigned i = 0; i < MANY / 2; i++)
        in += ask(a, T0 + i, i) == 0;
    assert_int_equal(VC__ADMISSION_SHEDDING, in);
    assert_true(vc__admission_take(a, T0, s.addr, true, &ms, &text));

    /* A second later calls are still shed: again ten clients, those of a
     * second, are admitted. */
    vc__admission_shed(a, T0 + SECOND);
    in = 0;
    for (unsigned i = 0; i < MANY / 2; i++)
        in += ask(a, T0 + SECOND, i) == 0;
    assert_int_equal(VC__ADMISSION_SHEDDING, in);
    for (unsigned i = 0; i < 2 * VC__ADMISSION_SHEDDING; i++)
        assert_int_equal(
            0, ask(a, T0 + SECOND + VC__ADMISSION_SHEDDING_US + 1, 1));
    free(a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_counted_until_they_are_gone),
        cmocka_unit_test(
            half_open_links_are_counted_until_they_are_trusted_or_gone),
        cmocka_unit_test(without_limits_a_second_takes_any_number),
        cmocka_unit_test(
            a_rate_lets_in_a_burst_of_a_second_and_then_so_many_a_second),
        cmocka_unit_test(the_highest_rate_is_one_a_microsecond),
        cmocka_unit_test(each_source_has_a_rate_of_its_own),
        cmocka_unit_test(
            one_refused_for_its_source_takes_nothing_of_the_others),
        cmocka_unit_test(the_source_that_was_away_longest_is_forgotten_first),
        cmocka_unit_test(those_refused_together_come_again_one_after_the_other),
        cmocka_unit_test(the_longest_time_is_a_place_like_others),
        cmocka_unit_test(
            those_behind_the_longest_time_are_spread_over_its_second_half),
        cmocka_unit_test(another_seed_spreads_otherwise),
        cmocka_unit_test(no_client_starves_that_comes_when_it_is_told),
        cmocka_unit_test(few_connect_while_calls_are_shed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
