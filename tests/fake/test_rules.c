/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Failures between two hosts: packets and messages that are lost, wires
 * that are cut, peers that die or freeze. The server is a process of its
 * own, the client is main. Bodies of processes assert nothing: they store
 * their results. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

#define SECOND   1000000u /* us */
#define RECEIVES 8

/* A server for one client. */
struct server {
    struct pair p;
    struct fake_host *host;
    struct fake_process *process;
    atomic_uint port, disconnected, established;
    bool sends;     /* send a packet once connected */
    char heard[64]; /* the private data of the request */
};

static const struct wish quick = {
    .retries_given = true, .retry = 6, .rnr_retry = 6, .timeout = 10};
static const struct wish for_ever = {
    .retries_given = true, .retry = 7, .rnr_retry = 7, .timeout = 10};

/* --- the server -------------------------------------------------------- */

static void
server_answer(struct server *s)
{
    struct pair *p = &s->p;

    p->server.id = p->last.id;
    memcpy(s->heard, p->said, sizeof s->heard - 1);
    if (!end_make(p, &p->server))
        return;
    for (int i = 0; i < RECEIVES; i++)
        end_receive(&p->server, 64);
    pair_accept(p, "yes", 4);
}

/* Handles one event; returns false at the end of the connection. */
static bool
server_event(struct server *s)
{
    switch (s->p.last.event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        server_answer(s);
        return true;
    case RDMA_CM_EVENT_ESTABLISHED:
        atomic_store(&s->established, 1);
        if (s->sends)
            end_send(&s->p.server, 32, 0);
        return true;
    case RDMA_CM_EVENT_DISCONNECTED:
        rdma_disconnect(s->p.server.id);
        atomic_store(&s->disconnected, 1);
        return false;
    default:
        return true;
    }
}

static void
serve(void *arg)
{
    struct server *s = arg;
    struct pair *p = &s->p;

    pair_open(p, NULL);
    atomic_store(&s->port, p->port);
    while (!event_next(p, 1000000) || server_event(s))
        continue;
    pair_close(p);
}

/* --- the client -------------------------------------------------------- */

