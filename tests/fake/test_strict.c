/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where FAKE_STRICT checks and FAKE_RXE is as lax as Soft-RoCE: full queues,
 * attributes, retries. QPs are connected by hand, without rdma_cm. For keys,
 * windows, atomics and shared queues see test_keys.c, for datagrams
 * test_datagram.c. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "fake/fake.h"

#define DEPTH  8u
#define MEMORY 4096u
#define QPS    4
#define RIGHTS                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

/* QP 0 is connected to 1, 2 to 3; 0 and 2 complete into cq[0], the others
 * into cq[1]. */
struct bench {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq[2];
    struct ibv_qp *qp[QPS];
    struct ibv_mr *mr;
    _Alignas(8) uint8_t memory[MEMORY];
};

/* Attributes of the QPs that differ between tests. */
struct trait {
    uint8_t retry, rnr_retry, rnr_timer, depth;
};

static const struct trait usual = {
    .retry = 6, .rnr_retry = 6, .rnr_timer = 1, .depth = 4};

static bool
is_rxe(int profile)
{
    return profile == FAKE_RXE;
}

/* --- the bench --------------------------------------------------------- */

static int
qp_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS};

    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS);
}

static int
qp_rtr(struct ibv_qp *qp, const struct ibv_qp *peer, const struct trait *t)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp_num,
        .max_dest_rd_atomic = t->depth,
        .min_rnr_timer = t->rnr_timer,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = 1},
    };

    ibv_query_gid(qp->context, 1, 1, &a.ah_attr.grh.dgid);
    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                             IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int
qp_rts(struct ibv_qp *qp, const struct trait *t)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_RTS,
        .timeout = 10,
        .retry_cnt = t->retry,
        .rnr_retry = t->rnr_retry,
        .max_rd_atomic = t->depth,
    };

    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC);
}

static struct ibv_qp *
qp_new(struct bench *b, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = DEPTH,
                .max_recv_wr = DEPTH,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };

    return ibv_create_qp(b->pd, &init);
}

static void
bench_open(struct bench *b, int profile, const struct trait *t)
{
    struct ibv_device **list;

    fake_begin(&(struct fake_opts){
        .seed = 1, .profile = (enum fake_profile)profile, .trace = true});
    memset(b, 0, sizeof *b);
    list = ibv_get_device_list(NULL);
    b->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    b->pd = ibv_alloc_pd(b->context);
    b->mr = ibv_reg_mr(b->pd, b->memory, MEMORY, RIGHTS);
    for (int i = 0; i < 2; i++)
        b->cq[i] = ibv_create_cq(b->context, 64, NULL, NULL, 0);
    for (int i = 0; i < QPS; i++)
        b->qp[i] = qp_new(b, b->cq[i % 2]);
    for (int i = 0; i < QPS; i++) {
        assert_int_equal(qp_init(b->qp[i]), 0);
        assert_int_equal(qp_rtr(b->qp[i], b->qp[i ^ 1], t), 0);
        assert_int_equal(qp_rts(b->qp[i], t), 0);
    }
    fcntl(b->context->async_fd, F_SETFL, O_NONBLOCK);
}

static void
bench_close(struct bench *b)
{
    for (int i = 0; i < QPS; i++)
        if (b->qp[i] != NULL)
            assert_int_equal(ibv_destroy_qp(b->qp[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ibv_destroy_cq(b->cq[i]), 0);
    assert_int_equal(ibv_dereg_mr(b->mr), 0);
    assert_int_equal(ibv_dealloc_pd(b->pd), 0);
    assert_int_equal(ibv_close_device(b->context), 0);
    assert_int_equal(fake_end(), 0);
}

/* Posts 8 bytes from the start of the memory, to or from its middle. */
static int
post(struct bench *b, int i, enum ibv_wr_opcode opcode, uint32_t rkey)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)b->memory, .length = 8, .lkey = b->mr->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = opcode,
                                   .send_flags = IBV_SEND_SIGNALED};

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
        opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        wr.wr.atomic.remote_addr = (uintptr_t)b->memory + MEMORY / 2;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = 5;
        wr.wr.atomic.swap = 9;
    } else if (opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV) {
        wr.invalidate_rkey = rkey;
        wr.num_sge = opcode == IBV_WR_SEND_WITH_INV;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)b->memory + MEMORY / 2;
        wr.wr.rdma.rkey = rkey;
    }
    return ibv_post_send(b->qp[i], &wr, &bad);
}

static int
receive(struct bench *b, int i, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)b->memory + 1024,
                          .length = length,
                          .lkey = b->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    return ibv_post_recv(b->qp[i], &wr, &bad);
}

