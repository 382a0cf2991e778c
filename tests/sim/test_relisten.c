/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server listens again when its device is back. At vc:// it starts to listen
 * by RDMA when the memory or descriptors that were missing at first can be had.
 * The server's program does nothing for that. */
#include <errno.h>
#include <string.h>

#include "tests/sim/logbook.h"
#include "tests/sim/networks.h"
#include "tests/sim/scene.h"
#include "tests/sim/second.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define AGAIN_US (5 * S) /* the server retries at least every 4 s */
/* After that the client connects again, too. */
#define BACK_US (AGAIN_US + 10 * S)
#define LOOK_US (50 * MS)

static void
says(struct vc_server *server, const char *words)
{
    char text[1000];

    vc_server_describe(server, text, sizeof text);
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, text);
}

/* --- its device is removed ------------------------------------------------ */

static void
device_goes_and_returns(struct scene *s, uint64_t us)
{
    fake_device_remove(s->server.host);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 2, 0, NULL));
    fake_sleep_us(us);
    says(s->server.server, "not rdma: ");
    fake_device_return(s->server.host);
    fake_sleep_us(AGAIN_US);
    says(s->server.server, "rdma: listens at 10.9.0.2:7471\n");
    scene_call(s, 64, 3);
}

static void
it_goes_and_returns_twice(struct scene *s)
{
    scene_call(s, 64, 1);
    device_goes_and_returns(s, S / 2);
    device_goes_and_returns(s, S / 2);
}

static void
a_server_listens_again_when_its_device_is_back(void **state)
{
    (void)state;
    scene_play(it_goes_and_returns_twice, NULL);
}

static void
it_is_long_gone(struct scene *s)
{
    fake_device_remove(s->server.host);
    fake_sleep_us(40 * S);
    says(s->server.server, "not rdma: cannot listen at 10.9.0.2:7471: ");
    fake_device_return(s->server.host);
    fake_sleep_us(AGAIN_US);
    scene_call(s, 64, 1);
}

static void
and_also_after_a_long_time_in_which_nobody_had_connected(void **state)
{
    (void)state;
    scene_play(it_is_long_gone, NULL);
}

static void
it_is_closed_before(struct scene *s)
{
    scene_call(s, 64, 1);
    fake_device_remove(s->server.host);
    fake_sleep_us(S / 2);
    sim_server_close(&s->server);
    fake_device_return(s->server.host);
    fake_sleep_us(AGAIN_US);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 2, 0, NULL));
}

static void
a_server_that_was_closed_does_not_listen_again(void **state)
{
    (void)state;
    scene_play(it_is_closed_before, NULL);
}

/* The runtime stays, so anything that is left of the server there would be
 * seen. */
