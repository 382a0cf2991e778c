/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Completion queues and their channels. Static functions run on the thread of
 * their caller: one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

/* --- channels ---------------------------------------------------------- */

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
    FAKE_CALL("ibv_create_comp_channel");
    struct fake__context *c = fake__context_of(context);
    int err = call.err != 0 ? call.err : fake__context_err(c);
    struct fake__channel_handle *h;

    if (err != 0) {
        errno = err;
        return NULL;
    }
    h = fake__handle_new(sizeof *h);
    h->channel = fake__alloc(sizeof *h->channel);
    h->channel->fd = fake__fd_new(c->process);
    h->pub.context = context;
    h->pub.fd = h->channel->fd;
    fake__object_init(&h->channel->obj, FAKE__CHANNEL, c, h);
    return &h->pub;
}

/* Called by ibv_destroy_comp_channel(), ibv_get_cq_event() and cq_new(). */
static struct fake__channel *
channel_of(struct ibv_comp_channel *channel)
{
    return ((struct fake__channel_handle *)channel)->channel;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    FAKE_CALL_SAFE("ibv_destroy_comp_channel");
    struct fake__channel *ch = channel_of(channel);

    if (ch->obj.users > 0)
        return EBUSY;
    fake__fd_close(ch->fd);
    fake__object_free(&ch->obj);
    return 0;
}

/* Called by channel_event() and channel_take(). */
static void
channel_append(struct fake__channel *ch, struct fake__cq *cq)
{
    cq->next = NULL;
    if (ch->first == NULL)
        ch->first = cq;
    else
        ch->last->next = cq;
    ch->last = cq;
}

/* Called by channel_take() and fake__cq_die(). */
static void
channel_remove(struct fake__channel *ch, struct fake__cq *cq)
{
    struct fake__cq **at = &ch->first, *before = NULL;

    while (*at != NULL && *at != cq) {
        before = *at;
        at = &before->next;
    }
    if (*at == NULL)
        return;
    *at = cq->next;
    if (ch->last == cq)
        ch->last = before;
    cq->next = NULL;
}

/* Called by channel_event(), channel_take() and fake__cq_die(). */
static void
channel_ready(struct fake__channel *ch)
{
    if (!ch->obj.dead)
        fake__fd_ready(ch->fd, ch->first != NULL);
}

/* The CQ is in the channel's queue once, with any number of events. Called by
 * notify(). */
static void
channel_event(struct fake__cq *cq)
{
    if (cq->channel == NULL)
        return;
    if (cq->comp_pending++ == 0)
        channel_append(cq->channel, cq);
    channel_ready(cq->channel);
}

/* Called by ibv_get_cq_event(). */
static struct fake__cq *
channel_take(struct fake__channel *ch)
{
    struct fake__cq *cq = ch->first;

    channel_remove(ch, cq);
    if (--cq->comp_pending > 0)
        channel_append(ch, cq);
    cq->comp_got++;
    channel_ready(ch);
    return cq;
}

int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
                 void **cq_context)
{
    FAKE_CALL("ibv_get_cq_event");
    struct fake__channel *ch = channel_of(channel);
    struct fake__cq *c;

    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    do {
        if (!fake__fd_await(ch->fd))
            return -1;
    } while (ch->first == NULL);
    c = channel_take(ch);
    fake__acquire(c);
    *cq = c->obj.handle;
    *cq_context = (*cq)->cq_context;
    return 0;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
    FAKE_CALL_SAFE("ibv_ack_cq_events");
    struct fake__cq *c = fake__cq_of(cq);

    c->comp_acked += nevents;
    fake__wake(&c->obj);
}

/* --- adding completions ------------------------------------------------ */

/* Grows the ring as needed: queues of 32767 stay mostly empty. Called by
 * add(). */
static void
ring_grow(struct fake__cq *cq)
{
    unsigned size = cq->ring_size == 0 ? 32 : cq->ring_size * 2;
    struct fake__cqe *ring;

    if (cq->n < cq->ring_size)
        return;
    ring = fake__alloc(size * sizeof *ring);
    for (unsigned i = 0; i < cq->n; i++)
        ring[i] = cq->ring[(cq->head + i) % cq->ring_size];
    cq->ring = ring;
    cq->ring_size = size;
    cq->head = 0;
}

