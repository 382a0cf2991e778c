/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a .proto file says about a method, and that calls obey it. */
#include <string.h>

#include "tests/sim/sim.h"

#define MS   UINT64_C(1000)
#define ECHO 0u /* a method of Probe */

/* Probe, with a timeout for Echo. */
struct stage {
    struct vc_service service;
    struct vc_method methods[16];
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static void
stage_open(struct stage *st, uint32_t timeout_ms)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(st, 0, sizeof *st);
    st->service = suite_probe_service;
    assert_true(st->service.n_methods <= 16);
    memcpy(st->methods, suite_probe_service.methods,
           st->service.n_methods * sizeof *st->methods);
    st->methods[ECHO].timeout_ms = timeout_ms;
    st->service.methods = st->methods;

    sim_begin(1, 2, false);
    sim_target("10.9.0.2", st->server.target);
    st->server.sleep_us = 1000 * MS;
    sim_server_start(&st->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&st->server));
    assert_int_equal(VC_OK, sim_runtime(&st->runtime, 1));
    opts.call_timeout_ms = 300;
    assert_int_equal(VC_OK, vc_channel_open(st->runtime, st->server.target,
                                            &opts, &st->channel));
    assert_int_equal(VC_OK, vc_channel_connect(st->channel, &st->service));
}

static void
stage_close(struct stage *st)
{
    vc_channel_close(st->channel);
    vc_runtime_free(st->runtime);
    assert_true(sim_server_stop(&st->server));
    assert_int_equal(0, fake_end());
}

/* Returns the milliseconds that a call waits for a reply that comes too
 * late. */
static uint64_t
waited_ms(struct stage *st, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    uint64_t begin = fake_now_us();
    void *reply = NULL;

    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     vc_channel_call(st->channel, &st->service, ECHO, &request,
                                     opts, &reply));
    assert_null(reply);
    return (fake_now_us() - begin) / MS;
}

static void
a_methods_timeout_ends_a_call_that_says_none(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct stage st;

    (void)state;
    stage_open(&st, 50);

    assert_in_range(waited_ms(&st, NULL), 50, 60);
    assert_in_range(waited_ms(&st, &opts), 50, 60);

    stage_close(&st);
}

static void
a_calls_own_timeout_goes_before_its_methods(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct stage st;

    (void)state;
    stage_open(&st, 50);

    opts.timeout_ms = 120;
    assert_in_range(waited_ms(&st, &opts), 120, 130);

    stage_close(&st);
}

static void
a_method_that_says_none_has_its_channels(void **state)
{
    struct stage st;

    (void)state;
    stage_open(&st, 0);

    assert_in_range(waited_ms(&st, NULL), 300, 310);

    stage_close(&st);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_methods_timeout_ends_a_call_that_says_none),
        cmocka_unit_test(a_calls_own_timeout_goes_before_its_methods),
        cmocka_unit_test(a_method_that_says_none_has_its_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
