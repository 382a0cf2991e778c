/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/inproc/half.h. */
#include "transport/inproc/half.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/core/fence.h"

/* The most notes handled in one turn. */
#define BATCH 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
vc__inproc_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
vc__inproc_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* --- queues -------------------------------------------------------------- */

/* Returns a queue with one user, the context. NULL and errno on failure. Called
 * by vc__inproc_open(). */
static struct vc__inproc_queue *
queue_new(void)
{
    struct vc__inproc_queue *q = calloc(1, sizeof *q);

    if (q == NULL)
        return NULL;
    q->users = 1;
    __cds_wfcq_init(&q->head, &q->tail);
    q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (q->fd >= 0)
        return q;
    free(q);
    return NULL;
}

static void half_free(struct vc__inproc_half *half);

/* Called by half_put(), vc__inproc_bind(), open() and close(): one user less;
 * the last one frees the queue, and the halves that have waited for that. Under
 * the lock, but in vc__inproc_open(), when nobody else knows the queue. */
static void
inproc_queue_put(struct vc__inproc_queue *q)
{
    struct vc__inproc_half *half, *next;

    if (q == NULL || --q->users > 0)
        return;
    for (half = q->ended; half != NULL; half = next) {
        next = half->next_ended;
        half_free(half);
    }
    close(q->fd);
    free(q);
}

/* The fence pairs with the one in inproc_on_arm(): either the engine that is
 * about to sleep finds the note, or this thread sees that the engine sleeps. */
void
vc__inproc_wake(struct vc__inproc_queue *q)
{
    uint64_t one = 1;

    vc__fence();
    if (atomic_load(&q->armed) && atomic_exchange(&q->armed, false) &&
        write(q->fd, &one, sizeof one) < 0)
        return; /* the counter is full, and that wakes too */
}

/* Puts a note into the queue of the half that it is for. Any thread: under the
 * lock (vc__inproc_tell(), bye_handle()); a packet (vc__inproc_send()) under
 * the lock of the sender's link instead. */
static void
note_put(struct vc__inproc_note *note, uint32_t len)
{
    cds_wfcq_node_init(&note->node);
    /* Release: the receiver of the note sees what was written before. */
    atomic_store_explicit(&note->len, len, memory_order_release);
    cds_wfcq_enqueue(&note->to->queue->head, &note->to->queue->tail,
                     &note->node);
}

void
vc__inproc_send(struct vc__inproc_half *to, uint32_t len)
{
    note_put(&to->slots[to->next++ % to->n_slots].note, len);
}

/* --- halves -------------------------------------------------------------- */

/* Returns a half of no queue yet; NULL when out of memory. Called by
 * vc__inproc_pair(). */
static struct vc__inproc_half *
half_new(void)
{
    struct vc__inproc_half *half = calloc(1, sizeof *half);

    for (unsigned i = 0; half != NULL && i < VC__INPROC_KINDS; i++) {
        half->notes[i].to = half;
        half->notes[i].kind = (enum vc__inproc_kind)i;
    }
    return half;
}

/* Frees a half that both ends have left, with its slots. Under the lock. Called
 * by half_put(), and by inproc_queue_put() for halves that waited for the
 * queue's end. */
static void
half_free(struct vc__inproc_half *half)
{
    free(half->slots);
    free(half);
}

/* Frees the half, now or with its queue: both ends are over. Under the lock.
 * Called by vc__inproc_end() and bye_handle(). */
static void
half_put(struct vc__inproc_half *half)
{
    struct vc__inproc_queue *q = half->queue;

    if (q != NULL && q->closed) {
        half->next_ended = q->ended;
        q->ended = half;
    } else {
        half_free(half);
    }
    inproc_queue_put(q);
}

