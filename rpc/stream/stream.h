/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream: the messages of one call, in either direction. This part is the
 * same on both sides: the messages that were received and not taken yet, what
 * may be sent, and the threads that wait for either. How frames get to the
 * link, and how a call ends, differ: see rpc/client/stream_client.c and
 * rpc/server/stream_server.c.
 *
 * A stream is reference-counted. The program or the handler, the call, and each
 * frame that the link still has hold references.
 *
 * Locks: the stream's own is taken under that of a pool, a link or a struct
 * vc__retry_waits. Under it only innermost locks are taken: the inbox of the
 * engine (vc__engine_post()) and those of memory that is given back.
 *
 * Any thread, without the stream's lock, if nothing else is said.
 *
 * Called by: rpc/client/stream_client.c (init, fini, hold, put, message,
 * window, end, has_link, wait, late, has_ended, status, await_written),
 * rpc/server/stream_server.c (init, fini, hold, put, message, expects, window,
 * half, hears, end, late), rpc/client/stream_again.c (hold, put, changed,
 * has_link, has_sent_nothing), rpc/client/stream_open.c (hold), stream_send.c
 * (hold, put, on, account, changed, wait, late, has_ended, status),
 * rpc/client/stream_finish.c (put, status, await), stream.c (on, account,
 * item_free, changed, wait, unpack, taken, drop, tell, status), stream_events.c
 * (on, item_free, changed, unpack, taken, drop, half_send, half_drop, late,
 * status), rpc/client/stream_reply.c (late). */
#ifndef VC_RPC_STREAM_H
#define VC_RPC_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include <verbcall/service.h>
#include <verbcall/stream.h>

#include "cm/link/schedule.h"
#include "rpc/codec/reply_arena.h"
#include "rpc/stream/stream_state.h"
#include "rpc/stream_flow.h"
#include "transport/core/engine.h"
#include "transport/core/error.h"
#include "transport/core/handle.h"
#include "transport/core/memory.h"

struct vc__stream_ops {
    /* Queues a frame for the link, in order. False if the call has ended; then
     * the frame is still the caller's. Any thread, without locks. At a client
     * it may wait until it is known whether the call is tried again. */
    bool (*put)(struct vc_stream *s, struct vc__send *send);
    /* The call's deadline has passed: ends the stream, if nothing else has,
     * before it returns; at a client with callbacks another thread may still be
     * ending it then. Any thread, without locks. */
    void (*expire)(struct vc_stream *s);
    /* The peer has taken nothing for stall_us, or for another second, while a
     * thread waits for that: may end the stream. On that thread, without locks.
     * NULL at a client, where stall_us is 0. */
    void (*stalled)(struct vc_stream *s);
    /* Ends the call with this error, if nothing else has. False if another
     * thread is ending it, or if it ends later, as it is still being started.
     * Never waits. Any thread, without locks. */
    bool (*give_up)(struct vc_stream *s, const struct vc__error *error);
    /* Writes the metadata that go with the first message to out, unless that is
     * NULL; returns their bytes. NULL if there are none. Called where
     * vc_stream_send() runs. */
    uint16_t (*initial)(const struct vc_stream *s, uint8_t *out);
    /* For streams with callbacks, on the thread that runs these: over() returns
     * the status for on_end(); ended() is called after on_end(). */
    enum vc_status (*over)(struct vc_stream *s);
    void (*ended)(struct vc_stream *s);
    /* For streams with callbacks, on the same thread, last, after
     * vc__engine_resume(): ends the stream's hold on its channel or call. */
    void (*left)(struct vc_stream *s);
    /* The last reference was dropped: frees the stream. Any thread. */
    void (*free)(struct vc_stream *s);
};

struct vc__stream_events;

