/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What callers learn about a call that ended, in whatever way: results, and
 * details of a status. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/told.h"

/* --- errors ------------------------------------------------------------ */

static enum vc_status
fails_in_detail(struct sim_server *s, struct vc_call *call,
                const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)request;
    (void)reply;
    if (vc_call_details(call, "old ones", 8) != VC_OK ||
        vc_call_add_initial(call, "early", "1", 1) != VC_OK ||
        vc_call_pushback(call, 100) != VC_OK ||
        vc_call_details(call, "\x08\x05\0\xff", 4) != VC_OK ||
        vc_call_add_trailing(call, "late", "2", 1) != VC_OK ||
        vc_call_pushback(call, -1) != VC_OK)
        return VC_DATA_LOSS;
    return vc_call_fail(call, VC_NOT_FOUND, "there is no key \"x\"");
}

static void
sees_the_details(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_NOT_FOUND);
    assert_string_equal(vc_error(), "there is no key \"x\"");
    assert_int_equal(result.status, VC_NOT_FOUND);
    assert_int_equal(result.outcome, VC_OUTCOME_EXECUTED);
    assert_string_equal(result.message, "there is no key \"x\"");
    assert_int_equal(result.details_length, 4);
    assert_memory_equal(result.details, "\x08\x05\0\xff", 4);
    assert_int_equal(result.n_initial, 1);
    assert_string_equal(result.initial[0].key, "early");
    assert_int_equal(result.n_trailing, 1);
    assert_string_equal(result.trailing[0].key, "late");
    vc_result_clear(&result);
    /* A call without opts.result gets none of these. */
    assert_int_equal(told_echo(s->channel, 100, NULL), VC_NOT_FOUND);
}

static void
an_error_brings_its_details_and_metadata(void **state)
{
    (void)state;
    told_play(sees_the_details, fails_in_detail);
}

static enum vc_status
takes_details_back(struct sim_server *s, struct vc_call *call,
                   const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->payload = request->payload;
    vc_call_details(call, NULL, 0);
    vc_call_details(call, "some", 4);
    vc_call_details(call, NULL, 0);
    return VC_OK;
}

static void
sees_no_details(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);
    assert_string_equal(result.message, "");
    told_assert_nothing(&result);
    vc_result_clear(&result);
}

static void
details_of_no_bytes_are_none(void **state)
{
    (void)state;
    told_play(sees_no_details, takes_details_back);
}

/* --- results ------------------------------------------------------------ */

static enum vc_status
takes_its_time(struct sim_server *s, struct vc_call *call,
               const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    fake_sleep_us(50000);
    return told_mirror(s, call, request, reply);
}

static void
gives_up(struct scene *s)
{
    struct vc_metadata m = told_text("a", "v");
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.result = &result;
    opts.metadata = &m;
    opts.n_metadata = 1;
    assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);
    assert_int_equal(result.n_initial, 1);
    opts.timeout_ms = 5;
    for (size_t size = 100; size < 30000; size += 20000) {
        assert_int_equal(told_echo(s->channel, size, &opts),
                         VC_DEADLINE_EXCEEDED);
        assert_int_equal(result.status, VC_DEADLINE_EXCEEDED);
        assert_int_equal(result.outcome, VC_OUTCOME_UNKNOWN);
        assert_string_equal(result.message, vc_error());
        told_assert_nothing(&result);
    }
    vc_result_clear(&result);
    fake_sleep_us(200000); /* the replies arrive, and are dropped */
}

static void
a_result_is_of_the_last_call_and_tells_of_deadlines(void **state)
{
    (void)state;
    told_play(gives_up, takes_its_time);
}

/* A program that was built when timeout_ms was the last option. */
static void
has_old_options(struct scene *s)
{
    struct vc_call_opts opts;

    memset(&opts, 0xa5, sizeof opts);
    opts.size = offsetof(struct vc_call_opts, timeout_ms) + sizeof(uint32_t);
    opts.timeout_ms = 10000;
    if (told_echo(s->channel, 100, &opts) != VC_OK)
        fail_msg("%s", vc_error());
}

static void
options_of_an_older_program_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    told_play(has_old_options, told_mirror);
}

/* In the result of a newer program, fields that are unknown here are not
 * changed. */
static void
has_a_newer_result(struct scene *s)
{
    struct {
        struct vc_result ours;
        uint64_t newer;
    } result = {.ours = VC_RESULT_INIT, .newer = 42};
    struct vc_metadata m = told_text("a", "v");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    result.ours.size = sizeof result;
    opts.result = &result.ours;
    opts.metadata = &m;
    opts.n_metadata = 1;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(told_echo(s->channel, 100, &opts), VC_OK);
        assert_int_equal(result.ours.n_trailing, 1);
        assert_int_equal(result.ours.size, sizeof result);
    }
    vc_result_clear(&result.ours);
    assert_int_equal(result.newer, 42);
}

static void
a_result_of_a_newer_program_is_filled_as_far_as_we_know_it(void **state)
{
    (void)state;
    told_play(has_a_newer_result, told_mirror);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_error_brings_its_details_and_metadata),
        T(details_of_no_bytes_are_none),
        T(a_result_is_of_the_last_call_and_tells_of_deadlines),
        T(options_of_an_older_program_are_read_as_far_as_they_go),
        T(a_result_of_a_newer_program_is_filled_as_far_as_we_know_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
