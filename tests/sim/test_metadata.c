/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata as programs see them: one endpoint gets what the other gives, with
 * messages of any size, up to the limits and not beyond. */
#include <stdlib.h>
#include <string.h>

#include "cm/link/schedule.h"
#include "rpc/client/attempt.h"
#include "tests/sim/told.h"

/* --- both ways --------------------------------------------------------- */

static void
sends_and_gets_them(struct scene *s)
{
    uint8_t all[256];
    struct vc_metadata m[] = {told_text("a", "first"),
                              {.key = "bytes-bin", .value = all, .length = 256},
                              told_text("a", "again"),
                              {.key = "empty"},
                              {.key = "empty-bin", .value = "", .length = 0},
                              told_text("a_b.c-d", "! ~")};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    opts.metadata = m;
    opts.n_metadata = sizeof m / sizeof m[0];
    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);

    assert_int_equal(result.status, VC_OK);
    assert_int_equal(result.outcome, VC_OUTCOME_EXECUTED);
    assert_int_equal(result.attempts, 1);
    assert_string_equal(result.message, "");
    assert_null(result.details);
    assert_int_equal(result.n_initial, opts.n_metadata);
    assert_int_equal(result.n_trailing, opts.n_metadata);
    told_assert_same(result.initial, m, opts.n_metadata);
    told_assert_same(result.trailing, m, opts.n_metadata);
    vc_result_clear(&result);
    told_assert_nothing(&result);
    vc_result_clear(&result);
    vc_result_clear(NULL);
}

static void
entries_go_both_ways_with_any_bytes_in_their_order(void **state)
{
    (void)state;
    told_play(sends_and_gets_them, told_mirror);
}

static enum vc_status
expects_none(struct sim_server *s, struct vc_call *call,
             const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    size_t n = 7, length = 7;

    (void)s;
    reply->payload = request->payload;
    vc_call_metadata(call, &n);
    if (n > 0)
        return vc_call_fail(call, VC_DATA_LOSS, "%zu entries", n);
    if (n == 0 && (vc_call_metadata_find(call, "a", &length) != NULL ||
                   length != 0 || vc_call_metadata_find(call, "a", NULL)))
        return vc_call_fail(call, VC_DATA_LOSS, "finds what is not there");
    if (vc_call_attempt(call) != 1)
        return vc_call_fail(call, VC_DATA_LOSS, "attempt %u",
                            vc_call_attempt(call));
    return VC_OK;
}

static void
calls_without_any(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    for (unsigned i = 0; i < 4; i++) {
        opts.result = i % 2 == 0 ? &result : NULL;
        assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);
        assert_int_equal(result.status, VC_OK);
        told_assert_nothing(&result);
        assert_int_equal(told_echo(s->channel, 100, NULL), VC_OK);
    }
    vc_result_clear(&result);
}

static void
a_call_without_metadata_brings_none(void **state)
{
    (void)state;
    told_play(calls_without_any, expects_none);
}

/* The next call must not see the metadata of the last one, though both use the
 * same memory. */
static void
leaves_nothing_to_the_next(struct scene *s)
{
    struct vc_metadata m = told_text("a", "v");
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    for (unsigned i = 0; i < 6; i++) {
        opts.metadata = &m;
        opts.n_metadata = i % 2;
        assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);
        assert_int_equal(result.n_initial, i % 2);
        assert_int_equal(result.n_trailing, i % 2);
    }
    vc_result_clear(&result);
}

static void
metadata_of_a_call_are_not_those_of_the_next(void **state)
{
    (void)state;
    told_play(leaves_nothing_to_the_next, told_mirror);
}

static enum vc_status
finds(struct sim_server *s, struct vc_call *call,
      const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    const char *first;
    size_t length;

    (void)s;
    reply->payload = request->payload;
    first = vc_call_metadata_find(call, "a", &length);
    if (first == NULL || strcmp(first, "1") != 0 || length != 1)
        return vc_call_fail(call, VC_DATA_LOSS, "a: %s", first);
    if (vc_call_metadata_find(call, "b", NULL) != NULL)
        return vc_call_fail(call, VC_DATA_LOSS, "there is no b");
    /* The library's own metadata are not visible. */
    if (vc_call_metadata_find(call, VC__METADATA_ATTEMPTS, NULL) != NULL)
        return vc_call_fail(call, VC_DATA_LOSS, "shows its own");
    return VC_OK;
}

