/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two machines on a network that is cut, repaired, and made bad while calls
 * run, and machines and devices that die: over RDMA and over TCP. Either end
 * detects within the documented times that the other is dead. The reported
 * outcome of each call is true, no handler runs twice, and after the repair
 * calls succeed on the same channel. A bad network, with cuts shorter than the
 * client's keepalive allows, costs no call. RDMA alone is blocked, too, while
 * TCP works: tests/suite/wire_failover.h.
 *
 * tests/wire.sh runs this program in two guests, as `serve` and as `call`, with
 * a directory that both share with the host; the client coordinates. With
 * VC_TEST_LONG=1 the cuts last until the client hardly tries to connect any
 * more. More calls meet more cuts on the bad network, and at the end the
 * server's machine is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/callers.h"
#include "tests/suite/pace.h"
#include "tests/suite/wire_crowd.h"
#include "tests/suite/wire_failover.h"
#include "tests/suite/wire_load.h"
#include "tests/suite/wire_watch.h"

#define CALL_MS     3000  /* keepalive ends calls sooner */
#define RESUME_MS   20000 /* from the repair until all threads succeed */
#define LONG_CUT_MS 10000 /* in a long run */
#define LONG_ROUNDS 5     /* in a long run: rounds of blocking RDMA */

/* The timeout of a call that is never answered: longer than all limits here. */
#define OUTSTANDING_MS 60000

#define TRIES 3 /* to have all watched links up at the same time */

/* For the bad network. All calls survive the loss of a link: their timeout
 * allows for another link, and most are in their handlers during a cut.
 * Connecting has enough time, too: when a hello or its answer is lost, the CM
 * sends it again after 4 s. Over RDMA a cut lasts until the adapter has given
 * up the link. TCP does not give up so soon, so there a cut lasts until the
 * server has lost the link; its keepalive_ms is the default. */
#define BAD_KEEPALIVE_MS 30000
#define BAD_CONNECT_MS   30000
#define BAD_CALL_MS      60000
#define BAD_HANDLER_MS   30
#define CUT_FOUND_MS     10000

/* Prints the number of packets that netem has dropped here. */
#define DROPPED                                                                \
    "tc -s qdisc show dev w0 | sed -n 's/.*(dropped \\([0-9]*\\).*/\\1/p'"

static struct vc_runtime *runtime;

/* Of the running test. */
static const char *scheme;
static struct vc_channel *channel;

static bool
is_long(void)
{
    return fixture_many(0, 1) != 0;
}

static bool
is_rdma(void)
{
    return strcmp(scheme, "rdma") == 0;
}

/* Asks the host to do this: see tests/wire.sh. */
static void
host_does(const char *what)
{
    wire_file_make("ask", what);
    wire_file_await("ask", false);
}

/* --- this machine's ends of the watched links --------------------------- */

static struct ends {
    struct vc_runtime *runtimes[WATCHED];
    struct vc_channel *channels[WATCHED];
    struct caller call; /* outstanding on the busy link */
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

/* A library thread advances the idle link. The outstanding call carries its
 * number. */
static void
ends_connect(void)
{
    for (unsigned i = 0; i < WATCHED; i++) {
        wire_runtime(&ends.runtimes[i]);
        wire_channel(ends.runtimes[i], scheme, (uint16_t)WIRE_WATCH_PORT(i),
                     NULL, &ends.channels[i]);
        have_server_do(ends.channels[i], WIRE_NOTHING);
    }
    assert_status(VC_OK, vc_runtime_start(ends.runtimes[WATCH_IDLE]));
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

/* Brings both links up, and prepares the server for their loss by this tag. If
 * either machine stalls for longer than keepalive allows, a link may be lost
 * before the failure: then both links are made again, up to twice. */
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
        vc_message_free(reply);
    } while ((reply == NULL || !watch_ready(ends.runtimes)) && ++tries < TRIES);
    if (tries > 0)
        printf("# the links were made anew %u times\n", tries);
    assert_in_range(tries, 0, TRIES - 1);
}

