/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session on the server: one service for one client, with its slots. It is
 * bound to one of the client's links and can move to another. (slot, sequence)
 * names a call wherever it comes from, and the last reply of a slot is kept
 * until the client has it: so a call that is sent again, because the link was
 * lost, is joined while it runs, answered when it ran, and run once. The
 * holder of the engine only. */
#ifndef VC_RPC_SERVER_SESSION_H
#define VC_RPC_SERVER_SESSION_H

#include "cm/link/link.h"
#include "rpc/server/method_map.h"
#include "rpc/server/server_peer.h"
#include "transport/wire/assembly.h"

struct vc__server_link;
struct vc_call;

enum vc__slot_state {
    VC__SLOT_FREE,     /* the last reply has arrived, or there was no call */
    VC__SLOT_ARRIVING, /* a request in parts */
    VC__SLOT_RUNNING,  /* the handler runs, or is about to */
    VC__SLOT_REPLYING, /* the link has the reply */
    VC__SLOT_KEPT,     /* the link that had it was lost: it may be asked for */
};

struct vc__server_arrival;

/* Room for one call at a time. */
struct vc__server_slot {
    struct vc__server_arrival *arrival;
    struct vc_call *call; /* from RUNNING to KEPT */
    uint32_t sequence;    /* of the last call */
    uint8_t state;        /* enum vc__slot_state */
    bool asked;           /* the present link has brought that call */
    bool stream;          /* the client streams, or we do */
};

struct vc__server_session {
    struct vc__server_peer *peer;
    struct vc__server_link *link;  /* NULL: it was lost */
    struct cds_list_head node;     /* in link->sessions, or part->orphans */
    struct vc__opened *opened;     /* the service and its methods */
    struct vc__server_slot *slots; /* &first until there are more */
    struct vc__server_slot first;
    struct vc__flow flow; /* of replies */
    uint32_t number;
    uint16_t n_slots; /* allocated; grows to VC__SERVER_SLOTS */
    uint16_t n_calls; /* that run */
    bool closed;      /* freed with the last of them */
};

/* All sessions of a peer are over: gives their memory back. */
void vc__server_sessions_free(struct vc__server_peer *peer);

/* Each of these says whether the frame keeps the protocol; if not, the link
 * ends. A frame of a session that has been bound to a newer link is too late,
 * and dropped. */
bool vc__server_session_open(struct vc__server_link *sl,
                             const struct vc__frame *f);
bool vc__server_session_call(struct vc__server_link *sl,
                             const struct vc__frame *f);
bool vc__server_session_data(struct vc__server_link *sl,
                             const struct vc__frame *f);
bool vc__server_session_cancel(struct vc__server_link *sl,
                               const struct vc__frame *f);
bool vc__server_session_leave(struct vc__server_link *sl,
                              const struct vc__frame *f);

/* rpc/server/stream_server.c: MESSAGE, HALF or WINDOW. */
bool vc__server_session_stream(struct vc__server_link *sl,
                               const struct vc__frame *f);

/* Its link is down: what the link had is kept for another. */
void vc__server_session_unbind(struct vc__server_session *s);

/* Ends it: what is kept is dropped, and calls that run are not answered. */
void vc__server_session_close(struct vc__server_session *s);

/* --- for calls ---------------------------------------------------------- */

/* The handler's reply is in call's send: it goes now, or is kept until it is
 * asked for. */
void vc__server_session_reply(struct vc__server_session *s, uint16_t slot);

/* The link has no more use for the reply. */
void vc__server_session_sent(struct vc__server_session *s, uint16_t slot,
                             enum vc__send_end end);

/* The deadline of a call with a long reply has passed, and the client has not
 * said that it has it. */
void vc__server_session_overdue(struct vc__server_session *s, uint16_t slot);

/* The call need not run: nobody is there for its reply. As if it had never
 * come. */
void vc__server_session_skip(struct vc__server_session *s, uint16_t slot);

/* Looks for its service again: it was not there, or has been removed. No other
 * call of the session runs. */
void vc__server_session_renew(struct vc__server_session *s);

/* --- between the files of the session ------------------------------------ */

/* The open session of this number; NULL with *late when it has moved to
 * another link, and what comes on this one is dropped. */
struct vc__server_session *vc__server_session_find(struct vc__server_link *sl,
                                                   uint32_t number, bool *late);

/* A message of a stream is whole, or lost. */
bool vc__server_message_whole(struct vc__server_session *s, uint16_t slot,
                              const struct vc__assembly *a);

/* Gives its memory back to its peer. */
void vc__server_session_free(struct vc__server_session *s);

/* Is the seat's binding older than this one, in their order? */
static inline bool
vc__server_seat_is_older(const struct vc__server_seat *seat, uint32_t binding)
{
    return (int32_t)(binding - seat->binding) > 0;
}

#endif