/* Called by add(). */
static void
overrun(struct fake__cq *cq)
{
    struct fake__device *d = cq->obj.context->device;

    if (cq->overrun)
        return;
    cq->overrun = true;
    fake__async(&cq->obj, IBV_EVENT_CQ_ERR);
    if (fake__rxe())
        return;
    for (unsigned i = 0; i < d->n_qps; i++) {
        if (d->qps[i]->send_cq == cq || d->qps[i]->recv_cq == cq)
            fake__qp_error(d->qps[i]);
    }
}

/* Called by add(). */
static void
notify(struct fake__cq *cq, const struct fake__cqe *e)
{
    bool solicited = e->solicited;

    if (e->wc.status != IBV_WC_SUCCESS && !(fake__rxe() && e->send))
        solicited = true;
    if (cq->armed == FAKE__ARMED ||
        (cq->armed == FAKE__SOLICITED && solicited)) {
        cq->armed = FAKE__UNARMED;
        channel_event(cq);
    }
}

/* True if the completion must be dropped. A real adapter's library removes the
 * completions of a QP that is destroyed or reset; Soft-RoCE's leaves them.
 * Called by add(). */
static bool
stale(const struct fake__cqe *e)
{
    return !fake__rxe() && (e->qp->obj.dead || e->qp->resets != e->reset);
}

/* Called by add_late() and add_later(). */
static void
add(struct fake__cq *cq, const struct fake__cqe *e)
{
    if (cq->obj.dead || stale(e))
        return;
    if (cq->n == cq->cap) {
        overrun(cq);
        return;
    }
    ring_grow(cq);
    cq->ring[(cq->head + cq->n++) % cq->ring_size] = *e;
    notify(cq, e);
}

struct late {
    struct fake__cq *cq;
    struct fake__cqe e;
};

/* fake__after() runs it later for add_later(), on any thread. */
static void
add_late(void *obj, uint64_t n)
{
    const struct late *l = obj;

    (void)n;
    add(l->cq, &l->e);
}

/* Adds a delayed completion. Later completions of the same queue of the QP come
 * no earlier. Called by fake__cq_complete(). */
static void
add_later(struct fake__cq *cq, const struct fake__cqe *e, uint64_t delay)
{
    uint64_t now = fake__world.now, at = now + delay;
    struct late *l;

    if (at < e->qp->held[e->send])
        at = e->qp->held[e->send];
    if (at == now) {
        add(cq, e);
        return;
    }
    e->qp->held[e->send] = at;
    l = fake__alloc(sizeof *l);
    l->cq = cq;
    l->e = *e;
    fake__after(at - now, add_late, l, 0);
}

/* Called by fake__qp_sent() and fake__qp_received() (qp.c). */
void
fake__cq_complete(struct fake__cq *cq, const struct fake__cqe *e)
{
    struct fake__fate fate;

    if (cq->obj.dead)
        return;
    fate = fake__note("%s qp %u: completion %s %s",
                      e->qp->obj.context->process->name, e->qp->number, e->op,
                      fake__status_name(e->wc.status));
    if (!fate.drop && !fate.lose)
        add_later(cq, e, fate.delay);
    if (fate.flush)
        fake__qp_error(e->qp);
}

/* Called by qp_reset() and fake__qp_die() (qp.c). */
void
fake__cq_forget(struct fake__cq *cq, const struct fake__qp *qp)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < cq->n; i++) {
        struct fake__cqe *e = &cq->ring[(cq->head + i) % cq->ring_size];

        if (e->qp != qp)
            cq->ring[(cq->head + kept++) % cq->ring_size] = *e;
    }
    cq->n = kept;
}

/* --- polling ----------------------------------------------------------- */

