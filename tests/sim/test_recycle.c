/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reuse of QPs: which QPs are reused and which never are, that the reuse has no
 * visible effect, and that the process gives back all objects of a device that
 * is removed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rpc/runtime.h"
#include "tests/sim/sim.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"

#define TIMES    50
#define SEEDS    sim_few(40u)
#define PATIENCE 60000000u /* us */
#define LOOK_US  1000u
#define SECOND   1000000u /* us */
#define HERE     "10.9.0.3"
#define THERE    "10.9.0.2"

struct client {
    char target[80], other[80];
    unsigned warm; /* of vc_runtime_opts */
    atomic_uint step, go;
    struct fake_host *here, *there;
    struct sim_server *server;
};

/* --- steps of a client ------------------------------------------------- */

static struct vc_runtime *
runtime_new(const struct client *c)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_runtime *runtime;

    opts.spin_us = VC_SPIN_NEVER;
    opts.warm_qps = c->warm;
    assert_int_equal(vc_runtime_new(&opts, &runtime), VC_OK);
    return runtime;
}

/* Opens a channel with options of its own, so that it shares no links. */
static struct vc_channel *
channel_new(struct vc_runtime *runtime, const char *target)
{
    static uint32_t idle_ms = 60000;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.idle_timeout_ms = idle_ms++;
    assert_int_equal(vc_channel_open(runtime, target, &opts, &channel), VC_OK);
    if (vc_channel_connect(channel, &suite_probe_service) != VC_OK)
        fail_msg("%s", vc_error());
    return channel;
}

/* The statistics of the QPs of the only device. */
static struct vc__qp_stats
stats_of(struct vc_runtime *runtime)
{
    struct cds_list_head *devices = cm_devices(&runtime->progress[0].cm);

    assert_false(cds_list_empty(devices));
    return cds_list_entry(devices->next, struct vc__device, node)->warm.stats;
}

static unsigned
qps_now(const struct fake_process *p)
{
    struct fake_census census;

    fake_census(p, &census);
    return census.qps;
}

/* --- worlds ------------------------------------------------------------ */

/* Runs a server on `there`, and a client on `here` that executes body(). */
static void
world_run(uint64_t seed, unsigned switch_every, void (*body)(void *),
          struct client *c, struct sim_server *s)
{
    struct fake_process *p;

    sim_begin(seed, switch_every, true);
    c->there = fake_host_new("there", THERE);
    c->here = fake_host_new("here", HERE);
    c->server = s;
    sim_target(THERE, s->target);
    sim_target(THERE, c->target);
    snprintf(c->other, sizeof c->other, "rdma://%s:%u", THERE, SIM_PORT + 1);
    sim_server_start(s, c->there, 1);
    assert_true(sim_server_await(s));
    p = fake_process_start(c->here, "client", body, c);
    if (!fake_process_wait(p, PATIENCE))
        fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
    if (!fake_process_ended(s->process))
        assert_true(sim_server_stop(s));
    if (fake_end() != 0)
        fail_msg("seed %llu: something is left", (unsigned long long)seed);
}

/* --- reused ------------------------------------------------------------ */

static void
connects_and_closes(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime = runtime_new(c);
    struct vc__qp_stats stats;

    for (unsigned i = 0; i < TIMES; i++) {
        struct vc_channel *channel = channel_new(runtime, c->target);

        assert_int_equal(sim_echo(channel, 3000, i, 0, NULL), VC_OK);
        vc_channel_close(channel);
        assert_int_equal(qps_now(fake_process_self()), 1);
        assert_in_range(qps_now(c->server->process), 1, 2);
    }
    stats = stats_of(runtime);
    assert_int_equal(stats.made, 1);
    assert_int_equal(stats.reused, TIMES - 1);
    assert_int_equal(stats.recycled, TIMES);
    assert_int_equal(stats.destroyed, 0);
    assert_int_equal(stats.idle, 1);
    vc_runtime_free(runtime);
}

static void
one_connection_after_the_other_takes_the_same_qp(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.target = ""};

        world_run(seed, 0, connects_and_closes, &c, &s);
    }
}

/* An idle QP is in INIT, so a connection needs only the transitions to RTR and
 * RTS. */
static void
connects_in_two_steps(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime = runtime_new(c);

    vc_channel_close(channel_new(runtime, c->target));
    for (unsigned i = 0; i < 2; i++) {
        struct vc_channel *channel;

        fake_fail(fake_process_self(), "ibv_modify_qp", 3, EIO);
        channel = channel_new(runtime, c->target);
        assert_int_equal(fake_failed(), 0);
        fake_fail_no_more();
        vc_channel_close(channel);
    }
    assert_int_equal(stats_of(runtime).reused, 2);
    vc_runtime_free(runtime);
}

static void
a_qp_that_is_used_again_is_ready_for_its_port(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.target = ""};

        world_run(seed, 0, connects_in_two_steps, &c, &s);
    }
}

