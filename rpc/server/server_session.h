/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session on the server: one service for one client, with its slots. It is
 * bound to one of the client's links and can move to another. (slot, sequence)
 * identifies a call on any link, and the last reply of a slot is kept until
 * the client has it. When a link is lost the client sends its calls again.
 * Then a call that runs is joined, a call that has run is answered, and no
 * call runs twice. The holder of the engine only.
 *
 * Called by: server_peer.c (server_sessions_free, close), server_link.c (open,
 * call, data, cancel, leave, stream, unbind), server_session.c (unbind,
 * give_up, find, server_message_whole, free), server_session_open.c (unbind,
 * close, free, server_seat_is_older), server_close.c (give_up),
 * server_multicast.c (group_open, group_end, group_call), server_reply.c
 * (reply, sent), server_deadline.c (overdue), server_begin.c (skip, renew),
 * server_handler.c (skip), stream_server.c (find). */
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
    VC__SLOT_RUNNING,  /* the call waits for its turn, or runs */
    VC__SLOT_REPLYING, /* the reply was given to the link */
    VC__SLOT_KEPT,     /* the reply waits until the client asks for it */
};

struct vc__server_arrival;

/* The rule that a frame breaks if its session was never open. */
#define VC__NEVER_OPEN "a frame of a session that was never open"

/* Room for one call at a time. */
struct vc__server_slot {
    struct vc__server_arrival *arrival;
    struct vc_call *call; /* from RUNNING to KEPT */
    uint32_t sequence;    /* of the last call */
    uint8_t state;        /* enum vc__slot_state */
    bool asked;           /* it, or its CANCEL, came on the present link */
    bool stream;          /* the client streams, or the server does */
};

/* `node` is in link->sessions while there is a link; after the close in
 * part->orphans, while calls run, then in peer->spare; else in no list. */
struct vc__server_session {
    struct vc__server_peer *peer;
    struct vc__server_link *link; /* NULL: it was lost, or `closed` */
    struct cds_list_head node;
    struct vc__opened *opened;     /* the service and its methods */
    struct vc__server_slot *slots; /* &first while there is only one */
    struct vc__server_slot first;
    struct vc__flow flow; /* of replies */
    uint32_t number;
    uint16_t n_slots; /* allocated; grows to VC__SERVER_SLOTS */
    uint16_t n_calls; /* running ones */
    bool closed;      /* freed when the last call has ended */
};

/* Frees the memory of all sessions of a peer; none is in use any more. Called
 * by peer_free() (rpc/server/server_peer.c). */
void vc__server_sessions_free(struct vc__server_peer *peer);

/* Handle one frame each; called by frame_handle() (rpc/server/server_link.c)
 * when the link has received it. True: the link goes on. False: the frame
 * breaks the protocol, or there is no memory; the link ends. A frame of a
 * session that was closed, or has moved to a newer link, comes too late, and is
 * dropped: true. But an OPEN or CLOSE with a newer binding is handled: it opens
 * or moves the session, or closes it if it is open and is answered. */
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

/* In rpc/server/stream_server.c: handles a MESSAGE, HALF or WINDOW; called by
 * frame_handle(), with the same results. One for a call that has ended is
 * dropped, too: true. */
bool vc__server_session_stream(struct vc__server_link *sl,
                               const struct vc__frame *f);

/* Takes the session from its link: replies that the link had are kept for
 * another one, requests that arrive are dropped, and streams end. Called by
 * server_link_on_down() (rpc/server/server_link.c), by
 * vc__server_session_open() before the session moves to another link, and by
 * vc__server_session_close(). */
void vc__server_session_unbind(struct vc__server_session *s);

/* Closes the session: kept replies are dropped, and running calls are cancelled
 * and not answered. Frees the session, at once or with its last call. Called by
 * vc__server_session_leave() for a CLOSE, and by peer_forget()
 * (rpc/server/server_peer.c). */
void vc__server_session_close(struct vc__server_session *s);

/* Cancels the running calls. Those of a session that is closed already were
 * cancelled then, unless it is a group's: vc__server_session_group_end() lets
 * them run on, as vc_server_remove() does. Called by
 * vc__server_session_close(), and by part_close() (rpc/server/server_close.c)
 * for sessions in part->orphans. */
