/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory keys: what they allow, and which QPs may use them. Also memory
 * windows, atomics, and shared receive queues, under both profiles. Both ends
 * are in one thread. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

static const struct wish rights = {
    .access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
              IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND};
static const struct wish shared = {.srq = true};

static void
world(int profile)
{
    fake_begin(&(struct fake_opts){
        .seed = 1, .profile = (enum fake_profile)profile, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
}

static void
begin(struct pair *p, int profile, const struct wish *wish)
{
    world(profile);
    assert_true(pair_connect(p, wish));
}

static void
end(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

/* Posts the WR and waits; returns the status of its completion. */
static int
finish(struct end *e, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;

    wr->send_flags = IBV_SEND_SIGNALED;
    assert_int_equal(ibv_post_send(e->id->qp, wr, &bad), 0);
    return end_complete(e, &wc, 1000);
}

/* Applies the opcode to eight bytes of the client, and this address and key. */
static int
client_does(struct pair *p, enum ibv_wr_opcode opcode, void *at, uint32_t rkey)
{
    struct ibv_sge sge = {.addr = (uintptr_t)p->client.memory,
                          .length = 8,
                          .lkey = p->client.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode};

    if (opcode == IBV_WR_SEND_WITH_INV) {
        wr.invalidate_rkey = rkey;
    } else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
               opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)at;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = 5;
        wr.wr.atomic.swap = 9;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)at;
        wr.wr.rdma.rkey = rkey;
    }
    return finish(&p->client, &wr);
}

/* --- keys -------------------------------------------------------------- */

static void
a_key_of_another_domain_is_refused(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;
        struct ibv_pd *pd;
        struct ibv_mr *mr;

        begin(&p, profile, &rights);
        pd = ibv_alloc_pd(p.server.id->verbs);
        mr = ibv_reg_mr(pd, p.server.memory, BUFFER,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        assert_int_equal(client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory,
                                     p.server.mr->rkey),
                         IBV_WC_SUCCESS);
        assert_int_equal(
            client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory, mr->rkey),
            IBV_WC_REM_ACCESS_ERR);
        assert_string_equal(state_text(&p.server), "ERR");
        ibv_dereg_mr(mr);
        ibv_dealloc_pd(pd);
        end(&p);
    }
}

static void
an_lkey_is_no_rkey(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;

        begin(&p, profile, &rights);
        assert_int_equal(client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory,
                                     p.server.mr->lkey),
                         profile == FAKE_RXE ? IBV_WC_SUCCESS
                                             : IBV_WC_REM_ACCESS_ERR);
        end(&p);
    }
}

static void
a_key_ends_where_its_region_does(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT, &rights);
    assert_int_equal(client_does(&p, IBV_WR_RDMA_WRITE,
                                 p.server.memory + 2 * BUFFER - 8,
                                 p.server.mr->rkey),
                     IBV_WC_SUCCESS);
    assert_int_equal(client_does(&p, IBV_WR_RDMA_WRITE,
                                 p.server.memory + 2 * BUFFER - 7,
                                 p.server.mr->rkey),
                     IBV_WC_REM_ACCESS_ERR);
    end(&p);
}

/* --- windows ----------------------------------------------------------- */

static int
bind_as(struct pair *p, struct ibv_mw *mw, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};

    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info =
        (struct ibv_mw_bind_info){.mr = p->server.mr,
                                  .addr = (uintptr_t)p->server.memory,
                                  .length = 64,
                                  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    return finish(&p->server, &wr);
}

static int
invalidate(struct end *e, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV};

    wr.invalidate_rkey = rkey;
    return finish(e, &wr);
}

static void
a_window_serves_from_bind_to_invalidation(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;
        struct ibv_mw *mw;
        uint32_t key;

        begin(&p, profile, &rights);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
        key = ibv_inc_rkey(mw->rkey);
        assert_int_equal(bind_as(&p, mw, key), IBV_WC_SUCCESS);
        memset(p.client.memory, 7, 8);
        assert_int_equal(
            client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory + 56, key),
            IBV_WC_SUCCESS);
        assert_int_equal(p.server.memory[63], 7);
        assert_int_equal(ibv_dereg_mr(p.server.mr),
                         profile == FAKE_RXE ? EINVAL : EBUSY);
        assert_int_equal(invalidate(&p.server, key), IBV_WC_SUCCESS);
        assert_int_equal(
            client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory, key),
            IBV_WC_REM_ACCESS_ERR);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        end(&p);
    }
}

static void
a_window_is_no_larger_than_was_bound(void **state)
{
    struct pair p;
    struct ibv_mw *mw;

    (void)state;
    begin(&p, FAKE_STRICT, &rights);
    mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_as(&p, mw, mw->rkey + 1), IBV_WC_SUCCESS);
    assert_int_equal(
        client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory + 57, mw->rkey + 1),
        IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    end(&p);
}

