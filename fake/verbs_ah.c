/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Address handles. Static functions run on the thread of their caller: one
 * thread of the world runs at a time (world.h). */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

#define OWN_GID 1 /* the index of the device's address (ibv_query_gid()) */

/* How long the kernel asks for the neighbour at an address. */
#define NEIGHBOUR_WAIT (1020 * FAKE__MS)

/* The address of an IPv4 host; the last of the 40 bytes before a datagram. */
#define IPV4_AT 20u

/* --- creation ---------------------------------------------------------- */

/* Called by ah_check(). */
static int
attr_check(const struct ibv_ah_attr *attr)
{
    static const union ibv_gid none;

    if (!attr->is_global || attr->port_num != 1 ||
        memcmp(&attr->grh.dgid, &none, sizeof none) == 0)
        return EINVAL;
    if (attr->grh.sgid_index == OWN_GID)
        return 0;
    return attr->grh.sgid_index == 0 ? EINVAL : ENODATA;
}

/* The kernel looks for the neighbour: the calling thread waits. Called by
 * ah_check(). */
static int
neighbour_find(const union ibv_gid *gid)
{
    uint64_t until = fake__world.now + NEIGHBOUR_WAIT;

    if (fake__gid_is_group(gid) || fake__host_of_gid(gid) != NULL)
        return 0;
    while (fake__world.now < until)
        fake__block(gid, until);
    return ETIMEDOUT;
}

/* Called by ah_make(). */
static int
ah_check(struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
    struct fake__device *d = fake__pd_of(pd)->obj.context->device;
    int err = fake__context_err(fake__pd_of(pd)->obj.context);

    if (err == 0)
        err = attr_check(attr);
    if (err == 0)
        err = neighbour_find(&attr->grh.dgid);
    if (err == 0 && d->n_ahs >= d->host->max_ah)
        err = fake__rxe() ? EINVAL : ENOMEM;
    return err;
}

/* Called by ah_make(). */
static struct ibv_ah *
ah_new(struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
    struct fake__ah_handle *h = fake__handle_new(sizeof *h);

    h->obj = fake__alloc(sizeof *h->obj);
    h->pd = fake__pd_of(pd);
    h->pd->obj.users++;
    h->attr = *attr;
    h->pub.context = pd->context;
    h->pub.pd = pd;
    fake__object_init(h->obj, FAKE__AH, h->pd->obj.context, h);
    h->pd->obj.context->device->n_ahs++;
    return &h->pub;
}

/* Called by ibv_create_ah() and ibv_create_ah_from_wc(). */
static struct ibv_ah *
ah_make(struct ibv_pd *pd, const struct ibv_ah_attr *attr, int err)
{
    if (err == 0)
        err = ah_check(pd, attr);
    if (err != 0) {
        errno = err;
        return NULL;
    }
    return ah_new(pd, attr);
}

struct ibv_ah *
ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    FAKE_CALL("ibv_create_ah");

    return ah_make(pd, attr, call.err);
}

int
ibv_destroy_ah(struct ibv_ah *ah)
{
    FAKE_CALL_SAFE("ibv_destroy_ah");
    struct fake__ah_handle *h = (struct fake__ah_handle *)ah;

    fake__ah_die(h->obj);
    h->pd->obj.users--;
    fake__object_free(h->obj);
    return 0;
}

/* Called by ibv_destroy_ah() and object_die() (verbs.c). */
void
fake__ah_die(struct fake__object *o)
{
    if (!o->dead)
        o->context->device->n_ahs--;
}

/* --- the sender of a datagram ------------------------------------------ */

/* The GIDs of an IPv4 header, as libibverbs maps them. Called by gids_of(). */
static void
gids_map(const struct ibv_grh *grh, union ibv_gid *from, union ibv_gid *to)
{
    const uint8_t *ip = (const uint8_t *)grh + IPV4_AT;

    memset(from, 0, sizeof *from);
    from->raw[10] = from->raw[11] = 0xff;
    *to = *from;
    memcpy(from->raw + 12, ip + 12, 4);
    memcpy(to->raw + 12, ip + 16, 4);
}

/* Called by ah_attr_of(). */
static void
gids_of(const struct ibv_grh *grh, union ibv_gid *from, union ibv_gid *to)
{
    if (ntohl(grh->version_tclass_flow) >> 28 == 6) {
        *from = grh->sgid;
        *to = grh->dgid;
    } else {
        gids_map(grh, from, to);
    }
}

/* Returns 0 or an errno. What was sent to a group leads to no address of this
 * device: libibverbs fails. Called by ibv_init_ah_from_wc() and
 * ibv_create_ah_from_wc(). */
static int
ah_attr_of(struct ibv_context *context, uint8_t port, const struct ibv_wc *wc,
           const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    const struct fake_host *host = fake__context_of(context)->device->host;
    union ibv_gid own, to;

    memset(attr, 0, sizeof *attr);
    attr->port_num = port;
    if (port != 1 || !(wc->wc_flags & IBV_WC_GRH))
        return EINVAL;
    gids_of(grh, &attr->grh.dgid, &to);
    fake__gid_of(host, &own);
    if (memcmp(&own, &to, sizeof own) != 0)
        return EINVAL;
    attr->is_global = 1;
    attr->grh.sgid_index = OWN_GID;
    attr->grh.hop_limit = FAKE__HOPS;
    return 0;
}

int
ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
                    struct ibv_wc *wc, struct ibv_grh *grh,
                    struct ibv_ah_attr *ah_attr)
{
    FAKE_CALL("ibv_init_ah_from_wc");
    int err = call.err;

    if (err == 0)
        err = ah_attr_of(context, port_num, wc, grh, ah_attr);
    if (err == 0)
        return 0;
    errno = err;
    return -1;
}

struct ibv_ah *
ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                      uint8_t port_num)
{
    FAKE_CALL("ibv_create_ah_from_wc");
    struct ibv_ah_attr attr;
    int err = call.err;

    if (err == 0)
        err = ah_attr_of(pd->context, port_num, wc, grh, &attr);
    return ah_make(pd, &attr, err);
}
