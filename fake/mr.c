/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Keys: memory regions and windows, and what they allow. A strict adapter has
 * different rkeys and lkeys for the same memory. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

#define REMOTE                                                                 \
    (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                        \
     IBV_ACCESS_REMOTE_ATOMIC)
#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

struct mr_handle {
    struct ibv_mr pub;
    struct fake__key *key;
};

struct mw_handle {
    struct ibv_mw pub;
    struct fake__key *key;
};

/* Called by fake__dealloc_mw() and bind_copy() (qp_post.c). */
struct fake__key *
fake__mw_key(struct ibv_mw *mw)
{
    return ((struct mw_handle *)mw)->key;
}

/* --- keys by number ---------------------------------------------------- */

/* Called by fake__alloc_mw() and region_new(). */
static struct fake__key *
key_new(struct fake__pd *pd, enum fake__kind kind, void *handle)
{
    struct fake__device *d = pd->obj.context->device;
    struct fake__key *key = fake__alloc(sizeof *key);

    d->keys = fake__table_grow(d->keys, d->n_keys, &d->keys_size);
    d->keys[d->n_keys++] = key;
    key->pd = pd;
    pd->obj.users++;
    key->lkey = d->n_keys << 8 | (uint32_t)fake__random(256);
    key->rkey = fake__rxe() ? key->lkey : key->lkey ^ 0x80;
    fake__object_init(&key->obj, kind, pd->obj.context, handle);
    return key;
}

/* Called by local_piece(), fake__remote_piece(), fake__key_invalidate() and
 * fake__window_bind(). */
static struct fake__key *
key_find(struct fake__device *d, uint32_t number)
{
    uint32_t i = number >> 8;
    struct fake__key *key;

    if (i == 0 || i > d->n_keys)
        return NULL;
    key = d->keys[i - 1];
    return key->obj.dead ? NULL : key;
}

/* Called by fake__key_die(), fake__key_invalidate() and fake__window_bind(). */
static void
window_unbind(struct fake__key *key)
{
    if (key->mr != NULL)
        key->mr->windows--;
    key->mr = NULL;
    key->qp = NULL;
}

/* Called by key_free() and object_die() (verbs.c). */
void
fake__key_die(struct fake__key *key)
{
    key->obj.dead = true;
    window_unbind(key);
}

/* Called by fake__dealloc_mw() and ibv_dereg_mr(). */
static void
key_free(struct fake__key *key)
{
    fake__key_die(key);
    key->pd->obj.users--;
    fake__object_free(&key->obj);
}

/* --- access checks ----------------------------------------------------- */

/* Called by local_piece(), fake__remote_piece() and may_bind(). */
static bool
covers(const struct fake__key *key, uint64_t addr, uint64_t length)
{
    return addr >= key->start && length <= key->length &&
           addr - key->start <= key->length - length;
}

/* Called by fake__local_pieces(). */
static bool
local_piece(struct fake__device *d, const struct fake__pd *pd,
            const struct ibv_sge *sge, unsigned access,
            struct fake__piece *piece)
{
    struct fake__key *key = key_find(d, sge->lkey);

    if (key == NULL || key->obj.kind != FAKE__MR || key->lkey != sge->lkey ||
        key->pd != pd || !covers(key, sge->addr, sge->length) ||
        (key->access & access) != access)
        return false;
    piece->at = key->memory + (sge->addr - key->start);
    piece->length = sge->length;
    return true;
}

/* Called by receive_fill() (qp_respond.c) and own_pieces() (qp_wire.c). */
bool
fake__local_pieces(struct fake__device *d, const struct fake__pd *pd,
                   const struct fake__wqe *w, unsigned access,
                   struct fake__piece *pieces)
{
    for (unsigned i = 0; i < w->n_sge; i++) {
        pieces[i] = (struct fake__piece){0};
        if (w->sge[i].length > 0 &&
            !local_piece(d, pd, &w->sge[i], access, &pieces[i]))
            return false;
    }
    return true;
}

