/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Successive connections of a QP (transport/rdma/qp.h): what the next one sees
 * of the one before, which sends request a completion, and which owner gets an
 * event. tests/sim/test_recycle has runtimes that do it. */
#include "tests/sim/sim.h"
#include "transport/rdma/device.h"
#include "transport/rdma/qp.h"

#define PATIENCE 10000u /* us */

struct life {
    struct vc__qp qp;
    unsigned completions;
    enum ibv_wc_status why; /* of the last failed completion */
};

static void
life_received(struct vc__qp *qp, const uint8_t *data, uint32_t len)
{
    (void)data;
    (void)len;
    caa_container_of(qp, struct life, qp)->completions++;
}

static void
life_sent(struct vc__qp *qp, uint32_t number)
{
    (void)number;
    caa_container_of(qp, struct life, qp)->completions++;
}

static void
life_failed(struct vc__qp *qp, enum ibv_wc_status why)
{
    struct life *l = caa_container_of(qp, struct life, qp);

    l->completions++;
    l->why = why;
}

static const struct vc__qp_ops life_ops = {
    .received = life_received, .sent = life_sent, .failed = life_failed};

/* Runs body() in a world of one device without a runtime. */
static void
with_device(uint64_t seed, void (*body)(struct vc__device *))
{
    struct vc__engine engine;
    struct vc__device *d;
    struct ibv_context **verbs;

    sim_begin(seed, 0, true);
    verbs = rdma_get_devices(NULL);
    assert_non_null(verbs);
    assert_int_equal(vc__engine_init(&engine, 0), 0);
    assert_int_equal(vc__device_new(&engine, verbs[0], 1 << 20, 4, &d), VC_OK);
    body(d);
    vc__device_free(d);
    vc__engine_fini(&engine);
    rdma_free_devices(verbs);
    assert_int_equal(fake_end(), 0);
}

/* --- what the next connection sees ------------------------------------- */

/* The first use of a QP ends with send completions that were not polled, or
 * were polled but not handled. */
static void
two_lives(struct vc__device *d, bool polled)
{
    static const uint8_t data[8];
    struct life first = {.completions = 0}, second = {.completions = 0};
    uint32_t number;

    assert_int_equal(vc__qp_init(&first.qp, d, &life_ops, 8, 2), VC_OK);
    number = first.qp.qp->qp_num;
    vc__qp_to_error(&first.qp);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(vc__qp_send(&first.qp, data, sizeof data), 0);
    if (polled)
        d->wc_n = ibv_poll_cq(d->cq, 3, d->wc);
    assert_int_equal(d->wc_n, polled ? 3 : 0);
    vc__qp_fini(&first.qp, true);

    assert_int_equal(vc__qp_init(&second.qp, d, &life_ops, 8, 2), VC_OK);
    assert_int_equal(second.qp.qp->qp_num, number);
    vc__device_drain(d);
    assert_int_equal(second.completions, 0);
    vc__qp_fini(&second.qp, true);
}

static void
lives_of_both_kinds(struct vc__device *d)
{
    two_lives(d, false);
    two_lives(d, true);
    assert_int_equal(d->warm.stats.made, 1);
}

static void
sends_of_one_life_are_not_seen_in_the_next(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        with_device(seed, lives_of_both_kinds);
}

