/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two machines on a wire that is cut, mended, and made bad while calls run.
 * Whatever becomes of a call, what the client is told is true of what the
 * server did, no handler runs twice, and the calls after the mend are good on
 * the same channel. How many are good meanwhile is printed, not judged.
 * tests/wire.sh runs it in two guests, as `serve` and as `call`, with a folder
 * that both share with the host; the client directs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/wire.h"

#define THREADS 4

#define CUT_MS    10000
#define CALL_MS   3000  /* a cut outlasts it, so calls must fail */
#define GRACE_MS  2000  /* two guests share few cores */
#define RESUME_MS 20000 /* from the mend until all threads work */
#define SETTLE_MS 3000  /* what was on its way at the cut has come */
#define PACE_US   20000 /* a caller that was refused waits so long */

/* Good calls that a thread makes before the cut and after it. */
#define SOME 20

/* Over the bad wire. */
#define BAD_CALLS   400
#define BAD_MS      20000
#define BAD_LEAST   30
#define BAD_CALL_MS 5000

/* Packets that netem has lost here. */
#define DROPPED                                                                \
    "tc -s qdisc show dev w0 | sed -n 's/.*(dropped \\([0-9]*\\).*/\\1/p'"

/* --- the client's calls ------------------------------------------------ */

static struct vc_runtime *runtime;
static struct vc_channel *channel;

/* How the call of each tag ended. */
static struct ending {
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t took_ms;
} endings[WIRE_TAGS];
static atomic_uint next_tag;

/* Good calls of each thread. */
#define GOOD(thread) (&fixture_board->words[thread])

static const size_t sizes[] = {0, 40, 700, 1500, 9000, 40000};
#define SIZE_MOST 40000
#define SIZES     (sizeof sizes / sizeof sizes[0])
static uint8_t noise[SIZE_MOST + WIRE_TAGS];

static void
noise_make(void)
{
    uint32_t x = 1;

    for (size_t i = 0; i < sizeof noise; i++) {
        x = x * 1664525u + 1013904223u;
        noise[i] = (uint8_t)(x >> 24);
    }
}

/* A wrong reply is VC_DATA_LOSS, which the library itself never gives. */
static enum vc_status
reply_check(const Suite__EchoRequest *request, const Suite__EchoReply *reply)
{
    bool good = reply->tag == request->tag &&
                reply->payload.len == request->payload.len &&
                (reply->payload.len == 0 ||
                 memcmp(reply->payload.data, request->payload.data,
                        reply->payload.len) == 0);

    return good ? VC_OK : VC_DATA_LOSS;
}

static void
call(unsigned tag, unsigned timeout_ms)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct ending *e = &endings[tag];
    uint64_t began = fixture_ms();
    Suite__EchoReply *reply;

    opts.timeout_ms = timeout_ms;
    request.tag = tag;
    request.payload.data = noise + tag;
    request.payload.len = sizes[tag % SIZES];
    e->status = suite_probe_echo(channel, &request, &opts, &reply);
    e->took_ms = fixture_ms() - began;
    if (e->status != VC_OK) {
        e->outcome = vc_error_outcome();
        return;
    }
    e->status = reply_check(&request, reply);
    vc_reply_free(reply);
}

/* --- load -------------------------------------------------------------- */

static struct load {
    pthread_t threads[THREADS];
    unsigned n; /* of them that run */
    atomic_bool stop;
    unsigned limit;      /* the first tag that is not called */
    uint64_t due;        /* no call begins after that */
    unsigned timeout_ms; /* of each call */
} load;

static void *
load_run(void *arg)
{
    atomic_uint *good = arg;

    while (!atomic_load(&load.stop) && fixture_ms() < load.due) {
        unsigned tag = atomic_fetch_add(&next_tag, 1);

        if (tag >= load.limit) {
            atomic_fetch_sub(&next_tag, 1);
            break;
        }
        call(tag, load.timeout_ms);
        if (endings[tag].status == VC_OK)
            fixture_tell(good);
        else
            usleep(PACE_US);
    }
    return NULL;
}