static void
a_server_that_was_closed_leaves_nothing_in_its_runtime(void **state)
{
    struct vc_runtime *runtime;
    struct vc_server *server;

    (void)state;
    sim_begin(1, 0, true);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
    assert_int_equal(VC_OK, vc_server_listen(server, "rdma://10.9.0.1:7471"));
    fake_device_remove(fake_host_local());
    fake_sleep_us(S / 2);
    says(server, "not rdma: ");
    vc_server_free(server);
    fake_device_return(fake_host_local());
    fake_sleep_us(AGAIN_US);
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

/* --- at vc:// ---------------------------------------------------------------- */

struct rig {
    struct networks networks;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static void
rig_begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    sim_begin(1, 0, true);
    networks_make(&r->networks, fake_host_local(), "10.9.1.1");
}

static void
rig_connect(struct rig *r)
{
    struct vc_channel_opts opts = networks_opts();

    assert_int_equal(VC_OK, sim_runtime(&r->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(r->runtime, NETWORKS_TARGET, &opts,
                                            &r->channel));
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
calls_come_to(struct rig *r, const char *scheme)
{
    uint64_t until = fake_now_us() + BACK_US;

    do {
        assert_true(fake_now_us() < until);
        fake_sleep_us(LOOK_US);
        assert_int_equal(VC_OK, sim_echo(r->channel, 64, 1, 0, NULL));
    } while (!networks_only(r->channel, scheme));
}

static void
calls_come_back_to_a_device_that_is_back(void **state)
{
    unsigned long packets = second_packets();
    struct rig r;

    (void)state;
    rig_begin(&r);
    networks_serve(&r.networks, 1);
    rig_connect(&r);
    calls_come_to(&r, "rdma");
    networks_lose(&r.networks, FIRST, LOSS_REMOVE_THERE);
    calls_come_to(&r, "tcp");
    assert_true(second_packets() > packets);
    fake_device_return(r.networks.there[FIRST]);
    calls_come_to(&r, "rdma");
    rig_end(&r);
}

/* --- memory or descriptors are missing ------------------------------------ */

/* `first` is the number of the first such call that RDMA makes. The substitute
 * for TCP listens before, and tries its device. */
static const struct lack {
    const char *call;
    int err;
    unsigned first;
} lacks[] = {
    {"ibv_reg_mr", ENOMEM, 3},
    {"ibv_open_device", EMFILE, 2},
};
#define LACKS (sizeof lacks / sizeof lacks[0])

/* The server has begun to listen, and this many attempts by RDMA fail. */
static void
rig_begin_lacking(struct rig *r, const struct lack *lack, unsigned attempts)
{
    struct sim_server *s = &r->networks.server;

    rig_begin(r);
    logbook_begin(VC_LOG_INFO);
    sim_server_start(s, r->networks.there[FIRST], 1);
    for (unsigned i = 0; i < attempts; i++)
        fake_fail(s->process, lack->call, lack->first + i, lack->err);
    assert_true(sim_server_await(s));
    assert_int_equal(1, fake_failed());
    says(s->server, "tcp: listens at 10.9.0.2:7471\n");
    says(s->server, "not rdma: cannot listen at 10.9.0.2:7471");
}

static void
expect_logged(const char *words)
{
    if (strstr(logbook_lines(), words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, logbook_lines());
}

/* The server retries after 1 s, and 2 s later. */
static void
has_it_later(const struct lack *lack)
{
    struct rig r;

    rig_begin_lacking(&r, lack, 2);
    expect_logged(
        "warning: server at port 7471: does not listen over rdma yet: "
        "cannot listen at 10.9.0.2:7471");
    fake_sleep_us(2 * S);
    assert_int_equal(2, fake_failed());
    says(r.networks.server.server, "not rdma: ");
    fake_sleep_us(2 * S);
    says(r.networks.server.server, "rdma: listens at 10.9.0.2:7471\n");
    expect_logged("server at port 7471: listens at 10.9.0.2:7471 over rdma");
    rig_connect(&r);
    calls_come_to(&r, "rdma");
    sim_log_to(NULL);
    rig_end(&r);
}

static void
a_server_at_vc_listens_by_rdma_when_it_has_what_it_lacked(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LACKS; i++)
        has_it_later(&lacks[i]);
}

/* Retries come after 1, 3, 7, 15, 31, 63 and 127 s, and then every 64 s. */
static void
it_tries_ever_more_seldom_but_does_not_give_up(void **state)
{
    struct rig r;

    (void)state;
    rig_begin_lacking(&r, &lacks[0], 20);
    sim_log_to(NULL);
    fake_sleep_us(128 * S);
    assert_int_equal(8, fake_failed());
    fake_sleep_us(640 * S);
    assert_int_equal(18, fake_failed());
    fake_fail_no_more();
    fake_sleep_us(64 * S);
    says(r.networks.server.server, "rdma: listens at 10.9.0.2:7471\n");
    rig_connect(&r);
    calls_come_to(&r, "rdma");
    rig_end(&r);
}

/* The timer of a server that never listened by RDMA is stopped, too. */
static void
a_server_that_lacks_it_still_is_closed(void **state)
{
    struct rig r;

    (void)state;
    rig_begin_lacking(&r, &lacks[0], 20);
    sim_log_to(NULL);
    sim_server_close(&r.networks.server);
    fake_sleep_us(10 * S);
    assert_int_equal(1, fake_failed());
    rig_end(&r);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_listens_again_when_its_device_is_back),
        T(and_also_after_a_long_time_in_which_nobody_had_connected),
        T(a_server_that_was_closed_does_not_listen_again),
        T(a_server_that_was_closed_leaves_nothing_in_its_runtime),
        T(calls_come_back_to_a_device_that_is_back),
        T(a_server_at_vc_listens_by_rdma_when_it_has_what_it_lacked),
        T(it_tries_ever_more_seldom_but_does_not_give_up),
        T(a_server_that_lacks_it_still_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
