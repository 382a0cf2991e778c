/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * No leaks: descriptors, threads and RDMA objects of this process are counted
 * before and after (for its heap see test_leaks_heap.c).
 *
 * The first count is taken after one cycle of the same work. librdmacm opens
 * its own verbs context and event channel at its first use and keeps them for
 * good, and liburcu and libibverbs keep a little, too. RDMA objects are those
 * that the `rdma` tool shows; without the tool the tests that count are
 * skipped. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite/callers.h"
#include "tests/suite/entries.h"

/* --- counting ---------------------------------------------------------- */

/* RDMA objects by the words that the tool uses for their numbers. */
static const char *const kinds[] = {"descriptors", "threads", "lqpn", "cm-idn",
                                    "mrn",         "cqn",     "pdn",  "srqn"};
enum {
    DESCRIPTORS,
    THREADS,
    RDMA_FIRST,
    KINDS = 8
};

/* Lists all objects with one command, as starting the tool takes longer than
 * the queries. */
#define LIST_ALL                                                               \
    "printf 'resource show %s\\n' qp cm_id mr cq pd srq | rdma -b -"

/* A joined thread may still be listed for a moment. */
#define SETTLE_MS 2000

struct held {
    unsigned n[KINDS];
};

/* A line of the tool names the thread that made the object, no thread if that
 * has ended, or a part of the kernel in brackets. */
static bool
line_is_ours(const char *line)
{
    const char *pid = strstr(line, " pid ");
    char path[64];

    if (strstr(line, " comm [") != NULL)
        return false;
    if (pid == NULL)
        return true;
    snprintf(path, sizeof path, "/proc/self/task/%d", atoi(pid + 5));
    return access(path, F_OK) == 0;
}

/* Counts a line such as "dev rxe0 mrn 2 ..." or "link rxe0/1 lqpn 17 ...". */
static void
line_count(const char *line, struct held *h)
{
    char kind[16];

    assert_int_equal(1, sscanf(line, "%*s %*s %15s", kind));
    for (unsigned i = RDMA_FIRST; i < KINDS; i++)
        h->n[i] += strcmp(kind, kinds[i]) == 0 && line_is_ours(line);
}

static struct held
held_now(void)
{
    struct held h = {{0}};
    char line[1024];
    FILE *f;

    h.n[DESCRIPTORS] = entries_descriptors();
    h.n[THREADS] = entries_of("/proc/self/task", "");
    f = popen(LIST_ALL, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        line_count(line, &h);
    assert_int_equal(0, pclose(f));
    return h;
}

static void
assert_held(const struct held *before, bool with_threads)
{
    uint64_t due = fixture_ms() + SETTLE_MS;
    struct held now;

    do {
        now = held_now();
        /* A joined thread may have been counted before. */
        if (!with_threads || now.n[THREADS] < before->n[THREADS])
            now.n[THREADS] = before->n[THREADS];
    } while (memcmp(&now, before, sizeof now) != 0 && fixture_ms() < due);
    for (unsigned i = 0; i < KINDS; i++) {
        if (now.n[i] != before->n[i])
            print_error("%s: %u, before %u\n", kinds[i], now.n[i],
                        before->n[i]);
    }
    assert_memory_equal(before, &now, sizeof now);
}

/* Checks that n cycles leave no more than one cycle does. */
static void
assert_leaves_nothing(void (*cycle)(unsigned n), unsigned n)
{
    struct held before;

    cycle(1);
    before = held_now();
    cycle(n);
    assert_held(&before, true);
}

/* For the table of tests: a test that counts. */
static void
run_counting(void **story)
{
    if (system("{ " LIST_ALL "; } >/dev/null 2>&1") != 0)
        skip();
    fixture_run_apart(story);
}

#define counting(body_)                                                        \
    {                                                                          \
        .name = #body_, .test_func = run_counting,                             \
        .initial_state = &(struct fixture_story)                               \
        {                                                                      \
            .body = body_, .rounds = 1                                         \
        }                                                                      \
    }

/* --- use --------------------------------------------------------------- */

static void
plain_cycle(unsigned n)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;
    struct fixture f;

    while (n-- > 0) {
        fixture_start(&f, 1, NULL, NULL);
        assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
        assert_status(VC_OK, fixture_echo(f.channel, 500000, 2));
        assert_status(VC_OK,
                      suite_other_name(f.channel, &request, NULL, &reply));
        vc_message_free(reply);
        fixture_stop(&f);
    }
}

static void
plain_use_leaves_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(plain_cycle, 2);
}

#define ENGINES       4
#define ENGINES_TURNS 2

