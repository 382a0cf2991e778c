/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Datagram services (RDMA_PS_UDP) of the simulated rdma_cm: the lookup of a
 * service, its answers, and what is lost on the way. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

#define ASKED    180u /* bytes of private data in a request */
#define ANSWERED 136u
#define QKEY     0x1234567u

static const struct wish datagrams = {.datagrams = true};

static void
world(void)
{
    fake_begin(
        &(struct fake_opts){.seed = 1, .profile = FAKE_RXE, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
}

static bool
all_zero(const uint8_t *bytes, size_t n)
{
    while (n > 0 && bytes[n - 1] == 0)
        n--;
    return n == 0;
}

/* Up to the request of a client. */
static void
asked(struct pair *p, const void *data, uint8_t len)
{
    pair_open(p, &datagrams);
    assert_true(pair_resolve(p));
    assert_true(pair_ask(p, data, len));
}

/* --- a service is found ------------------------------------------------ */

static void
the_answer_leads_to_the_services_qp(void **state)
{
    struct pair p;
    struct ibv_wc wc;

    (void)state;
    world();
    asked(&p, "please", 6);
    assert_int_equal(p.said_len, ASKED);
    assert_memory_equal(p.said, "please", 6);
    assert_true(all_zero(p.said + 6, ASKED - 6));
    assert_ptr_equal(p.last.listen_id, p.listener);
    assert_int_equal(p.server.id->qp_type, IBV_QPT_UD);

    assert_true(pair_accept(&p, "welcome", 7));
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_ptr_equal(p.last.id, p.client.id);
    assert_int_equal(p.said_len, ANSWERED);
    assert_memory_equal(p.said, "welcome", 7);
    assert_true(all_zero(p.said + 7, ANSWERED - 7));
    assert_int_equal(p.last.param.ud.qp_num, p.server.id->qp->qp_num);
    assert_int_equal(p.last.param.ud.qkey, QKEY);
    assert_int_equal(p.last.param.ud.ah_attr.is_global, 1);

    p.client.ah = ibv_create_ah(p.client.pd, &p.last.param.ud.ah_attr);
    p.client.qpn = p.last.param.ud.qp_num;
    p.client.qkey = p.last.param.ud.qkey;
    end_receive(&p.server, 100);
    end_send(&p.client, 9, IBV_SEND_SIGNALED);
    assert_int_equal(end_complete(&p.client, &wc, 10), IBV_WC_SUCCESS);
    assert_int_equal(end_complete(&p.server, &wc, 10), IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, 49);
    assert_false(event_next(&p, 1000)); /* the server gets no ESTABLISHED */
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
there_is_no_disconnected(void **state)
{
    struct pair p;

    (void)state;
    world();
    assert_true(pair_connect(&p, &datagrams));
    assert_int_equal(rdma_disconnect(p.client.id), 0);
    assert_string_equal(state_text(&p.client), "ERR");
    assert_string_equal(state_text(&p.server), "RTS");
    assert_int_equal(rdma_disconnect(p.server.id), 0);
    assert_false(event_next(&p, 5000));
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* --- refusals ---------------------------------------------------------- */

static void
a_reject_gives_unreachable_with_its_words(void **state)
{
    uint8_t words[ANSWERED + 1] = "no, thank you";
    struct pair p;

    (void)state;
    world();
    asked(&p, NULL, 0);
    assert_int_equal(rdma_reject(p.server.id, words, ANSWERED + 1), -1);
    assert_int_equal(rdma_reject(p.server.id, words, ANSWERED), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_UNREACHABLE));
    assert_int_equal(p.last.status, 2);
    assert_int_equal(p.said_len, ANSWERED);
    assert_memory_equal(p.said, words, ANSWERED);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
too_much_private_data_is_refused(void **state)
{
    uint8_t much[ASKED + 1] = {0};
    struct rdma_conn_param param = {.private_data = much,
                                    .private_data_len = ASKED + 1};
    struct pair p;

    (void)state;
    world();
    pair_open(&p, &datagrams);
    assert_true(pair_resolve(&p));
    assert_int_equal(rdma_connect(p.client.id, &param), -1);
    assert_true(pair_ask(&p, much, ASKED));
    param.private_data_len = ANSWERED + 1;
    assert_int_equal(rdma_accept(p.server.id, &param), -1);
    assert_true(event_expect(&p, RDMA_CM_EVENT_UNREACHABLE));
    assert_int_equal(p.last.status, 2);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
nobody_listens_is_unreachable_with_status_1(void **state)
{
    struct pair p;
    struct rdma_conn_param param = {0};

    (void)state;
    world();
    pair_open(&p, &datagrams);
    rdma_destroy_id(p.listener);
    rdma_create_id(p.channel, &p.listener, NULL, RDMA_PS_UDP);
    assert_true(pair_resolve(&p));
    assert_int_equal(rdma_connect(p.client.id, &param), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_UNREACHABLE));
    assert_int_equal(p.last.status, 1);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* librdmacm would crash, or answer with QP 0. */
static void
an_accept_without_parameters_ends_the_program(void **state)
{
    pid_t child;
    int status;

    (void)state;
    child = fork();
    if (child == 0) {
        struct pair p;

        freopen("/dev/null", "w", stderr);
        world();
        asked(&p, NULL, 0);
        end_make(&p, &p.server);
        rdma_accept(p.server.id, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* --- losses ------------------------------------------------------------ */

static void
the_kernel_asks_again_after_four_seconds(void **state)
{
    struct pair p;
    uint64_t begin;

    (void)state;
    world();
    fake_rule("SIDR_REQ ->", 1, FAKE_LOSE, 0);
    begin = fake_now_us();
    asked(&p, NULL, 0);
    assert_in_range(fake_now_us() - begin, 4000000, 4500000);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* The server's kernel has forgotten the first request when it has answered. */
static void
a_lost_answer_has_the_server_asked_again(void **state)
{
    struct rdma_cm_id *first;
    struct pair p;

    (void)state;
    world();
    fake_rule("SIDR_REP 0 ->", 1, FAKE_LOSE, 0);
    asked(&p, NULL, 0);
    assert_true(pair_accept(&p, "one", 3));
    assert_false(event_next(&p, 4000));
    assert_true(event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST));
    first = p.server.id;
    assert_ptr_not_equal(first, p.last.id);
    assert_int_equal(
        rdma_accept(p.last.id, &(struct rdma_conn_param){.qp_num = 99}), 0);
    rdma_destroy_id(p.last.id);
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_int_equal(p.last.param.ud.qp_num, 99);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
a_late_answer_to_the_first_request_ends_the_second(void **state)
{
    struct rdma_cm_id *second;
    struct pair p;

    (void)state;
    world();
    fake_rule("SIDR_REP 0 ->", 1, FAKE_DELAY, 5000000);
    asked(&p, NULL, 0);
    assert_true(pair_accept(&p, "one", 3));
    assert_false(event_next(&p, 4000));
    assert_true(event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST));
    second = p.last.id;
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_memory_equal(p.said, "one", 4);
    rdma_destroy_id(second);
    assert_false(event_next(&p, 100));
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
a_silent_service_is_unreachable_after_70_seconds(void **state)
{
    struct pair p;

    (void)state;
    world();
    asked(&p, NULL, 0);
    assert_false(event_next(&p, 69000));
    assert_true(event_next(&p, 1000));
    assert_int_equal(p.last.event, RDMA_CM_EVENT_UNREACHABLE);
    assert_int_equal(p.last.status, -110);
    assert_int_equal(p.said_len, 0);
    assert_true(pair_accept(&p, NULL, 0)); /* nobody waits for it */
    assert_false(event_next(&p, 1000));
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_leads_to_the_services_qp),
        cmocka_unit_test(there_is_no_disconnected),
        cmocka_unit_test(a_reject_gives_unreachable_with_its_words),
        cmocka_unit_test(too_much_private_data_is_refused),
        cmocka_unit_test(nobody_listens_is_unreachable_with_status_1),
        cmocka_unit_test(an_accept_without_parameters_ends_the_program),
        cmocka_unit_test(the_kernel_asks_again_after_four_seconds),
        cmocka_unit_test(a_lost_answer_has_the_server_asked_again),
        cmocka_unit_test(a_late_answer_to_the_first_request_ends_the_second),
        cmocka_unit_test(a_silent_service_is_unreachable_after_70_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