/* Called by fake__poll_cq(). */
static void
take(struct fake__cq *cq, struct ibv_wc *wc)
{
    const struct fake__cqe *e = &cq->ring[cq->head];

    *wc = e->wc;
    if (e->send && e->reset == e->qp->resets && e->seq >= e->qp->retired)
        e->qp->retired = e->seq + 1;
    if (!e->send && e->qp->srq != NULL)
        fake__acquire(e->qp->srq);
    cq->head = (cq->head + 1) % cq->ring_size;
    cq->n--;
}

/* ops.poll_cq of each context (verbs.c): ibv_poll_cq() of the program calls
 * it. */
int
fake__poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    FAKE_CALL_SAFE("ibv_poll_cq");
    struct fake__cq *c = fake__cq_of(cq);
    int got = 0;

    while (got < n && c->n > 0)
        take(c, &wc[got++]);
    if (got == 0)
        fake__idle();
    else
        fake__acquire(c);
    return got;
}

/* ops.req_notify_cq of each context (verbs.c): ibv_req_notify_cq() of the
 * program calls it. */
int
fake__req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    FAKE_CALL_SAFE("ibv_req_notify_cq");
    struct fake__cq *c = fake__cq_of(cq);

    if (!solicited_only)
        c->armed = FAKE__ARMED;
    else if (c->armed == FAKE__UNARMED)
        c->armed = FAKE__SOLICITED;
    return 0;
}

/* --- creation and destruction ------------------------------------------ */

/* Called by ibv_create_cq(). */
static struct ibv_cq *
cq_new(struct ibv_context *context, int cqe, void *cq_context,
       struct ibv_comp_channel *channel)
{
    struct fake__cq_handle *h = fake__handle_new(sizeof *h);
    struct fake__cq *cq = fake__alloc(sizeof *cq);

    cq->cap = fake__queue_size((unsigned)cqe);
    if (channel != NULL) {
        cq->channel = channel_of(channel);
        cq->channel->obj.users++;
        channel->refcnt++;
    }
    h->cq = cq;
    h->pub.context = context;
    h->pub.channel = channel;
    h->pub.cq_context = cq_context;
    h->pub.cqe = (int)cq->cap;
    fake__object_init(&cq->obj, FAKE__CQ, fake__context_of(context), h);
    return &h->pub;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
              struct ibv_comp_channel *channel, int comp_vector)
{
    FAKE_CALL("ibv_create_cq");
    int err = call.err;

    if (err == 0)
        err = fake__context_err(fake__context_of(context));
    if (err == 0 && (cqe < 1 || cqe > FAKE__MAX_CQE || comp_vector < 0 ||
                     comp_vector >= context->num_comp_vectors ||
                     (channel != NULL && channel->context != context)))
        err = EINVAL;
    if (err != 0) {
        errno = err;
        return NULL;
    }
    return cq_new(context, cqe, cq_context, channel);
}

int
ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    FAKE_CALL("ibv_resize_cq");
    struct fake__cq *c = fake__cq_of(cq);
    int err = call.err != 0 ? call.err : fake__context_err(c->obj.context);

    if (err == 0 && (cqe < 1 || cqe > FAKE__MAX_CQE || (unsigned)cqe < c->n))
        err = EINVAL;
    if (err != 0)
        return err;
    c->cap = fake__queue_size((unsigned)cqe);
    cq->cqe = (int)c->cap;
    return 0;
}

/* Called by ibv_destroy_cq() and object_die() (verbs.c). */
void
fake__cq_die(struct fake__cq *cq)
{
    cq->obj.dead = true;
    cq->n = 0;
    if (cq->channel == NULL)
        return;
    channel_remove(cq->channel, cq);
    channel_ready(cq->channel);
    cq->comp_pending = 0;
}

int
ibv_destroy_cq(struct ibv_cq *cq)
{
    FAKE_CALL_SAFE("ibv_destroy_cq");
    struct fake__cq *c = fake__cq_of(cq);

    if (c->obj.users > 0)
        return EBUSY;
    fake__cq_die(c);
    fake__async_settle(&c->obj);
    while (c->comp_acked < c->comp_got)
        fake__block(&c->obj, FAKE__FOREVER);
    if (c->channel != NULL) {
        c->channel->obj.users--;
        cq->channel->refcnt--;
    }
    fake__object_free(&c->obj);
    return 0;
}
