/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdma+ud:// on a real kernel: calls by datagrams, targets where they lead
 * nowhere, and ends that close. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <rdma/rdma_cma.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "tests/suite/callers.h"
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"
#include "tests/suite/raw_ud.h"
#include "tests/suite/resources.h"

#define RUNTIMES 3u
#define CHANNELS 4u /* of each */
#define CROWD    40u
#define AWAIT_MS 10000

/* Bytes of an accept, with its introduction. */
#define ACCEPT 136

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* --- calls -------------------------------------------------- */

static void
calls_go_by_datagrams_and_the_channel_says_so(void **state)
{
    struct fixture *f = *state;
    char text[2048];

    for (size_t size = 0; size <= 100000; size = size * 3 + 1)
        assert_status(VC_OK, fixture_echo(f->channel, size, size));
    vc_channel_describe(f->channel, text, sizeof text);
    if (strstr(text, ", UD QP ") == NULL)
        fail_msg("no UD QP is in: %s", text);
    assert_int_equal(1, counters_of(f->runtime).links_made_ud);
    assert_int_equal(1, counters_of(f->server_runtime).links_made_ud);
    assert_int_equal(0, counters_of(f->runtime).links_made_rdma);
}

static unsigned
qps(void)
{
    struct resources r;

    assert_true(resources_of(resources_device("rxe0"), getpid(), &r));
    return r.qps;
}

/* One QP serves all clients; each client has one for all its channels. */
static void
channels_of_several_runtimes_share_one_queue_pair_of_the_server(void **state)
{
    struct vc_runtime *runtimes[RUNTIMES];
    struct vc_channel *channels[RUNTIMES][CHANNELS];
    struct fixture *f = *state;
    unsigned before;

    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    before = qps();
    for (unsigned i = 0; i < RUNTIMES; i++) {
        assert_status(VC_OK, vc_runtime_new(NULL, &runtimes[i]));
        for (unsigned j = 0; j < CHANNELS; j++) {
            assert_status(VC_OK, fixture_open_alone(runtimes[i], f->target,
                                                    &channels[i][j]));
            assert_status(VC_OK, fixture_echo(channels[i][j], 3000, j));
        }
    }
    assert_int_equal(1 + RUNTIMES * CHANNELS,
                     counters_of(f->server_runtime).links_server);
    assert_int_equal(before + RUNTIMES, qps());
    for (unsigned i = 0; i < RUNTIMES; i++) {
        for (unsigned j = 0; j < CHANNELS; j++)
            vc_channel_close(channels[i][j]);
        vc_runtime_free(runtimes[i]);
    }
}

/* The memory of a runtime is enough for some of the packets that its channels
 * have to send at the same time: the others wait, and are sent in turn. */
static void
channels_that_need_more_memory_than_there_is_send_in_turn(void **state)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_channel *channels[CROWD];
    struct vc_completions *queue;
    struct vc_completion end;
    struct fixture *f = *state;
    struct vc_runtime *runtime;
    static uint8_t data[30000];

    opts.memory_limit = 700 << 10;
    assert_status(VC_OK, vc_runtime_new(&opts, &runtime));
    assert_status(VC_OK, vc_completions_new(runtime, &queue));
    request.payload = (ProtobufCBinaryData){.data = data, .len = sizeof data};
    for (unsigned i = 0; i < CROWD; i++) {
        assert_status(VC_OK,
                      fixture_open_alone(runtime, f->target, &channels[i]));
        assert_status(VC_OK, fixture_echo(channels[i], 10, i));
    }
    for (unsigned i = 0; i < CROWD; i++)
        assert_status(VC_OK, suite_probe_echo_queued(channels[i], &request,
                                                     NULL, queue, NULL, NULL));
    for (unsigned i = 0; i < CROWD; i++) {
        assert_status(VC_OK, vc_completions_next(queue, AWAIT_MS, &end));
        assert_status(VC_OK, end.status);
        vc_message_free(end.reply);
    }
    for (unsigned i = 0; i < CROWD; i++)
        vc_channel_close(channels[i]);
    vc_completions_free(queue);
    vc_runtime_free(runtime);
}

/* --- where it leads nowhere ----------------------------------------------- */

