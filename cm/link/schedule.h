/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Chooses the next message of a link, and how much of it to send. Each session
 * has a flow. Flows with messages take turns by weight, counted in bytes
 * (deficit round robin), so a greedy session cannot starve another. Within a
 * flow messages keep their order, but a long message takes turns with those
 * after it. Only a few huge requests and replies are sent at a time, because
 * each takes memory of the receiver from its first part to its last; the others
 * wait here. Pure. The functions of a schedule are called by the link under its
 * lock, on any thread; without it when the link is made and freed.
 * vc__flow_init() and the functions of one vc__send are called by the owner of
 * the flow or message too, without that lock.
 *
 * Called by: cm/pool/session_note.c (send_clear), rpc/balance/health_watch.c
 * (send_clear), rpc/client/attempt.c (send_clear, body_is_long),
 * rpc/client/packed.c (send_clear), rpc/stream/stream_send.c (send_clear,
 * send_is_long), link.c (init, flow_init, is_empty), cm/pool/session.c
 * (flow_init, send_is_long), rpc/server/server_session_open.c (flow_init),
 * link_io.c (is_empty, clear), link_keepalive.c (is_empty), link_send.c
 * (is_empty, add, take, send_whole, send_is_long), link_unsend.c (remove,
 * flow_any), schedule.c (remove, flow_any, send_whole, send_is_long),
 * rpc/server/server_metadata.c (body_is_long), rpc/server/server_reply.c
 * (body_is_long), cm/pool/session_reply.c (send_is_long). */
#ifndef VC_CM_SCHEDULE_H
#define VC_CM_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>
#include <urcu/wfcqueue.h>

#include "transport/wire/packet.h"

/* The longest body with metadata that is sent in one packet. It holds for any
 * peer, as every peer takes packets of at least VC__PACKET_MAX. */
#define VC__EAGER_MAX (VC__PACKET_MAX - VC__PACKET_HEADER - VC__FRAME_HEADER)

/* Bytes of the total length, which precedes the first part of a long
 * message. */
#define VC__TOTAL_SIZE 4u

/* A CALL or REPLY is huge if its body has at least so many bytes; and how many
 * huge ones of a flow are sent at a time. */
#define VC__HUGE      131072u
#define VC__HUGE_MOST 4u

/* The messages of one session in one direction. */
struct vc__flow {
    struct cds_list_head node;  /* in the schedule's ring; or alone */
    struct cds_list_head sends; /* of struct vc__send */
    struct cds_list_head huge;  /* the same: huge ones not begun */
    uint16_t weight;            /* 1..VC__WEIGHT_MAX: its share */
    uint8_t n_huge;             /* huge ones begun */
    bool urgent;                /* is sent before the others */
    int32_t left;               /* bytes left of its turn; below 0: overdrawn */
};

#define VC__WEIGHT_MAX 256u

enum vc__send_place {
    VC__SEND_OUT,    /* not held by the link, or alone in it */
    VC__SEND_QUEUED, /* in its flow */
    VC__SEND_SENT,   /* sent; waits for its acknowledgement */
};

enum vc__send_end {
    VC__SEND_HANDED, /* all of it was written into packets */
    VC__SEND_ACKED,  /* the peer has handled it */
    VC__SEND_LOST,   /* the link went down first, or it was taken back */
};

/* A message to be sent; belongs to its owner, who keeps it until done(). */
struct vc__send {
    union {
        struct cds_wfcq_node arrival; /* in the queue of appended messages */
        struct cds_list_head node;
    };
    struct vc__flow *flow;
    /* The header, with the length of the whole body; and the metadata, which
     * are sent with the first part. */
    struct vc__frame frame;
    uint64_t due;   /* CALL: its deadline, in time of vc__now() */
    bool fresh;     /* true if frame.deadline was just computed */
    bool of_reply;  /* a server's reply: its parts carry VC__FRAME_OF_REPLY */
    bool wants_ack; /* true if done() is to follow the acknowledgement */
    uint8_t place;  /* enum vc__send_place */
    bool is_huge;   /* true if counted in its flow's n_huge */
    uint32_t round; /* the link's sending round in which it was queued */
    uint32_t stamp; /* order in which it was added to its flow last */
    /* Set (release) once any byte was written to a packet: the peer may see it.
     * If done is NULL, the link does not touch the object after this. */
    atomic_bool gone;
    uint32_t at;     /* bytes of the body already sent */
    uint32_t take;   /* bytes of its frame in the packet being made */
    uint32_t packet; /* sequence of the packet with its last part */

