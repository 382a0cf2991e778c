/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Load reports: what a server reports of itself, and a channel that chooses its
 * servers by that, with the times of gRPC's A58 on the simulated clock. TRACE=1
 * shows what happens. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/resolver.h>

#include "rpc/load_report.h"
#include "tests/sim/sim.h"

#define SERVERS 3u
#define CALLS   280u
#define S       UINT64_C(1000000)

static const double utilizations[SERVERS] = {0.2, 0.4, 0.8};

struct world {
    struct fake_host *hosts[SERVERS];
    struct sim_server servers[SERVERS];
    unsigned n; /* of these */
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    atomic_uint served[SERVERS];
    atomic_bool silent[SERVERS]; /* it reports nothing */
    atomic_size_t adds;          /* bytes of metadata with each reply */
};

static struct world w;

/* The end of each call: the server reports 100 replies a second. */
static enum vc_status
report(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    unsigned i = (unsigned)(s - w.servers);
    const struct vc__load_report report = {
        .rps = 100, .application_utilization = utilizations[i]};
    uint8_t packed[VC__LOAD_REPORT_MAX];
    size_t len = vc__load_report_pack(packed, &report);

    (void)tag;
    atomic_fetch_add(&w.served[i], 1);
    return atomic_load(&w.silent[i])
               ? VC_OK
               : vc_call_add_trailing(call, VC__LOAD_REPORT_KEY, packed, len);
}

typedef enum vc_status finish_fn(struct sim_server *s, struct vc_call *call,
                                 uint64_t tag);

static void
server_start(unsigned i, finish_fn *finish, const struct vc_server_opts *opts)
{
    memset(&w.servers[i], 0, sizeof w.servers[i]);
    w.servers[i].finish = finish;
    w.servers[i].opts = opts;
    snprintf(w.servers[i].target, sizeof w.servers[i].target,
             "rdma://10.9.0.%u:7471", 10 + i);
    sim_server_start(&w.servers[i], w.hosts[i], 1);
    assert_true(sim_server_await(&w.servers[i]));
}

/* A world with n hosts that have no servers yet. */
static void
hosts_begin(uint64_t seed, unsigned n)
{
    memset(&w, 0, sizeof w);
    w.n = n;
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    for (unsigned i = 0; i < n; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        w.hosts[i] = fake_host_new(name, addr);
    }
}

static void
channel_open(const char *target)
{
    assert_int_equal(VC_OK, sim_runtime(&w.runtime, 1));
    assert_int_equal(
        VC_OK, vc_channel_open(w.runtime, target,
                               VC_CHANNEL_OPTS(.policy = "weighted_round_robin",
                                               .idle_timeout_ms = 3600000),
                               &w.channel));
    assert_int_equal(VC_OK, vc_runtime_start(w.runtime));
}

/* app: a target of the resolver below, or NULL. */
static void
world_begin(uint64_t seed, const char *app)
{
    char target[SERVERS * 30] = "list:";

    hosts_begin(seed, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++) {
        server_start(i, report, NULL);
        snprintf(target + strlen(target), sizeof target - strlen(target),
                 "%s%s", i > 0 ? "," : "", w.servers[i].target);
    }
    channel_open(app != NULL ? app : target);
}

static void
world_end(void)
{
    vc_channel_close(w.channel);
    vc_runtime_free(w.runtime);
    for (unsigned i = 0; i < w.n; i++)
        assert_true(sim_server_stop(&w.servers[i]));
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(0, fake_end());
}

static void
call(void)
{
    assert_int_equal(VC_OK, sim_echo(w.channel, 10, 1, 0, NULL));
}

/* Calls until all servers are connected. */
static void
all_connect(void)
{
    unsigned ready = 0;

    while (ready != SERVERS) {
        static char text[4096];
        const char *at = text;

        call();
        vc_channel_describe(w.channel, text, sizeof text);
        for (ready = 0; (at = strstr(at, ": ready,")) != NULL; at++)
            ready++;
    }
}

