/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * vc:// between two hosts on two networks, with random faults. Either network
 * is lost, for a while or permanently; QPs break, packets are lost, calls and
 * allocations fail; the server is killed and started again, or is frozen. Each
 * call and each stream ends once, in time and with a true outcome. After the
 * faults have ended calls succeed again, over the best transport that works.
 * One seed alone, with its trace: test_transports_random SEED; others than the
 * first: SEED COUNT. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>
#include <verbcall/stream.h>

#include "tests/sim/mischief.h"
#include "tests/sim/networks.h"
#include "tests/sim/second.h"

#define SEEDS    sim_share(100u)
#define LONGER   5u /* factor for a long test */
#define CALLERS  3u
#define TALKERS  2u
#define CALLS    4096u          /* of a world, at most */
#define TAIL     3u             /* calls at the end; all must succeed */
#define MS       UINT64_C(1000) /* us */
#define S        (1000 * MS)
#define STORM_US (3 * S)
#define LOST_US  (4 * S) /* at most, unless permanent */
#define STILL_US (1500 * MS)
#define GRACE_US (100 * MS) /* after a deadline */

/* Limits from the end of the faults: until a call succeeds, and until calls use
 * the best transport. A stream may hold the other transport until the next
 * check. */
#define GOOD_US (10 * S)
#define BEST_US (14 * S)

static uint64_t only; /* this seed */
static uint64_t first = 1, count;
static const char *program;
static uint64_t running;

/* Sums of all worlds. */
static unsigned good, bad, streams_good, streams_bad;
static uint64_t upgrades, by_rdma, by_second;

/* How a call ended. */
struct ending {
    atomic_uint ends; /* how often */
    enum vc_status status;
    enum vc_outcome outcome;
    bool late;
};

struct caller {
    struct world *world;
    struct dice dice;
    pthread_t thread;
    uint64_t good_us; /* from the healing to a good call; 0: none */
    unsigned bad;     /* failures after the first good call */
};

struct talker {
    struct world *world;
    struct dice dice;
    pthread_t thread;
    unsigned good, bad;
    const char *wrong;
};

struct world {
    struct networks networks;
    struct dice dice;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    uint64_t lost_until[2]; /* of a network; 0: it is not lost */
    bool removed[2];        /* a device of it, permanently */
    uint64_t still_until;   /* of the frozen server; 0: it runs */
    uint64_t killed_until;  /* of the killed server; 0: it runs */
    atomic_bool healed, over;
    atomic_uint n_good; /* callers with a good call since the healing */
    uint64_t healed_us;
    struct caller callers[CALLERS];
    struct talker talkers[TALKERS];
    atomic_uint next_tag;
    struct ending endings[CALLS];
};

/* --- callers ----------------------------------------------------------------- */

static enum vc_status
call_once(struct caller *c, uint32_t timeout_ms)
{
    static const size_t sizes[] = {0, 64, 300, 8200, 40000};
    struct world *w = c->world;
    unsigned tag = atomic_fetch_add(&w->next_tag, 1);
    uint64_t due = fake_now_us() + timeout_ms * MS + GRACE_US;
    struct ending *e;

    if (tag >= CALLS)
        fail_msg("seed %llu: too many calls", (unsigned long long)running);
    e = &w->endings[tag];
    e->status = sim_echo(w->channel, sizes[roll(&c->dice, 5)], tag, timeout_ms,
                         &e->outcome);
    e->late = fake_now_us() > due;
    atomic_fetch_add(&e->ends, 1);
    return e->status;
}

static void
calls_in_storm(struct caller *c)
{
    static const uint32_t timeouts[] = {5, 50, 1500, 10000, 10000, 10000};

    while (!atomic_load(&c->world->healed)) {
        call_once(c, timeouts[roll(&c->dice, 6)]);
        fake_sleep_us(roll(&c->dice, 60 * MS));
    }
}

/* After the first good call all calls must succeed. */
static void
calls_in_calm(struct caller *c)
{
    while (!atomic_load(&c->world->over)) {
        enum vc_status status = call_once(c, 10000);

        if (status != VC_OK) {
            c->bad += c->good_us != 0;
        } else if (c->good_us == 0) {
            c->good_us = fake_now_us() - c->world->healed_us;
            atomic_fetch_add(&c->world->n_good, 1);
        }
        fake_sleep_us(100 * MS + roll(&c->dice, 100 * MS));
    }
    for (unsigned i = 0; i < TAIL; i++)
        c->bad += call_once(c, 10000) != VC_OK;
}