static void
soft_roce_bounds_a_window_by_its_region(void **state)
{
    struct pair p;
    struct ibv_mw *mw;

    (void)state;
    begin(&p, FAKE_RXE, &rights);
    mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_as(&p, mw, mw->rkey + 1), IBV_WC_SUCCESS);
    memset(p.client.memory, 7, 8);
    assert_int_equal(
        client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory + 57, mw->rkey + 1),
        IBV_WC_SUCCESS);
    assert_int_equal(p.server.memory[64], 7);
    assert_int_equal(client_does(&p, IBV_WR_RDMA_WRITE,
                                 p.server.memory + 2 * BUFFER - 7,
                                 mw->rkey + 1),
                     IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    end(&p);
}

static void
a_bound_window_is_not_bound_again(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;
        struct ibv_mw *mw;

        begin(&p, profile, &rights);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
        assert_int_equal(bind_as(&p, mw, mw->rkey + 1), IBV_WC_SUCCESS);
        mw->rkey++;
        assert_int_equal(bind_as(&p, mw, mw->rkey + 1), IBV_WC_MW_BIND_ERR);
        assert_string_equal(state_text(&p.server), "ERR");
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        end(&p);
    }
}

/* The program does not store the new key in mw->rkey; only Soft-RoCE
 * needs it there. */
static void
soft_roce_wants_the_rkey_kept(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;
        struct ibv_mw *mw;
        uint32_t key;

        begin(&p, profile, &rights);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
        key = ibv_inc_rkey(mw->rkey);
        assert_int_equal(bind_as(&p, mw, key), IBV_WC_SUCCESS);
        assert_int_equal(invalidate(&p.server, key), IBV_WC_SUCCESS);
        assert_int_equal(bind_as(&p, mw, ibv_inc_rkey(key)),
                         profile == FAKE_RXE ? IBV_WC_MW_BIND_ERR
                                             : IBV_WC_SUCCESS);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        end(&p);
    }
}

/* Makes another connection, whose server end shares the first one's PD. */
static void
second_connection(struct pair *q, struct pair *p)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = p->server.cq,
        .recv_cq = p->server.cq,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };

    pair_open(q, &rights);
    assert_true(pair_resolve(q));
    assert_true(pair_ask(q, NULL, 0));
    assert_int_equal(rdma_create_qp(q->server.id, p->server.pd, &attr), 0);
    assert_true(pair_accept(q, NULL, 0));
    assert_true(event_expect(q, RDMA_CM_EVENT_ESTABLISHED));
    assert_true(event_expect(q, RDMA_CM_EVENT_ESTABLISHED));
}

static void
a_window_of_type_2_serves_its_queue_only(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p, q;
        struct ibv_mw *mw;
        uint32_t key;

        begin(&p, profile, &rights);
        second_connection(&q, &p);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
        key = ibv_inc_rkey(mw->rkey);
        assert_int_equal(bind_as(&p, mw, key), IBV_WC_SUCCESS);
        assert_int_equal(client_does(&q, IBV_WR_RDMA_WRITE, p.server.memory,
                                     p.server.mr->rkey),
                         IBV_WC_SUCCESS);
        assert_int_equal(
            client_does(&q, IBV_WR_RDMA_WRITE, p.server.memory, key),
            IBV_WC_REM_ACCESS_ERR);
        assert_int_equal(
            client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory, key),
            IBV_WC_SUCCESS);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        pair_close(&q);
        end(&p);
    }
}

static void
a_window_of_type_1_serves_its_whole_domain(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_mw_bind bind = {.wr_id = 3, .send_flags = IBV_SEND_SIGNALED};
        struct pair p, q;
        struct ibv_mw *mw;
        struct ibv_wc wc;

        begin(&p, profile, &rights);
        second_connection(&q, &p);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_1);
        bind.bind_info = (struct ibv_mw_bind_info){
            .mr = p.server.mr,
            .addr = (uintptr_t)p.server.memory,
            .length = 64,
            .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
        assert_int_equal(ibv_bind_mw(p.server.id->qp, mw, &bind), 0);
        assert_int_equal(end_complete(&p.server, &wc, 100), IBV_WC_SUCCESS);
        assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
        assert_int_equal(
            client_does(&q, IBV_WR_RDMA_WRITE, p.server.memory, mw->rkey),
            IBV_WC_SUCCESS);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        pair_close(&q);
        end(&p);
    }
}

static void
a_send_invalidates_the_window_and_says_so(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        unsigned flag =
            profile == FAKE_RXE ? IBV_WC_IP_CSUM_OK : IBV_WC_WITH_INV;
        struct pair p;
        struct ibv_mw *mw;
        struct ibv_wc wc;
        uint32_t key;

        begin(&p, profile, &rights);
        mw = ibv_alloc_mw(p.server.pd, IBV_MW_TYPE_2);
        key = ibv_inc_rkey(mw->rkey);
        assert_int_equal(bind_as(&p, mw, key), IBV_WC_SUCCESS);
        assert_int_equal(end_receive(&p.server, 64), 0);
        assert_int_equal(client_does(&p, IBV_WR_SEND_WITH_INV, NULL, key),
                         IBV_WC_SUCCESS);
        assert_int_equal(end_complete(&p.server, &wc, 100), IBV_WC_SUCCESS);
        assert_int_equal(wc.wc_flags, IBV_WC_GRH | flag);
        assert_int_equal(wc.invalidated_rkey, key);
        assert_int_equal(
            client_does(&p, IBV_WR_RDMA_WRITE, p.server.memory, key),
            IBV_WC_REM_ACCESS_ERR);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        end(&p);
    }
}