static void
world(struct server *s, enum fake_profile profile)
{
    memset(s, 0, sizeof *s);
    fake_begin(
        &(struct fake_opts){.seed = 1, .profile = profile, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.2", 1);
    s->host = fake_host_new("there", "10.9.0.2");
    s->process = fake_process_start(s->host, "server", serve, s);
    while (atomic_load(&s->port) == 0)
        fake_sleep_us(10);
}

/* Goes up to the connect request. */
static void
client_ask(struct pair *p, struct server *s, const struct wish *wish)
{
    struct rdma_conn_param param = {.private_data = "please",
                                    .private_data_len = 7,
                                    .initiator_depth = 1,
                                    .retry_count = wish->retry,
                                    .rnr_retry_count = wish->rnr_retry};

    memset(p, 0, sizeof *p);
    p->wish = *wish;
    p->channel = rdma_create_event_channel();
    fcntl(p->channel->fd, F_SETFL, O_NONBLOCK);
    rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP);
    p->port = (uint16_t)atomic_load(&s->port);
    assert_true(pair_resolve(p));
    assert_true(end_make(p, &p->client));
    assert_int_equal(rdma_connect(p->client.id, &param), 0);
}

/* Expects this event next, within so many seconds. */
static void
expect(struct pair *p, enum rdma_cm_event_type type, int seconds)
{
    assert_true(event_next(p, seconds * 1000));
    assert_string_equal(rdma_event_str(p->last.event), rdma_event_str(type));
}

static void
client_connect(struct pair *p, struct server *s, const struct wish *wish)
{
    client_ask(p, s, wish);
    expect(p, RDMA_CM_EVENT_ESTABLISHED, 5);
    while (atomic_load(&s->established) == 0)
        fake_sleep_us(100);
}

/* Disconnects and ends the simulated world. */
static void
client_end(struct pair *p, struct server *s)
{
    rdma_disconnect(p->client.id);
    assert_true(fake_process_wait(s->process, 500 * SECOND));
    assert_int_equal(atomic_load(&s->disconnected), 1);
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

static unsigned
lines(const char *text)
{
    const char *at = fake_trace();
    unsigned n = 0;

    while ((at = strstr(at, text)) != NULL) {
        n++;
        at++;
    }
    return n;
}

/* --- paths that drop packets without bytes ----------------------------- */

/* Whichever end's device it is; a packet with bytes passes before and after. */
static void
a_packet_without_bytes_is_lost_where_the_path_drops_it(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
                                 .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad;
        struct server s;
        struct pair p;
        struct ibv_wc wc;

        world(&s, FAKE_STRICT);
        client_connect(&p, &s, &quick);
        fake_device_drops_empty(there ? s.host : fake_host_local(), true);
        assert_int_equal(send_one(&p, 1000), IBV_WC_SUCCESS);
        assert_int_equal(0, ibv_post_send(p.client.id->qp, &wr, &bad));
        assert_int_equal(IBV_WC_RETRY_EXC_ERR,
                         end_complete(&p.client, &wc, 10000));
        assert_string_equal(state_text(&p.client), "ERR");
        client_end(&p, &s);
    }
}

/* --- the golden trace -------------------------------------------------- */

static void
one_seed_is_this_very_trace(void **state)
{
    static const char golden[] =
        "[  0.014] main: event ADDR_RESOLVED\n"
        "[  0.018] main: event ROUTE_RESOLVED\n"
        "[  0.020] main: REQ -> there\n"
        "[  0.024] server: event CONNECT_REQUEST\n"
        "[  0.028] server: REP -> local\n"
        "[  0.031] main: event CONNECT_RESPONSE\n"
        "[  0.031] main: RTU -> there\n"
        "[  0.038] server: event ESTABLISHED\n"
        "[  0.140] main qp 17: SEND 32 B -> there\n"
        "[  0.140] server qp 17: completion RECV success\n"
        "[  0.143] main qp 17: completion SEND success\n"
        "[  0.235] main: DREQ -> there\n"
        "[  0.238] server: event DISCONNECTED\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server qp 17: completion RECV Work Request Flushed Error\n"
        "[  0.239] server: DREP -> local\n"
        "[  0.242] main: event DISCONNECTED\n";
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_STRICT);
    client_connect(&p, &s, &quick);
    assert_int_equal(send_one(&p, 1000), IBV_WC_SUCCESS);
    rdma_disconnect(p.client.id);
    assert_true(fake_process_wait(s.process, SECOND));
    expect(&p, RDMA_CM_EVENT_DISCONNECTED, 1);
    assert_string_equal(fake_trace(), golden);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* --- packets ----------------------------------------------------------- */

/* Returns how long a successful send takes until its completion. */
static uint64_t
good_send_us(struct pair *p)
{
    uint64_t start = fake_now_us();

    assert_int_equal(send_one(p, 1000), IBV_WC_SUCCESS);
    return fake_now_us() - start;
}

static void
a_lost_packet_is_sent_again_after_the_timeout(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_RXE);
    client_connect(&p, &s, &quick);
    fake_rule("SEND 32 B -> there", 1, FAKE_LOSE, 0);
    /* 4.096 us * 2^10 */
    assert_in_range(good_send_us(&p), 4194, 4194 + 200);
    assert_int_equal(lines("SEND 32 B -> there"), 2);
    client_end(&p, &s);
}

static void
six_tries_are_seven_packets(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_STRICT);
    client_connect(&p, &s, &quick);
    fake_rule("SEND 32 B -> there", 0, FAKE_LOSE, 0);
    assert_int_equal(send_one(&p, 1000), IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(lines("SEND 32 B -> there"), 7);
    assert_string_equal(state_text(&p.client), "ERR");
    fake_no_rules();
    client_end(&p, &s);
}

