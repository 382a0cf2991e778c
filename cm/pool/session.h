/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session: one client of one service at one peer, with its slots. It is bound
 * to one of the peer's links, and moves to another if that is lost. Requests in
 * progress are then sent again with the same slot and sequence, by which the
 * peer recognises them. Under the pool's lock, on any thread, but
 * vc__session_reply() and vc__session_closed() only on the holder of the
 * engine, as they handle frames. When the pool is closed, the holder frees
 * former peers and their sessions without the lock.
 *
 * Called by: rpc/client/reply_error.c (reply_is_lost), client.c
 * (request_is_exposed, request_count_end, request_complete, new, bind, unbind,
 * launch, add, abandon, take, close), pool.c (request_is_exposed,
 * request_complete, take), session.c (request_is_exposed, request_count_end,
 * request_complete, free, bind, unbind, add), session_reply.c
 * (request_complete, request_stop, slot_end), peer.c (free, bind, unbind),
 * pool_home.c (free), pool_link.c (closed, reply). */
#ifndef VC_CM_SESSION_H
#define VC_CM_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/link/link.h"
#include "transport/wire/assembly.h"
#include "transport/wire/metadata.h"

struct vc__client;
struct vc__peer;
struct vc__pool;
struct vc__pool_link;
struct vc__session;

enum vc__request_state {
    VC__REQUEST_WAITING,    /* for a link or a slot */
    VC__REQUEST_SENT,       /* has a slot; may still be in the link's queue */
    VC__REQUEST_COMPLETING, /* replied() or failed() runs, or has run */
};

/* The content of a reply. */
struct vc__reply_frame {
    enum vc_status status;
    enum vc_outcome outcome;
    const uint8_t *body; /* the message, or the text of an error */
    uint32_t len;
    struct vc__metadata metadata;      /* not checked */
    char lost[VC__ASSEMBLY_LOSS_TEXT]; /* is the body if it was not kept */
};

/* True if the reply came but could not be kept. Pure; without the lock. Called
 * by the holder when it writes the error of a call. */
static inline bool
vc__reply_is_lost(const struct vc__reply_frame *reply)
{
    return reply->body == (const uint8_t *)reply->lost;
}

/* One outstanding request, in the caller's memory until replied(), failed() or
 * vc__client_abandon(). */
struct vc__request {
    /* The caller fills frame.method, frame.body_len, due, and body or write();
     * see struct vc__send. If hold() and done() are set, the message may
     * outlive the request. */
    struct vc__send *send;

    /* The reply has come. Called on the holder of the engine, without locks.
     * The body is valid until it returns. */
    void (*replied)(struct vc__request *r, const struct vc__reply_frame *reply);
    /* The request has failed. Called without locks: on the holder, or inside
     * vc__client_start() or vc__client_close(). */
    void (*failed)(struct vc__request *r, const struct vc__error *error);
    /* For a stream, else NULL. message() gets a whole MESSAGE with its
     * unchecked metadata, window() a WINDOW; both return false if it breaks the
     * protocol. If the message could not be kept, body is NULL and loss says
     * why. On the holder, under the lock of the pool. When its link is lost, a
     * stream is not sent again but failed. */
    bool (*message)(struct vc__request *r, const struct vc__metadata *m,
                    const uint8_t *body, uint32_t len, const char *loss);
    bool (*window)(struct vc__request *r, uint32_t end);
    bool own; /* a stream of the library's own: it is not counted, and no link
               * stays for it that is to be replaced */
    struct cds_list_head queued; /* messages of a stream, to be sent after it */
    /* Of a stream: the client that it was given to last; set under the lock of
     * the former one's pool, see vc__client_move(). */
    struct vc__client *client;

    struct cds_list_head node;
    struct vc__session *session; /* SENT */
    enum vc__request_state state;
    bool exposed; /* true if a link, now lost, had sent some of it */
    uint16_t slot;
};

/* True if the peer may have seen some of it. Under the lock, when a request
 * ends or its link is lost. */
static inline bool
vc__request_is_exposed(const struct vc__request *r)
{
    /* Acquire: pairs with send_written(). */
    return r->exposed ||
           atomic_load_explicit(&r->send->gone, memory_order_acquire);
}

/* Counts the end of a request, whatever its result, but not of the library's
 * own streams. Called when it completes, could not be started, or was
 * abandoned; any thread. */
void vc__request_count_end(struct vc__pool *pool, const struct vc__request *r);

/* Ends a request: the caller has replied() or failed() run once it has left the
 * lock. Counts its end. Called when its reply has come, it is taken out to
 * fail, or its stream has lost its link. */
void vc__request_complete(struct vc__pool *pool, struct vc__request *r);

struct vc__slot {
    struct vc__request *request;   /* NULL: no caller waits for the reply */
    struct vc__assembly *assembly; /* of a reply or message in parts */
    uint32_t sequence;             /* of the last call */
    uint16_t next_free;
    bool busy;
    uint8_t stream;  /* VC__FRAME_*_STREAM of the call */
    bool in_message; /* true if the parts are a message's, not the reply's */
    bool wasted;     /* true if parts are dropped for want of memory */
};

