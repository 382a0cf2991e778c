/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a resolver may say (verbcall/resolver.h): types, sets that are refused,
 * metadata of servers, and servers that are connected ahead. */
#include "tests/suite/resolved.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/policy.h>

#include "tests/suite/pace.h"

#define MANY 1000u
/* Time for four sets of so many servers. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY_MS 10000
#else
#define MANY_MS 1000
#endif

/* --- sets ----------------------------------------------------------------- */

static void
set_fails(const struct vc_endpoint *endpoints, size_t n, const char *why)
{
    assert_status(VC_INVALID_ARGUMENT,
                  vc_resolver_set(app.resolver, endpoints, n));
    resolved_says(why);
}

/* The first of the two is good. */
static void
second_fails(struct resolved *w, struct vc_endpoint second, const char *why)
{
    struct vc_endpoint e[2] = {VC_ENDPOINT_INIT, second};

    e[0].target = w->servers[1].target;
    set_fails(e, 2, why);
}

static struct vc_endpoint
endpoint(const char *target)
{
    struct vc_endpoint e = VC_ENDPOINT_INIT;

    e.target = target;
    return e;
}

static void
bad_texts_are_refused(struct resolved *w)
{
    static char text[400];
    struct vc_endpoint e = endpoint("tcp://127.0.0.1:1");

    memset(text, 'a', sizeof text - 1);
    memcpy(text, "tcp://", 6);
    second_fails(w, endpoint(text), "vc_endpoint.target: \"tcp://aaa");
    text[VC_ENDPOINT_TARGET_MAX + 1] = '\0';
    second_fails(w, endpoint(text), "is longer than 319 bytes");
    text[VC_ENDPOINT_TEXT_MAX + 1] = '\0';
    e.label = text;
    second_fails(w, e, "vc_endpoint.label: \"tcp://aaa");
    text[VC_ENDPOINT_TEXT_MAX] = '\0';
    e.label = NULL;
    e.hash_key = text - 0;
    text[VC_ENDPOINT_TEXT_MAX] = 'a';
    second_fails(w, e, "vc_endpoint.hash_key: \"tcp://aaa");
}

static void
bad_numbers_are_refused(struct resolved *w)
{
    struct vc_endpoint e = endpoint("tcp://127.0.0.1:1");

    e.weight = VC_ENDPOINT_WEIGHT_MAX + 1;
    second_fails(w, e, "vc_endpoint.weight: 1000001");
    e.weight = 1;
    e.priority = VC_ENDPOINT_PRIORITY_MAX + 1;
    second_fails(w, e, "vc_endpoint.priority: 256");
    e.priority = 0;
    e.size = 0;
    second_fails(w, e, "VC_ENDPOINT_INIT");
    set_fails(&e, 1, "VC_ENDPOINT_INIT");
}

static void
bad_targets_are_refused(struct resolved *w)
{
    second_fails(w, endpoint(NULL), "vc_endpoint.target: there is none");
    second_fails(w, endpoint(""), "vc_endpoint.target: there is none");
    second_fails(w, endpoint("x://b:1"), "unknown scheme");
    second_fails(w, endpoint("app:it"), "unknown scheme");
    second_fails(w, endpoint("list:tcp://127.0.0.1:1"), "unknown scheme");
    second_fails(w, endpoint("tcp://127.0.0.1:0"), "port 0");
}

static void
bad_metadata_are_refused(struct resolved *w)
{
    static const struct vc_metadata entry = {.key = "Zone"};
    struct vc_endpoint e = endpoint("tcp://127.0.0.1:1");

    e.metadata = &entry;
    e.n_metadata = 1;
    second_fails(w, e, "vc_endpoint.metadata: entry 0: its key");
    e.n_metadata = SIZE_MAX;
    second_fails(w, e, "vc_endpoint.n_metadata: ");
}

