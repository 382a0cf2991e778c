/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/device.h. */
#include "tests/suite/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define LOOK_US  10000
#define WORLD_MS 5000 /* for the kernel to change a port or a device */

static pid_t deleter; /* 0: none runs */

/* True: the device must be restored, even if the test failed. */
static bool is_changed;

/* --- commands ---------------------------------------------------------- */

/* Starts a shell command. */
static pid_t
command_start(const char *text)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int
command(const char *text)
{
    return fixture_wait(command_start(text));
}

static bool
succeeds_within(const char *text, unsigned ms)
{
    uint64_t due = fixture_ms() + ms;
    bool good;

    while (!(good = command(text) == 0) && fixture_ms() < due)
        usleep(LOOK_US);
    return good;
}

/* Only the guest may be changed: root, with rxe0 on v0. */
void
device_need_guest(void)
{
    if (geteuid() != 0 ||
        command("grep -qsx v0 /sys/class/infiniband/rxe0/parent") != 0)
        skip();
}

static void
await_active(const char *device)
{
    char text[100];

    snprintf(text, sizeof text,
             "grep -qs ACTIVE /sys/class/infiniband/%s/ports/1/state", device);
    assert_true(succeeds_within(text, WORLD_MS));
}

void
device_await_active(void)
{
    await_active("rxe0");
}

void
device_port_down(void)
{
    is_changed = true;
    assert_int_equal(0, command("ip link set v0 down"));
}

/* As tests/vm/init sets it up; IPv6 addresses are lost when the link goes
 * down. */
void
device_port_up(void)
{
    assert_int_equal(0, command("ip link set v0 up &&"
                                "ip addr replace 10.9.0.1/24 dev v0 &&"
                                "ip addr replace fd09::1/64 dev v0 nodad"));
}

static void
removal_start(const char *device)
{
    char text[100];

    snprintf(text, sizeof text, "exec rdma link delete %s", device);
    deleter = command_start(text);
    snprintf(text, sizeof text, "! rdma link show %s/1 >/dev/null 2>&1",
             device);
    assert_true(succeeds_within(text, WORLD_MS));
}

void
device_remove(void)
{
    is_changed = true;
    removal_start("rxe0");
}

static void
deleter_join(void)
{
    pid_t ending = deleter;

    deleter = 0;
    if (ending != 0)
        assert_int_equal(0, fixture_wait(ending));
}

/* Also needed after the port was down: the CM's own QP on Soft-RoCE fails for
 * good if it sends in that time. */
void
device_renew(void)
{
    deleter_join();
    device_port_up();
    assert_int_equal(0, command("if rdma link show rxe0/1 >/dev/null 2>&1; then"
                                "    rdma link delete rxe0;"
                                "fi;"
                                "rdma link add rxe0 type rxe netdev v0 &&"
                                "chmod 666 /dev/infiniband/*"));
    device_await_active();
    is_changed = false;
}

void
device_restore(void)
{
    if (is_changed)
        device_renew();
}

/* --- the second device -------------------------------------------------- */

void
device_second_make(void)
{
    assert_int_equal(0, command("ip link add v2 type veth peer name v3 &&"
                                "ip addr add " DEVICE_SECOND "/24 dev v2 &&"
                                "ip link set v2 up && ip link set v3 up &&"
                                "rdma link add rxe1 type rxe netdev v2 &&"
                                "chmod 666 /dev/infiniband/*"));
    await_active("rxe1");
}

void
device_second_remove(void)
{
    removal_start("rxe1");
}

void
device_second_renew(void)
{
    deleter_join();
    assert_int_equal(0, command("rdma link add rxe1 type rxe netdev v2 &&"
                                "chmod 666 /dev/infiniband/*"));
    await_active("rxe1");
}

/* The device is removed with its interface. */
void
device_second_end(void)
{
    deleter_join();
    command("ip link delete v2");
}
