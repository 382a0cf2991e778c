/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a device is removed on a real kernel, a process that still runs, client
 * or server, keeps none of its objects. `rdma resource` lists none of its QPs,
 * CQs, SRQs, MRs and PDs within a second of RDMA_CM_EVENT_DEVICE_REMOVAL. This
 * process only coordinates: both ends are its children. The members of a
 * multicast group, and its publishers, join it again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/device.h"
#include "tests/suite/features.vc.h"
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
    if (fixture_is_rdma()) {
        assert_true(r.qps >= CHANNELS && r.srqs >= 1);
    } else { /* datagrams */
        assert_true(r.qps >= 1);
    }
    assert_true(r.cqs >= 1 && r.mrs >= 1 && r.pds >= 1);
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

/* --- a multicast group ---------------------------------------------------- */

#define GROUP_TARGET "rdma+mc://239.1.2.3:7000"

/* Words of the board, in place of the above. */
enum {
    RUNS,   /* handlers of the member */
    BEFORE, /* set to 1: a call came through */
    LOST,   /* set to 1: a call has failed */
    AGAIN,  /* set to 1: a call came through again */
    DONE,   /* set to 1: end */
};

static pid_t group;

static enum vc_status
group_tell(struct vc_call *call, const Features__Order *order, void *arg)
{
    (void)call;
    (void)order;
    (void)arg;
    fixture_tell(&fixture_board->words[RUNS]);
    return VC_OK;
}

static void
group_publish_until(struct vc_channel *channel, bool fails)
{
    const Features__Order order = FEATURES__ORDER__INIT;
    atomic_uint *words = fixture_board->words;
    unsigned runs = atomic_load(&words[RUNS]);
    uint64_t due = fixture_ms() + 20000;

    while ((features_work_tell(channel, &order, NULL) != VC_OK) != fails ||
           (!fails && atomic_load(&words[RUNS]) == runs)) {
        if (fixture_ms() > due)
            fail_msg("%s", vc_error());
        usleep(LOOK_US);
    }
}

static void
group_lives(struct vc_channel *channel)
{
    atomic_uint *words = fixture_board->words;

    group_publish_until(channel, false);
    fixture_tell(&words[BEFORE]);
    group_publish_until(channel, true);
    assert_int_equal(VC_UNAVAILABLE, vc_error_status());
    assert_non_null(strstr(vc_error(), "239.1.2.3:7000"));
    fixture_tell(&words[LOST]);
    group_publish_until(channel, false);
    fixture_tell(&words[AGAIN]);
    fixture_await(&words[DONE], 1);
}

/* A member and a publisher in one process. */
static int
group_run(void *arg, int ready)
{
    static const struct features_work_methods methods = {.tell = group_tell};
    const char *at = DEVICE_SECOND;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_server *member;

    (void)arg;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_server_new(runtime,
                                       VC_SERVER_OPTS(.multicast_address = at),
                                       &member));
    assert_status(VC_OK, features_work_add(member, &methods, NULL));
    assert_status(VC_OK, vc_server_listen(member, GROUP_TARGET));
    assert_status(VC_OK, vc_channel_open(runtime, GROUP_TARGET,
                                         VC_CHANNEL_OPTS(.bind_address = at),
                                         &channel));
    assert_int_equal(1, write(ready, "r", 1));
    group_lives(channel);
    vc_channel_close(channel);
    vc_server_free(member);
    vc_runtime_free(runtime);
    return 0;
}

/* The second device of the guest: librdmacm keeps the last one of a machine
 * open when it is removed. */
static void
a_group_is_joined_again_when_its_device_is_back(void **state)
{
    atomic_uint *words;
    pid_t pid;

    (void)state;
    device_need_guest();
    device_second_make();
    fixture_board_make();
    words = fixture_board->words;
    group = fixture_fork(group_run, NULL);
    fixture_await(&words[BEFORE], 1);
    device_second_remove();
    fixture_await(&words[LOST], 1);
    device_second_renew();
    fixture_await(&words[AGAIN], 1);
    fixture_tell(&words[DONE]);
    pid = group;
    group = 0;
    assert_int_equal(0, fixture_wait(pid));
    device_second_end();
}

static int
teardown(void **state)
{
    (void)state;
    if (group != 0)
        kill(group, SIGKILL);
    group = 0;
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
        cmocka_unit_test_teardown(
            a_group_is_joined_again_when_its_device_is_back, teardown),
    };

    return fixture_main(tests);
}
