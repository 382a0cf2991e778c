/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counters of a server's sessions, in the ledger of their engine. The holder of
 * the engine only, in rpc/server.
 *
 * Called by: server_arrival.c (server_count_arriving), server_session.c
 * (server_slot_set), server_session_open.c (server_slot_set), many files
 * (server_count). */
#ifndef VC_RPC_SERVER_COUNTS_H
#define VC_RPC_SERVER_COUNTS_H

#include "rpc/server/server_session.h"

/* Adds n, which may be negative, to this counter. Called where the event is
 * counted, by files of rpc/server. */
static inline void
vc__server_count(const struct vc__server_session *s, enum vc__count which,
                 int64_t n)
{
    vc__count(&s->peer->part->progress->engine.ledger, which, n);
}

/* Reports a change of part->arriving. Called by holds_since()
 * (rpc/server/server_arrival.c). */
static inline void
vc__server_count_arriving(struct vc__server_part *part)
{
    vc__count_now(&part->progress->engine.ledger, VC__COUNT_requests_arriving,
                  &part->arriving_counted, part->arriving);
}

/* Sets a slot's state; every change of it goes through here. Called by
 * rpc/server/server_session.c. */
static inline void
vc__server_slot_set(const struct vc__server_session *s,
                    struct vc__server_slot *slot, enum vc__slot_state state)
{
    if (slot->state == VC__SLOT_KEPT || state == VC__SLOT_KEPT)
        vc__server_count(s, VC__COUNT_replies_kept,
                         (state == VC__SLOT_KEPT) -
                             (slot->state == VC__SLOT_KEPT));
    slot->state = (uint8_t)state;
}

#endif
