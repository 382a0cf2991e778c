/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Structs of options: their size, the macros that set it, and refused values
 * that have no range in tests/sim/test_options.c; and the version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "tests/suite/fixture.h"

static struct vc_runtime *runtime;
static struct vc_channel *channel;
static struct vc_server *server;

static int
objects_open(void **state)
{
    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK,
                  vc_channel_open(runtime, "inproc://nobody", NULL, &channel));
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    return 0;
}

static int
objects_close(void **state)
{
    (void)state;
    vc_server_free(server);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return 0;
}

/* Asserts that the text of the last failure contains these words. */
static void
assert_said(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, vc_error());
}

/* --- functions that take a struct ----------------------------------------- */

static enum vc_status
runtime_take(const void *opts)
{
    struct vc_runtime *made = NULL;
    enum vc_status status = vc_runtime_new(opts, &made);

    vc_runtime_free(made);
    return status;
}

static enum vc_status
channel_take(const void *opts)
{
    struct vc_channel *made = NULL;
    enum vc_status status =
        vc_channel_open(runtime, "inproc://nobody", opts, &made);

    vc_channel_close(made);
    return status;
}

static enum vc_status
server_take(const void *opts)
{
    struct vc_server *made = NULL;
    enum vc_status status = vc_server_new(runtime, opts, &made);

    vc_server_free(made);
    return status;
}

static enum vc_status
channel_rdma_take(const void *opts)
{
    return channel_take(VC_CHANNEL_OPTS(.rdma = opts));
}

static enum vc_status
server_rdma_take(const void *opts)
{
    return server_take(VC_SERVER_OPTS(.rdma = opts));
}

/* Accepted options lead to UNAVAILABLE, as no server listens: that
 * counts as OK. */
static enum vc_status
call_ended(enum vc_status status)
{
    return status == VC_UNAVAILABLE ? VC_OK : status;
}

static enum vc_status
blocking_take(const void *opts)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__CountReply *reply = NULL;

    return call_ended(suite_probe_count(channel, &request, opts, &reply));
}

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    (void)status;
    (void)reply;
    (void)arg;
}

static enum vc_status
async_take(const void *opts)
{
    Suite__Empty request = SUITE__EMPTY__INIT;

    return vc_channel_call_async(channel, &suite_probe_service, 3, &request,
                                 opts, on_done, NULL, NULL);
}

static enum vc_status
queued_take(const void *opts)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    struct vc_completions *queue;
    enum vc_status status;

    assert_status(VC_OK, vc_completions_new(runtime, &queue));
    status = vc_channel_call_queued(channel, &suite_probe_service, 3, &request,
                                    opts, queue, NULL, NULL);
    vc_completions_free(queue);
    return status;
}

static enum vc_status
stream_take(const void *opts)
{
    struct vc_stream *stream = NULL;
    enum vc_status status =
        vc_stream_open(channel, &suite_streams_service, 0, NULL, opts, &stream);

    if (stream != NULL)
        vc_stream_close(stream);
    return status;
}

static enum vc_status
events_take(const void *events)
{
    struct vc_stream *stream = NULL;
    enum vc_status status = vc_stream_start(channel, &suite_streams_service, 0,
                                            NULL, NULL, events, NULL, &stream);

    if (stream != NULL)
        vc_stream_close(stream);
    return status;
}

static enum vc_status
client_interceptor_take(const void *interceptor)
{
    struct vc_channel *made;
    enum vc_status status;

    assert_status(VC_OK,
                  vc_channel_open(runtime, "inproc://nobody", NULL, &made));
    status = vc_channel_intercept(made, interceptor);
    vc_channel_close(made);
    return status;
}

static enum vc_status
server_interceptor_take(const void *interceptor)
{
    struct vc_server *made;
    enum vc_status status;

    assert_status(VC_OK, vc_server_new(runtime, NULL, &made));
    status = vc_server_intercept(made, interceptor);
    vc_server_free(made);
    return status;
}

static enum vc_status
counters_take(const void *counters)
{
    return vc_runtime_counters(runtime, (struct vc_counters *)counters);
}

static enum vc_status
result_take(const void *result)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_status status;

    opts.result = (struct vc_result *)result;
    status = blocking_take(&opts);
    if (status == VC_OK)
        vc_result_clear(opts.result);
    return status;
}

/* --- the table -------------------------------------------------------------- */

struct row {
    const char *name, *macros;
    enum vc_status (*take)(const void *);
    size_t size;
    bool is_filled; /* an output: the library leaves the tail as it is */
};

#define ROW(name, macros, take)                                                \
    {                                                                          \
#name, macros, take, sizeof(struct name), false                        \
    }