/* The key whose memory a window gives access to: Soft-RoCE checks the bounds of
 * the window's region only. Called by fake__remote_piece(). */
static const struct fake__key *
bounds_of(const struct fake__key *key)
{
    return fake__rxe() && key->obj.kind == FAKE__MW && key->mr != NULL ? key->mr
                                                                       : key;
}

/* Called by fake__remote_piece(). */
static bool
window_serves(const struct fake__key *key, const struct fake__qp *qp)
{
    return key->mr != NULL && !key->mr->obj.dead &&
           (key->type == IBV_MW_TYPE_1 || key->qp == qp);
}

/* Called by write_carry(), read_carry() and atomic_carry() (qp_respond.c). */
bool
fake__remote_piece(struct fake__qp *qp, uint32_t rkey, uint64_t addr,
                   size_t length, unsigned access, struct fake__piece *piece)
{
    const struct fake__key *key = key_find(qp->device, rkey), *bounds;

    *piece = (struct fake__piece){0};
    if ((qp->attr.qp_access_flags & access) != access)
        return false;
    if (length == 0)
        return true;
    if (key == NULL || key->rkey != rkey || key->pd != qp->pd ||
        (key->access & access) != access)
        return false;
    if (key->obj.kind == FAKE__MW && !window_serves(key, qp))
        return false;
    bounds = bounds_of(key);
    if (!covers(bounds, addr, length))
        return false;
    piece->at = bounds->memory + (addr - bounds->start);
    piece->length = length;
    return true;
}

/* Called by send_carry() (qp_respond.c) and local_carry() (qp_wire.c). */
bool
fake__key_invalidate(struct fake__qp *qp, uint32_t rkey)
{
    struct fake__key *key = key_find(qp->device, rkey);

    if (key == NULL || key->obj.kind != FAKE__MW || key->rkey != rkey ||
        key->type != IBV_MW_TYPE_2 || key->pd != qp->pd || key->mr == NULL ||
        key->qp != qp)
        return false;
    window_unbind(key);
    return true;
}

/* --- windows ----------------------------------------------------------- */

