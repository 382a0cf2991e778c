/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unary calls from end to end: their contents, their failures, and that very
 * many calls from one thread and from several get the right replies. */
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/counters.h>

/* Calls of each long run, unless $VC_TEST_CALLS sets another number: a
 * sanitizer and the simulated world are slow. */
#define MANY_CALLS 100000u

#define LARGEST ((size_t)4 << 20) /* the default message limit */
/* Bytes of an EchoRequest with a tag, besides the payload; rounded up. */
#define AROUND 32u

static unsigned
many_calls(void)
{
    const char *text = getenv("VC_TEST_CALLS");
    unsigned long calls;
    char *end;

    if (text == NULL || text[0] == '\0')
        return MANY_CALLS;
    calls = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || calls == 0 ||
        calls > INT_MAX)
        fail_msg("VC_TEST_CALLS is \"%s\", which is no number of calls above 0",
                 text);
    return (unsigned)calls;
}

/* --- one call ---------------------------------------------------------- */

static void
every_size_comes_back_as_it_went(void **state)
{
    struct fixture *f = *state;
    static const size_t sizes[] = {
        0,       1,
        2,       63,
        64,      65,
        127,     128,
        200,     215,
        216,     217,
        255,     256,
        257,     4095,
        4096,    4097,
        8100,    8130,
        8140,    8150,
        8159,    8160,
        8161,    8192,
        16384,   65535,
        65536,   65537,
        1000000, 1048576,
        3 << 20, LARGEST - AROUND,
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_status(VC_OK, fixture_echo(f->channel, sizes[i], i));
}

static void
every_length_around_a_packet_comes_back(void **state)
{
    struct fixture *f = *state;

    for (size_t size = 8192 - 100; size < 8192 + 100; size++)
        assert_status(VC_OK, fixture_echo(f->channel, size, size));
}

static void
a_short_request_may_have_a_long_reply(void **state)
{
    struct fixture *f = *state;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    request.reply_size = 1000000;

    assert_status(VC_OK, suite_probe_echo(f->channel, &request, NULL, &reply));

    assert_int_equal(1000000, reply->payload.len);
    vc_message_free(reply);
}

static void
a_reply_outlives_its_channel(void **state)
{
    struct fixture f;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    (void)state;
    fixture_start(&f, 1, NULL, NULL);
    assert_status(VC_OK, suite_other_name(f.channel, &request, NULL, &reply));

    vc_channel_close(f.channel);
    f.channel = NULL;

    assert_string_equal("other", reply->name);
    vc_message_free(reply);
    fixture_stop(&f);
}

/* --- failures ---------------------------------------------------------- */

static enum vc_status
call_fail(struct fixture *f, unsigned status, char *text)
{
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    Suite__Empty *reply = NULL;
    enum vc_status got;

    request.status = status;
    request.text = text;
    got = suite_probe_fail(f->channel, &request, NULL, &reply);
    vc_message_free(reply);
    return got;
}

static void
a_handlers_status_and_text_reach_the_caller(void **state)
{
    struct fixture *f = *state;
    static char text[] = "no such thing: \xc3\xa4\xe2\x82\xac";

    for (unsigned code = 1; code <= VC_UNAUTHENTICATED; code++) {
        assert_status((enum vc_status)code, call_fail(f, code, text));
        assert_string_equal(text, vc_error());
        assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    }
}

static void
a_status_that_does_not_exist_is_unknown(void **state)
{
    struct fixture *f = *state;
    static char text[] = "odd";

    assert_status(VC_UNKNOWN, call_fail(f, 77, text));
}

#define TOO_LONG                                                               \
    "suite.Probe.Echo: the request has 70006 bytes, the server accepts 65536 " \
    "at most (its max_message): send less, or raise it"

static void
a_request_over_the_servers_limit_fails_and_the_link_lives(void **state)
{
    struct fixture f;
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_channel_opts channel_opts = VC_CHANNEL_OPTS_INIT;
    struct vc_counters c = VC_COUNTERS_INIT;

    (void)state;
    opts.max_message = 65536;
    channel_opts.max_message = 1 << 20;
    fixture_start(&f, 1, &opts, &channel_opts);

    /* For the first call only the server knows the limit. */
    assert_status(VC_RESOURCE_EXHAUSTED, fixture_echo(f.channel, 70000, 1));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_non_null(strstr(vc_error(), TOO_LONG));
    assert_status(VC_OK, fixture_echo(f.channel, 60000, 2));
    assert_status(VC_RESOURCE_EXHAUSTED, fixture_echo(f.channel, 70000, 3));
    assert_non_null(strstr(vc_error(), TOO_LONG));
    assert_status(VC_OK, fixture_echo(f.channel, 60000, 4));
    vc_runtime_counters(f.runtime, &c);
    assert_int_equal(0, c.calls_retried);
    fixture_stop(&f);
}

static void
a_request_with_bytes_and_no_data_is_refused_by_name(void **state)
{
    struct fixture f;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;

    (void)state;
    fixture_start(&f, 1, NULL, NULL);
    request.payload.len = 5;
    assert_status(VC_INVALID_ARGUMENT,
                  suite_probe_echo(f.channel, &request, NULL, &reply));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_non_null(strstr(
        vc_error(), "suite.EchoRequest.payload: 5 bytes, and data is NULL"));
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fixture_stop(&f);
}

static void
a_reply_over_the_clients_limit_fails_and_the_link_lives(void **state)
{
    struct fixture f;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    (void)state;
    opts.max_message = 65536;
    fixture_start(&f, 1, NULL, &opts);
    request.reply_size = 70000;

    assert_status(VC_RESOURCE_EXHAUSTED,
                  suite_probe_echo(f.channel, &request, NULL, &reply));

    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    assert_status(VC_OK, fixture_echo(f.channel, 60000, 4));
    fixture_stop(&f);
}

static void
a_message_that_nests_too_deep_is_an_invalid_argument(void **state)
{
    struct fixture *f = *state;
    enum {
        DEPTH = 300
    };
    Suite__Nested nested[DEPTH];
    Suite__Empty *reply;

    for (int i = 0; i < DEPTH; i++) {
        suite__nested__init(&nested[i]);
        nested[i].inner = i + 1 < DEPTH ? &nested[i + 1] : NULL;
    }

    assert_status(VC_INVALID_ARGUMENT,
                  suite_probe_nest(f->channel, &nested[0], NULL, &reply));

    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    nested[90].inner = NULL;
    assert_status(VC_OK,
                  suite_probe_nest(f->channel, &nested[0], NULL, &reply));
    vc_message_free(reply);
}

/* --- deadlines --------------------------------------------------------- */

static enum vc_status
call_sleep(struct vc_channel *channel, uint32_t ms, uint32_t timeout_ms,
           uint64_t *deadline_us)
{
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    Suite__SleepReply *reply;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_status status;

    request.milliseconds = ms;
    opts.timeout_ms = timeout_ms;
    status = suite_probe_sleep(channel, &request, &opts, &reply);
    if (status == VC_OK) {
        *deadline_us = reply->deadline_us;
        vc_message_free(reply);
    }
    return status;
}

static void
the_deadline_reaches_the_handler(void **state)
{
    struct fixture *f = *state;
    uint64_t left;

    assert_status(VC_OK, call_sleep(f->channel, 0, 60000, &left));
    assert_in_range(left, 30000000, 60000000);
    assert_status(VC_OK, call_sleep(f->channel, 0, VC_NO_DEADLINE, &left));
    assert_true(left == UINT64_MAX);
}

static void
a_call_ends_at_its_deadline_and_its_slot_comes_back(void **state)
{
    struct fixture *f = *state;
    uint64_t left, start;

    assert_status(VC_OK, fixture_echo(f->channel, 1, 1));
    start = fixture_ms();

    assert_status(VC_DEADLINE_EXCEEDED,
                  call_sleep(f->channel, 5000, 100, &left));

    assert_true(fixture_ms() - start >= 99);
    assert_in_range(pace_since(start), 0, 600);
    assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
    assert_status(VC_OK, fixture_echo(f->channel, 1, 2));
}

/* Starts a server whose engine no thread advances. */
static void
deaf_start(struct fixture *f)
{
    fixture_runtime_without_threads(&f->server_runtime);
    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &f->server));
    assert_status(VC_OK,
                  vc_server_listen(f->server, fixture_target(0, f->target)));
    if (!fixture_has_names())
        fixture_target(vc_server_port(f->server), f->target);
}