static void
a_cut_wire_ends_the_tries(void **state)
{
    for (int profile = 0; profile < 2; profile++) {
        struct server s;
        struct pair p;
        uint64_t start;

        (void)state;
        world(&s, (enum fake_profile)profile);
        client_connect(&p, &s, &quick);
        fake_wire_cut(fake_host_local(), s.host, true);
        start = fake_now_us();
        assert_int_equal(send_one(&p, 1000), IBV_WC_RETRY_EXC_ERR);
        assert_in_range(fake_now_us() - start, 7 * 4194, 7 * 4194 + 200);
        assert_int_equal(lines("SEND 32 B -> there"), 7);
        assert_false(event_next(&p, 100)); /* no event is reported */
        fake_wire_cut(fake_host_local(), s.host, false);
        client_end(&p, &s);
    }
}

static void
seven_tries_are_for_ever_on_soft_roce_only(void **state)
{
    for (int profile = 0; profile < 2; profile++) {
        bool rxe = profile == FAKE_RXE;
        struct server s;
        struct pair p;

        (void)state;
        world(&s, (enum fake_profile)profile);
        client_connect(&p, &s, &for_ever);
        fake_wire_cut(fake_host_local(), s.host, true);
        assert_int_equal(send_one(&p, 10000), rxe ? -1 : IBV_WC_RETRY_EXC_ERR);
        fake_wire_cut(fake_host_local(), s.host, false);
        if (rxe) {
            struct ibv_wc wc;

            assert_int_equal(end_complete(&p.client, &wc, 100), IBV_WC_SUCCESS);
        }
        client_end(&p, &s);
    }
}

static void
a_delayed_packet_comes_later(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_STRICT);
    client_connect(&p, &s, &quick);
    fake_rule("SEND 32 B -> there", 1, FAKE_DELAY, 2000);
    assert_in_range(good_send_us(&p), 2000, 2200);
    client_end(&p, &s);
}

/* --- messages of rdma_cm ----------------------------------------------- */

static unsigned
bits_that_differ(const char *a, const char *b, size_t n)
{
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++)
        bits += (unsigned)__builtin_popcount((uint8_t)(a[i] ^ b[i]));
    return bits;
}

static void
an_altered_request_differs_in_one_bit(void **state)
{
    static const char said[56] = "please";
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_STRICT);
    fake_rule("main: REQ", 1, FAKE_ALTER, 0);
    client_connect(&p, &s, &quick);
    assert_int_equal(bits_that_differ(s.heard, said, sizeof said), 1);
    client_end(&p, &s);
}

/* Each message is lost once and sent again; connecting and
 * disconnecting succeed. */
static void
a_lost_message_is_said_again(void **state)
{
    static const char *const messages[] = {"main: REQ", "server: REP",
                                           "main: RTU", "main: DREQ"};

    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        struct server s;
        struct pair p;
        uint64_t start;

        world(&s, FAKE_RXE);
        start = fake_now_us();
        fake_rule(messages[i], 1, FAKE_LOSE, 0);
        client_ask(&p, &s, &quick);
        expect(&p, RDMA_CM_EVENT_ESTABLISHED, 60);
        while (atomic_load(&s.established) == 0)
            fake_sleep_us(100);
        rdma_disconnect(p.client.id);
        assert_true(fake_process_wait(s.process, 60 * SECOND));
        assert_int_equal(lines(messages[i]), 2);
        assert_in_range(fake_now_us() - start, 4 * SECOND, 20 * SECOND);
        expect(&p, RDMA_CM_EVENT_DISCONNECTED, 60);
        pair_close(&p);
        assert_int_equal(fake_end(), 0);
    }
}

