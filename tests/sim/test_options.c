/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ranges that the headers promise. The least and the largest value of each
 * option are accepted, and a value beyond either is refused. The error text
 * names the option and the value. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/rdma.h>
#include <verbcall/stream.h>

#include "tests/sim/sim.h"

#define KIB   UINT64_C(1024)
#define MIB   (1024 * KIB)
#define GIB   (1024 * MIB)
#define NONE  UINT64_MAX
#define NAMES 63u /* longest name of a server, in bytes */

/* --- the table ----------------------------------------------------------- */

enum object {
    RUNTIME,
    CHANNEL,
    SERVER,
    RDMA /* options of channels and of servers */
};

/* An integer option of one of the structures. 0 stands for the default, so no
 * value below a least value of 1 can be refused. */
struct row {
    enum object object;
    const char *option;
    size_t offset, width;
    uint64_t least, most; /* most: NONE if unlimited */
    uint64_t off;         /* a special value beyond the range; or NONE */
};

#define ROW(object, type, field, least, most, off)                             \
    {                                                                          \
        object, #field, offsetof(struct type, field),                          \
            sizeof((struct type *)NULL)->field, least, most, off               \
    }
#define OF_RUNTIME(...) ROW(RUNTIME, vc_runtime_opts, __VA_ARGS__)
#define OF_CHANNEL(...) ROW(CHANNEL, vc_channel_opts, __VA_ARGS__)
#define OF_SERVER(...)  ROW(SERVER, vc_server_opts, __VA_ARGS__)
#define OF_RDMA(...)    ROW(RDMA, vc_rdma_opts, __VA_ARGS__)

static const struct row rows[] = {
    OF_RUNTIME(threads, 1, 64, VC_THREADS_NONE),
    OF_RUNTIME(spin_us, 1, 1000000, VC_SPIN_NEVER),
    OF_RUNTIME(memory_limit, 384 * KIB, NONE, NONE),
    OF_RUNTIME(warm_qps, 1, 4096, VC_WARM_NONE),
    OF_RUNTIME(max_links, 1, 65536, NONE),
    OF_RUNTIME(handler_threads, 1, 4096, NONE),

    OF_CHANNEL(connect_timeout_ms, 1, 600000, NONE),
    OF_CHANNEL(call_timeout_ms, 1, INT32_MAX, VC_NO_DEADLINE),
    OF_CHANNEL(max_message, 4 * KIB, GIB / 4, NONE),
    OF_CHANNEL(min_links, 1, 1024, NONE),
    OF_CHANNEL(max_links, 1, 1024, NONE),
    OF_CHANNEL(idle_timeout_ms, 1, INT32_MAX, NONE),
    OF_CHANNEL(weight, 1, 256, NONE),
    OF_CHANNEL(quota, 1, 4 * GIB - 1, NONE),
    OF_CHANNEL(keepalive_ms, 100, 3600000, VC_KEEPALIVE_OFF),
    OF_CHANNEL(max_attempts, 1, 100, NONE),
    OF_CHANNEL(retry_backoff_ms, 1, 60000, NONE),
    OF_CHANNEL(connect_delay_ms, 100, 2000, NONE),

    OF_SERVER(max_message, 4 * KIB, GIB / 4, NONE),
    OF_SERVER(max_links, 1, 65536, NONE),
    OF_SERVER(handshake_timeout_ms, 1, 600000, NONE),
    OF_SERVER(keepalive_ms, 100, 3600000, VC_KEEPALIVE_OFF),
    OF_SERVER(stream_stall_ms, 10, 3600000, VC_STREAM_STALL_OFF),
    OF_SERVER(max_half_open, 1, 65536, NONE),
    OF_SERVER(connects_per_second, 1, 1000000, NONE),
    OF_SERVER(connects_per_second_source, 1, 1000000, NONE),
    OF_SERVER(max_sessions, 1, 1048576, NONE),
    OF_SERVER(max_memory, 16 * MIB, NONE, NONE),
    OF_SERVER(adaptive_limit, 3, 65536, NONE),
    OF_SERVER(shm_mode, 1, 0777, NONE),
    OF_SERVER(ipv6_only, 1, 1, NONE),
    OF_SERVER(reuse_address, 1, 1, NONE),
    OF_SERVER(load_reports, 1, 1, NONE),
    OF_SERVER(schema_check, 1, 2, NONE),
    OF_SERVER(client_max_message, 4096, 256 * MIB, NONE),
    OF_SERVER(client_packets, 4, 65535, NONE),

    OF_RDMA(responder_resources, 1, 255, VC_RDMA_NONE),
    OF_RDMA(initiator_depth, 1, 255, VC_RDMA_NONE),
    OF_RDMA(flow_control, 1, 1, NONE),
    OF_RDMA(retry_count, 1, 6, VC_RDMA_NONE),
    OF_RDMA(rnr_retry_count, 1, 6, VC_RDMA_NONE),
    OF_RDMA(ack_timeout, 1, 31, NONE),
    OF_RDMA(min_rnr_timer, 1, 31, NONE),
    OF_RDMA(tos, 1, 255, NONE),
};
#define ROWS (sizeof rows / sizeof rows[0])

