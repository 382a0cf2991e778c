/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel at one time. Constant once it is published.
 *
 * Called by: servers.c (all). */
#ifndef VC_RPC_SERVER_SET_H
#define VC_RPC_SERVER_SET_H

#include "rpc/balance/endpoint.h"
#include "rpc/balance/subchannel.h"

struct vc__server_set {
    unsigned n;                   /* at least 1 */
    struct vc__endpoint *about;   /* what is said of each; NULL: nothing */
    struct vc__subchannel *sub[]; /* n; not owned */
};

/* A set with room for n servers. It owns `about`, which is of malloc(), or
 * NULL; also if this fails. NULL: no memory. Called on any thread that opens or
 * changes a channel. */
struct vc__server_set *vc__server_set_new(unsigned n,
                                          struct vc__endpoint *about);
/* Called when no thread reads it any more. NULL is allowed. */
void vc__server_set_free(struct vc__server_set *set);

#endif
