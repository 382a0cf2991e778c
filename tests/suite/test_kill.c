/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server is killed, stopped or closed before, while and after a client
 * connects and calls. Each call ends in time, with UNAVAILABLE and a true
 * outcome, and the client continues to work. Also: a channel that is closed
 * during its calls. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/counters.h>
#include <verbcall/runtime.h>

#include "tests/suite/callers.h"
#include "tests/suite/pace.h"

#define LOSS_MS 10000

/* --- servers ----------------------------------------------------------- */

struct server {
    pid_t pid;
    uint16_t port;
};

static struct server
server_fork(void)
{
    struct server s = {.pid = fixture_fork_server(0)};

    s.port = (uint16_t)atomic_load(&fixture_board->port);
    return s;
}

/* Returns when the server is dead; the result is the time of the kill. */
static uint64_t
server_kill(const struct server *s)
{
    uint64_t now = fixture_ms();

    assert_int_equal(0, kill(s->pid, SIGKILL));
    assert_int_equal(-SIGKILL, fixture_wait(s->pid));
    return now;
}

static void
server_freeze(const struct server *s)
{
    siginfo_t info;

    assert_int_equal(0, kill(s->pid, SIGSTOP));
    assert_int_equal(0, waitid(P_PID, (id_t)s->pid, &info, WSTOPPED));
}

static void
server_thaw(const struct server *s)
{
    assert_int_equal(0, kill(s->pid, SIGCONT));
}

/* --- clients ----------------------------------------------------------- */

/* Opens a client with long timeouts, so that they are not the reason why a call
 * ends. */
static void
client_open(struct fixture *f, const struct server *s)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(f, 0, sizeof *f);
    opts.connect_timeout_ms = 8000;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    fixture_target(s->port, f->target);
    fixture_start_client(f, &opts);
}

static uint64_t
links_up(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    return c.links_up;
}

/* Waits until the client has detected the loss. Otherwise a call could be sent
 * on the dead link, and its outcome would be unknown. */
static void
loss_await(const struct fixture *f)
{
    while (links_up(f) > 0)
        assert_status(VC_OK, vc_runtime_poll(f->runtime, LOSS_MS));
}

/* Checks a call when the server is dead and no other listens in its place. */
static void
assert_nobody_there(struct fixture *f)
{
    uint64_t start = fixture_ms();

    assert_status(VC_UNAVAILABLE, fixture_echo(f->channel, 10, 4000));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_in_range(pace_since(start), 0, CALLER_SOON_MS);
}

/* --- killed before and while a client connects ------------------------- */

