/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server listens again where its device was removed; and at a vc:// address
 * it listens by RDMA once it has the memory or descriptors that it lacked at
 * first. It tries after a second, then after twice the time of the last wait,
 * up to a limit. The timer is engine 0's, as the listener is; what closes the
 * listener stops it. */
#ifndef VC_RPC_SERVER_RELISTEN_H
#define VC_RPC_SERVER_RELISTEN_H

#include "rpc/server/listening.h"

/* A first attempt to listen failed for this reason: puts l into the server's
 * list, whose it is then, and tries again. Any thread; waits for engine 0. */
void vc__relisten_later(struct vc__listening *l, const struct vc__error *why);

/* For vc__listener.lost. */
void vc__relisten_lost(struct vc__listener *listener,
                       const struct vc__error *why);

/* Tries no more. On engine 0. */
void vc__relisten_stop(struct vc__listening *l);

#endif
