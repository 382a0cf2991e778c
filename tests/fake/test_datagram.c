/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Datagrams of the simulated adapter: the header of 40 bytes before a datagram,
 * silent drops, and datagrams that are too long. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "fake/fake.h"

#define QKEY 0x1234u
#define GRH  40u
#define HALF 2048u

struct bench {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq[2]; /* [0] of the sender, [1] of the receiver */
    struct ibv_qp *qp[2];
    struct ibv_mr *mr;
    struct ibv_ah *ah; /* to the host itself */
    uint8_t memory[2 * HALF];
};

/* --- the bench --------------------------------------------------------- */

static struct ibv_qp *
qp_ready(struct bench *b, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_UD,
        .cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct ibv_qp *qp = ibv_create_qp(b->pd, &init);
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

    assert_non_null(qp);
    assert_int_equal(ibv_modify_qp(qp, &a,
                                   IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                       IBV_QP_PORT | IBV_QP_QKEY),
                     0);
    a.qp_state = IBV_QPS_RTR;
    assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
    a.qp_state = IBV_QPS_RTS;
    assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    return qp;
}

static void
bench_open(struct bench *b, int profile)
{
    struct ibv_ah_attr attr = {
        .is_global = 1, .port_num = 1, .grh.sgid_index = 1};
    struct ibv_device **list;

    fake_begin(&(struct fake_opts){
        .seed = 1, .profile = (enum fake_profile)profile, .trace = true});
    memset(b, 0, sizeof *b);
    list = ibv_get_device_list(NULL);
    b->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    b->pd = ibv_alloc_pd(b->context);
    b->mr =
        ibv_reg_mr(b->pd, b->memory, sizeof b->memory, IBV_ACCESS_LOCAL_WRITE);
    for (int i = 0; i < 2; i++) {
        b->cq[i] = ibv_create_cq(b->context, 8, NULL, NULL, 0);
        b->qp[i] = qp_ready(b, b->cq[i]);
    }
    assert_int_equal(ibv_query_gid(b->context, 1, 1, &attr.grh.dgid), 0);
    b->ah = ibv_create_ah(b->pd, &attr);
    assert_non_null(b->ah);
}

static void
bench_close(struct bench *b)
{
    assert_int_equal(ibv_destroy_ah(b->ah), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ibv_destroy_qp(b->qp[i]), 0);
        assert_int_equal(ibv_destroy_cq(b->cq[i]), 0);
    }
    assert_int_equal(ibv_dereg_mr(b->mr), 0);
    assert_int_equal(ibv_dealloc_pd(b->pd), 0);
    assert_int_equal(ibv_close_device(b->context), 0);
    assert_int_equal(fake_end(), 0);
}

static void
receive(struct bench *b)
{
    struct ibv_sge sge = {.addr = (uintptr_t)b->memory + HALF,
                          .length = HALF,
                          .lkey = b->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    assert_int_equal(ibv_post_recv(b->qp[1], &wr, &bad), 0);
}

/* Returns the status of the next completion, or -1 if none came within a
 * millisecond. */
static int
complete(struct bench *b, int i, struct ibv_wc *wc)
{
    uint64_t until = fake_now_us() + 1000;

    do {
        if (ibv_poll_cq(b->cq[i], 1, wc) == 1)
            return (int)wc->status;
    } while (fake_now_us() < until);
    return -1;
}

/* Sends a datagram; returns the status at the sender. */
static int
tell(struct bench *b, uint32_t length, uint32_t qkey)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)b->memory, .length = length, .lkey = b->mr->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND_WITH_IMM,
                                   .imm_data = htonl(77),
                                   .send_flags = IBV_SEND_SIGNALED};
    struct ibv_wc wc;

    wr.wr.ud.ah = b->ah;
    wr.wr.ud.remote_qpn = b->qp[1]->qp_num;
    wr.wr.ud.remote_qkey = qkey;
    assert_int_equal(ibv_post_send(b->qp[0], &wr, &bad), 0);
    return complete(b, 0, &wc);
}

/* --- what arrives ------------------------------------------------------ */

static void
a_datagram_comes_after_its_header(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_grh *grh;
        struct bench b;
        struct ibv_wc wc;

        bench_open(&b, profile);
        receive(&b);
        memset(b.memory, 9, 100);
        assert_int_equal(tell(&b, 100, QKEY), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
        assert_int_equal(wc.byte_len, GRH + 100);
        assert_int_equal(wc.src_qp, b.qp[0]->qp_num);
        assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
        assert_int_equal(ntohl(wc.imm_data), 77);
        assert_int_equal(b.memory[HALF + GRH], 9);
        assert_int_equal(b.memory[HALF + GRH + 99], 9);
        assert_int_equal(b.memory[HALF + GRH + 100], 0);

        grh = (struct ibv_grh *)(b.memory + HALF);
        assert_memory_equal(&grh->sgid, &grh->dgid, sizeof grh->sgid);
        ibv_destroy_ah(b.ah); /* the receiver can answer */
        b.ah = ibv_create_ah_from_wc(b.pd, &wc, grh, 1);
        assert_non_null(b.ah);
        receive(&b);
        assert_int_equal(tell(&b, 1, QKEY), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
        bench_close(&b);
    }
}

static void
the_sender_hears_nothing_of_what_is_dropped(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct bench b;
        struct ibv_wc wc;

        bench_open(&b, profile);
        assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS); /* no receive */
        receive(&b);
        assert_int_equal(tell(&b, 8, QKEY + 1), IBV_WC_SUCCESS);
        fake_rule("SEND_WITH_IMM 8 B", 1, FAKE_LOSE, 0);
        assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc), -1);
        assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
        bench_close(&b);
    }
}

static void
the_senders_own_qkey_stands_for_a_privileged_one(void **state)
{
    struct bench b;
    struct ibv_wc wc;

    (void)state;
    bench_open(&b, FAKE_STRICT);
    receive(&b);
    assert_int_equal(tell(&b, 8, 0x80000000u), IBV_WC_SUCCESS);
    assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
    bench_close(&b);
}

/* --- length ------------------------------------------------------------ */

static void
more_than_the_mtu_vanishes_on_soft_roce_and_fails_if_strict(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct bench b;
        struct ibv_wc wc;

        bench_open(&b, profile);
        receive(&b);
        assert_int_equal(tell(&b, 1024, QKEY), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
        receive(&b);
        assert_int_equal(tell(&b, 1025, QKEY), profile == FAKE_RXE
                                                   ? IBV_WC_SUCCESS
                                                   : IBV_WC_LOC_LEN_ERR);
        assert_int_equal(complete(&b, 1, &wc), -1);
        bench_close(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_comes_after_its_header),
        cmocka_unit_test(the_sender_hears_nothing_of_what_is_dropped),
        cmocka_unit_test(the_senders_own_qkey_stands_for_a_privileged_one),
        cmocka_unit_test(
            more_than_the_mtu_vanishes_on_soft_roce_and_fails_if_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