struct vc__inproc_half *
vc__inproc_pair(struct vc__inproc_context *c)
{
    struct vc__inproc_half *half = half_new();

    if (half == NULL)
        return NULL;
    half->peer = half_new();
    if (half->peer == NULL) {
        free(half);
        return NULL;
    }
    half->peer->peer = half;
    vc__inproc_lock();
    vc__inproc_bind(half, c->queue);
    vc__inproc_unlock();
    return half;
}

bool
vc__inproc_room(struct vc__inproc_half *half, uint32_t n)
{
    half->slots = calloc(n, sizeof *half->slots);
    if (half->slots == NULL)
        return false;
    half->n_slots = n;
    for (uint32_t i = 0; i < n; i++)
        half->slots[i].note.to = half;
    return true;
}

void
vc__inproc_bind(struct vc__inproc_half *half, struct vc__inproc_queue *queue)
{
    queue->users++;
    inproc_queue_put(half->queue);
    half->queue = queue;
}

void
vc__inproc_tell(struct vc__inproc_half *half, enum vc__inproc_kind kind,
                const void *said, size_t len)
{
    struct vc__inproc_half *peer = half->peer;

    if (len > 0)
        memcpy(peer->said, said, len);
    if (said != NULL)
        peer->said_len = (uint16_t)len;
    if (peer->queue->closed)
        return;
    note_put(&peer->notes[kind], 0);
    vc__inproc_wake(peer->queue);
}

/* From now on nothing is written into the peer's half. If nobody will handle
 * our BYE, it is handled here. */
void
vc__inproc_end(struct vc__inproc_half *half)
{
    struct vc__inproc_half *peer = half->peer;

    vc__inproc_lock();
    half->done = true;
    half->wire = NULL;
    if (!half->confirmed) {
        free(half->slots);
        half->slots = NULL;
    }
    if (peer->queue == NULL) { /* no hello was sent */
        half->over = true;
        half_put(peer);
    } else if (peer->queue->closed) {
        peer->over = true;
        if (peer->done)
            half_put(peer);
    } else {
        vc__inproc_tell(half, VC__INPROC_BYE, NULL, 0);
    }
    if (half->over)
        half_put(half);
    vc__inproc_unlock();
}

/* --- received notes ------------------------------------------------------ */

/* Handles the other end's last note. Returns the wire to notify. NULL: none, or
 * the half has moved to the queue of another engine since the note was sent;
 * the note is forwarded there. Called by note_handle(). */
static struct vc__inproc_wire *
bye_handle(const struct vc__inproc_queue *q, struct vc__inproc_note *note)
{
    struct vc__inproc_half *half = note->to;
    struct vc__inproc_wire *wire = NULL;

    vc__inproc_lock();
    if (half->queue != q) {
        note_put(note, 0);
        vc__inproc_wake(half->queue);
    } else {
        wire = half->wire;
        half->over = true;
        if (half->done)
            half_put(half);
    }
    vc__inproc_unlock();
    return wire;
}

/* Handles a note: passes a packet, a request or what the peer's end says to the
 * callbacks of vc__inproc_ops, if this end is not over. Called by
 * inproc_on_poll(), on the holder of the queue's engine, or by
 * vc__inproc_close(). */
static void
note_handle(struct vc__inproc_context *c, struct vc__inproc_note *note)
{
    /* Acquire: pairs with note_put(). */
    uint32_t len = atomic_load_explicit(&note->len, memory_order_acquire);
    struct vc__inproc_half *half = note->to;
    struct vc__inproc_wire *wire;

    switch (note->kind) {
    case VC__INPROC_PACKET:
        if (half->wire != NULL)
            vc__inproc_ops.packet(
                half->wire,
                caa_container_of(note, struct vc__inproc_slot, note)->data,
                len);
        return;
    case VC__INPROC_REQUEST:
        vc__inproc_ops.request(&c->context, half);
        return;
    case VC__INPROC_BYE:
        wire = bye_handle(c->queue, note);
        if (wire != NULL)
            vc__inproc_ops.note(wire, VC__INPROC_LEAVE);
        return;
    default:
        if (half->wire != NULL)
            vc__inproc_ops.note(half->wire, note->kind);
        return;
    }
}

