/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only for TCP: anyone may connect and send anything, bytes arrive in any
 * pieces, connections are reset within a packet, peers stop reading. Other
 * clients are not harmed, and errors say what to do. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "tests/suite/entries.h"
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"
#include "tests/suite/relay.h"

#define HELLO_MS  2000u
#define HALF_OPEN 1000u
#define CLOSED_MS 10000

/* --- other clients than Verbcall's --------------------------------------- */

/* Checks that the server closes the connection. */
static void
expect_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;

    assert_int_equal(1, poll(&p, 1, CLOSED_MS));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

static uint64_t
hellos_missed(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    return c.hellos_missed;
}

/* The server closes at once, without waiting for a whole hello; other calls
 * continue. */
static void
whoever_says_something_else_is_turned_away_at_once(void **state)
{
    static const char *const words[] = {
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", /* TLS */
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\xc1\x00\x39\x00", /* a hello with a wrong length */
        "\xc1\x01\x38\x00", /* no header */
        "\xc4\x00\x0c\x00", /* a packet first */
        "\xc2\x00\x32\x00", /* an accept */
        "\xff\xff\xff\xff\xff\xff\xff\xff",
    };
    static const uint8_t lens[] = {27, 11, 24, 4, 4, 4, 4, 8};
    struct fixture *f = *state;
    uint64_t before = hellos_missed(f);

    for (unsigned i = 0; i < 8; i++) {
        uint64_t began = fixture_ms();
        int fd = relay_connect(f->port);

        assert_int_equal(lens[i], send(fd, words[i], lens[i], MSG_NOSIGNAL));
        expect_closed(fd);
        assert_in_range(pace_since(began), 0, HELLO_MS / 2);
        assert_status(VC_OK, fixture_echo(f->channel, 100, i));
    }
    assert_int_equal(8, hellos_missed(f) - before);
}

static void
a_hello_that_does_not_come_is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    uint64_t began = fixture_ms(), took;
    int silent = relay_connect(f->port), half = relay_connect(f->port),
        slow = relay_connect(f->port);

    assert_int_equal(10, send(half, "\xc1\x00\x38\x00VBCL\x38\x11", 10, 0));
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(1, send(slow, "\xc1\x00\x38\x00VBCL" + i, 1, 0));
        usleep(100000); /* the test needs bytes that arrive slowly */
    }
    expect_closed(silent);
    expect_closed(half);
    expect_closed(slow);
    took = fixture_ms() - began;
    assert_true(took >= HELLO_MS - 50);
    assert_in_range(pace_since(began), 0, HELLO_MS * 2);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
}

/* More connections than may wait at a time: the oldest ones are closed. */
static void
half_open_connections_keep_nobody_out(void **state)
{
    static int fds[HALF_OPEN];
    struct fixture *f = *state;
    struct vc_channel *channel;
    unsigned before = entries_descriptors();

    for (unsigned i = 0; i < HALF_OPEN; i++) {
        fds[i] = relay_connect(f->port);
        if (i % 2 == 0)
            assert_int_equal(4, send(fds[i], "\xc1\x00\x38\x00", 4, 0));
        if (i % 100 != 99)
            continue;
        assert_status(VC_OK,
                      fixture_open_alone(f->runtime, f->target, &channel));
        assert_status(VC_OK, fixture_echo(channel, 100, i));
        vc_channel_close(channel);
    }
    for (unsigned i = 0; i < HALF_OPEN; i++)
        expect_closed(fds[i]);
    assert_in_range(entries_descriptors(), 0, before + 2);
}

/* --- listeners that are no Verbcall server ------------------------------- */

struct other {
    int listener;
    const char *says; /* the answer; NULL: a reset */
    pthread_t thread;
};

static void
other_answer(const struct other *o, int fd)
{
    char bytes[100];

    if (o->says == NULL) {
        relay_reset(fd);
        return;
    }
    if (recv(fd, bytes, sizeof bytes, 0) > 0)
        send(fd, o->says, strlen(o->says), MSG_NOSIGNAL);
    close(fd);
}

/* Runs until its listener is shut down. */
static void *
other_thread(void *arg)
{
    const struct other *o = arg;
    int fd;

    while ((fd = accept(o->listener, NULL, NULL)) >= 0)
        other_answer(o, fd);
    return NULL;
}

