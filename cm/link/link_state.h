/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The states of a link as a table: for each state and event the next state and
 * the action. Pure; cm/link/link.c carries out the actions.
 *
 * Called by: link.c (link_step), link_state.c (link_step). */
#ifndef VC_CM_LINK_STATE_H
#define VC_CM_LINK_STATE_H

enum vc__link_state {
    VC__LINK_NEW,      /* nothing has happened yet */
    VC__LINK_DIALLING, /* active: finding a route to the peer */
    VC__LINK_ASKED,    /* active: hello sent, no answer yet */
    VC__LINK_OFFERED,  /* passive: accepted, not yet confirmed */
    VC__LINK_UP,       /* packets may be sent */
    VC__LINK_LEAVING,  /* we disconnected, the peer has not confirmed yet */
    VC__LINK_GONE,     /* to be freed */
};

enum vc__link_event {
    VC__LINK_EV_CONNECT,     /* the active side starts */
    VC__LINK_EV_ACCEPT,      /* the passive side has accepted */
    VC__LINK_EV_READY,       /* the route is known */
    VC__LINK_EV_RESPONSE,    /* the peer's accept was good, and was confirmed */
    VC__LINK_EV_ESTABLISHED, /* the peer has confirmed, or a packet came */
    VC__LINK_EV_REFUSED,     /* rejected */
    VC__LINK_EV_NO_WAY,      /* no route to the peer, or connecting failed */
    VC__LINK_EV_LEFT,        /* the peer has disconnected */
    VC__LINK_EV_REMOVED,     /* the device is gone */
    VC__LINK_EV_TIMEOUT,     /* our own timer */
    VC__LINK_EV_CLOSE,       /* the owner closes it */
    VC__LINK_EV_BROKEN,      /* the wire failed, or the peer broke the rules */
    VC__LINK_EVENTS
};

enum vc__link_action {
    VC__LINK_DO_NOTHING,
    VC__LINK_DO_ASK,    /* prepare the wire, send the hello */
    VC__LINK_DO_GO_UP,  /* call ops->up() */
    VC__LINK_DO_LEAVE,  /* call ops->down(), disconnect, wait */
    VC__LINK_DO_ANSWER, /* call ops->down(), disconnect, free */
    VC__LINK_DO_FAIL,   /* call ops->down(), free */
    VC__LINK_DO_REAP,   /* free */
};

struct vc__link_step {
    enum vc__link_state next;
    enum vc__link_action action;
};

/* What an event does in this state. If it is ignored: the same state, and
 * VC__LINK_DO_NOTHING. Called on the holder by vc__link_event(), and by
 * vc__link_end() and vc__link_fail() to see whether the event is ignored. */
struct vc__link_step vc__link_step(enum vc__link_state state,
                                   enum vc__link_event event);

#endif