static struct vc_runtime *runtime;

/* --- each object with one option set ------------------------------------- */

static void
field_set(void *opts, const struct row *r, uint64_t value)
{
    uint8_t *at = (uint8_t *)opts + r->offset;

    if (r->width == sizeof(uint32_t))
        memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    else
        memcpy(at, &(size_t){(size_t)value}, sizeof(size_t));
}

static enum vc_status
runtime_try(const struct row *r, uint64_t value)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_runtime *made = NULL;
    enum vc_status status;

    field_set(&opts, r, value);
    status = vc_runtime_new(&opts, &made);
    assert_int_equal(made != NULL, status == VC_OK);
    vc_runtime_free(made);
    return status;
}

static enum vc_status
channel_try(const struct row *r, uint64_t value)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *made = NULL;
    enum vc_status status;

    field_set(&opts, r, value);
    status = vc_channel_open(runtime, "rdma://10.9.0.2:7471", &opts, &made);
    assert_int_equal(made != NULL, status == VC_OK);
    vc_channel_close(made);
    return status;
}

static enum vc_status
server_try(const struct row *r, uint64_t value)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_server *made = NULL;
    enum vc_status status;

    field_set(&opts, r, value);
    status = vc_server_new(runtime, &opts, &made);
    assert_int_equal(made != NULL, status == VC_OK);
    vc_server_free(made);
    return status;
}

static enum vc_status
rdma_try(const struct row *r, uint64_t value)
{
    struct vc_rdma_opts opts = VC_RDMA_OPTS_INIT;
    struct vc_channel *channel = NULL;
    struct vc_server *server = NULL;
    enum vc_status status;

    field_set(&opts, r, value);
    status = vc_channel_open(runtime, "rdma://10.9.0.2:7471",
                             VC_CHANNEL_OPTS(.rdma = &opts), &channel);
    assert_int_equal(channel != NULL, status == VC_OK);
    assert_int_equal(
        vc_server_new(runtime, VC_SERVER_OPTS(.rdma = &opts), &server), status);
    assert_int_equal(server != NULL, status == VC_OK);
    vc_channel_close(channel);
    vc_server_free(server);
    return status;
}

static enum vc_status
row_try(const struct row *r, uint64_t value)
{
    switch (r->object) {
    case RUNTIME:
        return runtime_try(r, value);
    case CHANNEL:
        return channel_try(r, value);
    case RDMA:
        return rdma_try(r, value);
    default:
        return server_try(r, value);
    }
}

/* --- what is accepted, and what is not ----------------------------------- */

static void
row_accepts(const struct row *r, uint64_t value)
{
    if (row_try(r, value) != VC_OK)
        fail_msg("%s: %" PRIu64 " is refused: %s", r->option, value,
                 vc_error());
}

