/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Service configs: what calls do by them, and how they change. */
#include "tests/suite/feature.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/interceptor.h>

#include "modules/config/config.h"
#include "tests/suite/resolved.h"
#include "tests/suite/streams.h"

#define WORK    "\"service\":\"features.Work\""
#define RETRIES "\"maxAttempts\":4,\"initialBackoff\":\"0.001s\",\"maxBackoff\":\"0.002s\",\"backoffMultiplier\":2,"
#define ENTRY(name, what) "{\"name\":[{" name "}]," what "}"
#define METHODS(entries) "{\"methodConfig\":[" entries "]}"
#define ALL(what) METHODS(ENTRY("", what))

enum {
    ONCE,
    AGAIN,
    LOOK,
    TELL
};

/* Starts a server, and a client with a thread and this config. */
static void
config_start(struct fixture *f, const char *json)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.service_config = json;
    opts.call_timeout_ms = RESOLVED_MS;
    opts.retry_backoff_ms = 1;
    features_start(f, NULL, &opts);
    assert_status(VC_OK, vc_runtime_start(f->runtime));
}

/* Makes a call of Work; returns its status, and the attempt that the server
 * answered. */
static enum vc_status
work(struct fixture *f, unsigned method, const Features__Order *order, const struct vc_call_opts *opts,
     unsigned *attempt)
{
    void *reply = NULL;
    enum vc_status status = vc_channel_call(f->channel, &features_work_service, method, order, opts, &reply);

    *attempt = 0;
    if (status == VC_OK) {
        *attempt = ((Features__Report *)reply)->attempt;
        vc_message_free(reply);
    }
    return status;
}

static void
assert_error(const char *text)
{
    if (strstr(vc_error(), text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, vc_error());
}

/* --- timeouts ------------------------------------------------------------- */

static void
a_call_that_hangs_ends_at_the_timeout_of_its_entry(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Order order = features_order(1, "");
    struct features_end end = {0};
    struct fixture f;
    unsigned attempt;

    (void)state;
    config_start(&f, ALL("\"timeout\":\"0.06s\""));
    order.holds = 99;
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, NULL, &attempt));
    assert_error("within 60 ms");
    opts.timeout_ms = 20; /* the smaller one counts */
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, &opts, &attempt));
    assert_error("within 20 ms");
    opts.timeout_ms = 50000;
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, &opts, &attempt));
    assert_error("within 60 ms");
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL, features_done, &end, NULL));
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_DEADLINE_EXCEEDED, end.status);
    assert_non_null(strstr(end.text, "within 60 ms"));
    features_stop(&f);
}

static void
a_stream_has_the_timeout_of_its_entry(void **state)
{
    struct vc_stream *stream;
    struct fixture f;
    void *message;

    (void)state;
    config_start(&f, METHODS(ENTRY("\"service\":\"suite.Streams\"", "\"timeout\":\"0.03s\"")));
    assert_status(VC_OK, vc_stream_open(f.channel, &suite_streams_service, TALK, NULL, NULL, &stream));
    assert_status(VC_DEADLINE_EXCEEDED, vc_stream_receive(stream, &message));
    assert_error("within 30 ms");
    vc_stream_close(stream);
    features_stop(&f);
}

/* Milliseconds that the last call had. */
static uint64_t deadline_ms;

static enum vc_status
deadline_note(struct vc_interception *call, void **state, void *arg)
{
    uint64_t us = vc_interception_deadline_us(call);

    (void)state;
    (void)arg;
    deadline_ms = us == UINT64_MAX ? 0 : (us + 999) / 1000;
    return VC_OK;
}

/* Its own entry counts, else that of its service, else that of all; else what
 * method and channel say. */
