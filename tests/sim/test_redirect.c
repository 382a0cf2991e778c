/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers that redirect their clients, and clients that follow. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/resolver.h>

#include "tests/sim/sim.h"

#define SEEDS 10u
#define MS    1000u

/* Starts a server at 10.9.0.<n>. */
static void
serve(struct sim_server *s, unsigned n, const struct vc_server_opts *opts)
{
    char addr[32];

    snprintf(addr, sizeof addr, "10.9.0.%u", n);
    s->opts = opts;
    sim_target(addr, s->target);
    sim_server_start(s, fake_host_new(addr, addr), 1);
    assert_true(sim_server_await(s));
}

static enum vc_status
call(unsigned n, char text[256])
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    enum vc_status status;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    char addr[32], target[80];

    opts.max_attempts = 1;
    snprintf(addr, sizeof addr, "10.9.0.%u", n);
    sim_target(addr, target);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(runtime, target, &opts, &channel));
    status = sim_echo(channel, 64, 1, 0, NULL);
    snprintf(text, 256, "%s", status == VC_OK ? "" : vc_error());
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

/* When the second server has stopped, a call's error shows that the client was
 * sent there. */
static void
a_client_is_moved_and_served_there(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
        struct sim_server a = {.sleep_us = 0}, b = {.sleep_us = 0};
        char text[256];

        opts.redirect[0] = "rdma://10.9.0.3:7471";
        sim_begin(seed, 2, true);
        serve(&a, 2, &opts);
        serve(&b, 3, NULL);
        assert_int_equal(VC_OK, call(2, text));
        assert_true(sim_server_stop(&b));
        assert_int_equal(VC_UNAVAILABLE, call(2, text));
        assert_non_null(strstr(text, "nothing listens at 10.9.0.3"));
        assert_true(sim_server_stop(&a));
        assert_int_equal(0, fake_end());
    }
}

static void
of_several_targets_one_that_is_there_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
        struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
        struct sim_server a = {.sleep_us = 0}, b = {.sleep_us = 0};
        uint64_t begin;
        char text[256];

        opts.redirect[0] = "rdma://10.9.0.3:7472"; /* no server listens */
        opts.redirect[1] = "rdma://10.9.0.3:7471";
        opts.redirect[2] = "rdma://10.9.0.4:7471"; /* its port is down */
        sim_begin(seed, 2, true);
        fake_port_set(fake_host_new("silent", "10.9.0.4"), false);
        serve(&a, 2, &opts);
        serve(&b, 3, NULL);
        begin = fake_now_us();
        assert_int_equal(VC_OK, call(2, text));
        assert_true(fake_now_us() - begin < 350 * MS);
        assert_true(sim_server_stop(&a));
        assert_true(sim_server_stop(&b));
        assert_int_equal(0, fake_end());
    }
}

static void
three_moves_in_a_row_are_followed_and_a_fourth_is_not(void **state)
{
    static const char *const to[] = {
        "rdma://10.9.0.3:7471", "rdma://10.9.0.4:7471", "rdma://10.9.0.5:7471",
        "rdma://10.9.0.6:7471"};
    struct sim_server s[5] = {{.sleep_us = 0}};
    struct vc_server_opts opts[4];
    char text[256];

    (void)state;
    sim_begin(1, 2, true);
    for (unsigned i = 0; i < 4; i++) {
        opts[i] = (struct vc_server_opts)VC_SERVER_OPTS_INIT;
        opts[i].redirect[0] = to[i];
        serve(&s[i], 2 + i, &opts[i]);
    }
    serve(&s[4], 6, NULL);
    assert_int_equal(VC_OK, call(3, text));
    assert_int_equal(VC_UNAVAILABLE, call(2, text));
    assert_non_null(strstr(text, "redirected more than 3 times"));
    for (unsigned i = 0; i < 5; i++)
        assert_true(sim_server_stop(&s[i]));
    assert_int_equal(0, fake_end());
}