static void
sends_one_twice(struct scene *s)
{
    struct vc_metadata m[] = {told_text("x", "0"), told_text("a", "1"),
                              told_text("a", "2")};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.metadata = m;
    opts.n_metadata = 3;
    if (told_echo(s->channel, 100, &opts) != VC_OK)
        fail_msg("%s", vc_error());
}

static void
a_handler_finds_the_first_with_a_key(void **state)
{
    (void)state;
    told_play(sends_one_twice, finds);
}

/* --- limits ------------------------------------------------------------ */

/* The call must end with this status, without reaching the server. */
static void
refused(struct scene *s, const struct vc_metadata *m, size_t n,
        enum vc_status status, const char *words)
{
    uint64_t received = scene_server(s).calls_received;
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.metadata = m;
    opts.n_metadata = n;
    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), status);
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" does not speak of %s", vc_error(), words);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    /* If the options are invalid, the result is not changed. */
    assert_int_equal(result.status, m == NULL ? VC_OK : status);
    assert_int_equal(result.attempts, 0);
    if (m != NULL)
        assert_string_equal(result.message, vc_error());
    vc_result_clear(&result);
    assert_int_equal(scene_server(s).calls_received, received);
}

static void
sends_what_may_not_be(struct scene *s)
{
    struct vc_metadata m[3] = {
        told_text("a", "1"), told_long(VC_METADATA_MAX - 5), {.key = "bcdef"}};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    assert_int_equal(told_echo(s->channel, 100, NULL), VC_OK);
    refused(s, NULL, 1, VC_INVALID_ARGUMENT, "metadata");
    refused(s, m, 3, VC_RESOURCE_EXHAUSTED, "metadata[2]");
    m[0] = told_text("A", "1");
    refused(s, m, 1, VC_INVALID_ARGUMENT, "metadata[0]: its key");
    m[0] = told_text("grpc-timeout", "1");
    refused(s, m, 1, VC_INVALID_ARGUMENT, "own");
    m[0] = told_text("a", "1 ");
    refused(s, m, 1, VC_INVALID_ARGUMENT, "-bin");
    m[0] = (struct vc_metadata){.key = "a", .length = 1};
    refused(s, m, 1, VC_INVALID_ARGUMENT, "NULL");
    m[0] = (struct vc_metadata){.key = NULL};
    refused(s, m, 1, VC_INVALID_ARGUMENT, "key");
    opts.result = &result;
    result.size = 0;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_INVALID_ARGUMENT);
    assert_non_null(strstr(vc_error(), "VC_RESULT_INIT"));
}

static void
what_may_not_be_is_refused_before_it_is_sent(void **state)
{
    (void)state;
    told_play(sends_what_may_not_be, told_mirror);
}

static void
sends_as_much_as_may_be(struct scene *s)
{
    static const size_t sizes[] = {0, 900, 1000, 5000, 8100, 20000, 500000};
    struct vc_metadata m = told_long(VC_METADATA_MAX);
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.metadata = &m;
    opts.n_metadata = 1;
    opts.result = &result;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        /* The mirror would return the entry twice, which exceeds the limit. */
        assert_int_equal(told_echo(s->channel, sizes[i], &opts),
                         VC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(result.message, "7000"));
        assert_int_equal(result.outcome, VC_OUTCOME_EXECUTED);
        assert_int_equal(result.n_initial, 1);
        told_assert_same(result.initial, &m, 1);
    }
    vc_result_clear(&result);
}

static void
the_most_that_may_be_goes_and_more_is_refused_to_the_handler(void **state)
{
    (void)state;
    told_play(sends_as_much_as_may_be, told_mirror);
}