static const struct row rows[] = {
    ROW(vc_runtime_opts, "VC_RUNTIME_OPTS_INIT or VC_RUNTIME_OPTS()",
        runtime_take),
    ROW(vc_channel_opts, "VC_CHANNEL_OPTS_INIT or VC_CHANNEL_OPTS()",
        channel_take),
    ROW(vc_server_opts, "VC_SERVER_OPTS_INIT or VC_SERVER_OPTS()", server_take),
    ROW(vc_rdma_opts, "VC_RDMA_OPTS_INIT or VC_RDMA_OPTS()", channel_rdma_take),
    ROW(vc_rdma_opts, "VC_RDMA_OPTS_INIT or VC_RDMA_OPTS()", server_rdma_take),
    ROW(vc_call_opts, "VC_CALL_OPTS_INIT or VC_CALL_OPTS()", blocking_take),
    ROW(vc_call_opts, "VC_CALL_OPTS_INIT or VC_CALL_OPTS()", async_take),
    ROW(vc_call_opts, "VC_CALL_OPTS_INIT or VC_CALL_OPTS()", queued_take),
    ROW(vc_call_opts, "VC_CALL_OPTS_INIT or VC_CALL_OPTS()", stream_take),
    ROW(vc_stream_events, "VC_STREAM_EVENTS_INIT or VC_STREAM_EVENTS()",
        events_take),
    ROW(vc_interceptor, "VC_INTERCEPTOR_INIT or VC_INTERCEPTOR()",
        client_interceptor_take),
    ROW(vc_interceptor, "VC_INTERCEPTOR_INIT or VC_INTERCEPTOR()",
        server_interceptor_take),
    {"vc_counters", "VC_COUNTERS_INIT", counters_take,
     sizeof(struct vc_counters), true},
    {"vc_result", "VC_RESULT_INIT", result_take, sizeof(struct vc_result),
     true},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* Returns a zeroed struct with this size field, in memory of `room` bytes: ASan
 * finds every read past the end. */
static void *
struct_new(size_t size, size_t room)
{
    void *made = calloc(1, room);

    assert_non_null(made);
    memcpy(made, &size, sizeof size);
    return made;
}

static void
struct_try(const struct row *r, size_t size, size_t room,
           enum vc_status expected)
{
    void *opts = struct_new(size, room);
    enum vc_status status = r->take(opts);

    free(opts);
    if (status != expected)
        fail_msg("struct %s of size %zu gives %s, %s", r->name, size,
                 vc_status_name(status), vc_error());
}

static void
a_struct_without_a_size_is_refused_and_the_text_names_its_macro(void **state)
{
    static const size_t none[] = {0, 1, sizeof(size_t) - 1, 4097, (size_t)-8};
    char words[128];

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
            const struct row *r = &rows[i];

            struct_try(r, none[k], r->size, VC_INVALID_ARGUMENT);
            snprintf(words, sizeof words,
                     "struct %s has size %zu: initialise it by %s", r->name,
                     none[k], r->macros);
            assert_said(words);
        }
    }
}

static void
a_struct_of_an_older_program_is_taken_and_nothing_behind_it_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];

        struct_try(r, r->size, r->size, VC_OK);
        if (r->take != result_take)
            struct_try(r, r->size - sizeof(void *), r->size - sizeof(void *),
                       VC_OK);
    }
}

static void
a_result_that_is_too_small_is_refused(void **state)
{
    struct vc_result result = VC_RESULT_INIT;

    (void)state;
    result.size -= sizeof(void *);
    assert_status(VC_INVALID_ARGUMENT, result_take(&result));
    assert_said("struct vc_result has size");
}

static void
a_struct_of_a_newer_program_is_taken_if_what_is_unknown_of_it_is_0(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        unsigned char *opts;

        struct_try(r, r->size + 16, r->size + 16, VC_OK);
        struct_try(r, 4096, 4096, VC_OK);
        if (r->is_filled)
            continue;
        opts = struct_new(r->size + 16, r->size + 16);
        opts[r->size + 15] = 1;
        assert_status(VC_INVALID_ARGUMENT, r->take(opts));
        assert_said(r->name);
        assert_said("install the version that the program was compiled for");
        free(opts);
    }
}

/* --- the macros --------------------------------------------------------------- */

/* All fields that were not set are 0. The fields are checked one by one, as
 * padding need not be 0. */