/* Checks that the call ended because its server was found dead. */
static void
ends_assert_call_failed(uint64_t since_ms)
{
    struct caller *c = &ends.call;
    unsigned took;

    caller_join(c);
    ends.calls = false;
    took = (unsigned)pace_between(since_ms, c->ended_ms);
    printf("# the call ended after %u ms, at most %d: %s\n", took,
           WATCH_CALL_MS, c->text);
    assert_int_equal(VC_UNAVAILABLE, c->status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c->outcome);
    assert_in_range(took, 0, WATCH_CALL_MS);
}

/* Checks the server's results, too. */
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

/* --- a cut network, a frozen server ------------------------------------- */

/* What the host does to the network or the server. */
struct blow {
    const char *name;
    bool server_finds; /* true: the server detects its client's death, too */
};

static void
blow_strike(const struct blow *b)
{
    struct watch_found found;
    uint64_t since = fixture_ms();
    struct watch w;

    watch_begin(&w, ends.runtimes);
    host_does(b->name);
    watch_end(&w, since, &found);
    watch_assert_found(&found, "client");
    ends_assert_call_failed(since);
    if (b->server_finds)
        assert_server_found();
}

/* The ends detect the failure; then calls of each thread fail, and none
 * succeeds. */
static void
blow_pass(const struct blow *b)
{
    unsigned good;

    blow_strike(b);
    load_await_failed();
    good = load_good();
    if (is_long())
        usleep(LONG_CUT_MS * 1000);
    load_await_failed();
    assert_int_equal(good, load_good());
}

static void
strike_and_mend(const struct blow *b)
{
    const struct load_opts calls = {.channel = channel, .timeout_ms = CALL_MS};
    unsigned first = load_next_tag();
    uint64_t mended, took;

    load_start(&calls);
    load_await_good();
    ends_open(b->server_finds ? WIRE_WATCH : WIRE_READY);
    blow_pass(b);
    host_does("mend");
    mended = fixture_ms();
    load_await_good();
    took = fixture_ms() - mended;
    load_stop();
    assert_true_endings(channel);
    assert_in_range(count_endings(b->name, first, CALL_MS), LOAD_THREADS,
                    WIRE_TAGS);
    printf("# %s, %s: good again %llu ms after the mend\n", scheme, b->name,
           (unsigned long long)took);
    assert_in_range(took, 0, RESUME_MS);
}

static void
a_cable_that_was_pulled_is_found_and_outlived(void **state)
{
    (void)state;
    strike_and_mend(&(struct blow){"cut-both", true});
}

/* The client's own port stays up: only missing answers show the failure. */
static void
a_cut_that_only_the_server_sees_is_found_and_outlived(void **state)
{
    (void)state;
    strike_and_mend(&(struct blow){"cut-far", true});
}

/* The whole machine, adapter and kernel included. */
static void
a_server_whose_machine_is_frozen_is_found_and_outlived(void **state)
{
    (void)state;
    strike_and_mend(&(struct blow){"freeze-server", false});
}

/* The machine is frozen until the server has detected that. */
static void
a_server_finds_a_client_whose_machine_is_frozen(void **state)
{
    (void)state;
    ends_open(WIRE_WATCH);
    host_does("freeze-client");
    assert_server_found();
    have_server_do(channel, WIRE_NOTHING);
}

/* --- a bad network ------------------------------------------------------ */

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

/* One call is in its handler during the cut, so that the server is busy, and
 * recognizes the call when it is sent again. */
static void
call_hold(struct caller *held, struct vc_channel *over)
{
    *held = (struct caller){
        .channel = over, .tag = WIRE_HOLD, .timeout_ms = BAD_CALL_MS};
    file_remove("lost");
    caller_start(held);
    wire_file_await("held", true);
}

static void
call_release(struct caller *held)
{
    file_remove("held");
    caller_join(held);
    assert_status(VC_OK, held->status);
}

/* Links lost by this end, or closed by the server, whose DREQ arrives after the
 * repair. */
static uint64_t
links_lost(struct vc_runtime *of)
{
    struct vc_counters c = wire_counters(of);

    return c.links_lost + c.links_left;
}

