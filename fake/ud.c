/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Datagrams on their way: a copy of what was sent, with its header, leaves at
 * once and arrives at once, unless a rule or the noise of the wire delays,
 * doubles or loses it. Static functions run on the thread of their caller: one
 * thread of the world runs at a time (world.h). */
#include <arpa/inet.h>
#include <string.h>

#include "fake/verbs.h"

#define IPV4_AT 20u /* the IPv4 header is the end of the 40 bytes */
#define UDP     17
/* The lengths of IPv4, UDP, base transport, datagram and immediate headers, and
 * of the checksum at the end. */
#define HEADERS(imm) (20u + 8 + 12 + 8 + ((imm) ? 4 : 0) + 4)

/* --- the header of 40 bytes -------------------------------------------- */

/* The checksum of an IPv4 header. Called by ipv4_write(). */
static uint16_t
checksum(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* As with RoCE v2 over IPv4: the first 20 bytes mean nothing, the others are
 * the IPv4 header. Called by header_write(). */
static void
ipv4_write(uint8_t *grh, const struct fake_host *from, const union ibv_gid *to,
           unsigned length)
{
    const struct sockaddr_in *own = (const void *)&from->addr;
    uint8_t *ip = grh + IPV4_AT;
    uint16_t sum;

    memset(grh, fake__rxe() ? 0 : 0xdb, IPV4_AT);
    memset(ip, 0, 20);
    ip[0] = 0x45;
    ip[2] = (uint8_t)(length >> 8);
    ip[3] = (uint8_t)length;
    ip[6] = 0x40;
    ip[8] = FAKE__HOPS;
    ip[9] = UDP;
    memcpy(ip + 12, &own->sin_addr, 4);
    memcpy(ip + 16, to->raw + 12, 4);
    sum = checksum(ip);
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
}

/* Called by header_write(). */
static void
ipv6_write(uint8_t *grh, const struct fake_host *from, const union ibv_gid *to,
           unsigned length)
{
    struct ibv_grh h = {
        .version_tclass_flow = htonl(6u << 28),
        .paylen = htons((uint16_t)(length - 20)),
        .next_hdr = UDP,
        .hop_limit = FAKE__HOPS,
        .dgid = *to,
    };

    fake__gid_of(from, &h.sgid);
    memcpy(grh, &h, sizeof h);
}

/* Called by datagram_new(). */
static void
header_write(uint8_t *grh, const struct fake_host *from,
             const struct fake__wqe *w)
{
    bool imm = w->opcode == IBV_WR_SEND_WITH_IMM;
    unsigned length = HEADERS(imm) + (w->length + 3) / 4 * 4;

    if (from->addr.ss_family == AF_INET6)
        ipv6_write(grh, from, &w->dgid, length);
    else
        ipv4_write(grh, from, &w->dgid, length);
}

/* --- datagrams --------------------------------------------------------- */

/* Called by datagram_new() and datagram_double(). */
static struct fake__datagram *
datagram_alloc(struct fake__device *d)
{
    struct fake__datagram *g = d->idle;

    if (g == NULL)
        return fake__alloc(sizeof *g);
    d->idle = g->next;
    return g;
}

/* Called by datagram_arrive() and datagram_depart(). */
static void
datagram_free(struct fake__datagram *g)
{
    g->next = g->device->idle;
    g->device->idle = g;
}

/* Soft-RoCE sends a privileged Q_Key as it is; the specification has the
 * sender's own one in its place. Called by datagram_new(). */
static uint32_t
qkey_of(const struct fake__qp *qp, const struct fake__wqe *w)
{
    return w->remote_qkey & 0x80000000u && !fake__rxe() ? qp->attr.qkey
                                                        : w->remote_qkey;
}

/* Called by datagrams_new() and fake__datagram_send(). */
static struct fake__datagram *
datagram_new(const struct fake__qp *qp, const struct fake__wqe *w,
             const struct fake__piece *own, size_t n, struct fake_host *to)
{
    struct fake__datagram *g = datagram_alloc(qp->device);
    uint8_t *at = g->bytes + FAKE__GRH;

    g->device = qp->device;
    g->to = to;
    g->dgid = w->dgid;
    g->qpn = w->remote_qpn;
    g->qkey = qkey_of(qp, w);
    g->src_qpn = qp->number;
    g->opcode = w->opcode;
    g->flags = w->flags;
    g->imm = w->imm;
    g->twice = w->twice;
    g->late = w->late;
    g->again = w->again;
    g->next = NULL;
    g->length = w->length + FAKE__GRH;
    header_write(g->bytes, qp->device->host, w);
    for (size_t i = 0; i < n; at += own[i++].length) {
        if (own[i].length > 0)
            memcpy(at, own[i].at, own[i].length);
    }
    return g;
}

/* --- arrival ----------------------------------------------------------- */

/* Called by datagram_arrive() and fake__group_give() (multicast.c). */
void
fake__datagram_take(struct fake__qp *peer, struct fake__datagram *g)
{
    if (peer != NULL && peer->type == IBV_QPT_UD && fake__qp_receives(peer) &&
        peer->attr.qkey == g->qkey)
        fake__respond_datagram(peer, g);
}

/* fake__path_send() also runs it later for datagram_depart(), on any thread. */
static void
datagram_arrive(void *obj, uint64_t n)
{
    struct fake__datagram *g = obj;
    struct fake__device *d = g->to->device;

    (void)n;
    if (fake__reaches(g->device->host, g->to) && d != NULL && !d->gone) {
        if (g->qpn == FAKE__GROUP_QPN)
            fake__group_give(d, g);
        else
            fake__datagram_take(fake__device_qp(d, g->qpn), g);
    }
    datagram_free(g);
}

/* --- departure --------------------------------------------------------- */

/* Called by datagram_launch(). */
static void
datagram_depart(struct fake__datagram *g, uint64_t delay)
{
    struct fake_host *from = g->device->host;

    if (delay == 0 && !fake__path_clogged(from, g->to))
        datagram_arrive(g, 0);
    else
        fake__path_send(from, g->to, delay, datagram_arrive, g, 0);
}

/* Called by datagram_launch(). */
static uint64_t
lateness(const struct fake__datagram *g, const struct fake_noise *noise)
{
    if (!fake__chance(noise->late))
        return 0;
    fake__path_counts(g->device->host, g->to)->late++;
    return fake__random(noise->late_us + 1) * FAKE__US;
}

/* Returns a second one; NULL: the datagram arrives once. Called by
 * datagram_launch(). */
static struct fake__datagram *
datagram_double(const struct fake__datagram *g, const struct fake_noise *noise)
{
    struct fake__datagram *twin;

    if (!g->twice && !fake__chance(noise->doubled))
        return NULL;
    fake__path_counts(g->device->host, g->to)->duplicated++;
    twin = datagram_alloc(g->device);
    *twin = *g;
    twin->late += g->twice ? g->again : fake__latency();
    twin->late += lateness(twin, noise);
    return twin;
}

/* Sends one datagram along one path. Called by datagrams_launch(). */
static void
datagram_launch(struct fake__datagram *g)
{
    struct fake_host *from = g->device->host;
    const struct fake_noise *noise = fake__path_noise(from, g->to);
    struct fake__datagram *twin;

    if (fake__chance(noise->lost)) {
        fake__path_counts(from, g->to)->lost++;
        datagram_free(g);
        return;
    }
    twin = datagram_double(g, noise);
    datagram_depart(g, g->late + lateness(g, noise));
    if (twin != NULL)
        datagram_depart(twin, twin->late);
}

/* Called by fake__datagram_send(). */
static void
datagrams_launch(struct fake__datagram *g)
{
    struct fake__datagram *next;

    for (; g != NULL; g = next) {
        next = g->next;
        datagram_launch(g);
    }
}

/* Makes one for each device that hears the group. Called by
 * fake__datagram_send(). */
static struct fake__datagram *
datagrams_new(const struct fake__qp *qp, const struct fake__wqe *w,
              const struct fake__piece *own, size_t n)
{
    struct fake__datagram *first = NULL, **end = &first;

    for (struct fake_host *h = fake__world.hosts; h != NULL; h = h->next) {
        if (!fake__group_hears(h->device, &w->dgid))
            continue;
        *end = datagram_new(qp, w, own, n, h);
        end = &(*end)->next;
    }
    return first;
}

/* Once the first one has arrived, rules may have ended the QP: all are made
 * before. Called by ud_carry() (qp_wire.c). */
void
fake__datagram_send(const struct fake__qp *qp, const struct fake__wqe *w,
                    const struct fake__piece *own, size_t n)
{
    struct fake_host *to = fake__host_of_gid(&w->dgid);

    if (w->length > FAKE__MTU)
        return;
    if (fake__gid_is_group(&w->dgid))
        datagrams_launch(datagrams_new(qp, w, own, n));
    else if (to != NULL)
        datagrams_launch(datagram_new(qp, w, own, n, to));
}
