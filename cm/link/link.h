/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A link: one connection, carried by a wire (transport/transport.h), with its
 * credits and its queue of messages to send. Everything belongs to the holder
 * of the engine, except fields marked "lock". Any thread may reach these
 * through vc__link_append(), vc__link_push(), vc__link_hold(),
 * vc__link_push_held(), vc__link_unsend(), vc__link_cut() and vc__link_drop().
 * All other functions are for the holder only, unless their comment says
 * otherwise.
 *
 * Messages are appended to a lock-free queue. One thread at a time takes all
 * appended messages, packs them into as few packets as possible, and sends
 * them. So contention leads to batches, not to waiting.
 *
 * The owner embeds the link and frees it in ops->gone() at the earliest.
 *
 * Called by: link_send.c (deadline_left, push, enter, push_entered, frames_max,
 * flush, send_end, unlock), rpc/client/attempt.c (deadline_left),
 * rpc/client/stream_again.c (deadline_left), rpc/client/stream_open.c
 * (deadline_left), cm/pool/pool_link.c (init, fini, breach, push),
 * rpc/server/server_link.c (init, fini, accept, trust), cm/pool/dial_run.c
 * (connect), link_io.c (breach, of, end, frames_max, flush, push_arrived,
 * arrivals_take, send_end, lock, unlock), link_keepalive.c (breach, trust,
 * send, unsend, end, send_marked, lock, unlock), cm/pool/session_reply.c
 * (breach), rpc/server/server_link.h (breach), link_connect.c (trust, of, end,
 * fail, timer, prepare, open_io), cm/pool/session.c (append, enter, unsend,
 * cut, drop), cm/pool/peer.c (push, close_io), cm/pool/client.c (hold,
 * push_held, drop), rpc/server/drain.c (send), rpc/server/server_session.c
 * (send, unsend, withdraw, drop), rpc/server/server_session_open.c (send),
 * rpc/server/stream_server.c (send), cm/pool/pool_await.c (is_heard), link.c
 * (of, end, log, timer, ask, on_answered, on_refused, on_unreachable,
 * on_received, on_writable, close_io), link_accept.c (fail, timer, prepare,
 * open_io), link_unsend.c (flush, arrivals_take, send_end, lock, unlock), many
 * files (close, event, peer). */
#ifndef VC_CM_LINK_H
#define VC_CM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "cm/connect/features.h"
#include "cm/connect/hello.h"
#include "cm/link/link_keepalive.h"
#include "cm/link/link_state.h"
#include "cm/link/schedule.h"
#include "cm/link/window.h"
#include "transport/core/engine.h"
#include "transport/core/error.h"
#include "transport/core/lock.h"
#include "transport/transport.h"
#include "transport/wire/credit.h"
#include "transport/wire/packet.h"

struct vc__link;

/* The longest message that an end may announce as its limit. Unpacking a longer
 * one blocks an engine so long that its links time out. The wire format allows
 * 2^30. */
#define VC__MESSAGE_MAX (1u << 28)

/* The deadline field of a CALL's header: the microseconds left, or
 * VC__DEADLINE_NONE. Pure; any thread: that which begins the call, and again
 * that which sends it. */
uint32_t vc__deadline_left(uint64_t due, uint64_t now);

/* Callbacks of a link; they run on the holder of the engine. */
struct vc__link_ops {
    /* The first packet was good. Passive side only; may be NULL. */
    void (*trusted)(struct vc__link *link);

    /* The link is up: calls may be sent. The peer's accept or hello is in the
     * link. */
    void (*up)(struct vc__link *link);

    /* A frame was received. Returns false, which ends the link, if the frame
     * breaks the protocol (then vc__link_breach() was called) or memory is
     * short. */
    bool (*frame)(struct vc__link *link, const struct vc__frame *f);

    /* Returns true if a call waits for the peer. Called now and then, for
     * keepalive; NULL means never. */
    bool (*busy)(struct vc__link *link);

    /* The link is down, or will never come up: link->error says why. Called
     * once, after done() of every message in its queue. */
    void (*down)(struct vc__link *link);

    /* The last callback: the link has released all its resources. */
    void (*gone)(struct vc__link *link);
};

#define VC__LINK_REAPED 0x80000000u