static void
what_is_no_server_is_said_to_be_none(void **state)
{
    static const char *const says[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "",
                                       NULL};
    struct fixture *f = *state;

    for (unsigned i = 0; i < 3; i++) {
        struct other o = {.says = says[i]};
        struct vc_channel *channel;
        char target[80];
        uint16_t port;

        o.listener = relay_listen(&port);
        assert_int_equal(0, pthread_create(&o.thread, NULL, other_thread, &o));
        snprintf(target, sizeof target, "tcp://127.0.0.1:%u", port);
        assert_status(VC_OK,
                      vc_channel_open(f->runtime, target, NULL, &channel));
        assert_int_equal(VC_UNAVAILABLE, fixture_echo(channel, 10, 1));
        if (strstr(vc_error(), "it is no Verbcall server") == NULL)
            fail_msg("%s", vc_error());
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
        vc_channel_close(channel);
        shutdown(o.listener, SHUT_RDWR);
        pthread_join(o.thread, NULL);
        close(o.listener);
    }
}

static void
where_nobody_listens_it_says_so(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;
    char target[80];
    uint16_t port;

    close(relay_listen(&port));
    snprintf(target, sizeof target, "tcp://127.0.0.1:%u", port);
    assert_status(VC_OK, vc_channel_open(f->runtime, target, NULL, &channel));
    assert_int_equal(VC_UNAVAILABLE, fixture_echo(channel, 10, 1));
    assert_non_null(strstr(vc_error(), "nothing listens at 127.0.0.1:"));
    vc_channel_close(channel);
}

static void
an_address_that_cannot_be_had_is_said_to_be(void **state)
{
    struct fixture *f = *state;
    struct vc_server *server;

    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &server));
    assert_int_equal(VC_UNAVAILABLE, vc_server_listen(server, f->target));
    assert_non_null(strstr(vc_error(), "the port is in use"));
    assert_int_equal(VC_UNAVAILABLE,
                     vc_server_listen(server, "tcp://192.0.2.1:0"));
    assert_non_null(strstr(vc_error(), "not an address of this machine"));
    vc_server_free(server);
}

/* All addresses of 127.0.0.0/8 are this machine's. */
static void
a_server_of_one_address_is_not_reached_at_another(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;
    char target[80];

    snprintf(target, sizeof target, "tcp://127.0.0.2:%u", f->port);
    assert_status(VC_OK, vc_channel_open(f->runtime, target, NULL, &channel));
    assert_int_equal(VC_UNAVAILABLE, fixture_echo(channel, 10, 1));
    assert_non_null(strstr(vc_error(), "nothing listens at 127.0.0.2:"));
    vc_channel_close(channel);
}

/* localhost means both of its addresses, or none: ::1 is in use here. */
static void
localhost_is_listened_at_as_a_whole(void **state)
{
    struct fixture *f = *state;
    struct vc_server *other, *server;
    char target[80], text[256];
    uint16_t port;

    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &other));
    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &server));
    assert_status(VC_OK, vc_server_listen(other, "tcp://[::1]:0"));
    port = vc_server_port(other);

    snprintf(target, sizeof target, "tcp://localhost:%u", port);
    assert_int_equal(VC_UNAVAILABLE, vc_server_listen(server, target));

    snprintf(target, sizeof target, "[::1]:%u: the port is in use", port);
    assert_non_null(strstr(vc_error(), target));
    assert_int_equal(0, vc_server_describe(server, text, sizeof text));
    assert_int_equal(0, vc_server_port(server));
    snprintf(target, sizeof target, "tcp://127.0.0.1:%u", port);
    assert_status(VC_OK, vc_server_listen(other, target));
    vc_server_free(server);
    vc_server_free(other);
}

/* A server at all addresses of IPv6 listens at those of IPv4, too. */
static void
a_server_hears_both_families(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "[::1]", "localhost"};
    struct fixture f = {0};
    struct vc_channel *channel;

    (void)state;
    setenv("VC_TEST_ADDR", "::", 1);
    fixture_start_server(&f, 1, NULL);
    setenv("VC_TEST_ADDR", "127.0.0.1", 1);
    assert_status(VC_OK, vc_runtime_new(NULL, &f.runtime));
    for (unsigned i = 0; i < 3; i++) {
        char target[80];

        snprintf(target, sizeof target, "tcp://%s:%u", hosts[i], f.port);
        assert_status(VC_OK,
                      vc_channel_open(f.runtime, target, NULL, &channel));
        assert_status(VC_OK, fixture_echo(channel, 1000, i));
        vc_channel_close(channel);
    }
    vc_runtime_free(f.runtime);
    fixture_stop_server(&f);
}

