/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two machines on a wire that is cut, mended, and made bad while calls run, and
 * machines and devices that die whole. Either end finds within the documented
 * times that the other is dead. What a client is told of a call is true of what
 * the server did, no handler runs twice, and the calls after the mend are good
 * on the same channel. A wire that is bad, and cut for less time than keepalive
 * allows, costs no call.
 * tests/wire.sh runs it in two guests, as `serve` and as `call`, with a folder
 * that both share with the host; the client directs. With VC_TEST_LONG=1 the
 * cuts last until the client hardly tries to connect any more, and more calls
 * meet more cuts on the bad wire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/callers.h"
#include "tests/suite/wire_load.h"
#include "tests/suite/wire_watch.h"

#define CALL_MS     3000  /* keepalive ends calls sooner */
#define RESUME_MS   20000 /* from the mend until all threads work */
#define LONG_CUT_MS 10000 /* a long run's */

/* A call that nobody answers: longer than all limits here. */
#define OUTSTANDING_MS 60000

#define TRIES 3 /* to have the links that are watched up at one time */

/* Over the bad wire. All calls survive a link that is lost: they have the time
 * for another, and most are in their handlers when the wire is cut. Connecting has
 * the time, too: when the wire loses a hello or its answer the CM says it again
 * after 4 s. */
#define BAD_KEEPALIVE_MS 30000
#define BAD_CONNECT_MS   30000
#define BAD_CALL_MS      60000
#define BAD_HANDLER_MS   30
#define CUT_FOUND_MS     10000 /* the adapter gives up sooner */

/* Packets that netem has lost here. */
#define DROPPED                                                                \
    "tc -s qdisc show dev w0 | sed -n 's/.*(dropped \\([0-9]*\\).*/\\1/p'"

static struct vc_runtime *runtime;
static struct vc_channel *channel;

static bool
is_long(void)
{
    const char *value = getenv("VC_TEST_LONG");

    return value != NULL && strcmp(value, "1") == 0;
}

static void
channel_open(struct vc_runtime *of, uint16_t port,
             const struct vc_channel_opts *opts, struct vc_channel **out)
{
    char target[80];

    snprintf(target, sizeof target, "rdma://%s:%u", getenv("VC_TEST_PEER"),
             port);
    assert_status(VC_OK, vc_channel_open(of, target, opts, out));
}

/* Has the host do it: see tests/wire.sh. */
static void
host_does(const char *what)
{
    wire_file_make("ask", what);
    wire_file_await("ask", false);
}

/* --- this machine's ends of the links that are watched ------------------ */

static struct ends {
    struct vc_runtime *runtimes[WATCHED];
    struct vc_channel *channels[WATCHED];
    struct caller call; /* is outstanding on the busy one */
    bool calls;
} ends;

static unsigned watches; /* the number of the last call of Sleep */

static void
file_remove(const char *name)
{
    char path[WIRE_FILES];

    wire_path(name, path);
    unlink(path);
}

/* A library thread advances the idle one. The call's number goes with it. */
static void
ends_connect(void)
{
    for (unsigned i = 0; i < WATCHED; i++) {
        wire_runtime(&ends.runtimes[i]);
        channel_open(ends.runtimes[i], (uint16_t)WIRE_WATCH_PORT(i), NULL,
                     &ends.channels[i]);
        have_server_do(ends.channels[i], WIRE_NOTHING);
    }
    assert_status(VC_OK, vc_runtime_start(ends.runtimes[WATCH_IDLE], 1));
    ends.call = (struct caller){.channel = ends.channels[WATCH_BUSY],
                                .sleep_ms = ++watches,
                                .timeout_ms = OUTSTANDING_MS};
    caller_start(&ends.call);
    ends.calls = true;
}

static void
ends_close(void)
{
    for (unsigned i = 0; i < WATCHED; i++)
        if (ends.channels[i] != NULL)
            vc_channel_close(ends.channels[i]);
    if (ends.calls)
        caller_join(&ends.call);
    for (unsigned i = 0; i < WATCHED; i++)
        if (ends.runtimes[i] != NULL)
            vc_runtime_free(ends.runtimes[i]);
    memset(&ends, 0, sizeof ends);
}

/* Has both links up, and the server do what this tag says when they are lost.
 * Either machine may stall for longer than keepalive allows, and cost a link
 * before the blow: then both are made anew, once or twice. */