/* Counters kept under a link's lock. */
enum vc__link_count {
    VC__LINK_PACKETS_SENT,
    VC__LINK_BYTES_SENT,
    VC__LINK_PACKETS_OF_CREDITS,
    VC__LINK_STALLS_CREDITS,
    VC__LINK_STALLS_BUFFERS,
    VC__LINK_COUNTS
};

struct vc__link {
    const struct vc__link_ops *ops;
    struct vc__engine *engine;
    struct vc__wire *wire;
    enum vc__link_state state;
    bool active;      /* true on the side that connects */
    bool stale;       /* true if rejected, but a retry at once may succeed */
    bool is_down;     /* true once ops->down() was called */
    bool awaits_wire; /* true while counted in engine->awaiting_wires */
    bool heard;       /* true if rejected: the host is reachable */
    bool has_reject;
    bool has_local;     /* passive: true if accept.local may be sent */
    bool silent;        /* true if keepalive declared the peer dead, */
    bool stopped;       /* because its process is silent, its host is not */
    const char *breach; /* the rule that the peer's frame broke, or NULL */
    struct vc__error error;

    struct vc__timer timer;
    uint32_t timeout_ms; /* of connecting; passive: until the first packet */
    uint32_t said_ms;    /* whole timeout, for texts; timeout_ms is the rest */
    struct vc__task reap, broken;

    /* What was negotiated. On the active side the hello is ours and the accept
     * the peer's; on the passive side the other way round. */
    struct vc__hello hello;
    struct vc__accept accept;
    struct vc__reject reject; /* the peer's, if has_reject */
    unsigned credits_max;     /* most receives to promise; 0: as we see fit */
    uint32_t features;        /* VC__FEATURE_*: valid once the link is up */

    /* Messages appended but not yet taken. Any thread appends; the thread with
     * the lock takes them. */
    struct __cds_wfcq_head arrivals;
    struct cds_wfcq_tail arrivals_tail;
    /* Threads that are about to push; the link must not be freed before they
     * are done. VC__LINK_REAPED is set when only they keep it. */
    atomic_uint pushers;

    struct vc__link_keepalive keepalive;
    struct vc__send ping, answer; /* of keepalive */

    struct vc__lock lock;         /* see vc__link_lock() */
    bool open;                    /* lock: true while messages may be sent */
    bool ill;                     /* lock: true once `broken` is posted */
    struct vc__credit credit;     /* lock; see transport/wire/credit.h */
    struct vc__window window;     /* lock */
    uint32_t round;               /* lock: counts rounds of sending */
    struct vc__schedule schedule; /* lock */
    struct vc__send *alone; /* lock: entered, and nothing else waits; or NULL */
    struct cds_list_head sent; /* lock: vc__send, not acknowledged */
    struct vc__flow control;   /* lock: of messages of no session */
    struct vc__tally tally;    /* lock: by enum vc__link_count */
};

/* Initialises a link of this context and its engine in the caller's memory.
 * `wire` is zeroed memory of the transport's wire_size; its options are set to
 * the defaults. Called when a pool or server makes a link. */
void vc__link_init(struct vc__link *link, struct vc__context *context,
                   void *wire, const struct vc__link_ops *ops,
                   uint32_t timeout_ms);
/* Called in ops->gone(), or after vc__link_accept() has failed. The wire has no
 * resources any more. */
void vc__link_fini(struct vc__link *link);

/* Connects to addr, from link->wire->source, with link->hello. The caller has
 * filled the hello except its credits and packet size. Ends with ops->up() or
 * ops->down(), within the timeout; ops->down() may run before this returns. */
void vc__link_connect(struct vc__link *link, const struct sockaddr *addr);

/* Accepts a request of the same transport, whose hello was `hello`. The caller
 * has filled link->accept except its credits, packet size and features. VC_OK:
 * the accept was sent and the link owns the request; callbacks follow,
 * the first maybe ops->down() inside. On failure, with vc__error_last(), the
 * caller still owns the request, must reject it, and no callback follows. */
enum vc_status vc__link_accept(struct vc__link *link,
                               const struct vc__incoming *in,
                               const struct vc__hello *hello);

/* Closes the link; ops->down() is called inside, with this error unless there
 * was an earlier one. Does nothing if the link was down before. */
