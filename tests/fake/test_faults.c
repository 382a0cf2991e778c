/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Failures within one host. Allocations fail; and, with both ends in one
 * thread, completions are late or never come, a port goes down, a device
 * is removed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

static const struct wish quick = {
    .retries_given = true, .retry = 6, .rnr_retry = 6, .timeout = 10};

static void
world(enum fake_profile profile)
{
    fake_begin(
        &(struct fake_opts){.seed = 1, .profile = profile, .trace = true});
}

static void
begin(struct pair *p, enum fake_profile profile)
{
    world(profile);
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
    assert_true(pair_connect(p, &quick));
    for (int i = 0; i < 4; i++)
        assert_int_equal(end_receive(&p->server, 64), 0);
}

static void
end(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

static int
send_one(struct pair *p, int ms)
{
    struct ibv_wc wc;

    assert_int_equal(end_send(&p->client, 32, IBV_SEND_SIGNALED), 0);
    return end_complete(&p->client, &wc, ms);
}

/* Returns the next asynchronous event of the ends' device; -1: none. */
static int
async_next(struct pair *p)
{
    struct ibv_async_event e;

    fcntl(p->client.id->verbs->async_fd, F_SETFL, O_NONBLOCK);
    if (ibv_get_async_event(p->client.id->verbs, &e) != 0)
        return -1;
    ibv_ack_async_event(&e);
    return (int)e.event_type;
}

/* --- allocations ------------------------------------------------------- */

static unsigned
blocks_now(void)
{
    struct fake_census c;

    fake_census(fake_process_self(), &c);
    return c.blocks;
}

/* Makes an allocation of this kind; true when it failed. */
static bool
allocation_fails(int kind)
{
    void *p = NULL;

    switch (kind) {
    case 0:
        p = malloc(8);
        break;
    case 1:
        p = calloc(2, 8);
        break;
    case 2:
        p = realloc(NULL, 8);
        break;
    case 3:
        p = aligned_alloc(16, 16);
        break;
    case 4:
        if (posix_memalign(&p, 16, 16) != 0)
            p = NULL;
        break;
    case 5:
        p = strdup("text");
        break;
    default:
        p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return true;
        munmap(p, 4096);
        return false;
    }
    free(p);
    return p == NULL;
}

static void
exactly_the_nth_allocation_fails(void **state)
{
    enum {
        KINDS = 7
    };
    unsigned before;

    (void)state;
    world(FAKE_RXE);
    before = fake_allocations(fake_process_self());
    for (int nth = 0; nth < KINDS; nth++) {
        fake_fail_memory(NULL, (unsigned)nth + 1);
        for (int kind = 0; kind < KINDS; kind++)
            assert_int_equal(allocation_fails(kind), kind == nth);
    }
    assert_int_equal(fake_failed(), KINDS);
    assert_int_equal(fake_allocations(fake_process_self()) - before,
                     KINDS * KINDS);
    assert_int_equal(blocks_now(), 0);
    assert_int_equal(fake_end(), 0);
}

static void
a_realloc_that_fails_keeps_the_old_block(void **state)
{
    char *p, *larger;

    (void)state;
    world(FAKE_RXE);
    p = malloc(4);
    assert_non_null(p);
    strcpy(p, "abc");
    fake_fail_memory(NULL, 1);
    larger = realloc(p, 4096);
    if (larger != NULL) {
        free(larger);
        fail();
        return;
    }
    larger = realloc(p, 4096);
    assert_string_equal(larger, "abc");
    assert_int_equal(blocks_now(), 1);
    free(larger);
    assert_int_equal(blocks_now(), 0);
    assert_int_equal(fake_end(), 0);
}

/* --- completions ------------------------------------------------------- */

static void
a_delayed_completion_holds_up_those_behind_it(void **state)
{
    struct pair p;
    struct ibv_wc wc;
    uint64_t start;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_rule("completion SEND", 1, FAKE_DELAY, 5000);
    start = fake_now_us();
    assert_int_equal(end_send(&p.client, 32, IBV_SEND_SIGNALED), 0);
    assert_int_equal(end_send(&p.client, 16, IBV_SEND_SIGNALED), 0);
    assert_int_equal(end_complete(&p.client, &wc, 1000), IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, 32);
    assert_in_range(fake_now_us() - start, 5000, 5300);
    assert_int_equal(end_complete(&p.client, &wc, 1), IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, 16);
    end(&p);
}

static void
a_dropped_completion_never_comes(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    fake_rule("completion SEND", 1, FAKE_DROP, 0);
    assert_int_equal(send_one(&p, 100), -1);
    assert_string_equal(state_text(&p.client), "RTS");
    assert_int_equal(send_one(&p, 100), IBV_WC_SUCCESS);
    end(&p);
}

static void
a_flush_ends_the_queue_at_its_packet(void **state)
{
    struct pair p;
    struct ibv_wc wc;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_rule("SEND 32 B", 2, FAKE_FLUSH, 0);
    assert_int_equal(end_receive(&p.client, 64), 0);
    assert_int_equal(send_one(&p, 100), IBV_WC_SUCCESS);
    assert_int_equal(send_one(&p, 100), IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(end_complete(&p.client, &wc, 100), IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(wc.wr_id, 2); /* wr_id of the receive */
    assert_string_equal(state_text(&p.client), "ERR");
    assert_string_equal(state_text(&p.server), "RTS");
    end(&p);
}

/* --- events that are dropped or delayed -------------------------------- */

static void
a_dropped_event_is_not_told(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    fake_rule("event DISCONNECTED", 1, FAKE_DROP, 0);
    fake_rule("event DISCONNECTED", 2, FAKE_DELAY, 700000);
    rdma_disconnect(p.client.id);
    assert_false(event_next(&p, 5000));
    rdma_disconnect(p.server.id);
    assert_false(event_next(&p, 690));
    assert_true(event_expect(&p, RDMA_CM_EVENT_DISCONNECTED));
    assert_ptr_equal(p.last.id, p.client.id);
    end(&p);
}

/* So is its private data, which lies after the event. */
static void
an_acknowledged_event_is_garbage(void **state)
{
    struct rdma_cm_event *e;
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    rdma_disconnect(p.client.id);
    while (rdma_get_cm_event(p.channel, &e) != 0)
        fake_sleep_us(100); /* the channel does not block */
    assert_int_equal(e->event, RDMA_CM_EVENT_DISCONNECTED);
    assert_ptr_equal(e->id, p.server.id);
    rdma_ack_cm_event(e);
    assert_int_not_equal(e->event, RDMA_CM_EVENT_DISCONNECTED);
    assert_ptr_not_equal(e->id, p.server.id);
    end(&p);
}

/* The client asks for all that its device can. The server's can less (the
 * fake's device stands for both): librdmacm adjusts the accept down to it. */
static void
an_accept_without_parameters_is_adjusted_to_the_device(void **state)
{
    const struct wish wish = {.most = true, .bare = true};
    struct pair p;
    unsigned in, out;

    (void)state;
    world(FAKE_RXE);
    pair_open(&p, &wish);
    assert_true(pair_resolve(&p) && pair_ask(&p, NULL, 0));
    assert_int_equal(128, p.last.param.conn.responder_resources);
    assert_int_equal(128, p.last.param.conn.initiator_depth);
    fake_device_reads(fake_host_local(), 16, 4);
    assert_true(pair_accept(&p, NULL, 0));
    fake_device_reads(fake_host_local(), 128, 128); /* the client's */
    for (int i = 0; i < 2; i++) {
        assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
        if (p.last.id == p.client.id) {
            assert_int_equal(4, p.last.param.conn.responder_resources);
            assert_int_equal(16, p.last.param.conn.initiator_depth);
        }
    }
    assert_true(end_depths(&p.server, &in, &out));
    assert_int_equal(16, in);
    assert_int_equal(4, out);
    assert_true(end_depths(&p.client, &in, &out));
    assert_int_equal(4, in);
    assert_int_equal(16, out);
    end(&p);
}

static void
librdmacm_of_old_returns_errno_and_leaves_it_alone(void **state)
{
    struct rdma_cm_id *id;
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    fake_cm_former(true);
    errno = EXDEV;
    assert_int_equal(rdma_listen(p.listener, 0), -EINVAL);
    assert_int_equal(errno, EXDEV);
    fake_fail(NULL, "rdma_create_id", 1, EMFILE); /* not affected */
    assert_int_equal(rdma_create_id(p.channel, &id, NULL, RDMA_PS_TCP), -1);
    assert_int_equal(errno, EMFILE);
    end(&p);
}

static void
an_event_may_be_made_for_connected_ids(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    while (event_next(&p, 0))
        continue;
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
    for (int i = 0; i < 2; i++) {
        assert_true(event_expect(&p, RDMA_CM_EVENT_ADDR_CHANGE));
        assert_ptr_not_equal(p.last.id, p.listener);
    }
    assert_false(event_next(&p, 10));
    end(&p);
}

/* --- ports ------------------------------------------------------------- */

static void
a_port_that_goes_down_is_told_and_loses_packets(void **state)
{
    struct ibv_port_attr attr;
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT);
    assert_int_equal(async_next(&p), -1);
    fake_port_set(fake_host_local(), false);
    assert_int_equal(async_next(&p), IBV_EVENT_PORT_ERR);
    assert_int_equal(async_next(&p), -1);
    assert_int_equal(ibv_query_port(p.client.id->verbs, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    assert_int_equal(send_one(&p, 10), -1);
    fake_port_set(fake_host_local(), false); /* no event */
    assert_int_equal(async_next(&p), -1);

    fake_port_set(fake_host_local(), true); /* before the last retry */
    assert_int_equal(async_next(&p), IBV_EVENT_PORT_ACTIVE);
    assert_int_equal(ibv_query_port(p.client.id->verbs, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_ACTIVE);
    assert_int_equal(send_one(&p, 100), IBV_WC_SUCCESS);
    end(&p);
}

static void
a_port_that_stays_down_ends_the_tries(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_port_set(fake_host_local(), false);
    assert_int_equal(send_one(&p, 1000), IBV_WC_RETRY_EXC_ERR);
    end(&p);
}

/* rxe cannot make a packet then; the send fails at once. */
static void
soft_roce_fails_a_send_through_a_dead_port(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    fake_port_set(fake_host_local(), false);
    assert_int_equal(async_next(&p), IBV_EVENT_PORT_ERR);
    assert_int_equal(send_one(&p, 1), IBV_WC_LOC_QP_OP_ERR);
    assert_string_equal(state_text(&p.client), "ERR");
    fake_port_set(fake_host_local(), true);
    assert_int_equal(async_next(&p), IBV_EVENT_PORT_ACTIVE);
    end(&p);
}

/* --- devices ----------------------------------------------------------- */

static void
expect_removal_of_three(struct pair *p)
{
    unsigned seen = 0;

    for (int i = 0; i < 3; i++) {
        assert_true(event_expect(p, RDMA_CM_EVENT_DEVICE_REMOVAL));
        seen |= p->last.id == p->listener    ? 1
                : p->last.id == p->client.id ? 2
                : p->last.id == p->server.id ? 4
                                             : 0;
    }
    assert_int_equal(seen, 7);
    assert_false(event_next(p, 100));
}

static void
a_removed_device_tells_every_id_and_flushes(void **state)
{
    for (int profile = 0; profile < 2; profile++) {
        struct pair p;

        (void)state;
        begin(&p, (enum fake_profile)profile);
        fake_device_remove(fake_host_local());
        expect_removal_of_three(&p);
        for (int i = 0; i < 4; i++)
            assert_string_equal(complete_text(&p.server, 10),
                                "Work Request Flushed Error");
        assert_string_equal(state_text(&p.client), "ERR");
        if (profile == FAKE_STRICT)
            assert_int_equal(async_next(&p), IBV_EVENT_DEVICE_FATAL);
        end(&p);
    }
}

static void
after_removal_nothing_new_can_be_made(void **state)
{
    struct rdma_conn_param param = {0};
    uint8_t byte[1];
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    fake_device_remove(fake_host_local());
    expect_removal_of_three(&p);
    assert_null(ibv_alloc_pd(p.client.id->verbs));
    assert_null(ibv_create_cq(p.client.id->verbs, 1, NULL, NULL, 0));
    assert_null(ibv_reg_mr(p.client.pd, byte, 1, 0));
    assert_int_equal(rdma_connect(p.client.id, &param), -1);
    assert_int_equal(rdma_disconnect(p.client.id), -1);
    assert_int_equal(send_one(&p, 10), IBV_WC_WR_FLUSH_ERR);
    end(&p);
}

/* The new device has only the name of the old one. */
static void
a_device_that_returns_is_a_new_one(void **state)
{
    struct ibv_device **former, **list;
    struct ibv_context *context;
    struct pair p;

    (void)state;
    begin(&p, FAKE_RXE);
    former = ibv_get_device_list(NULL);
    fake_device_remove(fake_host_local());
    expect_removal_of_three(&p);
    fake_device_return(fake_host_local());
    assert_null(ibv_alloc_pd(p.client.id->verbs));
    list = ibv_get_device_list(NULL);
    assert_non_null(list[0]);
    assert_ptr_not_equal(former[0], list[0]);
    assert_string_equal("rxe0", ibv_get_device_name(list[0]));
    context = ibv_open_device(list[0]);
    assert_non_null(context);
    assert_int_equal(0, ibv_close_device(context));
    ibv_free_device_list(list);
    ibv_free_device_list(former);
    end(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_nth_allocation_fails),
        cmocka_unit_test(a_realloc_that_fails_keeps_the_old_block),
        cmocka_unit_test(a_delayed_completion_holds_up_those_behind_it),
        cmocka_unit_test(a_dropped_completion_never_comes),
        cmocka_unit_test(a_flush_ends_the_queue_at_its_packet),
        cmocka_unit_test(a_dropped_event_is_not_told),
        cmocka_unit_test(an_acknowledged_event_is_garbage),
        cmocka_unit_test(
            an_accept_without_parameters_is_adjusted_to_the_device),
        cmocka_unit_test(librdmacm_of_old_returns_errno_and_leaves_it_alone),
        cmocka_unit_test(an_event_may_be_made_for_connected_ids),
        cmocka_unit_test(a_port_that_goes_down_is_told_and_loses_packets),
        cmocka_unit_test(a_port_that_stays_down_ends_the_tries),
        cmocka_unit_test(soft_roce_fails_a_send_through_a_dead_port),
        cmocka_unit_test(a_removed_device_tells_every_id_and_flushes),
        cmocka_unit_test(after_removal_nothing_new_can_be_made),
        cmocka_unit_test(a_device_that_returns_is_a_new_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