static void *
caller_main(void *arg)
{
    calls_in_storm(arg);
    calls_in_calm(arg);
    return NULL;
}

/* --- streams ----------------------------------------------------------------- */

static enum vc_status
talk(struct talker *t, struct suite_streams_talk_client_stream *stream)
{
    unsigned n = (unsigned)roll(&t->dice, 6);
    enum vc_status status = VC_OK;

    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        Suite__EchoReply *reply = NULL;

        request.tag = 10 + i;
        status = suite_streams_talk_send(stream, &request);
        if (status == VC_OK)
            status = suite_streams_talk_receive(stream, &reply);
        if (status == VC_OK && (reply == NULL || reply->tag != 10 + i))
            t->wrong = "a message of a stream is not its own";
        vc_message_free(reply);
        fake_sleep_us(roll(&t->dice, 20 * MS));
    }
    return status == VC_OK ? suite_streams_talk_finish(stream) : status;
}

static void
talk_once(struct talker *t)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct suite_streams_talk_client_stream *stream = NULL;
    uint64_t began = fake_now_us();
    enum vc_status status;

    opts.timeout_ms = roll(&t->dice, 2) == 0 ? 200 : 3000;
    status = suite_streams_talk(t->world->channel, &opts, &stream);
    if (status == VC_OK)
        status = talk(t, stream);
    if (fake_now_us() > began + opts.timeout_ms * MS + GRACE_US)
        t->wrong = "a stream ended late";
    if (status != VC_OK && status != VC_UNAVAILABLE &&
        status != VC_DEADLINE_EXCEEDED && status != VC_RESOURCE_EXHAUSTED)
        t->wrong = vc_status_name(status);
    suite_streams_talk_close(stream);
    if (status == VC_OK)
        t->good++;
    else
        t->bad++;
}

static void *
talker_main(void *arg)
{
    struct talker *t = arg;

    while (!atomic_load(&t->world->over)) {
        talk_once(t);
        fake_sleep_us(100 * MS + roll(&t->dice, 200 * MS));
    }
    return NULL;
}

static void
threads_start(struct world *w)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        struct caller *c = &w->callers[i];

        *c = (struct caller){.world = w, .dice = {roll(&w->dice, UINT64_MAX)}};
        assert_int_equal(0, pthread_create(&c->thread, NULL, caller_main, c));
    }
    for (unsigned i = 0; i < TALKERS; i++) {
        struct talker *t = &w->talkers[i];

        *t = (struct talker){.world = w, .dice = {roll(&w->dice, UINT64_MAX)}};
        assert_int_equal(0, pthread_create(&t->thread, NULL, talker_main, t));
    }
}

static void
threads_join(struct world *w)
{
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(w->callers[i].thread, NULL);
    for (unsigned i = 0; i < TALKERS; i++)
        pthread_join(w->talkers[i].thread, NULL);
}

/* --- faults --------------------------------------------------------------- */

/* At most one network is lost permanently. The server keeps its device of the
 * second network, which it needs if it is started again: at vc:// it listens
 * nowhere if TCP cannot listen. */
static void
lose_for_ever(struct world *w, unsigned network)
{
    if (w->removed[!network])
        return;
    w->removed[network] = true;
    networks_lose(&w->networks, network,
                  network == FIRST && roll(&w->dice, 2) == 0
                      ? LOSS_REMOVE_THERE
                      : LOSS_REMOVE_HERE);
}

static void
mischief_network(struct world *w)
{
    unsigned network = roll(&w->dice, 3) == 0 ? SECOND : FIRST;

    if (roll(&w->dice, 16) == 0)
        lose_for_ever(w, network);
    if (w->lost_until[network] != 0)
        return;
    w->lost_until[network] = fake_now_us() + 1 + roll(&w->dice, LOST_US);
    networks_lose(&w->networks, network,
                  (enum networks_loss)roll(&w->dice, LOSS_PORT_THERE + 1));
}

static void
mischief_packets(struct world *w)
{
    static const char *const lines[] = {"main qp", "server qp", "SEND",
                                        "completion", " -> "};
    static const enum fake_deed deeds[] = {FAKE_FLUSH, FAKE_FLUSH, FAKE_LOSE,
                                           FAKE_DELAY};

    fake_rule(lines[roll(&w->dice, 5)], 1 + (unsigned)roll(&w->dice, 30),
              deeds[roll(&w->dice, 4)], roll(&w->dice, 20 * MS));
}

