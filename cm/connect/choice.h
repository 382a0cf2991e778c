/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which transports may carry the calls to vc://HOST:PORT, the best first: what
 * the program's options say, within what VERBCALL_TRANSPORTS allows. */
#ifndef VC_CM_CHOICE_H
#define VC_CM_CHOICE_H

#include <stdbool.h>

#include <verbcall/status.h>

#include "cm/connect/cm.h"

struct vc__choice {
    unsigned n;
    const struct vc__transport *best[VC__TRANSPORTS_MAX];
};

/* Of a list as "shm,rdma,tcp", which `option` gave; NULL: all of these three,
 * in this order. Then of its transports those that the environment's list has,
 * `allowed`, in the order of `list`, or, where that is NULL, of `allowed`.
 * allowed may be NULL, and is read by whoever calls: vc__choice_allowed().
 * VC_INVALID_ARGUMENT     one of the lists is malformed
 * VC_FAILED_PRECONDITION  they have none in common */
enum vc_status vc__choice_make(struct vc__choice *choice, const char *option,
                               const char *list, const char *allowed);

/* VERBCALL_TRANSPORTS, or NULL. */
const char *vc__choice_allowed(void);

/* Leaves in `choice` what may carry calls, and, where shm may, what leads to
 * it. `require` may be empty: then nothing is left out.
 * VC_INVALID_ARGUMENT     nothing of `require` is in `choice`, or shm is without
 *                         what leads to it */
enum vc_status vc__choice_require(struct vc__choice *choice,
                                  const struct vc__choice *require);

/* 0 is the best; choice->n: it is none of them. */
unsigned vc__choice_rank(const struct vc__choice *choice,
                         const struct vc__transport *transport);

static inline bool
vc__choice_has(const struct vc__choice *choice,
               const struct vc__transport *transport)
{
    return vc__choice_rank(choice, transport) < choice->n;
}

#endif
