/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a thread waits for an engine that another one has, or gets back in the
 * queue (doc/architecture-transport.md, "Many callers"). Any thread. See
 * transport/core/engine.h. */
#include "transport/core/engine.h"

/* For vc__engine_queue(): queues for the token, or as its holder, whose tenure
 * is over, after the others. Returns as that. */
static bool
engine_queue(struct vc__engine *e, struct vc__waiter *w, uint64_t until,
             bool holds)
{
    uint64_t tenure_us = vc__tenure_judge(&e->tenure), deferred;

    if (holds)
        vc__tenure_end(&e->tenure);
    if (holds ? vc__token_yield(&e->token, w, tenure_us > 0,
                                &e->ledger.held[VC__COUNT_token_handovers])
              : vc__token_enter(&e->token, w, tenure_us > 0))
        return true;
    if (tenure_us > 0) {
        deferred = vc__now() + vc__tenures_before(w->ahead) * tenure_us;
        if (!vc__tenure_are_off(&e->tenure))
            vc__waiter_sleep(w, deferred < until ? deferred : until);
        if (vc__token_undefer(&e->token, w)) {
            vc__tenure_end(&e->tenure);
            return true;
        }
    }
    vc__waiter_sleep(w, until);
    return vc__token_unqueue(&e->token, w);
}

bool
vc__engine_queue(struct vc__engine *e, struct vc__waiter *w, uint64_t until,
                 bool holds)
{
    bool got = engine_queue(e, w, until, holds);

    if (got)
        vc__tenure_entered(&e->tenure);
    else
        vc__tenure_left(&e->tenure);
    return got;
}
