/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client makes of the answers of a health service, and when it asks
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/balance/health_rules.h"

#define S     UINT64_C(1000000)
#define BEGIN (1000 * S)
#define NEVER UINT64_MAX

static struct vc__health_rules rules;

/* A Watch has begun at this time. */
static void
fresh(uint64_t at)
{
    memset(&rules, 0, sizeof rules);
    rules.seed = 1;
    vc__health_begins(&rules, at);
}

/* --- health ----------------------------------------------------------------- */

static void
before_the_first_answer_the_health_is_not_known(void **state)
{
    (void)state;
    fresh(BEGIN);
    assert_int_equal(VC__HEALTH_UNKNOWN, rules.health);
    assert_false(vc__health_is_good(rules.health));
}

static void
only_SERVING_is_healthy(void **state)
{
    (void)state;
    for (uint32_t word = 0; word < 20; word++) {
        fresh(BEGIN);
        vc__health_answers(&rules, word);
        assert_int_equal(word == VC__HEALTH_WORD_SERVING,
                         vc__health_is_good(rules.health));
        assert_true(rules.health != VC__HEALTH_UNKNOWN);
    }
    vc__health_answers(&rules, UINT32_MAX);
    assert_int_equal(VC__HEALTH_NOT_SERVING, rules.health);
    vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
    assert_int_equal(VC__HEALTH_SERVING, rules.health);
}

static void
a_server_without_Watch_is_healthy_and_never_asked_again(void **state)
{
    (void)state;
    fresh(BEGIN);
    assert_true(NEVER == vc__health_ends(&rules, VC_UNIMPLEMENTED, BEGIN + S));
    assert_int_equal(VC__HEALTH_UNCHECKED, rules.health);
    assert_true(vc__health_is_good(rules.health));
}

static void
another_connection_makes_all_unknown(void **state)
{
    (void)state;
    fresh(BEGIN);
    vc__health_ends(&rules, VC_UNIMPLEMENTED, BEGIN);
    vc__health_forget(&rules);
    assert_int_equal(VC__HEALTH_UNKNOWN, rules.health);
    vc__health_answers(&rules, VC__HEALTH_WORD_NOT_SERVING);
    vc__health_forget(&rules);
    assert_int_equal(VC__HEALTH_UNKNOWN, rules.health);
}

static void
a_Watch_that_fails_without_an_answer_is_unhealthy(void **state)
{
    (void)state;
    for (enum vc_status s = VC_OK; s <= VC_UNAUTHENTICATED; s++) {
        if (s == VC_UNIMPLEMENTED)
            continue;
        fresh(BEGIN);
        assert_true(vc__health_ends(&rules, s, BEGIN) != NEVER);
        assert_int_equal(VC__HEALTH_NOT_SERVING, rules.health);
    }
}

/* Its next answer decides. */
static void
a_Watch_that_has_answered_SERVING_and_ends_makes_the_health_unknown(
    void **state)
{
    (void)state;
    fresh(BEGIN);
    vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
    vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN + 60 * S);
    assert_int_equal(VC__HEALTH_UNKNOWN, rules.health);
}

static void
an_unhealthy_server_stays_so_until_it_answers_SERVING(void **state)
{
    (void)state;
    fresh(BEGIN);
    vc__health_answers(&rules, VC__HEALTH_WORD_NOT_SERVING);
    vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN + 60 * S);
    assert_int_equal(VC__HEALTH_NOT_SERVING, rules.health);
    vc__health_begins(&rules, BEGIN + 60 * S);
    assert_int_equal(VC__HEALTH_NOT_SERVING, rules.health);
    vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
    assert_int_equal(VC__HEALTH_SERVING, rules.health);
}

static void
a_server_that_is_late_is_unhealthy_until_it_answers(void **state)
{
    (void)state;
    fresh(BEGIN);
    assert_true(vc__health_is_late(&rules));
    assert_int_equal(VC__HEALTH_NOT_SERVING, rules.health);
    vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
    assert_false(vc__health_is_late(&rules));
    assert_int_equal(VC__HEALTH_SERVING, rules.health);
    vc__health_begins(&rules, BEGIN); /* on another link to the server */
    assert_false(vc__health_is_late(&rules));
    assert_int_equal(VC__HEALTH_SERVING, rules.health);
}

/* --- asking again ------------------------------------------------------------ */