static void
await_link_lost(struct vc_runtime *of, uint64_t lost)
{
    uint64_t since = fixture_ms();

    while (links_lost(of) == lost && fixture_ms() - since <= CUT_FOUND_MS)
        usleep(2000);
}

static void
cut_until_link_lost(struct vc_runtime *of, struct vc_channel *over)
{
    uint64_t lost = links_lost(of);
    struct caller held;

    call_hold(&held, over);
    host_does("cut-both");
    if (is_rdma())
        await_link_lost(of, lost);
    else
        wire_file_await("lost", true);
    host_does("mend");
    await_link_lost(of, lost);
    call_release(&held);
    assert_in_range(links_lost(of), lost + 1, UINT32_MAX);
}

/* Makes all calls, with this many cuts spread over them. */
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

/* Returns how many calls the server has received again. */
static unsigned
repeats(void)
{
    Suite__EchoReply *reply = server_does(channel, WIRE_REPEATS, 0);
    unsigned n;

    assert_non_null(reply);
    n = (unsigned)reply->tag;
    vc_message_free(reply);
    return n;
}

/* Checks that each cut has cost a link, and that its calls were resumed on
 * another. */
static void
assert_resumed(const struct vc_counters *c, unsigned known, unsigned cuts)
{
    unsigned lost = (unsigned)(c->links_lost + c->links_left);

    printf("# bad wire: %u links lost, %u requests sent again, %u of them "
           "known to the server\n",
           lost, (unsigned)c->calls_sent_again, known);
    assert_in_range(known, cuts, UINT32_MAX);
    assert_in_range(lost, cuts, UINT32_MAX);
    assert_in_range(c->calls_sent_again, cuts, UINT32_MAX);
}

static void
bad_wire_check(struct vc_runtime *of, unsigned first, unsigned n, unsigned cuts)
{
    struct vc_counters c = wire_counters(of);

    assert_int_equal(0, count_endings("bad wire", first, BAD_CALL_MS));
    assert_true_endings(channel);
    assert_int_equal(n, load_next_tag() - first);
    assert_int_equal(n, load_good());
    assert_int_equal(n + cuts, c.calls_started);
}

/* Enough calls that the network loses some of their packets: TCP sends
 * fewer. */
static unsigned
bad_wire_calls(void)
{
    if (is_long())
        return 600;
    return is_rdma() ? 48 : 240;
}

static void
each_call_over_a_bad_wire_is_good_and_executed_once(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct load_opts calls = {.calls = bad_wire_calls(),
                              .timeout_ms = BAD_CALL_MS,
                              .handler_ms = BAD_HANDLER_MS};
    unsigned first = load_next_tag(), cuts = is_long() ? 8 : 2, lost;
    unsigned known = repeats();
    struct vc_runtime *of;
    struct vc_counters c;

    (void)state;
    opts.keepalive_ms = BAD_KEEPALIVE_MS;
    opts.connect_timeout_ms = BAD_CONNECT_MS;
    wire_runtime(&of);
    wire_channel(of, scheme, WIRE_PORT, &opts, &calls.channel);
    have_server_do(channel, WIRE_SPOIL);
    assert_int_equal(0, system(WIRE_TC_SPOIL));
    bad_wire_pass(of, &calls, cuts);
    lost = packets_lost();
    assert_int_equal(0, system(WIRE_TC_RESTORE));
    have_server_do(channel, WIRE_RESTORE);
    printf("# bad wire: %u packets of ours were lost\n", lost);
    assert_in_range(lost, 1, UINT32_MAX);
    bad_wire_check(of, first, calls.calls, cuts);
    c = wire_counters(of);
    assert_resumed(&c, repeats() - known, cuts);
    vc_channel_close(calls.channel);
    vc_runtime_free(of);
}

/* --- RDMA blocked while TCP works --------------------------------------- */

/* Between the ends of a vc:// channel. This test's own channel is over TCP; by
 * it the server is asked to block its end. */