static void
the_entry_with_the_closest_name_counts(void **state)
{
    static const struct {
        const char *json;
        uint64_t once_s, again_s;
    } rows[] = {
        {METHODS(ENTRY("", "\"timeout\":\"100s\"")), 100, 100},
        {METHODS(ENTRY(WORK, "\"timeout\":\"200s\"") "," ENTRY("", "\"timeout\":\"100s\"")), 200, 200},
        {METHODS(ENTRY("", "\"timeout\":\"100s\"") "," ENTRY(WORK, "\"timeout\":\"200s\"") "," ENTRY(
             WORK ",\"method\":\"Once\"", "\"timeout\":\"300s\"")),
         300, 200},
        {METHODS(ENTRY(WORK ",\"method\":\"Once\"", "\"timeout\":\"300s\"")), 300, 30},
        /* an entry without a timeout hides the others */
        {METHODS(ENTRY(WORK ",\"method\":\"Once\"", "\"waitForReady\":true") "," ENTRY("", "\"timeout\":\"100s\"")),
         30, 100},
        {METHODS(ENTRY("\"service\":\"features.work\"", "\"timeout\":\"100s\"")), 30, 30},
        {METHODS(ENTRY("\"service\":\"Work\"", "\"timeout\":\"100s\"")), 30, 30},
        {METHODS("{\"timeout\":\"100s\"}"), 30, 30},
        {"{}", 30, 30},
    };
    static const struct vc_interceptor sees = {.size = sizeof sees, .start = deadline_note};
    Features__Order order = features_order(1, "");

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        unsigned attempt;

        config_start(&f, rows[i].json);
        assert_status(VC_OK, vc_channel_intercept(f.channel, &sees));
        for (unsigned method = ONCE; method <= AGAIN; method++) {
            uint64_t s = method == ONCE ? rows[i].once_s : rows[i].again_s;

            assert_status(VC_OK, work(&f, method, &order, NULL, &attempt));
            if (deadline_ms > s * 1000 || deadline_ms + 10000 < s * 1000)
                fail_msg("row %zu, method %u: %llu ms", i, method, (unsigned long long)deadline_ms);
        }
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
    config_start(&f, NULL);
    fixture_stop_server(&f);
    assert_status(VC_OK,
                  vc_channel_open(f.runtime, f.target,
                                  VC_CHANNEL_OPTS(.max_attempts = 1,
                                                  .service_config = METHODS(ENTRY(WORK ",\"method\":\"Again\"",
                                                                                  "\"waitForReady\":true"))),
                                  &channel));
    assert_status(VC_OK, features_work_again_async(channel, &order, NULL, features_done, &waits, NULL));
    assert_status(VC_OK, features_work_once_async(channel, &order, NULL, features_done, &fails, NULL));
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
    config_start(&f, ALL("\"maxRequestMessageBytes\":14"));
    assert_status(VC_OK, work(&f, ONCE, &order, NULL, &attempt)); /* 14 bytes */
    order.text = (char *)"0123456789a";
    assert_status(VC_RESOURCE_EXHAUSTED, work(&f, ONCE, &order, NULL, &attempt));
    assert_string_equal("features.Work.Once: the request has 15 bytes, more than maxRequestMessageBytes of the service "
                        "config, which is 14",
                        vc_error());
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_once_async(f.channel, &order, NULL, features_done, &end, NULL));
    assert_int_equal(1, atomic_load(&features_seen.begun));

    assert_status(VC_OK, vc_stream_open(f.channel, &suite_streams_service, TALK, NULL, NULL, &stream));
    {
        Suite__EchoRequest item = SUITE__ECHO_REQUEST__INIT;
        uint8_t bytes[20] = {0};

        item.payload.data = bytes;
        item.payload.len = sizeof bytes;
        assert_status(VC_RESOURCE_EXHAUSTED, vc_stream_send(stream, &item));
        assert_error("more than maxRequestMessageBytes of the service config, which is 14");
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
    config_start(&f, ALL("\"maxResponseMessageBytes\":25"));
    assert_status(VC_OK, work(&f, ONCE, &order, NULL, &attempt)); /* 25 bytes */
    order.text = (char *)"0123456789a";
    opts.result = &result;
    assert_status(VC_RESOURCE_EXHAUSTED, work(&f, ONCE, &order, &opts, &attempt));
    assert_string_equal("features.Work.Once: the reply has 26 bytes, more than maxResponseMessageBytes of the service "
                        "config, which is 25",
                        vc_error());
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    vc_result_clear(&result);
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL, features_done, &end, NULL));
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_RESOURCE_EXHAUSTED, end.status);
    features_stop(&f);
}

