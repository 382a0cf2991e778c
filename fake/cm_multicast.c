/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast groups of ids, as librdmacm and the kernel implement them for RoCE
 * v2: the kernel joins at once, and librdmacm attaches the id's QP when the
 * program reads the event. Static functions run on the thread of their caller:
 * one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/cm.h"

#define GROUP_QPN     0xffffff
#define KERNEL_ENOSUP 524 /* the kernel's ENOTSUPP, which has no name here */

/* One call of rdma_join_multicast(). It is not freed, as events may have it. */
struct fake__member {
    struct fake__member *next;
    struct fake__id *id;
    struct fake__device *device;
    struct sockaddr_storage addr;
    union ibv_gid gid;
    void *context; /* the program's */
    bool send_only, left;
    unsigned got; /* events read, not yet acknowledged */
};

/* --- addresses --------------------------------------------------------- */

/* Called by rdma_join_multicast(), rdma_join_multicast_ex() and
 * rdma_leave_multicast(). */
static size_t
addr_size(const struct sockaddr *addr)
{
    switch (addr == NULL ? AF_UNSPEC : addr->sa_family) {
    case AF_INET:
        return sizeof(struct sockaddr_in);
    case AF_INET6:
        return sizeof(struct sockaddr_in6);
    default:
        return 0;
    }
}

/* Called by join(). */
static union ibv_gid
gid_of(const struct sockaddr *addr)
{
    const struct sockaddr_in *v4 = (const void *)addr;
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

    memcpy(gid.raw + 12, &v4->sin_addr, 4);
    return gid;
}

/* --- events ------------------------------------------------------------ */

/* Called by member_tell(). */
static void
event_ud(struct fake__cm_event *ev, const struct fake__member *m)
{
    struct rdma_ud_param *ud = &ev->param.ud;

    ud->qp_num = GROUP_QPN;
    ud->qkey = RDMA_UDP_QKEY;
    ud->ah_attr.is_global = 1;
    ud->ah_attr.port_num = 1;
    ud->ah_attr.grh.sgid_index = 1;
    ud->ah_attr.grh.hop_limit = 64;
    ud->ah_attr.grh.dgid = m->gid;
}

/* Called by joined() and fake__members_tell(). */
static void
member_tell(struct fake__member *m, enum rdma_cm_event_type type, int status)
{
    struct fake__cm_event *ev = fake__cm_event_new(m->id, type, status);

    ev->ud = true;
    ev->member = m;
    event_ud(ev, m);
    fake__cm_event_give(ev);
}