/* Connects to a target for a service, which must fail with these words. */
static void
fails(struct fixture *f, const char *target, const struct vc_service *service,
      enum vc_status expected, const char *words)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.idle_timeout_ms = 50001; /* of no other channel: it shares no link */
    opts.connect_timeout_ms = 1000;
    assert_status(VC_OK, vc_channel_open(f->runtime, target, &opts, &channel));
    assert_status(expected, vc_channel_connect(channel, service));
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, vc_error());
    vc_channel_close(channel);
}

static void
where_nobody_listens_it_says_so(void **state)
{
    char target[80];

    fails(*state, fixture_target(1, target), &suite_probe_service,
          VC_UNAVAILABLE, "nothing listens at");
}

static void
a_service_that_is_not_served_is_refused_with_its_reason(void **state)
{
    struct fixture *f = *state;

    fails(f, f->target, &suite_absent_service, VC_UNIMPLEMENTED,
          "service not served here");
}

static void
a_full_server_says_that_it_is_busy(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f;

    (void)state;
    opts.max_links = 1;
    fixture_start(&f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fails(&f, f.target, &suite_probe_service, VC_UNAVAILABLE, "busy");
    assert_in_range(counters_of(f.server_runtime).rejects_busy, 1, 100);
    fixture_stop(&f);
}

/* Port spaces have port numbers of their own. */
static void
a_server_of_connections_at_the_same_port_is_another(void **state)
{
    struct fixture *f = *state;
    struct vc_server *server;
    struct vc_runtime *runtime;
    char target[80];

    strcpy(target, "rdma");
    strcat(target, f->target + strlen("rdma+ud"));
    fails(f, target, &suite_probe_service, VC_UNAVAILABLE, "nothing listens");
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    assert_status(VC_OK, vc_server_listen(server, target));
    assert_int_equal(f->port, vc_server_port(server));
    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    assert_int_equal(0, counters_of(runtime).cm_requests);
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
a_loopback_address_is_refused(void **state)
{
    struct vc_channel *channel;
    struct fixture *f = *state;

    assert_status(
        VC_INVALID_ARGUMENT,
        vc_channel_open(f->runtime, "rdma+ud://127.0.0.1:1", NULL, &channel));
    assert_non_null(strstr(vc_error(), "loopback"));
}

/* --- private data -------------------------------------------------- */

static void
private_data_of_a_request_have_at_most_180_bytes(void **state)
{
    static const uint8_t data[181];
    struct rdma_conn_param param = {.private_data = data,
                                    .private_data_len = sizeof data};
    struct fixture *f = *state;
    struct raw r = {0};

    /* 180 bytes are taken: of no hello, so they are rejected; and the data of
     * that are 136 bytes. */
    assert_int_equal(RAW_REJECTED, raw_ud_ask(&r, f->target, data, 180));
    assert_int_equal(136, r.said_len);
    assert_int_equal(-1, rdma_connect(raw_ud_of(&r)->id, &param));
    assert_int_equal(EINVAL, errno);
    raw_close(&r);
}

/* --- a client that asks again ----------------------------------- */

/* Asks with this introduction, which must be accepted; *said is the accept. The
 * client never sends a datagram. */
static void
accepted(struct fixture *f, const struct vc__intro *intro, uint8_t said[ACCEPT])
{
    const struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__INTRO + VC__HELLO_SIZE];
    struct raw r = {0};
    struct raw_ud *u;

    vc__intro_put(bytes, intro);
    vc__hello_put(bytes + VC__INTRO, &hello);
    assert_int_equal(RAW_ESTABLISHED,
                     raw_ud_ask(&r, f->target, bytes, sizeof bytes));
    memcpy(said, r.said, ACCEPT);
    u = raw_ud_of(&r);
    ibv_destroy_ah(u->ah);
    u->ah = NULL; /* so that no CLOSE is sent */
    raw_close(&r);
}

static void
a_client_that_asks_again_gets_the_same_answer_and_no_second_link(void **state)
{
    struct vc__intro intro = {
        .key = 12345, .qpn = 17, .mtu = VC__DATAGRAM_MTU, .window = 1};
    uint8_t first[ACCEPT], again[ACCEPT], other[ACCEPT];
    struct fixture *f = *state;
    uint64_t before = counters_of(f->server_runtime).links_started;

    accepted(f, &intro, first);
    accepted(f, &intro, again);
    assert_memory_equal(first, again, ACCEPT);
    assert_int_equal(before + 1, counters_of(f->server_runtime).links_started);
    intro.qpn++; /* another client, which has drawn the same key */
    accepted(f, &intro, other);
    assert_memory_not_equal(first, other, ACCEPT);
    assert_int_equal(before + 2, counters_of(f->server_runtime).links_started);
}

/* --- the end -------------------------------------------------- */

static void
a_client_that_closes_leaves_nothing_at_the_server_at_once(void **state)
{
    struct fixture *f = *state;
    uint64_t until;

    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    assert_int_equal(1, counters_of(f->server_runtime).sessions_server);
    vc_channel_close(f->channel);
    until = fixture_ms() + AWAIT_MS;
    while (counters_of(f->server_runtime).sessions_server > 0 ||
           counters_of(f->server_runtime).links_server > 0)
        assert_in_range(fixture_ms(), 0, until);
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, NULL, &f->channel));
}