    /* The body. If NULL, write() writes all of it to out in one call; only for
     * messages that are not long. */
    const uint8_t *body;
    void (*write)(struct vc__send *s, uint8_t *out);

    /* hold() is called when the link begins to use the message, done() when it
     * no longer does: once each, in pairs. done() runs on any thread, under the
     * link's lock, and must not use the link. The lock lets a thread that moves
     * the message to another link know that this link is done with it. done is
     * NULL if the owner may free the message as soon as all of it was sent,
     * without notification: when its reply came, or after ops->down(). */
    void (*hold)(struct vc__send *s);
    void (*done)(struct vc__send *s, enum vc__send_end end);
};

/* Clears a message for its owner to fill, before the link has it: on the
 * owner's thread. Field by field: gcc clears the whole struct by `rep stos`,
 * which takes longer than packing a short message. */
static inline void
vc__send_clear(struct vc__send *s)
{
    s->flow = NULL;
    s->frame = (struct vc__frame){0};
    s->due = 0;
    s->fresh = s->of_reply = s->wants_ack = s->is_huge = false;
    s->place = VC__SEND_OUT;
    s->round = s->stamp = 0;
    atomic_init(&s->gone, false);
    s->at = s->take = s->packet = 0;
    s->body = NULL;
    s->write = NULL;
    s->hold = NULL;
    s->done = NULL;
}

struct vc__schedule {
    struct cds_list_head ring; /* of struct vc__flow with messages to send */
    uint32_t stamp;            /* of the last message added */
};

/* Called by vc__link_init(), before all else. */
void vc__schedule_init(struct vc__schedule *s);
/* Called by the owner of a flow when it is made: a session, at either end, or
 * vc__link_init(). */
void vc__flow_init(struct vc__flow *f, uint32_t weight);

/* True if no message waits to be sent. */
static inline bool
vc__schedule_is_empty(struct vc__schedule *s)
{
    return cds_list_empty(&s->ring);
}

/* Adds a message after the others of its flow, also one of which a part was
 * sent. Called by arrival_put(), alone_wait() and send_written(). */
void vc__schedule_add(struct vc__schedule *s, struct vc__send *send);

/* Removes and returns the next message. send->take is set to the bytes of its
 * frame in a packet that has `room` bytes left. Returns NULL if there is none,
 * or it must wait for another packet. Called by next_take(). */
struct vc__send *vc__schedule_take(struct vc__schedule *s, uint32_t room);

/* Removes this message, which is in the schedule: it is taken back or lost.
 * Called by the functions of link_send.c that take messages back, and by
 * vc__schedule_clear(). */
void vc__schedule_remove(struct vc__send *send);

/* Returns a message of the flow without removing it: an ordinary one if there
 * is any, else a huge one; or NULL. Called by vc__link_drop() and
 * vc__schedule_clear(), which take back or lose all of them. */
struct vc__send *vc__flow_any(struct vc__flow *f);

/* Removes and returns any message, or NULL if none is left. Called by
 * vc__link_close_io(), on the holder. */
struct vc__send *vc__schedule_clear(struct vc__schedule *s);

/* True if a message of these lengths is sent in parts. Called by its owner
 * before it has the message packed, on any thread, without the lock. */
static inline bool
vc__body_is_long(size_t body_len, size_t metadata_len)
{
    return body_len + metadata_len > VC__EAGER_MAX;
}

/* The bytes of a message that is not long, with its header. Called by the link
 * and by send_take(), under the link's lock. */
static inline uint32_t
vc__send_whole(const struct vc__send *s)
{
    return VC__FRAME_HEADER + s->frame.metadata_len + s->frame.body_len;
}

/* True if a message is sent in parts. Called by its owner and by the link, on
 * any thread, with the lock or without. */
static inline bool
vc__send_is_long(const struct vc__send *s)
{
    return vc__body_is_long(s->frame.body_len, s->frame.metadata_len);
}

#endif
