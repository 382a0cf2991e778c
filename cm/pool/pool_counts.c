/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The counters kept under a pool's lock. See cm/pool/pool.h. */
#include "cm/pool/pool.h"

static const uint8_t which[VC__POOL_COUNTS] = {
    [VC__POOL_SESSIONS] = VC__COUNT_sessions_client,
    [VC__POOL_SESSIONS_OPENED] = VC__COUNT_sessions_client_opened,
    [VC__POOL_SESSIONS_MOVED] = VC__COUNT_sessions_client_moved,
    [VC__POOL_CALLS_STARTED] = VC__COUNT_calls_started,
    [VC__POOL_CALLS_ENDED] = VC__COUNT_calls_ended,
    [VC__POOL_CALLS_GIVEN_UP] = VC__COUNT_calls_given_up,
    [VC__POOL_CALLS_THROTTLED] = VC__COUNT_calls_throttled,
    [VC__POOL_CALLS_WAITING] = VC__COUNT_calls_waiting,
    [VC__POOL_CALLS_SENT_AGAIN] = VC__COUNT_calls_sent_again,
    [VC__POOL_REPLIES_ARRIVING] = VC__COUNT_replies_arriving,
    [VC__POOL_CALLS_RETRIED] = VC__COUNT_calls_retried,
    [VC__POOL_CALLS_NOT_RETRIED] = VC__COUNT_calls_not_retried,
    [VC__POOL_STREAMS] = VC__COUNT_streams_client,
    [VC__POOL_STREAMS_OPENED] = VC__COUNT_streams_client_opened,
    [VC__POOL_CANCELS_SENT] = VC__COUNT_cancels_sent,
    [VC__POOL_UPGRADES] = VC__COUNT_upgrades,
};

/* Any thread, when the pool is made: its counts are added to the engine's from
 * now on. */
void
vc__pool_tally_open(struct vc__pool *p)
{
    vc__tally_open(&p->tally, &p->engine->ledger, which, VC__POOL_COUNTS);
}

/* Any thread, without the lock. */
void
vc__pool_count_one(struct vc__pool *p, enum vc__pool_count count)
{
    vc__lock_take(&p->lock);
    vc__pool_count(p, count, 1);
    vc__lock_give(&p->lock);
}

/* Any thread, under the lock: mostly the holder, when a part of a long reply
 * has come, or a reply's memory is free again. */
void
vc__pool_count_replies(struct vc__pool *p)
{
    vc__tally_set(&p->tally, VC__POOL_REPLIES_ARRIVING,
                  atomic_load(&p->replies.used));
}