/* Called by fake__window_bind(). */
static bool
may_bind(const struct fake__qp *qp, const struct fake__wqe *w,
         const struct fake__key *mr)
{
    const struct fake__key *mw = w->mw;

    if (mw->obj.dead || mw->pd != qp->pd)
        return false;
    /* Soft-RoCE requires that mw->rkey is the last bound one. */
    if (fake__rxe() && w->mw_rkey != mw->rkey)
        return false;
    if (mw->type == IBV_MW_TYPE_2 && mw->mr != NULL)
        return false;
    if (w->bind_length == 0)
        return mw->type == IBV_MW_TYPE_1;
    return mr != NULL && mr->obj.kind == FAKE__MR && mr->lkey == w->mr_lkey &&
           mr->pd == qp->pd && (mr->access & IBV_ACCESS_MW_BIND) != 0 &&
           covers(mr, w->bind_addr, w->bind_length) &&
           ((w->bind_access & REMOTE_CHANGES) == 0 ||
            (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

/* Called by local_carry() (qp_wire.c). */
bool
fake__window_bind(struct fake__qp *qp, const struct fake__wqe *w)
{
    struct fake__key *mr = key_find(qp->device, w->mr_lkey), *mw = w->mw;

    if (!may_bind(qp, w, mr))
        return false;
    window_unbind(mw);
    mw->rkey = (mw->rkey & ~0xffu) | (w->rkey & 0xffu);
    if (w->bind_length == 0)
        return true;
    mw->mr = mr;
    mr->windows++;
    mw->qp = qp;
    mw->start = w->bind_addr;
    mw->length = w->bind_length;
    mw->access = w->bind_access;
    mw->memory = mr->memory + (w->bind_addr - mr->start);
    return true;
}

/* ops.alloc_mw of each context (verbs.c): ibv_alloc_mw() of the program calls
 * it. */
struct ibv_mw *
fake__alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    FAKE_CALL("ibv_alloc_mw");
    int err = call.err;
    struct mw_handle *h;

    if (err == 0)
        err = fake__context_err(fake__pd_of(pd)->obj.context);
    if (err == 0 && type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
        err = EINVAL;
    if (err != 0) {
        errno = err;
        return NULL;
    }
    h = fake__handle_new(sizeof *h);
    h->key = key_new(fake__pd_of(pd), FAKE__MW, h);
    h->key->type = type;
    h->pub.context = pd->context;
    h->pub.pd = pd;
    h->pub.type = type;
    h->pub.rkey = h->key->rkey;
    return &h->pub;
}

/* ops.dealloc_mw of each context (verbs.c): ibv_dealloc_mw() of the program
 * calls it. */
int
fake__dealloc_mw(struct ibv_mw *mw)
{
    FAKE_CALL_SAFE("ibv_dealloc_mw");

    key_free(fake__mw_key(mw));
    return 0;
}

/* ops.bind_mw of each context (verbs.c): ibv_bind_mw() of the program calls
 * it. */
int
fake__bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    struct ibv_send_wr *bad, wr = {
                                 .wr_id = bind->wr_id,
                                 .opcode = IBV_WR_BIND_MW,
                                 .send_flags = bind->send_flags,
                             };
    int err;

    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
    wr.bind_mw.bind_info = bind->bind_info;
    err = fake__post_send(qp, &wr, &bad);
    if (err == 0)
        mw->rkey = wr.bind_mw.rkey;
    return err;
}

/* --- regions ----------------------------------------------------------- */

/* Called by region_register(). */
static int
check_region(struct ibv_pd *pd, const void *addr, size_t length,
             unsigned access)
{
    int err = fake__context_err(fake__pd_of(pd)->obj.context);

    if (err != 0)
        return err;
    if (length == 0 || (access & IBV_ACCESS_ON_DEMAND) != 0)
        return EINVAL;
    if ((access & REMOTE_CHANGES) != 0 && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    if (addr == NULL || (uintptr_t)addr + length < length)
        return EFAULT;
    return 0;
}

/* Called by region_register(). */
static struct ibv_mr *
region_new(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
           unsigned access)
{
    struct mr_handle *h = fake__handle_new(sizeof *h);
    struct fake__key *key = key_new(fake__pd_of(pd), FAKE__MR, h);

    key->start = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
    key->length = length;
    key->memory = addr;
    key->access = access;
    if (fake__rxe() && (access & REMOTE) == 0)
        key->rkey = 0;
    h->key = key;
    h->pub.context = pd->context;
    h->pub.pd = pd;
    h->pub.addr = addr;
    h->pub.length = length;
    h->pub.lkey = key->lkey;
    h->pub.rkey = key->rkey;
    return &h->pub;
}

/* Called by ibv_reg_mr_iova2(). */
static struct ibv_mr *
region_register(const struct fake__call *call, struct ibv_pd *pd, void *addr,
                size_t length, uint64_t iova, unsigned access)
{
    int err = call->err;

    if (err == 0)
        err = check_region(pd, addr, length, access);
    if (err != 0) {
        errno = err;
        return NULL;
    }
    return region_new(pd, addr, length, iova, access);
}

#undef ibv_reg_mr
struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
                            int access)
{
    FAKE_CALL("ibv_reg_mr");

    return region_register(&call, pd, addr, length, (uintptr_t)addr,
                           (unsigned)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *(ibv_reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length,
                                 uint64_t iova, int access)
{
    FAKE_CALL("ibv_reg_mr");

    return region_register(&call, pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                 unsigned int access)
{
    FAKE_CALL("ibv_reg_mr");

    return region_register(&call, pd, addr, length, iova, access);
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
    FAKE_CALL_SAFE("ibv_dereg_mr");
    struct fake__key *key = ((struct mr_handle *)mr)->key;

    if (key->windows > 0)
        return fake__rxe() ? EINVAL : EBUSY;
    key_free(key);
    return 0;
}