/* A received message. */
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
    const char *service, *method; /* the names */
    uint64_t due;
    /* Of the server, under the lock; NULL at the server, while no server is
     * known, and when the call has ended at one that may be dropped. */
    const struct vc__target *target;
    bool waits; /* the same lock: a policy of the client's has no server yet */
    uint32_t timeout_ms;         /* until due; 0 at the server */
    uint64_t stall_us;           /* wait before stalled() is called; 0: never */
    size_t memory;               /* most bytes of an unpacked message */
    struct vc__account *account; /* charged for long packed messages, or NULL */
    uint32_t max_reply;   /* most bytes of a server's message; 0: no limit */
    uint32_t request_max; /* of a client's, by its service config; the same */
    uint32_t
        reply_max; /* of the server's for a client, by its config; the same */
    bool of_server;
    bool began;  /* for the sender: a message has been sent */
    bool linked; /* for the sender: it has seen has_link */
    struct vc_interception *interception; /* sees its messages; or NULL */

    pthread_mutex_t lock;
    struct vc__outflow out;       /* lock */
    struct vc__inflow in;         /* lock */
    enum vc__stream_state state;  /* lock; if ENDED, error says how */
    struct vc__error error;       /* lock */
    uint32_t most;                /* lock: most bytes of a message to the
                                   * peer */
    bool has_link;                /* lock: at the client: a link was given the
                                   * CALL, once at least */
    void *last;                   /* lock: the message of a successful reply */
    bool long_out;                /* lock: a long message is being sent */
    struct vc__task *behind;      /* lock: posted when that was sent */
    struct cds_list_head inbox;   /* lock: of struct vc__stream_item */
    struct cds_list_head waiters; /* lock: of struct waiting */
    struct vc__stream_events *events; /* NULL: the program's threads wait */
};

/* Called by the client's and the server's part, when they make the stream and
 * when they free it. */
void vc__stream_init(struct vc_stream *s, const struct vc__stream_ops *ops);
void vc__stream_fini(struct vc_stream *s);

/* Takes a reference, for a frame, a task, a timer or a call that uses the
 * stream. The caller has one; with or without the lock. */
static inline void
vc__stream_hold(struct vc_stream *s)
{
    /* Relaxed: the caller has a reference already. */
    atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
}
/* Drops a reference; with the last one ops->free() runs. Called when the
 * program, a call, a frame, a task or a timer no longer uses the stream. */
void vc__stream_put(struct vc_stream *s);

/* --- receiving; for the holder of the engine ---------------------------- */

/* All but vc__stream_end() are called when a frame was received: at a server by
 * rpc/server/stream_server.c, and vc__stream_message() and vc__stream_window()
 * at a client by rpc/client/stream_client.c, under the lock of its pool. */

/* A message was received; the stream copies it, or drops it if it has ended. If
 * `loss` is not NULL, the message could not be kept, and `loss` says why: that
 * ends the stream, as does a lack of memory here. False if it breaks the
 * protocol. */
bool vc__stream_message(struct vc_stream *s, const uint8_t *body, uint32_t len,
                        const char *loss);
/* The first part of a message of len bytes was received, at a server. Only
 * checks: false if it breaks the protocol. */
bool vc__stream_expects(struct vc_stream *s, uint32_t len);
/* A window update was received. False if it breaks the protocol. */
bool vc__stream_window(struct vc_stream *s, uint32_t end);
/* The peer sends no more messages. False if that breaks the protocol, as it
 * does at a client. */
bool vc__stream_half(struct vc_stream *s);
/* True if the peer may send further messages. Asked for the text of a message
 * that breaks the protocol. */
bool vc__stream_hears(struct vc_stream *s);
/* Ends the stream with this error; VC_OK: without one. The messages received so
 * far may still be taken. Later calls have no effect. Any thread. Called when
 * the call ends, is cancelled, or is past its deadline, when its link was lost,
 * and at a client when the metadata of a message are malformed. */
void vc__stream_end(struct vc_stream *s, enum vc__stream_event why,
                    const struct vc__error *error);

/* --- between the files of streams ---------------------------------------- */

/* Applies an event to the state; returns the action. Under the lock. Called by
 * rpc/stream/stream*.c wherever one of enum vc__stream_event happens. */
static inline enum vc__stream_action
vc__stream_on(struct vc_stream *s, enum vc__stream_event event)
{
    struct vc__stream_step step = vc__stream_step(
        s->of_server ? VC__STREAM_SERVER : VC__STREAM_CLIENT, s->state, event);

    s->state = step.next;
    return step.action;
}

/* Allocations for packed messages are charged to the account from this size on,
 * in bytes. Shorter ones are bounded by the window. */
#define VC__STREAM_COUNTED 16384u

