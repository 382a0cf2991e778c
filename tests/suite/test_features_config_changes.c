/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Service configs that change: by their file, or by the resolver. */
#include "tests/suite/configured.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "modules/config/config.h"
#include "tests/suite/own_policies.h"
#include "tests/suite/resolved.h"

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
    char text[sizeof refused];
    struct vc_channel *none;
    struct fixture f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(option, sizeof option, "file://%s", path);
    file_write(ALL("\"timeout\":\"100s\""));
    fixture_log = on_line;
    configured_start(&f, option);
    fixture_log = NULL;
    assert_status(VC_OK, vc_channel_intercept(f.channel, &configured_sees));
    assert_int_equal(100, configured_timeout(&f, ONCE, NULL));
    fixture_await(&n_forced, 1);

    file_write(ALL("\"timeout\":\"200s\""));
    fixture_await(&n_forced, 2);
    assert_int_equal(200, configured_timeout(&f, ONCE, NULL));

    file_write("{\n\"methodConfig\":[{\"timeout\":\"3\"}]}");
    fixture_await(&n_refused, 1);
    snprintf(
        text, sizeof text,
        "channel to %s: service config: the file %s is refused: "
        "methodConfig[0].timeout: must be a duration of at "
        "most 315576000000 seconds, as \"1.5s\"; the former one stays in force",
        f.target, path);
    assert_string_equal(text, refused);
    assert_int_equal(200, configured_timeout(&f, ONCE, NULL));
    snprintf(text, sizeof text, "service config 2 of %s, since 20", path);
    described_has(f.channel, text);
    described_has(f.channel, ": the file ");
    described_has(f.channel, " is refused: methodConfig[0].timeout: ");

    file_write("{\n\"a\" 1}");
    fixture_await(&n_refused, 2);
    assert_non_null(strstr(refused, " is refused: line 2, column "));

    file_write(
        ALL("\"timeout\":\"300s\",\"hedgingPolicy\":{\"maxAttempts\":3}"));
    fixture_await(&n_forced, 3);
    assert_int_equal(300, configured_timeout(&f, ONCE, NULL));
    described_has(f.channel,
                  "hedgingPolicy.maxAttempts: 2 attempts are made at most");
    assert_int_equal(0, atomic_load(&n_strange));
    /* a channel that cannot be opened leaves the file */
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(f.runtime, "what",
                                  VC_CHANNEL_OPTS(.service_config = option),
                                  &none));
    features_stop(&f);
    unlink(path);
    rmdir(folder);
}

static atomic_bool lacks_memory;

static void *
jansson_allocate(size_t size)
{
    return atomic_load(&lacks_memory) ? NULL : malloc(size);
}

/* It is read again without a change, and no fault of its text is reported. */
static void
a_file_for_which_memory_is_short_is_read_again(void **state)
{
    unsigned forced = atomic_load(&n_forced), before = atomic_load(&n_refused);
    struct vc_channel *none;
    struct fixture f;

    (void)state;
    json_set_alloc_funcs(jansson_allocate, free);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(option, sizeof option, "file://%s", path);
    file_write(ALL("\"timeout\":\"100s\""));
    fixture_log = on_line;
    configured_start(&f, option);
    fixture_log = NULL;
    assert_status(VC_OK, vc_channel_intercept(f.channel, &configured_sees));
    fixture_await(&n_forced, forced + 1);

    atomic_store(&lacks_memory, true);
    file_write(ALL("\"timeout\":\"200s\""));
    fixture_await(&n_refused, before + 1);
    assert_non_null(strstr(refused, " is refused: out of memory for a "));
    assert_status(VC_RESOURCE_EXHAUSTED,
                  vc_channel_open(f.runtime, f.target,
                                  VC_CHANNEL_OPTS(.service_config = "{}"),
                                  &none));
    assert_status(VC_RESOURCE_EXHAUSTED,
                  vc_channel_open(f.runtime, f.target,
                                  VC_CHANNEL_OPTS(.service_config = option),
                                  &none));
    atomic_store(&lacks_memory, false);
    fixture_await(&n_forced, forced + 2);
    assert_int_equal(200, configured_timeout(&f, ONCE, NULL));
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

    (void)state;
    resolved_start_servers(&w);
    opts.service_config = ALL("\"timeout\":\"100s\"");
    assert_status(VC_OK,
                  vc_channel_open(w.runtime, "app:it", &opts, &w.channel));
    assert_status(VC_OK, resolved_set(&w, "012"));
    w.servers[0].channel = w.channel;
    assert_status(VC_OK, vc_channel_intercept(w.channel, &configured_sees));
    assert_int_equal(100, configured_timeout(&w.servers[0], ONCE, NULL));

    assert_status(
        VC_OK, vc_resolver_config(app.resolver, ALL("\"timeout\":\"200s\"")));
    assert_int_equal(200, configured_timeout(&w.servers[0], ONCE, NULL));
    described_has(w.channel, "service config 2 of the resolver, since ");

    assert_status(VC_INVALID_ARGUMENT, vc_resolver_config(app.resolver, "[]"));
    assert_string_equal(
        "that of the resolver is refused: the text must be an object, {...}",
        vc_error());
    assert_int_equal(200, configured_timeout(&w.servers[0], ONCE, NULL));
    described_has(
        w.channel,
        ": that of the resolver is refused: the text must be an object, {...}");

    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    assert_int_equal(100, configured_timeout(&w.servers[0], ONCE, NULL));
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
    assert_status(
        VC_OK,
        vc_resolver_config(app.resolver,
                           "{\"loadBalancingConfig\":[{\"round_robin\":{}}]}"));
    resolved_await_ready(&w, 3);
    assert_int_equal(3, spread(&w, 3));
    assert_status(
        VC_OK,
        vc_resolver_config(app.resolver,
                           "{\"loadBalancingConfig\":[{\"pick_first\":{}}]}"));
    assert_int_equal(1, spread(&w, 20));
    assert_status(
        VC_OK, vc_resolver_config(app.resolver,
                                  "{\"loadBalancingPolicy\":\"Round_Robin\"}"));
    assert_int_equal(3, spread(&w, 3));
    /* without a policy that of the program counts */
    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    assert_int_equal(1, spread(&w, 20));

    assert_status(
        VC_INVALID_ARGUMENT,
        vc_resolver_config(
            app.resolver,
            "{\"loadBalancingConfig\":[{\"outlier_detection_experimental\":"
            "{\"successRateEjection\":{},\"childPolicy\":[{\"round_robin\":{}}]"
            "}}]}"));
    configured_error("outlier_detection_experimental cannot change while the "
                     "channel is open");
    assert_int_equal(1, spread(&w, 20));
    resolved_stop(&w);
}