static void
a_server_killed_before_a_client_connects_is_unavailable(unsigned round)
{
    struct server s = server_fork();
    struct fixture f;

    (void)round;
    server_kill(&s);
    client_open(&f, &s);

    assert_nobody_there(&f);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

/* The kernel drops a SYN that arrives while its listener is being closed, and
 * sends it again 1 s later, when the port refuses it. That second is not the
 * library's. */
#define SYN_AGAIN_MS 1000

/* Returns how many SYNs this network namespace has sent again: TCPSynRetrans of
 * /proc/net/netstat, whose first line names the values of the second. */
static uint64_t
syns_again(void)
{
    char names[8192], values[8192], *name = names, *value = values;
    FILE *f = fopen("/proc/net/netstat", "r");

    assert_non_null(f);
    assert_non_null(fgets(names, sizeof names, f));
    assert_non_null(fgets(values, sizeof values, f));
    fclose(f);
    while (strncmp(name, "TCPSynRetrans", strlen("TCPSynRetrans")) != 0) {
        name = strchr(name, ' ');
        value = strchr(value, ' ');
        assert_non_null(name);
        assert_non_null(value);
        name++;
        value++;
    }
    return strtoull(value, NULL, 10);
}

/* From the start of the client's address resolution to long after its
 * request. */
static const unsigned connect_us[] = {0,    500,  1000,  1500,  2000,
                                      3000, 5000, 10000, 20000, 50000};
#define CONNECT_ROUNDS (sizeof connect_us / sizeof connect_us[0])

static void
a_server_killed_before_it_accepts_has_executed_nothing(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.size = 10};
    struct fixture f;
    uint64_t killed, syns = syns_again();

    client_open(&f, &s);
    c.channel = f.channel;
    server_freeze(&s);
    caller_start(&c);
    fixture_await(&c.started, 1);
    usleep(connect_us[round]);

    killed = server_kill(&s);

    caller_join(&c);
    caller_assert_ended(&c, VC_UNAVAILABLE,
                        killed + SYN_AGAIN_MS * (syns_again() - syns));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

static void
a_server_killed_while_it_accepts_is_unavailable(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.size = 10, .again = true};
    struct fixture f;
    uint64_t killed, syns = syns_again();

    client_open(&f, &s);
    c.channel = f.channel;
    caller_start(&c);
    fixture_await(&c.started, 1);
    usleep(connect_us[round]);

    killed = server_kill(&s);

    caller_join(&c);
    caller_assert_ended(&c, VC_UNAVAILABLE,
                        killed + SYN_AGAIN_MS * (syns_again() - syns));
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

static void
a_server_killed_right_after_its_accept_is_unavailable(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.size = 10};
    struct fixture f;

    (void)round;
    client_open(&f, &s);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    server_kill(&s);

    caller_call(&c);

    caller_assert_ended(&c, VC_UNAVAILABLE, c.began_ms);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

/* --- killed with calls outstanding ------------------------------------- */

static void
a_call_whose_server_is_killed_in_the_handler_is_unknown(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.sleep_ms = 10000};
    struct fixture f;
    uint64_t killed;

    (void)round;
    client_open(&f, &s);
    c.channel = f.channel;
    caller_start(&c);
    fixture_await(&fixture_board->sleeping, 1);

    killed = server_kill(&s);

    caller_join(&c);
    caller_assert_ended(&c, VC_UNAVAILABLE, killed);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

/* Starts n callers that call in a loop, with several sizes. */
static void
callers_start(struct caller *callers, unsigned n, struct vc_channel *channel,
              unsigned first_tag)
{
    static const uint32_t sizes[] = {10, 3000, 20000, 300000};

    for (unsigned i = 0; i < n; i++) {
        callers[i] = (struct caller){.channel = channel,
                                     .tag = first_tag + i,
                                     .size = sizes[i % 4],
                                     .again = true};
        caller_start(&callers[i]);
    }
}

static void
callers_join(struct caller *callers, unsigned n, uint64_t since_ms)
{
    for (unsigned i = 0; i < n; i++) {
        caller_join(&callers[i]);
        caller_assert_ended(&callers[i], VC_UNAVAILABLE, since_ms);
    }
}

static void
calls_of_many_threads_end_with_their_server(unsigned round)
{
    struct server s = server_fork();
    struct caller callers[CALLERS_MAX];
    unsigned n = round == 0 ? 4 : 16;
    struct fixture f;

    client_open(&f, &s);
    callers_start(callers, n, f.channel, 0);
    fixture_await(&fixture_board->echoing, 10 * n);

    callers_join(callers, n, server_kill(&s));

    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

static void
a_killed_server_does_not_disturb_calls_to_another(unsigned round)
{
    struct server mortal = server_fork();
    struct server other = server_fork();
    struct caller callers[4];
    struct caller steady = {.size = 100, .tag = 100};
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;
    struct fixture f;
    uint64_t killed;

    (void)round;
    client_open(&f, &mortal);
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    assert_status(VC_OK, vc_channel_open(f.runtime,
                                         fixture_target(other.port, f.target),
                                         &opts, &channel));
    steady.channel = channel;
    assert_status(VC_OK, caller_call(&steady));
    callers_start(callers, 4, f.channel, 0);
    fixture_await(&fixture_board->echoing, 40);

    killed = server_kill(&mortal);
    for (int i = 0; i < 200; i++)
        assert_status(VC_OK, caller_call(&steady));

    callers_join(callers, 4, killed);
    assert_status(VC_OK, caller_call(&steady));
    vc_channel_close(channel);
    fixture_stop_client(&f);
}

/* --- killed during a long message -------------------------------------- */

static void
a_server_killed_while_a_long_request_comes_has_not_run_it(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.size = CALLER_LONG, .reply_size = 1};
    struct fixture f;
    uint64_t killed;

    (void)round;
    client_open(&f, &s);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    /* The server receives only as many parts as it has receives posted. */
    server_freeze(&s);
    caller_start(&c);
    caller_await_asleep(&c);

    killed = server_kill(&s);

    caller_join(&c);
    caller_assert_ended(&c, VC_UNAVAILABLE, killed);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

#define LONG_ROUNDS 4

/* Kills the server within such a call, after a part of its usual time that
 * depends on the round. */
static void
kill_within_long_call(unsigned round, uint32_t size, uint32_t reply_size)
{
    struct server s = server_fork();
    struct caller c = {.size = size, .reply_size = reply_size};
    struct fixture f;
    uint64_t took_us, killed;

    client_open(&f, &s);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_status(VC_OK, caller_call(&c));
    took_us = (c.ended_ms - c.began_ms) * 1000;
    c.again = true;
    caller_start(&c);
    fixture_await(&c.started, 1);
    usleep((useconds_t)(took_us * (round + 1) / (LONG_ROUNDS + 1)));

    killed = server_kill(&s);

    caller_join(&c);
    caller_assert_ended(&c, VC_UNAVAILABLE, killed);
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

static void
a_long_request_ends_with_its_server(unsigned round)
{
    kill_within_long_call(round, CALLER_LONG, 1);
}

static void
a_long_reply_ends_with_its_server(unsigned round)
{
    kill_within_long_call(round, 1, CALLER_LONG);
}

/* --- restarted --------------------------------------------------------- */

/* A server that waits for a signal of the board before it listens at the
 * board's port. */
static int
serve_later(void *arg, int ready)
{
    struct fixture f = {0};

    (void)arg;
    if (write(ready, "r", 1) != 1)
        return 1;
    fixture_await(&fixture_board->words[0], 1);
    fixture_start_server_at(&f, (uint16_t)atomic_load(&fixture_board->port), 1,
                            NULL);
    fixture_tell(&fixture_board->words[1]);
    for (;;)
        pause();
}

static void
a_channel_serves_again_when_its_server_is_back(unsigned round)
{
    struct server s = server_fork();
    pid_t heir = fixture_fork(serve_later, NULL);
    struct caller c = {.size = 100};
    unsigned failed = 0;
    struct fixture f;

    client_open(&f, &s);
    c.channel = f.channel;
    assert_status(VC_OK, caller_call(&c));
    server_kill(&s);
    if (round == 1) { /* the loss is detected while no server listens */
        loss_await(&f);
        assert_nobody_there(&f);
    }
    fixture_tell(&fixture_board->words[0]);
    fixture_await(&fixture_board->words[1], 1);

    for (int i = 0; i < 20; i++) {
        if (caller_call(&c) != VC_OK) {
            caller_assert_ended(&c, VC_UNAVAILABLE, c.began_ms);
            failed++;
        }
    }

    assert_in_range(failed, 0, round == 1 ? 0 : 1);
    fixture_stop_client(&f);
    kill(heir, SIGKILL);
    fixture_wait(heir);
}

/* --- stopped and closed ------------------------------------------------ */

static void
calls_to_a_frozen_server_end_by_their_deadline(unsigned round)
{
    enum {
        THREADS = 8,
        CALLS = 6,
        MS = 100
    }; /* more calls than credits */
    struct server s = server_fork();
    struct caller callers[THREADS][CALLS] = {{{0}}};
    struct fixture f;

    (void)round;
    client_open(&f, &s);
    assert_status(VC_OK, fixture_echo(f.channel, 100, 4000));
    server_freeze(&s);
    for (unsigned j = 0; j < CALLS; j++) {
        for (unsigned i = 0; i < THREADS; i++) {
            callers[i][j] = (struct caller){.channel = f.channel,
                                            .tag = i * CALLS + j,
                                            .size = 5000,
                                            .timeout_ms = MS};
            caller_start(&callers[i][j]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            struct caller *c = &callers[i][j];

            caller_join(c);
            caller_assert_ended(c, VC_DEADLINE_EXCEEDED, c->began_ms);
            assert_true(c->ended_ms - c->began_ms >= MS - 1);
        }
    }

    server_thaw(&s);

    assert_status(VC_OK, fixture_echo(f.channel, CALLER_LONG, 4000));
    /* Replies arrive in the order of calls, so all handlers that will run have
     * run. */
    for (unsigned i = 0; i < THREADS * CALLS; i++)
        caller_assert_true(&callers[i / CALLS][i % CALLS]);
    fixture_stop_client(&f);
}

static void
a_server_that_closes_ends_the_calls_of_its_clients(unsigned round)
{
    struct server s = server_fork();
    struct caller callers[8];
    struct fixture f;
    uint64_t start;

    (void)round;
    client_open(&f, &s);
    callers_start(callers, 8, f.channel, 0);
    fixture_await(&fixture_board->echoing, 80);

    start = fixture_ms();
    fixture_tell(&fixture_board->stop);

    callers_join(callers, 8, start);
    assert_int_equal(0, fixture_wait(s.pid));
    assert_nobody_there(&f);
    fixture_stop_client(&f);
}

/* --- a channel closed during its calls --------------------------------- */

static void
closing_a_channel_cancels_its_calls(unsigned round)
{
    struct server s = server_fork();
    struct caller callers[4];
    struct fixture f;
    uint64_t start;

    (void)round;
    client_open(&f, &s);
    for (unsigned i = 0; i < 4; i++) {
        callers[i] = (struct caller){.channel = f.channel, .sleep_ms = 10000};
        caller_start(&callers[i]);
    }
    fixture_await(&fixture_board->sleeping, 1);
    for (unsigned i = 0; i < 4; i++)
        caller_await_asleep(&callers[i]);

    start = fixture_ms();
    vc_channel_close(f.channel);

    for (unsigned i = 0; i < 4; i++) {
        caller_join(&callers[i]);
        caller_assert_ended(&callers[i], VC_CANCELLED, start);
    }
    vc_runtime_free(f.runtime);
}

struct connecting {
    pthread_t thread;
    struct vc_channel *channel;
    enum vc_status status;
};

static void *
connect_run(void *arg)
{
    struct connecting *c = arg;

    c->status = vc_channel_connect(c->channel, &suite_probe_service);
    return NULL;
}

static void
closing_a_channel_cancels_its_connecting(unsigned round)
{
    struct server s = server_fork();
    struct caller c = {.size = 10};
    struct connecting connecting = {0};
    struct fixture f;
    uint64_t start;

    (void)round;
    server_freeze(&s);
    client_open(&f, &s);
    connecting.channel = c.channel = f.channel;
    assert_int_equal(
        0, pthread_create(&connecting.thread, NULL, connect_run, &connecting));
    caller_start(&c);
    caller_await_asleep(&c);

    start = fixture_ms();
    vc_channel_close(f.channel);

    caller_join(&c);
    pthread_join(connecting.thread, NULL);
    vc_runtime_free(f.runtime);
    caller_assert_ended(&c, VC_CANCELLED, start);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
    assert_int_equal(VC_CANCELLED, connecting.status);
}

/* The call's thread reaches its deadline at the moment when the closing thread
 * ends the call. */
static void
a_deadline_may_meet_the_closing_of_its_channel(unsigned round)
{
    enum {
        TURNS = 40,
        THREADS = 4,
        MS = 10
    };
    struct server s = server_fork();
    struct caller callers[THREADS];

    (void)round;
    server_freeze(&s);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        uint64_t start = fixture_ms();
        struct fixture f;

        client_open(&f, &s);
        for (unsigned i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){
                .channel = f.channel, .tag = i, .size = 10, .timeout_ms = MS};
            caller_start(&callers[i]);
        }
        for (unsigned i = 0; i < THREADS; i++)
            caller_await_asleep(&callers[i]);
        while (fixture_ms() < start + MS + turn % 4)
            continue;
        vc_channel_close(f.channel);

        for (unsigned i = 0; i < THREADS; i++) {
            caller_join(&callers[i]);
            assert_true(callers[i].status == VC_CANCELLED ||
                        callers[i].status == VC_DEADLINE_EXCEEDED);
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, callers[i].outcome);
        }
        vc_runtime_free(f.runtime);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_apart(a_server_killed_before_a_client_connects_is_unavailable,
                      1),
        fixture_apart(a_server_killed_before_it_accepts_has_executed_nothing,
                      CONNECT_ROUNDS),
        fixture_apart(a_server_killed_while_it_accepts_is_unavailable,
                      CONNECT_ROUNDS),
        fixture_apart(a_server_killed_right_after_its_accept_is_unavailable, 3),
        fixture_apart(a_call_whose_server_is_killed_in_the_handler_is_unknown,
                      1),
        fixture_apart(calls_of_many_threads_end_with_their_server, 2),
        fixture_apart(a_killed_server_does_not_disturb_calls_to_another, 1),
        fixture_apart(a_server_killed_while_a_long_request_comes_has_not_run_it,
                      1),
        fixture_apart(a_long_request_ends_with_its_server, LONG_ROUNDS),
        fixture_apart(a_long_reply_ends_with_its_server, LONG_ROUNDS),
        fixture_apart(a_channel_serves_again_when_its_server_is_back, 2),
        fixture_apart(calls_to_a_frozen_server_end_by_their_deadline, 1),
        fixture_apart(a_server_that_closes_ends_the_calls_of_its_clients, 1),
        fixture_apart(closing_a_channel_cancels_its_calls, 1),
        fixture_apart(closing_a_channel_cancels_its_connecting, 1),
        fixture_apart(a_deadline_may_meet_the_closing_of_its_channel, 1),
    };

    return fixture_main(tests);
}