/* Whether there are servers already, or not. */
static void
malformed_sets_are_refused_and_change_nothing(void **state)
{
    static struct vc_endpoint many[VC_ENDPOINTS_MAX + 1];
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    for (unsigned round = 0; round < 2; round++) {
        set_fails(many, 0, "0 endpoints: there must be 1 to 1024");
        set_fails(NULL, 1, "1 endpoints: there must be 1 to 1024");
        set_fails(many, VC_ENDPOINTS_MAX + 1, "1025 endpoints");
        bad_texts_are_refused(&w);
        bad_numbers_are_refused(&w);
        bad_metadata_are_refused(&w);
        bad_targets_are_refused(&w);
        if (round == 0)
            resolved_described(&w, "no servers: not known yet");
        else
            resolved_described(&w, "server 1 of 1, ");
        assert_status(VC_OK, resolved_set(&w, "0"));
        assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    }
    assert_int_equal(1, resolved_counters(&w).links_made);
    assert_int_equal(0, resolved_served(&w, 1));
    assert_status(VC_INVALID_ARGUMENT, vc_resolver_set(NULL, many, 1));
    resolved_stop(&w);
}

/* The longest texts, and the highest numbers. */
static void
the_limits_are_allowed(void **state)
{
    static char label[VC_ENDPOINT_TEXT_MAX + 1];
    struct vc_endpoint e = VC_ENDPOINT_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    memset(label, 'a', sizeof label - 1);
    e.target = w.servers[0].target;
    e.label = e.hash_key = label;
    e.weight = VC_ENDPOINT_WEIGHT_MAX;
    e.priority = VC_ENDPOINT_PRIORITY_MAX;
    assert_status(VC_OK, vc_resolver_set(app.resolver, &e, 1));
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_stop(&w);
}

static void
one_target_named_twice_counts_once(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start(&w, "round_robin");
    assert_status(VC_OK, resolved_set(&w, "0010"));
    resolved_described(&w, "server 2 of 2, ");
    resolved_await_ready(&w, 2);
    assert_status(VC_OK, resolved_set(&w, "11220201"));
    resolved_described(&w, "server 3 of 3, ");
    resolved_await_ready(&w, 3);
    assert_int_equal(3, resolved_counters(&w).links_made);
    resolved_stop(&w);
}

/* --- metadata ------------------------------------------------------------- */

/* The first server whose metadata say version 2. */
static uint32_t
version_pick(void *state, struct vc_pick *pick)
{
    (void)state;
    for (uint32_t i = 0; i < pick->n; i++) {
        const struct vc_metadata *m = pick->servers[i]->metadata;

        if (pick->servers[i]->n_metadata == 1 &&
            strcmp("version", m->key) == 0 && m->length == 1 &&
            strcmp("2", m->value) == 0)
            return i;
    }
    return VC_PICK_FAIL;
}

static const struct vc_policy_type version_type = {
    .size = sizeof version_type, .name = "version", .pick = version_pick};

/* Sets the servers 0 and 1 with these versions, from memory that is not valid
 * afterwards. */
static void
versions_set(struct resolved *w, char zero, char one)
{
    char values[2] = {zero, one}, key[] = "version";
    struct vc_metadata entries[2];
    struct vc_endpoint e[2];

    for (unsigned i = 0; i < 2; i++) {
        entries[i] =
            (struct vc_metadata){.key = key, .value = &values[i], .length = 1};
        e[i] = endpoint(w->servers[i].target);
        e[i].metadata = &entries[i];
        e[i].n_metadata = 1;
    }
    assert_status(VC_OK, vc_resolver_set(app.resolver, e, 2));
    memset(key, 'x', sizeof key - 1);
    memset(values, 'x', sizeof values);
    memset(entries, 'x', sizeof entries);
}