static void
a_region_is_not_invalidated(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;

        begin(&p, profile, &rights);
        assert_int_equal(end_receive(&p.server, 64), 0);
        assert_int_equal(
            client_does(&p, IBV_WR_SEND_WITH_INV, NULL, p.server.mr->rkey),
            profile == FAKE_RXE ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
        assert_string_equal(complete_text(&p.server, 100),
                            "remote invalid request error");
        assert_string_equal(state_text(&p.server), "ERR");
        end(&p);
    }
}

/* --- atomics ----------------------------------------------------------- */

static int
client_atomic(struct pair *p, enum ibv_wr_opcode opcode, void *there)
{
    return client_does(p, opcode, there, p->server.mr->rkey);
}

static void
atomics_give_what_was_there(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;
        uint64_t *here, *there;

        begin(&p, profile, &rights);
        here = (uint64_t *)p.client.memory;
        there = (uint64_t *)p.server.memory;
        assert_int_equal(client_atomic(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, there),
                         IBV_WC_SUCCESS);
        assert_int_equal(*here, 0);
        assert_int_equal(*there, 5);
        assert_int_equal(client_atomic(&p, IBV_WR_ATOMIC_CMP_AND_SWP, there),
                         IBV_WC_SUCCESS);
        assert_int_equal(*here, 5);
        assert_int_equal(*there, 9);
        assert_int_equal(client_atomic(&p, IBV_WR_ATOMIC_CMP_AND_SWP, there),
                         IBV_WC_SUCCESS);
        assert_int_equal(*here, 9);
        assert_int_equal(*there, 9); /* it was not 5 */
        end(&p);
    }
}

static void
a_strict_peer_refuses_a_crooked_atomic(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT, &rights);
    assert_int_equal(
        client_atomic(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, p.server.memory + 4),
        IBV_WC_REM_INV_REQ_ERR);
    assert_string_equal(state_text(&p.server), "ERR");
    end(&p);
}

/* --- shared queues ----------------------------------------------------- */

static void
a_limit_beyond_the_queue_is_refused_if_strict(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_srq_attr attr = {.srq_limit = 1000};
        struct pair p;

        begin(&p, profile, &shared);
        assert_int_equal(ibv_modify_srq(p.server.srq, &attr, IBV_SRQ_LIMIT),
                         profile == FAKE_RXE ? 0 : EINVAL);
        end(&p);
    }
}

static void
a_limit_strikes_once(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct ibv_srq_attr attr = {.srq_limit = 2};
        struct ibv_async_event e;
        struct pair p;

        begin(&p, profile, &shared);
        fcntl(p.server.id->verbs->async_fd, F_SETFL, O_NONBLOCK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(end_receive(&p.server, 64), 0);
        assert_int_equal(ibv_modify_srq(p.server.srq, &attr, IBV_SRQ_LIMIT), 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(client_does(&p, IBV_WR_SEND, NULL, 0), 0);
            assert_int_equal(ibv_get_async_event(p.server.id->verbs, &e),
                             i == 2 ? 0 : -1);
        }
        assert_int_equal(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
        assert_ptr_equal(e.element.srq, p.server.srq);
        ibv_ack_async_event(&e);
        end(&p);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_of_another_domain_is_refused),
        cmocka_unit_test(an_lkey_is_no_rkey),
        cmocka_unit_test(a_key_ends_where_its_region_does),
        cmocka_unit_test(a_window_serves_from_bind_to_invalidation),
        cmocka_unit_test(a_window_is_no_larger_than_was_bound),
        cmocka_unit_test(soft_roce_bounds_a_window_by_its_region),
        cmocka_unit_test(a_bound_window_is_not_bound_again),
        cmocka_unit_test(soft_roce_wants_the_rkey_kept),
        cmocka_unit_test(a_window_of_type_2_serves_its_queue_only),
        cmocka_unit_test(a_window_of_type_1_serves_its_whole_domain),
        cmocka_unit_test(a_send_invalidates_the_window_and_says_so),
        cmocka_unit_test(a_region_is_not_invalidated),
        cmocka_unit_test(atomics_give_what_was_there),
        cmocka_unit_test(a_strict_peer_refuses_a_crooked_atomic),
        cmocka_unit_test(a_limit_beyond_the_queue_is_refused_if_strict),
        cmocka_unit_test(a_limit_strikes_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
