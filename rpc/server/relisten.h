/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server listens again where it does not listen any more, as its device was
 * removed, or, at vc:// addresses, where RDMA was not to be had so far: it tries
 * after a second, then twice as late each time, up to some limit. */
#ifndef VC_RPC_SERVER_RELISTEN_H
#define VC_RPC_SERVER_RELISTEN_H

#include "rpc/server/server_listen.h"

/* It is in the server's list, and has not listened yet for this reason: tries
 * until it does. Any thread. */
void vc__relisten_later(struct vc__listening *l, const struct vc__error *why);

/* For vc__listener.lost. */
void vc__relisten_lost(struct vc__listener *l, const struct vc__error *why);

/* Tries no more. On engine 0. */
void vc__relisten_stop(struct vc__listening *l);

#endif