static void
a_policy_sees_new_metadata_of_servers_that_stay_connected(void **state)
{
    struct resolved w;
    unsigned by = 9;

    (void)state;
    assert_status(VC_OK, vc_policy_register(&version_type));
    resolved_start(&w, "version");
    for (unsigned round = 0; round < 4; round++) {
        versions_set(&w, round % 2 == 0 ? '2' : '1', '2');
        assert_status(VC_OK, resolved_call(&w, NULL, &by));
        assert_int_equal(round % 2, by);
    }
    assert_int_equal(2, resolved_counters(&w).links_made);
    assert_status(VC_OK, resolved_set(&w, "01"));
    assert_status(VC_UNAVAILABLE, resolved_call(&w, NULL, NULL));
    resolved_stop(&w);
}

/* --- ahead ---------------------------------------------------------------- */

/* Waits until server i of n is connected. */
static void
server_await_ready(const struct resolved *w, unsigned i, unsigned n)
{
    char line[200];

    snprintf(line, sizeof line, "server %u of %u, %s: ready, 0 calls", i + 1, n,
             w->servers[i].target);
    resolved_await_described(w, line);
}

/* When it is named, and again when it was lost. */
static void
a_server_is_connected_without_a_call(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start_servers(&w);
    opts.connect_ahead = &features_work_service;
    opts.connect_timeout_ms = opts.keepalive_ms = 8000; /* it may be stalled */
    assert_status(VC_OK,
                  vc_channel_open(w.runtime, "app:it", &opts, &w.channel));
    assert_status(VC_OK, resolved_set(&w, "0"));
    server_await_ready(&w, 0, 1);
    assert_status(VC_OK, resolved_set(&w, "01"));
    server_await_ready(&w, 1, 2);
    resolved_server_stop(&w, 0);
    resolved_server_start(&w, 0);
    server_await_ready(&w, 0, 2);
    assert_int_equal(0, resolved_served(&w, 0) + resolved_served(&w, 1));
    assert_status(VC_OK, resolved_set(&w, "1"));
    resolved_await_unused(&w, 0);
    resolved_stop(&w);
}

/* --- many ----------------------------------------------------------------- */

/* Sets the servers number `from` to from + MANY - 1, none of which is there,
 * from the last to the first if `back` is true. */
static void
many_set(unsigned from, bool back)
{
    static struct vc_endpoint e[MANY];
    static char targets[MANY][40];

    for (unsigned i = 0; i < MANY; i++) {
        unsigned n = from + (back ? MANY - 1 - i : i);

        snprintf(targets[i], sizeof targets[i], "inproc://many-%u", n);
        e[i] = endpoint(targets[i]);
    }
    assert_status(VC_OK, vc_resolver_set(app.resolver, e, MANY));
}

static void
a_thousand_servers_come_and_go_in_a_second(void **state)
{
    uint64_t began;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    began = fixture_ms();
    many_set(0, false);
    many_set(0, true);
    many_set(MANY / 2, false);
    many_set(0, false);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_in_range(pace_since(began), 0, MANY_MS);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_described(&w, "server 1 of 1, ");
    resolved_stop(&w);
}

/* --- types ---------------------------------------------------------------- */

static void
open_fails(struct resolved *w, enum vc_status status, const char *target,
           const char *why)
{
    struct vc_channel *channel;

    assert_status(status, vc_channel_open(w->runtime, target, NULL, &channel));
    resolved_says(why);
}

static void
a_resolver_that_refuses_its_target_fails_the_open(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start_servers(&w);
    app.refuses = VC_NOT_FOUND;
    open_fails(&w, VC_NOT_FOUND, "app:7", "target \"app:7\": ");
    app.why = "7 is no number of mine";
    open_fails(&w, VC_NOT_FOUND, "app:7",
               "target \"app:7\": 7 is no number of mine");
    assert_string_equal("app:7", app.target);
    app.first = "012"; /* servers, and then it refuses */
    open_fails(&w, VC_NOT_FOUND, "app:7", "target \"app:7\": ");
    assert_int_equal(3, atomic_load(&app.opens));
    assert_int_equal(0, atomic_load(&app.closes));
    open_fails(&w, VC_INVALID_ARGUMENT, "nope:7", "unknown scheme");
    open_fails(&w, VC_INVALID_ARGUMENT, "application:7", "unknown scheme");
    app.refuses = VC_OK;
    atomic_store(&app.opens, 0);
    resolved_open(&w, NULL);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_stop(&w);
}

