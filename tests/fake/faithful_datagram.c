/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenarios of datagrams: services, address handles, multicast groups. See
 * faithful.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faithful.h"
#include "scenarios.h"

#define GRH       40
#define GROUP     "239.1.2.3"
#define GROUP_QPN 0xffffffu

static const struct wish datagrams = {.datagrams = true};

static struct sockaddr_in
address(const char *text)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};

    inet_pton(AF_INET, text, &addr.sin_addr);
    return addr;
}

/* The number of bytes up to the last that is not zero. */
static unsigned
used(const struct pair *p)
{
    unsigned n = p->said_len;

    while (n > 0 && p->said[n - 1] == 0)
        n--;
    return n;
}

static void
say_address(const struct rdma_ud_param *ud)
{
    const struct ibv_ah_attr *a = &ud->ah_attr;

    say("  key %x; global %u, port %u, GID %u, hops %u, class %u", ud->qkey,
        a->is_global, a->port_num, a->grh.sgid_index, a->grh.hop_limit,
        a->grh.traffic_class);
}

static void
say_no_event(struct pair *p)
{
    if (event_next(p, 200))
        say("  %s", rdma_event_str(p->last.event));
}

/* --- services ---------------------------------------------------------- */

static void
a_service_answers(void)
{
    struct pair p;

    pair_open(&p, &datagrams);
    if (pair_resolve(&p) && pair_ask(&p, "please", 6)) {
        say("  asked with %u bytes, %u used; qp %u, key %u, global %u",
            p.said_len, used(&p), p.last.param.ud.qp_num, p.last.param.ud.qkey,
            p.last.param.ud.ah_attr.is_global);
        if (pair_accept(&p, "welcome", 7) &&
            event_expect(&p, RDMA_CM_EVENT_ESTABLISHED)) {
            say("  %s: %u bytes, %u used; qp %s",
                p.last.id == p.client.id ? "client" : "server", p.said_len,
                used(&p),
                p.last.param.ud.qp_num == p.server.id->qp->qp_num ? "its"
                                                                  : "other");
            say_address(&p.last.param.ud);
        }
        say_no_event(&p);
        say("  %s %s", state_text(&p.client), state_text(&p.server));
        say("  accept again: %s",
            pair_accept(&p, NULL, 0) ? "0" : errno_name(errno));
        say("  reject: %s", outcome(rdma_reject(p.server.id, NULL, 0)));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
}

static void
say_unreachable(struct pair *p)
{
    if (event_expect(p, RDMA_CM_EVENT_UNREACHABLE))
        say("  status %d, %u bytes, %u used", p->last.status, p->said_len,
            used(p));
}

static void
a_service_refuses(void)
{
    uint8_t much[256];
    struct pair p;

    memset(much, 1, sizeof much);
    for (int i = 0; i < 3; i++) {
        pair_open(&p, &datagrams);
        if (pair_resolve(&p) && pair_ask(&p, NULL, 0)) {
            if (i == 0) {
                say("  137: %s", outcome(rdma_reject(p.server.id, much, 137)));
                say("  136: %s", outcome(rdma_reject(p.server.id, much, 136)));
            } else if (i == 1) {
                rdma_reject(p.server.id, "no", 2);
            } else {
                rdma_destroy_id(p.server.id);
                p.server.id = NULL;
            }
            say_unreachable(&p);
        }
        pair_close(&p);
    }
}

static void
no_service(void)
{
    struct rdma_conn_param param = {0};
    struct pair p;

    pair_open(&p, &datagrams);
    rdma_destroy_id(p.listener);
    rdma_create_id(p.channel, &p.listener, NULL, RDMA_PS_UDP);
    if (pair_resolve(&p)) {
        rdma_connect(p.client.id, &param);
        say_unreachable(&p);
        say("  again: %s", outcome(rdma_connect(p.client.id, &param)));
    }
    pair_close(&p);
}

static void
a_service_and_much_private_data(void)
{
    uint8_t much[256];
    struct rdma_conn_param param = {.private_data = much,
                                    .private_data_len = 181};
    struct pair p;

    memset(much, 1, sizeof much);
    pair_open(&p, &datagrams);
    if (pair_resolve(&p)) {
        say("  connect: %s", outcome(rdma_connect(p.client.id, &param)));
        if (pair_ask(&p, much, 180)) {
            say("  asked with %u bytes, %u used", p.said_len, used(&p));
            param.private_data_len = 137;
            say("  accept: %s", outcome(rdma_accept(p.server.id, &param)));
            say_unreachable(&p);
        }
    }
    pair_close(&p);
}

static void
a_service_without_a_connection(void)
{
    struct pair p;

    if (pair_connect(&p, &datagrams)) {
        for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
            struct ibv_qp_attr attr = {.qp_state = (enum ibv_qp_state)state};
            int mask = 0;

            say("  state %d: %s", state,
                outcome(rdma_init_qp_attr(p.server.id, &attr, &mask)));
            say("  mask %x, key %x", (unsigned)mask, attr.qkey);
        }
        say("  disconnect: %s", outcome(rdma_disconnect(p.client.id)));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
        say("  disconnect: %s", outcome(rdma_disconnect(p.server.id)));
        say_no_event(&p);
    }
    pair_close(&p);
}