static void
engines_cycle(unsigned n)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_channel *channels[ENGINES_TURNS * ENGINES];
    struct vc_runtime *runtime;
    struct fixture f = {0};

    fixture_start_server(&f, ENGINES, NULL);
    opts.threads = ENGINES;
    assert_status(VC_OK, vc_runtime_new(&opts, &runtime));
    assert_status(VC_OK, vc_runtime_start(runtime));
    for (unsigned i = 0; i < n * ENGINES; i++) {
        assert_status(VC_OK,
                      fixture_open_alone(runtime, f.target, &channels[i]));
        assert_status(VC_OK, fixture_echo(channels[i], 100, i));
    }
    for (unsigned i = 0; i < n * ENGINES; i++)
        vc_channel_close(channels[i]);
    vc_runtime_free(runtime);
    fixture_stop_server(&f);
}

static void
several_engines_leave_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(engines_cycle, ENGINES_TURNS);
}

static void
channel_cycle(const struct fixture *f, unsigned i)
{
    struct vc_channel *channel;

    assert_status(VC_OK, fixture_open_alone(f->runtime, f->target, &channel));
    assert_status(VC_OK, fixture_echo(channel, 100, i));
    vc_channel_close(channel);
}

/* Opens as many channels at once as may exist at once on a slow machine when
 * they follow each other: the server keeps QPs and memory for later ones. */
static void
channels_at_once(const struct fixture *f)
{
    struct vc_channel *channels[4];

    for (unsigned i = 0; i < 4; i++) {
        assert_status(VC_OK,
                      fixture_open_alone(f->runtime, f->target, &channels[i]));
        assert_status(VC_OK, fixture_echo(channels[i], 100, i));
    }
    for (unsigned i = 0; i < 4; i++)
        vc_channel_close(channels[i]);
}

/* Counts both at the end, and while the server and the runtime live. */
static void
many_channels_leave_nothing(unsigned round)
{
    struct held outside, inside;
    struct fixture f;

    (void)round;
    plain_cycle(1);
    outside = held_now();
    fixture_start(&f, 1, NULL, NULL);
    channels_at_once(&f);
    channel_cycle(&f, 0);
    inside = held_now();

    for (unsigned i = 0; i < 200; i++)
        channel_cycle(&f, i);

    /* On a slow machine a handler may take so long that a thread takes over.
     * That thread stays until the runtime's threads are stopped. */
    assert_held(&inside, false);
    fixture_stop(&f);
    assert_held(&outside, true);
}

/* --- failed connects --------------------------------------------------- */

#define FAILURES 50
#define RETRIED  10 /* one call of so many is retried, which takes long */

/* A client connects to a target n times without success, each time by a new
 * channel. */
static void
fail_to_connect(struct fixture *f, unsigned n,
                const struct vc_channel_opts *opts, enum vc_status expected)
{
    struct vc_call_opts call_opts = VC_CALL_OPTS_INIT;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    assert_status(VC_OK, vc_runtime_new(NULL, &f->runtime));
    while (n-- > 0) {
        call_opts.flags = n % RETRIED == 0 ? 0 : VC_CALL_NO_RETRY;
        assert_status(
            VC_OK, vc_channel_open(f->runtime, f->target, opts, &f->channel));
        assert_status(expected, suite_absent_nothing(f->channel, &request,
                                                     &call_opts, &reply));
        vc_channel_close(f->channel);
    }
    vc_runtime_free(f->runtime);
}

static void
no_listener_cycle(unsigned n)
{
    struct fixture f = {0};

    fixture_start_server(&f, 1, NULL);
    fixture_stop_server(&f);
    fail_to_connect(&f, n, NULL, VC_UNAVAILABLE);
}

static void
connects_without_a_listener_leave_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(no_listener_cycle, FAILURES);
}

static void
rejected_cycle(unsigned n)
{
    struct fixture f = {0};

    fixture_start_server(&f, 1, NULL);
    fail_to_connect(&f, n, NULL, VC_UNIMPLEMENTED);
    fixture_stop_server(&f);
}

static void
rejected_connects_leave_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(rejected_cycle, FAILURES);
}

static void
time_out(const char *target, unsigned n)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f = {0};

    opts.connect_timeout_ms = 20;
    snprintf(f.target, sizeof f.target, "%s", target);
    fail_to_connect(&f, n, &opts, VC_UNAVAILABLE);
}

/* For a server that is stopped the kernel answers: wait. */
static void
silent_cycle(unsigned n)
{
    char target[80];

    time_out(
        fixture_target((uint16_t)atomic_load(&fixture_board->port), target), n);
}

static void
connects_that_time_out_leave_nothing(unsigned round)
{
    siginfo_t info;
    pid_t pid = fixture_fork_server(0);

    (void)round;
    assert_int_equal(0, kill(pid, SIGSTOP));
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &info, WSTOPPED));
    assert_leaves_nothing(silent_cycle, FAILURES);
}