/* Returns the status of the next completion, or -1 if none came within ms. */
static int
complete(struct bench *b, int cq, struct ibv_wc *wc, unsigned ms)
{
    uint64_t until = fake_now_us() + ms * 1000u;

    do {
        if (ibv_poll_cq(b->cq[cq], 1, wc) == 1)
            return (int)wc->status;
    } while (fake_now_us() < until);
    return -1;
}

/* Posts, and returns the status of the completion. */
static int
does(struct bench *b, int i, enum ibv_wr_opcode opcode, uint32_t rkey)
{
    struct ibv_wc wc;

    assert_int_equal(post(b, i, opcode, rkey), 0);
    return complete(b, i % 2, &wc, 5000);
}

static enum ibv_qp_state
state_of(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
}

/* --- full queues ------------------------------------------------------- */

static int
write_quietly(struct bench *b)
{
    struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_RDMA_WRITE};
    int err = ibv_post_send(b->qp[0], &wr, &bad);

    fake_sleep_us(100); /* it has completed by then */
    return err;
}

static void
quiet_sends_hold_their_slots_until_a_completion_is_polled(void **state)
{
    struct ibv_wc wc;
    struct bench b;

    (void)state;
    bench_open(&b, FAKE_STRICT, &usual);
    for (unsigned i = 0; i < DEPTH - 1; i++)
        assert_int_equal(write_quietly(&b), 0);
    assert_int_equal(post(&b, 0, IBV_WR_RDMA_WRITE, b.mr->rkey), 0);
    fake_sleep_us(1000);
    assert_int_equal(write_quietly(&b), ENOMEM);
    assert_int_equal(complete(&b, 0, &wc, 1), IBV_WC_SUCCESS);
    for (unsigned i = 0; i < DEPTH; i++)
        assert_int_equal(write_quietly(&b), 0);
    assert_int_equal(write_quietly(&b), ENOMEM);
    bench_close(&b);
}

static void
soft_roce_frees_slots_by_itself(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, FAKE_RXE, &usual);
    for (unsigned i = 0; i < 10 * DEPTH; i++)
        assert_int_equal(write_quietly(&b), 0);
    bench_close(&b);
}

static void
a_completion_queue_that_overruns_loses_and_tells(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_async_event e;
        struct ibv_wc wc;
        struct bench b;
        int held = is_rxe(profile) ? 3 : 2;

        bench_open(&b, profile, &usual);
        assert_int_equal(ibv_resize_cq(b.cq[1], 2), 0);
        assert_int_equal(b.cq[1]->cqe, held);
        for (int i = 0; i < 5; i++)
            assert_int_equal(receive(&b, 1, 8), 0);
        for (int i = 0; i < held + 1; i++)
            assert_int_equal(does(&b, 0, IBV_WR_SEND, 0), IBV_WC_SUCCESS);
        assert_int_equal(ibv_get_async_event(b.context, &e), 0);
        assert_int_equal(e.event_type, IBV_EVENT_CQ_ERR);
        assert_ptr_equal(e.element.cq, b.cq[1]);
        ibv_ack_async_event(&e);
        assert_int_equal(ibv_get_async_event(b.context, &e), -1);
        assert_int_equal(state_of(b.qp[1]),
                         is_rxe(profile) ? IBV_QPS_RTS : IBV_QPS_ERR);
        for (int i = 0; i < held; i++)
            assert_int_equal(complete(&b, 1, &wc, 1), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 1, &wc, 1), -1);
        bench_close(&b);
    }
}

static void
completions_of_a_destroyed_queue_go_with_it(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_wc wc;
        struct bench b;

        bench_open(&b, profile, &usual);
        assert_int_equal(post(&b, 0, IBV_WR_RDMA_WRITE, b.mr->rkey), 0);
        fake_sleep_us(1000);
        assert_int_equal(post(&b, 2, IBV_WR_RDMA_WRITE, b.mr->rkey), 0);
        fake_sleep_us(1000);
        ibv_destroy_qp(b.qp[0]);
        b.qp[0] = NULL;
        assert_int_equal(complete(&b, 0, &wc, 1), IBV_WC_SUCCESS);
        assert_int_equal(complete(&b, 0, &wc, 1),
                         is_rxe(profile) ? IBV_WC_SUCCESS : -1);
        assert_int_equal(wc.qp_num, b.qp[2]->qp_num);
        bench_close(&b);
    }
}

/* --- states and attributes --------------------------------------------- */