static void
a_call_that_never_reached_a_server_was_not_executed(void **state)
{
    struct fixture f = {0};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    (void)state;
    if (strcmp(fixture_scheme(), "rdma") != 0 || fixture_is_inproc())
        deaf_start(&f);
    else
        strcpy(f.target, "rdma://10.9.0.77:1"); /* no host has this address */
    fixture_start_client(&f, NULL);
    opts.timeout_ms = 50;

    assert_status(VC_DEADLINE_EXCEEDED,
                  suite_other_name(f.channel, &request, &opts, &reply));

    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    fixture_stop_client(&f);
    if (f.server != NULL)
        fixture_stop_server(&f);
}

/* --- very many calls --------------------------------------------------- */

/* Mostly short sizes, a few long ones, rarely the longest; the same each
 * time. */
static size_t
mixed_size(uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15u;

    x ^= x >> 29;
    if (i % 20000 == 19999)
        return LARGEST - AROUND;
    if (i % 1000 == 999)
        return x % 200000;
    if (i % 50 == 49)
        return x % 20000;
    return x % 600;
}

struct load {
    pthread_t thread;
    struct vc_channel *channel;
    unsigned first, step, calls;
    unsigned good;
};

static void *
load_run(void *arg)
{
    struct load *load = arg;

    for (unsigned i = load->first; i < load->calls; i += load->step) {
        if (fixture_echo(load->channel, mixed_size(i), i) == VC_OK)
            load->good++;
        else
            print_error("call %u: %s\n", i, vc_error());
    }
    return NULL;
}

