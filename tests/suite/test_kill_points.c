/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * kill -9 at many random moments: of servers whose clients call all the time,
 * and of clients beside another one that must not be affected. Every call ends,
 * with a true outcome. In the end the survivor has no more descriptors,
 * mappings and names in /dev/shm than before. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/callers.h"
#include "tests/suite/entries.h"
#include "tests/unit/random.h"

#define POINTS      25
#define POINTS_LONG 1000

/* A call that takes this long hangs. */
#define HANGS_MS 10000

/* The delay of a kill after the first call: somewhat longer than connecting and
 * a call with a long message take. */
#define LIVES_US 6000

/* Words of the board. */
enum {
    STOP,
    GOOD,
    LOST,
    WRONG
};

/* --- the resources of a process ------------------------------------------ */

struct things {
    unsigned descriptors, mappings, names;
};

/* Counts the mappings of shared memory, by the name that transport/shm gives
 * them. */
static unsigned
mappings(pid_t pid)
{
    char line[512];
    unsigned n = 0;
    FILE *f;

    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    f = fopen(line, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        n += strstr(line, "memfd:verbcall") != NULL;
    fclose(f);
    return n;
}

static struct things
things_of(pid_t pid)
{
    struct things t = {.mappings = mappings(pid),
                       .names = entries_of("/dev/shm", "verbcall")};
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    t.descriptors = entries_of(path, "");
    return t;
}

/* Waits until the process has no more than before. */
static void
assert_things_left(pid_t pid, const struct things *before)
{
    uint64_t due = fixture_ms() + HANGS_MS;
    struct things now = things_of(pid);

    while ((now.descriptors > before->descriptors ||
            now.mappings > before->mappings || now.names > before->names) &&
           fixture_ms() < due) {
        usleep(10000);
        now = things_of(pid);
    }
    assert_in_range(now.descriptors, 0, before->descriptors);
    assert_in_range(now.mappings, 0, before->mappings);
    assert_in_range(now.names, 0, before->names);
}

/* --- callers ------------------------------------------------------------- */

#define THREADS 4

static void
client_open(struct fixture *f)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(f, 0, sizeof *f);
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f->target);
    fixture_start_client(f, &opts);
}

/* Makes a call. Only a server's death may end the call, at once, and its
 * outcome must be true. */
static void
call_judged(struct caller *c)
{
    atomic_uint *words = fixture_board->words;

    c->timeout_ms = HANGS_MS;
    if (caller_call(c) == VC_OK) {
        fixture_tell(&words[GOOD]);
        return;
    }
    fixture_tell(&words[LOST]);
    caller_assert_true(c);
    if (c->status != VC_UNAVAILABLE) {
        print_error("a call ended: %s\n", c->text);
        fixture_tell(&words[WRONG]);
    }
}

static void *
calls_on(void *arg)
{
    static const uint32_t sizes[] = {10, 3000, 20000, 300000};
    struct caller *c = arg;

    c->size = sizes[c->tag % 4];
    while (atomic_load(&fixture_board->words[STOP]) == 0)
        call_judged(c);
    return NULL;
}

/* A process whose threads call until STOP is set. At the end its channel is
 * closed and its runtime is freed. */
static int
callers_run(void *arg, int ready)
{
    struct caller callers[THREADS] = {{.tag = 0}};
    struct fixture f;

    (void)arg;
    client_open(&f);
    assert_int_equal(1, write(ready, "r", 1));
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.channel = f.channel, .tag = i};
        assert_int_equal(
            0, pthread_create(&callers[i].thread, NULL, calls_on, &callers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++)
        caller_join(&callers[i]);
    fixture_stop_client(&f);
    return 0;
}

static void
kill_one(pid_t pid)
{
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(-SIGKILL, fixture_wait(pid));
}

static void
callers_end(pid_t callers)
{
    atomic_uint *words = fixture_board->words;

    atomic_store(&words[STOP], 1);
    assert_int_equal(0, fixture_wait_ms(callers, 2 * HANGS_MS));
    assert_int_equal(0, atomic_load(&words[WRONG]));
}

/* --- tests --------------------------------------------------------------- */

/* Waits until some more calls have succeeded, and a random time more. */
static void
serves_a_while(uint64_t *dice)
{
    atomic_uint *good = &fixture_board->words[GOOD];

    fixture_await(good, atomic_load(good) + 1 + random_below(dice, 20));
    usleep((useconds_t)random_below(dice, LIVES_US));
}

static void
a_server_may_be_killed_at_any_point(void **state)
{
    uint64_t dice = 1;
    struct things before;
    pid_t callers;
    uint16_t port;

    (void)state;
    fixture_board_make();
    kill_one(fixture_fork_server(0));
    port = (uint16_t)atomic_load(&fixture_board->port);
    callers = fixture_fork(callers_run, NULL);
    fixture_await(&fixture_board->words[LOST], 2 * THREADS);
    before = things_of(callers);

    for (unsigned i = 0; i < fixture_many(POINTS, POINTS_LONG); i++) {
        pid_t server = fixture_fork_server(port);

        serves_a_while(&dice);
        kill_one(server);
    }

    print_message("%u calls were good, %u ended with their server\n",
                  atomic_load(&fixture_board->words[GOOD]),
                  atomic_load(&fixture_board->words[LOST]));
    assert_things_left(callers, &before);
    callers_end(callers);
}

static int
victim_run(void *arg, int ready)
{
    static const uint32_t sizes[] = {300000, 10, 20000};
    struct caller c = {.tag = 100};
    struct fixture f;

    (void)arg;
    assert_int_equal(1, write(ready, "r", 1));
    client_open(&f);
    c.channel = f.channel;
    for (;;) {
        c.size = sizes[c.good % 3];
        caller_call(&c);
    }
    return 0;
}

static void
a_client_may_be_killed_at_any_point(void **state)
{
    uint64_t dice = 2;
    struct things before;
    pid_t server, callers;

    (void)state;
    fixture_board_make();
    server = fixture_fork_server(0);
    callers = fixture_fork(callers_run, NULL);
    serves_a_while(&dice);
    callers_end(callers);
    before = things_of(server); /* what the server keeps after it had a
                                 * client */
    atomic_store(&fixture_board->words[STOP], 0);
    callers = fixture_fork(callers_run, NULL);
    serves_a_while(&dice);

    for (unsigned i = 0; i < fixture_many(POINTS, POINTS_LONG); i++) {
        pid_t victim = fixture_fork(victim_run, NULL);

        usleep((useconds_t)random_below(&dice, 2 * LIVES_US));
        kill_one(victim);
    }

    fixture_await(&fixture_board->words[GOOD],
                  atomic_load(&fixture_board->words[GOOD]) + 100);
    assert_int_equal(0, atomic_load(&fixture_board->words[LOST]));
    callers_end(callers);
    assert_things_left(server, &before);
    fixture_tell(&fixture_board->stop);
    assert_int_equal(0, fixture_wait(server));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_may_be_killed_at_any_point),
        cmocka_unit_test(a_client_may_be_killed_at_any_point),
    };

    return fixture_main(tests);
}