/* --- retries -------------------------------------------------------------- */

/* Each row: a method, how its first attempts fail, and what comes of it. */
static void
calls_are_retried_as_their_entry_says(void **state)
{
    static const char aborted[] = ALL("\"retryPolicy\":{" RETRIES "\"retryableStatusCodes\":[\"ABORTED\"]}");
    static const char two[] = ALL("\"retryPolicy\":{\"maxAttempts\":2,\"initialBackoff\":\"0.001s\","
                                  "\"maxBackoff\":\"1s\",\"backoffMultiplier\":1,\"retryableStatusCodes\":[10,4]}");
    static const char throttled[] =
        "{\"retryThrottling\":{\"maxTokens\":2,\"tokenRatio\":0.001},\"methodConfig\":[{\"name\":[{}],"
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
        {aborted, AGAIN, 1, VC_UNAVAILABLE, VC_UNAVAILABLE, 1, 0}, /* not listed */
        {aborted, AGAIN, 1, VC_ABORTED, VC_ABORTED, 1, VC_CALL_NO_RETRY},
        {aborted, ONCE, 1, VC_ABORTED, VC_ABORTED, 1, 0}, /* it has run, and must not twice */
        {two, AGAIN, 1, VC_ABORTED, VC_OK, 2, 0},
        {two, AGAIN, 2, VC_ABORTED, VC_ABORTED, 2, 0},
        {two, AGAIN, 1, VC_DEADLINE_EXCEEDED, VC_OK, 2, 0}, /* the server's, not the call's */
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

        config_start(&f, rows[i].json);
        order.failures = rows[i].failures;
        order.status = rows[i].status;
        opts.flags = rows[i].flags;
        if (work(&f, rows[i].method, &order, &opts, &attempt) != rows[i].end ||
            atomic_load(&features_seen.begun) != rows[i].attempts)
            fail_msg("row %zu: %u attempts, %s", i, atomic_load(&features_seen.begun), vc_error());
        features_stop(&f);
        config_start(&f, rows[i].json); /* with a full budget */
        if (rows[i].method == AGAIN) {
            assert_status(VC_OK, features_work_again_async(f.channel, &order, &opts, features_done, &end, NULL));
            fixture_await(&end.ends, 1);
            if (end.status != rows[i].end || atomic_load(&features_seen.begun) != rows[i].attempts)
                fail_msg("row %zu, asynchronous: %u attempts, %s", i, atomic_load(&features_seen.begun), end.text);
        }
        features_stop(&f);
    }
}

/* --- hedging -------------------------------------------------------------- */

#define HEDGES(codes)                                                                                                  \
    ALL("\"timeout\":\"20s\",\"hedgingPolicy\":{\"maxAttempts\":2,\"hedgingDelay\":\"0.001s\","                       \
        "\"nonFatalStatusCodes\":[" codes "]}")

static void
a_call_that_may_run_twice_is_hedged(void **state)
{
    Features__Order order = features_order(1, "");
    struct fixture f;
    unsigned attempt;

    (void)state;
    config_start(&f, HEDGES(""));
    order.holds = 1;
    assert_status(VC_OK, work(&f, LOOK, &order, NULL, &attempt));
    assert_int_equal(2, attempt);
    features_stop(&f);
}

