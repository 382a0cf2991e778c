/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session: one client of one service at one peer, with its slots. It is
 * bound to one of the peer's links, and moves to another when that is lost:
 * what was under way is sent again under the same slot and sequence, by which
 * the peer knows it. All of it is under the lock of the pool. */
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

/* What a reply brought. */
struct vc__reply_frame {
    enum vc_status status;
    enum vc_outcome outcome;
    const uint8_t *body; /* the message; for an error its text */
    uint32_t len;
    struct vc__metadata metadata; /* not checked */
};

/* The texts of replies that could not be kept here. */
extern const char vc__reply_too_long[], vc__reply_no_memory[];

static inline bool
vc__reply_is_lost(const struct vc__reply_frame *reply)
{
    const char *text = (const char *)reply->body;

    return text == vc__reply_too_long || text == vc__reply_no_memory;
}

/* One outstanding request; lives in the caller's memory until replied(),
 * failed() or vc__client_abandon(). */
struct vc__request {
    /* Filled by the caller: frame.method and body_len, due, and body or
     * write(); see struct vc__send. One with hold() and done() may outlive
     * the request. */
    struct vc__send *send;

    /* The reply, on the holder of the engine, without locks. The body holds
     * until it returns. */
    void (*replied)(struct vc__request *r, const struct vc__reply_frame *reply);
    /* There will be no reply. As above, or inside of vc__client_start(). */
    void (*failed)(struct vc__request *r, const struct vc__error *error);
    /* Of a stream, else NULL: a MESSAGE, whole and with its metadata, which are
     * not checked, or a WINDOW; false when it breaks the protocol. On the holder, under the lock of the pool. What
     * cannot be kept comes with body NULL and says why. A stream is not sent
     * again by another link, but failed. */
    bool (*message)(struct vc__request *r, const struct vc__metadata *m,
                    const uint8_t *body, uint32_t len, const char *loss);
    bool (*window)(struct vc__request *r, uint32_t end);
    struct cds_list_head queued; /* of a stream: to be sent after it */

    struct cds_list_head node;
    struct vc__session *session; /* SENT */
    enum vc__request_state state;
    bool exposed; /* a link that was lost had sent some of it */
    uint16_t slot;
};

/* May the peer have seen some of it? */
static inline bool
vc__request_is_exposed(const struct vc__request *r)
{
    /* Acquire: pairs with send_written(). */
    return r->exposed ||
           atomic_load_explicit(&r->send->gone, memory_order_acquire);
}

/* It is over, however. Under the lock. */
void vc__request_count_end(struct vc__pool *pool, const struct vc__request *r);

/* It ends: replied() or failed() will run. */
void vc__request_complete(struct vc__pool *pool, struct vc__request *r);

struct vc__slot {
    struct vc__request *request;   /* NULL: nobody waits for the reply */
    struct vc__assembly *assembly; /* of a reply in parts */
    uint32_t sequence;             /* of the last call */
    uint16_t next_free;
    bool busy;
    uint8_t stream;  /* VC__FRAME_*_STREAM of the call */
    bool in_message; /* the parts are of one, and not of the reply */
    bool wasted;     /* without memory for an assembly parts are not kept */
};

struct vc__session {
    struct vc__peer *peer;
    struct vc__client *client;  /* NULL: closing */
    struct vc__pool_link *link; /* NULL: not bound */
    struct cds_list_head node;  /* in link->sessions or peer->loose */
    struct vc__slot *slots;     /* &first until there are more */
    struct vc__slot first;
    struct vc__flow flow;
    uint32_t number;  /* at the peer */
    uint32_t binding; /* of the last OPEN or CLOSE; 0: none was sent */
    uint32_t bytes;   /* of the requests that are under way */
    uint16_t n_slots; /* allocated; grows to the peer's limit */
    uint16_t free_slot;
    uint16_t n_busy;
    bool own;       /* it is its client's own, else allocated */
    bool known;     /* the peer has answered in it; closing: see open */
    bool open_here; /* its link has sent its OPEN, or will */

    /* Closing, and not known: the body of the OPEN that goes before the CLOSE,
     * for a peer that never had one takes a CLOSE amiss. */
    const uint8_t *open;
    uint32_t open_len;
};

/* A session of this client at a peer, not bound yet. NULL without memory, or
 * when the peer allows no more; *full says which. */
struct vc__session *vc__session_new(struct vc__peer *peer,
                                    struct vc__client *client, bool *full);
void vc__session_free(struct vc__session *s);

/* Binds it to this link, with all that is under way. False without memory. */
bool vc__session_bind(struct vc__session *s, struct vc__pool_link *pl);

/* Its link is down, or it is to move. */
void vc__session_unbind(struct vc__session *s);

/* Sends a request. It is bound. False: there is no slot. */
bool vc__session_launch(struct vc__session *s, struct vc__request *r);

/* One more message of a stream that has been launched. */
void vc__session_add(struct vc__session *s, struct vc__request *r,
                     struct vc__send *send);

/* The caller does not want it any more; whether it may have been executed. */
enum vc_outcome vc__session_abandon(struct vc__session *s,
                                    struct vc__request *r);

/* Is a stream under way in it that its caller has not given up? */
bool vc__session_has_stream(const struct vc__session *s);

/* Takes a request out that is under way; NULL when there is none any more. Its
 * link is down, or has dropped the session's flow. */
struct vc__request *vc__session_take(struct vc__session *s);

/* No client wants it any more: says so to the peer, and is freed when that has
 * answered. Requests have been taken out. The link to push, or NULL. */
struct vc__link *vc__session_close(struct vc__session *s);

/* The peer's answer. False: it breaks the protocol. */
bool vc__session_closed(struct vc__session *s, const struct vc__frame *f);

/* A REPLY, DATA, MESSAGE or WINDOW frame. *r and *reply are set when a request is to be given
 * its reply now; then *done is an assembly that the caller ends afterwards.
 * False: the frame breaks the protocol. */
bool vc__session_reply(struct vc__session *s, const struct vc__frame *f,
                       struct vc__request **r, struct vc__reply_frame *reply,
                       struct vc__assembly *done);

/* --- between the files of the session ------------------------------------ */

/* The reply to what this slot had is there. */
void vc__session_slot_end(struct vc__session *s, uint16_t slot);

#endif
