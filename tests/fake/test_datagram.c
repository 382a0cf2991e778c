/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Datagrams of the simulated adapter: the header of 40 bytes before a datagram,
 * silent drops, datagrams that are too long, and address handles. */
#include <arpa/inet.h>
#include <errno.h>
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
                .max_send_sge = 2,
                .max_recv_sge = 1,
                .max_inline_data = 32},
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
receive_into(struct bench *b, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)b->memory + HALF,
                          .length = length,
                          .lkey = b->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    assert_int_equal(ibv_post_recv(b->qp[1], &wr, &bad), 0);
}

static void
receive(struct bench *b)
{
    receive_into(b, HALF);
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
        struct ibv_ah_attr back;
        union ibv_gid own;
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
        assert_int_equal(b.memory[HALF + 20], 0x45); /* IPv4 */
        assert_memory_equal(b.memory + HALF + 32, b.memory + HALF + 36, 4);
        assert_int_equal(ibv_init_ah_from_wc(b.context, 1, &wc, grh, &back), 0);
        assert_int_equal(ibv_query_gid(b.context, 1, 1, &own), 0);
        assert_memory_equal(&back.grh.dgid, &own, sizeof own);
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

/* As the specification has it; Soft-RoCE sends the privileged one. */
static void
a_strict_adapter_has_its_own_qkey_for_a_privileged_one(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct bench b;
        struct ibv_wc wc;

        bench_open(&b, profile);
        receive(&b);
        assert_int_equal(tell(&b, 8, 0x80000000u), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc),
                         profile == FAKE_STRICT ? IBV_WC_SUCCESS : -1);
        bench_close(&b);
    }
}

/* --- the queues -------------------------------------------------------- */

static void
pieces_go_as_one_datagram_inline_or_not(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= IBV_SEND_INLINE;
         flags += IBV_SEND_INLINE) {
        struct ibv_sge sge[2];
        struct ibv_send_wr *bad, wr = {.sg_list = sge,
                                       .num_sge = 2,
                                       .opcode = IBV_WR_SEND,
                                       .send_flags = flags};
        struct bench b;
        struct ibv_wc wc;

        bench_open(&b, FAKE_STRICT);
        memcpy(b.memory, "to be continued", 15);
        sge[0] = (struct ibv_sge){(uintptr_t)b.memory, 3, b.mr->lkey};
        sge[1] = (struct ibv_sge){(uintptr_t)b.memory + 6, 9, b.mr->lkey};
        wr.wr.ud.ah = b.ah;
        wr.wr.ud.remote_qpn = b.qp[1]->qp_num;
        wr.wr.ud.remote_qkey = QKEY;
        receive(&b);
        assert_int_equal(ibv_post_send(b.qp[0], &wr, &bad), 0);
        assert_int_equal(complete(&b, 1, &wc), IBV_WC_SUCCESS);
        assert_int_equal(wc.byte_len, GRH + 12);
        assert_int_equal(wc.wc_flags, IBV_WC_GRH);
        assert_memory_equal(b.memory + HALF + GRH, "to continued", 12);
        assert_int_equal(complete(&b, 0, &wc), -1); /* no signal was asked */
        bench_close(&b);
    }
}

static void
a_receive_without_room_for_the_header_ends_its_qp(void **state)
{
    struct bench b;
    struct ibv_wc wc;

    (void)state;
    bench_open(&b, FAKE_RXE);
    receive_into(&b, GRH + 7);
    receive(&b);
    assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS);
    assert_int_equal(complete(&b, 1, &wc), IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(complete(&b, 1, &wc), IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS);
    bench_close(&b);
}

static void
what_waits_in_a_qp_that_fails_is_flushed(void **state)
{
    struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
    struct bench b;
    struct ibv_wc wc;

    (void)state;
    bench_open(&b, FAKE_STRICT);
    receive(&b);
    assert_int_equal(ibv_modify_qp(b.qp[1], &err, IBV_QP_STATE), 0);
    assert_int_equal(complete(&b, 1, &wc), IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(ibv_modify_qp(b.qp[0], &err, IBV_QP_STATE), 0);
    assert_int_equal(tell(&b, 8, QKEY), IBV_WC_WR_FLUSH_ERR);
    bench_close(&b);
}

static void
a_removed_device_flushes_and_a_port_that_is_down_sends_nothing(void **state)
{
    struct bench b;
    struct ibv_wc wc;

    (void)state;
    bench_open(&b, FAKE_STRICT);
    receive(&b);
    fake_port_set(fake_host_local(), false);
    assert_int_equal(tell(&b, 8, QKEY), IBV_WC_SUCCESS);
    assert_int_equal(complete(&b, 1, &wc), -1);
    fake_port_set(fake_host_local(), true);
    fake_device_remove(fake_host_local());
    assert_int_equal(complete(&b, 1, &wc), IBV_WC_WR_FLUSH_ERR);
    bench_close(&b);
}

/* --- address handles --------------------------------------------------- */

static void
a_device_has_so_many_address_handles(void **state)
{
    struct ibv_ah_attr attr = {
        .is_global = 1, .port_num = 1, .grh.sgid_index = 1};
    struct ibv_device_attr device;
    struct ibv_ah *second;
    struct bench b;

    (void)state;
    bench_open(&b, FAKE_RXE);
    fake_device_handles(fake_host_local(), 2);
    assert_int_equal(ibv_query_device(b.context, &device), 0);
    assert_int_equal(device.max_ah, 2);
    assert_int_equal(ibv_query_gid(b.context, 1, 1, &attr.grh.dgid), 0);
    second = ibv_create_ah(b.pd, &attr);
    assert_non_null(second);
    assert_null(ibv_create_ah(b.pd, &attr));
    assert_int_equal(errno, EINVAL);
    ibv_destroy_ah(second);
    second = ibv_create_ah(b.pd, &attr);
    assert_non_null(second);
    ibv_destroy_ah(second);
    bench_close(&b);
}

static void
the_kernel_looks_a_second_for_an_absent_host(void **state)
{
    struct ibv_ah_attr attr = {
        .is_global = 1, .port_num = 1, .grh.sgid_index = 1};
    struct bench b;
    uint64_t begin;

    (void)state;
    bench_open(&b, FAKE_RXE);
    assert_int_equal(ibv_query_gid(b.context, 1, 1, &attr.grh.dgid), 0);
    attr.grh.dgid.raw[15] = 77;
    begin = fake_now_us();
    assert_null(ibv_create_ah(b.pd, &attr));
    assert_int_equal(errno, ETIMEDOUT);
    assert_in_range(fake_now_us() - begin, 1000000, 1100000);
    attr.is_global = 0;
    assert_null(ibv_create_ah(b.pd, &attr));
    assert_int_equal(errno, EINVAL);
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
        cmocka_unit_test(
            a_strict_adapter_has_its_own_qkey_for_a_privileged_one),
        cmocka_unit_test(pieces_go_as_one_datagram_inline_or_not),
        cmocka_unit_test(a_receive_without_room_for_the_header_ends_its_qp),
        cmocka_unit_test(what_waits_in_a_qp_that_fails_is_flushed),
        cmocka_unit_test(
            a_removed_device_flushes_and_a_port_that_is_down_sends_nothing),
        cmocka_unit_test(a_device_has_so_many_address_handles),
        cmocka_unit_test(the_kernel_looks_a_second_for_an_absent_host),
        cmocka_unit_test(
            more_than_the_mtu_vanishes_on_soft_roce_and_fails_if_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