static void
mischief_server(struct world *w)
{
    struct fake_process *p = w->networks.server.process;

    if (w->killed_until != 0 || w->still_until != 0)
        return;
    if (roll(&w->dice, 2) == 0) {
        fake_process_kill(p);
        w->killed_until = fake_now_us() + 1 + roll(&w->dice, S / 2);
    } else {
        fake_process_freeze(p);
        w->still_until = fake_now_us() + 1 + roll(&w->dice, STILL_US);
    }
}

static void
mischief_calls(struct world *w)
{
    struct fake_process *p = roll(&w->dice, 2) == 0
                                 ? fake_process_self()
                                 : w->networks.server.process;

    if (roll(&w->dice, 2) == 0)
        fake_fail_memory(p, 1 + (unsigned)roll(&w->dice, 20));
    else
        fake_fail(p, "*", 1 + (unsigned)roll(&w->dice, 60), ENOMEM);
}

static void
mischief_at_transports(struct world *w)
{
    switch (roll(&w->dice, 8)) {
    case 0:
        mischief_server(w);
        break;
    case 1:
        mischief_packets(w);
        break;
    case 2:
        mischief_calls(w);
        break;
    default:
        mischief_network(w);
        break;
    }
}

static bool
is_due(uint64_t *until, uint64_t now)
{
    bool due = *until != 0 && *until <= now;

    if (due)
        *until = 0;
    return due;
}

/* Ends the faults that are due to end by now. */
static void
ends(struct world *w, uint64_t now)
{
    struct sim_server *s = &w->networks.server;

    for (unsigned network = FIRST; network <= SECOND; network++) {
        if (is_due(&w->lost_until[network], now))
            networks_heal(&w->networks, network);
    }
    if (is_due(&w->still_until, now))
        fake_process_thaw(s->process);
    /* The server may also have failed to start. */
    if (is_due(&w->killed_until, now) ||
        (w->killed_until == 0 && fake_process_ended(s->process)))
        sim_server_start(s, w->networks.there[FIRST], 1);
}

/* True if the server does not listen by RDMA. If calls failed while it started,
 * this may last as long as the server. */
static bool
server_misses(const struct world *w)
{
    char text[1000];

    vc_server_describe(w->networks.server.server, text, sizeof text);
    return strstr(text, "not rdma") != NULL;
}

static void
heal(struct world *w)
{
    struct sim_server *s = &w->networks.server;

    fake_fail_no_more();
    fake_no_rules();
    ends(w, UINT64_MAX);
    if (sim_server_await(s) && server_misses(w)) {
        fake_process_kill(s->process);
        sim_server_start(s, w->networks.there[FIRST], 1);
    }
    w->healed_us = fake_now_us();
    atomic_store(&w->healed, true);
}

static void
storm(struct world *w)
{
    uint64_t until = fake_now_us() + STORM_US;
    unsigned pranks = 1 + (unsigned)roll(&w->dice, 12);

    while (fake_now_us() < until) {
        fake_sleep_us(roll(&w->dice, 2 * STORM_US / pranks));
        ends(w, fake_now_us());
        mischief_at_transports(w);
    }
    heal(w);
}

/* --- checks --------------------------------------------------------------- */

static const char *
best_await(struct world *w)
{
    const char *best = w->removed[FIRST] ? "tcp" : "rdma";

    if (!sim_server_await(&w->networks.server))
        return "the server does not come back";
    while (!networks_only(w->channel, best) ||
           atomic_load(&w->n_good) < CALLERS) {
        if (fake_now_us() > w->healed_us + BEST_US)
            return atomic_load(&w->n_good) < CALLERS
                       ? "no call succeeds"
                       : "calls are not by the best transport";
        fake_sleep_us(50 * MS);
    }
    return NULL;
}

static const char *
caller_check(const struct caller *c)
{
    if (c->good_us == 0 || c->good_us > GOOD_US)
        return "a call succeeded late";
    return c->bad > 0 ? "a call failed behind one that was good" : NULL;
}

static const char *
ending_check(const struct ending *e, unsigned ran)
{
    if (atomic_load(&e->ends) != 1)
        return "a call did not end once";
    if (e->late)
        return "a call ended late";
    if (e->status == VC_DATA_LOSS)
        return "a call had a wrong reply";
    if (e->status == VC_OK && ran != 1)
        return "a call is good and did not run once";
    if (e->outcome == VC_OUTCOME_NOT_EXECUTED && ran != 0)
        return "a call ran, and is said not to have";
    return ran > 1 ? "a call ran twice" : NULL;
}

