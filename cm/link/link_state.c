/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table; see cm/link/link_state.h. A pair that is not in it changes
 * nothing, because transports repeat events, and events cross with our own
 * decisions. */
#include "cm/link/link_state.h"

#define STATES (VC__LINK_GONE + 1)

#define ON(event, next_state, action_)                                         \
    [VC__LINK_EV_##event] = {VC__LINK_##next_state, VC__LINK_DO_##action_}

/* The events that end a link that is not up yet. REMOVED needs no answer of the
 * transport in any state. */
#define ENDS_EARLY                                                             \
    ON(NO_WAY, GONE, FAIL), ON(REFUSED, GONE, FAIL), ON(REMOVED, GONE, FAIL),  \
        ON(TIMEOUT, GONE, FAIL), ON(CLOSE, GONE, FAIL), ON(BROKEN, GONE, FAIL)

static const struct vc__link_step table[STATES][VC__LINK_EVENTS] = {
    [VC__LINK_NEW] = {ON(CONNECT, DIALLING, NOTHING),
                      ON(ACCEPT, OFFERED, NOTHING), ENDS_EARLY},
    [VC__LINK_DIALLING] = {ON(READY, ASKED, ASK), ENDS_EARLY},
    [VC__LINK_ASKED] = {ON(RESPONSE, UP, GO_UP), ENDS_EARLY},
    [VC__LINK_OFFERED] = {ON(ESTABLISHED, UP, GO_UP), ON(LEFT, GONE, ANSWER),
                          ENDS_EARLY},
    /* REFUSED: a peer that dies before its CM has confirmed the connection to
     * it rejects what it had accepted. NO_WAY: rdma_cm reports UNREACHABLE
     * again and again for a live link while the network is cut. It is only a
     * hint and does not end the link (rdma_cm of Linux 6.1, cma_netevent). */
    [VC__LINK_UP] = {ON(LEFT, GONE, ANSWER), ON(REMOVED, GONE, FAIL),
                     ON(REFUSED, GONE, FAIL), ON(TIMEOUT, LEAVING, LEAVE),
                     ON(CLOSE, LEAVING, LEAVE), ON(BROKEN, LEAVING, LEAVE)},
    [VC__LINK_LEAVING] = {ON(LEFT, GONE, REAP), ON(REMOVED, GONE, REAP),
                          ON(REFUSED, GONE, REAP), ON(TIMEOUT, GONE, REAP)},
};

struct vc__link_step
vc__link_step(enum vc__link_state state, enum vc__link_event event)
{
    struct vc__link_step step = table[state][event];

    /* An empty entry reads as NEW, which is never a next state. */
    if (step.next == VC__LINK_NEW)
        step.next = state;
    return step;
}
