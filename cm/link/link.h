/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A link: one connection, which a wire carries (transport/transport.h), with
 * its credits and queue of messages to send. Everything belongs to the holder of the engine, except
 * what is marked "lock", which any thread may reach through vc__link_append(),
 * vc__link_push() and vc__link_unsend().
 *
 * Messages come in through a queue without a lock; one thread at a time takes
 * all that has come, packs it into as few packets as it fits in, and sends
 * them. So contention makes batches, not waits.
 *
 * The owner embeds it and frees it from ops->gone() at the earliest. */
#ifndef VC_CM_LINK_H
#define VC_CM_LINK_H

#include <pthread.h>
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
#include "transport/transport.h"
#include "transport/wire/credit.h"
#include "transport/wire/packet.h"

struct vc__link;

/* The longest message that an end may take: what it says is at most that. To
 * unpack a longer one takes an engine so long that its links die. The wire format
 * allows for 2^30. */
#define VC__MESSAGE_MAX (1u << 28)

/* What a CALL's header says of a deadline. */
uint32_t vc__deadline_left(uint64_t due, uint64_t now);

/* What comes up, on the holder of the engine. */
struct vc__link_ops {
    /* The first packet was good. The passive side; may be NULL. */
    void (*trusted)(struct vc__link *link);

    /* Calls may go. The accept or hello of the peer is in the link. */
    void (*up)(struct vc__link *link);

    /* A frame of the peer; false when it breaks the protocol, which ends the
     * link. */
    bool (*frame)(struct vc__link *link, const struct vc__frame *f);

    /* Does somebody wait for the peer? Now and then; NULL: never. */
    bool (*busy)(struct vc__link *link);

    /* It carries nothing any more, or never will: link->error says why. Once.
     * Every message in its queue has been done before. */
    void (*down)(struct vc__link *link);

    /* Everything is given back. Last. */
    void (*gone)(struct vc__link *link);
};

#define VC__LINK_REAPED 0x80000000u

/* What is counted under a link's lock. */
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
    bool active;      /* the side that connects */
    bool stale;       /* refused: another connection may do, at once */
    bool told;        /* ops->down has run */
    bool awaits_wire; /* counted in engine->awaiting_wires */
    bool heard;       /* refused by whatever is there */
    bool has_reject;
    bool has_local;     /* passive: accept.local may be told */
    bool silent;        /* keepalive took the peer for dead, */
    bool stopped;       /* as its process does not answer, and its host does */
    const char *breach; /* the rule that the peer's frame broke; NULL: none */
    struct vc__error error;

    struct vc__timer timer;
    uint32_t timeout_ms; /* of connecting, and of leaving */
    uint32_t said_ms;    /* that of which timeout_ms is the rest, for texts */
    struct vc__task reap, broken;

    /* What was said. On the active side the hello is ours and the accept the
     * peer's; on the passive side the other way round. */
    struct vc__hello hello;
    struct vc__accept accept;
    struct vc__reject reject; /* the peer's, if has_reject */
    unsigned credits_max; /* receives to promise at most; 0: as we see fit */
    uint32_t features;    /* VC__FEATURE_*: agreed on when it is up */

    /* Messages that were appended and not yet taken up; any thread appends,
     * the one with the lock takes up. */
    struct __cds_wfcq_head arrivals;
    struct cds_wfcq_tail arrivals_tail;
    /* Threads that will push: the link must stay. VC__LINK_REAPED when only
     * they keep it. */
    atomic_uint pushers;

    struct vc__link_keepalive keepalive;
    struct vc__send ping, answer; /* of keepalive */

    pthread_mutex_t lock;
    bool open;                    /* lock: messages may go */
    bool ill;                     /* lock: `broken` is posted */
    struct vc__credit credit;     /* lock; see transport/wire/credit.h */
    struct vc__window window;     /* lock */
    uint32_t round;               /* lock: counts rounds of sending */
    struct vc__schedule schedule; /* lock */
    struct cds_list_head sent;    /* lock: of struct vc__send, want acks */
    struct vc__flow control;      /* lock: of what belongs to no session */
    struct vc__tally tally;       /* lock: of enum vc__link_count */
};

/* A link of this context and its engine, in the caller's memory, with its wire
 * in `wire`, zeros of the transport's wire_size; its opts are the defaults. */
void vc__link_init(struct vc__link *link, struct vc__context *context,
                   void *wire, const struct vc__link_ops *ops,
                   uint32_t timeout_ms);
/* From ops->gone(), or before anything was started. */
void vc__link_fini(struct vc__link *link);

/* Connects to addr, from link->wire->source, saying link->hello, which the caller has filled but for
 * credits and sizes of packets. Ends in ops->up() or ops->down(), within the
 * timeout. */
void vc__link_connect(struct vc__link *link, const struct sockaddr *addr);