/* --- datagrams --------------------------------------------------------- */

/* With RoCE v2 over IPv4, 20 bytes of the header mean nothing. */
static void
say_header(struct end *e, const struct ibv_wc *wc)
{
    const uint8_t *ip = e->memory + BUFFER + 20;
    struct ibv_ah_attr back;
    union ibv_gid own;

    ibv_query_gid(e->id->verbs, 1, 1, &own);
    say("  IP %02x, %u bytes, hops %u, protocol %u, %s", ip[0],
        (unsigned)ip[2] << 8 | ip[3], ip[8], ip[9],
        memcmp(ip + 12, ip + 16, 4) == 0 ? "to itself" : "to others");
    say("  the sender: %d",
        ibv_init_ah_from_wc(e->id->verbs, 1, (struct ibv_wc *)wc,
                            (struct ibv_grh *)(e->memory + BUFFER), &back));
    say("  global %u, GID %u, hops %u, %s", back.is_global, back.grh.sgid_index,
        back.grh.hop_limit,
        memcmp(&own, &back.grh.dgid, sizeof own) == 0 ? "its own" : "another");
}

/* The receiver answers the sender of a completion. */
static void
answer(struct pair *p, struct ibv_wc *wc)
{
    struct end *s = &p->server;

    s->ah = ibv_create_ah_from_wc(s->pd, wc,
                                  (struct ibv_grh *)(s->memory + BUFFER), 1);
    s->qpn = wc->src_qp;
    s->qkey = p->client.qkey;
    end_receive(&p->client, BUFFER);
    if (s->ah != NULL)
        end_send(s, 10, IBV_SEND_SIGNALED);
    say("  answer: %s", complete_text(s, 500));
    say("  the answer: %s", complete_text(&p->client, 500));
}

static void
datagrams_arrive(void)
{
    struct ibv_wc wc;
    struct pair p;

    if (pair_connect(&p, &datagrams)) {
        memset(p.client.memory, 7, BUFFER);
        end_receive(&p.server, BUFFER);
        end_send(&p.client, 100, IBV_SEND_SIGNALED);
        say("  send: %s", complete_text(&p.client, 500));
        if (end_complete(&p.server, &wc, 500) == IBV_WC_SUCCESS) {
            say("  %u bytes, opcode %d, flags %x, from %s: %u %u %u",
                wc.byte_len, wc.opcode, wc.wc_flags,
                wc.src_qp == p.client.id->qp->qp_num ? "the client" : "another",
                p.server.memory[BUFFER + GRH],
                p.server.memory[BUFFER + GRH + 99],
                p.server.memory[BUFFER + GRH + 100]);
            say_header(&p.server, &wc);
            answer(&p, &wc);
        }
    }
    pair_close(&p);
}

/* Sends a datagram; says what becomes of it at both ends. */
static void
try_send(struct pair *p, const char *what, uint32_t length)
{
    say("  %s: %s", what,
        outcome(end_send(&p->client, length, IBV_SEND_SIGNALED)));
    say("  sent: %s", complete_text(&p->client, 500));
    say("  received: %s", complete_text(&p->server, 100));
}

