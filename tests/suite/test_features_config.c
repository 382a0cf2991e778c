/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Service configs: what calls do by them, and what is refused. */
#include "tests/suite/configured.h"

#include <string.h>

#include "modules/config/config.h"
#include "tests/suite/streams.h"

/* --- timeouts ------------------------------------------------------------- */

static void
a_call_that_hangs_ends_at_the_timeout_of_its_entry(void **state)
{
    Features__Order order = features_order(1, "");
    struct features_end end = {0};
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, ALL("\"timeout\":\"0.06s\""));
    order.holds = 99;
    assert_status(VC_DEADLINE_EXCEEDED,
                  configured_work(&f, ONCE, &order, NULL, &attempt));
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_DEADLINE_EXCEEDED, end.status);
    features_stop(&f);
}

static void
the_smaller_of_two_timeouts_counts(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct fixture f;

    (void)state;
    configured_start(&f, ALL("\"timeout\":\"100s\""));
    assert_status(VC_OK, vc_channel_intercept(f.channel, &configured_sees));
    assert_int_equal(
        100, configured_timeout(
                 &f, ONCE, NULL)); /* the channel's, 30 s, is only a default */
    opts.timeout_ms = 50000;
    assert_int_equal(50, configured_timeout(&f, ONCE, &opts));
    opts.timeout_ms = 150000;
    assert_int_equal(100, configured_timeout(&f, ONCE, &opts));
    opts.timeout_ms = VC_NO_DEADLINE;
    assert_int_equal(100, configured_timeout(&f, ONCE, &opts));
    features_stop(&f);
}

static void
a_stream_has_the_timeout_of_its_entry(void **state)
{
    struct vc_stream *stream;
    struct fixture f;
    void *message;

    (void)state;
    configured_start(&f, METHODS(ENTRY("\"service\":\"suite.Streams\"",
                                       "\"timeout\":\"0.03s\"")));
    assert_status(VC_OK, vc_stream_open(f.channel, &suite_streams_service, TALK,
                                        NULL, NULL, &stream));
    assert_status(VC_DEADLINE_EXCEEDED, vc_stream_receive(stream, &message));
    vc_stream_close(stream);
    features_stop(&f);
}

/* Its own entry counts, else that of its service, else that of all; else what
 * method and channel say. */
static void
the_entry_with_the_closest_name_counts(void **state)
{
    static const struct {
        const char *json;
        unsigned once_s, again_s;
    } rows[] = {
        {METHODS(ENTRY("", "\"timeout\":\"100s\"")), 100, 100},
        {METHODS(ENTRY(WORK, "\"timeout\":\"200s\"") "," ENTRY(
             "", "\"timeout\":\"100s\"")),
         200, 200},
        {METHODS(ENTRY("", "\"timeout\":\"100s\"") "," ENTRY(
             WORK, "\"timeout\":\"200s\"") "," ENTRY(WORK
                                                     ",\"method\":\"Once\"",
                                                     "\"timeout\":\"300s\"")),
         300, 200},
        {METHODS(ENTRY(WORK ",\"method\":\"Once\"", "\"timeout\":\"300s\"")),
         300, 30},
        /* an entry without a timeout hides the others */
        {METHODS(ENTRY(
             WORK ",\"method\":\"Once\"",
             "\"waitForReady\":true") "," ENTRY("", "\"timeout\":\"100s\"")),
         30, 100},
        {METHODS(
             ENTRY("\"service\":\"features.work\"", "\"timeout\":\"100s\"")),
         30, 30},
        {METHODS(ENTRY("\"service\":\"Work\"", "\"timeout\":\"100s\"")), 30,
         30},
        {METHODS("{\"timeout\":\"100s\"}"), 30, 30},
        {"{}", 30, 30},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;

        configured_start(&f, rows[i].json);
        assert_status(VC_OK, vc_channel_intercept(f.channel, &configured_sees));
        if (configured_timeout(&f, ONCE, NULL) != rows[i].once_s ||
            configured_timeout(&f, AGAIN, NULL) != rows[i].again_s)
            fail_msg("row %zu", i);
        features_stop(&f);
    }
}

/* --- waiting -------------------------------------------------------------- */

