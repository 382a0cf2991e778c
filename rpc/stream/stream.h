/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream: the messages of one call, in either direction, while it lasts.
 * This half is the same on both sides: what has come and was not taken yet,
 * what may be sent, and who waits for either. How frames get to the link, and
 * what a call's end is, differ: see rpc/client/stream_client.c, rpc/server/stream_server.c.
 *
 * It lives as long as somebody holds it: the program or the handler, the call,
 * each frame that the link still has.
 *
 * Locks: the stream's own is taken under that of a pool or a link, and nothing
 * is taken under it. */
#ifndef VC_RPC_STREAM_H
#define VC_RPC_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include <verbcall/service.h>
#include <verbcall/stream.h>

#include "cm/link/schedule.h"
#include "rpc/codec/reply_arena.h"
#include "rpc/stream/stream_flow.h"
#include "rpc/stream/stream_state.h"
#include "transport/core/engine.h"
#include "transport/core/error.h"
#include "transport/core/handle.h"
#include "transport/core/memory.h"

struct vc__stream_ops {
    /* Gives a frame to the link, soon and in order. False: the call has ended,
     * and the frame is still the caller's. Any thread, without locks. */
    bool (*put)(struct vc_stream *s, struct vc__send *send);
    /* The call's time is over: ends it, if nothing else has, before it returns.
     * Any thread, without locks. */
    void (*expire)(struct vc_stream *s);
    /* The peer has taken nothing for stall_us, while a thread waits for that, or
     * for another second: may end it. Any thread, without locks. */
    void (*stalled)(struct vc_stream *s);
    /* Ends it so, if nothing else has. False: that is on its way. Never waits.
     * Any thread, without locks. */
    bool (*give_up)(struct vc_stream *s, const struct vc__error *error);
    /* The metadata that go with the first message: writes them, unless out is
     * NULL, and says how many bytes they are. NULL: none. Where vc_stream_send()
     * runs. */
    uint16_t (*initial)(const struct vc_stream *s, uint8_t *out);
    /* Of one with callbacks: what on_end() is told; it has returned. On the
     * thread that runs it. */
    enum vc_status (*over)(struct vc_stream *s);
    void (*told)(struct vc_stream *s);
    /* The same, with the engine resumed: the stream's hold on what is around
     * it goes. */
    void (*left)(struct vc_stream *s);
    /* Nobody holds it any more. */
    void (*free)(struct vc_stream *s);
};

struct vc__stream_events;

/* A message that has come. */
struct vc__stream_item {
    struct cds_list_head node;
    uint32_t len;
    uint8_t body[];
};

struct vc_stream {
    const struct vc__stream_ops *ops;
    atomic_uint holders;
    struct vc__handle handle;
    struct vc__engine *engine;
    struct vc__replies *replies;
    const struct vc_message_type *sends, *receives;
    const char *service, *method; /* their names */
    uint64_t due;
    uint64_t stall_us;           /* 0: its peer may take its time */
    size_t memory;               /* of a message that is unpacked */
    struct vc__account *account; /* of long messages, packed; NULL: nobody's */
    uint32_t max_reply; /* bytes of one that the server sends; 0: any */
    bool of_server;
    bool began; /* the sender's: a message has been sent */
    struct vc_interception *interception; /* that sees its messages, or NULL */

    pthread_mutex_t lock;
    struct vc__outflow out;      /* lock */
    struct vc__inflow in;        /* lock */
    enum vc__stream_state state; /* lock; once it has ended, error says how */
    struct vc__error error;      /* lock */
    uint32_t most;           /* lock: bytes of a message that the peer takes */
    void *last;              /* lock: the message of a good reply */
    bool long_out;           /* lock: a long message is being sent */
    struct vc__task *behind; /* lock: to be posted when it has gone */
    struct cds_list_head inbox;       /* lock: of struct vc__stream_item */
    struct cds_list_head waiters;     /* lock: of struct waiting */
    struct vc__stream_events *events; /* NULL: the program waits */
};