#define BY(policy) "{\"loadBalancingConfig\":[{\"" policy "\":{}}]}"

/* priority lays the servers in another order, which is for that policy only. */
static void
the_order_of_the_resolver_is_that_of_each_policy(void **state)
{
    struct vc_endpoint e[] = {VC_ENDPOINT_INIT, VC_ENDPOINT_INIT};
    struct resolved w;
    unsigned by;

    (void)state;
    resolved_start(&w, "round_robin");
    e[0].target = w.servers[0].target;
    e[0].priority = 1;
    e[1].target = w.servers[1].target;
    assert_status(VC_OK, vc_resolver_set(app.resolver, e, 2));
    resolved_await_ready(&w, 2);

    assert_status(VC_OK, vc_resolver_config(app.resolver, BY("priority")));
    assert_status(VC_OK, resolved_call(&w, NULL, &by));
    assert_int_equal(1, by);
    assert_status(VC_OK, vc_resolver_config(app.resolver, BY("pick_first")));
    assert_status(VC_OK, resolved_call(&w, NULL, &by));
    assert_int_equal(0, by);
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
    static const char *const names[] = {
        "pick_first",    "round_robin", "weighted_round_robin",
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
                 "{\"loadBalancingConfig\":[{\"%s\":{}}],\"methodConfig\":[{"
                 "\"name\":[{}],\"timeout\":\"%us\"}]}",
                 names[i * (1 + i / 7) % 7], 30 + i);
        assert_status(VC_OK, vc_resolver_config(app.resolver, json));
        fixture_await(&l.calls, atomic_load(&l.calls) + 10);
    }
    atomic_store(&l.ends, 1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(0, pthread_join(l.threads[i], NULL));
    resolved_stop(&w);
}

#define SHARED 60u /* calls, by which shares are judged */

/* True if each server gets as many of the next calls. */
static bool
shares_are_equal(const unsigned got[RESOLVED_SERVERS])
{
    return got[0] == got[1] && got[1] == got[2];
}

/* True if the least loaded server gets twice as many as the most loaded one. It
 * gets ever more, as the rate of its calls rises and its load does not: shares
 * by the loads alone last for a moment. */
static bool
shares_follow_load(const unsigned got[RESOLVED_SERVERS])
{
    return got[0] >= 2 * got[2] && got[0] > got[1];
}

static void
shares_await(struct resolved *w, bool (*are)(const unsigned *got))
{
    uint64_t due = fixture_ms() + RESOLVED_MS;
    unsigned got[RESOLVED_SERVERS], by;

    do {
        assert_true(fixture_ms() < due);
        memset(got, 0, sizeof got);
        for (unsigned i = 0; i < SHARED; i++) {
            assert_status(VC_OK, resolved_call(w, NULL, &by));
            got[by]++;
        }
    } while (!are(got));
}