static void
after_an_answer_the_next_Watch_begins_at_once(void **state)
{
    (void)state;
    fresh(BEGIN);
    vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
    assert_true(BEGIN + 60 * S ==
                vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN + 60 * S));
}

/* Else a server that ends each would be asked without a pause. */
static void
Watches_that_answer_and_end_begin_once_a_second(void **state)
{
    uint64_t now = BEGIN;

    (void)state;
    fresh(now);
    for (unsigned i = 1; i <= 100; i++) {
        vc__health_answers(&rules, VC__HEALTH_WORD_SERVING);
        now = vc__health_ends(&rules, VC_OK, now + 10);
        assert_true(now == BEGIN + i * S);
        vc__health_begins(&rules, now);
    }
}

/* 1 s, times 1.6, to 120 s; 20 % more or less. */
static void
without_an_answer_the_backoff_grows_to_two_minutes(void **state)
{
    uint64_t now = BEGIN, mean = S;

    (void)state;
    fresh(now);
    for (unsigned i = 0; i < 50; i++) {
        uint64_t next = vc__health_ends(&rules, VC_UNAVAILABLE, now);

        assert_in_range(next - now, mean - mean / 5 - 1, mean + mean / 5 + 1);
        mean = mean * 8 / 5 < 120 * S ? mean * 8 / 5 : 120 * S;
        now = next;
        vc__health_begins(&rules, now);
    }
    assert_int_equal(120 * S, mean);
}

static void
the_backoff_differs_between_clients(void **state)
{
    uint64_t least = NEVER, most = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint64_t us;

        fresh(BEGIN);
        rules.seed = seed;
        us = vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN) - BEGIN;
        least = us < least ? us : least;
        most = us > most ? us : most;
    }
    assert_in_range(least, S * 8 / 10, S * 9 / 10);
    assert_in_range(most, S * 11 / 10, S * 12 / 10);
}

static void
an_answer_and_another_connection_end_the_backoff(void **state)
{
    (void)state;
    for (unsigned forgets = 0; forgets < 2; forgets++) {
        fresh(BEGIN);
        for (unsigned i = 0; i < 20; i++)
            vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN);
        if (forgets) {
            vc__health_forget(&rules);
        } else {
            vc__health_answers(&rules, VC__HEALTH_WORD_NOT_SERVING);
        }
        vc__health_begins(&rules, BEGIN);
        assert_in_range(vc__health_ends(&rules, VC_UNAVAILABLE, BEGIN) - BEGIN,
                        S * 8 / 10 - 1, S * 12 / 10 + 1);
    }
}

/* --- messages ----------------------------------------------------------------- */

/* Reads a message that is in memory of its own, so that a sanitizer sees a read
 * of too much. */
static bool
answer(const char *bytes, size_t len, uint32_t *word)
{
    uint8_t *copy = malloc(len);
    bool good;

    if (len > 0)
        memcpy(copy, bytes, len);
    good = vc__health_answer_read(len > 0 ? copy : NULL, len, word);
    free(copy);
    return good;
}

#define ANSWER(text) answer(text, sizeof(text) - 1, &word)

