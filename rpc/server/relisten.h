/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lets a server listen again when its device was removed and is back. At a
 * vc:// address, also starts listening by RDMA once the memory or descriptors
 * that were missing at first can be had. The first retry comes after a second,
 * each further one after twice the last wait, up to a limit. The timer belongs
 * to engine 0, as the listener does; closing the listener stops it. The holder
 * of engine 0 only, except vc__relisten_later().
 *
 * Called by: server_listen.c (all). */
#ifndef VC_RPC_SERVER_RELISTEN_H
#define VC_RPC_SERVER_RELISTEN_H

#include "rpc/server/listening.h"

/* Called when a first attempt to listen has failed with *why: adds l to the
 * server's list, which owns it from now on, and retries by timer. Any thread;
 * waits for engine 0. */
void vc__relisten_later(struct vc__listening *l, const struct vc__error *why);

/* The callback for vc__listener.lost. */
void vc__relisten_lost(struct vc__listener *listener,
                       const struct vc__error *why);

/* Stops the retries. Called before the listener is closed. */
void vc__relisten_stop(struct vc__listening *l);

#endif
