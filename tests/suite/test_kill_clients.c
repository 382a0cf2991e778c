/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients are killed before, while and after they connect and call, and one
 * client is stopped. The server's other client, which calls all the time, is
 * not affected, and the server frees everything that the killed clients
 * held. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite/callers.h"

/* Words of the board. */
enum {
    STEADY_STOP,
    STEADY_CALLS,
    STEADY_FAILURES,
    STEADY_MAX_MS,
    VICTIM_US,
    LONG_US
};

static void
client_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f->target);
    fixture_start_client(f, NULL);
}

static uint64_t
now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
tell_ready(int ready)
{
    assert_int_equal(1, write(ready, "r", 1));
}

/* --- the client that must not be affected ------------------------------ */

/* Half of its calls' deadline: far more than a busy machine needs. */
#define STEADY_LONG_MS 5000

static int
steady_run(void *arg, int ready)
{
    static const uint32_t sizes[] = {10, 500, 10, 3000, 10, 20000, 10, 100};
    atomic_uint *words = fixture_board->words;
    struct caller c = {.tag = 1};
    struct fixture f;

    (void)arg;
    client_open(&f);
    c.channel = f.channel;
    assert_status(VC_OK, caller_call(&c));
    tell_ready(ready);
    while (atomic_load(&words[STEADY_STOP]) == 0) {
        c.size = sizes[c.good % 8];
        if (caller_call(&c) != VC_OK) {
            print_error("the steady client: %s\n", c.text);
            atomic_fetch_add(&words[STEADY_FAILURES], 1);
        }
        if (c.ended_ms - c.began_ms > atomic_load(&words[STEADY_MAX_MS]))
            atomic_store(&words[STEADY_MAX_MS],
                         (unsigned)(c.ended_ms - c.began_ms));
        fixture_tell(&words[STEADY_CALLS]);
    }
    fixture_stop_client(&f);
    return 0;
}

/* A server and its steady client. */
struct scene {
    pid_t server, steady;
};

static int
scene_setup(void **state)
{
    static struct scene scene;

    fixture_board_make();
    scene.server = fixture_fork_server(0);
    scene.steady = fixture_fork(steady_run, NULL);
    *state = &scene;
    return 0;
}

/* Checks that the steady client still makes calls, and that none failed or took
 * long. */
static void
scene_end(const struct scene *s)
{
    atomic_uint *words = fixture_board->words;

    fixture_await(&words[STEADY_CALLS], atomic_load(&words[STEADY_CALLS]) + 10);
    atomic_store(&words[STEADY_STOP], 1);
    assert_int_equal(0, fixture_wait(s->steady));
    assert_int_equal(0, atomic_load(&words[STEADY_FAILURES]));
    assert_in_range(atomic_load(&words[STEADY_MAX_MS]), 0, STEADY_LONG_MS);
    fixture_tell(&fixture_board->stop);
    assert_int_equal(0, fixture_wait(s->server));
}

/* --- clients that are killed ------------------------------------------- */

struct victim {
    bool connects;        /* true: before it reports that it is ready */
    struct caller caller; /* its calls after that; no size: none */
};

static int
victim_run(void *arg, int ready)
{
    struct caller c = ((const struct victim *)arg)->caller;
    struct fixture f;

    client_open(&f);
    c.channel = f.channel;
    if (((const struct victim *)arg)->connects)
        assert_status(VC_OK,
                      vc_channel_connect(f.channel, &suite_probe_service));
    tell_ready(ready);
    while (c.size + c.sleep_ms > 0) {
        uint64_t start = now_us();

        caller_call(&c);
        atomic_store(&fixture_board->words[VICTIM_US],
                     (unsigned)(now_us() - start));
    }
    return pause();
}

static pid_t
victim_fork(struct victim v)
{
    return fixture_fork(victim_run, &v);
}

static void
victim_kill(pid_t pid)
{
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(-SIGKILL, fixture_wait(pid));
}

/* The time of the first call of such a client, connecting included. */
static unsigned
victim_us(struct victim v)
{
    pid_t pid = victim_fork(v);
    unsigned us;

    fixture_await(&fixture_board->words[VICTIM_US], 1);
    us = atomic_load(&fixture_board->words[VICTIM_US]);
    victim_kill(pid);
    atomic_store(&fixture_board->words[VICTIM_US], 0);
    return us;
}

/* Kills n clients at moments spread over the time of their call, and a quarter
 * longer. */
static void
victims_kill(struct victim v, unsigned n)
{
    unsigned us = victim_us(v);

    for (unsigned i = 0; i < n; i++) {
        pid_t pid = victim_fork(v);

        usleep((useconds_t)((uint64_t)us * i * 5 / 4 / n));
        victim_kill(pid);
    }
}

/* --- tests ------------------------------------------------------------- */

static void
idle_clients_may_be_killed(void **state)
{
    const struct victim unconnected = {.connects = false};
    const struct victim connected = {.connects = true};

    for (int i = 0; i < 5; i++) {
        victim_kill(victim_fork(unconnected));
        victim_kill(victim_fork(connected));
    }

    scene_end(*state);
}