/* These threads make many_calls() calls together; all must succeed. */
static void
load_with(struct vc_channel *channel, unsigned threads)
{
    struct load loads[8] = {{0}};
    unsigned calls = many_calls(), good = 0;

    for (unsigned i = 0; i < threads; i++) {
        loads[i] = (struct load){
            .channel = channel, .first = i, .step = threads, .calls = calls};
        assert_int_equal(
            0, pthread_create(&loads[i].thread, NULL, load_run, &loads[i]));
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(loads[i].thread, NULL);
        good += loads[i].good;
    }
    print_message("%u of %u calls were good\n", good, calls);
    assert_int_equal(calls, good);
}

static void
very_many_calls_of_one_thread_are_all_right(void **state)
{
    struct fixture *f = *state;

    load_with(f->channel, 1);
}

static void
very_many_calls_of_four_threads_are_all_right(void **state)
{
    struct fixture *f = *state;

    load_with(f->channel, 4);
}

static void
a_server_of_two_threads_serves_two_channels(void **state)
{
    struct fixture f;
    struct vc_channel *second;

    (void)state;
    fixture_start(&f, 2, NULL, NULL);
    assert_status(VC_OK, fixture_open_alone(f.runtime, f.target, &second));

    for (unsigned i = 0; i < 1000; i++) {
        assert_status(VC_OK, fixture_echo(f.channel, mixed_size(i), i));
        assert_status(VC_OK, fixture_echo(second, mixed_size(i), i));
    }
    vc_channel_close(second);
    fixture_stop(&f);
}

static void *
sleep_once(void *arg)
{
    struct load *load = arg;
    uint64_t left;

    if (call_sleep(load->channel, 2, VC_NO_DEADLINE, &left) == VC_OK)
        load->good++;
    return NULL;
}

static void
more_callers_than_slots_wait_for_their_turn(void **state)
{
    struct fixture *f = *state;
    enum {
        CALLERS = 300
    }; /* the server grants 256 slots */
    struct load *loads = calloc(CALLERS, sizeof *loads);

    for (unsigned i = 0; i < CALLERS; i++) {
        loads[i].channel = f->channel;
        assert_int_equal(
            0, pthread_create(&loads[i].thread, NULL, sleep_once, &loads[i]));
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(loads[i].thread, NULL);
        assert_int_equal(1, loads[i].good);
    }
    free(loads);
}

/* --- channels ---------------------------------------------------------- */

/* Calls at a time, on one connection, that are too many for it: this thread sees
 * no reply before it has made them all. */
static void
calls_at_a_time(struct fixture *f)
{
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    struct vc_completions *queue;
    struct vc_completion end;

    request.milliseconds = 2;
    assert_status(VC_OK, vc_completions_new(f->runtime, &queue));
    for (unsigned i = 0; i < 40; i++)
        assert_status(VC_OK, suite_probe_sleep_queued(f->channel, &request,
                                                      NULL, queue, NULL, NULL));
    for (unsigned i = 0; i < 40; i++) {
        assert_status(VC_OK, vc_completions_next(queue, 20000, &end));
        assert_status(VC_OK, end.status);
        vc_message_free(end.reply);
    }
    vc_completions_free(queue);
}

