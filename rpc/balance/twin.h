/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers that have sent the channel to another one (cm/pool/pool_home.c). If
 * that is a server of the channel, too, the place of the former is empty while
 * both are connected: else that server would get two shares. So the subchannel
 * is barred (VC__BAR_TWIN). And a server at another address than before has no
 * calls yet that outlier detection might count.
 *
 * A channel with several servers has one of these for each. It costs nothing
 * until a server redirects, and nothing for a call. What a link or a task calls
 * runs on the holder of the engine; each function says which thread calls it.
 *
 * Called by: servers.c (new, twins_follow, free), changes.c (twins_follow),
 * subchannel.c (end, free). */
#ifndef VC_RPC_TWIN_H
#define VC_RPC_TWIN_H

#include "rpc/balance/servers.h"

struct vc__twin;

/* Of a server that is being made. NULL: no memory. Any thread. */
struct vc__twin *vc__twin_new(struct vc__servers *sv, struct vc__subchannel *s);

/* The channel has these servers from now on: follows the new ones, and looks
 * for twins again. Called when a channel is open, and when its servers have
 * changed. Any thread, one at a time, without locks. */
void vc__twins_follow(const struct vc__server_set *set);

/* The server has no users: follows it no more. A task of it may be posted, and
 * must run before vc__twin_free(). On the holder. */
void vc__twin_end(struct vc__twin *t);
/* NULL is allowed. On the holder, after vc__twin_end(); or on any thread, if
 * the server could not be made. */
void vc__twin_free(struct vc__twin *t);

#endif
