/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that vanish: the server keeps their sessions for a while, but for a
 * limited number of clients. */
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define PATIENCE (2000 * MS)
#define KEPT     1024u
/* RESUME_MS of rpc/server/server_peer.c, plus the delay of a timer. */
#define FORGOTTEN (10100 * MS)
#define CROWD     256u /* clients that connect together */

/* Clients of one server in one process. They do not share links, because their
 * options differ. */
struct crowd {
    struct sim_server server;
    unsigned n;
    atomic_uint served;
};

static void
crowd_main(void *arg)
{
    struct crowd *c = arg;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    for (unsigned i = 0; i < c->n; i++) {
        struct vc_channel *channel;

        opts.connect_timeout_ms = 1000 + i;
        assert_int_equal(
            vc_channel_open(runtime, c->server.target, &opts, &channel), VC_OK);
        assert_int_equal(sim_echo(channel, 8, 1, 0, NULL), VC_OK);
    }
    sim_tell(&c->served);
    fake_sleep_us(PATIENCE);
}

static struct vc_counters
counters(struct crowd *c)
{
    return scene_counters(atomic_load(&c->server.runtime));
}

/* n clients are served, and are then killed. */
static void
crowd_vanishes(struct crowd *c, struct fake_host *host, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;
    uint64_t before = counters(c).sessions_server;
    struct fake_process *p;

    c->n = n;
    atomic_store(&c->served, 0);
    p = fake_process_start(host, "crowd", crowd_main, c);
    assert_true(sim_await(&c->served, PATIENCE));
    assert_int_equal(counters(c).sessions_server, before + n);
    fake_process_kill(p);
    while (counters(c).links_server > 0 && fake_now_us() < until)
        fake_sleep_us(MS);
    assert_int_equal(counters(c).links_server, 0);
}

static void
a_server_keeps_the_sessions_of_1024_clients_that_are_gone(void **state)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct crowd c = {.n = 0};
        struct fake_host *here;

        (void)state;
        sim_begin(seed, 0, false);
        here = fake_host_new("here", "10.9.0.3");
        sim_target("10.9.0.2", c.server.target);
        sim_server_start(&c.server, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&c.server));
        for (unsigned n = CROWD; n <= KEPT; n += CROWD) {
            crowd_vanishes(&c, here, CROWD);
            assert_int_equal(counters(&c).sessions_server, n);
        }
        crowd_vanishes(&c, here, 1);
        assert_int_equal(counters(&c).sessions_server, KEPT);
        fake_sleep_us(FORGOTTEN);
        assert_int_equal(counters(&c).sessions_server, 0);
        assert_true(sim_server_stop(&c.server));
        assert_null(sim_counters_fault(&c.server.last));
        assert_int_equal(fake_end(), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_server_keeps_the_sessions_of_1024_clients_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
