/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that use rdma_cm without Verbcall: rping, ib_send_lat, rdma_client,
 * ucmatose in both port spaces of connections, and udaddy over datagrams. Our
 * listener rejects them, and other clients are not affected. Our client reports
 * that their servers are not Verbcall servers. mckey and our publishers and
 * members meet in a multicast group. */
#include "tests/suite/features.vc.h"
#include "tests/suite/fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/counters.h>

/* The time in which foreign programs must end after a reject. */
#define PROGRAM_MS   10000u
#define FOREIGN_PORT 17471
#define UDADDY_PORT  7174 /* it has no other */

static bool
have_program(const char *name)
{
    char command[100];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* Writes a command line: all programs take the address first, then -p and a
 * port. */
static void
program_words(char *out, size_t size, const char *before_addr, unsigned port,
              const char *after)
{
    snprintf(out, size, "%s %s -p %u %s", before_addr, getenv("VC_TEST_ADDR"),
             port, after);
}

/* Starts a program by a shell command, without output. */
static pid_t
program_start(const char *words)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char command[300];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(command, sizeof command, "exec %s >/dev/null 2>&1 </dev/null",
                 words);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Puts the fixture's address, which has room for this, into the port space
 * RDMA_PS_IB. */
static void
into_ib(struct fixture *f)
{
    memmove(f->target + strlen("rdma+ib"), f->target + strlen("rdma"),
            strlen(f->target + strlen("rdma")) + 1);
    memcpy(f->target, "rdma+ib", strlen("rdma+ib"));
}

/* Gets the number of connection requests that the server has received, and of
 * those it rejected because they had no hello. */
static void
requests_count(struct fixture *f, uint64_t *requests, uint64_t *refused)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    *requests = c.cm_requests;
    *refused = c.rejects_malformed;
}

/* Calls continue while the program runs. The program reaches the listener, is
 * rejected because of its private data, and ends without success. */
static void
turned_away(const char *name, const char *before_addr, const char *after,
            bool by_ib)
{
    struct fixture f;
    char words[200];
    uint64_t due, calls = 0, requests, refused;
    int status;
    pid_t pid;

    if (!have_program(name))
        skip();
    fixture_start(&f, 1, NULL, NULL);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    if (by_ib) {
        into_ib(&f);
        assert_status(VC_OK, vc_server_listen(f.server, f.target));
    }
    requests_count(&f, &requests, &refused);
    assert_int_equal(requests, 1); /* the channel's request */
    assert_int_equal(refused, 0);
    program_words(words, sizeof words, before_addr, vc_server_port(f.server),
                  after);
    pid = program_start(words);
    due = fixture_ms() + PROGRAM_MS;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_status(VC_OK, fixture_echo(f.channel, 10, calls++));
        assert_in_range(fixture_ms(), 0, due);
    }
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    requests_count(&f, &requests, &refused);
    print_message("%s asked %u times, and was refused %u times\n", name,
                  (unsigned)requests - 1, (unsigned)refused);
    assert_in_range(refused, 1, UINT64_MAX);
    assert_int_equal(refused, requests - 1);
    vc_channel_close(f.channel);
    assert_status(VC_OK,
                  vc_channel_open(f.runtime, f.target, NULL, &f.channel));
    assert_status(VC_OK, fixture_echo(f.channel, 10, 2));
    fixture_stop(&f);
}

static void
rping_is_turned_away_and_nobody_else_notices(void **state)
{
    (void)state;
    turned_away("rping", "rping -c -a", "-C 1", false);
}

static void
ib_send_lat_is_turned_away_and_nobody_else_notices(void **state)
{
    (void)state;
    turned_away("ib_send_lat", "ib_send_lat -R -n 10", "", false);
}

static void
rdma_client_is_turned_away_and_nobody_else_notices(void **state)
{
    (void)state;
    turned_away("rdma_client", "rdma_client -s", "", false);
}

static void
ucmatose_is_turned_away_in_both_port_spaces(void **state)
{
    (void)state;
    turned_away("ucmatose", "ucmatose -s", "-C 1", false);
    turned_away("ucmatose", "ucmatose -s", "-C 1 -P ib", true);
}

/* Connects our client to a foreign server, as soon as that listens. */
static void
at_a_foreign_server(const char *name, const char *before_addr,
                    const char *after, bool by_ib)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f = {0};
    char words[200];
    uint64_t due = fixture_ms() + PROGRAM_MS;
    enum vc_status status;
    pid_t pid;

    if (!have_program(name))
        skip();
    program_words(words, sizeof words, before_addr, FOREIGN_PORT, after);
    pid = program_start(words);
    opts.connect_timeout_ms = PROGRAM_MS; /* the same limit for both */
    fixture_target(FOREIGN_PORT, f.target);
    if (by_ib)
        into_ib(&f);
    fixture_start_client(&f, &opts);
    do {
        status = vc_channel_connect(f.channel, &suite_probe_service);
        assert_in_range(fixture_ms(), 0, due);
    } while (strstr(vc_error(), "nothing listens") != NULL);

    print_message("%s: %s, %s\n", name, vc_status_name(status), vc_error());
    assert_int_equal(VC_INTERNAL, status);
    assert_non_null(strstr(vc_error(), "sent an invalid accept"));
    fixture_stop_client(&f);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* udaddy has no option for the port, so the fixture's words do not fit. */
static pid_t
udaddy_start(const char *before_addr)
{
    char words[200];

    if (!have_program("udaddy"))
        skip();
    snprintf(words, sizeof words, "udaddy %s %s -c 1 -C 1", before_addr,
             getenv("VC_TEST_ADDR"));
    return program_start(words);
}