void vc__server_session_give_up(struct vc__server_session *s);

/* --- calls of a multicast group ------------------------------------------- */

/* Makes a session for the calls of one service that come by datagrams: it has
 * `slots` slots, and no seat. The frame is an OPEN of that service. It counts
 * as closed, so that no reply is sent, but stays until group_end(). NULL
 * without memory. Called by member_session() (rpc/server/server_multicast.c),
 * as the next two. */
struct vc__server_session *
vc__server_session_group_open(struct vc__server_link *sl,
                              const struct vc__frame *f, uint16_t slots);
/* Ends it: calls that wait are forgotten; it is freed with the last one that
 * runs. Does not cancel those. */
void vc__server_session_group_end(struct vc__server_session *s);
/* Begins a call of this method, by its number at the server. False if each slot
 * has one. */
bool vc__server_session_group_call(struct vc__server_session *s,
                                   uint16_t method, const uint8_t *body,
                                   uint32_t len);

/* --- for calls ---------------------------------------------------------- */

/* The call's reply is ready to be sent: sends it now, or keeps it until the
 * client asks for it; drops it if the session is closed. The call no longer
 * runs: may free it, the session and the peer. Called by reply_send()
 * (rpc/server/server_reply.c). */
void vc__server_session_reply(struct vc__server_session *s, uint16_t slot);

/* The link has finished with the reply: it was acknowledged (VC__SEND_ACKED),
 * and the call is released; or the link was lost or the reply taken back, and
 * the reply is kept. Called by reply_done() (rpc/server/server_reply.c), under
 * the link's lock. */
void vc__server_session_sent(struct vc__server_session *s, uint16_t slot,
                             enum vc__send_end end);

/* The deadline of a call with a long reply has passed, and the client has not
 * acknowledged the reply: if nothing of it was sent, a short error takes its
 * place. Called by on_overdue() (rpc/server/server_deadline.c), a timer. */
void vc__server_session_overdue(struct vc__server_session *s, uint16_t slot);

/* The call need not run, since its session has no link or is closed, or it has
 * no memory: forgets it as if it had never come. Called by call_skip()
 * (rpc/server/server_handler.c) and call_starve() (rpc/server/server_begin.c).
 * May free the session and the peer. */
void vc__server_session_skip(struct vc__server_session *s, uint16_t slot);

/* Looks the session's service up again, which was missing or has been removed.
 * No other call of the session runs. Called by is_served_again()
 * (rpc/server/server_begin.c) for a new call; without memory nothing
 * changes. */
void vc__server_session_renew(struct vc__server_session *s);

/* --- between the files of the session ------------------------------------ */

/* Returns the open session of this number that is bound to the link; called
 * first for each CALL, DATA, CANCEL, and frame of a stream. NULL with *late set
 * if the session is closed or has moved to another link: its frames on this
 * link are dropped. NULL without *late: the frame broke the protocol, and the
 * link ends. */
struct vc__server_session *vc__server_session_find(struct vc__server_link *sl,
                                                   uint32_t number, bool *late);

/* A message of a stream is complete, or lost: gives it to the stream, unless
 * that has ended (true). False: it breaks the protocol, and the link ends. In
 * rpc/server/stream_server.c; called by message_done()
 * (rpc/server/server_session.c) for the last part. */
bool vc__server_message_whole(struct vc__server_session *s, uint16_t slot,
                              const struct vc__assembly *a);

/* Gives a session's memory back to its peer. Called by
 * vc__server_session_close() or call_over() when a closed session has no calls,
 * and by session_new() for one that could not be opened. */
void vc__server_session_free(struct vc__server_session *s);

/* True if the seat's binding is older than this one, of an OPEN or CLOSE that
 * has come; the numbers may wrap. Asked by vc__server_session_open() and
 * vc__server_session_leave(). */
static inline bool
vc__server_seat_is_older(const struct vc__server_seat *seat, uint32_t binding)
{
    return (int32_t)(binding - seat->binding) > 0;
}

#endif