static void
datagrams_vanish(void)
{
    uint32_t key, qpn;
    struct pair p;

    if (pair_connect(&p, &datagrams)) {
        key = p.client.qkey;
        qpn = p.client.qpn;
        try_send(&p, "no receive", 8);
        end_receive(&p.server, BUFFER);
        p.client.qkey = key + 1;
        try_send(&p, "another key", 8);
        p.client.qkey = 0x80000000u;
        try_send(&p, "a privileged key", 8);
        p.client.qkey = key;
        p.client.qpn = 0x7777;
        try_send(&p, "another QP", 8);
        p.client.qpn = qpn;
        try_send(&p, "1025 bytes", 1025);
        try_send(&p, "1024 bytes", 1024);
        end_receive(&p.server, BUFFER);
        try_send(&p, "nothing", 0);
        say("  %s %s", state_text(&p.client), state_text(&p.server));
        end_receive(&p.server, GRH + 7);
        try_send(&p, "too small a receive", 8);
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
}

/* --- address handles --------------------------------------------------- */

static void
try_handle(struct pair *p, const char *what, struct ibv_ah_attr attr)
{
    struct ibv_ah *ah = ibv_create_ah(p->client.pd, &attr);

    say("  %s: %s", what, ah == NULL ? errno_name(errno) : "0");
    if (ah != NULL)
        ibv_destroy_ah(ah);
}

static void
address_handles(void)
{
    struct ibv_ah_attr good, bad;
    struct timespec a, b;
    struct pair p;

    if (pair_connect(&p, &datagrams)) {
        good = p.last.param.ud.ah_attr;
        try_handle(&p, "its own", good);
        bad = good;
        bad.is_global = 0;
        try_handle(&p, "not global", bad);
        bad = good;
        bad.port_num = 2;
        try_handle(&p, "port 2", bad);
        bad = good;
        bad.grh.sgid_index = 0;
        try_handle(&p, "GID 0", bad);
        bad.grh.sgid_index = 77;
        try_handle(&p, "GID 77", bad);
        bad = good;
        memset(&bad.grh.dgid, 0, sizeof bad.grh.dgid);
        try_handle(&p, "to nowhere", bad);
        bad = good;
        bad.grh.dgid.raw[15] = 77;
        clock_gettime(CLOCK_MONOTONIC, &a);
        try_handle(&p, "an absent host", bad);
        clock_gettime(CLOCK_MONOTONIC, &b);
        say("  after more than 0.9 s: %d",
            (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 >
                900);
        say("  PD: %s", errno_name(ibv_dealloc_pd(p.client.pd)));
    }
    pair_close(&p);
}

/* --- multicast --------------------------------------------------------- */

/* Makes an id that is bound, with a QP if wanted. */
static bool
bound(struct pair *p, struct end *e, bool qp)
{
    struct sockaddr_in own = address(getenv("VC_TEST_ADDR"));

    memset(e, 0, sizeof *e);
    if (rdma_create_id(p->channel, &e->id, NULL, RDMA_PS_UDP) != 0 ||
        rdma_bind_addr(e->id, (struct sockaddr *)&own) != 0)
        return false;
    return !qp || (end_make(p, e) && end_receive(e, BUFFER) == 0);
}

static int
join(struct end *e, const char *group, void *context)
{
    struct sockaddr_in addr = address(group);

    return rdma_join_multicast(e->id, (struct sockaddr *)&addr, context);
}

static int
leave(struct end *e, const char *group)
{
    struct sockaddr_in addr = address(group);

    return rdma_leave_multicast(e->id, (struct sockaddr *)&addr);
}

static void
try_join(struct pair *p, struct end *e, const char *group)
{
    int result = join(e, group, e);

    say("  join %s: %s", group, outcome(result));
    if (result == 0 && event_next(p, 2000))
        say("  %s status %d, %s context, %u bytes, qp %x",
            rdma_event_str(p->last.event), p->last.status,
            p->last.param.ud.private_data == e ? "its" : "another",
            p->last.param.ud.private_data_len, p->last.param.ud.qp_num);
}

/* Joins, and can send to the group. */
static bool
member(struct pair *p, struct end *e)
{
    if (!bound(p, e, true))
        return false;
    try_join(p, e, GROUP);
    say_address(&p->last.param.ud);
    e->ah = ibv_create_ah(e->pd, &p->last.param.ud.ah_attr);
    e->qpn = GROUP_QPN;
    e->qkey = p->last.param.ud.qkey;
    return e->ah != NULL;
}

/* Takes the receive and the send of a member, which may be in either order. */
static void
say_both(struct end *e)
{
    struct ibv_wc wc;
    unsigned received = 0, sent = 0;

    while (end_complete(e, &wc, 200) >= 0) {
        if (wc.opcode == IBV_WC_RECV)
            received = wc.byte_len;
        else
            sent++;
    }
    say("  sent %u, received %u bytes", sent, received);
}

static void
a_group_and_two_members(void)
{
    struct end a, b;
    struct ibv_wc wc;
    struct pair p;

    pair_open(&p, &datagrams);
    if (member(&p, &a) && member(&p, &b)) {
        end_send(&a, 20, IBV_SEND_SIGNALED);
        say_both(&a);
        if (end_complete(&b, &wc, 500) == IBV_WC_SUCCESS) {
            const uint8_t *ip = b.memory + BUFFER + 20;
            struct ibv_grh *grh = (struct ibv_grh *)(b.memory + BUFFER);

            say("  %u bytes, flags %x, from %s, to %u.%u.%u.%u", wc.byte_len,
                wc.wc_flags,
                wc.src_qp == a.id->qp->qp_num ? "the sender" : "another",
                ip[16], ip[17], ip[18], ip[19]);
            say("  a handle of the sender: %s",
                ibv_create_ah_from_wc(b.pd, &wc, grh, 1) == NULL ? "none"
                                                                 : "0");
        }
        end_receive(&a, BUFFER);
        end_receive(&b, BUFFER);
        say("  leave: %s", outcome(leave(&a, GROUP)));
        say("  again: %s", outcome(leave(&a, GROUP)));
        end_send(&a, 21, IBV_SEND_SIGNALED);
        say_both(&a);
        say_both(&b);
        b.qkey++;
        end_receive(&b, BUFFER);
        end_send(&b, 22, IBV_SEND_SIGNALED);
        say_both(&b);
        say("  leave: %s", outcome(leave(&b, GROUP)));
        say_no_event(&p);
    }
    end_free(&a);
    end_free(&b);
    pair_close(&p);
}

static void
joins_that_are_refused(void)
{
    struct sockaddr_in own = address(getenv("VC_TEST_ADDR"));
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct end e = {0};
    struct pair p;

    v6.sin6_addr.s6_addr[0] = 0xff;
    v6.sin6_addr.s6_addr[15] = 0x77;
    pair_open(&p, &datagrams);
    rdma_create_id(p.channel, &e.id, NULL, RDMA_PS_UDP);
    try_join(&p, &e, GROUP);
    rdma_destroy_id(e.id);
    rdma_create_id(p.channel, &e.id, NULL, RDMA_PS_TCP);
    rdma_bind_addr(e.id, (struct sockaddr *)&own);
    try_join(&p, &e, GROUP);
    rdma_destroy_id(e.id);
    e.id = p.listener;
    try_join(&p, &e, GROUP);
    if (bound(&p, &e, true)) {
        try_join(&p, &e, "0.0.0.0");
        try_join(&p, &e, "10.9.0.5");
        say("  leave: %s", outcome(leave(&e, "10.9.0.5")));
        say("  leave: %s", outcome(leave(&e, GROUP)));
        say("  an IPv6 group: %d",
            rdma_join_multicast(e.id, (struct sockaddr *)&v6, NULL) == -1
                ? errno
                : 0);
    }
    end_free(&e);
    pair_close(&p);
}

static void
attached_qps(void)
{
    union ibv_gid gid = {.raw = {[10] = 255, 255, 239, 1, 2, 3}};
    union ibv_gid one = {.raw = {[10] = 255, 255, 10, 9, 0, 5}};
    struct ibv_qp *qp;
    struct end e;
    struct pair p;

    pair_open(&p, &datagrams);
    if (bound(&p, &e, true)) {
        qp = e.id->qp;
        say("  attach: %s", errno_name(ibv_attach_mcast(qp, &gid, 0)));
        say("  again: %s", errno_name(ibv_attach_mcast(qp, &gid, 0)));
        say("  no group: %s", errno_name(ibv_attach_mcast(qp, &one, 0)));
        say("  destroy: %s", errno_name(ibv_destroy_qp(qp)));
        say("  detach: %s", errno_name(ibv_detach_mcast(qp, &gid, 0)));
        say("  again: %s", errno_name(ibv_detach_mcast(qp, &gid, 0)));
    }
    end_free(&e);
    pair_close(&p);
}

/* Joins twice: leaving once detaches the QP for good. */
static void
a_group_joined_twice(void)
{
    struct end e;
    struct pair p;

    pair_open(&p, &datagrams);
    if (member(&p, &e)) {
        try_join(&p, &e, GROUP);
        say("  leave: %s", outcome(leave(&e, GROUP)));
        end_send(&e, 20, IBV_SEND_SIGNALED);
        say_both(&e);
        say("  leave: %s", outcome(leave(&e, GROUP)));
        say("  leave: %s", outcome(leave(&e, GROUP)));
    }
    end_free(&e);
    pair_close(&p);
}

const struct scenario datagram_scenarios[] = {
    {"a datagram service answers", a_service_answers},
    {"a datagram service refuses", a_service_refuses},
    {"no datagram service", no_service},
    {"datagrams and much private data", a_service_and_much_private_data},
    {"a datagram service without a connection", a_service_without_a_connection},
    {"datagrams arrive", datagrams_arrive},
    {"datagrams vanish", datagrams_vanish},
    {"address handles", address_handles},
    {"a group and two members", a_group_and_two_members},
    {"joins that are refused", joins_that_are_refused},
    {"attached QPs", attached_qps},
    {"a group joined twice", a_group_joined_twice},
    {NULL, NULL},
};
