/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call on the server: what is kept of it from its request to the reply that
 * the client has. The holder of the engine only, but for what its handler uses. */
#ifndef VC_RPC_SERVER_CALL_H
#define VC_RPC_SERVER_CALL_H

#include "rpc/canceller.h"
#include "rpc/codec/arena.h"
#include "rpc/codec/codec.h"
#include "rpc/server/server_metadata.h"
#include "rpc/server/server_session.h"
#include "transport/core/crew.h"
#include "transport/core/handle.h"

/* What vc_call_later() returns; no status on the wire. */
#define VC__LATER ((enum vc_status)0x10000)

/* Where a call came from and what it asks for. */
struct vc__call_site {
    struct vc__server_session *session;
    uint16_t slot;
    uint16_t method; /* the client's number of it */
    uint64_t due;
    uint8_t kind;                 /* VC__FRAME_*_STREAM, as its client says */
    struct vc__metadata metadata; /* not checked; while vc__call_begin() runs */
};

struct vc__call_watch;
struct vc__origin;

struct vc_call {
    struct vc__parent parent; /* of calls that its handler makes */
    struct vc__call_site site;
    struct vc__origin *origin; /* the call holds it */
    struct vc__handle handle;
    struct vc__task task; /* runs the handler */
    struct vc__job job;   /* the same, on a thread of the crew */
    struct vc__send send; /* the reply */
    struct vc__arena arena;
    struct cds_list_head node; /* in the stock */

    const struct vc_method *method;
    struct vc__method_state *state; /* of it, at this server */
    const void *request;            /* NULL when its client streams */
    ProtobufCMessage *reply;        /* NULL when the server streams */
    struct vc_stream *stream; /* NULL: nobody does, or the handler is over */
    struct vc__packing packing;
    struct vc__call_metadata metadata;
    uint8_t *long_reply;      /* packed, when it goes in parts */
    struct vc__timer overdue; /* of a long reply: its deadline */
    enum vc_status status; /* the handler's, when it was taken over or later */
    uint32_t round;        /* see rpc/server/gradient.h */
    bool adapts;           /* counts there */
    uint64_t turn;         /* handlers that had begun when it came, */
    uint64_t came;         /* and when that was, as far as is known */
    uint64_t began;    /* its handler, as far as the engine knows the time */
    atomic_uint later; /* see rpc/server/server_handler.c */
    bool queued;       /* in its client's queue, */
    struct cds_list_head queue_node;      /* by this */
    uint8_t counted;                      /* see rpc/server/server_limit.c */
    struct vc_interception *interception; /* NULL: none, or not yet */
    bool refused;                         /* the handler has not run */
    bool has_text;
    char text[VC__SAID_TEXT];

    bool unwanted; /* its client has given it up, or is gone */
    _Atomic(struct vc__call_watch *) watch; /* NULL: nobody asked */
};

static inline struct vc__server_part *
vc__call_part(const struct vc_call *call)
{
    return call->site.session->peer->part;
}

/* One from the stock for what came to this site, in the slot's keeping; NULL
 * without memory. */
struct vc_call *vc__call_take(const struct vc__call_site *site);

/* Is there memory for one more of its client, which is short? */
bool vc__call_may_begin(const struct vc_call *call);

/* Its stream; vc__call_stream_open() is false without memory. The holder. */
bool vc__call_stream_open(struct vc_call *call);
void vc__call_stream_end(struct vc_call *call);

/* As vc_call_fail(), for texts of the library: the names of service and method
 * come first. */
enum vc_status vc__call_fault(struct vc_call *call, enum vc_status status,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Its handler ends it with this error, and the call has a text from now on. Where
 * that happens: on the handler's thread, or in vc_call_end(). */
void vc__call_explain(struct vc_call *call, enum vc_status status);

/* Frees the long reply. The holder. */
void vc__call_long_drop(struct vc_call *call);

/* The client has the reply, or nobody wants it. */
void vc__call_release(struct vc_call *call);

/* Frees the stock of a part. */
void vc__call_free_stock(struct vc__server_part *part);

#endif
