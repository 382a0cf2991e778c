/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The objects that a process has of an RDMA device, as the kernel lists them:
 * the data of `rdma resource show`, but also while the device is being removed,
 * when that command does not find the device any more. */
#ifndef VC_TESTS_SUITE_RESOURCES_H
#define VC_TESTS_SUITE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct resources {
    unsigned qps, cqs, mrs, pds, srqs;
};

/* The number of a device, by which the kernel knows the device as long as any
 * process has it open. */
uint32_t resources_device(const char *name);

/* Counts the objects that threads of the process have made; pid 0: of any
 * process. False when the kernel does not know the device any more: then no
 * process has any of its objects. */
bool resources_of(uint32_t device, pid_t pid, struct resources *r);

static inline unsigned
resources_sum(const struct resources *r)
{
    return r->qps + r->cqs + r->mrs + r->pds + r->srqs;
}

#endif
