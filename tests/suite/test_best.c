/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * vc:// without an RDMA device: the client reaches the server by TCP, and then
 * by shared memory, whose socket the server's accept names. The channel
 * describes which transport carries the calls, and why no better one does.
 * Calls use a transport that is required, or fail. With RDMA:
 * tests/suite/test_failover.c. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <verbcall/async.h>
#include <verbcall/counters.h>
#include <verbcall/health.h>
#include <verbcall/runtime.h>

#include "cm/connect/features.h"
#include "cm/connect/hello.h"
#include "tests/suite/callers.h"
#include "tests/suite/fixture.h"
#include "tests/suite/relay.h"
#include "transport/shm/wire.h"
#include "transport/socket/socket.h"

#define AWAIT_MS 10000
#define TEXT     2048

static const char *
words(const struct vc_channel *channel)
{
    static char text[TEXT];

    assert_in_range(vc_channel_describe(channel, text, sizeof text), 1,
                    sizeof text - 1);
    return text;
}

static void
assert_says(const struct vc_channel *channel, const char *what)
{
    if (strstr(words(channel), what) == NULL)
        fail_msg("\"%s\" is not in:\n%s", what, words(channel));
}

static void
assert_says_not(const struct vc_channel *channel, const char *what)
{
    if (strstr(words(channel), what) != NULL)
        fail_msg("\"%s\" is in:\n%s", what, words(channel));
}

/* Makes calls, so that this thread advances the engine, until the channel's
 * description contains `what`. */
static void
await_says(struct fixture *f, const char *what)
{
    uint64_t due = fixture_ms() + AWAIT_MS;

    while (strstr(words(f->channel), what) == NULL) {
        assert_true(fixture_ms() < due);
        assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    }
}

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* Starts a server at vc://, and a channel with these lists of transports. */
static void
start(struct fixture *f, const char *served, const char *transports,
      const char *require)
{
    struct vc_server_opts server = VC_SERVER_OPTS_INIT;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    server.transports = served;
    opts.transports = transports;
    opts.require = require;
    fixture_start(f, 1, &server, &opts);
}

/* --- the best transport -------------------------------------------------- */

static void
shared_memory_is_found_by_tcp(void **state)
{
    struct fixture f;
    struct vc_counters c;

    (void)state;
    start(&f, NULL, NULL, NULL);
    assert_says(f.channel, "no connection: no call has been made yet");
    await_says(&f, "shm to shm of this host");
    assert_says_not(f.channel, "tcp to");
    assert_says_not(f.channel, "not ");
    c = counters_of(f.runtime);
    assert_int_equal(1, c.links_made_tcp);
    assert_int_equal(1, c.links_made_shm);
    assert_int_equal(1, c.upgrades);
    assert_int_equal(1, c.links_up);
    fixture_stop(&f);
}

static void
a_call_under_way_goes_on_and_runs_once(void **state)
{
    struct fixture f;
    struct caller c = {.sleep_ms = 300};
    struct vc_counters now;

    (void)state;
    fixture_board_make();
    start(&f, NULL, NULL, NULL);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    caller_start(&c);
    caller_join(&c);
    assert_int_equal(VC_OK, c.status);
    now = counters_of(f.server_runtime);
    assert_int_equal(1, now.handlers_started);
    assert_says(f.channel, "shm to");
    fixture_stop(&f);
}

static void
a_stream_ends_where_it_began(void **state)
{
    struct fixture f;
    struct suite_streams_talk_client_stream *stream;

    (void)state;
    start(&f, NULL, NULL, NULL);
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &stream));
    await_says(&f, "shm to");
    assert_says(f.channel, "tcp to 127.0.0.1");
    assert_says(f.channel, "1 call under way, to be closed");
    suite_streams_talk_close(stream);
    while (strstr(words(f.channel), "tcp to") != NULL)
        assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fixture_stop(&f);
}

static struct vc_health *health;

static void
health_add(struct vc_server *server)
{
    assert_status(VC_OK, vc_health_new(server, &health));
}

/* It is the library's own. */
static void
a_stream_that_watches_health_moves_to_the_better_transport(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f;
    uint64_t due;

    (void)state;
    opts.health_service = "";
    fixture_add = health_add;
    fixture_start(&f, 1, NULL, &opts);
    fixture_add = NULL;
    await_says(&f, "shm to");
    due = fixture_ms() + AWAIT_MS;
    while (strstr(words(f.channel), "tcp to") != NULL) {
        assert_true(fixture_ms() < due);
        assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    }
    assert_status(VC_OK, vc_health_set(health, "", false));
    while (fixture_echo(f.channel, 10, 1) == VC_OK)
        assert_true(fixture_ms() < due);
    assert_says(f.channel, ": unhealthy (NOT_SERVING)");
    assert_says(f.channel, "shm to shm of this host: 1 call under way");
    fixture_stop(&f);
    vc_health_free(health);
}

