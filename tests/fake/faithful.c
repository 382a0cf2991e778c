/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The common behaviour of a real device and the fake. Each scenario prints its
 * outcome; tests/fake/faithful.sh runs this program on both and compares. Lines
 * that begin with "~" may differ. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faithful.h"
#include "scenarios.h"

const char *
outcome(int result)
{
    return result == 0 ? "0" : errno_name(errno);
}

/* --- connecting -------------------------------------------------------- */

static void
nobody_listens(void)
{
    struct pair p;

    pair_open(&p, NULL);
    rdma_destroy_id(p.listener);
    rdma_create_id(p.channel, &p.listener, NULL, RDMA_PS_TCP);
    if (pair_resolve(&p) && end_make(&p, &p.client)) {
        struct rdma_conn_param param = {.retry_count = 6};

        rdma_connect(p.client.id, &param);
        if (event_expect(&p, RDMA_CM_EVENT_REJECTED))
            say("  rejected with status %d, %u bytes", p.last.status,
                p.said_len);
    }
    pair_close(&p);
}

static void
rejected_with_words(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && pair_ask(&p, "please", 6)) {
        say("  asked with %u bytes: %s; qpn %s; depths %u %u; retries %u %u",
            p.said_len, (char *)p.said,
            p.last.param.conn.qp_num == p.client.id->qp->qp_num ? "its"
                                                                : "other",
            p.last.param.conn.responder_resources,
            p.last.param.conn.initiator_depth, p.last.param.conn.retry_count,
            p.last.param.conn.rnr_retry_count);
        say("  too long: %s", outcome(rdma_reject(p.server.id, p.said, 149)));
        rdma_reject(p.server.id, "no", 2);
        if (event_expect(&p, RDMA_CM_EVENT_REJECTED))
            say("  rejected with status %d, %u bytes: %s", p.last.status,
                p.said_len, (char *)p.said);
    }
    pair_close(&p);
}

static void
destroyed_instead_of_accepted(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && pair_ask(&p, NULL, 0)) {
        rdma_destroy_id(p.server.id);
        p.server.id = NULL;
        if (event_expect(&p, RDMA_CM_EVENT_REJECTED))
            say("  rejected with status %d, %u bytes, first %u", p.last.status,
                p.said_len, p.said[0]);
    }
    pair_close(&p);
}

static void
private_data_too_long(void)
{
    uint8_t much[256] = {0};
    struct rdma_conn_param param = {.private_data = much,
                                    .private_data_len = 57};
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && end_make(&p, &p.client)) {
        say("  connect: %s", outcome(rdma_connect(p.client.id, &param)));
        param.private_data_len = 1;
        param.responder_resources = 129;
        say("  connect: %s", outcome(rdma_connect(p.client.id, &param)));
        if (pair_ask(&p, NULL, 0) && end_make(&p, &p.server)) {
            param.responder_resources = 0;
            param.private_data_len = 197;
            say("  accept: %s", outcome(rdma_accept(p.server.id, &param)));
            if (event_expect(&p, RDMA_CM_EVENT_REJECTED))
                say("  rejected with status %d", p.last.status);
        }
    }
    pair_close(&p);
}

static void
addresses_that_lead_nowhere(void)
{
    struct sockaddr_in loop = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in far = loop;
    struct sockaddr_in absent = loop;
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct rdma_cm_id *id;
    struct pair p;

    inet_pton(AF_INET, "127.0.0.1", &loop.sin_addr);
    inet_pton(AF_INET, "192.0.2.1", &far.sin_addr);
    inet_pton(AF_INET, "10.9.0.77", &absent.sin_addr);
    pair_open(&p, NULL);
    rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP);
    say("  far: %s",
        outcome(rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 300)));
    say("  from an address of no family: %s",
        outcome(rdma_resolve_addr(id, &none, (struct sockaddr *)&absent, 300)));
    say("  absent: %d",
        rdma_resolve_addr(id, NULL, (struct sockaddr *)&absent, 300));
    if (event_expect(&p, RDMA_CM_EVENT_ADDR_ERROR))
        say("  status %d", p.last.status);
    rdma_destroy_id(id);
    rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP);
    say("  loopback: %d",
        rdma_resolve_addr(id, NULL, (struct sockaddr *)&loop, 300));
    if (event_expect(&p, RDMA_CM_EVENT_ADDR_RESOLVED))
        say("  its route: %s", outcome(rdma_resolve_route(id, 300)));
    rdma_destroy_id(id);
    pair_close(&p);
}

