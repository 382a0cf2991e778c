/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The RDMA resources of a process, as the kernel lists them. `rdma resource
 * show` shows the same, but not while the device is being removed, as that
 * command does not find the device then. */
#ifndef VC_TESTS_SUITE_RESOURCES_H
#define VC_TESTS_SUITE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct resources {
    unsigned qps, cqs, mrs, pds, srqs;
};

/* The kernel's index of a device, valid as long as any process has it open. */
uint32_t resources_device(const char *name);

/* Counts what the threads of the process have made; pid 0: any process. Returns
 * false if the kernel has no such device any more: then no process has
 * resources of it. */
bool resources_of(uint32_t device, pid_t pid, struct resources *r);

static inline unsigned
resources_sum(const struct resources *r)
{
    return r->qps + r->cqs + r->mrs + r->pds + r->srqs;
}

#endif