static void
calls_go_on_over_tcp_while_rdma_is_blocked_and_come_back(void **state)
{
    (void)state;
    failover_pass(channel, is_long() ? LONG_ROUNDS : 1);
}

/* --- a device that is removed ------------------------------------------- */

/* The server's process and machine continue without the device, and the
 * kernel's DREQ is lost, so only keepalive detects the removal. This is the
 * last test, as the server cannot be used afterwards. */
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

/* --- a server that is killed -------------------------------------------- */

/* The whole machine is killed for good. Only in a long run, as a killed server
 * cannot report leaks. */
static void
a_server_whose_machine_is_killed_is_found(void **state)
{
    (void)state;
    ends_open(WIRE_READY);
    blow_strike(&(struct blow){"kill-server", false});
    assert_status(VC_UNAVAILABLE, vc_channel_connect(ends.channels[WATCH_IDLE],
                                                     &suite_probe_service));
}

/* --- both roles --------------------------------------------------------- */

static int
begin(void **state)
{
    scheme = *state;
    wire_channel(runtime, scheme, WIRE_PORT, NULL, &channel);
    return 0;
}

/* After any result of a test, the next one starts with a good network and no
 * load. */
static int
calm(void **state)
{
    (void)state;
    host_does("mend");
    load_stop();
    ends_close();
    failover_undo(channel);
    vc_channel_close(channel);
    return 0;
}

static int
client_start(void **state)
{
    (void)state;
    fixture_board_make();
    wire_file_await("serving", true);
    wire_runtime(&runtime);
    return 0;
}

static int
client_end(void **state)
{
    (void)state;
    wire_file_make("end", "");
    vc_runtime_free(runtime);
    return 0;
}

static void
server_serves_until_it_is_told_to_end(void **state)
{
    (void)state;
    wire_serve();
}

/* The scheme is put before the test's name, and passed to begin(). */
#define OVER(scheme, name_)                                                    \
    {                                                                          \
        .name = scheme "_" #name_, .test_func = name_, .setup_func = begin,    \
        .teardown_func = calm, .initial_state = (char[])                       \
        {                                                                      \
            scheme                                                             \
        }                                                                      \
    }

int
main(int argc, char **argv)
{
    const struct CMUnitTest server[] = {
        cmocka_unit_test(server_serves_until_it_is_told_to_end),
    };
    const struct CMUnitTest client[] = {
        OVER("rdma", a_cable_that_was_pulled_is_found_and_outlived),
        OVER("rdma", a_cut_that_only_the_server_sees_is_found_and_outlived),
        OVER("rdma", a_server_finds_a_client_whose_machine_is_frozen),
        OVER("rdma", each_call_over_a_bad_wire_is_good_and_executed_once),
        OVER("tcp", a_cable_that_was_pulled_is_found_and_outlived),
        OVER("tcp", a_cut_that_only_the_server_sees_is_found_and_outlived),
        OVER("tcp", a_server_whose_machine_is_frozen_is_found_and_outlived),
        OVER("tcp", a_server_finds_a_client_whose_machine_is_frozen),
        OVER("tcp", each_call_over_a_bad_wire_is_good_and_executed_once),
        OVER("tcp", calls_go_on_over_tcp_while_rdma_is_blocked_and_come_back),
        cmocka_unit_test(
            each_call_of_a_crowd_over_a_bad_wire_is_good_and_executed_once),
        OVER("rdma", a_removed_device_of_the_server_is_found),
    };
    const struct CMUnitTest killer[] = {
        OVER("tcp", a_server_whose_machine_is_killed_is_found),
    };

    if (argc != 3 || getenv("VC_TEST_PEER") == NULL)
        return fixture_skip_all(sizeof client / sizeof client[0]);
    wire_folder = argv[2];
    fixture_board_make();
    pace_start();
    if (strcmp(argv[1], "serve") == 0)
        return cmocka_run_group_tests(server, NULL, NULL);
    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    if (!is_long())
        return cmocka_run_group_tests(client, client_start, client_end);
    return cmocka_run_group_tests(client, client_start, NULL) +
           cmocka_run_group_tests(killer, NULL, client_end);
}