static void
load_start(unsigned limit, uint64_t ms, unsigned timeout_ms)
{
    fixture_board_make();
    atomic_store(&load.stop, false);
    load.limit = limit < WIRE_TAGS ? limit : WIRE_TAGS;
    load.due = fixture_ms() + ms;
    load.timeout_ms = timeout_ms;
    for (load.n = 0; load.n < THREADS; load.n++)
        assert_int_equal(0, pthread_create(&load.threads[load.n], NULL,
                                           load_run, GOOD(load.n)));
}

static void
load_join(void)
{
    while (load.n > 0)
        pthread_join(load.threads[--load.n], NULL);
}

static unsigned
good_calls(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < THREADS; i++)
        n += atomic_load(GOOD(i));
    return n;
}

/* Waits until each thread has made some more good calls. */
static void
await_good_of_all(void)
{
    unsigned seen[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        seen[i] = atomic_load(GOOD(i));
    for (unsigned i = 0; i < THREADS; i++)
        fixture_await(GOOD(i), seen[i] + SOME);
}

/* --- the truth --------------------------------------------------------- */

/* Has the server do what a tag says; NULL when it cannot be reached. A first
 * call may be the one that finds out that the link is dead. */
static Suite__EchoReply *
server_does(uint64_t tag, unsigned n)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    request.tag = tag;
    request.reply_size = n;
    if (suite_probe_echo(channel, &request, NULL, &reply) == VC_OK ||
        suite_probe_echo(channel, &request, NULL, &reply) == VC_OK)
        return reply;
    print_error("the server does not do %llu: %s\n", (unsigned long long)tag,
                vc_error());
    return NULL;
}

static void
have_server_do(uint64_t tag)
{
    Suite__EchoReply *reply = server_does(tag, 0);

    assert_non_null(reply);
    vc_reply_free(reply);
}

/* NULL, or what is wrong. */
static const char *
ending_fault(const struct ending *e, unsigned times)
{
    if (times > 1)
        return "ran twice";
    if (e->status == VC_DATA_LOSS)
        return "had a wrong reply";
    if (e->status == VC_OK && times != 1)
        return "is good and did not run";
    if (e->status != VC_OK && e->outcome == VC_OUTCOME_NOT_EXECUTED &&
        times != 0)
        return "ran, and is said not to have";
    if (e->status != VC_OK && e->outcome == VC_OUTCOME_EXECUTED && times != 1)
        return "is said to have run, and did not";
    return NULL;
}

/* All calls ever made, for one that was given up may still run later. */
static void
assert_true_endings(void)
{
    unsigned n = atomic_load(&next_tag);
    Suite__EchoReply *reply = server_does(WIRE_REPORT, n);

    assert_non_null(reply);
    assert_int_equal(n, reply->payload.len);
    for (unsigned tag = 0; tag < n; tag++) {
        const char *fault =
            ending_fault(&endings[tag], reply->payload.data[tag]);

        if (fault != NULL)
            fail_msg("call %u (%s after %llu ms) %s", tag,
                     vc_status_name(endings[tag].status),
                     (unsigned long long)endings[tag].took_ms, fault);
    }
    vc_reply_free(reply);
}

/* Counts, and prints, what became of the calls from a tag on; no call took
 * longer than it may. How many were not good. */
static unsigned
count_endings(const char *what, unsigned first, unsigned timeout_ms)
{
    unsigned n = atomic_load(&next_tag), bad = 0, not_run = 0, late = 0;

    for (unsigned tag = first; tag < n; tag++) {
        const struct ending *e = &endings[tag];

        assert_in_range(e->took_ms, 0, timeout_ms + GRACE_MS);
        bad += e->status != VC_OK;
        late += e->status == VC_DEADLINE_EXCEEDED;
        not_run += e->status != VC_OK && e->outcome == VC_OUTCOME_NOT_EXECUTED;
    }
    print_message("# %s: %u calls good, %u not (%u too late; %u of them not "
                  "executed)\n",
                  what, n - first - bad, bad, late, not_run);
    return bad;
}

/* --- the wire ---------------------------------------------------------- */

/* Has the host do it: see tests/wire.sh. */
static void
host_does(const char *what)
{
    wire_file_make("ask", what);
    wire_file_await("ask", false);
}