static void
a_server_that_is_back_is_found_anew(unsigned round)
{
    struct fixture f;
    pid_t server = fixture_fork_server(0);
    uint16_t port = (uint16_t)atomic_load(&fixture_board->port);

    (void)round;
    memset(&f, 0, sizeof f);
    fixture_target(port, f.target);
    fixture_start_client(&f, NULL);
    await_says(&f, "shm to");
    assert_int_equal(0, kill(server, SIGKILL));
    assert_int_equal(-SIGKILL, fixture_wait(server));
    fixture_fork_server(port);
    /* The first call may have been sent to the old server. */
    (void)fixture_echo(f.channel, 10, 1);
    await_says(&f, "shm to");
    assert_int_equal(2, counters_of(f.runtime).links_made_shm);
    fixture_stop_client(&f);
}

/* --- why no better transport --------------------------------------------- */

static void
the_reason_is_told(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, "tcp", NULL, NULL);
    await_says(&f, "tcp to 127.0.0.1");
    assert_says(f.channel,
                "not shm: the server has announced no shared-memory");
    assert_says(f.channel, "not rdma: ");
    fixture_stop(&f);

    start(&f, NULL, "tcp", NULL);
    await_says(&f, "tcp to 127.0.0.1");
    assert_says_not(f.channel, "not ");
    fixture_stop(&f);
}

static void
a_short_text_is_cut_and_its_length_told(void **state)
{
    struct fixture f;
    char all[TEXT], some[8];
    size_t len;

    (void)state;
    start(&f, "tcp", NULL, NULL);
    await_says(&f, "tcp to");
    len = vc_channel_describe(f.channel, all, sizeof all);
    assert_int_equal(strlen(all), len);
    assert_int_equal(len, vc_channel_describe(f.channel, NULL, 0));
    assert_int_equal(len, vc_channel_describe(f.channel, some, sizeof some));
    assert_int_equal(sizeof some - 1, strlen(some));
    assert_memory_equal(all, some, sizeof some - 1);
    fixture_stop(&f);
}

static void
a_server_says_what_it_listens_by(void **state)
{
    struct fixture f;
    char text[TEXT], port[80];
    size_t len;

    (void)state;
    start(&f, NULL, NULL, NULL);
    len = vc_server_describe(f.server, text, sizeof text);
    assert_int_equal(strlen(text), len);
    snprintf(port, sizeof port,
             "tcp: listens at 127.0.0.1:%u, for this host only\n", f.port);
    assert_non_null(strstr(text, port));
    assert_non_null(strstr(
        text,
        "shm: listens for clients of this host that the server notifies\n"));
    assert_non_null(strstr(text, "not rdma: cannot listen at 127.0.0.1:"));
    assert_non_null(strstr(text, "RDMA does not reach loopback addresses"));
    assert_null(strstr(text, "\nrdma: "));
    fixture_stop(&f);
}

/* A server at localhost listens at all addresses of both families; no name
 * server is needed. */
static void
a_server_at_localhost_is_reached_by_every_name_of_it(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "[::1]", "localhost"};
    struct vc_server *server;
    struct fixture f;
    char text[TEXT], target[80];

    (void)state;
    start(&f, NULL, NULL, NULL);
    assert_status(VC_OK, vc_server_new(f.server_runtime, NULL, &server));
    assert_status(VC_OK, vc_server_listen(server, "vc://localhost:0"));
    vc_server_describe(server, text, sizeof text);
    for (unsigned i = 0; i < 3; i++) {
        struct vc_channel *channel;

        snprintf(target, sizeof target, "vc://%s:%u", hosts[i],
                 vc_server_port(server));
        if (i < 2) {
            assert_non_null(strstr(text, target + strlen("vc://")));
        }
        assert_status(VC_OK,
                      vc_channel_open(f.runtime, target, NULL, &channel));
        /* The server has no service: this status shows that it was reached. */
        assert_status(VC_UNIMPLEMENTED, fixture_echo(channel, 10, 1));
        vc_channel_close(channel);
    }
    vc_server_free(server);
    fixture_stop(&f);
}

/* --- required transports ------------------------------------------------- */

