/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast groups of a device: which ids of rdma_cm have joined, so that the
 * network delivers, and which QPs are attached. A datagram to a group goes to
 * both. Static functions run on the thread of their caller: one thread of the
 * world runs at a time (world.h). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake/verbs.h"

/* A QP in a group. Once detached it is not in the list, but still leads to the
 * next one, for loops that are at it. */
struct attachment {
    struct attachment *next;
    struct fake__qp *qp;
    bool detached;
};

struct fake__group {
    struct fake__group *next;
    union ibv_gid gid;
    unsigned joins;
    struct attachment *first;
    unsigned n; /* attached QPs */
};

/* --- groups ------------------------------------------------------------ */

/* Called by most functions of this file. */
static struct fake__group *
group_find(const struct fake__device *d, const union ibv_gid *gid)
{
    struct fake__group *g = d->groups;

    while (g != NULL && memcmp(&g->gid, gid, sizeof *gid) != 0)
        g = g->next;
    return g;
}

/* Called by fake__group_join() and attach(). */
static struct fake__group *
group_get(struct fake__device *d, const union ibv_gid *gid)
{
    struct fake__group *g = group_find(d, gid);

    if (g != NULL)
        return g;
    g = fake__alloc(sizeof *g);
    g->gid = *gid;
    g->next = d->groups;
    d->groups = g;
    return g;
}

/* Counts the groups that have QPs. Called by attach(). */
static unsigned
groups_used(const struct fake__device *d)
{
    unsigned n = 0;

    for (const struct fake__group *g = d->groups; g != NULL; g = g->next)
        n += g->n > 0;
    return n;
}

/* Called by join() (cm_multicast.c). */
void
fake__group_join(struct fake__device *d, const union ibv_gid *gid)
{
    group_get(d, gid)->joins++;
}

/* Called by member_drop() (cm_multicast.c). */
void
fake__group_leave(struct fake__device *d, const union ibv_gid *gid)
{
    group_find(d, gid)->joins--;
}

/* "group 239.1.2.3". Called by target_name() (qp_wire.c). */
const char *
fake__group_name(const union ibv_gid *gid, char *name, size_t size)
{
    char addr[INET6_ADDRSTRLEN];

    if (gid->raw[0] == 0xff)
        inet_ntop(AF_INET6, gid->raw, addr, sizeof addr);
    else
        inet_ntop(AF_INET, gid->raw + 12, addr, sizeof addr);
    snprintf(name, size, "group %s", addr);
    return name;
}

/* --- delivery ---------------------------------------------------------- */

/* True if the network delivers the group to this device. Called by
 * datagrams_new() (ud.c). */
bool
fake__group_hears(const struct fake__device *d, const union ibv_gid *gid)
{
    const struct fake__group *g = group_find(d, gid);

    return g != NULL && g->joins > 0;
}

/* Gives the datagram to each QP, the sender's own among them, like Soft-RoCE.
 * Called by datagram_arrive() (ud.c). */
void
fake__group_give(struct fake__device *d, struct fake__datagram *g)
{
    const struct fake__group *group = group_find(d, &g->dgid);

    if (group == NULL || group->joins == 0)
        return;
    for (struct attachment *a = group->first; a != NULL; a = a->next) {
        if (!a->detached)
            fake__datagram_take(a->qp, g);
    }
}

/* --- attaching --------------------------------------------------------- */

/* Called by attach(), detach() and fake__qp_detach(). */
static struct attachment **
attachment_find(struct fake__group *g, const struct fake__qp *qp)
{
    struct attachment **at = &g->first;

    while (*at != NULL && (*at)->qp != qp)
        at = &(*at)->next;
    return at;
}

/* Called by ibv_attach_mcast(). */
static int
attach(struct fake__qp *qp, const union ibv_gid *gid)
{
    const struct fake_host *host = qp->device->host;
    struct fake__group *g;
    struct attachment **at;

    if (host->max_groups == 0)
        return EOPNOTSUPP;
    if (qp->type != IBV_QPT_UD || !fake__gid_is_group(gid))
        return EINVAL;
    g = group_get(qp->device, gid);
    at = attachment_find(g, qp);
    if (*at != NULL)
        return 0;
    if (g->n >= host->max_group_qps ||
        (g->n == 0 && groups_used(qp->device) >= host->max_groups))
        return ENOMEM;
    *at = fake__alloc(sizeof **at);
    (*at)->qp = qp;
    g->n++;
    qp->groups++;
    return 0;
}

int
ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    FAKE_CALL("ibv_attach_mcast");
    struct fake__qp *q = fake__qp_of(qp);
    int err = call.err;

    (void)lid; /* RoCE has none */
    if (err == 0)
        err = fake__context_err(q->obj.context);
    return err != 0 ? err : attach(q, gid);
}

/* False if it is not attached. Called by ibv_detach_mcast() and
 * fake__qp_detach(). */
static bool
detach(struct fake__group *g, struct fake__qp *qp)
{
    struct attachment **at = attachment_find(g, qp), *a = *at;

    if (a == NULL)
        return false;
    a->detached = true;
    *at = a->next;
    g->n--;
    qp->groups--;
    return true;
}

int
ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    FAKE_CALL("ibv_detach_mcast");
    struct fake__qp *q = fake__qp_of(qp);
    struct fake__group *g = group_find(q->device, gid);

    (void)lid;
    if (call.err != 0)
        return call.err;
    return g != NULL && detach(g, q) ? 0 : EINVAL;
}

/* The QP is no more. Called by fake__qp_die() (qp.c). */
void
fake__qp_detach(struct fake__qp *qp)
{
    if (qp->groups == 0)
        return;
    for (struct fake__group *g = qp->device->groups; g != NULL; g = g->next)
        detach(g, qp);
}

/* --- limits ------------------------------------------------------------ */

void
fake_device_multicast(struct fake_host *host, unsigned groups, unsigned qps)
{
    FAKE_CALL_SAFE("fake_device_multicast");

    host->max_groups = groups;
    host->max_group_qps = qps;
}