static void
ends_open(uint64_t tag)
{
    Suite__EchoReply *reply;
    unsigned tries = 0;

    file_remove("struck");
    file_remove("found");
    do {
        ends_close();
        ends_connect();
        reply = server_does(channel, tag, watches);
        vc_reply_free(reply);
    } while ((reply == NULL || !watch_ready(ends.runtimes)) && ++tries < TRIES);
    if (tries > 0)
        printf("# the links were made anew %u times\n", tries);
    assert_in_range(tries, 0, TRIES - 1);
}

/* The call has ended for its server was found dead. */
static void
ends_assert_call_failed(uint64_t since_ms)
{
    struct caller *c = &ends.call;

    caller_join(c);
    ends.calls = false;
    printf("# the call ended after %d ms, at most %d: %s\n",
           (int)(c->ended_ms - since_ms), WATCH_BUSY_MS, c->text);
    assert_int_equal(VC_UNAVAILABLE, c->status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c->outcome);
    assert_in_range(c->ended_ms - since_ms, 0, WATCH_BUSY_MS);
}

/* What the server found, too. */
static void
assert_server_found(void)
{
    struct watch_found found;
    char path[WIRE_FILES], text[WATCH_TEXT] = "";
    FILE *f;

    wire_file_await("found", true);
    wire_path("found", path);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    assert_true(watch_read(&found, text));
    watch_assert_found(&found, "server");
}

/* --- a wire that is cut ------------------------------------------------ */

/* Either end finds it; then each thread's calls fail, and none is good. */
static void
cut_pass(const char *how)
{
    struct watch_found found;
    uint64_t since = fixture_ms();
    struct watch w;
    unsigned good;

    watch_begin(&w, ends.runtimes);
    host_does(how);
    watch_end(&w, since, &found);
    watch_assert_found(&found, "client");
    ends_assert_call_failed(since);
    assert_server_found();
    load_await_failed();
    good = load_good();
    if (is_long())
        usleep(LONG_CUT_MS * 1000);
    load_await_failed();
    assert_int_equal(good, load_good());
    host_does("mend");
}

static void
cut_and_mend(const char *how)
{
    const struct load_opts calls = {.channel = channel, .timeout_ms = CALL_MS};
    unsigned first = load_next_tag();
    uint64_t mended, took;

    load_start(&calls);
    load_await_good();
    ends_open(WIRE_WATCH);
    cut_pass(how);
    mended = fixture_ms();
    load_await_good();
    took = fixture_ms() - mended;
    load_stop();
    assert_true_endings(channel);
    assert_in_range(count_endings(how, first, CALL_MS), LOAD_THREADS,
                    WIRE_TAGS);
    printf("# %s: good again %llu ms after the mend\n", how,
           (unsigned long long)took);
    assert_in_range(took, 0, RESUME_MS);
}

static void
a_cable_that_was_pulled_is_found_and_outlived(void **state)
{
    (void)state;
    cut_and_mend("cut-both");
}

/* The client's own port stays up: only silence tells it. */
static void
a_cut_that_only_the_server_sees_is_found_and_outlived(void **state)
{
    (void)state;
    cut_and_mend("cut-far");
}

/* The whole of it, adapter included, until the server has found it dead. */
static void
a_server_finds_a_client_whose_machine_is_frozen(void **state)
{
    (void)state;
    ends_open(WIRE_WATCH);
    host_does("freeze-client");
    assert_server_found();
    have_server_do(channel, WIRE_NOTHING);
}

/* --- a wire that is bad ------------------------------------------------- */

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

static struct vc_counters
counters_of(struct vc_runtime *of)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(of, &c);
    return c;
}

/* The wire is cut until the link is lost. One call is in its handler all that
 * time, so that the server knows it when it comes again. */
static void
cut_until_link_lost(struct vc_runtime *of, struct vc_channel *over)
{
    uint64_t lost = counters_of(of).links_lost, since;
    struct caller held = {
        .channel = over, .tag = WIRE_HOLD, .timeout_ms = BAD_CALL_MS};

    caller_start(&held);
    wire_file_await("held", true);
    since = fixture_ms();
    host_does("cut-both");
    while (counters_of(of).links_lost == lost &&
           fixture_ms() - since <= CUT_FOUND_MS)
        usleep(2000);
    host_does("mend");
    file_remove("held");
    caller_join(&held);
    assert_status(VC_OK, held.status);
    assert_in_range(counters_of(of).links_lost, lost + 1, UINT32_MAX);
}

/* So many calls, and so many cuts spread over them. */
static void
bad_wire_pass(struct vc_runtime *of, const struct load_opts *calls,
              unsigned cuts)
{
    load_start(calls);
    for (unsigned i = 1; i <= cuts; i++) {
        load_await_good_calls(calls->calls * i / (cuts + 1));
        cut_until_link_lost(of, calls->channel);
    }
    load_join();
}

