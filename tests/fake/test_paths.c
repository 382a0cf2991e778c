/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Paths that deliver packets twice, hold them, or are cut in one direction. A
 * thread has both ends: one at each device of its host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

#define PROFILES   2
#define RECEIVES   12
#define LONG_MS    1000
#define LASTING    ((uint64_t)7 * 4194) /* us; the tries of `quick` */
#define IN_TRANSIT 1000                 /* us; longer than a packet takes */

static const struct wish quick = {.retries_given = true,
                                  .retry = 6,
                                  .rnr_retry = 6,
                                  .timeout = 10,
                                  .from = "10.9.0.1",
                                  .access = IBV_ACCESS_REMOTE_WRITE |
                                            IBV_ACCESS_REMOTE_READ |
                                            IBV_ACCESS_REMOTE_ATOMIC};

static struct fake_host *here, *there; /* of the client, of the server */

static void
world(enum fake_profile profile, uint64_t seed)
{
    fake_begin(
        &(struct fake_opts){.seed = seed, .profile = profile, .trace = true});
    here = fake_host_local();
    there = fake_device_new(here, "10.9.0.5");
    setenv("VC_TEST_ADDR", "10.9.0.5", 1);
}

static void
begin(struct pair *p, enum fake_profile profile)
{
    world(profile, 1);
    assert_true(pair_connect(p, &quick));
    assert_ptr_not_equal(p->client.id->verbs, p->server.id->verbs);
    for (int i = 0; i < RECEIVES; i++)
        assert_int_equal(end_receive(&p->server, 64), 0);
}

static void
end(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

static void
send_one(struct pair *p, uint32_t len)
{
    assert_int_equal(end_send(&p->client, len, IBV_SEND_SIGNALED), 0);
}

static void
sent(struct pair *p, enum ibv_wc_status status)
{
    struct ibv_wc wc;

    assert_int_equal(end_complete(&p->client, &wc, LONG_MS), status);
}

/* The server has one message of this length; it may still be on its way. */
static void
received(struct pair *p, uint32_t len)
{
    struct ibv_wc wc;

    assert_int_equal(end_complete(&p->server, &wc, 10), IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, len);
}

static void
received_nothing(struct pair *p)
{
    struct ibv_wc wc;

    fake_sleep_us(IN_TRANSIT);
    assert_int_equal(ibv_poll_cq(p->server.cq, 1, &wc), 0);
}

static struct fake_path_counts
counted(const struct fake_host *from, const struct fake_host *to)
{
    struct fake_path_counts c;

    fake_path_count(from, to, &c);
    return c;
}

/* Posts a request for 8 bytes at the server's memory. */
static void
request(struct pair *p, enum ibv_wr_opcode opcode)
{
    struct ibv_sge sge = {.addr = (uintptr_t)p->client.memory,
                          .length = 8,
                          .lkey = p->client.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)p->server.memory;
        wr.wr.atomic.rkey = p->server.mr->rkey;
        wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)p->server.memory;
        wr.wr.rdma.rkey = p->server.mr->rkey;
    }
    assert_int_equal(ibv_post_send(p->client.id->qp, &wr, &bad), 0);
}

static uint64_t
number(const uint8_t *memory)
{
    uint64_t n;

    memcpy(&n, memory, sizeof n);
    return n;
}

/* --- twice ------------------------------------------------------------- */

static void
a_packet_that_arrives_twice_is_received_once(void **state)
{
    (void)state;
    for (int profile = 0; profile < PROFILES; profile++) {
        struct pair p;

        begin(&p, (enum fake_profile)profile);
        fake_rule("SEND 32 B", 1, FAKE_TWICE, 500);
        send_one(&p, 32);
        send_one(&p, 16); /* its turn is before the second copy */
        sent(&p, IBV_WC_SUCCESS);
        sent(&p, IBV_WC_SUCCESS);
        received(&p, 32);
        received(&p, 16);
        received_nothing(&p);
        assert_int_equal(counted(here, there).duplicated, 1);
        assert_int_equal(counted(here, there).dropped, 1);
        send_one(&p, 8);
        sent(&p, IBV_WC_SUCCESS);
        received(&p, 8);
        end(&p);
    }
}