/* Accepts a request of the same transport: hello is what it said, link->accept
 * filled but for credits, sizes of packets and features. On VC_OK the accept
 * was sent, the link owns the request and ops follow, the first may be
 * ops->down(); otherwise the caller still owns it, to reject it, and nothing
 * will come up. */
enum vc_status vc__link_accept(struct vc__link *link,
                               const struct vc__incoming *in,
                               const struct vc__hello *hello);

/* Takes it down; ops->down() with this error, unless it was down before. */
void vc__link_close(struct vc__link *link, enum vc_status status,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For ops->frame(), which returns this: the frame breaks that rule, as
 * link->error will say. False. */
static inline bool
vc__link_breach(struct vc__link *link, const char *rule)
{
    link->breach = rule;
    return false;
}

/* The first packet, or whatever else the timer waited for, was good. */
void vc__link_trust(struct vc__link *link);

/* Appends a message; vc__link_push() must follow. The link is not down, as
 * ops->down() has not run or is kept from running (by a lock that it takes).
 * Any thread, without locks and waits. */
void vc__link_append(struct vc__link *link, struct vc__send *s);

/* Sends what was appended, unless another thread is at it, which then sends
 * that too. */
void vc__link_push(struct vc__link *link);

/* For those who append under a lock and push without it: the link stays until
 * vc__link_push_held(). */
static inline void
vc__link_hold(struct vc__link *link)
{
    /* Relaxed: the lock orders it before the link's end. */
    atomic_fetch_add_explicit(&link->pushers, 1, memory_order_relaxed);
}

void vc__link_push_held(struct vc__link *link);

/* Both. The holder of the engine, before ops->down(). */
void vc__link_send(struct vc__link *link, struct vc__send *s);

/* Takes a message back of which nothing has gone: it is done(), lost. False
 * when it is too late. Any thread. */
bool vc__link_unsend(struct vc__link *link, struct vc__send *s);

/* Takes a message back, or all of a flow, in whatever place they are: they are
 * done(), lost. The first is for the holder, and links of the passive side; the
 * second for any thread; true: an OPEN was among them, of which nothing has
 * gone. */
void vc__link_withdraw(struct vc__link *link, struct vc__send *s);
bool vc__link_drop(struct vc__link *link, struct vc__flow *flow);

/* --- between the files of the link ------------------------------------- */

static inline struct vc__link *
vc__link_of(const struct vc__wire *w)
{
    return w->owner;
}

/* link.c: an event of the state machine. */
void vc__link_event(struct vc__link *link, enum vc__link_event event);
/* The same for an event that ends it, with the reason. */
void vc__link_end(struct vc__link *link, enum vc__link_event event,
                  enum vc_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same, by an error that says why already. */
void vc__link_fail(struct vc__link *link, enum vc__link_event event,
                   const struct vc__error *why);

/* Frames that a packet of the link may have. */
static inline uint16_t
vc__link_frames_max(const struct vc__link *link)
{
    return link->features & VC__FEATURE_COALESCED ? UINT16_MAX : 1;
}

/* The peer's address for people. */
static inline const char *
vc__link_peer(struct vc__link *link)
{
    return vc__wire_peer(link->wire);
}

/* link_log.c: an event has led from the state `was` to that of the link. */
void vc__link_log(struct vc__link *link, enum vc__link_state was,
                  enum vc__link_event event);

/* link.c: (re)starts the one timer. */
void vc__link_timer(struct vc__link *link, uint32_t ms);

/* link_connect.c: the active side. */
void vc__link_ask(struct vc__link *link);
void vc__link_on_answered(struct vc__wire *w, const void *data, size_t len);
void vc__link_on_refused(struct vc__wire *w, const void *data, size_t len,
                         const struct vc__error *why, bool again);
void vc__link_on_unreachable(struct vc__wire *w, const struct vc__error *why);

/* link_send.c, under the link's lock: takes up what has come, and sends what
 * can go; true when something had come. */
bool vc__link_flush(struct vc__link *link);
/* Without the lock: pushes if something has come. */
void vc__link_push_arrived(struct vc__link *link);
void vc__link_arrivals_take(struct vc__link *link);
/* The link has no more use for it. */
void vc__link_send_end(struct vc__send *s, enum vc__send_end end);
/* Lets go of the lock, and sees to what came meanwhile. */
void vc__link_unlock(struct vc__link *link);

/* link_io.c */
void vc__link_on_received(struct vc__wire *w, const uint8_t *data,
                          uint32_t len);
void vc__link_on_writable(struct vc__wire *w, uint32_t ticket);
/* The wire's memory and queues, with receives promised to the peer. */
enum vc_status vc__link_prepare(struct vc__link *link);
void vc__link_open_io(struct vc__link *link, uint32_t peer_credits);
/* Nothing goes any more; what was under way or comes yet is done(), lost. */
void vc__link_close_io(struct vc__link *link);

#endif