static void
bad_wire_check(struct vc_runtime *of, unsigned first, unsigned n, unsigned cuts)
{
    struct vc_counters c = counters_of(of);
    Suite__EchoReply *reply;

    assert_int_equal(0, count_endings("bad wire", first, BAD_CALL_MS));
    assert_true_endings(channel);
    reply = server_does(channel, WIRE_REPEATS, 0);
    assert_non_null(reply);
    printf("# bad wire: %u links lost, %u requests sent again, %u of them "
           "known to the server\n",
           (unsigned)c.links_lost, (unsigned)c.calls_sent_again,
           (unsigned)reply->tag);
    assert_in_range(reply->tag, cuts, UINT32_MAX);
    vc_reply_free(reply);
    assert_int_equal(n, load_next_tag() - first);
    assert_int_equal(n, load_good());
    assert_int_equal(n + cuts, c.calls_started);
    assert_in_range(c.links_lost, cuts, UINT32_MAX);
    assert_in_range(c.calls_sent_again, cuts, UINT32_MAX);
}

static void
each_call_over_a_bad_wire_is_good_and_executed_once(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct load_opts calls = {.calls = is_long() ? 600 : 48,
                              .timeout_ms = BAD_CALL_MS,
                              .handler_ms = BAD_HANDLER_MS};
    unsigned first = load_next_tag(), cuts = is_long() ? 8 : 2, lost;
    struct vc_runtime *of;

    (void)state;
    opts.keepalive_ms = BAD_KEEPALIVE_MS;
    opts.connect_timeout_ms = BAD_CONNECT_MS;
    wire_runtime(&of);
    channel_open(of, WIRE_PORT, &opts, &calls.channel);
    have_server_do(channel, WIRE_SPOIL);
    assert_int_equal(0, system(WIRE_TC_SPOIL));
    bad_wire_pass(of, &calls, cuts);
    lost = packets_lost();
    assert_int_equal(0, system(WIRE_TC_RESTORE));
    have_server_do(channel, WIRE_RESTORE);
    printf("# bad wire: %u packets of ours were lost\n", lost);
    assert_in_range(lost, 1, UINT32_MAX);
    bad_wire_check(of, first, calls.calls, cuts);
    vc_channel_close(calls.channel);
    vc_runtime_free(of);
}

/* --- a device that is removed ------------------------------------------- */

/* The server's process and machine go on without it, and the kernel's farewell
 * is lost, so that only keepalive finds it. The last test: the server
 * is of no use afterwards. */
static void
a_removed_device_of_the_server_is_found(void **state)
{
    struct watch_found found;
    struct watch w;
    uint64_t since;

    (void)state;
    ends_open(WIRE_REMOVE);
    watch_begin(&w, ends.runtimes);
    since = fixture_ms();
    wire_file_make("struck", "");
    watch_end(&w, since, &found);
    watch_assert_found(&found, "client");
    ends_assert_call_failed(since);
}

/* --- both roles --------------------------------------------------------- */

/* Whatever became of a test: the next one has a wire and no load. */
static int
calm(void **state)
{
    (void)state;
    host_does("mend");
    load_stop();
    ends_close();
    return 0;
}

static int
client_start(void **state)
{
    (void)state;
    fixture_board_make();
    wire_file_await("serving", true);
    wire_runtime(&runtime);
    channel_open(runtime, WIRE_PORT, NULL, &channel);
    return 0;
}

static int
client_end(void **state)
{
    (void)state;
    wire_file_make("end", "");
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

#define T(name) cmocka_unit_test_teardown(name, calm)

int
main(int argc, char **argv)
{
    const struct CMUnitTest server[] = {
        cmocka_unit_test(server_serves_until_it_is_told_to_end),
    };
    const struct CMUnitTest client[] = {
        T(a_cable_that_was_pulled_is_found_and_outlived),
        T(a_cut_that_only_the_server_sees_is_found_and_outlived),
        T(a_server_finds_a_client_whose_machine_is_frozen),
        T(each_call_over_a_bad_wire_is_good_and_executed_once),
        T(a_removed_device_of_the_server_is_found),
    };

    if (argc != 3 || getenv("VC_TEST_PEER") == NULL)
        return fixture_skip_all(sizeof client / sizeof client[0]);
    wire_folder = argv[2];
    fixture_board_make();
    if (strcmp(argv[1], "serve") == 0)
        return cmocka_run_group_tests(server, NULL, NULL);
    return cmocka_run_group_tests(client, client_start, client_end);
}
