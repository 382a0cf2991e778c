/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Work requests in queues, and shared receive queues. Static functions run on
 * the thread of their caller: one thread of the world runs at a time
 * (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

/* --- work requests ----------------------------------------------------- */

/* Called by fake__wqe_new(). */
static struct fake__wqe *
wqe_take(struct fake__device *d)
{
    struct fake__wqe *w = d->spare, keep;

    if (w == NULL)
        return fake__alloc(sizeof *w);
    d->spare = w->next;
    keep = *w;
    memset(w, 0, sizeof *w);
    w->sge = keep.sge;
    w->sge_size = keep.sge_size;
    w->data = keep.data;
    w->data_size = keep.data_size;
    return w;
}

/* Called by send_new() and recv_post() (qp_post.c) and
 * fake__post_srq_recv(). */
struct fake__wqe *
fake__wqe_new(struct fake__device *d, uint64_t wr_id, const struct ibv_sge *sge,
              int n)
{
    struct fake__wqe *w = wqe_take(d);

    w->wr_id = wr_id;
    w->n_sge = (unsigned)n;
    if (w->sge_size < w->n_sge) {
        w->sge = fake__alloc(w->n_sge * sizeof *sge);
        w->sge_size = w->n_sge;
    }
    for (unsigned i = 0; i < w->n_sge; i++) {
        w->sge[i] = sge[i];
        w->length += sge[i].length;
    }
    return w;
}

/* Called in qp.c and this file. */
void
fake__wqe_free(struct fake__device *d, struct fake__wqe *w)
{
    w->next = d->spare;
    d->spare = w;
}

/* Called by send_post() and recv_post() (qp_post.c) and
 * fake__post_srq_recv(). */
void
fake__queue_push(struct fake__queue *q, struct fake__wqe *w)
{
    w->next = NULL;
    if (q->head == NULL)
        q->head = w;
    else
        q->tail->next = w;
    q->tail = w;
    q->n++;
}

/* Called in qp.c, qp_respond.c, qp_wire.c and this file. */
struct fake__wqe *
fake__queue_pop(struct fake__queue *q)
{
    struct fake__wqe *w = q->head;

    if (w == NULL)
        return NULL;
    q->head = w->next;
    q->n--;
    return w;
}

/* --- shared receive queues --------------------------------------------- */

struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    FAKE_CALL("ibv_create_srq");
    struct fake__pd *p = fake__pd_of(pd);
    int err = call.err != 0 ? call.err : fake__context_err(p->obj.context);
    struct fake__srq_handle *h;

    if (err == 0 &&
        (init->attr.max_wr == 0 || init->attr.max_wr > FAKE__MAX_WR ||
         init->attr.max_sge > 27))
        err = EINVAL;
    if (err != 0) {
        errno = err;
        return NULL;
    }
    h = fake__handle_new(sizeof *h);
    h->srq = fake__alloc(sizeof *h->srq);
    h->srq->pd = p;
    p->obj.users++;
    h->srq->cap = fake__queue_size(init->attr.max_wr);
    h->srq->max_sge = init->attr.max_sge;
    init->attr.max_wr = h->srq->cap;
    h->pub.context = pd->context;
    h->pub.srq_context = init->srq_context;
    h->pub.pd = pd;
    fake__object_init(&h->srq->obj, FAKE__SRQ, p->obj.context, h);
    return &h->pub;
}

/* Called by ibv_modify_srq(). */
static int
check_modify(const struct fake__srq *s, const struct ibv_srq_attr *attr,
             int mask)
{
    if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
        return EINVAL;
    if ((mask & IBV_SRQ_MAX_WR) &&
        (attr->max_wr == 0 || attr->max_wr > FAKE__MAX_WR ||
         attr->max_wr < s->queue.n))
        return EINVAL;
    if ((mask & IBV_SRQ_LIMIT) && !fake__rxe() && attr->srq_limit > s->cap)
        return EINVAL;
    return fake__context_err(s->obj.context);
}

int
ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    FAKE_CALL("ibv_modify_srq");
    struct fake__srq *s = fake__srq_of(srq);
    int err = call.err != 0 ? call.err : check_modify(s, attr, mask);

    if (err != 0)
        return err;
    if (mask & IBV_SRQ_MAX_WR)
        s->cap = fake__queue_size(attr->max_wr);
    if (mask & IBV_SRQ_LIMIT)
        s->limit = attr->srq_limit;
    return 0;
}

int
ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    FAKE_CALL("ibv_query_srq");
    const struct fake__srq *s = fake__srq_of(srq);

    if (call.err != 0)
        return call.err;
    *attr = (struct ibv_srq_attr){
        .max_wr = s->cap, .max_sge = s->max_sge, .srq_limit = s->limit};
    return 0;
}

int
ibv_destroy_srq(struct ibv_srq *srq)
{
    FAKE_CALL_SAFE("ibv_destroy_srq");
    struct fake__srq *s = fake__srq_of(srq);
    struct fake__wqe *w;

    if (s->obj.users > 0)
        return EBUSY;
    s->obj.dead = true;
    while ((w = fake__queue_pop(&s->queue)) != NULL)
        fake__wqe_free(s->obj.context->device, w);
    fake__async_settle(&s->obj);
    s->pd->obj.users--;
    fake__object_free(&s->obj);
    return 0;
}

/* Called by receive_take() (qp_respond.c). */
struct fake__wqe *
fake__srq_take(struct fake__srq *srq)
{
    struct fake__wqe *w = fake__queue_pop(&srq->queue);

    if (w != NULL && srq->queue.n < srq->limit) {
        srq->limit = 0;
        fake__async(&srq->obj, IBV_EVENT_SRQ_LIMIT_REACHED);
    }
    return w;
}

/* ops.post_srq_recv of each context (verbs.c): ibv_post_srq_recv() of the
 * program calls it. */
int
fake__post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                    struct ibv_recv_wr **bad)
{
    FAKE_CALL("ibv_post_srq_recv");
    struct fake__srq *s = fake__srq_of(srq);
    int err = call.err;

    fake__release(s);
    for (; err == 0 && wr != NULL; wr = wr->next) {
        if (wr->num_sge < 0 || (unsigned)wr->num_sge > s->max_sge)
            err = EINVAL;
        else if (s->queue.n >= s->cap)
            err = ENOMEM;
        if (err != 0)
            break;
        fake__queue_push(&s->queue,
                         fake__wqe_new(s->obj.context->device, wr->wr_id,
                                       wr->sg_list, wr->num_sge));
    }
    if (err != 0)
        *bad = wr;
    return err;
}