/* Adds as much as fits, and fails with the longest text. */
static enum vc_status
fills_up(struct sim_server *s, struct vc_call *call,
         const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    static const char eight[8000];
    size_t n = 0;

    (void)s;
    (void)request;
    (void)reply;
    if (vc_call_pushback(call, 7) != VC_OK ||
        vc_call_add_initial(call, "x-bin", eight, sizeof eight) !=
            VC_RESOURCE_EXHAUSTED ||
        vc_call_details(call, eight, sizeof eight) != VC_RESOURCE_EXHAUSTED)
        return VC_DATA_LOSS;
    while (vc_call_add_trailing(call, "key", "12345678", 8) == VC_OK)
        n++;
    if (vc_call_pushback(call, INT32_MIN) != VC_OK ||
        vc_call_details(call, "123456789", 9) == VC_OK ||
        vc_call_add_initial(call, "Key", "", 0) != VC_INVALID_ARGUMENT ||
        vc_call_add_initial(call, NULL, "", 0) != VC_INVALID_ARGUMENT ||
        vc_call_add_initial(call, "grpc-x", "", 0) != VC_INVALID_ARGUMENT)
        return VC_DATA_LOSS;
    return vc_call_fail(call, VC_ABORTED, "%zu %01100d", n, 0);
}

static void
takes_a_full_error(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_ABORTED);
    /* 14 bytes each; the pushback does not count. */
    assert_int_equal(result.n_trailing, VC_METADATA_MAX / 14);
    assert_int_equal(strtoul(result.message, NULL, 10), result.n_trailing);
    assert_int_equal(strlen(result.message), 1024);
    assert_null(result.details);
    vc_result_clear(&result);
}

static void
an_error_has_room_for_its_text_behind_any_metadata(void **state)
{
    (void)state;
    told_play(takes_a_full_error, fills_up);
}

/* The buffer doubles from 256 bytes on. One byte more than ROOM needs memory,
 * and so does a pushback longer than the one before. */
#define ROOM   4096u
#define ADVICE (3u + 22u + 1u) /* of one digit, packed */
#define ENTRY  14u             /* "key" and eight bytes, packed */

static enum vc_status
advises_in_vain(struct sim_server *s, struct vc_call *call,
                const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    const struct vc_metadata m = told_long(ROOM - ADVICE);
    size_t n = 0;

    (void)s;
    (void)request;
    (void)reply;
    if (vc_call_pushback(call, 7) != VC_OK ||
        vc_call_add_trailing(call, m.key, m.value, m.length) != VC_OK)
        return VC_DATA_LOSS;
    fake_fail_memory(fake_process_self(), 1);
    if (vc_call_pushback(call, INT32_MIN) != VC_RESOURCE_EXHAUSTED)
        return VC_DATA_LOSS;
    fake_fail_no_more();
    while (vc_call_add_trailing(call, "key", "12345678", 8) == VC_OK)
        n++;
    return vc_call_fail(call, VC_ABORTED, "%zu", n);
}

static void
takes_no_advice(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_ABORTED);
    assert_int_equal(strtoul(result.message, NULL, 10),
                     (VC_METADATA_MAX - (ROOM - ADVICE)) / ENTRY);
    vc_result_clear(&result);
}

static void
advice_that_found_no_memory_takes_no_room(void **state)
{
    (void)state;
    told_play(takes_no_advice, advises_in_vain);
}

/* --- with messages of any size ------------------------------------------ */

static void
goes_with_all_sizes(struct scene *s)
{
    static const size_t packed[] = {9, 100, 300, 3500};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_metadata m;

    opts.metadata = &m;
    opts.n_metadata = 1;
    opts.result = &result;
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        m = told_long(packed[i]);
        for (size_t size = 0; size < 100000; size = size * 3 + 1) {
            assert_int_equal(told_echo(s->channel, size, &opts), VC_OK);
            told_assert_same(result.trailing, &m, 1);
        }
        /* Sizes near the limit of one packet, for the request and for the
         * reply. */
        for (unsigned ways = 1; ways <= 2; ways++) {
            size_t fits = VC__EAGER_MAX - ways * packed[i];

            for (size_t size = fits - 12; size < fits + 12; size++) {
                assert_int_equal(told_echo(s->channel, size, &opts), VC_OK);
                told_assert_same(result.initial, &m, 1);
                told_assert_same(result.trailing, &m, 1);
            }
        }
    }
    vc_result_clear(&result);
}

