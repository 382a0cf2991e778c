/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/negotiated.h. A client with another schema has a copy of the
 * generated table, with another fingerprint. */
#include "tests/suite/negotiated.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "cm/connect/features.h"
#include "rpc/runtime.h"
#include "tests/suite/feature.h"
#include "tests/suite/hostile.h"

#define COUNT 3 /* the index of this method in suite.Probe */

static struct vc_service other_work;

static struct vc_counters
server_counters(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    return c;
}

static void
start_with(struct fixture *f, uint32_t schema_check)
{
    other_work = features_work_service;
    other_work.fingerprint ^= 0x00100000;
    features_start(f, VC_SERVER_OPTS(.schema_check = schema_check), NULL);
}

/* Makes a call of features.Work with this table. */
static enum vc_status
work(struct vc_channel *channel, const struct vc_service *service)
{
    Features__Order order = features_order(1, "call");
    void *reply = NULL;
    enum vc_status status = vc_channel_call(
        channel, service, FEATURES_WORK_ONCE, &order, NULL, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static void
assert_work_refused(struct vc_channel *channel, const char *text)
{
    assert_status(VC_FAILED_PRECONDITION, work(channel, &other_work));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    if (strstr(vc_error(), text) == NULL)
        fail_msg("no \"%s\" in: %s", text, vc_error());
}

void
another_schema_is_refused_where_the_server_asks_for_it(void **state)
{
    struct vc_counters c;
    struct fixture f;

    (void)state;
    start_with(&f, VC_SCHEMA_REFUSE);
    /* By a reject, as the hello has the fingerprint of the first service. */
    assert_work_refused(f.channel, "schemas of the service differ: client ");
    assert_non_null(strstr(vc_error(), "build both from one .proto"));
    c = server_counters(&f);
    assert_int_equal(1, c.rejects_schema);

    /* By a reply, as another service has the link. */
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    assert_work_refused(f.channel, "schema of the service is not the server's");
    assert_status(VC_OK, fixture_echo(f.channel, 10, 2));
    assert_int_equal(0, atomic_load(&features_seen.begun));
    c = server_counters(&f);
    assert_int_equal(1, c.rejects_schema);
    assert_int_equal(1, c.schemas_differ);

    assert_status(VC_OK, work(f.channel, &features_work_service));
    features_stop(&f);
}

/* --- the log ----------------------------------------------------------- */

static atomic_uint warned;
static char warning[512];

static void
on_line(enum vc_log_level level, const char *line, void *arg)
{
    (void)arg;
    if (strstr(line, "another schema") == NULL)
        return;
    assert_int_equal(VC_LOG_WARNING, level);
    snprintf(warning, sizeof warning, "%s", line);
    atomic_fetch_add(&warned, 1);
}

void
another_schema_is_served_with_a_warning_once_per_client(void **state)
{
    struct vc_channel *first, *second; /* share their links */
    struct fixture f;

    (void)state;
    atomic_store(&warned, 0);
    fixture_log = on_line;
    start_with(&f, VC_SCHEMA_WARN);
    fixture_log = NULL;
    assert_status(VC_OK, vc_channel_open(f.runtime, f.target, NULL, &first));
    assert_status(VC_OK, vc_channel_open(f.runtime, f.target, NULL, &second));

    assert_status(VC_OK, work(first, &other_work));
    assert_status(VC_OK, work(first, &other_work));
    assert_status(VC_OK, work(second, &other_work)); /* a further session */
    assert_status(VC_OK, work(second, &features_work_service));

    assert_int_equal(2, server_counters(&f).schemas_differ);
    assert_int_equal(0, server_counters(&f).rejects_schema);
    assert_int_equal(1, atomic_load(&warned));
    assert_non_null(strstr(warning, "another schema of features.Work ("));
    assert_non_null(strstr(warning, "used as it is"));
    vc_channel_close(first);
    vc_channel_close(second);
    features_stop(&f);
}

void
nothing_is_compared_unless_the_server_asks_for_it(void **state)
{
    struct fixture f;

    (void)state;
    start_with(&f, 0);
    assert_status(VC_OK, work(f.channel, &other_work));
    assert_int_equal(0, server_counters(&f).schemas_differ);
    features_stop(&f);
}

void
an_accepted_schema_is_as_good_as_the_servers_own(void **state)
{
    uint32_t accepted[] = {1, 2};
    struct fixture f;

    (void)state;
    start_with(&f, VC_SCHEMA_REFUSE);
    accepted[1] = other_work.fingerprint;
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    assert_work_refused(f.channel, "compat=");

    /* Of another service the same number says nothing. */
    assert_status(VC_OK, vc_server_schema_accept(f.server, &suite_probe_service,
                                                 accepted, 2));
    assert_work_refused(f.channel, "compat=");
    assert_status(VC_OK, vc_server_schema_accept(
                             f.server, &features_work_service, accepted, 2));

    /* The session that was refused is served from now on, too. */
    assert_status(VC_OK, work(f.channel, &other_work));
    vc_channel_close(f.channel);
    assert_status(VC_OK,
                  vc_channel_open(f.runtime, f.target, NULL, &f.channel));
    assert_status(VC_OK, work(f.channel, &other_work));
    assert_int_equal(0, server_counters(&f).rejects_schema);
    features_stop(&f);
}

/* --- older clients ------------------------------------------------------- */

/* Returns the status of the first call of a session. */
static unsigned
call_of_session(struct raw *r, uint32_t session, uint16_t method)
{
    struct vc__frame call = {.type = VC__FRAME_CALL,
                             .session = session,
                             .sequence = 1,
                             .method = method,
                             .deadline = VC__DEADLINE_NONE};
    struct vc__frame reply;

    assert_true(raw_send_frame(r, call));
    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, &call, &reply));
    return reply.method;
}

