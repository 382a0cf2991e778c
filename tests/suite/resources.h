/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a process has of an RDMA device, as the kernel lists it: what
 * `rdma resource show` shows, but also while the device is being removed, when
 * that command does not find it any more. */
#ifndef VC_TESTS_SUITE_RESOURCES_H
#define VC_TESTS_SUITE_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct resources {
    unsigned qps, cqs, mrs, pds, srqs;
};

/* The number of a device, by which the kernel knows it as long as anybody has
 * it open. */
uint32_t resources_device(const char *name);

/* What threads of the process have made; 0: of any process. False when the
 * kernel knows no such device any more: then nobody has anything of it. */
bool resources_of(uint32_t device, pid_t pid, struct resources *r);

static inline unsigned
resources_sum(const struct resources *r)
{
    return r->qps + r->cqs + r->mrs + r->pds + r->srqs;
}

#endif