static void
a_peer_that_is_cut_off_is_given_up_in_the_end(void **state)
{
    struct server s;
    struct pair p;
    uint64_t start;

    (void)state;
    world(&s, FAKE_RXE);
    client_connect(&p, &s, &quick);
    fake_wire_cut(fake_host_local(), s.host, true);
    start = fake_now_us();
    rdma_disconnect(p.client.id);
    expect(&p, RDMA_CM_EVENT_DISCONNECTED, 200);
    assert_int_equal(p.last.status, -110);
    assert_in_range(fake_now_us() - start, 102 * SECOND, 103 * SECOND);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* --- peers ------------------------------------------------------------- */

static void
kill_server(void *arg)
{
    fake_process_kill(((struct server *)arg)->process);
}

static void
the_peer_of_a_killed_process_is_told(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_RXE);
    client_connect(&p, &s, &quick);
    fake_process_kill(s.process);
    expect(&p, RDMA_CM_EVENT_DISCONNECTED, 1);
    assert_string_equal(state_text(&p.client), "RTS"); /* no flush */
    rdma_disconnect(p.client.id);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
a_server_killed_as_it_accepts_has_refused(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_STRICT);
    fake_when("server: REP", 1, kill_server, &s);
    client_ask(&p, &s, &quick);
    expect(&p, RDMA_CM_EVENT_REJECTED, 5);
    assert_int_equal(p.last.status, 28);
    assert_true(fake_process_ended(s.process));
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

/* The server is killed by its own thread while it sends a packet; main sleeps.
 * The packet is delayed by delay_us. */
static void
kill_as_it_sends(unsigned delay_us)
{
    struct server s;
    struct pair p;

    world(&s, FAKE_RXE);
    s.sends = true;
    fake_when("server qp", 1, kill_server, &s);
    if (delay_us > 0)
        fake_rule("server qp", 1, FAKE_DELAY, delay_us);
    client_ask(&p, &s, &quick);
    assert_int_equal(end_receive(&p.client, 64), 0);
    expect(&p, RDMA_CM_EVENT_ESTABLISHED, 5);
    fake_sleep_us(SECOND / 100);
    expect(&p, RDMA_CM_EVENT_DISCONNECTED, 0);
    assert_int_equal(lines(": SEND 32 B"), 1);
    assert_int_equal(lines("completion RECV"), 0);
    rdma_disconnect(p.client.id);
    pair_close(&p);
    assert_int_equal(fake_end(), 0);
}

static void
a_process_killed_as_it_sends_has_not_sent(void **state)
{
    (void)state;
    kill_as_it_sends(0);
}

static void
no_time_passes_before_a_killed_process_ends(void **state)
{
    (void)state;
    kill_as_it_sends(1000);
}

static void
the_kernel_of_a_frozen_peer_answers(void **state)
{
    struct server s;
    struct pair p;

    (void)state;
    world(&s, FAKE_RXE);
    client_connect(&p, &s, &quick);
    fake_process_freeze(s.process);
    assert_int_equal(send_one(&p, 100), IBV_WC_SUCCESS);
    assert_false(event_next(&p, 100000));
    fake_process_thaw(s.process);
    client_end(&p, &s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_packet_without_bytes_is_lost_where_the_path_drops_it),
        cmocka_unit_test(one_seed_is_this_very_trace),
        cmocka_unit_test(a_lost_packet_is_sent_again_after_the_timeout),
        cmocka_unit_test(six_tries_are_seven_packets),
        cmocka_unit_test(a_cut_wire_ends_the_tries),
        cmocka_unit_test(seven_tries_are_for_ever_on_soft_roce_only),
        cmocka_unit_test(a_delayed_packet_comes_later),
        cmocka_unit_test(an_altered_request_differs_in_one_bit),
        cmocka_unit_test(a_lost_message_is_said_again),
        cmocka_unit_test(a_peer_that_is_cut_off_is_given_up_in_the_end),
        cmocka_unit_test(the_peer_of_a_killed_process_is_told),
        cmocka_unit_test(a_server_killed_as_it_accepts_has_refused),
        cmocka_unit_test(a_process_killed_as_it_sends_has_not_sent),
        cmocka_unit_test(no_time_passes_before_a_killed_process_ends),
        cmocka_unit_test(the_kernel_of_a_frozen_peer_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