static void
ports_that_are_taken(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    struct rdma_cm_id *id;
    struct pair p;

    pair_open(&p, NULL);
    addr.sin_port = htons(p.port);
    inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &addr.sin_addr);
    rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP);
    say("  the same: %s",
        outcome(rdma_bind_addr(id, (struct sockaddr *)&addr)));
    rdma_destroy_id(id);
    rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP);
    addr.sin_port = 0;
    inet_pton(AF_INET, "10.9.0.78", &addr.sin_addr);
    say("  not ours: %s",
        outcome(rdma_bind_addr(id, (struct sockaddr *)&addr)));
    rdma_destroy_id(id);
    say("  listen twice: %s", outcome(rdma_listen(p.listener, 0)));
    pair_close(&p);
}

static void
disconnected_in_order(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        end_receive(&p.server, 64);
        say("  disconnect: %d", rdma_disconnect(p.client.id));
        if (event_expect(&p, RDMA_CM_EVENT_DISCONNECTED))
            say("  first told: %s, status %d; states %s %s",
                p.last.id == p.server.id ? "server" : "client", p.last.status,
                state_text(&p.client), state_text(&p.server));
        say("  its receive: %s", complete_text(&p.server, 20));
        rdma_disconnect(p.server.id);
        say("  after its own: %s", complete_text(&p.server, 1000));
        say("  %s", state_text(&p.server));
        if (event_expect(&p, RDMA_CM_EVENT_DISCONNECTED))
            say("  then told: %s",
                p.last.id == p.server.id ? "server" : "client");
    }
    pair_close(&p);
}

static void
the_other_end_is_destroyed(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        rdma_destroy_qp(p.server.id);
        rdma_destroy_id(p.server.id);
        p.server.id = NULL;
        if (event_expect(&p, RDMA_CM_EVENT_DISCONNECTED))
            say("  told: %s", state_text(&p.client));
    }
    pair_close(&p);
}

static void
not_connected(void)
{
    struct rdma_cm_id *id;
    struct pair p;

    pair_open(&p, NULL);
    rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP);
    say("  disconnect: %s", outcome(rdma_disconnect(id)));
    rdma_destroy_id(id);
    pair_close(&p);
}

/* --- moving bytes ------------------------------------------------------ */

static void
messages_arrive(void)
{
    static const uint32_t sizes[] = {0, 1, 64, 1024, 1025, 4096};
    struct pair p;

    if (pair_connect(&p, NULL)) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct ibv_wc sent, got;

            memset(p.client.memory, (int)(i + 1), BUFFER);
            end_receive(&p.server, BUFFER);
            end_send(&p.client, sizes[i], IBV_SEND_SIGNALED);
            if (end_complete(&p.client, &sent, 2000) != 0 ||
                end_complete(&p.server, &got, 2000) != 0)
                say("  %u bytes: lost", sizes[i]);
            else
                say("  %u bytes: opcode %d, %u bytes, flags %u, last %u",
                    sizes[i], got.opcode, got.byte_len, got.wc_flags,
                    sizes[i] == 0 ? 0 : p.server.memory[BUFFER + sizes[i] - 1]);
        }
    }
    pair_close(&p);
}

static void
inline_has_a_limit(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        end_receive(&p.server, BUFFER);
        say("  64: %s", errno_name(end_send(&p.client, 64, IBV_SEND_INLINE)));
        say("  4000: %s",
            errno_name(end_send(&p.client, 4000, IBV_SEND_INLINE)));
    }
    pair_close(&p);
}

static void
a_receive_too_small(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        end_receive(&p.server, 16);
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        say("  sender: %s", complete_text(&p.client, 2000));
        say("  receiver: %s", complete_text(&p.server, 2000));
        say("  %s", state_text(&p.client));
        say("  event: %s", event_next(&p, 100) ? "one" : "none");
    }
    pair_close(&p);
}

static void
no_receive_and_no_patience(void)
{
    const struct wish wish = {.retries_given = true, .retry = 6};
    struct pair p;

    if (pair_connect(&p, &wish)) {
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        say("  sender: %s", complete_text(&p.client, 3000));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
}

static void
a_receive_comes_late(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        struct ibv_qp_attr attr = {.min_rnr_timer = 14};

        say("  timer: %d",
            ibv_modify_qp(p.server.id->qp, &attr, IBV_QP_MIN_RNR_TIMER));
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        say("  at first: %s", complete_text(&p.client, 0));
        end_receive(&p.server, 64);
        say("  then: %s", complete_text(&p.client, 3000));
    }
    pair_close(&p);
}