static void
a_call_that_may_not_run_twice_is_not_hedged(void **state)
{
    Features__Order order = features_order(1, "");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct fixture f;
    unsigned attempt;

    (void)state;
    config_start(&f, HEDGES(""));
    order.holds = 1;
    opts.timeout_ms = 50;
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, &opts, &attempt));
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, AGAIN, &order, &opts, &attempt));
    opts.flags = VC_CALL_NO_RETRY;
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, LOOK, &order, &opts, &attempt));
    assert_int_equal(3, atomic_load(&features_seen.begun));
    features_stop(&f);
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
    config_start(&f, HEDGES("\"UNAVAILABLE\""));
    order.holds = 1;
    order.failures = 2;
    order.status = VC_INTERNAL;
    assert_status(VC_INTERNAL, work(&f, LOOK, &order, NULL, &attempt));
    assert_error("attempt 2 failed");
    fixture_await(&features_seen.ended, 2); /* the first is cancelled */

    features_reset();
    order.status = VC_UNAVAILABLE;
    assert_status(VC_OK, features_work_look_async(f.channel, &order, NULL, features_done, &end, NULL));
    fixture_await(&features_seen.ended, 1);
    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_UNAVAILABLE, end.status);
    assert_non_null(strstr(end.text, "attempt 1 failed"));
    features_stop(&f);
}

/* The first attempt fails before the hedge is due, which is never. */
static void
a_first_attempt_that_fails_is_followed_at_once_unless_its_status_is_fatal(void **state)
{
    static const char json[] = ALL("\"hedgingPolicy\":{\"maxAttempts\":2,\"hedgingDelay\":\"3600s\","
                                   "\"nonFatalStatusCodes\":[\"ABORTED\"]}");
    Features__Order order = features_order(1, "");
    struct fixture f;
    unsigned attempt;

    (void)state;
    config_start(&f, json);
    order.failures = 1;
    order.status = VC_ABORTED;
    assert_status(VC_OK, work(&f, LOOK, &order, NULL, &attempt));
    assert_int_equal(2, attempt);
    order.status = VC_UNAVAILABLE;
    assert_status(VC_UNAVAILABLE, work(&f, LOOK, &order, NULL, &attempt));
    order.failures = 2;
    order.status = VC_ABORTED;
    assert_status(VC_ABORTED, work(&f, LOOK, &order, NULL, &attempt));
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
    assert_status(VC_INVALID_ARGUMENT, vc_channel_open(runtime, "tcp://127.0.0.1:1",
                                                       VC_CHANNEL_OPTS(.service_config = ALL("\"timeout\":7")),
                                                       &channel));
    assert_string_equal("vc_channel_opts.service_config: methodConfig[0].timeout: must be a text", vc_error());
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, "tcp://127.0.0.1:1", VC_CHANNEL_OPTS(.service_config = "{"), &channel));
    assert_error("vc_channel_opts.service_config: line 1, column ");
    assert_status(VC_INVALID_ARGUMENT, vc_channel_open(runtime, "tcp://127.0.0.1:1",
                                                       VC_CHANNEL_OPTS(.service_config = "file:///nonexistent/x"),
                                                       &channel));
    assert_error("\"file:///nonexistent/x\": the file may come later, but its folder must be there");
    assert_status(VC_INVALID_ARGUMENT, vc_channel_open(runtime, "tcp://127.0.0.1:1",
                                                       VC_CHANNEL_OPTS(.service_config = "file:///nonexistent"),
                                                       &channel));
    assert_error("vc_channel_opts.service_config: the file /nonexistent cannot be opened: No such file");
    /* a bad target is found with a good config, too */
    assert_status(VC_INVALID_ARGUMENT, vc_channel_open(runtime, "what",
                                                       VC_CHANNEL_OPTS(.service_config = ALL("\"timeout\":\"1s\"")),
                                                       &channel));
    vc_runtime_free(runtime);
}