static void
an_atomic_operation_that_arrives_twice_is_done_once(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_rule("FETCH_AND_ADD", 1, FAKE_TWICE, 100);
    request(&p, IBV_WR_ATOMIC_FETCH_AND_ADD);
    sent(&p, IBV_WC_SUCCESS);
    fake_sleep_us(IN_TRANSIT);
    assert_int_equal(number(p.server.memory), 1);
    assert_int_equal(number(p.client.memory), 0);
    assert_int_equal(counted(here, there).dropped, 1);
    end(&p);
}

/* Returns how many of the packets came twice. */
static unsigned
some_come_twice(uint64_t seed, unsigned one_in, uint64_t *fingerprint)
{
    struct fake_path_counts c;
    struct pair p;

    world(FAKE_RXE, seed);
    assert_true(pair_connect(&p, &quick));
    fake_path_duplicate(here, there, one_in);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(end_receive(&p.server, 64), 0);
        send_one(&p, i);
        sent(&p, IBV_WC_SUCCESS);
        received(&p, i);
    }
    received_nothing(&p);
    c = counted(here, there);
    assert_int_equal(c.dropped, c.duplicated);
    assert_int_equal(counted(there, here).duplicated, 0);
    end(&p);
    *fingerprint = fake_fingerprint();
    return c.duplicated;
}

static void
a_path_repeats_packets_by_chance_and_by_its_seed(void **state)
{
    uint64_t once, again, other;

    (void)state;
    assert_int_equal(some_come_twice(1, 1, &once), 60);
    assert_in_range(some_come_twice(2, 4, &once), 5, 30);
    some_come_twice(2, 4, &again);
    some_come_twice(3, 4, &other);
    assert_true(once == again);
    assert_true(once != other);
}

/* --- clogged ----------------------------------------------------------- */

static void
what_a_clogged_path_held_arrives_afterwards_in_its_order(void **state)
{
    (void)state;
    for (int profile = 0; profile < PROFILES; profile++) {
        struct pair p;

        begin(&p, (enum fake_profile)profile);
        fake_path_clog(here, there, true);
        for (uint32_t len = 1; len <= 4; len++)
            send_one(&p, len);
        fake_sleep_us(LASTING / 2);
        received_nothing(&p);
        assert_int_equal(counted(here, there).held, 4 * 4); /* tries */
        fake_path_clog(here, there, false);
        for (uint32_t len = 1; len <= 4; len++) {
            sent(&p, IBV_WC_SUCCESS);
            received(&p, len);
        }
        received_nothing(&p);
        assert_int_equal(counted(here, there).dropped, 3 * 4);
        end(&p);
    }
}

/* The messages arrive after their sender has failed, and once only. */
static void
a_sender_gives_up_and_its_messages_arrive_later(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_path_clog(here, there, true);
    send_one(&p, 32);
    send_one(&p, 16);
    sent(&p, IBV_WC_RETRY_EXC_ERR);
    sent(&p, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(counted(here, there).held, 2 * 7);
    fake_path_clog(here, there, false);
    received(&p, 32);
    received(&p, 16);
    received_nothing(&p);
    assert_int_equal(counted(here, there).dropped, 2 * 6);
    assert_string_equal(state_text(&p.server), "RTS");
    end(&p);
}

/* The second one arrives too early, and is not received before its turn. */
static void
a_packet_without_its_predecessor_waits_for_it(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_path_clog(here, there, true);
    fake_rule("SEND 16 B", 1, FAKE_LOSE, 0);
    for (uint32_t len = 32; len >= 8; len /= 2)
        send_one(&p, len);
    fake_sleep_us(IN_TRANSIT);
    fake_path_clog(here, there, false);
    for (uint32_t len = 32; len >= 8; len /= 2)
        received(&p, len);
    received_nothing(&p);
    for (int i = 0; i < 3; i++)
        sent(&p, IBV_WC_SUCCESS);
    end(&p);
}

static void
acknowledgements_are_held_too(void **state)
{
    struct pair p;
    struct ibv_wc wc;

    (void)state;
    begin(&p, FAKE_STRICT);
    fake_path_clog(there, here, true);
    send_one(&p, 32);
    received(&p, 32);
    assert_int_equal(end_complete(&p.client, &wc, 10), -1);
    fake_path_clog(there, here, false);
    sent(&p, IBV_WC_SUCCESS);
    received_nothing(&p);
    end(&p);
}

static void
a_connection_is_made_when_the_path_is_free(void **state)
{
    struct rdma_conn_param param = {.retry_count = 6};
    struct pair p;

    (void)state;
    world(FAKE_RXE, 1);
    pair_open(&p, &quick);
    assert_true(pair_resolve(&p));
    assert_true(end_make(&p, &p.client));
    fake_path_clog(here, there, true);
    assert_int_equal(rdma_connect(p.client.id, &param), 0);
    assert_false(event_next(&p, 8000)); /* the request is sent again */
    assert_int_equal(counted(here, there).held, 2);
    fake_path_clog(here, there, false);
    assert_true(event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST));
    p.server.id = p.last.id;
    assert_true(pair_accept(&p, NULL, 0));
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_false(event_next(&p, 10));
    end(&p);
}