/* An address of this network that no host has. */
static void
no_host_cycle(unsigned n)
{
    time_out("rdma://10.9.0.77:1", n);
}

static void
addresses_that_time_out_leave_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(no_host_cycle, FAILURES);
}

/* --- peers that close or die ------------------------------------------- */

static void
closed_by_peer_cycle(unsigned n)
{
    struct vc_channel *channel;
    struct fixture f;

    while (n-- > 0) {
        fixture_start(&f, 1, NULL, NULL);
        assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
        assert_status(VC_OK, fixture_open_alone(f.runtime, f.target, &channel));
        assert_status(VC_OK, fixture_echo(channel, 10, 1));
        fixture_stop_server(&f);
        /* One channel detects the loss, the other one never does. */
        assert_status(VC_UNAVAILABLE, fixture_echo(channel, 10, 2));
        vc_channel_close(channel);
        fixture_stop_client(&f);
    }
}

static void
links_closed_by_the_peer_leave_nothing(unsigned round)
{
    (void)round;
    assert_leaves_nothing(closed_by_peer_cycle, 2);
}

#define MORTALS 4

static void
killed_servers_leave_nothing(unsigned round)
{
    pid_t pids[MORTALS];
    uint16_t ports[MORTALS];
    struct held before;

    (void)round;
    for (unsigned i = 0; i < MORTALS; i++) {
        pids[i] = fixture_fork_server(0);
        ports[i] = (uint16_t)atomic_load(&fixture_board->port);
    }
    plain_cycle(1);
    before = held_now();

    for (unsigned i = 0; i < MORTALS; i++) {
        struct fixture f = {0};

        fixture_target(ports[i], f.target);
        fixture_start_client(&f, NULL);
        assert_status(VC_OK, fixture_echo(f.channel, 1000000, 1));
        assert_int_equal(0, kill(pids[i], SIGKILL));
        assert_int_equal(-SIGKILL, fixture_wait(pids[i]));
        if (i % 2 == 0)
            assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 2));
        fixture_stop_client(&f);
    }

    assert_held(&before, true);
}

/* Waits for the board's port, reports its first call to the board, and then
 * calls until a call fails. */
static int
mortal_client(void *arg, int ready)
{
    struct caller c = {.size = CALLER_LONG};
    struct fixture f = {0};

    (void)arg;
    assert_int_equal(1, write(ready, "r", 1));
    fixture_await(&fixture_board->port, 1);
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f.target);
    fixture_start_client(&f, NULL);
    c.channel = f.channel;
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    fixture_tell(&fixture_board->words[0]);
    while (caller_call(&c) == VC_OK)
        continue;
    return 1;
}

static void
killed_clients_leave_nothing(unsigned round)
{
    pid_t pids[MORTALS];
    struct held before;
    struct fixture f = {0};

    (void)round;
    for (unsigned i = 0; i < MORTALS; i++)
        pids[i] = fixture_fork(mortal_client, NULL);
    plain_cycle(1);
    before = held_now();
    fixture_start_server(&f, 1, NULL);

    atomic_store(&fixture_board->port, vc_server_port(f.server));
    fixture_await(&fixture_board->words[0], MORTALS);
    for (unsigned i = 0; i < MORTALS; i++) {
        assert_int_equal(0, kill(pids[i], SIGKILL));
        assert_int_equal(-SIGKILL, fixture_wait(pids[i]));
    }

    fixture_stop_server(&f);
    assert_held(&before, true);
}

/* --- threads ----------------------------------------------------------- */

/* The threads are stopped at various moments of their polling and sleeping. */
static void
threads_end_when_they_are_told(unsigned round)
{
    unsigned before = entries_of("/proc/self/task", "");
    uint64_t due;

    (void)round;
    for (unsigned i = 0; i < 200; i++) {
        struct vc_runtime *runtime;

        assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
        assert_status(VC_OK, vc_runtime_start(runtime));
        usleep(i % 30 * 20);
        vc_runtime_free(runtime);
    }
    due = fixture_ms() + SETTLE_MS;
    while (entries_of("/proc/self/task", "") != before && fixture_ms() < due)
        usleep(1000);
    assert_int_equal(before, entries_of("/proc/self/task", ""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        counting(plain_use_leaves_nothing),
        counting(several_engines_leave_nothing),
        counting(many_channels_leave_nothing),
        counting(connects_without_a_listener_leave_nothing),
        counting(rejected_connects_leave_nothing),
        counting(connects_that_time_out_leave_nothing),
        counting(addresses_that_time_out_leave_nothing),
        counting(links_closed_by_the_peer_leave_nothing),
        counting(killed_servers_leave_nothing),
        counting(killed_clients_leave_nothing),
        fixture_apart(threads_end_when_they_are_told, 1),
    };

    return fixture_main(tests);
}