void vc__link_close(struct vc__link *link, enum vc_status status,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For use in ops->frame(), which returns its result, and where the link checks
 * a packet: records the rule that was broken, for link->error. Returns
 * false. */
static inline bool
vc__link_breach(struct vc__link *link, const char *rule)
{
    link->breach = rule;
    return false;
}

/* Stops the connect timer and calls ops->trusted(); does nothing if the link is
 * not up. Called when the peer's accept, or the passive side's first packet,
 * was found good. */
void vc__link_trust(struct vc__link *link);

/* Appends a message; vc__link_push() must follow. The link must not be down:
 * ops->down() has not run, or a lock that it takes prevents it. Any thread;
 * takes no lock and never waits. */
void vc__link_append(struct vc__link *link, struct vc__send *s);

/* Sends all appended messages. If another thread is sending, that thread sends
 * them, and this returns at once. Without the lock, on any thread for which the
 * link stays alive: the holder, or one that calls vc__link_push_held(). */
void vc__link_push(struct vc__link *link);

/* As vc__link_append(); but if the link's lock is free, the message goes into
 * the schedule itself, or past it if nothing else waits, and true is returned:
 * then the caller has that lock, and must call vc__link_push_entered() soon; no
 * other function of the link before. Threads as vc__link_append(). */
bool vc__link_enter(struct vc__link *link, struct vc__send *s);
/* Sends, and leaves the lock. Threads as vc__link_push(). */
void vc__link_push_entered(struct vc__link *link);

/* For callers that append under a lock and push without it: keeps the link
 * alive until vc__link_push_held(). Any thread, under that lock. */
static inline void
vc__link_hold(struct vc__link *link)
{
    /* Relaxed: that lock orders this before the link's end. */
    atomic_fetch_add_explicit(&link->pushers, 1, memory_order_relaxed);
}

/* Pushes, or sends if `entered`: vc__link_enter() has returned true. Then drops
 * the hold; the last one after the end of the link has it freed. Called by
 * client.c of cm/pool after it has left that lock. Any thread, without the
 * link's lock, unless `entered`. */
void vc__link_push_held(struct vc__link *link, bool entered);

/* Appends and pushes. The holder of the engine, before ops->down(). */
void vc__link_send(struct vc__link *link, struct vc__send *s);

/* True if the peer has the first packet; over datagrams it may be lost, and is
 * sent again. Any thread, without the lock, while the link is up and kept
 * so. */
bool vc__link_is_heard(struct vc__link *link);

/* Takes back a message if no byte of it was sent; done() is then called with
 * VC__SEND_LOST. Returns false if it is too late, or the link does not have it.
 * Any thread, without the lock; the link must not be freed meanwhile. */
bool vc__link_unsend(struct vc__link *link, struct vc__send *s);

/* Takes back what is left of a message in parts; done() is then called with
 * VC__SEND_LOST. Returns false if all of it was sent, or the link does not have
 * it. Threads as above. */
bool vc__link_cut(struct vc__link *link, struct vc__send *s);

/* Takes back a message in whatever state it is; done() is called with
 * VC__SEND_LOST, if the link still has the message. For the holder, and for
 * links of the passive side. */
void vc__link_withdraw(struct vc__link *link, struct vc__send *s);
/* Takes back all messages of a flow, in the same way, but those that wait for
 * their acknowledgement. Returns true if an unsent OPEN was among them. Called
 * when a client closes, or a session ends or leaves the link. Any thread while
 * the link cannot be freed, as under its pool's lock. */
bool vc__link_drop(struct vc__link *link, struct vc__flow *flow);

/* --- between the files of the link ------------------------------------- */

/* The link of a wire, never NULL. For the callbacks of the wire. */
static inline struct vc__link *
vc__link_of(const struct vc__wire *w)
{
    return w->owner;
}

/* link.c: runs an event through the state machine: changes the state and does
 * what the table says, ops->up() and ops->down() included. An event that the
 * state ignores does nothing. Called by the files of the link. */
void vc__link_event(struct vc__link *link, enum vc__link_event event);
/* Runs an event that ends the link through the state machine. The text is the
 * reason, unless an earlier one is known. Does nothing if the state ignores the
 * event. Called by the files of the link when the peer refuses, leaves or
 * breaks a rule, a timer fires, memory is short, or the wire has failed. */
void vc__link_end(struct vc__link *link, enum vc__link_event event,
                  enum vc_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* vc__link_end() with an error that contains the reason. Called when an
 * operation of the wire has failed, or the wire reports an error. */
void vc__link_fail(struct vc__link *link, enum vc__link_event event,
                   const struct vc__error *why);

/* The most frames that a packet of this link may have. Any thread while the
 * link is up, as its features do not change then. */
static inline uint16_t
vc__link_frames_max(const struct vc__link *link)
{
    return link->features & VC__FEATURE_COALESCED ? UINT16_MAX : 1;
}

/* The peer's address for humans, after the name that a server gives itself.
 * Never NULL; valid as long as the link. */
static inline const char *
vc__link_peer(struct vc__link *link)
{
    return vc__wire_peer(link->wire);
}

/* link_log.c: logs that an event has changed the state from `was`, if the link
 * came up or ended by it. Called by vc__link_event() for each event. */
void vc__link_log(struct vc__link *link, enum vc__link_state was,
                  enum vc__link_event event);

/* link.c: (re)starts link->timer, which limits connecting, the wait for a
 * client's first packet, and the disconnect. Without memory for it, ends the
 * link. */
void vc__link_timer(struct vc__link *link, uint32_t ms);

/* link_connect.c: the active side. vc__link_ask() sends the hello when the
 * route is known; the others are callbacks of the wire. */
void vc__link_ask(struct vc__link *link);
void vc__link_on_answered(struct vc__wire *w, const void *data, size_t len);
void vc__link_on_refused(struct vc__wire *w, const void *data, size_t len,
                         const struct vc__error *why, bool again);
void vc__link_on_unreachable(struct vc__wire *w, const struct vc__error *why);

/* link_send.c: the functions up to vc__link_unlock() run on any thread. This
 * one takes the appended messages and sends what can be sent, under the link's
 * lock. Returns true if it took any message. Called by vc__link_push(), by
 * link_unsend.c, and by link_io.c when a packet has come or there is room
 * again. */
bool vc__link_flush(struct vc__link *link);
/* Under the link's lock, for a transport with mark(): sends a packet without
 * frames, whose ticket proven() is asked about. Returns false, and sends
 * nothing, if there is no room or only the last credit, or the link has not
 * begun. Called by probe_post() (link_keepalive.c), on the holder. */
bool vc__link_send_marked(struct vc__link *link, uint32_t *ticket);
/* Without the lock: pushes if a message was appended. Called by
 * packet_handled(), on the holder. */
void vc__link_push_arrived(struct vc__link *link);
/* Under the link's lock: moves all appended messages to the schedule, or ends
 * them as lost if sending is closed. Called before messages are taken back, and
 * by vc__link_close_io(). */
void vc__link_arrivals_take(struct vc__link *link);
/* Under the link's lock: the link no longer uses this message. Calls done() if
 * there is one. Called when a message is acknowledged, lost, or taken back. */
void vc__link_send_end(struct vc__send *s, enum vc__send_end end);
/* Takes the link's lock. Only the holder uses the link of a server, which needs
 * none. Called by the files of the link. */
static inline void
vc__link_lock(struct vc__link *link)
{
    if (link->active)
        vc__lock_take(&link->lock);
}

/* Unlocks the link's lock, then pushes what was appended meanwhile. Called by
 * the files of the link. */
void vc__link_unlock(struct vc__link *link);

/* link_io.c. The first two are callbacks of the wire. */
void vc__link_on_received(struct vc__wire *w, const uint8_t *data,
                          uint32_t len);
/* Sends waiting messages when there is room again. */
void vc__link_on_writable(struct vc__wire *w, uint32_t ticket);
/* Prepares the wire's memory and queues, and the first promised receives.
 * Called before the hello or accept is sent. Returns VC_OK, or the error of the
 * transport's prepare(). */
enum vc_status vc__link_prepare(struct vc__link *link);
/* Allows messages to be sent, with the peer's first credits. Called when the
 * connection is confirmed, at either end. */
void vc__link_open_io(struct vc__link *link, uint32_t peer_credits);
/* Stops sending: done() is called with VC__SEND_LOST for all queued,
 * unacknowledged and later messages. Called before ops->down(), and by
 * vc__peer_leave(), under the pool's lock, for messages appended since. */
void vc__link_close_io(struct vc__link *link);

#endif
