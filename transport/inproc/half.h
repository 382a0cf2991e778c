/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The two halves of a connection within one process, and the queues by which
 * they reach each other's engines.
 *
 * A half is the receive room of one end. The other end writes what it sends
 * into this room, and puts a note of it into the queue of the first end's
 * engine. So nobody copies a packet, and sending takes no lock besides that of
 * the sender's link. A half is freed when its own end is over and the other
 * end's last note has been handled; its slots are freed with its own end if the
 * other end was never allowed to write.
 * These changes happen under one lock of the process, so all threads see them
 * in one order: connections are made and ended seldom.
 *
 * A queue outlives its engine while anybody may put notes into it. Nobody takes
 * those notes out, so halves that are over stay as long as the queue: the
 * queue's notes are members of them.
 *
 * The holder of an engine calls these functions: vc__inproc_pair(),
 * vc__inproc_room() and vc__inproc_end() without the lock, vc__inproc_bind()
 * and vc__inproc_tell() under it. When the runtime is freed, notes that are
 * left are handled within vc__inproc_close(). Any thread may call
 * vc__inproc_lock(), vc__inproc_unlock(), vc__inproc_wake(), and, under the
 * lock of the sender's link, vc__inproc_send().
 *
 * Called by: half.c (inproc_context_of, inproc_lock, inproc_unlock,
 * inproc_tell, inproc_bind, inproc_wake), wire.c (all), ear.c (inproc_lock,
 * inproc_unlock, inproc_tell, inproc_end). */
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

/* The queue of all notes for the halves of one engine. */
struct vc__inproc_queue {
    struct cds_wfcq_tail tail;
    struct __cds_wfcq_head head;   /* the holder's */
    int fd;                        /* eventfd */
    atomic_bool armed;             /* the next note must signal fd */
    unsigned users;                /* lock: halves not over, and the context */
    bool closed;                   /* lock: its engine takes no more notes */
    struct vc__inproc_half *ended; /* lock: halves to be freed with the queue */
};

enum vc__inproc_kind {
    VC__INPROC_PACKET,
    VC__INPROC_REQUEST, /* a hello, for the listener */
    VC__INPROC_ANSWER,  /* an accept */
    VC__INPROC_REFUSAL, /* a reject; empty: nobody listens */
    VC__INPROC_CONFIRM,
    VC__INPROC_LEAVE,
    VC__INPROC_BYE, /* the last note of an end */
    VC__INPROC_KINDS
};

struct vc__inproc_note {
    struct cds_wfcq_node node;
    struct vc__inproc_half *to;
    enum vc__inproc_kind kind;
    atomic_uint len; /* bytes of a packet; written last */
};

struct vc__inproc_slot {
    struct vc__inproc_note note;
    uint8_t data[VC__PACKET_MAX];
};

struct vc__inproc_half {
    struct vc__inproc_half *peer;
    struct vc__inproc_queue *queue; /* lock, until connected */
    struct vc__inproc_wire *wire;   /* the holder's */
    struct vc__inproc_ear *ear;     /* lock: the listener asked; or NULL */
    struct cds_list_head asks;      /* lock: in ear->asking */
    struct vc__inproc_slot *slots;
    uint32_t n_slots;
    uint32_t next; /* slot of the next packet; the sender's */
    struct vc__inproc_note notes[VC__INPROC_KINDS];
    uint16_t said_len; /* for REQUEST, ANSWER and REFUSAL */
    uint8_t said[256];
    bool confirmed; /* lock: both ends may have written packets */
    bool done;      /* lock: its own end is over */
    bool over;      /* lock: the other end's BYE was handled */
    struct vc__inproc_half *next_ended; /* lock */
};

/* Callbacks, in wire.c and ear.c; called by half.c on the holder of the queue's
 * engine. The request may also be called within vc__inproc_close(). */
struct vc__inproc_ops {
    void (*packet)(struct vc__inproc_wire *w, const uint8_t *data,
                   uint32_t len);
    /* ANSWER, REFUSAL, CONFIRM or LEAVE; LEAVE also stands for a BYE. */
    void (*note)(struct vc__inproc_wire *w, enum vc__inproc_kind kind);
    /* A REQUEST. The receiver owns the half from now on: it accepts or ends
     * it. */
    void (*request)(struct vc__context *c, struct vc__inproc_half *half);
};

struct vc__inproc_context {
    struct vc__context context;
    size_t memory, used; /* bytes of slots: limit; in use */
    struct vc__source source;
    struct vc__inproc_queue *queue;
};

/* The context of inproc that has this head. Called by open() and close() of the
 * table, and by wire.c on the holder. */
static inline struct vc__inproc_context *
vc__inproc_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__inproc_context, context);
}

/* The lock of the process; also for the list of listeners. Taken while ends
 * connect, listen and end, by wire.c, ear.c and half.c itself. */
void vc__inproc_lock(void);
void vc__inproc_unlock(void);

/* Entries of the table, called by cm/connect/cm.c: open under its lock, on any
 * thread, when the engine first uses inproc; close by vc_runtime_free(), on its
 * thread, when no thread advances the engine any more. Open returns VC_OK, or
 * the status of an errno, with the thread's error set. */
enum vc_status vc__inproc_open(struct vc__context *c,
                               const struct vc__context_opts *opts);
void vc__inproc_close(struct vc__context *c);

/* Called by the wire's dial(). Creates two halves, each the peer of the other.
 * Returns the first, which belongs to this context, and is the wire's until
 * vc__inproc_end(). The other belongs to no context yet. NULL when out of
 * memory. */
struct vc__inproc_half *vc__inproc_pair(struct vc__inproc_context *c);

/* Called by the wire's prepare(). Allocates room for n packets to this half.
 * False when out of memory. */
bool vc__inproc_room(struct vc__inproc_half *half, uint32_t n);

/* Sends a note to the peer of this half, with `said` unless it is NULL; no note
 * if the peer's queue is closed. Under the lock. Called by hello(), accept(),
 * confirm() and leave() of the wire, by unlisten() and reject(), and by
 * vc__inproc_end(). */
void vc__inproc_tell(struct vc__inproc_half *half, enum vc__inproc_kind kind,
                     const void *said, size_t len);

/* Moves the half to this queue: its notes go there from now on. Under the lock.
 * Called by vc__inproc_pair() for the half that it returns, and by the wire's
 * hello() and accept(). */
void vc__inproc_bind(struct vc__inproc_half *half,
                     struct vc__inproc_queue *queue);

/* Ends the half's own end and notifies the peer (BYE). May free the half.
 * Called when a wire is freed, when a request is rejected, and when it comes
 * after its listener was closed. */
void vc__inproc_end(struct vc__inproc_half *half);

/* Sends the packet of len bytes in the next slot of `to`. Under the lock of the
 * sender's link; called by the wire's commit(). */
void vc__inproc_send(struct vc__inproc_half *to, uint32_t len);

/* Wakes the engine of this queue if it sleeps. Called by the wire's flush(),
 * under the lock of its link, and in half.c after a note that is no packet. */
void vc__inproc_wake(struct vc__inproc_queue *queue);

extern const struct vc__inproc_ops vc__inproc_ops;

#endif