/* The text of a refusal names the option and the value; a mode is in octal. */
static void
assert_named(const char *option, uint64_t value)
{
    bool is_mode = strcmp(option, "shm_mode") == 0;
    char number[24];

    snprintf(number, sizeof number, is_mode ? "%" PRIo64 : "%" PRIu64, value);
    if (strstr(vc_error(), option) == NULL ||
        strstr(vc_error(), number) == NULL)
        fail_msg("%s: %s is refused by \"%s\"", option, number, vc_error());
}

static void
row_refuses(const struct row *r, uint64_t value)
{
    enum vc_status status = row_try(r, value);

    if (status != VC_INVALID_ARGUMENT)
        fail_msg("%s: %" PRIu64 " gives %s", r->option, value,
                 vc_status_name(status));
    assert_named(r->option, value);
}

static void
row_check(const struct row *r)
{
    row_accepts(r, 0);
    row_accepts(r, r->least);
    if (r->least > 1)
        row_refuses(r, r->least - 1);
    if (r->most != NONE) {
        row_accepts(r, r->most);
        row_refuses(r, r->most + 1);
    }
    if (r->off != NONE) {
        row_accepts(r, r->off);
        row_refuses(r, r->off - 1);
    }
}

static void
options_are_accepted_within_their_ranges_and_named_when_they_are_not(
    void **state)
{
    (void)state;
    sim_begin(1, 0, false);
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    for (size_t i = 0; i < ROWS; i++)
        row_check(&rows[i]);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

/* --- other options, and pairs --------------------------------------------- */

static void
links_try(unsigned min, unsigned max, enum vc_status expected)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *made = NULL;

    opts.min_links = min;
    opts.max_links = max;
    assert_int_equal(
        vc_channel_open(runtime, "rdma://10.9.0.2:7471", &opts, &made),
        expected);
    if (expected != VC_OK) {
        assert_named("min_links", min);
        assert_named("max_links", max);
    }
    vc_channel_close(made);
}

static void
min_links_is_at_most_max_links(void **state)
{
    (void)state;
    sim_begin(1, 0, false);
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    links_try(7, 7, VC_OK);
    links_try(8, 7, VC_INVALID_ARGUMENT);
    links_try(1024, 1024, VC_OK);
    /* This is more than the default of max_links, which is then raised to
     * it. */
    links_try(5, 0, VC_OK);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

static enum vc_status
name_try(const char *name)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_server *made = NULL;
    enum vc_status status;

    opts.name = name;
    status = vc_server_new(runtime, &opts, &made);
    vc_server_free(made);
    return status;
}