/* They count 10 s later by default. */
static void
load_reports_count_as_a_later_config_says(void **state)
{
    const struct vc_server_opts reporting = *VC_SERVER_OPTS(.load_reports = 1);
    struct resolved w;
    uint64_t reports;

    (void)state;
    resolved_server_opts = &reporting;
    resolved_start(&w, "round_robin");
    resolved_server_opts = NULL;
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        assert_status(VC_OK,
                      vc_server_load_set(w.servers[i].server, 0.2 * (1u << i)));
    assert_status(VC_OK, resolved_set(&w, "012"));
    shares_await(&w, shares_are_equal);
    assert_int_equal(0, resolved_counters(&w).load_reports);

    assert_status(VC_OK,
                  vc_resolver_config(
                      app.resolver,
                      "{\"loadBalancingConfig\":[{\"weighted_round_robin\":"
                      "{\"blackoutPeriod\":\"0s\","
                      "\"weightUpdatePeriod\":\"0.1s\"}}]}"));
    shares_await(&w, shares_follow_load);

    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    reports = resolved_counters(&w).load_reports;
    assert_true(reports > 0);
    shares_await(&w, shares_are_equal);
    assert_int_equal(reports, resolved_counters(&w).load_reports);
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
    assert_status(VC_OK,
                  vc_runtime_new(
                      VC_RUNTIME_OPTS(.log = on_line, .log_level = VC_LOG_INFO),
                      &runtime));
    assert_status(VC_OK, vc_runtime_start(runtime));
    assert_status(
        VC_OK, vc_channel_open(runtime, target,
                               VC_CHANNEL_OPTS(.service_config = option,
                                               .call_timeout_ms = RESOLVED_MS),
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

#define OUTLIERS                                                               \
    "{\"loadBalancingConfig\":[{\"outlier_detection\":"                        \
    "{\"successRateEjection\":{},\"childPolicy\":[{\"round_robin\":{}}]}}]}"

/* While the resolver has a config the file is read all the same: a fault is
 * the file's, and is reported when it is written. */
static void
a_file_with_a_fault_is_refused_while_the_resolver_has_a_config(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    unsigned before = atomic_load(&n_refused);
    struct resolved w;

    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(option, sizeof option, "file://%s", path);
    file_write(ALL("\"timeout\":\"100s\""));
    opts.service_config = option;
    resolved_start_servers(&w);
    vc_runtime_free(w.runtime);
    assert_status(VC_OK,
                  vc_runtime_new(VC_RUNTIME_OPTS(.log = on_line,
                                                 .log_level = VC_LOG_WARNING),
                                 &w.runtime));
    assert_status(VC_OK, vc_runtime_start(w.runtime));
    assert_status(VC_OK,
                  vc_channel_open(w.runtime, "app:it", &opts, &w.channel));
    assert_status(VC_OK, resolved_set(&w, "012"));
    w.servers[0].channel = w.channel;
    assert_status(VC_OK, vc_channel_intercept(w.channel, &configured_sees));
    /* a resolver that asks again and again is logged once */
    for (unsigned i = 0; i < 3; i++)
        assert_status(VC_INVALID_ARGUMENT,
                      vc_resolver_config(app.resolver, "[]"));
    assert_int_equal(before + 1, atomic_load(&n_refused));
    assert_status(
        VC_OK, vc_resolver_config(app.resolver, ALL("\"timeout\":\"200s\"")));

    file_write(OUTLIERS);
    fixture_await(&n_refused, before + 2);
    assert_non_null(strstr(refused, " is refused: outlier_detection"));
    assert_int_equal(200, configured_timeout(&w.servers[0], ONCE, NULL));
    assert_status(VC_OK, vc_resolver_config(app.resolver, NULL));
    assert_int_equal(100, configured_timeout(&w.servers[0], ONCE, NULL));
    w.servers[0].channel = NULL;
    resolved_stop(&w);
    unlink(path);
    rmdir(folder);
}

/* The first attempt waits at the gate of server 0; the hedge goes to server 1,
 * which cannot be reached. */
static void
a_hedge_that_was_not_sent_ends_no_call(void **state)
{
    Features__Order order = features_order(1, "");
    struct features_end end = {0};
    struct resolved w;

    (void)state;
    order.holds = 1;
    resolved_start(&w, "own:untried");
    resolved_server_stop(&w, 1);
    assert_status(VC_OK, resolved_set(&w, "01"));
    assert_status(VC_OK,
                  vc_resolver_config(app.resolver,
                                     ALL("\"hedgingPolicy\":{\"maxAttempts\":2,"
                                         "\"hedgingDelay\":\"0.02s\"}")));
    assert_status(VC_OK, features_work_look_async(w.channel, &order, NULL,
                                                  features_done, &end, NULL));
    resolved_await_described(&w, ": failing,");
    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_int_equal(VC_OK, end.status);
    resolved_stop(&w);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_file_is_read_when_it_changes_and_a_bad_one_keeps_the_former),
        T(a_file_for_which_memory_is_short_is_read_again),
        T(the_config_of_the_resolver_counts_before_the_option),
        T(a_file_with_a_fault_is_refused_while_the_resolver_has_a_config),
        T(a_policy_that_changes_is_that_of_the_next_calls),
        T(the_order_of_the_resolver_is_that_of_each_policy),
        T(calls_go_on_while_configs_change),
        T(load_reports_count_as_a_later_config_says),
        T(the_file_of_a_list_changes_its_policy),
        T(a_hedge_that_was_not_sent_ends_no_call),
    };

    /* The module is linked: a guest has no other. */
    if (vc_config_module.size == 0 || !own_policies_register())
        return 1;
    return fixture_main(tests);
}
