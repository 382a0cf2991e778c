/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lets a server listen again when its device was removed and is back. At a
 * vc:// address, also starts listening by RDMA once the memory or descriptors
 * that were missing at first can be had. The first retry comes after a second,
 * each further one after twice the last wait, up to a limit. The timer belongs
 * to engine 0, as the listener does. The holder of engine 0 only, except
 * vc__relisten_later().
 *
 * Called by: server_listen.c (all). */
#ifndef VC_RPC_SERVER_RELISTEN_H
#define VC_RPC_SERVER_RELISTEN_H

#include "rpc/server/listening.h"

/* Called by listen_later() (rpc/server/server_listen.c), within
 * vc_server_listen(), when a first attempt to listen has failed with *why: logs
 * that, adds l to the server's list, which owns it from now on, and retries by
 * timer. Any thread; waits until engine 0 has listed it and started the
 * timer. */
void vc__relisten_later(struct vc__listening *l, const struct vc__error *why);

/* The callbacks of the listener, called by cm/link/listener.c. lost: it has
 * stopped, mostly as its device was removed, or a retry has failed; notes the
 * reason *why, and starts the timer of the next retry. back: a retry has
 * succeeded; logs that. */
void vc__relisten_lost(struct vc__listener *listener,
                       const struct vc__error *why);
void vc__relisten_back(struct vc__listener *listener);

/* Stops the retries. Called by server_listen_deafen()
 * (rpc/server/server_listen.c), before the listener is closed for good. */
void vc__relisten_stop(struct vc__listening *l);

#endif