static void
a_call_waits_for_its_server_if_its_entry_says_so(void **state)
{
    Features__Order order = features_order(1, "");
    struct features_end waits = {0}, fails = {0};
    struct fixture f;
    struct vc_channel *channel;

    (void)state;
    configured_start(&f, NULL);
    fixture_stop_server(&f);
    assert_status(
        VC_OK, vc_channel_open(f.runtime, f.target,
                               VC_CHANNEL_OPTS(.max_attempts = 1,
                                               .service_config = METHODS(ENTRY(
                                                   WORK ",\"method\":\"Again\"",
                                                   "\"waitForReady\":true"))),
                               &channel));
    assert_status(VC_OK,
                  features_work_again_async(channel, &order, NULL,
                                            features_done, &waits, NULL));
    assert_status(VC_OK, features_work_once_async(channel, &order, NULL,
                                                  features_done, &fails, NULL));
    fixture_await(&fails.ends, 1);
    assert_int_equal(VC_UNAVAILABLE, fails.status);
    assert_int_equal(0, atomic_load(&waits.ends));
    fixture_start_server_at(&f, f.port, 1, NULL);
    fixture_await(&waits.ends, 1);
    assert_int_equal(VC_UNIMPLEMENTED, waits.status); /* it has no Work */
    assert_status(VC_OK, vc_channel_close(channel));
    features_stop(&f);
}

/* --- limits --------------------------------------------------------------- */

static void
a_longer_request_is_not_sent(void **state)
{
    struct features_end end = {0};
    struct vc_stream *stream;
    Features__Order order = features_order(1, "0123456789");
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, ALL("\"maxRequestMessageBytes\":14"));
    assert_status(VC_OK, configured_work(&f, ONCE, &order, NULL,
                                         &attempt)); /* 14 bytes */
    order.text = (char *)"0123456789a";
    assert_status(VC_RESOURCE_EXHAUSTED,
                  configured_work(&f, ONCE, &order, NULL, &attempt));
    assert_string_equal("features.Work.Once: the request has 15 bytes, more "
                        "than maxRequestMessageBytes of the service "
                        "config, which is 14",
                        vc_error());
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_once_async(f.channel, &order, NULL,
                                           features_done, &end, NULL));
    assert_int_equal(1, atomic_load(&features_seen.begun));

    assert_status(VC_OK, vc_stream_open(f.channel, &suite_streams_service, TALK,
                                        NULL, NULL, &stream));
    {
        Suite__EchoRequest item = SUITE__ECHO_REQUEST__INIT;
        uint8_t bytes[20] = {0};

        item.payload.data = bytes;
        item.payload.len = sizeof bytes;
        assert_status(VC_RESOURCE_EXHAUSTED, vc_stream_send(stream, &item));
        configured_error(
            "more than maxRequestMessageBytes of the service config, "
            "which is 14");
    }
    vc_stream_close(stream);
    features_stop(&f);
}

static void
a_longer_reply_ends_the_call(void **state)
{
    Features__Order order = features_order(1, "0123456789");
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct features_end end = {0};
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, ALL("\"maxResponseMessageBytes\":25"));
    assert_status(VC_OK, configured_work(&f, ONCE, &order, NULL,
                                         &attempt)); /* 25 bytes */
    order.text = (char *)"0123456789a";
    opts.result = &result;
    assert_status(VC_RESOURCE_EXHAUSTED,
                  configured_work(&f, ONCE, &order, &opts, &attempt));
    assert_string_equal("features.Work.Once: the reply has 26 bytes, more than "
                        "maxResponseMessageBytes of the service "
                        "config, which is 25",
                        vc_error());
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    vc_result_clear(&result);
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_RESOURCE_EXHAUSTED, end.status);
    features_stop(&f);
}

/* --- retries -------------------------------------------------------------- */