static uint64_t
links_made(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c.links_made;
}

/* At vc:// others are made by better transports, too. */
static void
a_busy_connection_gets_others_up_to_the_limit(void **state)
{
    struct fixture f;
    uint64_t due;

    (void)state;
    if (strcmp(fixture_scheme(), "vc") == 0)
        skip();
    fixture_start(&f, 1, NULL, VC_CHANNEL_OPTS(.max_links = 2));
    assert_status(VC_OK, fixture_echo(f.channel, 1, 1));
    assert_int_equal(1, links_made(f.runtime));
    due = fixture_ms() + 10000;
    while (links_made(f.runtime) < 2 && fixture_ms() < due)
        calls_at_a_time(&f);
    calls_at_a_time(&f);
    assert_int_equal(2, links_made(f.runtime));
    fixture_stop(&f);
}

static void
a_channel_reconnects_after_its_server_came_back(void **state)
{
    struct fixture f;
    uint64_t before;
    uint16_t port;

    (void)state;
    fixture_start(&f, 1, NULL, NULL);
    port = f.port;
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    before = links_made(f.runtime);
    fixture_stop_server(&f);

    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 2));

    fixture_start_server_at(&f, port, 1, NULL);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 3));
    /* At vc:// each server is reached by TCP and by shared memory, and the
     * first call may have used only the first link. */
    assert_in_range(before, 1, 2);
    assert_in_range(links_made(f.runtime), before + 1, 4);
    fixture_stop(&f);
}

static void
connecting_before_the_first_call_is_possible(void **state)
{
    struct fixture *f = *state;

    assert_status(VC_OK, vc_channel_connect(f->channel, &suite_probe_service));
    assert_status(VC_OK, vc_channel_connect(f->channel, &suite_probe_service));
    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
}

static void
a_client_with_library_threads_works_too(void **state)
{
    struct fixture *f = *state;

    assert_status(VC_OK, vc_runtime_start(f->runtime));
    for (unsigned i = 0; i < 100; i++)
        assert_status(VC_OK, fixture_echo(f->channel, i * 100, i));
    vc_runtime_stop(f->runtime);
    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
}

static void
channels_that_were_never_used_close(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;

    for (int i = 0; i < 10; i++) {
        assert_status(VC_OK,
                      vc_channel_open(f->runtime, f->target, NULL, &channel));
        vc_channel_close(channel);
    }
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void
the_library_is_of_the_version_of_its_headers(void **state)
{
    (void)state;
    assert_string_equal(VC_VERSION_STRING, vc_version());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_of_the_version_of_its_headers),
        T(every_size_comes_back_as_it_went),
        T(every_length_around_a_packet_comes_back),
        T(a_short_request_may_have_a_long_reply),
        cmocka_unit_test(a_reply_outlives_its_channel),
        T(a_handlers_status_and_text_reach_the_caller),
        T(a_status_that_does_not_exist_is_unknown),
        cmocka_unit_test(
            a_request_over_the_servers_limit_fails_and_the_link_lives),
        cmocka_unit_test(a_request_with_bytes_and_no_data_is_refused_by_name),
        cmocka_unit_test(
            a_reply_over_the_clients_limit_fails_and_the_link_lives),
        T(a_message_that_nests_too_deep_is_an_invalid_argument),
        T(the_deadline_reaches_the_handler),
        T(a_call_ends_at_its_deadline_and_its_slot_comes_back),
        cmocka_unit_test(a_call_that_never_reached_a_server_was_not_executed),
        T(very_many_calls_of_one_thread_are_all_right),
        T(very_many_calls_of_four_threads_are_all_right),
        cmocka_unit_test(a_server_of_two_threads_serves_two_channels),
        T(more_callers_than_slots_wait_for_their_turn),
        cmocka_unit_test(a_busy_connection_gets_others_up_to_the_limit),
        cmocka_unit_test(a_channel_reconnects_after_its_server_came_back),
        T(connecting_before_the_first_call_is_possible),
        T(a_client_with_library_threads_works_too),
        T(channels_that_were_never_used_close),
    };

    return fixture_main(tests);
}
