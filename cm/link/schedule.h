/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which message goes next on a link, and how much of it. Each session has a
 * flow; flows that have something to send take turns by weight, counted in
 * bytes (deficit round robin), so a greedy session cannot starve another. Within
 * a flow messages keep their order, but a long one takes turns with those behind
 * it; and of requests and replies that are huge a few go at a time, as each takes
 * memory of the receiver from its first part to its last: others wait here. Pure;
 * the owner serialises. */
#ifndef VC_CM_SCHEDULE_H
#define VC_CM_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>
#include <urcu/wfcqueue.h>

#include "transport/wire/packet.h"

/* The longest body, with its metadata, that goes in one packet, for any peer:
 * every one takes packets of VC__PACKET_MAX at least. */
#define VC__EAGER_MAX (VC__PACKET_MAX - VC__PACKET_HEADER - VC__FRAME_HEADER)

/* The total length that begins the first part of a long message. */
#define VC__TOTAL_SIZE 4u

/* Bytes of the body of a CALL or REPLY that is huge from there on, and how many
 * of a flow go at a time. */
#define VC__HUGE      131072u
#define VC__HUGE_MOST 4u

/* The messages of one session in one direction. */
struct vc__flow {
    struct cds_list_head node;  /* among those that take turns; or alone */
    struct cds_list_head sends; /* of struct vc__send */
    struct cds_list_head huge;  /* the same: those that have not begun */
    uint16_t weight;            /* 1..VC__WEIGHT_MAX: its share */
    uint8_t n_huge;             /* that have begun */
    bool urgent;                /* goes before the others */
    int32_t left; /* bytes of its turn; below 0 it has had too many */
};

#define VC__WEIGHT_MAX 256u

enum vc__send_place {
    VC__SEND_OUT,    /* not in the link's hands */
    VC__SEND_QUEUED, /* in its flow */
    VC__SEND_SENT,   /* waits for word that the peer has handled it */
};

enum vc__send_end {
    VC__SEND_HANDED, /* all of it was handed to the adapter */
    VC__SEND_ACKED,  /* the peer has handled it */
    VC__SEND_LOST,   /* the link died first */
};

/* A message on its way out; lives in its owner until done(). */
struct vc__send {
    union {
        struct cds_wfcq_node arrival; /* on its way into the queue */
        struct cds_list_head node;
    };
    struct vc__flow *flow;
    /* Header, with the length of the whole body; and its metadata, which go
     * with the first part. */
    struct vc__frame frame;
    uint64_t due;   /* CALL: when its deadline is, by vc__now() */
    bool fresh;     /* frame.deadline is right at this moment */
    bool of_reply;  /* of a server: its parts say so */
    bool wants_ack; /* done() when the peer has handled it */
    uint8_t place;  /* enum vc__send_place */
    bool is_huge;   /* one of its flow's n_huge */
    uint32_t round; /* of the link's rounds of sending: it came in */
    uint32_t stamp; /* when it came to its flow, the last time */
    /* Something of it has gone: the peer may see it. The last thing that the
     * link writes, unless there is a done(). */
    atomic_bool gone;
    uint32_t at;     /* bytes of the body that have gone */
    uint32_t take;   /* bytes in the packet that is being made */
    uint32_t packet; /* sequence of the packet with its last part */

    /* Where the body is. NULL: write() puts all of it to out, at once; only
     * for what is not long. */
    const uint8_t *body;
    void (*write)(struct vc__send *s, uint8_t *out);

    /* The link begins to have use for it, and has no more use: once each, in
     * pairs. done() runs on any thread, under the lock of the link, so that
     * who takes the message to another link knows it is over on this one; it
     * must not use the link. It is NULL when the owner may free it as soon as all has gone, without being
     * told: when a reply to it came, or after ops->down(). */
    void (*hold)(struct vc__send *s);
    void (*done)(struct vc__send *s, enum vc__send_end end);
};

/* Nothing of it is set, for its owner to begin with. Field by field: gcc clears
 * all of it by `rep stos`, which takes longer than packing a short message. */
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
    struct cds_list_head ring; /* of struct vc__flow, those that may send */
    uint32_t stamp;            /* of the last one that came */
};

void vc__schedule_init(struct vc__schedule *s);
void vc__flow_init(struct vc__flow *f, uint32_t weight);

static inline bool
vc__schedule_is_empty(struct vc__schedule *s)
{
    return cds_list_empty(&s->ring);
}

/* Behind the others of its flow. */
void vc__schedule_add(struct vc__schedule *s, struct vc__send *send);

/* Takes the next one out, with send->take set to the bytes of its frame in a
 * packet that has `room` left; NULL when there is none or it must wait for
 * another packet. */
struct vc__send *vc__schedule_take(struct vc__schedule *s, uint32_t room);

/* Takes this one out. */
void vc__schedule_remove(struct vc__send *send);

/* One of the flow's, NULL when there is none: to be taken out. */
struct vc__send *vc__flow_any(struct vc__flow *f);

/* Takes any out, NULL when there is none: the link is down. */
struct vc__send *vc__schedule_clear(struct vc__schedule *s);

/* Does a message go in parts? */
static inline bool
vc__body_is_long(size_t body_len, size_t metadata_len)
{
    return body_len + metadata_len > VC__EAGER_MAX;
}

static inline bool
vc__send_is_long(const struct vc__send *s)
{
    return vc__body_is_long(s->frame.body_len, s->frame.metadata_len);
}

#endif