static void
what_is_required_is_never_replaced(void **state)
{
    struct fixture f;

    (void)state;
    start(&f, "tcp", NULL, "shm");
    assert_status(VC_FAILED_PRECONDITION, fixture_echo(f.channel, 10, 1));
    assert_non_null(strstr(vc_error(), "require excludes tcp"));
    assert_non_null(
        strstr(vc_error(), "has announced no shared-memory socket"));
    assert_int_equal(0, counters_of(f.server_runtime).handlers_started);
    assert_status(VC_FAILED_PRECONDITION,
                  vc_channel_connect(f.channel, &suite_probe_service));
    fixture_stop(&f);

    start(&f, NULL, NULL, "shm");
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_says(f.channel, "shm to");
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fixture_stop(&f);
}

static void
good_done(enum vc_status status, void *reply, void *arg)
{
    (void)arg;
    assert_status(VC_OK, status);
    vc_message_free(reply);
}

/* Begins a call, and advances the engine until the channel has a link. True if
 * that is only the one that finds the server, and carries no calls. */
static bool
scout_await(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    uint64_t due = fixture_ms() + AWAIT_MS;

    assert_status(VC_OK, vc_channel_call_async(f->channel, &suite_probe_service,
                                               SUITE_PROBE_ECHO, &request, NULL,
                                               good_done, NULL, NULL));
    while (strstr(words(f->channel), " to ") == NULL) {
        assert_true(fixture_ms() < due);
        vc_runtime_poll(f->runtime, 1);
    }
    return strstr(words(f->channel), "shm to") == NULL;
}

static void
connecting_waits_for_the_transport_that_is_required(void **state)
{
    unsigned scouts = 0;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct fixture f;

        start(&f, NULL, NULL, "shm");
        scouts += scout_await(&f);
        assert_status(VC_OK,
                      vc_channel_connect(f.channel, &suite_probe_service));
        assert_says(f.channel, "shm to shm of this host");
        assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
        fixture_stop(&f);
    }
    assert_true(scouts > 0);
}

static enum vc_status
open_with(const char *transports, const char *require)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    enum vc_status status;

    opts.transports = transports;
    opts.require = require;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    status = vc_channel_open(runtime, "vc://127.0.0.1:1", &opts, &channel);
    if (status == VC_OK)
        vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

static void
assert_bad(enum vc_status status, const char *transports, const char *require,
           const char *why)
{
    assert_status(status, open_with(transports, require));
    if (strstr(vc_error(), why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, vc_error());
}

static void
lists_are_checked(void **state)
{
    (void)state;
    assert_bad(VC_INVALID_ARGUMENT, "", NULL, "a name is empty");
    assert_bad(VC_INVALID_ARGUMENT, "tcp,udp,shm", NULL, "'udp' is unknown");
    assert_bad(VC_INVALID_ARGUMENT, "tcp,", NULL, "a name is empty");
    assert_bad(VC_INVALID_ARGUMENT, "tcp,shm,tcp", NULL,
               "'tcp' is listed twice");
    assert_bad(VC_INVALID_ARGUMENT, "inproc", NULL, "'inproc' is unknown");
    assert_bad(VC_INVALID_ARGUMENT, "shm", NULL, "needs rdma or tcp");
    assert_bad(VC_INVALID_ARGUMENT, "tcp", "shm", "require");
    assert_bad(VC_INVALID_ARGUMENT, NULL, "x", "require");
    assert_status(VC_OK, open_with("tcp,shm", "shm"));
}

static void
a_server_by_shared_memory_alone_is_refused(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_server *server;

    (void)state;
    opts.transports = "shm";
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_server_new(runtime, &opts, &server));
    assert_status(VC_INVALID_ARGUMENT,
                  vc_server_listen(server, "vc://127.0.0.1:0"));
    assert_non_null(strstr(vc_error(), "listen at shm:NAME"));
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
the_environment_allows(void **state)
{
    struct fixture f;

    (void)state;
    setenv("VERBCALL_TRANSPORTS", "tcp", 1);
    start(&f, NULL, NULL, NULL);
    await_says(&f, "tcp to 127.0.0.1");
    assert_says_not(f.channel, "not ");
    fixture_stop(&f);
    assert_bad(VC_FAILED_PRECONDITION, "rdma", NULL, "VERBCALL_TRANSPORTS");
    assert_bad(VC_FAILED_PRECONDITION, NULL, "shm", "VERBCALL_TRANSPORTS");
    setenv("VERBCALL_TRANSPORTS", "tcp:shm", 1);
    assert_bad(VC_INVALID_ARGUMENT, NULL, NULL,
               "VERBCALL_TRANSPORTS \"tcp:shm\": 'tcp:shm' is unknown; list");
    setenv("VERBCALL_TRANSPORTS", "shm, roce", 1);
    assert_bad(VC_INVALID_ARGUMENT, NULL, NULL, "' roce' is unknown");
    setenv("VERBCALL_TRANSPORTS", "", 1);
    assert_status(VC_OK, open_with(NULL, NULL));
    unsetenv("VERBCALL_TRANSPORTS");
}

/* With a device the link must be over RDMA. */
static void
rdma_is_there_or_an_error(void **state)
{
    struct fixture f;
    enum vc_status status;

    (void)state;
    start(&f, NULL, "rdma", NULL);
    status = vc_channel_connect(f.channel, &suite_probe_service);
    if (status != VC_OK)
        assert_non_null(strstr(vc_error(), "RDMA"));
    assert_int_equal(0, counters_of(f.runtime).links_made_tcp);
    assert_int_equal(0, counters_of(f.runtime).links_made_shm);
    fixture_stop(&f);
}

/* --- a server that lies -------------------------------------------------- */

#define NAME "0123456789abcdef"

/* Accepts over TCP, and names a socket of user `uid`. */
static int
accept_lying(int listener, uint32_t uid)
{
    struct vc__accept a = {.version = 1,
                           .credits = 32,
                           .log2_eager = VC__PACKET_LOG2,
                           .log2_message = 22,
                           .instance = {1},
                           .pool_token = 1,
                           .max_sessions = 8,
                           .max_slots = 8,
                           .local = {.name = NAME, .uid = uid}};
    uint8_t hello[4 + VC__HELLO_SIZE], out[VC__ACCEPT_SIZE];
    struct vc__hello h;
    int fd = accept(listener, NULL, NULL);

    assert_true(fd >= 0);
    assert_int_equal(sizeof hello, recv(fd, hello, sizeof hello, MSG_WAITALL));
    assert_int_equal(VC__SAID_OK, vc__hello_get(&h, hello + 4, VC__HELLO_SIZE));
    assert_true(h.features & VC__FEATURE_LOCAL);
    a.features = h.features;
    vc__accept_put(out, &a);
    assert_int_equal(
        0, vc__socket_say(fd, VC__RECORD_ACCEPT, out, sizeof out, NULL));
    return fd;
}

/* Listens at that name as this process's user. */
static int
impostor_listen(void)
{
    struct sockaddr_storage addr;
    struct sockaddr_un un;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len;

    vc__addr_drawn(&addr, (const uint8_t *)NAME, 0);
    len = vc__shm_sockaddr(&addr, &un);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&un, len));
    assert_int_equal(0, listen(fd, 8));
    return fd;
}

