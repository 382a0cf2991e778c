/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log at vc:// when calls move from one transport to another, in a world of
 * two networks (tests/sim/networks.h). tests/sim/golden has the lines. */
#include <string.h>

#include "tests/sim/logbook.h"
#include "tests/sim/networks.h"
#include "tests/sim/second.h"

#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define BACK_US (10 * S)

struct rig {
    struct networks networks;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static void
rig_begin(struct rig *r)
{
    struct vc_channel_opts opts = networks_opts();

    sim_begin(2, 0, false);
    logbook_begin(VC_LOG_INFO);
    networks_make(&r->networks, fake_host_local(), "10.9.1.1");
    networks_serve(&r->networks, 1);
    opts.keepalive_ms = 200;
    assert_int_equal(VC_OK, sim_runtime(&r->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(r->runtime, NETWORKS_TARGET, &opts,
                                            &r->channel));
    assert_int_equal(VC_OK, vc_runtime_start(r->runtime));
}

static void
rig_end(struct rig *r)
{
    vc_channel_close(r->channel);
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->networks.server));
    assert_int_equal(0, fake_end());
}

/* Makes calls until the channel uses this transport only. */
static void
call_until(struct rig *r, const char *scheme)
{
    uint64_t until = fake_now_us() + BACK_US;

    while (!networks_only(r->channel, scheme)) {
        if (fake_now_us() > until)
            fail_msg("calls do not use %s:\n%s", scheme, logbook_lines());
        sim_echo(r->channel, 64, 1, 0, NULL);
        fake_sleep_us(10 * MS);
    }
}

static void
calls_leave_a_transport_and_come_back(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    call_until(&r, "rdma");
    networks_lose(&r.networks, FIRST, LOSS_CUT);
    call_until(&r, "tcp");
    networks_heal(&r.networks, FIRST);
    call_until(&r, "rdma");
    rig_end(&r);
    assert_true(second_packets() > 0);
    logbook_end_as("log_transports");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_leave_a_transport_and_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