struct vc__session {
    struct vc__peer *peer;
    struct vc__client *client;  /* NULL: closing */
    struct vc__pool_link *link; /* NULL: not bound */
    struct cds_list_head node;  /* in link->sessions or peer->loose */
    struct vc__slot *slots;     /* &first while one is enough */
    struct vc__slot first;
    struct vc__flow flow;
    uint32_t number;  /* its number at the peer */
    uint32_t binding; /* of the last OPEN or CLOSE; 0: none sent */
    uint32_t bytes;   /* of the requests in progress */
    uint16_t n_slots; /* allocated; grows to the peer's limit */
    uint16_t free_slot;
    uint16_t n_busy;
    bool own;       /* true if it is client->own, else allocated */
    bool known;     /* true if the peer has answered in it */
    bool open_here; /* true if its link has sent its OPEN, or will */

    /* If closing and not `known`: the body of an OPEN to send before the CLOSE,
     * because a CLOSE without OPEN breaks the protocol. */
    const uint8_t *open;
    uint32_t open_len;
    uint32_t open_schema; /* the fingerprint of that OPEN */
};

/* Makes an unbound session of this client at a peer, for its first request
 * there. Returns NULL if out of memory, or if the peer allows no more (*full is
 * true). vc__session_close() or vc__session_free() ends it. Called by
 * session_need() of client.c. */
struct vc__session *vc__session_new(struct vc__peer *peer,
                                    struct vc__client *client, bool *full);
/* Frees a session without requests, also its number. Unbinds it first if it is
 * bound. Called when its peer was dropped or left, when its CLOSE was answered,
 * and when it closes while the peer need not know that. */
void vc__session_free(struct vc__session *s);

/* Binds it to this link and sends its requests in progress, or its CLOSE.
 * Returns false if out of memory: it is unbound, and no request was sent; an
 * OPEN and CANCELs may have been, by a thread that pushed the link just then.
 * The caller pushes the link. Called when the client has a request for it,
 * when a link joins or leaves its peer, and when it closes. */
bool vc__session_bind(struct vc__session *s, struct vc__pool_link *pl);

/* Unbinds it, when its link is down, it is to move, its binding has failed, or
 * it ends. The parts of replies that have come are dropped. Its streams end:
 * vc__pool_refuse() fails them. */
void vc__session_unbind(struct vc__session *s);

/* Sends a request. The session is bound; the caller pushes the link. Returns
 * false if no slot is free, or its client's quota does not allow it now.
 * *entered, unless entered is NULL: what vc__link_enter() has returned; not
 * changed if that was not called. Called by client_launch(). */
bool vc__session_launch(struct vc__session *s, struct vc__request *r,
                        bool *entered);

/* Sends one more message of a stream that was launched. The session is bound;
 * the caller pushes the link. Called by vc__client_add(), and when the stream
 * is launched for what waited with it: on the thread that does that. */
void vc__session_add(struct vc__session *s, struct vc__request *r,
                     struct vc__send *send);

/* Abandons a request that has a slot. Returns whether it may have been
 * executed. The caller pushes the link, and counts the end. Called by
 * sent_abandon(). */
enum vc_outcome vc__session_abandon(struct vc__session *s,
                                    struct vc__request *r);

/* Removes and returns a request in progress, or NULL if none is left. The
 * session's link is down, or has dropped its flow. The caller ends the request,
 * or lets it wait again. Called when a client closes, or a peer is dropped. */
struct vc__request *vc__session_take(struct vc__session *s);

/* Ends a session, whose requests have been taken out. If the peer may know it,
 * the peer is notified, and what remains of the session is freed when it has
 * answered. Returns the link to push, or NULL. Called by sessions_close(), as
 * its client closes. */
struct vc__link *vc__session_close(struct vc__session *s);

/* Handles the peer's answer to a CLOSE: frees the session. Returns false if the
 * frame breaks the protocol. Called by on_closed() of pool_link.c. */
bool vc__session_closed(struct vc__session *s, const struct vc__frame *f);

/* Handles a REPLY, DATA, MESSAGE or WINDOW frame. If a request now gets its
 * reply, *r and *reply are set; else *r is NULL. If done->total is not 0, the
 * caller ends *done after that. Returns false if the frame breaks the protocol,
 * or out of memory for a CANCEL: the link then ends. Called by on_reply() of
 * pool_link.c. */
bool vc__session_reply(struct vc__session *s, const struct vc__frame *f,
                       struct vc__request **r, struct vc__reply_frame *reply,
                       struct vc__assembly *done);

/* --- between the files of the session ------------------------------------ */

/* The slot's request, a long one, gets its reply, perhaps before all of its
 * parts were sent: those left are not sent, if the peer allows that. Returns
 * false if out of memory for the CANCEL. Called by the holder, for a REPLY. */
bool vc__session_request_stop(struct vc__session *s, uint16_t slot);

/* Frees a slot whose reply has come, or the last part of one that is dropped.
 * Called by the holder. */
void vc__session_slot_end(struct vc__session *s, uint16_t slot);

#endif
