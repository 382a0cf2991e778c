/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a link as a table: in which state which event leads where, and
 * what is to be done. Pure; cm/link.c carries the actions out. */
#ifndef VC_CM_LINK_STATE_H
#define VC_CM_LINK_STATE_H

enum vc__link_state {
    VC__LINK_NEW,     /* nothing has happened yet */
    VC__LINK_ADDR,    /* active: resolving the address */
    VC__LINK_ROUTE,   /* active: resolving the route */
    VC__LINK_ASKED,   /* active: hello sent, no answer yet */
    VC__LINK_OFFERED, /* passive: accepted, not yet confirmed */
    VC__LINK_UP,      /* carries packets */
    VC__LINK_LEAVING, /* we disconnected, the peer has not answered yet */
    VC__LINK_GONE,    /* to be taken apart */
};

enum vc__link_event {
    VC__LINK_EV_CONNECT,     /* the active side starts */
    VC__LINK_EV_ACCEPT,      /* the passive side has accepted */
    VC__LINK_EV_ADDR,        /* RDMA_CM_EVENT_ADDR_RESOLVED */
    VC__LINK_EV_ROUTE,       /* RDMA_CM_EVENT_ROUTE_RESOLVED */
    VC__LINK_EV_RESPONSE,    /* CONNECT_RESPONSE was good, RTU sent */
    VC__LINK_EV_ESTABLISHED, /* RDMA_CM_EVENT_ESTABLISHED, or a packet came */
    VC__LINK_EV_REFUSED,     /* RDMA_CM_EVENT_REJECTED */
    VC__LINK_EV_NO_WAY,      /* ADDR_, ROUTE_, CONNECT_ERROR, UNREACHABLE */
    VC__LINK_EV_LEFT,        /* RDMA_CM_EVENT_DISCONNECTED */
    VC__LINK_EV_REMOVED,     /* RDMA_CM_EVENT_DEVICE_REMOVAL */
    VC__LINK_EV_TIMEOUT,     /* our own timer */
    VC__LINK_EV_CLOSE,       /* the owner wants it down */
    VC__LINK_EV_BROKEN,      /* the QP failed, or the peer broke the rules */
    VC__LINK_EVENTS
};

enum vc__link_action {
    VC__LINK_DO_NOTHING,
    VC__LINK_DO_RESOLVE_ROUTE,
    VC__LINK_DO_ASK,    /* take a QP, rdma_connect with the hello */
    VC__LINK_DO_GO_UP,  /* tell the owner */
    VC__LINK_DO_LEAVE,  /* tell the owner, rdma_disconnect, wait */
    VC__LINK_DO_ANSWER, /* tell the owner, rdma_disconnect, take apart */
    VC__LINK_DO_FAIL,   /* tell the owner, take apart */
    VC__LINK_DO_REAP,   /* take apart */
};

struct vc__link_step {
    enum vc__link_state next;
    enum vc__link_action action;
};

struct vc__link_step vc__link_step(enum vc__link_state state,
                                   enum vc__link_event event);

const char *vc__link_state_name(enum vc__link_state state);

#endif
