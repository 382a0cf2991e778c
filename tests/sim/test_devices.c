/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes with two RDMA devices: a server that listens on both, clients that
 * connect over each, a budget for each device, and one device that is removed
 * while the other stays. */
#include <rdma/rdma_cma.h>
#include <string.h>

#include <verbcall/counters.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/sim/sim.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"

#define SEEDS  4u
#define LEAST  ((size_t)384 << 10) /* of memory_limit: one connection */
#define PLENTY ((size_t)256 << 20) /* the default */

#define GONE_US UINT64_C(5000000)

/* Both processes have a device on each of two networks. */
struct rig {
    struct fake_host *there, *there_too, *here_too;
    struct sim_server server;
    struct vc_runtime *runtime;
};

static void
rig_begin(struct rig *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    sim_begin(seed, 0, true);
    r->here_too = fake_device_new(fake_host_local(), "10.9.1.1");
    r->there = fake_host_new("there", "10.9.0.2");
    r->there_too = fake_device_new(r->there, "10.9.1.2");
    strcpy(r->server.target, "rdma://0.0.0.0:7471");
}

static void
rig_meet(struct rig *r, size_t client_memory, size_t server_memory)
{
    r->server.memory_limit = server_memory;
    sim_server_start(&r->server, r->there, 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(sim_runtime_of(&r->runtime, 1, client_memory), VC_OK);
}

static void
rig_end(struct rig *r)
{
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    assert_int_equal(fake_end(), 0);
}

/* bind may be NULL. Channels with different numbers share no links. */
static struct vc_channel *
channel_open(struct rig *r, const char *target, const char *bind,
             unsigned number)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *c;

    opts.bind_address = bind;
    opts.max_links = 1;
    opts.max_attempts = 1;
    opts.idle_timeout_ms = 60000 + number;
    assert_int_equal(vc_channel_open(r->runtime, target, &opts, &c), VC_OK);
    return c;
}

static void
call_is_good(struct vc_channel *c)
{
    if (sim_echo(c, 20000, 1, 0, NULL) != VC_OK)
        fail_msg("%s", vc_error());
}

/* Checks which device carries the channel's link. */
static void
goes_over(struct vc_channel *c, const char *device)
{
    struct vc__pool_link *pl = cds_list_entry(
        c->servers.only->pool->peer->links.next, struct vc__pool_link, node);

    assert_string_equal(
        ibv_get_device_name(link_device(&pl->link)->verbs->device), device);
}

static struct vc_counters
counters(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

static uint64_t
limit_of(const struct vc_counters *c)
{
    return c->memory_receive_limit + c->memory_send_limit;
}

/* --- each has its links ------------------------------------------------------ */

static void
calls_go_over_both(struct rig *r)
{
    struct vc_channel *a = channel_open(r, "rdma://10.9.0.2:7471", NULL, 0);
    struct vc_channel *b = channel_open(r, "rdma://10.9.1.2:7471", NULL, 0);

    for (unsigned i = 0; i < 4; i++) {
        call_is_good(a);
        call_is_good(b);
    }
    goes_over(a, "rxe0");
    goes_over(b, "rxe1");
    assert_int_equal(counters(atomic_load(&r->server.runtime)).links_up, 2);
    vc_channel_close(a);
    vc_channel_close(b);
}

static void
a_wildcard_address_is_listened_on_by_both_devices(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;

        rig_begin(&r, seed);
        rig_meet(&r, 0, 0);
        calls_go_over_both(&r);
        rig_end(&r);
    }
}

/* Runs in the server's process, after it listens at its first address. */
static enum vc_status
listen_too(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return vc_server_listen(server, "rdma://10.9.1.2:7471");
}

static void
a_server_listens_at_an_address_of_each_device(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;

        rig_begin(&r, seed);
        sim_target("10.9.0.2", r.server.target);
        r.server.add = listen_too;
        rig_meet(&r, 0, 0);
        calls_go_over_both(&r);
        rig_end(&r);
    }
}

/* Both devices lead to the server; the channel's bind_address selects one. */
static void
bind_address_picks_the_device(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *a, *b;
        struct rig r;

        rig_begin(&r, seed);
        rig_meet(&r, 0, 0);
        a = channel_open(&r, "rdma://10.9.0.2:7471", "10.9.0.1", 0);
        b = channel_open(&r, "rdma://10.9.0.2:7471", "10.9.1.1", 0);
        call_is_good(a);
        call_is_good(b);
        goes_over(a, "rxe0");
        goes_over(b, "rxe1");
        vc_channel_close(a);
        vc_channel_close(b);
        rig_end(&r);
    }
}

/* --- each has its budget ----------------------------------------------------- */

static void
is_refused(struct vc_channel *c, enum vc_status expected)
{
    assert_int_equal(sim_echo(c, 1, 1, 0, NULL), expected);
    assert_non_null(strstr(vc_error(), expected == VC_UNAVAILABLE
                                           ? "other connections use all memory"
                                           : "over the budget"));
}

/* The client, or the server, has memory for one connection for each device; the
 * other process has plenty. */