/* The servers share CALLS calls so, within 5 %. */
static void
expect_shares(double a, double b, double c)
{
    const double shares[SERVERS] = {a, b, c};
    unsigned before[SERVERS];

    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = atomic_load(&w.served[i]);
    for (unsigned i = 0; i < CALLS; i++)
        call();
    for (unsigned i = 0; i < SERVERS; i++) {
        double share = CALLS * shares[i] / (a + b + c);
        double got = atomic_load(&w.served[i]) - before[i];

        if (got < share * 0.95 || got > share * 1.05)
            fail_msg("server %u got %g of %u calls, and not %g", i, got, CALLS,
                     share);
    }
}

/* The line of each server has its weight by load, or none has. */
static void
expect_described(bool weighs)
{
    static char text[4096];
    const char *at = text;
    unsigned n = 0;

    vc_channel_describe(w.channel, text, sizeof text);
    for (; (at = strstr(at, " by load, ")) != NULL; at++)
        n++;
    assert_int_equal(weighs ? SERVERS : 0, n);
    assert_null(strstr(text, "unknown"));
}

/* Calls now and then for so long. */
static void
call_for(uint64_t us)
{
    uint64_t until = fake_now_us() + us;

    while (fake_now_us() < until) {
        for (unsigned i = 0; i < 2 * SERVERS; i++)
            call();
        fake_sleep_us(S / 2);
    }
}

static void
weights_count_10_s_after_the_first_report(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(4); seed++) {
        uint64_t begin;

        world_begin(seed, NULL);
        begin = fake_now_us();
        all_connect();
        expect_shares(1, 1, 1);
        call_for(9 * S - (fake_now_us() - begin));
        expect_shares(1, 1, 1);
        expect_described(false);
        assert_true(fake_now_us() - begin < 10 * S);
        call_for(3 * S);
        expect_shares(4, 2, 1);
        expect_described(true);
        world_end();
    }
}

static void
a_silent_server_gets_the_mean_after_3_min(void **state)
{
    (void)state;
    world_begin(5, NULL);
    all_connect();
    call_for(12 * S);
    expect_shares(4, 2, 1);
    atomic_store(&w.silent[0], true);
    call_for(175 * S);
    expect_shares(4, 2, 1);
    call_for(8 * S);
    expect_shares(1.5, 2, 1);
    atomic_store(&w.silent[1], true);
    call_for(185 * S);
    expect_shares(1, 1, 1);
    /* The reports of the others have not ended. */
    atomic_store(&w.silent[0], false);
    call_for(9 * S);
    expect_shares(1, 1, 1);
    call_for(3 * S);
    expect_shares(4, 2.5, 1);
    world_end();
}

/* The timer stops when all weights have expired, and begins again. */
static void
without_calls_for_long_all_begins_anew(void **state)
{
    (void)state;
    world_begin(6, NULL);
    all_connect();
    call_for(12 * S);
    expect_shares(4, 2, 1);
    fake_sleep_us(179 * S);
    expect_shares(4, 2, 1);
    fake_sleep_us(182 * S);
    expect_shares(1, 1, 1);
    call_for(12 * S);
    expect_shares(4, 2, 1);
    world_end();
}

static void
a_server_that_is_back_begins_anew(void **state)
{
    (void)state;
    world_begin(7, NULL);
    all_connect();
    call_for(12 * S);
    expect_shares(4, 2, 1);
    assert_true(sim_server_stop(&w.servers[0]));
    call_for(5 * S);
    server_start(0, report, NULL);
    call_for(2 * S);
    all_connect();
    expect_shares(1.5, 2, 1);
    call_for(12 * S);
    expect_shares(4, 2, 1);
    world_end();
}

/* While a report may come, or the timer fires. */
static void
the_channel_may_be_closed_at_any_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(sim_share(30)); seed++) {
        world_begin(seed, NULL);
        all_connect();
        fake_sleep_us(12 * S - 50 + seed * seed * 10 % 100);
        for (unsigned i = 0; i < seed % 7; i++)
            call();
        fake_sleep_us((seed % 3) * S / 2);
        world_end();
    }
}

/* --- a resolver --------------------------------------------------------------- */

static struct vc_resolver *resolver;

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    *state = resolver = r;
    return VC_OK;
}

static void
app_close(void *state)
{
    (void)state;
}