static void
a_name_has_at_most_63_bytes(void **state)
{
    char name[NAMES + 2] = "";

    (void)state;
    sim_begin(1, 0, false);
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(name_try(name), VC_OK);
    memset(name, 'n', NAMES);
    assert_int_equal(name_try(name), VC_OK);
    name[NAMES] = 'n';
    assert_int_equal(name_try(name), VC_INVALID_ARGUMENT);
    assert_named("name", NAMES);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

static enum vc_status
hash_key_try(const char *key)
{
    struct vc_channel *made = NULL;
    enum vc_status status = vc_channel_open(
        runtime, "list:rdma://10.9.0.2:7471",
        VC_CHANNEL_OPTS(.policy = "ring_hash", .hash_metadata = key), &made);

    vc_channel_close(made);
    return status;
}

static void
hash_metadata_is_a_key_that_calls_can_have(void **state)
{
    char key[129] = "";

    (void)state;
    sim_begin(1, 0, false);
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(hash_key_try(""), VC_OK); /* as NULL */
    assert_int_equal(hash_key_try("x-user_id.0-bin"), VC_OK);
    assert_int_equal(hash_key_try("user id"), VC_INVALID_ARGUMENT);
    assert_int_equal(hash_key_try("User-Id"), VC_INVALID_ARGUMENT);
    assert_non_null(strstr(vc_error(), "hash_metadata: User-Id: it must be a "
                                       "key of metadata: 1 to 127 of a-z"));
    memset(key, 'k', 127);
    assert_int_equal(hash_key_try(key), VC_OK);
    key[127] = 'k';
    assert_int_equal(hash_key_try(key), VC_INVALID_ARGUMENT);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

/* --- the options of calls ------------------------------------------------- */

/* The three ways to start a call. */
static enum vc_status
blocking_try(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    return sim_echo_opts(channel, 64, 1, opts, NULL);
}

static void
done(enum vc_status status, Suite__EchoReply *reply, void *arg)
{
    (void)status;
    (void)arg;
    vc_message_free(reply);
}

static enum vc_status
async_try(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_async *call = NULL;
    enum vc_status status =
        suite_probe_echo_async(channel, &request, opts, done, NULL, &call);

    vc_async_free(call);
    return status;
}

static enum vc_status
stream_try(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    struct suite_streams_talk_client_stream *stream = NULL;
    enum vc_status status = suite_streams_talk(channel, opts, &stream);

    if (stream != NULL)
        suite_streams_talk_close(stream);
    return status;
}

static void
timeouts_try(struct vc_channel *channel,
             enum vc_status (*try)(struct vc_channel *,
                                   const struct vc_call_opts *))
{
    static const struct {
        uint32_t ms;
        enum vc_status status;
    } of[] = {
        {0, VC_OK},
        {INT32_MAX, VC_OK},
        {(uint32_t)INT32_MAX + 1, VC_INVALID_ARGUMENT},
        {VC_NO_DEADLINE - 1, VC_INVALID_ARGUMENT},
        {VC_NO_DEADLINE, VC_OK},
    };

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;

        opts.timeout_ms = of[i].ms;
        assert_int_equal(try(channel, &opts), of[i].status);
        if (of[i].status != VC_OK)
            assert_named("timeout_ms", of[i].ms);
    }
}

/* 1 ms is enough for a call in the simulated world, once there is a link. */
static void
a_call_takes_a_timeout_within_its_range_whatever_begins_it(void **state)
{
    struct vc_call_opts least = VC_CALL_OPTS_INIT;
    struct sim_server server = {.process = NULL};
    struct vc_channel *channel;

    (void)state;
    sim_begin(1, 0, false);
    sim_target("10.9.0.2", server.target);
    sim_server_start(&server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&server));
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, server.target, NULL, &channel),
                     VC_OK);
    assert_int_equal(sim_echo(channel, 64, 1, 0, NULL), VC_OK);
    least.timeout_ms = 1;
    assert_int_equal(blocking_try(channel, &least), VC_OK);
    timeouts_try(channel, blocking_try);
    timeouts_try(channel, async_try);
    timeouts_try(channel, stream_try);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_true(sim_server_stop(&server));
    assert_int_equal(fake_end(), 0);
}

/* --- structures that grow ------------------------------------------------- */

/* A program that was built with an older header sets an older `size`. Fields
 * after that size are not read. */
static void
what_lies_behind_an_older_structure_is_not_read(void **state)
{
    struct vc_runtime_opts r = VC_RUNTIME_OPTS_INIT;
    struct vc_channel_opts c = VC_CHANNEL_OPTS_INIT;
    struct vc_server_opts s = VC_SERVER_OPTS_INIT;
    struct vc_channel *channel;
    struct vc_server *server;

    (void)state;
    sim_begin(1, 0, false);
    r.size = offsetof(struct vc_runtime_opts, max_links);
    r.max_links = UINT_MAX;
    c.size = offsetof(struct vc_channel_opts, max_attempts);
    c.max_attempts = UINT_MAX;
    s.size = offsetof(struct vc_server_opts, max_sessions);
    s.max_sessions = UINT_MAX;
    assert_int_equal(vc_runtime_new(&r, &runtime), VC_OK);
    assert_int_equal(
        vc_channel_open(runtime, "rdma://10.9.0.2:7471", &c, &channel), VC_OK);
    assert_int_equal(vc_server_new(runtime, &s, &server), VC_OK);
    vc_server_free(server);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(options_are_accepted_within_their_ranges_and_named_when_they_are_not),
        T(min_links_is_at_most_max_links),
        T(hash_metadata_is_a_key_that_calls_can_have),
        T(a_name_has_at_most_63_bytes),
        T(a_call_takes_a_timeout_within_its_range_whatever_begins_it),
        T(what_lies_behind_an_older_structure_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