static void
a_transition_wants_its_attributes(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        int lax = is_rxe(profile) ? 0 : EINVAL;
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
        struct ibv_qp *qp;
        struct bench b;

        bench_open(&b, profile, &usual);
        qp = qp_new(&b, b.cq[0]);
        /* first without access flags; then with a timeout, which is only
         * allowed later */
        assert_int_equal(
            ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT),
            lax);
        a.qp_state = IBV_QPS_RESET;
        assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
        a.qp_state = IBV_QPS_INIT;
        assert_int_equal(ibv_modify_qp(qp, &a,
                                       IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                           IBV_QP_PORT | IBV_QP_ACCESS_FLAGS |
                                           IBV_QP_TIMEOUT),
                         lax);
        assert_int_equal(ibv_destroy_qp(qp), 0);
        bench_close(&b);
    }
}

static void
no_state_is_skipped(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_qp *qp;
        struct bench b;

        bench_open(&b, profile, &usual);
        qp = qp_new(&b, b.cq[0]);
        assert_int_equal(qp_rts(qp, &usual), EINVAL);
        assert_int_equal(qp_rtr(qp, b.qp[0], &usual), EINVAL);
        assert_int_equal(qp_init(qp), 0);
        assert_int_equal(qp_rts(qp, &usual), EINVAL);
        assert_int_equal(qp_rtr(qp, b.qp[0], &usual), 0);
        assert_int_equal(qp_rtr(qp, b.qp[0], &usual), EINVAL);
        assert_int_equal(qp_rts(qp, &usual), 0);
        assert_int_equal(state_of(qp), IBV_QPS_RTS);
        assert_int_equal(ibv_destroy_qp(qp), 0);
        bench_close(&b);
    }
}

/* --- RNR retries ------------------------------------------------------- */

static void
each_rnr_retry_waits_for_the_peers_timer(void **state)
{
    /* timer 0 is 655.36 ms */
    static const struct {
        uint8_t retry, timer;
        unsigned us;
    } cases[] = {{0, 0, 0}, {1, 0, 655360}, {2, 0, 1310720}, {3, 14, 3840}};

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof cases[0]); i++) {
        struct trait t = usual;
        struct bench b;
        uint64_t start;

        t.rnr_retry = cases[i / 2].retry;
        t.rnr_timer = cases[i / 2].timer;
        bench_open(&b, i % 2, &t);
        start = fake_now_us();
        assert_int_equal(does(&b, 0, IBV_WR_SEND, 0), IBV_WC_RNR_RETRY_EXC_ERR);
        assert_in_range(fake_now_us() - start, cases[i / 2].us,
                        cases[i / 2].us + 50);
        assert_int_equal(state_of(b.qp[0]), IBV_QPS_ERR);
        assert_int_equal(state_of(b.qp[1]), IBV_QPS_RTS);
        bench_close(&b);
    }
}

static void
seven_rnr_retries_are_for_ever(void **state)
{
    struct trait t = usual;

    t.rnr_retry = 7;
    t.rnr_timer = 0;
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_wc wc;
        struct bench b;

        bench_open(&b, profile, &t);
        assert_int_equal(post(&b, 0, IBV_WR_SEND, 0), 0);
        fake_sleep_us(60000000);
        assert_int_equal(complete(&b, 0, &wc, 0), -1);
        assert_int_equal(receive(&b, 1, 8), 0);
        assert_int_equal(complete(&b, 0, &wc, 700), IBV_WC_SUCCESS);
        bench_close(&b);
    }
}

/* --- ways to fail ------------------------------------------------------ */

static void
a_receive_too_short_fails_both_ends(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_wc wc;
        struct bench b;

        bench_open(&b, profile, &usual);
        assert_int_equal(receive(&b, 1, 4), 0);
        assert_int_equal(does(&b, 0, IBV_WR_SEND, 0),
                         is_rxe(profile) ? IBV_WC_REM_OP_ERR
                                         : IBV_WC_REM_INV_REQ_ERR);
        assert_int_equal(complete(&b, 1, &wc, 1), is_rxe(profile)
                                                      ? IBV_WC_LOC_QP_OP_ERR
                                                      : IBV_WC_LOC_LEN_ERR);
        bench_close(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            quiet_sends_hold_their_slots_until_a_completion_is_polled),
        cmocka_unit_test(soft_roce_frees_slots_by_itself),
        cmocka_unit_test(a_completion_queue_that_overruns_loses_and_tells),
        cmocka_unit_test(completions_of_a_destroyed_queue_go_with_it),
        cmocka_unit_test(a_transition_wants_its_attributes),
        cmocka_unit_test(no_state_is_skipped),
        cmocka_unit_test(each_rnr_retry_waits_for_the_peers_timer),
        cmocka_unit_test(seven_rnr_retries_are_for_ever),
        cmocka_unit_test(a_receive_too_short_fails_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