static void
a_circle_of_redirects_is_left_with_an_error_that_says_so(void **state)
{
    struct vc_server_opts to_b = VC_SERVER_OPTS_INIT;
    struct vc_server_opts to_a = VC_SERVER_OPTS_INIT;
    struct sim_server a = {.sleep_us = 0}, b = {.sleep_us = 0};
    uint64_t begin;
    char text[256];

    (void)state;
    to_b.redirect[0] = "rdma://10.9.0.3:7471";
    to_a.redirect[0] = "rdma://10.9.0.2:7471";
    sim_begin(1, 2, true);
    serve(&a, 2, &to_b);
    serve(&b, 3, &to_a);
    begin = fake_now_us();
    assert_int_equal(VC_UNAVAILABLE, call(2, text));
    assert_true(fake_now_us() - begin < 100 * MS);
    assert_non_null(strstr(text, "circle"));
    assert_true(sim_server_stop(&a));
    assert_true(sim_server_stop(&b));
    assert_int_equal(0, fake_end());
}

/* --- as the program decides -------------------------------------------- */

struct decision {
    uint64_t service;
    uint32_t source; /* IPv4, of the last client */
    unsigned calls;
    const char *to; /* NULL: served here */
};

static unsigned
decide(uint64_t service, const struct sockaddr *source,
       const char *targets[VC_REDIRECT_MAX], void *arg)
{
    struct decision *d = arg;

    d->calls++;
    d->service = service;
    d->source = ntohl(
        ((const struct sockaddr_in *)(const void *)source)->sin_addr.s_addr);
    targets[0] = d->to;
    return d->to != NULL;
}

static void
the_program_decides_by_service_and_source(void **state)
{
    struct decision d = {.to = NULL};
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct sim_server a = {.sleep_us = 0}, b = {.sleep_us = 0};
    char text[256];

    (void)state;
    opts.redirect_decide = decide;
    opts.redirect_arg = &d;
    sim_begin(1, 2, true);
    serve(&a, 2, &opts);
    serve(&b, 3, NULL);
    assert_int_equal(VC_OK, call(2, text));
    assert_int_equal(1, d.calls);
    assert_int_equal(suite_probe_service.id, d.service);
    assert_int_equal(0x0a090001, d.source);
    d.to = "rdma://10.9.0.3:7471";
    assert_int_equal(VC_OK, call(2, text));
    assert_true(sim_server_stop(&b));
    assert_int_equal(VC_UNAVAILABLE, call(2, text));
    assert_non_null(strstr(text, "10.9.0.3"));
    assert_int_equal(3, d.calls);
    d.to = "somewhere";
    assert_int_equal(VC_UNAVAILABLE, call(2, text));
    assert_non_null(strstr(text, "no valid target"));
    assert_true(sim_server_stop(&a));
    assert_int_equal(0, fake_end());
}

static void
a_redirect_that_is_no_target_is_refused_at_once(void **state)
{
    static const char *const bad[] = {"10.9.0.3:7471", "rdma://there:7471",
                                      "rdma://10.9.0.3:0"};
    struct vc_runtime *runtime;
    struct vc_server *server;

    (void)state;
    sim_begin(1, 0, true);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

        opts.redirect[0] = "rdma://10.9.0.3:7471";
        opts.redirect[1] = bad[i];
        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc_server_new(runtime, &opts, &server));
        assert_non_null(strstr(vc_error(), bad[i]));
    }
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

/* --- servers of a resolver ---------------------------------------------- */

/* A client whose resolver names servers, and two servers or three. */
struct fleet {
    struct vc_resolver *resolver;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct sim_server a, b, c; /* at 10.9.0.2, .3 and .4 */
    struct decision d;         /* of a */
    struct vc_server_opts opts;
    atomic_uint ran[5]; /* calls, by the last digit of the server */
};

static struct fleet *opening; /* for app_open() */

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    opening->resolver = r;
    *state = opening;
    return VC_OK;
}

static void
app_close(void *state)
{
    (void)state;
}

static const struct vc_resolver_type app_type = {.size = sizeof app_type,
                                                 .scheme = "app",
                                                 .open = app_open,
                                                 .close = app_close};

/* inside() of the servers. */
static void
fleet_ran(struct sim_server *s)
{
    struct fleet *f = s->arg;
    unsigned n = s == &f->a ? 2 : s == &f->b ? 3 : 4;

    atomic_fetch_add(&f->ran[n], 1);
}

