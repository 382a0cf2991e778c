/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers that redirect their clients, and clients that follow. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define SEEDS sim_few(10u)
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