static void
a_server_that_is_closed_and_opened_again_is_found(void **state)
{
    struct fixture *f = *state;
    uint16_t port = f->port;

    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    fixture_stop_server(f);
    assert_status(VC_UNAVAILABLE, fixture_echo(f->channel, 10, 2));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    fixture_start_server_at(f, port, 1, NULL);
    assert_status(VC_OK, fixture_echo(f->channel, 10, 3));
}

/* Its runtime has no threads, so nothing answers the server meanwhile. */
static void
a_client_that_is_silent_keeps_its_session(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f;

    (void)state;
    opts.keepalive_ms = 100;
    fixture_start(&f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    usleep(1500000); /* the length is what is tested */
    assert_status(VC_OK, fixture_echo(f.channel, 10, 2));
    assert_int_equal(1, counters_of(f.server_runtime).links_made_ud);
    assert_int_equal(1, counters_of(f.server_runtime).sessions_server_opened);
    fixture_stop(&f);
}

static int (*really_post)(struct ibv_qp *, struct ibv_send_wr *,
                          struct ibv_send_wr **);
static atomic_uint to_lose;

/* ibv_post_send() of a path that loses the first datagrams. */
static int
post_or_lose(struct ibv_qp *qp, struct ibv_send_wr *wr,
             struct ibv_send_wr **refused)
{
    unsigned left = atomic_load(&to_lose);

    while (left > 0)
        if (atomic_compare_exchange_weak(&to_lose, &left, left - 1))
            return 0;
    return really_post(qp, wr, refused);
}

/* In the place of libibverbs' own: each context of the library then loses
 * datagrams as said. */
struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    typedef struct ibv_qp *create(struct ibv_pd *, struct ibv_qp_init_attr *);
    create *really =
        (create *)dlvsym(RTLD_NEXT, "ibv_create_qp", "IBVERBS_1.1");

    if (pd->context->ops.post_send != post_or_lose)
        really_post = pd->context->ops.post_send;
    pd->context->ops.post_send = post_or_lose;
    return really(pd, attr);
}

/* Once it is connected it may be silent for longer than a server waits for the
 * first packet, which has come also when it was lost before. */
static void
a_client_whose_first_datagrams_are_lost_is_connected_all_the_same(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f;

    (void)state;
    opts.handshake_timeout_ms = 600;
    fixture_start(&f, 1, &opts, NULL);
    atomic_store(&to_lose, 2);
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_int_equal(0, atomic_load(&to_lose));
    usleep(1200000); /* the length is what is tested */
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    assert_int_equal(1, counters_of(f.server_runtime).links_made_ud);
    fixture_stop(&f);
}

/* Starts a client and a server that hold nobody for dead meanwhile. */
static void
start_patiently(struct fixture *f, uint32_t connect_ms)
{
    struct vc_server_opts server = VC_SERVER_OPTS_INIT;
    struct vc_channel_opts channel = VC_CHANNEL_OPTS_INIT;

    server.keepalive_ms = VC_KEEPALIVE_OFF;
    channel.keepalive_ms = VC_KEEPALIVE_OFF;
    channel.connect_timeout_ms = connect_ms;
    fixture_start(f, 1, &server, &channel);
}

