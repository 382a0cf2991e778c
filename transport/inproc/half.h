/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The two halves of a connection within one process, and the queues by which
 * they reach each other's engines.
 *
 * A half is the room of one end: what is sent to that end is written into it,
 * by the other end, and put into the queue of the engine that the end is on. So
 * a packet is copied by nobody, and takes no lock. It stays until its own end
 * is over and the other end's last note has been handled; its room goes with
 * its own end if nobody was ever going to write there. Who says that is in one
 * order for everybody, under one lock of the process: connections are made and
 * ended seldom.
 *
 * A queue outlives its engine while there is somebody who may put notes into
 * it. Nobody takes them out then, so halves that are over stay as long, too:
 * the notes that the queue is made of are in them. */
#ifndef VC_TRANSPORT_INPROC_HALF_H
#define VC_TRANSPORT_INPROC_HALF_H

#include <stdatomic.h>

#include <urcu/wfcqueue.h>

#include "transport/core/engine.h"
#include "transport/transport.h"
#include "transport/wire/packet.h"

struct vc__inproc_ear;
struct vc__inproc_half;
struct vc__inproc_wire;

/* Where what comes for the halves of one engine is found. */
struct vc__inproc_queue {
    struct cds_wfcq_tail tail;
    struct __cds_wfcq_head head;   /* the holder's */
    int fd;                        /* eventfd */
    atomic_bool armed;             /* fd is to tell */
    unsigned users;                /* lock: halves that are not over, context */
    bool closed;                   /* lock: its engine looks no more */
    struct vc__inproc_half *ended; /* lock: halves that stay as long as it */
};

enum vc__inproc_kind {
    VC__INPROC_PACKET,
    VC__INPROC_REQUEST, /* a hello, to who listens */
    VC__INPROC_ANSWER,  /* an accept */
    VC__INPROC_REFUSAL, /* a reject, or of nobody */
    VC__INPROC_CONFIRM,
    VC__INPROC_LEAVE,
    VC__INPROC_BYE, /* nothing follows any more */
    VC__INPROC_KINDS
};

struct vc__inproc_note {
    struct cds_wfcq_node node;
    struct vc__inproc_half *to;
    enum vc__inproc_kind kind;
    atomic_uint len; /* of a packet; written last */
};

struct vc__inproc_slot {
    struct vc__inproc_note note;
    uint8_t data[VC__PACKET_MAX];
};

struct vc__inproc_half {
    struct vc__inproc_half *peer;
    struct vc__inproc_queue *queue; /* lock, until it is connected */
    struct vc__inproc_wire *wire;   /* the holder's */
    struct vc__inproc_ear *ear;     /* lock: who is asked; NULL: answered */
    struct cds_list_head asks;      /* lock: in ear->asking */
    struct vc__inproc_slot *slots;
    uint32_t n_slots;
    uint32_t next; /* the slot of the next packet; the other end's */
    struct vc__inproc_note notes[VC__INPROC_KINDS];
    uint16_t said_len; /* with REQUEST, ANSWER and REFUSAL */
    uint8_t said[256];
    bool confirmed; /* lock: packets may have been written, here and there */
    bool done;      /* lock: its own end is over */
    bool over;      /* lock: the other end's BYE was handled */
    struct vc__inproc_half *next_ended; /* lock */
};

/* What comes up, on the holder of the queue's engine. */
struct vc__inproc_ops {
    void (*packet)(struct vc__inproc_wire *w, const uint8_t *data,
                   uint32_t len);
    /* ANSWER, REFUSAL, CONFIRM; LEAVE also stands for a BYE without it. */
    void (*note)(struct vc__inproc_wire *w, enum vc__inproc_kind kind);
    /* A REQUEST. The half is the receiver's to accept, or to end. */
    void (*request)(struct vc__context *c, struct vc__inproc_half *half);
};

struct vc__inproc_context {
    struct vc__context context;
    size_t memory, used; /* bytes of slots that there may be, and are */
    struct vc__source source;
    struct vc__inproc_queue *queue;
};

static inline struct vc__inproc_context *
vc__inproc_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__inproc_context, context);
}

/* The lock of the process, for the names that are listened at, too. */
void vc__inproc_lock(void);
void vc__inproc_unlock(void);

/* See transport/transport.h. */
enum vc_status vc__inproc_open(struct vc__context *c,
                               const struct vc__context_opts *opts);
void vc__inproc_close(struct vc__context *c);

/* Two halves; the first is of this context, the other of none yet. NULL without
 * memory. */
struct vc__inproc_half *vc__inproc_pair(struct vc__inproc_context *c);

/* Room for n packets to this half. False without memory. */
bool vc__inproc_room(struct vc__inproc_half *half, uint32_t n);

/* To the peer of this half. Under the lock. */
void vc__inproc_tell(struct vc__inproc_half *half, enum vc__inproc_kind kind,
                     const void *said, size_t len);

/* Its notes come into this queue from now on. Under the lock. */
void vc__inproc_bind(struct vc__inproc_half *half,
                     struct vc__inproc_queue *queue);

/* Its end is over; it may be freed here. The peer is told so. */
void vc__inproc_end(struct vc__inproc_half *half);

/* The packet of len bytes that is in the next slot of `to`. Under the lock of
 * the other end's link. */
void vc__inproc_send(struct vc__inproc_half *to, uint32_t len);

/* Has the other end's engine look. */
void vc__inproc_wake(struct vc__inproc_queue *queue);

extern const struct vc__inproc_ops vc__inproc_ops;

#endif