static void
leaves_late_replies_behind(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime = runtime_new(c);

    for (unsigned i = 0; i < 20; i++) {
        struct vc_channel *channel = channel_new(runtime, c->target);
        enum vc_status status;

        status = sim_echo(channel, 64, 2 * i, 0, NULL);
        if (status != VC_OK)
            fail_msg("on connection %u: %s", i, vc_error());
        status = sim_echo(channel, 20000, 2 * i + 1, 1, NULL);
        assert_true(status == VC_OK || status == VC_DEADLINE_EXCEEDED);
        vc_channel_close(channel);
    }
    assert_true(stats_of(runtime).reused > 0);
    vc_runtime_free(runtime);
}

static void
what_came_late_for_one_connection_never_disturbs_the_next(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.sleep_us = 950};

        world_run(seed, 3, leaves_late_replies_behind, &c, &s);
    }
}

#define MANY 5

static void
closes_many(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime = runtime_new(c);
    struct vc_channel *channels[MANY];
    unsigned keeps = c->warm == VC_WARM_NONE ? 0 : c->warm;
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct vc__qp_stats stats;

    for (unsigned i = 0; i < MANY; i++)
        channels[i] = channel_new(runtime, c->target);
    assert_int_equal(qps_now(fake_process_self()), MANY);
    for (unsigned i = 0; i < MANY; i++)
        vc_channel_close(channels[i]);
    assert_int_equal(qps_now(fake_process_self()), keeps);
    stats = stats_of(runtime);
    assert_int_equal(stats.idle, keeps);
    assert_int_equal(stats.made, MANY);
    assert_int_equal(stats.destroyed, MANY - keeps);
    assert_int_equal(stats.evicted, keeps == 0 ? 0 : MANY - keeps);
    vc_runtime_counters(runtime, &counters);
    assert_int_equal(counters.qps_evicted, stats.evicted);
    vc_runtime_free(runtime);
}

static void
no_more_wait_than_the_options_say(void **state)
{
    const unsigned warm[] = {1, 2, VC_WARM_NONE};

    (void)state;
    for (unsigned i = 0; i < sizeof warm / sizeof warm[0]; i++) {
        struct client c = {.warm = warm[i]};
        struct sim_server s = {.target = ""};

        world_run(i + 1, 0, closes_many, &c, &s);
    }
}

/* --- never reused ------------------------------------------------------ */

/* Closes a connection whose peer will not answer. */
static void
closes_alone(struct client *c, void (*silence)(struct client *))
{
    struct vc_runtime *runtime = runtime_new(c);
    struct vc_channel *channel = channel_new(runtime, c->target);
    struct vc__qp_stats stats;

    silence(c);
    vc_channel_close(channel);
    stats = stats_of(runtime);
    assert_int_equal(stats.made, 1);
    assert_int_equal(stats.recycled, 0);
    assert_int_equal(stats.destroyed, 1);
    assert_int_equal(qps_now(fake_process_self()), 0);
    vc_runtime_free(runtime);
}

static void
server_freeze(struct client *c)
{
    fake_process_freeze(c->server->process);
}

static void
server_kill_in_silence(struct client *c)
{
    fake_wire_cut(c->here, c->there, true);
    fake_process_kill(c->server->process);
}

static void
leaves_a_frozen_server(void *arg)
{
    struct client *c = arg;

    closes_alone(c, server_freeze);
    fake_process_thaw(c->server->process);
}

static void
leaves_a_vanished_server(void *arg)
{
    closes_alone(arg, server_kill_in_silence);
}

static void
the_qp_of_a_peer_that_did_not_answer_is_destroyed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.target = ""}, t = {.target = ""};

        world_run(seed, 0, leaves_a_frozen_server, &c, &s);
        world_run(seed, 0, leaves_a_vanished_server, &c, &t);
    }
}

static void
waits_connected(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime = runtime_new(c);
    struct vc_channel *channel = channel_new(runtime, c->target);

    sim_tell(&c->step);
    sim_await(&c->go, PATIENCE);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* The same with exchanged roles: the server leaves a client. */
static void
a_server_does_not_use_the_qp_of_a_silent_client_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.target = ""};
        struct fake_process *p;

        sim_begin(seed, 0, true);
        sim_target(THERE, s.target);
        sim_target(THERE, c.target);
        sim_server_start(&s, fake_host_new("there", THERE), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", HERE), "client",
                               waits_connected, &c);
        assert_true(sim_await(&c.step, PATIENCE));
        fake_process_freeze(p);
        assert_true(sim_server_stop(&s));
        assert_int_equal(s.last.qps_made, 1);
        assert_int_equal(s.last.qps_recycled, 0);
        assert_int_equal(s.last.qps_destroyed, 1);
        fake_process_thaw(p);
        sim_tell(&c.go);
        assert_true(fake_process_wait(p, PATIENCE));
        assert_int_equal(fake_end(), 0);
    }
}

