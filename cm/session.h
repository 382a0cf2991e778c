/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session: one client of one service at one peer, with its slots. It puts
 * requests into slots, or lets them wait for one, and matches replies. All of
 * it is under the lock of its pool, except where said. */
#ifndef VC_CM_SESSION_H
#define VC_CM_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/service.h>

#include "cm/link.h"
#include "transport/assembly.h"

struct vc__pool;
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
};

/* One outstanding request; lives in the caller's memory until replied(),
 * failed() or vc__session_abandon(). */
struct vc__request {
    /* Filled by the caller: frame.method and body_len, due, and body or
     * write(); see struct vc__send. One with done() must outlive it. */
    struct vc__send *send;

    /* The reply, on the holder of the engine, without locks. The body holds
     * until it returns. */
    void (*replied)(struct vc__request *r, const struct vc__reply_frame *reply);
    /* There will be no reply. As above, or inside of vc__session_start(). */
    void (*failed)(struct vc__request *r, const struct vc__error *error);

    struct cds_list_head node;
    enum vc__request_state state;
    bool taken; /* the link has `send`, or has sent it */
    uint16_t slot;
};

struct vc__slot {
    uint32_t sequence; /* of the last call */
    bool busy;
    struct vc__request *request; /* NULL: nobody waits for the reply */
    struct vc__assembly assembly;
    uint16_t next_free;
};

struct vc__session {
    struct vc__pool *pool;
    struct vc__session *next; /* in pool->sessions; never changes */
    const struct vc_service *service;
    uint32_t id;

    bool opened;          /* OPEN went, or is queued, on this link */
    struct vc__send open; /* the OPEN frame */
    uint8_t *open_body;

    struct vc__slot *slots;
    uint16_t n_slots;             /* allocated; grows to the peer's limit */
    uint16_t free_slot;           /* list by next_free; NO_SLOT ends it */
    struct cds_list_head waiting; /* of struct vc__request */
};

/* NULL without memory. */
struct vc__session *vc__session_new(struct vc__pool *pool,
                                    const struct vc_service *service,
                                    uint32_t id);
void vc__session_free(struct vc__session *s);

/* Sends a request, or lets it wait until it can go. Any thread, without the
 * pool's lock. */
void vc__session_start(struct vc__session *s, struct vc__request *r);

/* The caller does not want it any more. False: too late, replied() or
 * failed() runs or has run. *outcome says whether it may have been executed.
 * Any thread, without the pool's lock. */
bool vc__session_abandon(struct vc__session *s, struct vc__request *r,
                         enum vc_outcome *outcome);

/* --- for the pool, under its lock -------------------------------------- */

/* A new link is up: all slots are free. */
void vc__session_reset(struct vc__session *s);

/* Lets what waits go while there are slots. */
void vc__session_launch(struct vc__session *s);

/* Does a caller wait for a reply? */
bool vc__session_waits(const struct vc__session *s);

/* Takes all requests out: for vc__session_fail_all() without the lock. */
void vc__session_take_all(struct vc__session *s, struct cds_list_head *sent,
                          struct cds_list_head *waiting);

/* A REPLY or DATA frame. *r and *reply are set when a request is to be given
 * its reply now; then *slot's assembly, if any, is *done and ended by the
 * caller afterwards. False: the frame breaks the protocol. */
bool vc__session_reply(struct vc__session *s, const struct vc__frame *f,
                       struct vc__request **r, struct vc__reply_frame *reply,
                       struct vc__assembly *done);

#endif