static void *
call(void *channel)
{
    (void)fixture_echo(channel, 10, 1);
    return NULL;
}

/* The name is right and the user is not: the client sends no hello to it. */
static void
an_impostor_hears_no_hello(void **state)
{
    struct fixture f;
    uint16_t port;
    int listener = relay_listen(&port), impostor = impostor_listen(), tcp, shm;
    struct pollfd p;
    pthread_t thread;
    char byte;

    (void)state;
    memset(&f, 0, sizeof f);
    fixture_target(port, f.target);
    fixture_start_client(&f, NULL);
    assert_int_equal(0, pthread_create(&thread, NULL, call, f.channel));
    tcp = accept_lying(listener, geteuid() + 1);
    p = (struct pollfd){.fd = impostor, .events = POLLIN};
    assert_int_equal(1, poll(&p, 1, AWAIT_MS));
    shm = accept(impostor, NULL, NULL);
    assert_int_equal(0, recv(shm, &byte, 1, 0)); /* closed without a byte */
    assert_says(f.channel, "not shm: another user's process");
    close(shm);
    close(impostor);
    close(listener);
    close(tcp);
    assert_int_equal(0, pthread_join(thread, NULL));
    fixture_stop_client(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_found_by_tcp),
        cmocka_unit_test(a_call_under_way_goes_on_and_runs_once),
        cmocka_unit_test(a_stream_ends_where_it_began),
        cmocka_unit_test(
            a_stream_that_watches_health_moves_to_the_better_transport),
        fixture_apart(a_server_that_is_back_is_found_anew, 1),
        cmocka_unit_test(the_reason_is_told),
        cmocka_unit_test(a_short_text_is_cut_and_its_length_told),
        cmocka_unit_test(a_server_says_what_it_listens_by),
        cmocka_unit_test(a_server_at_localhost_is_reached_by_every_name_of_it),
        cmocka_unit_test(what_is_required_is_never_replaced),
        cmocka_unit_test(connecting_waits_for_the_transport_that_is_required),
        cmocka_unit_test(lists_are_checked),
        cmocka_unit_test(a_server_by_shared_memory_alone_is_refused),
        cmocka_unit_test(the_environment_allows),
        cmocka_unit_test(rdma_is_there_or_an_error),
        cmocka_unit_test(an_impostor_hears_no_hello),
    };

    return fixture_main(tests);
}