/* --- a file that changes -------------------------------------------------- */

static char folder[] = "/tmp/verbcall-config-XXXXXX";
static char path[sizeof folder + 16], option[sizeof path + 16];

static void
file_write(const char *json)
{
    char beside[sizeof path + 4];
    FILE *file;

    snprintf(beside, sizeof beside, "%s.new", path);
    file = fopen(beside, "w");
    assert_non_null(file);
    fputs(json, file);
    assert_int_equal(0, fclose(file));
    assert_int_equal(0, rename(beside, path));
}

static atomic_uint n_forced, n_refused, n_strange;
static char refused[600];

static void
on_line(enum vc_log_level level, const char *line, void *arg)
{
    (void)arg;
    if (strstr(line, "service config") == NULL)
        return;
    if (strstr(line, " is in force, of ") != NULL && level == VC_LOG_INFO) {
        fixture_tell(&n_forced);
    } else if (level == VC_LOG_WARNING) {
        snprintf(refused, sizeof refused, "%s", line);
        fixture_tell(&n_refused);
    } else {
        fixture_tell(&n_strange);
    }
}

static void
described_has(struct vc_channel *channel, const char *text)
{
    char all[4096], less[20];
    size_t len = vc_channel_describe(channel, all, sizeof all);

    assert_int_equal(strlen(all), len);
    assert_int_equal(len, vc_channel_describe(channel, less, sizeof less));
    assert_memory_equal(all, less, sizeof less - 1);
    if (strstr(all, text) == NULL)
        fail_msg("\"%s\" is not in\n%s", text, all);
}

static void
a_file_is_read_when_it_changes_and_a_bad_one_keeps_the_former(void **state)
{
    Features__Order order = features_order(1, "");
    char text[sizeof refused];
    struct fixture f;
    unsigned attempt;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(option, sizeof option, "file://%s", path);
    file_write(ALL("\"timeout\":\"0.02s\""));
    fixture_log = on_line;
    config_start(&f, option);
    fixture_log = NULL;
    order.holds = 99;
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, NULL, &attempt));
    assert_error("within 20 ms");
    fixture_await(&n_forced, 1);

    file_write(ALL("\"timeout\":\"0.03s\""));
    fixture_await(&n_forced, 2);
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, NULL, &attempt));
    assert_error("within 30 ms");

    file_write("{\n\"methodConfig\":[{\"timeout\":\"3\"}]}");
    fixture_await(&n_refused, 1);
    snprintf(text, sizeof text,
             "channel to %s: service config: the file %s is refused: methodConfig[0].timeout: must be a duration of at "
             "most 315576000000 seconds, as \"1.5s\"; the former one stays in force",
             f.target, path);
    assert_string_equal(text, refused);
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, NULL, &attempt));
    assert_error("within 30 ms");
    snprintf(text, sizeof text, "service config 2 of %s, since 20", path);
    described_has(f.channel, text);
    described_has(f.channel, ": the file ");
    described_has(f.channel, " is refused: methodConfig[0].timeout: ");

    file_write("{\n\"a\" 1}");
    fixture_await(&n_refused, 2);
    assert_non_null(strstr(refused, " is refused: line 2, column "));

    file_write(ALL("\"timeout\":\"0.04s\",\"hedgingPolicy\":{\"maxAttempts\":3}"));
    fixture_await(&n_forced, 3);
    assert_status(VC_DEADLINE_EXCEEDED, work(&f, ONCE, &order, NULL, &attempt));
    assert_error("within 40 ms");
    described_has(f.channel, "hedgingPolicy.maxAttempts: 2 attempts are made at most");
    assert_int_equal(0, atomic_load(&n_strange));
    features_stop(&f);
    unlink(path);
    rmdir(folder);
}

/* --- the resolver, and policies ------------------------------------------- */