/* Each row: a method, how its first attempts fail, and what comes of it. */
static void
calls_are_retried_as_their_entry_says(void **state)
{
    static const char aborted[] = ALL(
        "\"retryPolicy\":{" RETRIES "\"retryableStatusCodes\":[\"ABORTED\"]}");
    static const char two[] =
        ALL("\"retryPolicy\":{\"maxAttempts\":2,\"initialBackoff\":\"0.001s\","
            "\"maxBackoff\":\"1s\",\"backoffMultiplier\":1,"
            "\"retryableStatusCodes\":[10,4]}");
    static const char throttled[] =
        "{\"retryThrottling\":{\"maxTokens\":2,\"tokenRatio\":0.001},"
        "\"methodConfig\":[{\"name\":[{}],"
        "\"retryPolicy\":{" RETRIES "\"retryableStatusCodes\":[10]}}]}";
    static const struct {
        const char *json;
        unsigned method, failures;
        enum vc_status status, end;
        unsigned attempts; /* that the server has got */
        uint32_t flags;
    } rows[] = {
        {aborted, AGAIN, 3, VC_ABORTED, VC_OK, 4, 0},
        {aborted, AGAIN, 4, VC_ABORTED, VC_ABORTED, 4, 0},
        {aborted, AGAIN, 1, VC_INTERNAL, VC_INTERNAL, 1, 0},
        {aborted, AGAIN, 1, VC_UNAVAILABLE, VC_UNAVAILABLE, 1,
         0}, /* not listed */
        {aborted, AGAIN, 1, VC_ABORTED, VC_ABORTED, 1, VC_CALL_NO_RETRY},
        {aborted, ONCE, 1, VC_ABORTED, VC_ABORTED, 1,
         0}, /* it has run, and must not twice */
        {two, AGAIN, 1, VC_ABORTED, VC_OK, 2, 0},
        {two, AGAIN, 2, VC_ABORTED, VC_ABORTED, 2, 0},
        {two, AGAIN, 1, VC_DEADLINE_EXCEEDED, VC_OK, 2,
         0}, /* the server's, not the call's */
        {throttled, AGAIN, 1, VC_ABORTED, VC_ABORTED, 1, 0},
        {"{}", AGAIN, 1, VC_UNAVAILABLE, VC_OK, 2, 0},
        {"{}", AGAIN, 1, VC_ABORTED, VC_ABORTED, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;
        Features__Order order = features_order(1, "");
        struct features_end end = {0};
        struct fixture f;
        unsigned attempt;

        configured_start(&f, rows[i].json);
        order.failures = rows[i].failures;
        order.status = rows[i].status;
        opts.flags = rows[i].flags;
        if (configured_work(&f, rows[i].method, &order, &opts, &attempt) !=
                rows[i].end ||
            atomic_load(&features_seen.begun) != rows[i].attempts)
            fail_msg("row %zu: %u attempts, %s", i,
                     atomic_load(&features_seen.begun), vc_error());
        features_stop(&f);
        configured_start(&f, rows[i].json); /* with a full budget */
        if (rows[i].method == AGAIN) {
            assert_status(VC_OK,
                          features_work_again_async(f.channel, &order, &opts,
                                                    features_done, &end, NULL));
            fixture_await(&end.ends, 1);
            if (end.status != rows[i].end ||
                atomic_load(&features_seen.begun) != rows[i].attempts)
                fail_msg("row %zu, asynchronous: %u attempts, %s", i,
                         atomic_load(&features_seen.begun), end.text);
        }
        features_stop(&f);
    }
}

/* --- hedging -------------------------------------------------------------- */

#define HEDGES(codes)                                                          \
    ALL("\"timeout\":\"20s\",\"hedgingPolicy\":{\"maxAttempts\":2,"            \
        "\"hedgingDelay\":\"0.001s\","                                         \
        "\"nonFatalStatusCodes\":[" codes "]}")

static void
a_call_that_may_run_twice_is_hedged(void **state)
{
    Features__Order order = features_order(1, "");
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, HEDGES(""));
    order.holds = 1;
    assert_status(VC_OK, configured_work(&f, LOOK, &order, NULL, &attempt));
    assert_int_equal(2, attempt);
    features_stop(&f);
}

/* They wait at the gate until a later call was hedged. */
static void
a_call_that_may_not_run_twice_is_not_hedged(void **state)
{
    Features__Order order = features_order(1, "");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct features_end end = {0};
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, HEDGES(""));
    order.holds = 1;
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.begun, 1);
    assert_status(VC_OK, features_work_again_async(f.channel, &order, NULL,
                                                   features_done, &end, NULL));
    fixture_await(&features_seen.begun, 2);
    opts.flags = VC_CALL_NO_RETRY;
    assert_status(VC_OK, features_work_look_async(f.channel, &order, &opts,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.begun, 3);

    assert_status(VC_OK, configured_work(&f, LOOK, &order, NULL, &attempt));
    assert_int_equal(2, attempt);
    features_gate_open();
    fixture_await(&end.ends, 3);
    features_stop(&f);
    /* One second attempt, and no other: the first of the same call may have been
     * cancelled before its handler began. */
    assert_int_equal(1, atomic_load(&features_seen.attempts) -
                            atomic_load(&features_seen.begun));
}

