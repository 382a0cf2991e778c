/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The guest as the machine of tests/fake/faithful.h: rxe0 on v0, as
 * tests/vm/init sets it up. tests/fake/faithful.sh makes the device again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake/faithful.h"

#define LOOK_US 10000
#define LOOKS   500

static bool
command(const char *text)
{
    int status = system(text);

    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
must(const char *text)
{
    if (command(text))
        return;
    fprintf(stderr, "failed: %s\n", text);
    exit(1);
}

bool
machine_may_change(void)
{
    return geteuid() == 0 &&
           command("grep -qsx v0 /sys/class/infiniband/rxe0/parent");
}

void
machine_port_set(bool up)
{
    must(up ? "ip link set v0 up" : "ip link set v0 down");
}

/* The command that removes the device ends when no process has it open, and
 * librdmacm keeps it open: until this program ends. */
void
machine_device_remove(void)
{
    must("rdma link delete rxe0 >/dev/null 2>&1 &");
    for (int i = 0; i < LOOKS; i++) {
        if (!command("rdma link show rxe0/1 >/dev/null 2>&1"))
            return;
        usleep(LOOK_US);
    }
    fprintf(stderr, "the device is not removed\n");
    exit(1);
}