/* The number of servers of three that get the next calls. */
static unsigned
spread(struct resolved *w, unsigned calls)
{
    bool has[RESOLVED_SERVERS] = {false};
    unsigned n = 0, by;

    for (unsigned i = 0; i < calls; i++) {
        assert_status(VC_OK, resolved_call(w, NULL, &by));
        n += !has[by];
        has[by] = true;
    }
    return n;
}

static void
the_config_of_the_resolver_counts_before_the_option(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct resolved w;
    unsigned attempt;
    Features__Order order = features_order(1, "");

    (void)state;
    resolved_start_servers(&w);
    opts.service_config = ALL("\"timeout\":\"0.02s\"");
    assert_status(VC_OK, vc_channel_open(w.runtime, "app:it", &opts, &w.channel));
    assert_status(VC_OK, resolved_set(&w, "012"));
    w.servers[0].channel = w.channel;
    order.holds = 99;
    assert_status(VC_DEADLINE_EXCEEDED, work(&w.servers[0], ONCE, &order, NULL, &attempt));
    assert_error("within 20 ms");

    assert_status(VC_OK, vc_resolver_config(app.resolver, ALL("\"timeout\":\"0.03s\"")));
    assert_status(VC_DEADLINE_EXCEEDED, work(&w.servers[0], ONCE, &order, NULL, &attempt));
    assert_error("within 30 ms");
    described_has(w.channel, "service config 2 of the resolver, since ");

    assert_status(VC_INVALID_ARGUMENT, vc_resolver_config(app.resolver, "[]"));
    assert_string_equal("that of the resolver is refused: the text must be an object, {...}", vc_error());
    assert_status(VC_DEADLINE_EXCEEDED, work(&w.servers[0], ONCE, &order, NULL, &attempt));
    assert_error("within 30 ms");
    described_has(w.channel, ": that of the resolver is refused: the text must be an object, {...}");

    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    assert_status(VC_DEADLINE_EXCEEDED, work(&w.servers[0], ONCE, &order, NULL, &attempt));
    assert_error("within 20 ms");
    w.servers[0].channel = NULL;
    resolved_stop(&w);
}

static void
a_policy_that_changes_is_that_of_the_next_calls(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    assert_status(VC_OK, resolved_set(&w, "012"));
    assert_int_equal(1, spread(&w, 20));
    assert_status(VC_OK, vc_resolver_config(app.resolver, "{\"loadBalancingConfig\":[{\"round_robin\":{}}]}"));
    resolved_await_ready(&w, 3);
    assert_int_equal(3, spread(&w, 3));
    assert_status(VC_OK, vc_resolver_config(app.resolver, "{\"loadBalancingConfig\":[{\"pick_first\":{}}]}"));
    assert_int_equal(1, spread(&w, 20));
    assert_status(VC_OK, vc_resolver_config(app.resolver, "{\"loadBalancingPolicy\":\"Round_Robin\"}"));
    assert_int_equal(3, spread(&w, 3));
    /* without a policy that of the program counts */
    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    assert_int_equal(1, spread(&w, 20));

    assert_status(VC_INVALID_ARGUMENT,
                  vc_resolver_config(app.resolver,
                                     "{\"loadBalancingConfig\":[{\"outlier_detection_experimental\":"
                                     "{\"successRateEjection\":{},\"childPolicy\":[{\"round_robin\":{}}]}}]}"));
    assert_error("outlier_detection_experimental cannot change while the channel is open");
    assert_int_equal(1, spread(&w, 20));
    resolved_stop(&w);
}

struct load {
    struct resolved *w;
    atomic_uint calls, ends;
    pthread_t threads[2];
};

static void *
load_run(void *arg)
{
    struct load *l = arg;

    while (atomic_load(&l->ends) == 0) {
        assert_status(VC_OK, resolved_call(l->w, NULL, NULL));
        fixture_tell(&l->calls);
    }
    return NULL;
}

