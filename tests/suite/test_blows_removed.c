/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a device is removed on a real kernel, a process that still runs, client
 * or server, keeps none of its objects. `rdma resource` lists none of its QPs,
 * CQs, SRQs, MRs and PDs within a second of RDMA_CM_EVENT_DEVICE_REMOVAL. This
 * process only coordinates: both ends are its children. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/device.h"
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"
#include "tests/suite/resources.h"

#define SECOND_MS  1000 /* at the machine's usual pace */
#define LATEST_MS  10000
#define ROUNDS     3u
#define REMOVAL_MS 5000 /* for the kernel */
#define CHANNELS   3u
#define LOOK_US    1000

/* Words of the board. */
enum {
    CLIENT_TOLD, /* set to 1: the client received the event */
    SERVER_TOLD,
    CLIENT_MS, /* when: lower bits of fixture_ms() */
    SERVER_MS,
    END, /* set to 1, for both ends: end */
};

static pid_t client, server;

/* --- the ends ---------------------------------------------------------- */

static uint64_t
removals(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c.cm_removals;
}

/* Runs until END is set, and records when the event is received. */
static void
live(struct vc_runtime *runtime, unsigned told, unsigned ms)
{
    atomic_uint *words = fixture_board->words;

    while (removals(runtime) == 0 && atomic_load(&words[END]) == 0)
        usleep(LOOK_US);
    if (removals(runtime) > 0) {
        atomic_store(&words[ms], (unsigned)fixture_ms());
        fixture_tell(&words[told]);
    }
    while (atomic_load(&words[END]) == 0)
        fixture_await(&words[END], 1);
}

static int
server_run(void *arg, int ready)
{
    struct fixture f = {.target = ""};

    (void)arg;
    fixture_start_server(&f, 1, NULL);
    atomic_store(&fixture_board->port, vc_server_port(f.server));
    assert_int_equal(1, write(ready, "r", 1));
    live(f.server_runtime, SERVER_TOLD, SERVER_MS);
    fixture_stop_server(&f);
    return 0;
}

/* Has some links up, which a thread of the library advances. */
static int
client_run(void *arg, int ready)
{
    struct fixture f = {.target = ""};
    struct vc_channel *channels[CHANNELS];

    (void)arg;
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f.target);
    assert_status(VC_OK, vc_runtime_new(NULL, &f.runtime));
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    for (unsigned i = 0; i < CHANNELS; i++) {
        assert_status(VC_OK,
                      fixture_open_alone(f.runtime, f.target, &channels[i]));
        assert_status(VC_OK, fixture_echo(channels[i], 20000, i));
    }
    assert_int_equal(1, write(ready, "r", 1));
    live(f.runtime, CLIENT_TOLD, CLIENT_MS);
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
    vc_runtime_free(f.runtime);
    return 0;
}

static void
ends_start(void)
{
    fixture_board_make();
    server = fixture_fork(server_run, NULL);
    client = fixture_fork(client_run, NULL);
}

static void
ends_stop(void)
{
    pid_t c = client, s = server;

    fixture_tell(&fixture_board->words[END]);
    client = server = 0;
    if (c != 0)
        assert_int_equal(0, fixture_wait(c));
    if (s != 0)
        assert_int_equal(0, fixture_wait(s));
}

/* --- what the kernel lists --------------------------------------------- */

static void
assert_listed(uint32_t device, pid_t pid)
{
    struct resources r;

    assert_true(resources_of(device, pid, &r));
    assert_true(r.qps >= CHANNELS);
    assert_true(r.cqs >= 1 && r.srqs >= 1 && r.mrs >= 1 && r.pds >= 1);
}

/* Waits until this process has no objects, LATEST_MS at most; true when that is
 * within a second of its event. */
static bool
none_listed(uint32_t device, pid_t pid, const char *who, unsigned told,
            unsigned ms)
{
    struct resources r;
    unsigned since, took;
    bool known;

    fixture_await(&fixture_board->words[told], 1);
    since = atomic_load(&fixture_board->words[ms]);
    do {
        known = resources_of(device, pid, &r);
        if (resources_sum(&r) == 0 && known)
            break;
        usleep(LOOK_US);
    } while ((unsigned)fixture_ms() - since <= LATEST_MS);
    took =
        (unsigned)pace_since(fixture_ms() - ((unsigned)fixture_ms() - since));
    printf("# the %s has %u QPs, %u CQs, %u SRQs, %u MRs, %u PDs %u ms after "
           "the event, the device is %s\n",
           who, r.qps, r.cqs, r.srqs, r.mrs, r.pds, took,
           known ? "known" : "gone");
    assert_true(known);
    assert_int_equal(0, resources_sum(&r));
    return took <= SECOND_MS;
}

static bool
is_left_with_nothing_in_time(void)
{
    struct resources all;
    uint32_t device;
    bool in_time;

    ends_start();
    device = resources_device("rxe0");
    assert_listed(device, client);
    assert_listed(device, server);

    device_remove();
    in_time = none_listed(device, client, "client", CLIENT_TOLD, CLIENT_MS);
    in_time = none_listed(device, server, "server", SERVER_TOLD, SERVER_MS) &&
              in_time;
    assert_true(resources_of(device, 0, &all));
    assert_int_equal(0, resources_sum(&all));
    ends_stop();
    device_renew();
    return in_time;
}

/* One of ROUNDS rounds must succeed, as a stall of the machine can take any
 * time. */
static void
a_removed_device_is_left_with_nothing_within_a_second(void **state)
{
    unsigned round = 0;
    uint32_t device;

    (void)state;
    device_need_guest();
    while (!is_left_with_nothing_in_time() && ++round < ROUNDS)
        continue;
    assert_in_range(round, 0, ROUNDS - 1);

    ends_start();
    device = resources_device("rxe0");
    assert_listed(device, client);
    assert_listed(device, server);
    ends_stop();
}

static int
teardown(void **state)
{
    (void)state;
    if (client != 0 || server != 0)
        ends_stop();
    device_restore();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            a_removed_device_is_left_with_nothing_within_a_second, teardown),
    };

    return fixture_main(tests);
}