/* Takes the next note out of the queue, and returns it. NULL if there is none,
 * or one is being added just now; its sender will wake us. Called by
 * inproc_on_poll(). */
static struct vc__inproc_note *
note_take(struct vc__inproc_queue *q)
{
    struct cds_wfcq_node *node =
        __cds_wfcq_dequeue_nonblocking(&q->head, &q->tail);

    if (node == NULL || node == CDS_WFCQ_WOULDBLOCK)
        return NULL;
    return caa_container_of(node, struct vc__inproc_note, node);
}

/* poll() of the context's source: called on the holder, in each turn of the
 * engine. Handles up to BATCH notes; returns how many. */
static unsigned
inproc_on_poll(struct vc__source *s)
{
    struct vc__inproc_context *c =
        caa_container_of(s, struct vc__inproc_context, source);
    struct vc__inproc_note *note;
    unsigned n = 0;

    while (n < BATCH && (note = note_take(c->queue)) != NULL) {
        note_handle(c, note);
        n++;
    }
    return n;
}

/* arm() of the context's source. Called on the holder before the engine sleeps,
 * or is left to the program's loop: the next note must signal the
 * descriptor. */
static void
inproc_on_arm(struct vc__source *s)
{
    struct vc__inproc_context *c =
        caa_container_of(s, struct vc__inproc_context, source);

    atomic_store(&c->queue->armed, true);
    /* Before the engine looks at the queue for the last time, which is without
     * a barrier. */
    vc__fence();
}

/* ready() of the context's source, on the holder: woken by a note. The first
 * time, the holder starts to poll the queue in each turn. */
static void
inproc_on_ready(struct vc__source *s)
{
    struct vc__inproc_context *c =
        caa_container_of(s, struct vc__inproc_context, source);
    uint64_t count;

    if (read(s->fd, &count, sizeof count) < 0)
        return; /* another read has reset the counter */
    if (s->poll == NULL)
        vc__engine_poll_source(c->context.engine, s, inproc_on_poll,
                               inproc_on_arm);
}

/* --- the context --------------------------------------------------------- */

/* The engine begins to use inproc: makes its queue, and has epoll report it. */
enum vc_status
vc__inproc_open(struct vc__context *context,
                const struct vc__context_opts *opts)
{
    struct vc__inproc_context *c = vc__inproc_context_of(context);
    int err;

    c->memory = opts->memory;
    c->queue = queue_new();
    if (c->queue == NULL)
        return vc__fail_errno(errno, "cannot make a queue");
    atomic_init(&c->queue->armed, true);
    c->source.fd = c->queue->fd;
    c->source.ready = inproc_on_ready;
    err = vc__engine_add(context->engine, &c->source);
    if (err == 0)
        return VC_OK;
    inproc_queue_put(c->queue);
    return vc__fail_errno(err, "cannot watch a queue");
}

/* The notes left are for ends that are over, or requests whose listener is
 * closed: only a BYE and a REQUEST matter, which free halves. Other threads may
 * be adding packets; the dequeue waits for them, as a BYE may follow them. */
void
vc__inproc_close(struct vc__context *context)
{
    struct vc__inproc_context *c = vc__inproc_context_of(context);
    struct vc__inproc_queue *q = c->queue;
    struct cds_wfcq_node *node;

    vc__engine_remove(context->engine, &c->source);
    vc__inproc_lock();
    q->closed = true;
    vc__inproc_unlock();
    while ((node = __cds_wfcq_dequeue_blocking(&q->head, &q->tail)) != NULL)
        note_handle(c, caa_container_of(node, struct vc__inproc_note, node));
    vc__inproc_lock();
    inproc_queue_put(q);
    vc__inproc_unlock();
}