static void
designated_initialisers_set_the_size_and_nothing_else(void **state)
{
    const struct vc_call_opts *call = VC_CALL_OPTS(.timeout_ms = 100);
    const struct vc_server_opts *of_server =
        VC_SERVER_OPTS(.max_message = 4096, .redirect = {"inproc://a"});
    const struct vc_call_opts init = VC_CALL_OPTS_INIT;

    (void)state;
    assert_int_equal(call->size, sizeof *call);
    assert_int_equal(call->timeout_ms, 100);
    assert_int_equal(call->flags, 0);
    assert_null(call->metadata);
    assert_null(call->result);
    assert_int_equal(init.size, sizeof init);
    assert_int_equal(init.timeout_ms, 0);
    assert_int_equal(of_server->size, sizeof *of_server);
    assert_int_equal(of_server->max_message, 4096);
    assert_string_equal(of_server->redirect[0], "inproc://a");
    assert_null(of_server->redirect[1]);
    assert_int_equal(VC_CHANNEL_OPTS()->size, sizeof(struct vc_channel_opts));
    assert_int_equal(VC_RUNTIME_OPTS()->size, sizeof(struct vc_runtime_opts));
    assert_int_equal(VC_INTERCEPTOR(.arg = &runtime)->size,
                     sizeof(struct vc_interceptor));
    assert_int_equal(VC_STREAM_EVENTS(.on_end = NULL)->size,
                     sizeof(struct vc_stream_events));
}

static void
options_given_by_a_macro_are_heeded(void **state)
{
    (void)state;
    assert_status(VC_INVALID_ARGUMENT,
                  channel_take(VC_CHANNEL_OPTS(.weight = 257)));
    assert_string_equal(vc_error(), "vc_channel_opts.weight: 257 is not in "
                                    "1..256; 0 stands for the default");
    assert_status(VC_INVALID_ARGUMENT,
                  server_take(VC_SERVER_OPTS(.max_message = 4095)));
    assert_string_equal(vc_error(),
                        "vc_server_opts.max_message: 4095 is not in 4 KiB..256 "
                        "MiB; 0 stands for the default");
    assert_status(VC_INVALID_ARGUMENT,
                  server_take(VC_SERVER_OPTS(.shm_mode = 01000)));
    assert_said("vc_server_opts.shm_mode: 01000 is not in 0001..0777");
    assert_status(VC_INVALID_ARGUMENT,
                  runtime_take(VC_RUNTIME_OPTS(.memory_limit = 1000)));
    assert_said("vc_runtime_opts.memory_limit: 1000 is not in 384 KiB..;");
    assert_status(VC_INVALID_ARGUMENT,
                  channel_rdma_take(VC_RDMA_OPTS(.retry_count = 7)));
    assert_string_equal(vc_error(),
                        "vc_rdma_opts.retry_count: 7 is not in 1..6, nor "
                        "VC_RDMA_NONE; 0 stands for the default");
    assert_status(VC_OK, channel_take(VC_CHANNEL_OPTS(.weight = 256)));
}

/* --- values without a range ----------------------------------------------- */

static const struct row callers[] = {
    ROW(vc_call_opts, "", blocking_take),
    ROW(vc_call_opts, "", async_take),
    ROW(vc_call_opts, "", queued_take),
    ROW(vc_call_opts, "", stream_take),
};
#define CALLERS (sizeof callers / sizeof callers[0])

static void
calls_refuse(const struct vc_call_opts *opts, const char *words)
{
    for (size_t i = 0; i < CALLERS; i++) {
        assert_status(VC_INVALID_ARGUMENT, callers[i].take(opts));
        assert_said(words);
    }
}

static void
a_call_refuses_numbers_that_mean_nothing(void **state)
{
    (void)state;
    calls_refuse(VC_CALL_OPTS(.timeout_ms = 1u << 31),
                 "vc_call_opts.timeout_ms: 2147483648 is not in 1..2147483647, "
                 "nor VC_NO_DEADLINE; 0 stands for the default");
    calls_refuse(VC_CALL_OPTS(.flags = 0x12),
                 "vc_call_opts.flags: 0x12 has bits that are unknown, 0x10; "
                 "known are VC_CALL_NO_RETRY and VC_CALL_WAIT_FOR_READY");
    calls_refuse(VC_CALL_OPTS(.priority = 3),
                 "vc_call_opts.priority: 3 is not");
    calls_refuse(VC_CALL_OPTS(.hedge_ms = 1u << 31), "vc_call_opts.hedge_ms:");
    calls_refuse(VC_CALL_OPTS(.n_metadata = 1),
                 "vc_call_opts.metadata: is NULL");
}

static void
a_call_takes_the_flags_and_times_that_there_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLERS; i++) {
        assert_status(VC_OK,
                      callers[i].take(VC_CALL_OPTS(.flags = VC_CALL_NO_RETRY)));
        assert_status(VC_OK,
                      callers[i].take(VC_CALL_OPTS(.timeout_ms = INT32_MAX,
                                                   .flags = VC_CALL_NO_RETRY)));
        assert_status(
            VC_OK,
            callers[i].take(VC_CALL_OPTS(.timeout_ms = VC_NO_DEADLINE,
                                         .flags = VC_CALL_NO_RETRY,
                                         .priority = VC_PRIORITY_SHEDDABLE)));
    }
}

