/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process with two RDMA devices on a real kernel; tests/sim/test_devices.c
 * has the same simulated. A server listens on both devices, each device has a
 * budget, and one device is removed while the other stays.
 *
 * This process only coordinates: both ends are in a child. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/suite/device.h"
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"

#define BUDGET  ((uint64_t)256 << 20) /* of each device, by default */
#define GONE_MS 1000 /* for freeing the objects of a removed device */
#define LOOK_US 1000
#define PORT    17472

/* Words of the board. */
enum {
    REMOVED, /* set to 1: the second device is not listed any more */
};

static atomic_uint *
word(unsigned which)
{
    return &fixture_board->words[which];
}

/* --- both ends ----------------------------------------------------------- */

struct ends {
    struct fixture f; /* its channel is over the first device */
    struct vc_channel *second;
};

/* Listens besides the address of the fixture. */
static void
listen_anywhere(struct vc_server *server)
{
    char target[80];

    snprintf(target, sizeof target, "rdma://0.0.0.0:%d", PORT);
    assert_status(VC_OK, vc_server_listen(server, target));
}

static struct vc_channel *
channel_at(struct vc_runtime *runtime, const char *address)
{
    struct vc_channel *channel;
    char target[80];

    snprintf(target, sizeof target, "rdma://%s:%d", address, PORT);
    assert_status(VC_OK, vc_channel_open(runtime, target, NULL, &channel));
    return channel;
}

static void
ends_start(struct ends *e)
{
    memset(e, 0, sizeof *e);
    fixture_add = listen_anywhere;
    fixture_start_server(&e->f, 1, NULL);
    assert_status(VC_OK, vc_runtime_new(NULL, &e->f.runtime));
    assert_status(VC_OK, vc_runtime_start(e->f.runtime));
    e->f.channel = channel_at(e->f.runtime, getenv("VC_TEST_ADDR"));
    e->second = channel_at(e->f.runtime, DEVICE_SECOND);
}

static void
ends_stop(struct ends *e)
{
    vc_channel_close(e->second);
    fixture_stop(&e->f);
}

static void
call_is_good(struct vc_channel *channel)
{
    assert_status(VC_OK, fixture_echo(channel, 20000, 1));
}

/* Checks which device carries the channel's only link. */
static void
goes_over(struct vc_channel *channel, const char *device)
{
    struct vc__pool *pool = channel->servers.only->pool;
    struct vc__pool_link *pl;

    vc__lock_take(&pool->lock);
    assert_false(cds_list_empty(&pool->peer->links));
    pl = cds_list_entry(pool->peer->links.next, struct vc__pool_link, node);
    assert_string_equal(
        device, ibv_get_device_name(link_device(&pl->link)->verbs->device));
    vc__lock_give(&pool->lock);
}

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

static uint64_t
budget_of(struct vc_runtime *runtime)
{
    struct vc_counters c = counters_of(runtime);

    return c.memory_receive_limit + c.memory_send_limit;
}

static void
calls_go_over_both(struct ends *e)
{
    call_is_good(e->f.channel);
    call_is_good(e->second);
    goes_over(e->f.channel, "rxe0");
    goes_over(e->second, "rxe1");
    assert_int_equal(2 * BUDGET, budget_of(e->f.runtime));
    assert_int_equal(2 * BUDGET, budget_of(e->f.server_runtime));
    assert_int_equal(2, counters_of(e->f.server_runtime).links_up);
}

/* Waits until this end has freed its objects of the other device. */
static void
has_one_device(struct vc_runtime *runtime, uint64_t since)
{
    while (budget_of(runtime) != BUDGET && pace_since(since) <= GONE_MS)
        usleep(LOOK_US);
    assert_int_equal(BUDGET, budget_of(runtime));
    assert_int_equal(1, counters_of(runtime).links_up);
}

static int
ends_run(void *arg, int ready)
{
    struct ends e;
    uint64_t since;

    (void)arg;
    ends_start(&e);
    calls_go_over_both(&e);
    assert_int_equal(1, write(ready, "r", 1));
    fixture_await(word(REMOVED), 1);
    since = fixture_ms();
    has_one_device(e.f.runtime, since);
    has_one_device(e.f.server_runtime, since);
    call_is_good(e.f.channel);
    assert_int_equal(1, counters_of(e.f.runtime).links_lost);
    assert_int_equal(2, counters_of(e.f.runtime).links_made);
    ends_stop(&e);
    return 0;
}

/* --- the test ------------------------------------------------------------ */

static void
two_devices_have_links_and_budgets_of_their_own_and_one_may_go(void **state)
{
    pid_t ends;

    (void)state;
    device_need_guest();
    fixture_board_make();
    device_second_make();
    ends = fixture_fork(ends_run, NULL);
    device_second_remove();
    fixture_tell(word(REMOVED));
    assert_int_equal(0, fixture_wait(ends));
}

static int
teardown(void **state)
{
    (void)state;
    device_second_end();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            two_devices_have_links_and_budgets_of_their_own_and_one_may_go,
            teardown),
    };

    return fixture_main(tests);
}