/* Its OPENs have no fingerprint. */
void
an_older_client_is_judged_by_its_hello_and_else_refused(void **state)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc_service probe = suite_probe_service;
    struct raw r = {.hoards = false};
    uint8_t bytes[VC__HELLO_SIZE];
    struct vc__reject reject;
    const uint32_t none = 0;
    struct fixture f;

    (void)state;
    start_with(&f, VC_SCHEMA_REFUSE);
    other_work.fingerprint = probe.fingerprint = 0;
    assert_true(raw_open(&r, f.target, &hello));
    assert_true(raw_send_open(&r, 1, &probe));
    assert_int_equal(VC_OK, call_of_session(&r, 1, COUNT));
    assert_true(raw_send_open(&r, 2, &other_work));
    assert_int_equal(VC_FAILED_PRECONDITION,
                     call_of_session(&r, 2, FEATURES_WORK_ONCE));

    assert_status(VC_OK, vc_server_schema_accept(
                             f.server, &features_work_service, &none, 1));
    assert_true(raw_send_open(&r, 3, &other_work));
    assert_int_equal(VC_OK, call_of_session(&r, 3, FEATURES_WORK_ONCE));
    raw_close(&r);

    hello.fingerprint ^= 1;
    vc__hello_put(bytes, &hello);
    assert_int_equal(RAW_REJECTED,
                     raw_connect(&r, f.target, bytes, sizeof bytes));
    assert_int_equal(VC__SAID_OK, vc__reject_get(&reject, r.said, r.said_len));
    assert_int_equal(VC__REJECT_SCHEMA, reject.reason);
    raw_close(&r);
    features_stop(&f);
}

/* --- counter-offers ------------------------------------------------------ */

#define LEAST 16384u /* client_max_message */

static void
assert_echo(struct vc_channel *channel, size_t size, enum vc_status status)
{
    assert_status(status, fixture_echo(channel, size, 1));
}

void
a_client_takes_the_counter_offer_of_the_server(void **state)
{
    struct vc_counters c;
    struct fixture f;

    (void)state;
    features_start(
        &f, VC_SERVER_OPTS(.client_max_message = LEAST, .client_packets = 4),
        NULL);
    for (unsigned i = 0; i < 20; i++)
        assert_echo(f.channel, LEAST / 2, VC_OK);
    assert_echo(f.channel, LEAST, VC_RESOURCE_EXHAUSTED);
    c = server_counters(&f);
    assert_in_range(c.rejects_limit, 1, 2 * c.links_server);
    features_stop(&f);

    features_start(&f,
                   VC_SERVER_OPTS(.client_max_message = VC__MESSAGE_MAX,
                                  .client_packets = 32),
                   NULL);
    assert_echo(f.channel, LEAST, VC_OK);
    assert_int_equal(0, server_counters(&f).rejects_limit);
    features_stop(&f);
}

/* Rejects a further link of the token with these features; returns the features
 * that the server offers then. */
static uint32_t
features_offered(struct fixture *f, uint64_t token, uint32_t features)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];
    struct raw r = {.hoards = false};
    struct vc__reject reject;

    hello.flags = VC__HELLO_POOL;
    hello.service = 0;
    hello.pool_token = token;
    hello.features = features;
    vc__hello_put(bytes, &hello);
    assert_int_equal(RAW_REJECTED,
                     raw_connect(&r, f->target, bytes, sizeof bytes));
    assert_int_equal(VC__SAID_OK, vc__reject_get(&reject, r.said, r.said_len));
    assert_int_equal(VC__REJECT_LIMIT, reject.reason);
    raw_close(&r);
    return reject.features;
}

void
a_further_link_gets_the_features_of_the_first_as_an_offer(void **state)
{
    const uint32_t first = VC__FEATURES_SAID | VC__FEATURES_FIRST;
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct raw r = {.hoards = false}, second = {.hoards = false};
    struct vc__accept accept;
    struct fixture f;

    (void)state;
    start_with(&f, 0);
    hello.features = first;
    assert_true(raw_open(&r, f.target, &hello));
    assert_int_equal(VC__SAID_OK, vc__accept_get(&accept, r.said, r.said_len));

    assert_int_equal(first, features_offered(&f, accept.pool_token,
                                             first | VC__FEATURE_CUT));
    /* It lacks one: nothing that it could take. */
    assert_int_equal(
        0, features_offered(&f, accept.pool_token, first & ~VC__FEATURE_LONG));
    hello.flags = VC__HELLO_POOL;
    hello.service = 0;
    hello.pool_token = accept.pool_token;
    assert_true(raw_open(&second, f.target, &hello));
    raw_close(&second);
    raw_close(&r);
    features_stop(&f);
}