/* The cut lasts so long: that is the fault, and nothing is waited for. */
static void
cut_pass(const char *how)
{
    unsigned good;

    host_does(how);
    usleep(SETTLE_MS * 1000);
    good = good_calls();
    usleep((CUT_MS - SETTLE_MS) * 1000);
    assert_int_equal(good, good_calls());
    host_does("mend");
}

static void
cut_and_mend(const char *how)
{
    unsigned first = atomic_load(&next_tag);
    uint64_t mended, took;

    load_start(WIRE_TAGS, 2 * WIRE_BOOT_MS, CALL_MS);
    await_good_of_all();
    cut_pass(how);
    mended = fixture_ms();
    await_good_of_all();
    took = fixture_ms() - mended;
    atomic_store(&load.stop, true);
    load_join();
    assert_true_endings();
    assert_in_range(count_endings(how, first, CALL_MS), THREADS, WIRE_TAGS);
    print_message("# %s: good again %llu ms after the mend\n", how,
                  (unsigned long long)took);
    assert_in_range(took, 0, RESUME_MS);
}

static void
calls_outlive_a_cable_that_was_pulled(void **state)
{
    (void)state;
    cut_and_mend("cut-both");
}

/* The client's own port stays up: only silence tells it. */
static void
calls_outlive_a_cut_that_only_the_server_sees(void **state)
{
    (void)state;
    cut_and_mend("cut-far");
}

static unsigned
packets_lost(void)
{
    unsigned n = 0;
    FILE *f = popen(DROPPED, "r");

    assert_non_null(f);
    assert_int_equal(1, fscanf(f, "%u", &n));
    pclose(f);
    return n;
}

static void
calls_are_right_over_a_bad_wire(void **state)
{
    unsigned first = atomic_load(&next_tag), lost, bad;

    (void)state;
    have_server_do(WIRE_SPOIL);
    assert_int_equal(0, system(WIRE_TC_SPOIL));
    load_start(first + BAD_CALLS, BAD_MS, BAD_CALL_MS);
    load_join();
    lost = packets_lost();
    assert_int_equal(0, system(WIRE_TC_RESTORE));
    have_server_do(WIRE_RESTORE);
    assert_true_endings();
    bad = count_endings("bad wire", first, BAD_CALL_MS);
    print_message("# bad wire: %u packets of ours were lost\n", lost);
    assert_in_range(lost, 1, UINT32_MAX);
    assert_in_range(atomic_load(&next_tag) - first, BAD_LEAST, BAD_CALLS);
    assert_in_range(bad, 0, BAD_CALLS / 2);
}

/* Whatever became of a test: the next one has a wire and no load. */
static int
calm(void **state)
{
    (void)state;
    atomic_store(&load.stop, true);
    host_does("mend");
    load_join();
    return 0;
}

static int
client_start(void **state)
{
    char target[80];

    (void)state;
    noise_make();
    fixture_board_make();
    wire_file_await("serving", true);
    snprintf(target, sizeof target, "rdma://%s:%d", getenv("VC_TEST_PEER"),
             WIRE_PORT);
    wire_runtime(&runtime);
    assert_status(VC_OK, vc_channel_open(runtime, target, NULL, &channel));
    return 0;
}

/* Nothing was executed late either. */
static int
client_end(void **state)
{
    (void)state;
    assert_true_endings();
    have_server_do(WIRE_END);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return 0;
}

static void
server_serves_until_it_is_told_to_end(void **state)
{
    (void)state;
    wire_serve();
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest server[] = {
        cmocka_unit_test(server_serves_until_it_is_told_to_end),
    };
    const struct CMUnitTest client[] = {
        cmocka_unit_test_teardown(calls_outlive_a_cable_that_was_pulled, calm),
        cmocka_unit_test_teardown(calls_outlive_a_cut_that_only_the_server_sees,
                                  calm),
        cmocka_unit_test_teardown(calls_are_right_over_a_bad_wire, calm),
    };

    if (argc != 3 || getenv("VC_TEST_PEER") == NULL)
        return fixture_skip_all(sizeof client / sizeof client[0]);
    wire_folder = argv[2];
    fixture_board_make();
    if (strcmp(argv[1], "serve") == 0)
        return cmocka_run_group_tests(server, NULL, NULL);
    return cmocka_run_group_tests(client, client_start, client_end);
}