/* Each policy follows each other one while calls go on. */
static void
calls_go_on_while_configs_change(void **state)
{
    static const char *const names[] = {"pick_first",    "round_robin", "weighted_round_robin",
                                        "least_request", "ring_hash",   "priority",
                                        "nearest"};
    struct resolved w;
    struct load l = {.w = &w};

    (void)state;
    resolved_start(&w, "ring_hash");
    assert_status(VC_OK, resolved_set(&w, "012"));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(0, pthread_create(&l.threads[i], NULL, load_run, &l));
    for (unsigned i = 0; i < 49; i++) {
        char json[200];

        snprintf(json, sizeof json,
                 "{\"loadBalancingConfig\":[{\"%s\":{}}],\"methodConfig\":[{\"name\":[{}],\"timeout\":\"%us\"}]}",
                 names[i * (1 + i / 7) % 7], 30 + i);
        assert_status(VC_OK, vc_resolver_config(app.resolver, json));
        fixture_await(&l.calls, atomic_load(&l.calls) + 10);
    }
    atomic_store(&l.ends, 1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(0, pthread_join(l.threads[i], NULL));
    resolved_stop(&w);
}

/* A list has a policy that its file may change. */
static void
the_file_of_a_list_changes_its_policy(void **state)
{
    char target[3 * 81 + 10] = "list:";
    struct vc_runtime *runtime;
    struct resolved w;
    unsigned before;

    (void)state;
    memset(&w, 0, sizeof w);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(option, sizeof option, "file://%s", path);
    file_write("{\"loadBalancingConfig\":[{\"round_robin\":{}}]}");
    resolved_start_servers(&w);
    for (unsigned i = 0; i < 3; i++) {
        strcat(target, i == 0 ? "" : ",");
        strcat(target, w.servers[i].target);
    }
    before = atomic_load(&n_forced);
    assert_status(VC_OK, vc_runtime_new(VC_RUNTIME_OPTS(.log = on_line, .log_level = VC_LOG_INFO), &runtime));
    assert_status(VC_OK, vc_runtime_start(runtime));
    assert_status(VC_OK,
                  vc_channel_open(runtime, target,
                                  VC_CHANNEL_OPTS(.service_config = option, .call_timeout_ms = RESOLVED_MS),
                                  &w.channel));
    resolved_await_ready(&w, 3);
    assert_int_equal(3, spread(&w, 3));
    file_write("{}");
    fixture_await(&n_forced, before + 2);
    assert_int_equal(1, spread(&w, 20));
    assert_status(VC_OK, vc_channel_close(w.channel));
    w.channel = NULL;
    vc_runtime_free(runtime);
    resolved_stop(&w);
    unlink(path);
    rmdir(folder);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_call_that_hangs_ends_at_the_timeout_of_its_entry),
        T(a_stream_has_the_timeout_of_its_entry),
        T(the_entry_with_the_closest_name_counts),
        T(a_call_waits_for_its_server_if_its_entry_says_so),
        T(a_longer_request_is_not_sent),
        T(a_longer_reply_ends_the_call),
        T(calls_are_retried_as_their_entry_says),
        T(a_call_that_may_run_twice_is_hedged),
        T(a_call_that_may_not_run_twice_is_not_hedged),
        T(a_hedge_that_fails_ends_the_call_if_its_status_is_fatal),
        T(a_first_attempt_that_fails_is_followed_at_once_unless_its_status_is_fatal),
        T(a_channel_with_a_bad_config_is_not_opened),
        T(a_file_is_read_when_it_changes_and_a_bad_one_keeps_the_former),
        T(the_config_of_the_resolver_counts_before_the_option),
        T(a_policy_that_changes_is_that_of_the_next_calls),
        T(calls_go_on_while_configs_change),
        T(the_file_of_a_list_changes_its_policy),
    };

    /* The module is linked: a guest has no other. */
    if (vc_config_module.size == 0)
        return 1;
    return fixture_main(tests);
}