/* --- cut in one direction ---------------------------------------------- */

static void
nothing_arrives_along_a_cut_path(void **state)
{
    (void)state;
    for (int profile = 0; profile < PROFILES; profile++) {
        struct pair p;

        begin(&p, (enum fake_profile)profile);
        fake_path_cut(here, there, true);
        send_one(&p, 32);
        sent(&p, IBV_WC_RETRY_EXC_ERR);
        received_nothing(&p);
        fake_path_cut(here, there, false);
        received_nothing(&p);
        end(&p);
    }
}

/* The request arrives, and its acknowledgement does not. */
static void
a_sender_without_acknowledgements_fails_and_was_heard_once(void **state)
{
    (void)state;
    for (int profile = 0; profile < PROFILES; profile++) {
        struct pair p;

        begin(&p, (enum fake_profile)profile);
        fake_path_cut(there, here, true);
        send_one(&p, 32);
        send_one(&p, 16);
        sent(&p, IBV_WC_RETRY_EXC_ERR);
        sent(&p, IBV_WC_WR_FLUSH_ERR);
        received(&p, 32);
        received(&p, 16);
        received_nothing(&p);
        assert_int_equal(counted(here, there).dropped, 2 * 6);
        end(&p);
    }
}

static void
a_cut_that_ends_in_time_changes_nothing(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};

    (void)state;
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        bool writes = opcodes[i] == IBV_WR_RDMA_WRITE;
        bool adds = opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD;
        struct pair p;

        begin(&p, FAKE_STRICT);
        p.client.memory[0] = 3;
        p.server.memory[0] = 5;
        fake_path_cut(there, here, true);
        request(&p, opcodes[i]);
        fake_sleep_us(LASTING / 2);
        assert_int_equal(number(p.server.memory), writes ? 3 : adds ? 6 : 5);
        assert_int_equal(number(p.client.memory), 3);
        fake_path_cut(there, here, false);
        sent(&p, IBV_WC_SUCCESS);
        assert_int_equal(number(p.server.memory), writes ? 3 : adds ? 6 : 5);
        assert_int_equal(number(p.client.memory), writes ? 3 : 5);
        end(&p);
    }
}

static void
no_address_is_resolved_without_an_answer(void **state)
{
    struct pair p;

    (void)state;
    world(FAKE_RXE, 1);
    pair_open(&p, &quick);
    fake_path_cut(there, here, true);
    assert_false(pair_resolve(&p));
    assert_int_equal(p.last.event, RDMA_CM_EVENT_ADDR_ERROR);
    end(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_that_arrives_twice_is_received_once),
        cmocka_unit_test(an_atomic_operation_that_arrives_twice_is_done_once),
        cmocka_unit_test(a_path_repeats_packets_by_chance_and_by_its_seed),
        cmocka_unit_test(
            what_a_clogged_path_held_arrives_afterwards_in_its_order),
        cmocka_unit_test(a_sender_gives_up_and_its_messages_arrive_later),
        cmocka_unit_test(a_packet_without_its_predecessor_waits_for_it),
        cmocka_unit_test(acknowledgements_are_held_too),
        cmocka_unit_test(a_connection_is_made_when_the_path_is_free),
        cmocka_unit_test(nothing_arrives_along_a_cut_path),
        cmocka_unit_test(
            a_sender_without_acknowledgements_fails_and_was_heard_once),
        cmocka_unit_test(a_cut_that_ends_in_time_changes_nothing),
        cmocka_unit_test(no_address_is_resolved_without_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