void vc__stream_init(struct vc_stream *s, const struct vc__stream_ops *ops);
void vc__stream_fini(struct vc_stream *s);

static inline void
vc__stream_hold(struct vc_stream *s)
{
    /* Relaxed: whoever holds it gives another hold. */
    atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
}
void vc__stream_put(struct vc_stream *s);

/* --- what comes; the holder of the engine ------------------------------- */

/* A message. NULL: it could not be kept, `loss` says why. False: it breaks the
 * protocol. */
bool vc__stream_message(struct vc_stream *s, const uint8_t *body, uint32_t len,
                        const char *loss);
/* The first part of one with so many bytes. False: it breaks the protocol. */
bool vc__stream_expects(struct vc_stream *s, uint32_t len);
/* False: it breaks the protocol. */
bool vc__stream_window(struct vc_stream *s, uint32_t end);
/* No more messages will come. False: it breaks the protocol. */
bool vc__stream_half(struct vc_stream *s);
/* May the peer send further messages? */
bool vc__stream_hears(struct vc_stream *s);
/* The call has ended; what has come may still be taken. Once, later ones do
 * nothing. */
void vc__stream_end(struct vc_stream *s, enum vc__stream_event why,
                    const struct vc__error *error);

/* --- between the files of streams ---------------------------------------- */

/* What has happened leads to another state; what is to be done. Under the
 * lock. */
static inline enum vc__stream_action
vc__stream_on(struct vc_stream *s, enum vc__stream_event event)
{
    struct vc__stream_step step = vc__stream_step(
        s->of_server ? VC__STREAM_SERVER : VC__STREAM_CLIENT, s->state, event);

    s->state = step.next;
    return step.action;
}

/* Memory for a packed message, or what goes with it. Short ones are bounded by
 * the window, and do not count. */
#define VC__STREAM_COUNTED 16384u

static inline struct vc__account *
vc__stream_account(const struct vc_stream *s, size_t size)
{
    return size < VC__STREAM_COUNTED ? NULL : s->account;
}

void vc__stream_item_free(struct vc_stream *s, struct vc__stream_item *item);

/* Something is otherwise than it was: for those who wait. Under the lock. */
void vc__stream_changed(struct vc_stream *s);
/* Waits for that, under the lock, which it leaves meanwhile. False when this
 * time has come. */
bool vc__stream_wait(struct vc_stream *s, uint64_t until);
/* Unpacks a message, which is the caller's. Any errors are raised. */
enum vc_status vc__stream_unpack(struct vc_stream *s,
                                 const struct vc__stream_item *item,
                                 void **message);
/* The program has taken a message with so many bytes: there is room again. */
void vc__stream_taken(struct vc_stream *s, uint32_t len);
/* Drops what has come. Under the lock. */
void vc__stream_drop(struct vc_stream *s);
/* Tells the server that no more will come. False without memory, and it may be
 * tried again. */
bool vc__stream_tell_half(struct vc_stream *s);
/* The error of one whose deadline has passed, and that may have been
 * executed. */
void vc__stream_late(const struct vc_stream *s, struct vc__error *error);

/* --- for both sides ------------------------------------------------------ */

/* Sends a frame of this type without a body. False without memory, or when the
 * call has ended. */
bool vc__stream_tell(struct vc_stream *s, enum vc__frame_type type,
                     uint32_t value);
/* Has the call, or is what still comes dropped? */
static inline bool
vc__stream_has_ended(struct vc_stream *s)
{
    bool ended;

    pthread_mutex_lock(&s->lock);
    ended = s->state == VC__STREAM_ENDED;
    pthread_mutex_unlock(&s->lock);
    return ended;
}
/* Raises how the call ended, as vc__error_raise(). VC_OK when well. */
enum vc_status vc__stream_status(struct vc_stream *s);
/* Waits until the call has ended; it ends when its time is over. */
void vc__stream_await(struct vc_stream *s);
/* The same when its end is being written this moment, whatever its time. */
void vc__stream_await_written(struct vc_stream *s);

#endif