static void
options_that_are_refused_open_no_resolver(void **state)
{
    struct vc_channel *none;
    struct resolved w;

    (void)state;
    resolved_start_servers(&w);
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(w.runtime, "app:7",
                                  VC_CHANNEL_OPTS(.transports = "pigeon"),
                                  &none));
    resolved_says("vc_channel_opts.transports \"pigeon\": ");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(w.runtime, "app:7",
                                  VC_CHANNEL_OPTS(.policy = "round_robin",
                                                  .require = "pigeon"),
                                  &none));
    assert_int_equal(0, atomic_load(&app.opens));
    resolved_open(&w, NULL);
    resolved_stop(&w);
}

static enum vc_status
nothing_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)r;
    (void)target;
    (void)state;
    return VC_OK;
}

static void
nothing_close(void *state)
{
    (void)state;
}

static struct vc_resolver_type
type_of(const char *scheme)
{
    return (struct vc_resolver_type){
        .size = sizeof(struct vc_resolver_type),
        .scheme = scheme,
        .open = nothing_open,
        .close = nothing_close,
    };
}

static void
register_fails(const struct vc_resolver_type *type, const char *why)
{
    assert_status(VC_INVALID_ARGUMENT, vc_resolver_register(type));
    resolved_says(why);
}

static void
malformed_types_are_refused(void **state)
{
    static const char *const schemes[] = {
        NULL,     "",       "App", "7up",     "a b",     "-a",
        "a:",     "a_b",    "tcp", "rdma",    "list",    "file",
        "shm",    "inproc", "vc",  "rdma+ib", "rdma+ud", "a234567890123456",
        "rdma+mc"};
    struct vc_resolver_type type = type_of("app");

    (void)state;
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct vc_resolver_type t = type_of(schemes[i]);

        register_fails(&t, "it must be 1 to 15 of a-z");
    }
    register_fails(NULL, "type is NULL");
    type.size--;
    register_fails(&type, "sizeof(struct vc_resolver_type)");
    type = type_of("app");
    assert_status(VC_OK, vc_resolver_register(&app_type));
    assert_status(VC_OK, vc_resolver_register(&app_type)); /* the same */
    register_fails(&type, "scheme app: it is registered with another type");
    type = type_of("other");
    type.open = NULL;
    register_fails(&type, "scheme other: open or close is NULL");
    type = type_of("other");
    type.close = NULL;
    register_fails(&type, "scheme other: open or close is NULL");
}

/* Runs last: no type is ever forgotten. */
static void
there_are_at_most_sixteen_types(void **state)
{
    static struct vc_resolver_type types[16];
    static char names[16][16];
    unsigned n = 0;
    enum vc_status status;

    (void)state;
    assert_status(VC_OK, vc_resolver_register(&app_type));
    do {
        assert_in_range(n, 0, 15);
        snprintf(names[n], sizeof names[n], "a2345678901234%x", n % 16);
        types[n] = type_of(names[n]);
        status = vc_resolver_register(&types[n++]);
    } while (status == VC_OK);
    assert_status(VC_RESOURCE_EXHAUSTED, status);
    resolved_says("there are 16 types already");
    assert_status(VC_OK, vc_resolver_register(&app_type));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(malformed_sets_are_refused_and_change_nothing),
        T(the_limits_are_allowed),
        T(one_target_named_twice_counts_once),
        T(a_policy_sees_new_metadata_of_servers_that_stay_connected),
        T(a_server_is_connected_without_a_call),
        T(a_thousand_servers_come_and_go_in_a_second),
        T(a_resolver_that_refuses_its_target_fails_the_open),
        T(options_that_are_refused_open_no_resolver),
        T(malformed_types_are_refused),
        T(there_are_at_most_sixteen_types),
    };

    return fixture_main(tests);
}
