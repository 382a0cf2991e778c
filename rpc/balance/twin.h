/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers that have sent the channel to another one (cm/pool/pool_home.c). If
 * that is a server of the channel, too, the former gets no calls while both are
 * connected: else the other would get two shares. So the subchannel is barred
 * (VC__BAR_TWIN). And a server at another address than before has no calls yet
 * that outlier detection might count.
 *
 * Each server of a channel has one of these, unless it is the only one of a
 * fixed target and the policy is one of the library. Servers are compared only
 * once one has redirected; a call costs nothing more. "The holder" is that of
 * the engine; each function says which thread calls it.
 *
 * Called by: servers.c (new, twins_follow, free), changes.c (twins_follow),
 * subchannel.c (end, free). */
#ifndef VC_RPC_TWIN_H
#define VC_RPC_TWIN_H

#include "rpc/balance/servers.h"

struct vc__twin;

/* Makes one for a server that is being made. NULL: no memory. On the thread
 * that opens the channel or calls vc_resolver_set(), which may be the
 * holder. */
struct vc__twin *vc__twin_new(struct vc__servers *sv, struct vc__subchannel *s);

/* The channel has these servers from now on: follows the new ones, and, if a
 * server has ever redirected, has a task on the holder look for twins again.
 * For a fixed target it is called inside vc_channel_open(), on its thread; else
 * by vc__changes_set(), under `changing`, on any thread. Never under the lock
 * of a pool. */
void vc__twins_follow(const struct vc__server_set *set);

/* The server has no users: follows it no more. A task of the twin may be posted
 * still, and must run before vc__twin_free(). On the holder. */
void vc__twin_end(struct vc__twin *t);
/* NULL is allowed. On the holder, after vc__twin_end(); or on any thread, if
 * the server could not be made. */
void vc__twin_free(struct vc__twin *t);

#endif
