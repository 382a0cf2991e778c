/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call on the server: its state from its request until the client has the
 * reply. The holder of the engine only, except what its handler uses, and where
 * noted.
 *
 * Called by: server_begin.c (call_take, call_may_begin, call_stream_open),
 * server_call.c (call_stream_end, call_long_drop), server_reply.c
 * (call_stream_end, call_long_drop), server_handler.c (call_explain,
 * call_release), server_handler.h (call_explain), server_session.c
 * (call_release), server.c (call_free_stock), many files (call_part,
 * call_fault). */
#ifndef VC_RPC_SERVER_CALL_H
#define VC_RPC_SERVER_CALL_H

#include "rpc/canceller.h"
#include "rpc/codec/arena.h"
#include "rpc/codec/codec.h"
#include "rpc/server/server_metadata.h"
#include "rpc/server/server_session.h"
#include "transport/core/crew.h"
#include "transport/core/handle.h"

/* The return value of vc_call_later(); not a status on the wire. */
#define VC__LATER ((enum vc_status)0x10000)

/* Where a call came from and what it asks for. */
struct vc__call_site {
    struct vc__server_session *session;
    uint16_t slot;
    uint16_t method; /* as numbered by the client */
    uint64_t due;
    uint8_t kind;                 /* VC__FRAME_*_STREAM, from the client */
    struct vc__metadata metadata; /* unchecked; valid in vc__call_begin() */
};

struct vc__call_watch;
struct vc__origin;

struct vc_call {
    struct vc__parent parent; /* of calls that its handler makes */
    struct vc__call_site site;
    struct vc__origin *origin; /* the call holds a reference */
    struct vc__handle handle;
    struct vc__task task; /* runs the handler, or ends the call */
    struct vc__job job;   /* runs the handler on a thread of the crew */
    struct vc__send send; /* the reply */
    struct vc__arena arena;
    struct cds_list_head node; /* in the part's stock */

    const struct vc_method *method;
    struct vc__method_state *state; /* of the method, at this server */
    const void *request;            /* NULL if the client streams */
    ProtobufCMessage *reply;        /* NULL if the server streams */
    struct vc_stream *stream;       /* NULL: no stream, or the call has ended */
    struct vc__packing packing;
    struct vc__call_metadata metadata;
    uint8_t *long_reply;      /* packed, if it goes in parts */
    struct vc__timer overdue; /* ends a long reply, or a wait to begin */
    enum vc_status status;    /* for the task that ends the call */
    uint32_t round;           /* see rpc/server/gradient.h */
    bool adapts;              /* counted there */
    uint64_t turn;            /* handlers begun when the call came */
    uint64_t came;            /* arrival time, as far as known */
    uint64_t began;           /* when its handler began, as far as known */
    atomic_uint later;        /* see rpc/server/server_handler.c */
    bool queued;              /* true when in its client's queue */
    struct cds_list_head queue_node;      /* in that queue */
    uint8_t counted;                      /* see rpc/server/server_limit.c */
    struct vc_interception *interception; /* NULL: none, or not yet */
    bool refused;                         /* true if the handler has not run */
    bool has_text;
    char text[VC__SAID_TEXT];

    bool unwanted; /* its client has cancelled it, or is gone */
    _Atomic(struct vc__call_watch *) watch; /* NULL: not asked for */
};

/* Returns the part that the call belongs to. Any thread while the call has not
 * ended. */
static inline struct vc__server_part *
vc__call_part(const struct vc_call *call)
{
    return call->site.session->peer->part;
}

/* Takes a call from the stock, or makes one, for this site; its slot keeps it
 * until vc__call_release(). NULL without memory. Called by vc__call_begin() and
 * refused_take() (rpc/server/server_begin.c). */
struct vc_call *vc__call_take(const struct vc__call_site *site);

/* Called by call_admit() (rpc/server/server_begin.c) for a new call, which
 * vc__call_take() has counted already, when memory is scarce: true if there is
 * enough for one more call of its client. */
bool vc__call_may_begin(const struct vc_call *call);

/* Open and end the call's stream, and count it; vc__call_stream_open() returns
 * false without memory. Open is called by call_take()
 * (rpc/server/server_begin.c) for a call that streams, when its request was
 * taken; end by reply_send(), when its reply is about to be sent, or by
 * vc__call_release() if its handler never ran. */
bool vc__call_stream_open(struct vc_call *call);
void vc__call_stream_end(struct vc_call *call);

/* As vc_call_fail(), for texts of the library: the names of service and method
 * are put in front. Returns `status`. Called in rpc/server and rpc/protobuf_c
 * where the library refuses or fails a call whose method is known. The holder,
 * the handler's thread, that of vc_call_end(), or that of a stream's last
 * callback. */
enum vc_status vc__call_fault(struct vc_call *call, enum vc_status status,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the call a text if it has none: it ends with this error, which is not
 * VC_OK. Called by vc__call_method() on the handler's thread, and by
 * vc_call_end() on any thread. */
void vc__call_explain(struct vc_call *call, enum vc_status status);

/* Frees the long reply, which the call has, and stops its timer. Called by
 * vc__call_release(), and by vc__reply_forget(). */
void vc__call_long_drop(struct vc_call *call);

/* Releases a call whose reply has arrived, or is no longer wanted: back to the
 * stock, or freed. Called by vc__server_session_sent() under the link's lock
 * and by slot_settle() (rpc/server/server_session.c), and for a call that is
 * skipped by call_skip() (rpc/server/server_handler.c). */
void vc__call_release(struct vc_call *call);

/* Frees the stock of a part. Called by vc__server_destroy(), on any thread. */
void vc__call_free_stock(struct vc__server_part *part);

#endif