static const struct vc_resolver_type app_type = {
    .size = sizeof app_type,
    .scheme = "app",
    .open = app_open,
    .close = app_close,
};

/* Sets these servers, a digit each, with weights of the resolver: 1, 2, 3. */
static void
servers_set(const char *which)
{
    struct vc_endpoint e[SERVERS];
    unsigned n = (unsigned)strlen(which);

    for (unsigned k = 0; k < n; k++) {
        unsigned i = (unsigned)(which[k] - '0');

        e[k] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        e[k].target = w.servers[i].target;
        e[k].weight = 1 + i;
    }
    assert_int_equal(VC_OK, vc_resolver_set(resolver, e, n));
}

static void
a_change_of_the_servers_keeps_their_weights(void **state)
{
    (void)state;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    world_begin(8, "app:");
    servers_set("012");
    all_connect();
    expect_shares(1, 2, 3); /* the resolver's */
    call_for(12 * S);
    expect_shares(4, 2, 1);
    servers_set("20");
    expect_shares(4, 0, 1);
    servers_set("120");
    all_connect();
    expect_shares(4, 2.5, 1);
    call_for(12 * S);
    expect_shares(4, 2, 1);
    atomic_store(&w.silent[0], true);
    atomic_store(&w.silent[1], true);
    call_for(182 * S);
    expect_shares(1, 2, 3);
    world_end();
}

/* --- what a server reports ---------------------------------------------------- */

static const struct vc_server_opts reporting = {.size = sizeof reporting,
                                                .load_reports = 1};

#define FAILS 2u /* the tag of a call that fails */
#define FILL  "x-bin"

/* The end of each call here. */
static enum vc_status
fail_or_fill(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    static const uint8_t bytes[VC_METADATA_MAX];
    size_t adds = atomic_load(&w.adds);

    (void)s;
    if (adds > 0)
        assert_int_equal(VC_OK, vc_call_add_trailing(call, FILL, bytes, adds));
    return tag == FAILS ? VC_NOT_FOUND : VC_OK;
}

/* One server, and a channel to it. It was idle for so long that no rates are
 * known. */
static void
reporter_begin(uint64_t seed, finish_fn *finish,
               const struct vc_server_opts *opts)
{
    hosts_begin(seed, 1);
    server_start(0, finish, opts);
    channel_open(w.servers[0].target);
    fake_sleep_us(3 * S);
}

/* Echoes so many bytes, and takes the report of the reply; false: it has
 * none. */
static bool
report_get(size_t size, unsigned tag, struct vc__load_report *report)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    bool found = false;

    opts.result = &result;
    assert_int_equal(tag == FAILS ? VC_NOT_FOUND : VC_OK,
                     sim_echo_opts(w.channel, size, tag, &opts, NULL));
    for (size_t i = 0; i < result.n_trailing; i++) {
        const struct vc_metadata *e = &result.trailing[i];

        if (strcmp(e->key, VC__LOAD_REPORT_KEY) != 0)
            continue;
        assert_false(found);
        assert_true(vc__load_report_read(report, e->value, e->length));
        found = true;
    }
    vc_result_clear(&result);
    return found;
}

static void
expect_utilization(double utilization)
{
    struct vc__load_report report;

    assert_true(report_get(10, 1, &report));
    assert_memory_equal(&utilization, &report.application_utilization,
                        sizeof utilization);
}

/* At once in the first report, and later in the one that is made anew. */
static void
replies_have_what_the_program_says(void **state)
{
    static const double numbers[] = {0.25, 3.5, 1e-9, 0};

    (void)state;
    reporter_begin(1, fail_or_fill, &reporting);
    assert_int_equal(VC_OK, vc_server_load_set(w.servers[0].server, 0.5));
    expect_utilization(0.5);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(VC_OK,
                         vc_server_load_set(w.servers[0].server, numbers[i]));
        expect_utilization(i == 0 ? 0.5 : numbers[i - 1]);
        fake_sleep_us(S / 10);
        expect_utilization(numbers[i]);
    }
    world_end();
}

/* 50 calls a second, of which each fifth fails; of the rates and the processor
 * nothing is known at first. */