/* --- bytes in transit ---------------------------------------------------- */

static struct vc_channel *
channel_through(struct fixture *f, const struct relay *r)
{
    struct vc_channel *channel;
    char target[80];

    snprintf(target, sizeof target, "tcp://127.0.0.1:%u", r->port);
    assert_status(VC_OK, vc_channel_open(f->runtime, target, NULL, &channel));
    return channel;
}

static void
bytes_that_come_one_by_one_are_put_together(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 8000, 8200, 40000};
    struct fixture *f = *state;
    struct vc_channel *channel;
    struct relay r;

    relay_begin(&r, f->port);
    atomic_store(&r.trickles, true);
    channel = channel_through(f, &r);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_status(VC_OK, fixture_echo(channel, sizes[i], i));
    vc_channel_close(channel);
    relay_end(&r);
}

/* Wherever the reset happens, the call ends in time with a true outcome, and
 * the next call succeeds. */
static void
a_connection_may_be_reset_anywhere(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;
    unsigned lost = 0;
    struct relay r;

    fixture_board_make();
    relay_begin(&r, f->port);
    channel = channel_through(f, &r);
    for (unsigned i = 0; i < fixture_many(200, 2000); i++) {
        unsigned tag = i % FIXTURE_TAGS;
        enum vc_status status;

        atomic_store(&fixture_board->ran[tag], false);
        assert_status(VC_OK, fixture_echo(channel, 10, tag));
        atomic_store(&fixture_board->ran[tag], false);
        atomic_store(&r.cut_after, 1 + i * 37 % 20000);
        status = fixture_echo(channel, 9000, tag);
        if (status != VC_OK) {
            assert_int_equal(VC_UNAVAILABLE, status);
            lost++;
            if (vc_error_outcome() == VC_OUTCOME_NOT_EXECUTED)
                assert_false(atomic_load(&fixture_board->ran[tag]));
        }
        atomic_store(&r.cut_after, INT64_MAX);
    }
    print_message("%u of the calls were lost, %u connections cut\n", lost,
                  atomic_load(&r.cuts));
    assert_true(atomic_load(&r.cuts) > fixture_many(200, 2000) / 2);
    vc_channel_close(channel);
    relay_end(&r);
}

/* Keepalive detects the peer while calls wait; other clients are not
 * affected. */
static void
a_peer_that_stops_reading_harms_nobody_else(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;
    uint64_t began;
    struct relay r;

    relay_begin(&r, f->port);
    channel = channel_through(f, &r);
    assert_status(VC_OK, fixture_echo(channel, 10, 1));
    atomic_store(&r.halted, true);
    began = fixture_ms();
    assert_int_equal(VC_UNAVAILABLE, fixture_echo(channel, 1000000, 2));
    assert_in_range(pace_since(began), 0, 3000);
    assert_non_null(strstr(vc_error(), "has not answered for"));
    for (unsigned i = 0; i < 100; i++)
        assert_status(VC_OK, fixture_echo(f->channel, 1000, i));
    atomic_store(&r.halted, false);
    assert_status(VC_OK, fixture_echo(channel, 10, 3));
    vc_channel_close(channel);
    relay_end(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            whoever_says_something_else_is_turned_away_at_once, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(
            a_hello_that_does_not_come_is_not_waited_for, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(half_open_connections_keep_nobody_out,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_server_is_said_to_be_none,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(where_nobody_listens_it_says_so,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            an_address_that_cannot_be_had_is_said_to_be, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(
            a_server_of_one_address_is_not_reached_at_another, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(localhost_is_listened_at_as_a_whole,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test(a_server_hears_both_families),
        cmocka_unit_test_setup_teardown(
            bytes_that_come_one_by_one_are_put_together, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(a_connection_may_be_reset_anywhere,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            a_peer_that_stops_reading_harms_nobody_else, fixture_setup,
            fixture_teardown),
    };

    return fixture_main(tests);
}