/* The target of datagrams at udaddy's port. */
static const char *
udaddy_target(char out[80])
{
    char target[80];

    snprintf(out, 80, "rdma+ud%s",
             fixture_target(UDADDY_PORT, target) + strlen("rdma"));
    return out;
}

static void
udaddy_is_turned_away_and_nobody_else_notices(void **state)
{
    uint64_t due, calls = 0, requests, refused;
    struct fixture f;
    char target[80];
    int status;
    pid_t pid;

    (void)state;
    fixture_start(&f, 1, NULL, NULL);
    assert_status(VC_OK, vc_server_listen(f.server, udaddy_target(target)));
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    pid = udaddy_start("-s");
    due = fixture_ms() + PROGRAM_MS;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_status(VC_OK, fixture_echo(f.channel, 10, calls++));
        assert_in_range(fixture_ms(), 0, due);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    requests_count(&f, &requests, &refused);
    assert_int_equal(2, requests); /* the channel's, and this */
    assert_int_equal(1, refused);
    fixture_stop(&f);
}

static void
a_call_to_udaddy_ends_with_a_reason(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    uint64_t due = fixture_ms() + PROGRAM_MS;
    pid_t pid = udaddy_start("-b");
    struct fixture f = {0};
    enum vc_status status;

    (void)state;
    opts.connect_timeout_ms = PROGRAM_MS;
    udaddy_target(f.target);
    fixture_start_client(&f, &opts);
    do {
        status = vc_channel_connect(f.channel, &suite_probe_service);
        assert_in_range(fixture_ms(), 0, due);
    } while (strstr(vc_error(), "nothing listens") != NULL);

    print_message("udaddy: %s, %s\n", vc_status_name(status), vc_error());
    assert_int_equal(VC_INTERNAL, status);
    assert_non_null(strstr(vc_error(), "sent an invalid accept"));
    fixture_stop_client(&f);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void
a_call_to_rping_ends_with_a_reason(void **state)
{
    (void)state;
    at_a_foreign_server("rping", "rping -s -a", "-C 1", false);
}

static void
a_call_to_rdma_server_ends_with_a_reason(void **state)
{
    (void)state;
    at_a_foreign_server("rdma_server", "rdma_server -s", "", false);
}

static void
a_call_to_ucmatose_ends_with_a_reason_in_both_port_spaces(void **state)
{
    (void)state;
    at_a_foreign_server("ucmatose", "ucmatose -b", "-C 1", false);
    at_a_foreign_server("ucmatose", "ucmatose -b", "-C 1 -P ib", true);
}

/* --- multicast ------------------------------------------------------------ */

#define GROUP_TARGET "rdma+mc://239.1.2.3:7000"
#define NOTICES      10u

static uint64_t
strangers_count(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    assert_int_equal(c.multicast_received, 0);
    return c.multicast_foreign;
}

/* Starts mckey at the group, as a sender or a receiver of NOTICES messages. */
static pid_t
mckey_start(const char *role)
{
    char words[200];

    snprintf(words, sizeof words, "mckey -m 239.1.2.3 -b %s %s -C %u",
             getenv("VC_TEST_ADDR"), role, NOTICES);
    return program_start(words);
}

static void
mckey_as_a_sender_is_dropped_and_counted(void **state)
{
    struct fixture f;
    uint64_t due;
    int status;
    pid_t pid;

    (void)state;
    if (!have_program("mckey"))
        skip();
    fixture_start_server(
        &f, 1, VC_SERVER_OPTS(.multicast_address = getenv("VC_TEST_ADDR")));
    assert_status(VC_OK, vc_server_listen(f.server, GROUP_TARGET));
    pid = mckey_start("-s");
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    due = fixture_ms() + PROGRAM_MS;
    while (strangers_count(f.server_runtime) < NOTICES)
        assert_in_range(fixture_ms(), 0, due);
    assert_int_equal(strangers_count(f.server_runtime), NOTICES);
    fixture_stop_server(&f);
}

/* It ends well when it has received all messages. */
static void
mckey_receives_what_is_published(void **state)
{
    const Features__Order order = FEATURES__ORDER__INIT;
    uint64_t due = fixture_ms() + PROGRAM_MS;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    int status;
    pid_t pid;

    (void)state;
    if (!have_program("mckey"))
        skip();
    pid = mckey_start("");
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(
        VC_OK,
        vc_channel_open(runtime, GROUP_TARGET,
                        VC_CHANNEL_OPTS(.bind_address = getenv("VC_TEST_ADDR")),
                        &channel));
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_status(VC_OK, features_work_tell(channel, &order, NULL));
        assert_in_range(fixture_ms(), 0, due);
        sched_yield();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rping_is_turned_away_and_nobody_else_notices),
        cmocka_unit_test(ib_send_lat_is_turned_away_and_nobody_else_notices),
        cmocka_unit_test(rdma_client_is_turned_away_and_nobody_else_notices),
        cmocka_unit_test(ucmatose_is_turned_away_in_both_port_spaces),
        cmocka_unit_test(udaddy_is_turned_away_and_nobody_else_notices),
        cmocka_unit_test(a_call_to_udaddy_ends_with_a_reason),
        cmocka_unit_test(a_call_to_rping_ends_with_a_reason),
        cmocka_unit_test(a_call_to_rdma_server_ends_with_a_reason),
        cmocka_unit_test(
            a_call_to_ucmatose_ends_with_a_reason_in_both_port_spaces),
        cmocka_unit_test(mckey_as_a_sender_is_dropped_and_counted),
        cmocka_unit_test(mckey_receives_what_is_published),
    };

    return fixture_main(tests);
}