static void
is_refused_for_its_qp(void *arg)
{
    struct client *c = arg;
    struct sim_server second = {.target = ""};
    struct vc_runtime *runtime = runtime_new(c);
    struct vc_channel *keeper, *first, *next;
    struct vc__qp_stats stats;

    memcpy(second.target, c->other, sizeof second.target);
    sim_server_start(&second, c->there, 1);
    assert_true(sim_server_await(&second));
    keeper = channel_new(runtime, c->other);
    first = channel_new(runtime, c->target);
    assert_int_equal(sim_echo(first, 64, 0, 0, NULL), VC_OK);
    /* The server's host still remembers this QP number, because the DREP is
     * lost. */
    fake_rule("client: DREP ->", 1, FAKE_LOSE, 0);
    sim_server_close(c->server);
    /* A call on `first` would connect again. */
    while (stats_of(runtime).recycled == 0)
        assert_int_equal(sim_echo(keeper, 64, 1, 0, NULL), VC_OK);
    next = channel_new(runtime, c->other);
    assert_int_equal(sim_echo(next, 64, 2, 0, NULL), VC_OK);
    stats = stats_of(runtime);
    assert_int_equal(stats.recycled, 1);
    assert_int_equal(stats.reused, 1);
    assert_int_equal(stats.destroyed, 1);
    assert_int_equal(stats.made, 3);
    vc_channel_close(next);
    vc_channel_close(keeper);
    vc_channel_close(first);
    vc_runtime_free(runtime);
    assert_true(sim_server_stop(&second));
    assert_non_null(strstr(fake_trace(), "REJ 10 -> here"));
}

static void
a_refusal_as_stale_is_answered_by_another_qp(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct client c = {.warm = 0};
        struct sim_server s = {.target = ""};

        world_run(seed, 0, is_refused_for_its_qp, &c, &s);
    }
}

/* --- removal ----------------------------------------------------------- */

/* The process must have no ids either, because librdmacm keeps a PD of each
 * device while it has ids. */
static bool
has_nothing_of_verbs(const struct fake_process *p)
{
    struct fake_census n;

    fake_census(p, &n);
    return n.qps + n.cqs + n.srqs + n.mrs + n.pds + n.comp_channels + n.ids ==
           0;
}

/* Waits for a second; the process must not end. */
static bool
gives_all_back(const struct fake_process *p)
{
    uint64_t until = fake_now_us() + SECOND;

    while (!has_nothing_of_verbs(p) && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    return has_nothing_of_verbs(p) && !fake_process_ended(p);
}

/* Makes two connections, of which `open` stay; a library thread runs. */
static void
waits_for_the_end(struct client *c, unsigned open)
{
    struct vc_runtime *runtime = runtime_new(c);
    struct vc_channel *channels[2];

    assert_int_equal(vc_runtime_start(runtime), VC_OK);
    for (unsigned i = 0; i < 2; i++)
        channels[i] = channel_new(runtime, c->target);
    for (unsigned i = open; i < 2; i++)
        vc_channel_close(channels[i]);
    sim_tell(&c->step);
    sim_await(&c->go, PATIENCE);
    for (unsigned i = 0; i < open; i++)
        vc_channel_close(channels[i]);
    vc_runtime_free(runtime);
}

static void
waits_with_one_open(void *arg)
{
    waits_for_the_end(arg, 1);
}

static void
waits_with_none_open(void *arg)
{
    waits_for_the_end(arg, 0);
}

static void
removed_from_the(bool server, void (*body)(void *), uint64_t seed)
{
    struct client c = {.warm = 0};
    struct sim_server s = {.target = ""};
    struct fake_process *p;

    sim_begin(seed, 0, true);
    c.there = fake_host_new("there", THERE);
    c.here = fake_host_new("here", HERE);
    sim_target(THERE, s.target);
    sim_target(THERE, c.target);
    sim_server_start(&s, c.there, 1);
    assert_true(sim_server_await(&s));
    p = fake_process_start(c.here, "client", body, &c);
    assert_true(sim_await(&c.step, PATIENCE));
    assert_false(has_nothing_of_verbs(server ? s.process : p));
    fake_device_remove(server ? c.there : c.here);
    if (!gives_all_back(server ? s.process : p))
        fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
    sim_tell(&c.go);
    assert_true(fake_process_wait(p, PATIENCE));
    assert_true(sim_server_stop(&s));
    assert_int_equal(fake_end(), 0);
}

static void
a_removed_device_is_left_with_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        removed_from_the(false, waits_with_one_open, seed);
        /* If the process has no id of rdma_cm, Soft-RoCE (odd seeds) does not
         * report the removal. */
        if (seed % 2 == 0)
            removed_from_the(false, waits_with_none_open, seed);
        removed_from_the(true, waits_with_one_open, seed);
        removed_from_the(true, waits_with_none_open, seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_connection_after_the_other_takes_the_same_qp),
        cmocka_unit_test(a_qp_that_is_used_again_is_ready_for_its_port),
        cmocka_unit_test(
            what_came_late_for_one_connection_never_disturbs_the_next),
        cmocka_unit_test(no_more_wait_than_the_options_say),
        cmocka_unit_test(the_qp_of_a_peer_that_did_not_answer_is_destroyed),
        cmocka_unit_test(a_server_does_not_use_the_qp_of_a_silent_client_again),
        cmocka_unit_test(a_refusal_as_stale_is_answered_by_another_qp),
        cmocka_unit_test(a_removed_device_is_left_with_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