static void
clients_may_be_killed_while_their_call_is_in_the_handler(void **state)
{
    const struct victim v = {.connects = true, .caller = {.sleep_ms = 20}};

    for (unsigned i = 0; i < 5; i++) {
        unsigned seen = atomic_load(&fixture_board->sleeping);
        pid_t pid = victim_fork(v);

        fixture_await(&fixture_board->sleeping, seen + 1);
        victim_kill(pid);
    }

    scene_end(*state);
}

/* --- while they connect ------------------------------------------------ */

#define VICTIMS 50

/* Opens all connections that the server allows besides the steady client's,
 * within 25 s: everything that the killed clients held must be free. */
static int
crowd_run(void *arg, int ready)
{
    struct vc_channel *channels[VICTIMS + 1];
    uint64_t due = fixture_ms() + 25000;
    struct fixture f;

    (void)arg;
    tell_ready(ready);
    client_open(&f);
    for (unsigned i = 0; i < VICTIMS + 1; i++) {
        struct caller c = {.size = 10, .tag = 3};

        assert_status(VC_OK,
                      fixture_open_alone(f.runtime, f.target, &channels[i]));
        c.channel = channels[i];
        while (caller_call(&c) == VC_UNAVAILABLE && fixture_ms() < due)
            continue;
        assert_status(VC_OK, c.status);
    }
    for (unsigned i = 0; i < VICTIMS + 1; i++)
        vc_channel_close(channels[i]);
    fixture_stop_client(&f);
    return 0;
}

static void
clients_may_be_killed_at_any_moment_of_connecting(void **state)
{
    const struct victim v = {.caller = {.size = 10}};
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct scene s;

    (void)state;
    fixture_board_make();
    opts.max_links = VICTIMS + 2; /* one to measure, one is steady */
    s.server = fixture_fork_server_opts(0, &opts);
    s.steady = fixture_fork(steady_run, NULL);

    victims_kill(v, VICTIMS);

    assert_int_equal(0, fixture_wait_ms(fixture_fork(crowd_run, NULL), 60000));
    scene_end(&s);
}

/* --- with long messages in progress ------------------------------------ */

/* Enough parts for a kill between them. */
#define MIDDLING ((uint32_t)1 << 20)

static int
long_run(void *arg, int ready)
{
    struct caller c = {.size = CALLER_LONG, .reply_size = 1, .tag = 2};
    struct fixture f;
    uint64_t start;

    (void)arg;
    tell_ready(ready);
    client_open(&f);
    c.channel = f.channel;
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    start = now_us();
    for (int i = 0; i < 3; i++)
        assert_status(VC_OK, caller_call(&c));
    atomic_store(&fixture_board->words[LONG_US], (unsigned)(now_us() - start));
    fixture_stop_client(&f);
    return 0;
}

/* The time that a new client takes for some long messages. */
static unsigned
long_us(void)
{
    assert_int_equal(0, fixture_wait(fixture_fork(long_run, NULL)));
    return atomic_load(&fixture_board->words[LONG_US]);
}

static void
receives_are_not_lost_when_clients_die_while_they_send(void **state)
{
    const struct victim v = {.connects = true,
                             .caller = {.size = MIDDLING, .reply_size = 1}};
    unsigned before = long_us(), after, tries = 0;

    victims_kill(v, 30);

    /* If the server had lost receives, each packet would wait for a
     * retransmission, in each run. */
    do
        after = long_us();
    while (after > 4 * before + 500000 && ++tries < 3);
    assert_in_range(tries, 0, 2);
    scene_end(*state);
}

static void
clients_may_be_killed_while_their_reply_comes(void **state)
{
    const struct victim v = {.connects = true,
                             .caller = {.size = 1, .reply_size = MIDDLING}};

    victims_kill(v, 10);

    scene_end(*state);
}

static void
a_frozen_client_holds_nobody_up(void **state)
{
    const struct victim v = {.connects = true,
                             .caller = {.size = 1, .reply_size = MIDDLING}};
    pid_t pids[3];

    for (int i = 0; i < 3; i++) {
        unsigned seen = atomic_load(&fixture_board->words[STEADY_CALLS]);

        pids[i] = victim_fork(v);
        usleep(10000);
        assert_int_equal(0, kill(pids[i], SIGSTOP));
        fixture_await(&fixture_board->words[STEADY_CALLS], seen + 100);
    }
    for (int i = 0; i < 3; i++)
        victim_kill(pids[i]);

    scene_end(*state);
}

#define T(name) cmocka_unit_test_setup(name, scene_setup)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(idle_clients_may_be_killed),
        T(clients_may_be_killed_while_their_call_is_in_the_handler),
        cmocka_unit_test(clients_may_be_killed_at_any_moment_of_connecting),
        T(receives_are_not_lost_when_clients_die_while_they_send),
        T(clients_may_be_killed_while_their_reply_comes),
        T(a_frozen_client_holds_nobody_up),
    };

    return fixture_main(tests);
}