static void
they_go_with_messages_of_any_size(void **state)
{
    (void)state;
    told_play(goes_with_all_sizes, told_mirror);
}

/* --- attempts and pushback ---------------------------------------------- */

struct attempt {
    struct vc__attempt attempt;
    struct vc__waiter waiter;
};

static void
on_ended(struct vc__attempt *u)
{
    vc__waiter_done(&caa_container_of(u, struct attempt, attempt)->waiter);
}

/* Makes an attempt with this number, as a retry does. */
static void
attempt(struct scene *s, struct attempt *a, unsigned number, size_t size)
{
    static uint8_t zeros[20000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    /* The largest metadata; the attempt's number is sent besides. */
    struct vc_metadata m = told_long(VC_METADATA_MAX);
    struct vc__attempt *u = &a->attempt;

    request.payload.len = size;
    request.payload.data = zeros;
    vc__attempt_init(u, s->channel, &suite_probe_service, 0, &request,
                     on_ended);
    u->attempt = number;
    u->metadata = &m;
    u->n_metadata = 1;
    assert_int_equal(vc__attempt_prepare(u), VC_OK);
    vc__channel_enter(s->channel);
    vc__waiter_init(&a->waiter);
    vc__attempt_start(u, vc__now(), VC__FOREVER);
    assert_true(vc__engine_wait(&s->channel->progress->engine, &a->waiter,
                                VC__FOREVER));
    vc__channel_leave(s->channel);
    vc__attempt_release(u);
}

/* Puts the attempt's number into the text, and derives the pushback from it. */
static enum vc_status
advises(struct sim_server *s, struct vc_call *call,
        const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    unsigned number = vc_call_attempt(call);
    size_t n;

    (void)s;
    (void)request;
    (void)reply;
    vc_call_metadata(call, &n);
    if (n != 1)
        return VC_DATA_LOSS;
    if (number == 2)
        vc_call_pushback(call, 1500);
    else if (number > 2)
        vc_call_pushback(call, -1);
    return vc_call_fail(call, VC_ABORTED, "%u", number);
}

static void
makes_attempts(struct scene *s)
{
    static const unsigned numbers[] = {1, 2, 3, 2147483647u};
    struct attempt a;

    for (size_t i = 0; i < 8; i++) {
        unsigned number = numbers[i / 2];

        attempt(s, &a, number, i % 2 == 0 ? 10 : 20000);
        assert_int_equal(a.attempt.error.status, VC_ABORTED);
        assert_int_equal(strtoul(a.attempt.error.text, NULL, 10), number);
        assert_int_equal(a.attempt.has_pushback, number > 1);
        if (number == 2)
            assert_int_equal(a.attempt.pushback_ms, 1500);
        else if (number > 2)
            assert_true(a.attempt.pushback_ms < 0);
    }
}

static void
the_number_of_the_attempt_goes_there_and_advice_comes_back(void **state)
{
    (void)state;
    told_play(makes_attempts, advises);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(entries_go_both_ways_with_any_bytes_in_their_order),
        T(a_call_without_metadata_brings_none),
        T(metadata_of_a_call_are_not_those_of_the_next),
        T(a_handler_finds_the_first_with_a_key),
        T(what_may_not_be_is_refused_before_it_is_sent),
        T(the_most_that_may_be_goes_and_more_is_refused_to_the_handler),
        T(an_error_has_room_for_its_text_behind_any_metadata),
        T(advice_that_found_no_memory_takes_no_room),
        T(they_go_with_messages_of_any_size),
        T(the_number_of_the_attempt_goes_there_and_advice_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