static void
the_peer_is_silent(void)
{
    const struct wish wish = {
        .retries_given = true, .retry = 2, .rnr_retry = 6, .timeout = 10};
    struct pair p;

    if (pair_connect(&p, &wish)) {
        rdma_destroy_qp(p.server.id);
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        end_send(&p.client, 64, 0);
        say("  %s", complete_text(&p.client, 5000));
        say("  %s", complete_text(&p.client, 1000));
        say("  %s; event %s", state_text(&p.client),
            event_next(&p, 100) ? "one" : "none");
    }
    pair_close(&p);
}

static void
posts_in_each_state(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && end_make(&p, &p.client)) {
        struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

        say("  %s", state_text(&p.client));
        say("  send: %s", errno_name(end_send(&p.client, 8, 0)));
        say("  receive: %s", errno_name(end_receive(&p.client, 8)));
        say("  to ERR: %d",
            ibv_modify_qp(p.client.id->qp, &attr, IBV_QP_STATE));
        say("  its receive: %s", complete_text(&p.client, 1000));
        say("  send: %s", errno_name(end_send(&p.client, 8, 0)));
        say("  its completion: %s", complete_text(&p.client, 1000));
        attr.qp_state = IBV_QPS_RESET;
        say("  to RESET: %d",
            ibv_modify_qp(p.client.id->qp, &attr, IBV_QP_STATE));
    }
    pair_close(&p);
}

static void
keys_that_do_not_fit(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        struct ibv_sge sge = {.addr = (uintptr_t)p.client.memory,
                              .length = 64,
                              .lkey = p.client.mr->lkey};
        struct ibv_send_wr wr = {.sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_WRITE,
                                 .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad;

        end_receive(&p.server, 64);
        wr.wr.rdma.remote_addr = (uintptr_t)p.server.memory;
        wr.wr.rdma.rkey = p.server.mr->rkey; /* no remote access */
        ibv_post_send(p.client.id->qp, &wr, &bad);
        say("  write: %s", complete_text(&p.client, 2000));
        say("  receive: %s", complete_text(&p.server, 2000));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
    if (pair_connect(&p, NULL)) {
        p.client.mr->lkey ^= 0x5a;
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        say("  bad lkey: %s", complete_text(&p.client, 2000));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
        p.client.mr->lkey ^= 0x5a;
    }
    pair_close(&p);
}

static void
rdma_with_rights(void)
{
    const struct wish wish = {.access = IBV_ACCESS_REMOTE_WRITE |
                                        IBV_ACCESS_REMOTE_READ |
                                        IBV_ACCESS_REMOTE_ATOMIC};
    struct pair p;

    if (pair_connect(&p, &wish)) {
        struct ibv_sge sge = {.addr = (uintptr_t)p.client.memory,
                              .length = 8,
                              .lkey = p.client.mr->lkey};
        struct ibv_send_wr wr = {.sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_WRITE,
                                 .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad;
        struct ibv_wc wc;

        memset(p.client.memory, 7, 8);
        wr.wr.rdma.remote_addr = (uintptr_t)p.server.memory;
        wr.wr.rdma.rkey = p.server.mr->rkey;
        ibv_post_send(p.client.id->qp, &wr, &bad);
        say("  write: %s", complete_text(&p.client, 2000));
        say("  %u", p.server.memory[7]);
        wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        wr.imm_data = htonl(4711);
        end_receive(&p.server, 64);
        ibv_post_send(p.client.id->qp, &wr, &bad);
        say("  write with imm: %s", complete_text(&p.client, 2000));
        if (end_complete(&p.server, &wc, 2000) == 0)
            say("  opcode %d, %u bytes, imm %u", wc.opcode, wc.byte_len,
                ntohl(wc.imm_data));
        memset(p.server.memory, 9, 8);
        wr.opcode = IBV_WR_RDMA_READ;
        ibv_post_send(p.client.id->qp, &wr, &bad);
        say("  read: %s", complete_text(&p.client, 2000));
        say("  %u", p.client.memory[7]);
        wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        wr.wr.atomic.remote_addr = (uintptr_t)p.server.memory;
        wr.wr.atomic.rkey = p.server.mr->rkey;
        wr.wr.atomic.compare_add = 1;
        ibv_post_send(p.client.id->qp, &wr, &bad);
        say("  add: %s", complete_text(&p.client, 2000));
        say("  %u then %u", p.client.memory[0], p.server.memory[0]);
        wr.wr.atomic.remote_addr++;
        say("  misaligned: %s",
            errno_name(ibv_post_send(p.client.id->qp, &wr, &bad)));
    }
    pair_close(&p);
}

static int
write_nothing(struct end *e)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;

    return ibv_post_send(e->id->qp, &wr, &bad);
}

/* A write of no bytes needs no memory, key or address that is accessible, but
 * the QP must have the right. */
static void
a_write_of_nothing(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

        say("  rights: %s", errno_name(ibv_modify_qp(p.server.id->qp, &attr,
                                                     IBV_QP_ACCESS_FLAGS)));
        say("  posted: %s", errno_name(write_nothing(&p.client)));
        say("  write: %s", complete_text(&p.client, 2000));
        say("  receive: %s", complete_text(&p.server, 10));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
        attr.qp_access_flags = 0;
        say("  no rights: %s", errno_name(ibv_modify_qp(p.server.id->qp, &attr,
                                                        IBV_QP_ACCESS_FLAGS)));
        write_nothing(&p.client);
        say("  write: %s", complete_text(&p.client, 2000));
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
}

static void
a_shared_queue_has_a_limit(void)
{
    const struct wish wish = {.srq = true};
    struct pair p;

    if (pair_connect(&p, &wish)) {
        struct ibv_srq_attr attr = {.srq_limit = 2};
        struct ibv_async_event e;

        for (int i = 0; i < 4; i++)
            end_receive(&p.server, 64);
        say("  armed: %d", ibv_modify_srq(p.server.srq, &attr, IBV_SRQ_LIMIT));
        for (int i = 0; i < 3; i++) {
            end_send(&p.client, 8, IBV_SEND_SIGNALED);
            complete_text(&p.client, 2000);
        }
        if (ibv_get_async_event(p.server.id->verbs, &e) == 0) {
            say("  event %d, %s", e.event_type,
                e.element.srq == p.server.srq ? "its" : "another's");
            ibv_ack_async_event(&e);
        }
        ibv_query_srq(p.server.srq, &attr);
        say("  limit now %u", attr.srq_limit);
    }
    pair_close(&p);
}

static void
sends_without_a_signal(void)
{
    struct pair p;
    unsigned n = 0;

    if (pair_connect(&p, NULL)) {
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 8; i++)
                end_receive(&p.server, 64);
            for (int i = 0; i < 8; i++)
                n += end_send(&p.client, 8, 0) == 0;
            for (int i = 0; i < 8; i++)
                complete_text(&p.server, 2000);
        }
        say("~ %u of 80 taken by a queue of 16", n);
        say("  completions: %s", complete_text(&p.client, 10));
    }
    pair_close(&p);
}