/* fake__after() runs it later for join(), on any thread. */
static void
joined(void *obj, uint64_t n)
{
    struct fake__member *m = obj;

    (void)n;
    if (!m->left)
        member_tell(m, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
}

/* Called by fake_cm_event() (cm_event.c). */
void
fake__members_tell(struct fake__id *id, int status)
{
    for (struct fake__member *m = id->members; m != NULL; m = m->next)
        member_tell(m, RDMA_CM_EVENT_MULTICAST_ERROR, status);
}

/* The program reads an event of the membership, or acknowledges it. Called in
 * cm_event.c. */
void *
fake__member_got(struct fake__member *m)
{
    m->got++;
    return m->context;
}

/* Called in cm_event.c. */
void
fake__member_acked(struct fake__member *m)
{
    m->got--;
    fake__release(m);
    fake__wake(m);
}

/* Called in cm_event.c. */
bool
fake__member_left(const struct fake__member *m)
{
    return m->left;
}

/* librdmacm attaches the QP before the program sees MULTICAST_JOIN. Called by
 * event_process() (cm.c). */
void
fake__member_attach(struct fake__member *m, struct rdma_cm_event *e)
{
    struct ibv_qp *qp = m->id->handle->qp;

    if (qp == NULL || m->send_only || ibv_attach_mcast(qp, &m->gid, 0) == 0)
        return;
    e->event = RDMA_CM_EVENT_MULTICAST_ERROR;
    e->status = -1;
}

/* --- joining ----------------------------------------------------------- */

/* The kernel's checks. Called by join(). */
static int
join_check(const struct fake__id *k, const struct sockaddr *addr)
{
    if (k->removed)
        return ENODEV;
    if ((k->state != FAKE__BOUND && k->state != FAKE__ADDR_RESOLVED) ||
        !k->on_device || !fake__id_is_ud(k) || fake__addr_is_any(addr))
        return EINVAL;
    /* The kernel joins no IPv6 group for RoCE v2. */
    return addr->sa_family == AF_INET6 ? KERNEL_ENOSUP : 0;
}

/* Called by rdma_join_multicast() and rdma_join_multicast_ex(). */
static int
join(struct fake__id *k, const struct sockaddr *addr, bool send_only,
     void *context)
{
    struct fake__member *m;
    int err = join_check(k, addr);

    if (err != 0)
        return fake__fail(err);
    m = fake__alloc(sizeof *m);
    m->id = k;
    m->device = fake__id_device(k)->device;
    fake__addr_copy(&m->addr, addr);
    m->gid = gid_of(addr);
    m->context = context;
    m->send_only = send_only;
    m->next = k->members;
    k->members = m;
    if (!send_only)
        fake__group_join(m->device, &m->gid);
    fake__publish(k);
    fake__after(fake__latency(), joined, m, 0);
    return fake__sync_complete(k);
}

int
rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
    FAKE_CALL("rdma_join_multicast");

    if (call.err != 0)
        return fake__fail(call.err);
    if (addr_size(addr) == 0)
        return fake__fail(EINVAL);
    return join(fake__id_of(id), addr, false, context);
}

int
rdma_join_multicast_ex(struct rdma_cm_id *id,
                       struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    FAKE_CALL("rdma_join_multicast_ex");
    const uint32_t all =
        RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

    if (call.err != 0)
        return fake__fail(call.err);
    if (attr->comp_mask > all)
        return fake__fail(ENOTSUP);
    if (attr->comp_mask != all ||
        attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
        addr_size(attr->addr) == 0)
        return fake__fail(EINVAL);
    return join(fake__id_of(id), attr->addr,
                attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
                context);
}

/* --- leaving ----------------------------------------------------------- */

/* The kernel's part. Called by rdma_leave_multicast() and
 * fake__members_drop(). */
static void
member_drop(struct fake__member *m)
{
    m->left = true;
    if (!m->send_only)
        fake__group_leave(m->device, &m->gid);
}

/* Takes the newest membership of this address out of the list; NULL: none.
 * Called by rdma_leave_multicast(). */
static struct fake__member *
member_take(struct fake__id *k, const struct sockaddr *addr)
{
    struct fake__member **at = &k->members, *m;
    size_t size = addr_size(addr);

    while (*at != NULL && memcmp(&(*at)->addr, addr, size) != 0)
        at = &(*at)->next;
    m = *at;
    if (m != NULL)
        *at = m->next;
    return m;
}

int
rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
    FAKE_CALL("rdma_leave_multicast");
    struct fake__id *k = fake__id_of(id);
    struct fake__member *m;

    if (call.err != 0)
        return fake__fail(call.err);
    if (addr_size(addr) == 0)
        return fake__fail(EINVAL);
    m = member_take(k, addr);
    if (m == NULL)
        return fake__fail(EADDRNOTAVAIL);
    if (id->qp != NULL && !m->send_only)
        ibv_detach_mcast(id->qp, &m->gid, 0);
    member_drop(m);
    fake__cm_channel_forget(k, m);
    while (m->got > 0)
        fake__block(m, FAKE__FOREVER);
    fake__acquire(m);
    return 0;
}

/* The id is destroyed. Its QP stays attached. Called by fake__wire_destroy()
 * (cm_wire.c). */
void
fake__members_drop(struct fake__id *id)
{
    for (struct fake__member *m = id->members; m != NULL; m = m->next)
        member_drop(m);
    id->members = NULL;
}