static const char *
endings_check(const struct world *w)
{
    const char *wrong = NULL;

    for (unsigned i = 0; i < atomic_load(&w->next_tag) && wrong == NULL; i++) {
        const struct ending *e = &w->endings[i];

        wrong = ending_check(e, atomic_load(&sim_ran[i]));
        good += e->status == VC_OK;
        bad += e->status != VC_OK;
    }
    for (unsigned i = 0; i < CALLERS && wrong == NULL; i++)
        wrong = caller_check(&w->callers[i]);
    for (unsigned i = 0; i < TALKERS; i++) {
        streams_good += w->talkers[i].good;
        streams_bad += w->talkers[i].bad;
        if (wrong == NULL)
            wrong = w->talkers[i].wrong;
    }
    return wrong;
}

static const char *
counters_check(struct world *w)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(w->runtime, &c);
    upgrades += c.upgrades;
    by_rdma += c.links_made_rdma;
    by_second += c.links_made_tcp;
    return sim_counters_fault(&c);
}

/* --- a world ----------------------------------------------------------------- */

static void
world_open(struct world *w)
{
    struct vc_channel_opts opts = networks_opts();

    networks_make(&w->networks, fake_host_local(), "10.9.1.1");
    w->networks.server.sleep_us = (unsigned)roll(&w->dice, 3) * 700;
    if (roll(&w->dice, 2) == 0)
        w->networks.server.long_us = (unsigned)roll(&w->dice, S);
    networks_serve(&w->networks, 1 + (unsigned)roll(&w->dice, 2));
    opts.max_links = 1 + (unsigned)roll(&w->dice, 3);
    opts.keepalive_ms = roll(&w->dice, 2) == 0 ? 300 : 0;
    assert_int_equal(VC_OK, sim_runtime(&w->runtime, 1));
    if (roll(&w->dice, 2) == 0)
        assert_int_equal(VC_OK, vc_runtime_start(w->runtime));
    assert_int_equal(VC_OK, vc_channel_open(w->runtime, NETWORKS_TARGET, &opts,
                                            &w->channel));
}

static const char *
world_live(struct world *w)
{
    const char *wrong, *other;

    world_open(w);
    threads_start(w);
    storm(w);
    wrong = best_await(w);
    atomic_store(&w->over, true);
    threads_join(w);
    vc_channel_close(w->channel);
    other = counters_check(w);
    vc_runtime_free(w->runtime);
    if (!sim_server_stop(&w->networks.server))
        return "the server does not end";
    if (wrong == NULL)
        wrong = other;
    return wrong != NULL ? wrong : endings_check(w);
}

static void
world_run(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    const char *wrong;
    unsigned left;

    assert_non_null(w);
    running = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 16) * 4, only != 0);
    w->dice.state = seed;
    wrong = world_live(w);
    if (only != 0)
        fputs(fake_trace(), stdout);
    left = fake_end();
    free(w);
    if (wrong == NULL && left > 0)
        wrong = "something is left";
    if (wrong != NULL)
        fail_msg("seed %llu: %s; again, with its trace: %s %llu",
                 (unsigned long long)seed, wrong, program,
                 (unsigned long long)seed);
}

static void
whatever_happens_to_two_networks_calls_end_once_and_come_back(void **state)
{
    unsigned long packets = second_packets();

    (void)state;
    if (only != 0) {
        world_run(only);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        world_run(first + i);
    print_message("%u calls good, %u not; %u streams good, %u not; %llu links "
                  "by RDMA, %llu by the second transport, %llu upgrades\n",
                  good, bad, streams_good, streams_bad,
                  (unsigned long long)by_rdma, (unsigned long long)by_second,
                  (unsigned long long)upgrades);
    /* Some calls and streams must fail, but not most; and both transports must
     * be used. */
    assert_in_range(bad, good / 50, good);
    assert_in_range(streams_bad, streams_good / 50, streams_good);
    assert_in_range(upgrades, count / 8, UINT64_MAX);
    assert_in_range(second_packets() - packets, good / 10, UINT64_MAX);
}

static void
on_signal(int number)
{
    char text[300];
    int len = snprintf(text, sizeof text, "again, with its trace: %s %llu\n",
                       program, (unsigned long long)running);

    if (write(2, text, (size_t)len) == len)
        signal(number, SIG_DFL);
    raise(number);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            whatever_happens_to_two_networks_calls_end_once_and_come_back),
    };

    program = argv[0];
    count = sim_many(SEEDS);
    if (count > SEEDS)
        count *= LONGER;
    if (argc == 2)
        only = strtoull(argv[1], NULL, 0);
    if (argc == 3) {
        first = strtoull(argv[1], NULL, 0);
        count = strtoull(argv[2], NULL, 0);
    }
    signal(SIGABRT, on_signal);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