static void
objects_in_use(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        say("  PD: %s", errno_name(ibv_dealloc_pd(p.client.pd)));
        say("  CQ: %s", errno_name(ibv_destroy_cq(p.client.cq)));
    }
    pair_close(&p);
}

static void
run(const struct scenario *s)
{
    for (; s->name != NULL; s++) {
        say("%s", s->name);
        s->run();
    }
}

int
main(void)
{
    static const struct scenario scenarios[] = {
        {"nobody listens", nobody_listens},
        {"rejected with words", rejected_with_words},
        {"destroyed instead of accepted", destroyed_instead_of_accepted},
        {"private data too long", private_data_too_long},
        {"accepted with words", accepted_with_words},
        {"accepted without parameters", accepted_without_parameters},
        {"addresses that lead nowhere", addresses_that_lead_nowhere},
        {"ports that are taken", ports_that_are_taken},
        {"disconnected in order", disconnected_in_order},
        {"the other end is destroyed", the_other_end_is_destroyed},
        {"not connected", not_connected},
        {"messages arrive", messages_arrive},
        {"inline has a limit", inline_has_a_limit},
        {"a receive too small", a_receive_too_small},
        {"no receive and no patience", no_receive_and_no_patience},
        {"a receive comes late", a_receive_comes_late},
        {"the peer is silent", the_peer_is_silent},
        {"posts in each state", posts_in_each_state},
        {"keys that do not fit", keys_that_do_not_fit},
        {"RDMA with rights", rdma_with_rights},
        {"a write of nothing", a_write_of_nothing},
        {"a shared queue has a limit", a_shared_queue_has_a_limit},
        {"sends without a signal", sends_without_a_signal},
        {"objects in use", objects_in_use},
        {NULL, NULL},
    };

    if (getenv("VC_TEST_ADDR") == NULL) {
        fprintf(stderr, "VC_TEST_ADDR is not set\n");
        return 77;
    }
    run(scenarios);
    run(datagram_scenarios);
    run(faithful_windows);
    run(faithful_sync);
    if (machine_may_change())
        run(faithful_device);
    return 0;
}
