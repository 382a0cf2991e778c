/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How near a server is, for the policy nearest. On the thread that opens the
 * channel, or changes its servers or its policy, which may be the holder.
 *
 * Called by: server_set.c (all). */
#ifndef VC_RPC_NEAR_H
#define VC_RPC_NEAR_H

#include "rpc/balance/endpoint.h"

struct ifaddrs;

/* What is asked of this machine once for many servers. */
struct vc__near {
    struct ifaddrs *addresses; /* NULL: not known */
    const char *label;         /* of this program; or NULL */
};

/* Called when the servers of a channel are arranged, around vc__near_tier().
 * Begin asks for the addresses of this machine; if that fails they count as not
 * known. End frees them. */
void vc__near_begin(struct vc__near *near, const char *label);
void vc__near_end(struct vc__near *near);

/* Returns 0 for a server on this host, 1 for one whose label is that of this
 * program, and 2 for all others. The host is this one if an address of the
 * server is of shm: or inproc:, or is one of this machine, loopback included,
 * or its name. Other names are not looked up. */
unsigned vc__near_tier(const struct vc__near *near,
                       const struct vc__endpoint *e);

#endif