static void
replies_have_the_rates_and_the_processors(void **state)
{
    struct vc__load_report report;

    (void)state;
    reporter_begin(2, fail_or_fill, &reporting);
    assert_false(report_get(10, 1, &report));
    for (unsigned i = 0; i < 150; i++) {
        bool has = report_get(10, i % 5 == 0 ? FAILS : 1, &report);

        fake_sleep_us(S / 50);
        if (i < 50)
            continue;
        assert_true(has);
        if (report.rps < 40 || report.rps > 60 || report.eps < 6 ||
            report.eps > 14)
            fail_msg("call %u: %g replies and %g failures a second", i,
                     report.rps, report.eps);
        assert_true(report.cpu_utilization > 0);
    }
    /* After a pause the rates begin anew. */
    fake_sleep_us(60 * S);
    assert_false(report_get(10, 1, &report));
    world_end();
}

static void
without_the_option_there_are_no_reports(void **state)
{
    struct vc__load_report report;

    (void)state;
    reporter_begin(3, fail_or_fill, NULL);
    assert_int_equal(VC_FAILED_PRECONDITION,
                     vc_server_load_set(w.servers[0].server, 0.5));
    assert_non_null(strstr(vc_error(), "load_reports"));
    for (unsigned i = 0; i < 10; i++) {
        assert_false(report_get(10, i % 2 == 0 ? FAILS : 1, &report));
        fake_sleep_us(S / 5);
    }
    world_end();
}

static void
a_utilization_must_be_a_number(void **state)
{
    static const double bad[] = {-0.1, (double)NAN, (double)INFINITY,
                                 -(double)INFINITY};

    (void)state;
    reporter_begin(4, fail_or_fill, &reporting);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc_server_load_set(w.servers[0].server, bad[i]));
    world_end();
}

/* Replies of a program with nearly the most metadata, good and failed ones. */
static void
beside_most_metadata_there_is_no_report(void **state)
{
    const size_t most = VC_METADATA_MAX - strlen(FILL) - 3;
    const size_t entry = 3 + strlen(VC__LOAD_REPORT_KEY) + 9;
    struct vc__load_report report;

    (void)state;
    reporter_begin(5, fail_or_fill, &reporting);
    assert_int_equal(VC_OK, vc_server_load_set(w.servers[0].server, 0.5));
    expect_utilization(0.5); /* it has no rates yet: one number */
    for (size_t adds = most - 50; adds <= most; adds++) {
        atomic_store(&w.adds, adds);
        assert_true(report_get(10, adds % 3 == 0 ? FAILS : 1, &report) ==
                    (adds + entry <= most));
    }
    world_end();
}

/* The memory of the metadata is given back before a long reply gets its
 * report. */
static enum vc_status
details_set_and_clear(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    static const uint8_t details[VC_METADATA_MAX - 100];

    (void)s;
    (void)tag;
    assert_int_equal(VC_OK, vc_call_details(call, details, sizeof details));
    return vc_call_details(call, NULL, 0);
}

static void
a_long_reply_whose_details_were_cleared_has_a_report(void **state)
{
    struct vc__load_report report;

    (void)state;
    reporter_begin(6, details_set_and_clear, &reporting);
    assert_int_equal(VC_OK, vc_server_load_set(w.servers[0].server, 0.5));
    for (size_t size = 10; size < 500000; size *= 7)
        assert_true(report_get(size, 1, &report));
    world_end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_count_10_s_after_the_first_report),
        cmocka_unit_test(a_silent_server_gets_the_mean_after_3_min),
        cmocka_unit_test(without_calls_for_long_all_begins_anew),
        cmocka_unit_test(a_server_that_is_back_begins_anew),
        cmocka_unit_test(the_channel_may_be_closed_at_any_time),
        cmocka_unit_test(a_change_of_the_servers_keeps_their_weights),
        cmocka_unit_test(replies_have_what_the_program_says),
        cmocka_unit_test(replies_have_the_rates_and_the_processors),
        cmocka_unit_test(without_the_option_there_are_no_reports),
        cmocka_unit_test(a_utilization_must_be_a_number),
        cmocka_unit_test(beside_most_metadata_there_is_no_report),
        cmocka_unit_test(a_long_reply_whose_details_were_cleared_has_a_report),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