static void
a_stream_refuses_options_that_only_calls_have(void **state)
{
    struct vc_result result = VC_RESULT_INIT;

    (void)state;
    assert_status(VC_INVALID_ARGUMENT,
                  stream_take(VC_CALL_OPTS(.result = &result)));
    assert_said("suite.Streams.Talk: vc_call_opts.result: ");
    assert_status(VC_INVALID_ARGUMENT,
                  stream_take(VC_CALL_OPTS(.hedge_ms = 5)));
    assert_said("suite.Streams.Talk: vc_call_opts.hedge_ms: this is a stream");
}

static void
a_client_has_no_port_0_and_a_server_has(void **state)
{
    static const char *const targets[] = {"tcp://127.0.0.1:0", "vc://[::1]:00",
                                          "rdma://10.9.0.1:0"};

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct vc_channel *made = NULL;

        assert_status(VC_INVALID_ARGUMENT,
                      vc_channel_open(runtime, targets[i], NULL, &made));
        assert_null(made);
        assert_said(targets[i]);
        assert_said("port 0");
    }
    assert_status(VC_OK, vc_server_listen(server, "tcp://127.0.0.1:0"));
    assert_int_not_equal(vc_server_port(server), 0);
}

static void
texts_that_are_options_are_named_when_they_are_refused(void **state)
{
    (void)state;
    assert_status(VC_INVALID_ARGUMENT,
                  channel_take(VC_CHANNEL_OPTS(.bind_address = "here")));
    assert_said("vc_channel_opts.bind_address: \"here\"");
    assert_status(
        VC_INVALID_ARGUMENT,
        server_take(VC_SERVER_OPTS(.redirect = {"inproc://a", "udp://b"})));
    assert_said("vc_server_opts.redirect[1]: target \"udp://b\"");
    assert_status(VC_INVALID_ARGUMENT,
                  server_take(VC_SERVER_OPTS(.transports = "udp")));
    assert_said("vc_server_opts.transports");
}

/* The first value is over the limit by itself, the second together with the
 * first entry. */
static void
metadata_that_take_too_much_exhaust_a_resource(void **state)
{
    static char value[8000];
    struct vc_metadata entries[] = {{"note", "short", 5},
                                    {"long-bin", value, sizeof value}};

    (void)state;
    assert_status(
        VC_RESOURCE_EXHAUSTED,
        blocking_take(VC_CALL_OPTS(.metadata = entries, .n_metadata = 2)));
    assert_said("metadata[1], long-bin: with its value of 8000 bytes");
    entries[1].length = 6990;
    assert_status(
        VC_RESOURCE_EXHAUSTED,
        blocking_take(VC_CALL_OPTS(.metadata = entries, .n_metadata = 2)));
    entries[1].length = (size_t)-1;
    assert_status(
        VC_RESOURCE_EXHAUSTED,
        blocking_take(VC_CALL_OPTS(.metadata = entries, .n_metadata = 2)));
    entries[1].key = "long";
    assert_status(
        VC_RESOURCE_EXHAUSTED,
        blocking_take(VC_CALL_OPTS(.metadata = entries, .n_metadata = 2)));
}

/* --- the version ---------------------------------------------------------------- */

static void
headers_library_and_configure_have_one_version(void **state)
{
    char numbers[32];

    (void)state;
    snprintf(numbers, sizeof numbers, "%d.%d.%d", VC_VERSION_MAJOR,
             VC_VERSION_MINOR, VC_VERSION_PATCH);
    assert_string_equal(numbers, VC_VERSION_STRING);
    assert_string_equal(vc_version(), VC_VERSION_STRING);
    assert_string_equal(vc_version(), PACKAGE_VERSION);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_struct_without_a_size_is_refused_and_the_text_names_its_macro),
        T(a_struct_of_an_older_program_is_taken_and_nothing_behind_it_read),
        T(a_result_that_is_too_small_is_refused),
        T(a_struct_of_a_newer_program_is_taken_if_what_is_unknown_of_it_is_0),
        T(designated_initialisers_set_the_size_and_nothing_else),
        T(options_given_by_a_macro_are_heeded),
        T(a_call_refuses_numbers_that_mean_nothing),
        T(a_call_takes_the_flags_and_times_that_there_are),
        T(a_stream_refuses_options_that_only_calls_have),
        T(a_client_has_no_port_0_and_a_server_has),
        T(texts_that_are_options_are_named_when_they_are_refused),
        T(metadata_that_take_too_much_exhaust_a_resource),
        T(headers_library_and_configure_have_one_version),
    };

    return cmocka_run_group_tests(tests, objects_open, objects_close);
}