static void
connecting_waits_no_longer_than_said_for_a_path_that_loses_all(void **state)
{
    const uint32_t connect_ms = 400;
    struct fixture f;
    uint64_t began;

    (void)state;
    start_patiently(&f, connect_ms);
    atomic_store(&to_lose, UINT_MAX);
    began = fixture_ms();
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_true(fixture_ms() - began >= connect_ms);
    assert_in_range(pace_since(began), 0, 2000);
    atomic_store(&to_lose, 0);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fixture_stop(&f);
}

/* The call stays under way, as its datagrams are lost. Connecting would wait
 * for it for 8 s. */
static void
connecting_again_does_not_wait_for_calls_under_way(void **state)
{
    struct caller c = {.size = 10, .timeout_ms = 30000};
    struct fixture f;
    uint64_t began;

    (void)state;
    fixture_board_make();
    start_patiently(&f, 8000);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    atomic_store(&to_lose, UINT_MAX);
    caller_start(&c);
    caller_await_asleep(&c);
    began = fixture_ms();
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_in_range(pace_since(began), 0, 2000);
    atomic_store(&to_lose, 0);
    caller_join(&c);
    assert_int_equal(VC_OK, c.status);
    fixture_stop(&f);
}

/* Starts a server when words[0] is set, at the port of the board. */
static int
serve_later(void *arg, int ready)
{
    struct fixture f = {.target = ""};

    (void)arg;
    assert_int_equal(1, write(ready, "r", 1));
    fixture_await(&fixture_board->words[0], 1);
    fixture_start_server_at(&f, (uint16_t)atomic_load(&fixture_board->port), 1,
                            NULL);
    fixture_tell(&fixture_board->words[1]);
    pause();
    return 0;
}

/* Calls end with UNAVAILABLE within the time of keepalive, and work again. */
static void
a_killed_server_is_missed_in_time_and_found_again(unsigned round)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f = {.target = ""};
    pid_t server = fixture_fork_server(0),
          heir = fixture_fork(serve_later, NULL);
    uint64_t began;

    (void)round;
    opts.keepalive_ms = 300;
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f.target);
    fixture_start_client(&f, &opts);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    kill(server, SIGKILL);
    assert_int_equal(-SIGKILL, fixture_wait(server));
    began = fixture_ms();
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 2));
    assert_in_range(fixture_ms() - began, 0, 5000);
    fixture_tell(&fixture_board->words[0]);
    fixture_await(&fixture_board->words[1], 1);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 3));
    fixture_stop_client(&f);
    kill(heir, SIGKILL);
    fixture_wait(heir);
}

#define T(test)                                                                \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_apart(a_killed_server_is_missed_in_time_and_found_again, 1),
        T(calls_go_by_datagrams_and_the_channel_says_so),
        T(channels_of_several_runtimes_share_one_queue_pair_of_the_server),
        T(channels_that_need_more_memory_than_there_is_send_in_turn),
        T(where_nobody_listens_it_says_so),
        T(a_service_that_is_not_served_is_refused_with_its_reason),
        cmocka_unit_test(a_full_server_says_that_it_is_busy),
        T(a_server_of_connections_at_the_same_port_is_another),
        T(a_loopback_address_is_refused),
        T(private_data_of_a_request_have_at_most_180_bytes),
        T(a_client_that_asks_again_gets_the_same_answer_and_no_second_link),
        T(a_client_that_closes_leaves_nothing_at_the_server_at_once),
        T(a_server_that_is_closed_and_opened_again_is_found),
        cmocka_unit_test(a_client_that_is_silent_keeps_its_session),
        cmocka_unit_test(
            a_client_whose_first_datagrams_are_lost_is_connected_all_the_same),
        cmocka_unit_test(
            connecting_waits_no_longer_than_said_for_a_path_that_loses_all),
        cmocka_unit_test(connecting_again_does_not_wait_for_calls_under_way),
    };

    setenv("VC_TEST_SCHEME", "rdma+ud", 1);
    return fixture_main(tests);
}