/* Connects the QP as rdma_cm would, with another QP of this device. */
static void
qp_connect(struct ibv_qp *qp, const struct ibv_qp *peer)
{
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp_num,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = 1},
        .timeout = 10,
        .retry_cnt = 6,
        .rnr_retry = 6};

    assert_int_equal(ibv_query_gid(qp->context, 1, 1, &a.ah_attr.grh.dgid), 0);
    if (qp->state == IBV_QPS_RESET)
        assert_int_equal(ibv_modify_qp(qp, &a,
                                       IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                           IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                         0);
    a.qp_state = IBV_QPS_RTR;
    assert_int_equal(ibv_modify_qp(qp, &a,
                                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                       IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER),
                     0);
    a.qp_state = IBV_QPS_RTS;
    assert_int_equal(ibv_modify_qp(qp, &a,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT |
                                       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
}

#define MESSAGES 4u

/* Two QPs of a device are connected. One ends while messages that were not
 * polled have arrived, or are arriving. The next user of the QP sees none of
 * them. */
static void
two_that_end(struct vc__device *d, bool again, unsigned after_us)
{
    static const uint8_t data[8];
    struct life from = {.completions = 0}, to = {.completions = 0};
    struct life next = {.completions = 0};

    assert_int_equal(vc__qp_init(&from.qp, d, &life_ops, 8, 2), VC_OK);
    assert_int_equal(vc__qp_init(&to.qp, d, &life_ops, 8, 2), VC_OK);
    qp_connect(from.qp.qp, to.qp.qp);
    qp_connect(to.qp.qp, from.qp.qp);
    for (unsigned i = 0; i < MESSAGES; i++)
        assert_int_equal(vc__qp_send(&from.qp, data, sizeof data), 0);
    fake_sleep_us(after_us);
    vc__qp_fini(&to.qp, again);
    assert_int_equal(vc__qp_init(&next.qp, d, &life_ops, 8, 2), VC_OK);
    vc__device_drain(d);
    assert_int_equal(to.completions, 0);
    assert_int_equal(next.completions, 0);
    assert_null(d->repost); /* no buffer waits for a full batch */
    vc__qp_fini(&next.qp, again);
    vc__qp_fini(&from.qp, again);
}

static void
ends_at_any_moment(struct vc__device *d, bool again)
{
    unsigned posted;

    assert_int_equal(vc__device_grant(d, 2 * MESSAGES), VC_OK);
    posted = d->posted;
    for (unsigned us = 0; us < 100; us++)
        two_that_end(d, again, us);
    assert_int_equal(d->posted, posted);
    vc__device_ungrant(d, 2 * MESSAGES);
}

static void
ends_for_good(struct vc__device *d)
{
    ends_at_any_moment(d, false);
}

static void
ends_for_another(struct vc__device *d)
{
    ends_at_any_moment(d, true);
}

/* If the receives were lost, others would be posted in their place, with memory
 * for each. */
static void
receives_that_nobody_polled_are_posted_again_and_seen_by_nobody(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        with_device(seed, ends_for_good);
        with_device(seed, ends_for_another);
    }
}

/* --- receives ---------------------------------------------------------- */

#define DEPTH 128u

static void
pair_init(struct vc__device *d, struct life *from, struct life *to)
{
    *from = *to = (struct life){.completions = 0};
    assert_int_equal(vc__qp_init(&from->qp, d, &life_ops, DEPTH, 2), VC_OK);
    assert_int_equal(vc__qp_init(&to->qp, d, &life_ops, 8, 2), VC_OK);
    qp_connect(from->qp.qp, to->qp.qp);
    qp_connect(to->qp.qp, from->qp.qp);
}

static void
pair_fini(struct life *from, struct life *to)
{
    vc__qp_fini(&to->qp, false);
    vc__qp_fini(&from->qp, false);
}

/* Sends n messages while nobody polls; then they are received. */
static void
burst(struct vc__device *d, struct life *from, const struct life *to,
      unsigned n)
{
    static const uint8_t data[8];
    unsigned before = to->completions;

    for (unsigned i = 0; i < n; i++)
        assert_int_equal(vc__qp_send(&from->qp, data, sizeof data), 0);
    fake_sleep_us(PATIENCE);
    vc__device_drain(d);
    assert_int_equal(to->completions, before + n);
}

static uint64_t
times_low(const struct vc__device *d)
{
    return atomic_load(&d->engine->ledger.held[VC__COUNT_receives_low]);
}

#define PROMISED 8u
#define MOST     64u /* receives of the device: 40 and 24 */

/* A peer uses all but a few of the receives, again and again, far more than it
 * was promised. New ones are posted up to the limit. At the limit the low mark
 * is watched again only when receives are promised or given back. */
static void
is_overdrawn(struct vc__device *d)
{
    struct life from, to;
    unsigned posted;

    d->attr.max_srq_wr = MOST;
    assert_int_equal(vc__device_grant(d, PROMISED), VC_OK);
    posted = d->posted;
    assert_int_equal(posted, PROMISED + 32);
    pair_init(d, &from, &to);
    for (unsigned i = 1; i <= 4; i++) {
        burst(d, &from, &to, posted);
        posted = d->posted;
        assert_int_equal(posted, MOST);
        assert_int_equal(times_low(d), i < 2 ? 1 : 2);
    }
    vc__device_ungrant(d, PROMISED);
    burst(d, &from, &to, posted);
    assert_int_equal(d->posted, MOST);
    assert_int_equal(times_low(d), 3);
    pair_fini(&from, &to);
}

static void
a_peer_that_overdraws_gets_no_more_receives_than_may_be(void **state)
{
    (void)state;
    with_device(1, is_overdrawn);
}

/* The device takes none of the first batch. */
static void
is_short_of_a_batch(struct vc__device *d)
{
    struct life from, to;

    fake_fail(NULL, "ibv_post_srq_recv", 1, ENOMEM);
    assert_int_equal(vc__device_grant(d, PROMISED), VC_OK);
    assert_int_equal(fake_failed(), 1);
    pair_init(d, &from, &to);
    burst(d, &from, &to, d->posted);
    vc__device_ungrant(d, PROMISED);
    pair_fini(&from, &to);
}

/* The shared queue has room for two less than a batch. */
static void
is_short_of_room(struct vc__device *d)
{
    struct ibv_srq_attr attr = {.max_wr = PROMISED + 32 - 2};
    struct life from, to;

    assert_int_equal(ibv_modify_srq(d->srq, &attr, IBV_SRQ_MAX_WR), 0);
    assert_int_equal(ibv_query_srq(d->srq, &attr), 0);
    assert_int_equal(vc__device_grant(d, attr.max_wr - 32 + 2), VC_OK);
    assert_int_equal(d->posted, attr.max_wr + 2);
    assert_int_equal(d->n_repost, 2);
    pair_init(d, &from, &to);
    burst(d, &from, &to, attr.max_wr);
    assert_int_equal(d->n_repost, 2);
    vc__device_ungrant(d, attr.max_wr - 32 + 2);
    pair_fini(&from, &to);
}

static void
receives_that_the_device_does_not_take_are_posted_later(void **state)
{
    (void)state;
    with_device(1, is_short_of_a_batch);
    with_device(1, is_short_of_room);
}

/* --- completions ------------------------------------------------------- */

/* Polls until `life` has n completions. */
static void
completes(struct vc__device *d, const struct life *life, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (life->completions < n && fake_now_us() < until) {
        fake_sleep_us(1);
        vc__device_drain(d);
    }
    assert_int_equal(life->completions, n);
}

/* A QP of depth 8 sends `sends` messages of len bytes. Every nth one has a
 * completion. */
static void
every_nth_is_signalled(struct vc__device *d, uint32_t n_buffers, uint32_t len,
                       unsigned sends, unsigned n)
{
    struct life from = {.completions = 0}, to = {.completions = 0};

    assert_int_equal(vc__device_grant(d, sends), VC_OK);
    assert_int_equal(vc__qp_init(&from.qp, d, &life_ops, 8, n_buffers), VC_OK);
    assert_int_equal(vc__qp_init(&to.qp, d, &life_ops, 8, 1), VC_OK);
    qp_connect(from.qp.qp, to.qp.qp);
    qp_connect(to.qp.qp, from.qp.qp);
    for (unsigned i = 1; i <= sends; i++) {
        assert_int_equal(vc__qp_send(&from.qp, vc__qp_buffer(&from.qp), len),
                         0);
        completes(d, &to, i);
        completes(d, &from, i / n);
    }
    vc__qp_fini(&to.qp, false);
    vc__qp_fini(&from.qp, false);
    vc__device_ungrant(d, sends);
}

/* Every half of the queue; and every half of the buffers, rounded up. */
static void
half_is_signalled(struct vc__device *d)
{
    every_nth_is_signalled(d, 4, 8, 9, 4);
    every_nth_is_signalled(d, 4, VC__BUFFER_SIZE, 6, 2);
    every_nth_is_signalled(d, 5, VC__BUFFER_SIZE, 6, 3);
    every_nth_is_signalled(d, 1, VC__BUFFER_SIZE, 3, 1);
}

static void
a_send_asks_for_a_completion_when_half_have_none(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        with_device(seed, half_is_signalled);
}

/* --- events ------------------------------------------------------------ */

/* Writes to an address without access rights. */
static void
write_astray(struct ibv_qp *qp)
{
    struct ibv_send_wr wr = {.wr_id = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
    static uint8_t data[8];
    struct ibv_sge sge = {.addr = (uintptr_t)data, .length = sizeof data};
    struct ibv_send_wr *bad;

    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma.rkey = 1;
    assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

static void
an_event_comes_up(struct vc__device *d)
{
    struct life from = {.completions = 0}, to = {.completions = 0};
    struct life first = {.completions = 0};

    assert_int_equal(vc__qp_init(&first.qp, d, &life_ops, 8, 2), VC_OK);
    vc__qp_fini(&first.qp, true);
    assert_int_equal(vc__qp_init(&to.qp, d, &life_ops, 8, 2), VC_OK);
    assert_int_equal(d->warm.stats.reused, 1);
    assert_int_equal(vc__qp_init(&from.qp, d, &life_ops, 8, 2), VC_OK);
    qp_connect(from.qp.qp, to.qp.qp);
    qp_connect(to.qp.qp, from.qp.qp);
    write_astray(from.qp.qp);
    completes(d, &from, 1);
    assert_int_equal(from.why, IBV_WC_REM_ACCESS_ERR);
    completes(d, &to, 1);
    assert_int_equal(to.why, IBV_WC_FATAL_ERR);
    assert_true(to.qp.ill);
    vc__qp_fini(&to.qp, true);
    vc__qp_fini(&from.qp, false);
    assert_int_equal(d->warm.stats.recycled, 1);
    assert_int_equal(first.completions, 0);
}

/* Soft-RoCE, which odd seeds have, has no such event. */
static void
an_event_comes_up_to_who_has_the_qp(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed <= 4; seed += 2)
        with_device(seed, an_event_comes_up);
}

/* The table has a page for each 4096 numbers. One QP is the last of the first
 * page, the other the last of the last page. */
static void
a_removal_comes_up(struct vc__device *d)
{
    struct ibv_qp of_first = {.qp_num = 0xfff}, of_last = {.qp_num = 0xffffff};
    struct life first = {.qp = {.qp = &of_first, .ops = &life_ops}};
    struct life last = {.qp = {.qp = &of_last, .ops = &life_ops}};

    assert_int_equal(vc__device_add_qp(d, &first.qp), VC_OK);
    assert_int_equal(vc__device_add_qp(d, &last.qp), VC_OK);
    fake_device_remove(fake_host_local());
    completes(d, &first, 1);
    completes(d, &last, 1);
    assert_int_equal(first.why, IBV_WC_FATAL_ERR);
    assert_int_equal(last.why, IBV_WC_FATAL_ERR);
    vc__device_del_qp(d, &first.qp);
    vc__device_del_qp(d, &last.qp);
}

/* With odd seeds there is no event here, either. */
static void
a_removal_comes_up_to_qps_of_all_numbers(void **state)
{
    (void)state;
    for (uint64_t seed = 2; seed <= 4; seed += 2)
        with_device(seed, a_removal_comes_up);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_of_one_life_are_not_seen_in_the_next),
        cmocka_unit_test(
            receives_that_nobody_polled_are_posted_again_and_seen_by_nobody),
        cmocka_unit_test(
            a_peer_that_overdraws_gets_no_more_receives_than_may_be),
        cmocka_unit_test(
            receives_that_the_device_does_not_take_are_posted_later),
        cmocka_unit_test(a_send_asks_for_a_completion_when_half_have_none),
        cmocka_unit_test(an_event_comes_up_to_who_has_the_qp),
        cmocka_unit_test(a_removal_comes_up_to_qps_of_all_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
