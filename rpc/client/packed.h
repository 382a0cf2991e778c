/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A request that is packed before the link sends it: as it is longer than a
 * packet, may be sent again, or must outlive the program's message. Any thread,
 * unless it says otherwise.
 *
 * Called by: attempt.c (all). */
#ifndef VC_RPC_PACKED_H
#define VC_RPC_PACKED_H

#include "rpc/client/attempt.h"

/* Packs the metadata and the request of an attempt, which has measured them:
 * `size` bytes of message. Returns it with one reference, the attempt's; NULL
 * if memory is short. Called by vc__attempt_prepare_message(). */
struct vc__send *vc__packed_new(const struct vc__attempt *u, size_t size);

/* Copies a packed request for another attempt of this number. The metadata that
 * this one adds come first, then those of the first attempt. The watch may be
 * NULL. Returns as vc__packed_new(). Called by vc__attempt_renew() and
 * vc__attempt_copy(), on the holder. */
struct vc__send *vc__packed_copy(const struct vc__send *send,
                                 struct vc__watch *watch, unsigned attempt);

/* Drops the attempt's reference; a link that still sends the request has one of
 * its own. Called by vc__attempt_drop(). */
void vc__packed_put(struct vc__send *send);

#endif
