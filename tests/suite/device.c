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
#define WORLD_MS 5000 /* the kernel's own time for a port or a device */

static pid_t deleter; /* 0: none runs */

/* To be undone, whatever became of the test. */
static bool is_changed;

/* --- commands ---------------------------------------------------------- */

/* A command of the shell. */
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

/* What of the machine may be changed: only the guest's. */
void
device_need_guest(void)
{
    if (geteuid() != 0 ||
        command("grep -qsx v0 /sys/class/infiniband/rxe0/parent") != 0)
        skip();
}

void
device_await_active(void)
{
    assert_true(succeeds_within(
        "grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state", WORLD_MS));
}

void
device_port_down(void)
{
    is_changed = true;
    assert_int_equal(0, command("ip link set v0 down"));
}

/* As tests/vm/init has made it: IPv6 addresses go with the link. */
void
device_port_up(void)
{
    assert_int_equal(0, command("ip link set v0 up &&"
                                "ip addr replace 10.9.0.1/24 dev v0 &&"
                                "ip addr replace fd09::1/64 dev v0 nodad"));
}

void
device_remove(void)
{
    is_changed = true;
    deleter = command_start("exec rdma link delete rxe0");
    assert_true(
        succeeds_within("! rdma link show rxe0/1 >/dev/null 2>&1", WORLD_MS));
}

static void
deleter_join(void)
{
    pid_t ending = deleter;

    deleter = 0;
    assert_int_equal(0, fixture_wait(ending));
}

/* Also after the port was down: the QP by which Soft-RoCE's CM talks dies when
 * it sends in that time, for ever. */
void
device_renew(void)
{
    if (deleter != 0)
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