/* The resolver names these servers, a digit each, in this order. */
static void
fleet_set(struct fleet *f, const char *which)
{
    struct vc_endpoint e[4];
    char targets[4][40];
    unsigned n = (unsigned)strlen(which);

    for (unsigned i = 0; i < n; i++) {
        snprintf(targets[i], sizeof targets[i], "rdma://10.9.0.%c:7471",
                 which[i]);
        e[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        e[i].target = targets[i];
    }
    assert_int_equal(VC_OK, vc_resolver_set(f->resolver, e, n));
}

/* A world in which a redirects its clients to b, and a channel to what `which`
 * names. c: there is a third server. */
static void
fleet_begin(struct fleet *f, const char *which, bool c)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(f, 0, sizeof *f);
    f->d.to = "rdma://10.9.0.3:7471";
    f->opts = (struct vc_server_opts)VC_SERVER_OPTS_INIT;
    f->opts.redirect_decide = decide;
    f->opts.redirect_arg = &f->d;
    f->a.arg = f->b.arg = f->c.arg = f;
    f->a.inside = f->b.inside = f->c.inside = fleet_ran;
    sim_begin(1, 2, true);
    serve(&f->a, 2, &f->opts);
    serve(&f->b, 3, NULL);
    if (c)
        serve(&f->c, 4, NULL);
    opening = f;
    opts.policy = "round_robin";
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    assert_int_equal(VC_OK, sim_runtime(&f->runtime, 1));
    assert_int_equal(
        VC_OK, vc_channel_open(f->runtime, "app:fleet", &opts, &f->channel));
    fleet_set(f, which);
}

static void
fleet_end(struct fleet *f, bool c)
{
    vc_channel_close(f->channel);
    vc_runtime_free(f->runtime);
    assert_true(sim_server_stop(&f->a));
    assert_true(sim_server_stop(&f->b));
    assert_true(!c || sim_server_stop(&f->c));
    assert_int_equal(0, fake_end());
}

/* Makes n calls, which all end well. */
static void
fleet_call(struct fleet *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(VC_OK, sim_echo(f->channel, 64, 1, 0, NULL));
}

/* Makes calls until the server of this digit has run one; 1,000 at most. */
static void
fleet_call_until(struct fleet *f, unsigned server)
{
    unsigned before = atomic_load(&f->ran[server]);

    for (unsigned i = 0; i < 1000; i++) {
        fleet_call(f, 1);
        if (atomic_load(&f->ran[server]) > before)
            return;
    }
    fail_msg("no call of 1000 went to server %u", server);
}

static void
an_alternative_counts_until_the_next_answer(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    f.d.to = NULL;
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[2]);
    assert_true(f.ran[3] >= 50); /* it has the share of the server's place */
    fleet_set(&f, "24");
    fleet_call_until(&f, 2);
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[3]);
    fleet_end(&f, true);
}

static void
a_server_that_redirects_still_keeps_its_alternative(void **state)
{
    struct vc_counters counters = VC_COUNTERS_INIT;
    uint64_t sessions;
    unsigned asked;
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    fleet_call_until(&f, 4);
    asked = f.d.calls;
    vc_runtime_counters(f.runtime, &counters);
    sessions = counters.sessions_client_opened;
    fleet_set(&f, "24");
    for (unsigned i = 0; i < 1000 && f.d.calls == asked; i++)
        fleet_call(&f, 1);
    fleet_call(&f, 100);
    assert_int_equal(asked + 1, f.d.calls); /* an answer is one question */
    assert_int_equal(0, f.ran[2]);
    vc_runtime_counters(f.runtime, &counters);
    assert_int_equal(2, counters.links_up);
    assert_int_equal(sessions, counters.sessions_client_opened);
    fleet_end(&f, true);
}

static void
an_alternative_is_gone_with_its_server(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    fleet_set(&f, "4");
    fleet_call(&f, 1);
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[3]);
    fleet_end(&f, true);
}

/* A server that is not there any more has said where its clients belong. */
static void
an_alternative_stays_while_its_server_is_gone(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    sim_server_close(&f.a);
    fleet_set(&f, "24");
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_true(f.ran[3] >= 49);
    fleet_end(&f, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_moved_and_served_there),
        cmocka_unit_test(of_several_targets_one_that_is_there_is_found),
        cmocka_unit_test(three_moves_in_a_row_are_followed_and_a_fourth_is_not),
        cmocka_unit_test(
            a_circle_of_redirects_is_left_with_an_error_that_says_so),
        cmocka_unit_test(the_program_decides_by_service_and_source),
        cmocka_unit_test(a_redirect_that_is_no_target_is_refused_at_once),
        cmocka_unit_test(an_alternative_counts_until_the_next_answer),
        cmocka_unit_test(a_server_that_redirects_still_keeps_its_alternative),
        cmocka_unit_test(an_alternative_is_gone_with_its_server),
        cmocka_unit_test(an_alternative_stays_while_its_server_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