/* The first attempt hangs, and the hedge fails. */
static void
a_hedge_that_fails_ends_the_call_if_its_status_is_fatal(void **state)
{
    Features__Order order = features_order(1, "");
    struct features_end end = {0};
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, HEDGES("\"UNAVAILABLE\""));
    order.holds = 1;
    order.failures = 2;
    order.status = VC_INTERNAL;
    assert_status(VC_INTERNAL,
                  configured_work(&f, LOOK, &order, NULL, &attempt));
    configured_error("attempt 2 failed");
    fixture_await(&features_seen.ended, 2); /* the first is cancelled */

    features_reset();
    order.status = VC_UNAVAILABLE;
    assert_status(VC_OK, features_work_look_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.ended, 1);
    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_UNAVAILABLE, end.status);
    assert_non_null(strstr(end.text, "attempt 1 failed"));
    features_stop(&f);
}

/* The first attempt fails before the hedge is due, which is never. */
static void
a_first_attempt_that_fails_is_followed_at_once(void **state)
{
    static const char json[] =
        ALL("\"hedgingPolicy\":{\"maxAttempts\":2,\"hedgingDelay\":\"3600s\","
            "\"nonFatalStatusCodes\":[\"ABORTED\"]}");
    Features__Order order = features_order(1, "");
    struct fixture f;
    unsigned attempt;

    (void)state;
    configured_start(&f, json);
    order.failures = 1;
    order.status = VC_ABORTED;
    assert_status(VC_OK, configured_work(&f, LOOK, &order, NULL, &attempt));
    assert_int_equal(2, attempt);
    order.status = VC_UNAVAILABLE;
    assert_status(VC_UNAVAILABLE,
                  configured_work(&f, LOOK, &order, NULL, &attempt));
    order.failures = 2;
    order.status = VC_ABORTED;
    assert_status(VC_ABORTED,
                  configured_work(&f, LOOK, &order, NULL, &attempt));
    features_stop(&f);
}

/* --- configs that are refused --------------------------------------------- */

static void
a_channel_with_a_bad_config_is_not_opened(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(
        VC_INVALID_ARGUMENT,
        vc_channel_open(runtime, "tcp://127.0.0.1:1",
                        VC_CHANNEL_OPTS(.service_config = ALL("\"timeout\":7")),
                        &channel));
    assert_string_equal("vc_channel_opts.service_config: "
                        "methodConfig[0].timeout: must be a text",
                        vc_error());
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, "tcp://127.0.0.1:1",
                                  VC_CHANNEL_OPTS(.service_config = "{"),
                                  &channel));
    configured_error("vc_channel_opts.service_config: line 1, column ");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, "tcp://127.0.0.1:1",
                                  VC_CHANNEL_OPTS(.service_config =
                                                      "file:///nonexistent/x"),
                                  &channel));
    configured_error(
        "\"file:///nonexistent/x\": the file may come later, but its "
        "folder must be there");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(
                      runtime, "tcp://127.0.0.1:1",
                      VC_CHANNEL_OPTS(.service_config = "file:///nonexistent"),
                      &channel));
    configured_error(
        "vc_channel_opts.service_config: the file /nonexistent cannot "
        "be opened: No such file");
    /* a bad target is found with a good config, too */
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, "what",
                                  VC_CHANNEL_OPTS(.service_config = ALL(
                                                      "\"timeout\":\"1s\"")),
                                  &channel));
    vc_runtime_free(runtime);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_call_that_hangs_ends_at_the_timeout_of_its_entry),
        T(the_smaller_of_two_timeouts_counts),
        T(a_stream_has_the_timeout_of_its_entry),
        T(the_entry_with_the_closest_name_counts),
        T(a_call_waits_for_its_server_if_its_entry_says_so),
        T(a_longer_request_is_not_sent),
        T(a_longer_reply_ends_the_call),
        T(calls_are_retried_as_their_entry_says),
        T(a_call_that_may_run_twice_is_hedged),
        T(a_call_that_may_not_run_twice_is_not_hedged),
        T(a_hedge_that_fails_ends_the_call_if_its_status_is_fatal),
        T(a_first_attempt_that_fails_is_followed_at_once),
        T(a_channel_with_a_bad_config_is_not_opened),
    };

    /* The module is linked: a guest has no other. */
    if (vc_config_module.size == 0)
        return 1;
    return fixture_main(tests);
}
