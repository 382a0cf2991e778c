/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which transports may carry the calls to vc://HOST:PORT, the best first. The
 * program's options list them; VERBCALL_TRANSPORTS may allow only some. Choices
 * are made on the program's thread only: in vc_server_new(), and in
 * vc_channel_open(), there before a resolver is opened. Pure but for
 * vc__choice_allowed(), which reads the environment; any thread.
 *
 * Called by: rpc/balance/target_opts.c (make, allowed, require, has),
 * rpc/server/server.c (make, allowed), cm/pool/pool_describe.c (rank),
 * cm/pool/upgrade.c (rank, has), rpc/server/server_listen.c (rank, has),
 * choice.c (has), cm/pool/pool_connect.c (has). */
#ifndef VC_CM_CHOICE_H
#define VC_CM_CHOICE_H

#include <stdbool.h>

#include <verbcall/status.h>

#include "cm/connect/cm.h"

struct vc__choice {
    unsigned n;
    const struct vc__transport *best[VC__TRANSPORTS_MAX];
};

/* Fills `choice` from `list`, such as "shm,rdma,tcp", the value of the option
 * named `option`; NULL means all of these that this build has, in this order.
 * Then keeps the transports that `allowed`, the environment's list, contains
 * too. The order is that of `list`, or of `allowed` if `list` is NULL.
 * `allowed` may be NULL; the caller reads it with vc__choice_allowed(). Called
 * by vc_server_new() and vc__target_opts_choose(). VC_OK, or
 * VC_INVALID_ARGUMENT     one of the lists is malformed, or names a transport
 *                         that this build lacks
 * VC_FAILED_PRECONDITION  the lists have no transport in common */
enum vc_status vc__choice_make(struct vc__choice *choice, const char *option,
                               const char *list, const char *allowed);

/* Returns the value of VERBCALL_TRANSPORTS, or NULL if unset or empty. Reads
 * the environment by getenv(3), which owns the text. On the thread that makes
 * the choice. */
const char *vc__choice_allowed(void);

/* Keeps in `choice` only the transports of `require`. If shm would be among
 * those that are kept, `choice` is left as it is, because the other transports
 * are needed to find the shm socket. If `require` is empty, nothing is left
 * out. Called by vc__target_opts_choose(), for a channel. VC_OK, or
 * VC_INVALID_ARGUMENT     no transport of `require` is in `choice`, or shm is
 *                         the only one left in `choice` */
enum vc_status vc__choice_require(struct vc__choice *choice,
                                  const struct vc__choice *require);

/* The transport's position in `choice`: 0 is the best; choice->n if absent. For
 * links on the holder, for descriptions and listening on any thread. */
unsigned vc__choice_rank(const struct vc__choice *choice,
                         const struct vc__transport *transport);

/* True if the transport is in `choice`. Threads as above. */
static inline bool
vc__choice_has(const struct vc__choice *choice,
               const struct vc__transport *transport)
{
    return vc__choice_rank(choice, transport) < choice->n;
}

#endif
