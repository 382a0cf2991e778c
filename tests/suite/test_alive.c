/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Keepalive over rdma_cm and a real adapter: processes are stopped while their
 * adapter still answers for them. A client detects a stopped server within the
 * time of include/verbcall/channel.h: by default 1 s while a call is
 * outstanding and 3 s when idle, five times that in a guest. A server probes
 * only the adapter of its clients, so it keeps a client that is stopped.
 * tests/suite/test_wire.c has the tests in which a whole machine dies. Without
 * keepalive no call here would end before its deadline, which is beyond all
 * limits. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite/callers.h"

#define KEEPALIVE_MS 1000 /* the default */
#define GUEST        5    /* limit: this multiple of the promise */
#define BUSY_MS      (GUEST * KEEPALIVE_MS)
#define IDLE_MS      (GUEST * 3 * KEEPALIVE_MS)
#define DEADLINE_MS  40000 /* of a call that keepalive must end earlier */
#define LOOK_US      1000

/* One probe is outstanding at a time, so all but the last one were answered. */
#define PROBES 4

/* How long the handler runs for a client that is stopped meanwhile. */
#define HANDLER_MS 2000

/* Words of the board; each is set to 1. */
enum {
    SERVING, /* by the test: the client may connect */
    THERE,   /* by the client: connected; its call, if any, has started */
    THAWED,  /* by the test */
};

static atomic_uint *
word(unsigned which)
{
    return &fixture_board->words[which];
}

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

static void
freeze(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(0, kill(pid, SIGSTOP));
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &info, WSTOPPED));
}

static void
kill_frozen(pid_t pid)
{
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(-SIGKILL, fixture_wait(pid));
}

/* All options are defaults except the connect timeout, which is not tested. */
static void
client_open(struct fixture *f)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(f, 0, sizeof *f);
    opts.connect_timeout_ms = 8000;
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f->target);
    fixture_start_client(f, &opts);
}

static void
assert_found(const char *what, uint64_t took_ms, unsigned limit_ms)
{
    printf("# %s: found after %u ms, at most %u\n", what, (unsigned)took_ms,
           limit_ms);
    assert_in_range(took_ms, 0, limit_ms);
}

/* --- a stopped server --------------------------------------------------- */

static void
a_frozen_server_is_found_while_a_call_waits(unsigned round)
{
    pid_t server = fixture_fork_server(0);
    struct caller c = {.sleep_ms = DEADLINE_MS, .timeout_ms = DEADLINE_MS};
    struct fixture f;
    uint64_t since;

    (void)round;
    client_open(&f);
    c.channel = f.channel;
    caller_start(&c);
    fixture_await(&fixture_board->sleeping, 1);
    since = fixture_ms();
    freeze(server);
    caller_join(&c);

    assert_found("frozen server, a call outstanding", c.ended_ms - since,
                 BUSY_MS);
    assert_int_equal(VC_UNAVAILABLE, c.status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
    assert_non_null(strstr(c.text, "its process is stopped"));
    /* Transports other than RDMA have no adapter. */
    assert_int_equal(fixture_is_rdma(), strstr(c.text, "adapter") != NULL);
    assert_int_equal(1, counters_of(f.runtime).keepalive_dead);
    fixture_stop_client(&f);
    kill_frozen(server);
}

/* A library thread advances the client's runtime. */
static void
a_frozen_server_is_found_by_an_idle_client(unsigned round)
{
    pid_t server = fixture_fork_server(0);
    struct vc_counters c;
    struct fixture f;
    uint64_t since;

    (void)round;
    client_open(&f);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    assert_status(VC_OK, fixture_echo(f.channel, 100, 1));
    assert_int_equal(1, counters_of(f.runtime).links_up);
    since = fixture_ms();
    freeze(server);
    while ((c = counters_of(f.runtime)).links_up > 0 &&
           fixture_ms() - since <= IDLE_MS)
        usleep(LOOK_US);

    assert_found("frozen server, idle", fixture_ms() - since, IDLE_MS);
    assert_int_equal(1, c.keepalive_dead);
    assert_int_equal(1, c.links_lost);
    fixture_stop_client(&f);
    kill_frozen(server);
}

/* --- a stopped client --------------------------------------------------- */

/* The client loses no link and does not regard its server as dead, though it
 * was stopped for longer than its own keepalive allows. */
static int
client_run(void *arg, int ready)
{
    struct caller c = {.tag = 1, .size = 100};
    const bool *calls = arg;
    struct vc_counters counters;
    struct fixture f;

    assert_int_equal(1, write(ready, "r", 1));
    fixture_await(word(SERVING), 1);
    client_open(&f);
    c.channel = f.channel;
    assert_status(VC_OK, caller_call(&c));
    c.timeout_ms = DEADLINE_MS;
    if (*calls) {
        c.sleep_ms = HANDLER_MS;
        caller_start(&c);
        fixture_await(&fixture_board->sleeping, 1);
    }
    fixture_tell(word(THERE));
    fixture_await(word(THAWED), 1);
    if (*calls)
        caller_join(&c);
    assert_status(VC_OK, c.status);
    assert_status(VC_OK, fixture_echo(f.channel, 100, 1));
    counters = counters_of(f.runtime);
    assert_int_equal(1, counters.links_made);
    assert_int_equal(0, counters.keepalive_dead);
    fixture_stop_client(&f);
    return 0;
}

/* The server probes, gets an answer, and probes again. */
static void
assert_asked_and_kept(struct vc_runtime *runtime, const char *what)
{
    uint64_t since = fixture_ms(), before;
    struct vc_counters c = counters_of(runtime);

    before = c.keepalive_probes;
    while (c.keepalive_probes < before + PROBES &&
           fixture_ms() - since <= IDLE_MS) {
        usleep(LOOK_US);
        c = counters_of(runtime);
    }
    printf("# frozen client, %s: its adapter was asked %u times in %u ms, at "
           "most %d\n",
           what, (unsigned)(c.keepalive_probes - before),
           (unsigned)(fixture_ms() - since), IDLE_MS);
    assert_in_range(c.keepalive_probes - before, PROBES, 100);
    assert_int_equal(0, c.keepalive_pings);
    assert_int_equal(0, c.keepalive_dead);
    assert_int_equal(1, c.links_up);
}

static void
a_server_asks_the_adapter_of_a_frozen_client_and_keeps_it(unsigned round)
{
    bool calls = round == 1;
    pid_t client = fixture_fork(client_run, &calls);
    struct fixture f = {.target = ""};

    fixture_start_server(&f, 1, NULL);
    atomic_store(&fixture_board->port, f.port);
    fixture_tell(word(SERVING));
    fixture_await(word(THERE), 1);
    freeze(client);
    assert_asked_and_kept(f.server_runtime,
                          calls ? "a call outstanding" : "idle");

    assert_int_equal(0, kill(client, SIGCONT));
    fixture_tell(word(THAWED));
    assert_int_equal(0, fixture_wait(client));
    fixture_stop_server(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_apart(a_frozen_server_is_found_while_a_call_waits, 1),
        fixture_apart(a_frozen_server_is_found_by_an_idle_client, 1),
        fixture_apart(a_server_asks_the_adapter_of_a_frozen_client_and_keeps_it,
                      2),
    };

    return fixture_main(tests);
}