static void
an_answer_has_the_number_of_field_1(void **state)
{
    uint32_t word;

    (void)state;
    assert_true(ANSWER(""));
    assert_int_equal(VC__HEALTH_WORD_UNKNOWN, word);
    assert_true(ANSWER("\x08\x01"));
    assert_int_equal(VC__HEALTH_WORD_SERVING, word);
    assert_true(ANSWER("\x08\x01\x08\x02")); /* the last counts */
    assert_int_equal(VC__HEALTH_WORD_NOT_SERVING, word);
    assert_true(ANSWER("\x08\xac\x02"));
    assert_int_equal(300, word);
    /* -1, as protobuf writes it. */
    assert_true(ANSWER("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_int_equal(UINT32_MAX, word);
}

static void
fields_of_later_versions_are_skipped(void **state)
{
    uint32_t word;

    (void)state;
    assert_true(ANSWER("\x10\x05\x08\x01"));
    assert_int_equal(VC__HEALTH_WORD_SERVING, word);
    assert_true(ANSWER("\x1a\x03"
                       "abc\x08\x01"));
    assert_int_equal(VC__HEALTH_WORD_SERVING, word);
    assert_true(ANSWER("\x21"
                       "12345678\x25"
                       "1234\x08\x01"));
    assert_int_equal(VC__HEALTH_WORD_SERVING, word);
}

static void
what_is_no_answer_is_refused(void **state)
{
    uint32_t word;

    (void)state;
    assert_false(ANSWER("\x08"));     /* no number */
    assert_false(ANSWER("\x08\x80")); /* it does not end */
    assert_false(ANSWER("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    assert_false(ANSWER("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_false(ANSWER("\x0a\x01x")); /* field 1 is no text */
    assert_false(ANSWER("\x00\x01"));  /* field 0 */
    assert_false(ANSWER("\x1a\x04"
                        "abc")); /* longer than the message */
    assert_false(ANSWER("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_false(ANSWER("\x21"
                        "1234567"));
    assert_false(ANSWER("\x25"
                        "123"));
    assert_false(ANSWER("\x13\x14")); /* a group */
    assert_false(ANSWER("\x0f\x01")); /* no wire type */
    assert_false(ANSWER("garbage"));
}

static void
any_bytes_are_read_within_their_bounds(void **state)
{
    uint32_t seed = 1, word;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        char bytes[16];
        size_t len = i % sizeof bytes;

        for (size_t k = 0; k < len; k++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[k] = (char)(seed >> 24);
        }
        answer(bytes, len, &word);
    }
}

static void
a_request_has_the_name_in_field_1(void **state)
{
    uint8_t out[VC__HEALTH_REQUEST_MAX];
    char longest[VC__HEALTH_NAME_MAX + 1];

    (void)state;
    assert_int_equal(0, vc__health_request_write(out, ""));
    assert_int_equal(6, vc__health_request_write(out, "demo"));
    assert_memory_equal("\x0a\x04"
                        "demo",
                        out, 6);
    memset(longest, 'x', VC__HEALTH_NAME_MAX);
    longest[VC__HEALTH_NAME_MAX] = '\0';
    assert_int_equal(VC__HEALTH_REQUEST_MAX,
                     vc__health_request_write(out, longest));
    assert_memory_equal("\x0a\xff\x01x", out, 4);
    longest[127] = '\0';
    assert_int_equal(129, vc__health_request_write(out, longest));
    assert_memory_equal("\x0a\x7fx", out, 3);
}

static void
a_name_has_255_bytes_of_UTF8_at_most(void **state)
{
    char name[VC__HEALTH_NAME_MAX + 2];

    (void)state;
    memset(name, 'x', sizeof name);
    name[VC__HEALTH_NAME_MAX] = '\0';
    assert_int_equal(VC_OK, vc__health_name_check(name));
    assert_int_equal(VC_OK, vc__health_name_check(""));
    assert_int_equal(VC_OK, vc__health_name_check("d\xc3\xa9mo"));
    assert_int_equal(VC_INVALID_ARGUMENT, vc__health_name_check("d\xc3mo"));
    name[VC__HEALTH_NAME_MAX] = 'x';
    name[VC__HEALTH_NAME_MAX + 1] = '\0';
    assert_int_equal(VC_INVALID_ARGUMENT, vc__health_name_check(name));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(before_the_first_answer_the_health_is_not_known),
        T(only_SERVING_is_healthy),
        T(a_server_without_Watch_is_healthy_and_never_asked_again),
        T(another_connection_makes_all_unknown),
        T(a_Watch_that_fails_without_an_answer_is_unhealthy),
        T(a_Watch_that_has_answered_SERVING_and_ends_makes_the_health_unknown),
        T(an_unhealthy_server_stays_so_until_it_answers_SERVING),
        T(a_server_that_is_late_is_unhealthy_until_it_answers),
        T(after_an_answer_the_next_Watch_begins_at_once),
        T(Watches_that_answer_and_end_begin_once_a_second),
        T(without_an_answer_the_backoff_grows_to_two_minutes),
        T(the_backoff_differs_between_clients),
        T(an_answer_and_another_connection_end_the_backoff),
        T(an_answer_has_the_number_of_field_1),
        T(fields_of_later_versions_are_skipped),
        T(what_is_no_answer_is_refused),
        T(any_bytes_are_read_within_their_bounds),
        T(a_request_has_the_name_in_field_1),
        T(a_name_has_255_bytes_of_UTF8_at_most),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