/* Returns the account to charge for an allocation of this size, or NULL. Called
 * where received messages and frames to be sent are allocated and freed. */
static inline struct vc__account *
vc__stream_account(const struct vc_stream *s, size_t size)
{
    return size < VC__STREAM_COUNTED ? NULL : s->account;
}

/* Gives the item's memory back; with or without the lock. */
void vc__stream_item_free(struct vc_stream *s, struct vc__stream_item *item);

/* Wakes all waiting threads and stirs the callbacks. Called in rpc/stream and
 * rpc/client/stream_again.c after each change that a thread may wait for, under
 * the lock. */
void vc__stream_changed(struct vc_stream *s);
/* A link is given the CALL: called by call_hold() and renewed_hold() of
 * rpc/client, which are hold() of the CALL, on any thread. */
void vc__stream_has_link(struct vc_stream *s);
/* True if the program may still send, and no message has taken room in the
 * window yet. Called by is_at_hand() (rpc/client/stream_again.c), when an
 * attempt has failed. */
bool vc__stream_has_sent_nothing(struct vc_stream *s);
/* Waits for a change: true. At most until this time: then false. Called on a
 * thread of the program, a handler's or the one that runs callbacks, which
 * advances the engine meanwhile. Under the lock, which it releases
 * meanwhile. */
bool vc__stream_wait(struct vc_stream *s, uint64_t until);
/* Unpacks a message. On VC_OK *message is the caller's, for vc_message_free().
 * Other statuses are errors, which become the thread's last. Called by
 * vc_stream_receive(), or by item_give() on the thread that runs callbacks. */
enum vc_status vc__stream_unpack(struct vc_stream *s,
                                 const struct vc__stream_item *item,
                                 void **message);
/* The program has taken a message of len bytes: gives its room back, and sends
 * a WINDOW if the peer must know. */
void vc__stream_taken(struct vc_stream *s, uint32_t len);
/* Drops the received messages, and the message of the reply. Called by
 * turn_one() before on_cancel() or on_end(), under the lock, and by
 * vc__stream_fini() without. */
void vc__stream_drop(struct vc_stream *s);
/* For a HALF that waits for the last part of a long message: half_send() gives
 * it to the link, or frees it if the call has ended, half_drop() frees it.
 * Called by stream_events.c, without the lock, on the thread that runs
 * callbacks. */
void vc__stream_half_send(struct vc__send *half);
void vc__stream_half_drop(struct vc__send *half);
/* Fills in *error for a stream whose deadline has passed, with the outcome
 * unknown, which the caller may replace. The stream itself does not change.
 * Without its lock. */
void vc__stream_late(struct vc_stream *s, struct vc__error *error);

/* --- for both sides ------------------------------------------------------ */

/* Sends a frame of this type without a body. `value` is the end of the window
 * for a WINDOW, else 0. False if memory is short or the call has ended. Called
 * by vc__stream_taken(), on the thread that has taken a message. */
bool vc__stream_tell(struct vc_stream *s, enum vc__frame_type type,
                     uint32_t value);
/* True if the stream has ended: later messages are dropped. Takes the lock.
 * Asked by client_put() while a frame waits for another attempt of the call,
 * and by send_late(), on their threads. */
static inline bool
vc__stream_has_ended(struct vc_stream *s)
{
    bool ended;

    pthread_mutex_lock(&s->lock);
    ended = s->state == VC__STREAM_ENDED;
    pthread_mutex_unlock(&s->lock);
    return ended;
}
/* Raises the stream's error, as vc__error_raise(), and returns its status;
 * VC_OK if there is none, also while the call goes on. Takes the lock. Called
 * when vc_stream_receive() finds no message, by vc_stream_finish(), for a send
 * after the end, before on_cancel(), and at a client before on_end(). */
enum vc_status vc__stream_status(struct vc_stream *s);
/* Waits until the call has ended; at its deadline, ends it. On the thread of
 * vc_stream_finish(). */
void vc__stream_await(struct vc_stream *s);
/* Waits until the call has ended, without a deadline: another thread is setting
 * the end right now. Called by give_up_await() (rpc/client/stream_client.c). */
void vc__stream_await_written(struct vc_stream *s);

#endif