static void
budgets(uint64_t seed, bool at_client)
{
    static const char *const targets[] = {"rdma://10.9.0.2:7471",
                                          "rdma://10.9.1.2:7471"};
    struct vc_channel *c[2], *more;
    struct vc_counters now;
    struct rig r;

    rig_begin(&r, seed);
    rig_meet(&r, at_client ? LEAST : 0, at_client ? 0 : LEAST);
    for (unsigned i = 0; i < 2; i++) {
        c[i] = channel_open(&r, targets[i], NULL, 0);
        call_is_good(c[i]);
        more = channel_open(&r, targets[i], NULL, 1);
        is_refused(more, at_client ? VC_RESOURCE_EXHAUSTED : VC_UNAVAILABLE);
        vc_channel_close(more);
        now = counters(at_client ? r.runtime : atomic_load(&r.server.runtime));
        assert_int_equal(limit_of(&now), (i + 1) * LEAST);
        assert_true(now.memory_receive <= now.memory_receive_limit);
        assert_true(now.memory_receive > now.memory_receive_limit / 2);
    }
    now = counters(at_client ? atomic_load(&r.server.runtime) : r.runtime);
    assert_int_equal(limit_of(&now), 2 * PLENTY);
    for (unsigned i = 0; i < 2; i++) {
        call_is_good(c[i]);
        vc_channel_close(c[i]);
    }
    rig_end(&r);
}

static void
memory_limit_is_for_each_device(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        budgets(seed, true);
        budgets(seed, false);
    }
}

/* Idle QPs are kept by their own device. */
static void
a_qp_is_used_again_by_its_own_device_only(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *c;
        struct rig r;

        rig_begin(&r, seed);
        rig_meet(&r, 0, 0);
        c = channel_open(&r, "rdma://10.9.0.2:7471", NULL, 0);
        call_is_good(c);
        vc_channel_close(c);
        assert_int_equal(counters(r.runtime).qps_warm, 1);
        c = channel_open(&r, "rdma://10.9.1.2:7471", NULL, 0);
        call_is_good(c);
        assert_int_equal(counters(r.runtime).qps_reused, 0);
        vc_channel_close(c);
        c = channel_open(&r, "rdma://10.9.0.2:7471", NULL, 0);
        call_is_good(c);
        assert_int_equal(counters(r.runtime).qps_reused, 1);
        vc_channel_close(c);
        assert_int_equal(counters(r.runtime).qps_warm, 2);
        rig_end(&r);
    }
}

/* --- one device is removed ------------------------------------------------ */

/* The memory of the removed device is given back in the end, while calls are
 * made. */
static void
has_one_device(struct vc_runtime *runtime, struct vc_channel *c)
{
    uint64_t until = fake_now_us() + GONE_US;
    struct vc_counters now;

    do {
        call_is_good(c);
        fake_sleep_us(1000);
        now = counters(runtime);
    } while (limit_of(&now) != PLENTY && fake_now_us() < until);
    assert_int_equal(limit_of(&now), PLENTY);
}

/* Removes a device of the client, or of the server. Links over the other device
 * are not affected, and new links come up there. */
static void
removal(uint64_t seed, bool at_client)
{
    struct vc_channel *a, *b, *more;
    struct vc_runtime *loser;
    struct rig r;

    rig_begin(&r, seed);
    rig_meet(&r, 0, 0);
    a = channel_open(&r, "rdma://10.9.0.2:7471", NULL, 0);
    b = channel_open(&r, "rdma://10.9.1.2:7471", NULL, 0);
    call_is_good(a);
    call_is_good(b);
    fake_device_remove(at_client ? r.here_too : r.there_too);
    loser = at_client ? r.runtime : atomic_load(&r.server.runtime);
    has_one_device(loser, a);
    assert_int_equal(sim_echo(b, 64, 1, 0, NULL), VC_UNAVAILABLE);
    call_is_good(a);
    more = channel_open(&r, "rdma://10.9.0.2:7471", NULL, 1);
    call_is_good(more);
    assert_int_equal(counters(r.runtime).links_lost, 1);
    assert_int_equal(counters(r.runtime).links_up, 2);
    has_one_device(loser, more); /* the same as before */
    vc_channel_close(more);
    vc_channel_close(b);
    vc_channel_close(a);
    rig_end(&r);
}

static void
a_device_that_is_removed_leaves_the_links_of_the_other_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        removal(seed, true);
        removal(seed, false);
    }
}

static unsigned
ids_of(const struct fake_process *p)
{
    struct fake_census now;

    fake_census(p, &now);
    return now.ids;
}

/* Of the removed device only idle QPs are left. No id of a link gets the
 * removal event. */
static void
removal_without_links(uint64_t seed, bool at_client)
{
    struct vc_channel *a, *b;
    struct vc_runtime *loser;
    struct rig r;

    rig_begin(&r, seed);
    rig_meet(&r, 0, 0);
    loser = at_client ? r.runtime : atomic_load(&r.server.runtime);
    a = channel_open(&r, "rdma://10.9.0.2:7471", NULL, 0);
    b = channel_open(&r, "rdma://10.9.1.2:7471", NULL, 0);
    call_is_good(a);
    call_is_good(b);
    vc_channel_close(b);
    while (counters(loser).qps_warm == 0)
        call_is_good(a);
    fake_device_remove(at_client ? r.here_too : r.there_too);
    has_one_device(loser, a);
    assert_int_equal(counters(loser).qps_warm, 0);
    /* The ids: of the link, of the other device, and of the listener. */
    if (at_client)
        assert_int_equal(ids_of(fake_process_self()), 2);
    else
        assert_int_equal(ids_of(r.server.process), 3);
    vc_channel_close(a);
    rig_end(&r);
}

static void
a_device_without_links_is_given_back_when_it_is_removed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        removal_without_links(seed, true);
        removal_without_links(seed, false);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_wildcard_address_is_listened_on_by_both_devices),
        T(a_server_listens_at_an_address_of_each_device),
        T(bind_address_picks_the_device),
        T(memory_limit_is_for_each_device),
        T(a_qp_is_used_again_by_its_own_device_only),
        T(a_device_that_is_removed_leaves_the_links_of_the_other_alone),
        T(a_device_without_links_is_given_back_when_it_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
