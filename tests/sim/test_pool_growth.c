/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When a pool makes another connection to its server, what happens if it
 * cannot, and which calls wait: the rules of gRPC's A105, or what we do in
 * their place (doc/balancing-tests.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/sim/crowd.h"

#define SEEDS 4u
#define SLOTS 256u /* calls of a channel that a server takes at a time */
#define MORE  8u   /* calls that wait for a slot */

static struct crowd crowd;

/* Requests to connect that the client has sent. */
static unsigned asked;

static void
on_ask(void *arg)
{
    (void)arg;
    asked++;
}

static struct vc_counters
counted(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(crowd.runtime, &c);
    return c;
}

static struct vc__pool *
pool_of(struct vc_channel *channel)
{
    return channel->servers.only->pool;
}

static enum vc__pool_health
health(void)
{
    return vc__pool_health(pool_of(crowd.channel));
}

/* The link of the channel's session. */
static struct vc__pool_link *
link_of(struct vc_channel *channel)
{
    struct vc__pool *pool = pool_of(channel);
    struct vc__pool_link *pl;

    vc__lock_take(&pool->lock);
    pl = atomic_load(&channel->servers.only->clients)->session->link;
    vc__lock_give(&pool->lock);
    return pl;
}

/* Advances the client for so long. */
static void
advance(uint64_t us)
{
    uint64_t until = fake_now_us() + us;
    struct vc_completion end;

    while (fake_now_us() < until)
        if (vc_completions_next(crowd.queue, 1, &end) == VC_OK)
            crowd_told(&end);
}

static void
links_await(unsigned n)
{
    uint64_t until = fake_now_us() + 10 * S;

    while (counted().links_up != n) {
        if (fake_now_us() > until)
            fail_msg("%u links and not %u", (unsigned)counted().links_up, n);
        advance(1 * MS);
    }
}

/* The tags of calls in the order in which their handlers run. */
static atomic_uint ran[SLOTS + MORE], n_ran;

static enum vc_status
note(struct sim_server *s, struct vc_call *call,
     const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    unsigned n = atomic_fetch_add(&n_ran, 1);

    (void)call;
    fake_sleep_us(atomic_load(&s->sleep_us));
    if (n < SLOTS + MORE)
        atomic_store(&ran[n], request->tag);
    reply->tag = request->tag;
    return VC_OK;
}

/* A client that is connected to a server, whose handlers take so long. */
static void
begin_slow(uint64_t seed, const struct vc_channel_opts *opts, unsigned work_us)
{
    crowd_open(&crowd, seed, 0, opts);
    atomic_store(&n_ran, 0);
    crowd.server.handle = note;
    atomic_store(&crowd.server.sleep_us, work_us);
    crowd_serve(&crowd);
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
    links_await(opts->min_links > 0 ? opts->min_links : 1);
    asked = 0;
    fake_when("main: REQ", 0, on_ask, NULL);
}

/* A client that is connected to a server, which is frozen then. */
static void
begin(uint64_t seed, const struct vc_channel_opts *opts)
{
    begin_slow(seed, opts, 0);
    fake_process_freeze(crowd.server.process);
}

static void
calls_begin(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_non_null(crowd_call(&crowd, 8));
}

/* The server goes on, and answers all calls. */
static void
all_good(void)
{
    fake_process_thaw(crowd.server.process);
    crowd_await(&crowd, crowd.n);
    assert_int_equal(crowd.n, crowd_count(&crowd, VC_OK));
    for (unsigned i = 0; i < crowd.n; i++)
        assert_int_equal(1, atomic_load(&sim_ran[i]));
}

/* --- when another connection is made --------------------------------------- */

static void
sixteen_calls_in_progress_have_another_connection_made(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, VC_CHANNEL_OPTS(.max_links = 2));
        calls_begin(15);
        advance(50 * MS);
        assert_int_equal(0, asked);
        calls_begin(1);
        advance(50 * MS);
        assert_int_equal(1, asked);
        all_good();
        links_await(2);
        crowd_close(&crowd);
    }
}

/* Each of many calls finds its connection busy. */
static void
connections_are_made_one_at_a_time_up_to_the_limit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, VC_CHANNEL_OPTS(.max_links = 3));
        for (unsigned links = 1; links <= 4; links++) {
            fake_process_freeze(crowd.server.process);
            for (unsigned i = 0; i < 40; i++) {
                calls_begin(1);
                advance(10 * MS);
            }
            assert_int_equal(links < 3 ? links : 2, asked);
            all_good();
            links_await(links < 3 ? links + 1 : 3);
        }
        crowd_close(&crowd);
    }
}

static void
by_default_there_are_four_at_most(void **state)
{
    (void)state;
    begin(1, VC_CHANNEL_OPTS(.max_links = 0));
    for (unsigned i = 0; i < 6; i++) {
        fake_process_freeze(crowd.server.process);
        calls_begin(40);
        advance(100 * MS);
        all_good();
        links_await(i < 3 ? i + 2 : 4);
    }
    crowd_close(&crowd);
}

/* --- another connection that fails ------------------------------------------ */

/* The next n requests to connect fail at once. */
static void
connects_fail(unsigned n)
{
    for (unsigned i = 1; i <= n; i++)
        fake_fail(fake_process_self(), "rdma_resolve_addr", i, ENOMEM);
}

/* Has another connection asked for; the attempt, the nth to fail, does so
 * between these times from the failure before; from 0: from now. */
static void
fails_within(unsigned nth, uint64_t from_ms, uint64_t to_ms)
{
    static uint64_t last;

    if (from_ms == 0)
        last = fake_now_us();
    calls_begin(1);
    while (fake_failed() < nth && fake_now_us() < last + to_ms * MS)
        advance(MS / 2);
    assert_int_equal(nth, fake_failed());
    assert_in_range(fake_now_us() - last, from_ms * MS, to_ms * MS);
    assert_int_equal(VC__POOL_READY, health());
    last = fake_now_us();
}

static void
another_connection_that_fails_harms_no_call_and_waits_for_the_backoff(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, VC_CHANNEL_OPTS(.max_links = 2));
        connects_fail(4);
        calls_begin(15);
        fails_within(1, 0, 2);
        fails_within(2, 39, 63); /* 50 ms, 20 % more or less */
        fails_within(3, 79, 123);
        fails_within(4, 159, 243);
        all_good();
        assert_int_equal(0, counted().links_lost);
        assert_int_equal(1, counted().links_up);
        crowd_close(&crowd);
    }
}

static void
a_connection_that_is_up_ends_the_backoff(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, VC_CHANNEL_OPTS(.max_links = 3));
        connects_fail(2);
        calls_begin(15);
        fails_within(1, 0, 2);
        fails_within(2, 39, 63);
        calls_begin(1);
        all_good();
        links_await(2);
        fake_process_freeze(crowd.server.process);
        connects_fail(2);
        calls_begin(15);
        fails_within(3, 0, 2);
        fails_within(4, 39, 63); /* the shortest again */
        all_good();
        crowd_close(&crowd);
    }
}

/* --- a connection that is lost ----------------------------------------------- */

#define WORK_US (500 * MS)

/* In the backoff of another connection. Calls in progress wait for what takes
 * the place of theirs, so that is made at once. */
static void
when_the_last_connection_is_lost_no_backoff_is_waited_for(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_slow(seed, VC_CHANNEL_OPTS(.max_links = 2), WORK_US);
        connects_fail(3);
        calls_begin(15);
        fails_within(1, 0, 2);
        fails_within(2, 39, 63);
        fails_within(3, 79, 123);
        fake_rule("main qp", 1, FAKE_FLUSH, 0);
        calls_begin(1);
        advance(20 * MS); /* the backoff is 160 ms at least */
        assert_int_equal(1, counted().links_lost);
        assert_int_equal(1, asked);
        all_good();
        crowd_close(&crowd);
    }
}

/* The request to connect is delayed. */
static void
an_attempt_that_is_under_way_takes_the_place_of_the_last_connection(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_slow(seed, VC_CHANNEL_OPTS(.max_links = 2), WORK_US);
        fake_rule("main: REQ", 1, FAKE_DELAY, 200 * MS);
        calls_begin(16);
        advance(20 * MS);
        assert_int_equal(1, asked);
        fake_rule("main qp", 1, FAKE_FLUSH, 0);
        calls_begin(1);
        advance(100 * MS);
        assert_int_equal(1, counted().links_lost);
        assert_int_equal(VC__POOL_CONNECTING, health());
        all_good();
        assert_int_equal(1, asked);
        assert_int_equal(2, counted().links_made);
        crowd_close(&crowd);
    }
}

/* --- another instance --------------------------------------------------------- */

/* The server is killed and started again, and nobody notices: its host is cut
 * off meanwhile. What the client has sent is not sent again. */
static void
server_replace(void)
{
    fake_wire_cut(crowd.there, fake_host_local(), true);
    fake_process_kill(crowd.server.process);
    crowd_serve(&crowd);
    fake_wire_cut(crowd.there, fake_host_local(), false);
}

/* Calls in progress, and sessions, belong to one instance. */
static void
another_connection_never_leads_to_another_instance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, VC_CHANNEL_OPTS(.max_links = 2, .max_attempts = 1,
                                    .keepalive_ms = VC_KEEPALIVE_OFF));
        calls_begin(15);
        advance(10 * MS);
        server_replace();
        calls_begin(1);
        advance(30 * MS);
        assert_int_equal(1, counted().rejects_got);
        assert_int_equal(1, counted().links_made);
        assert_int_equal(0, atomic_load(&crowd.ended));
        crowd_close(&crowd);
    }
}

/* --- what a channel with several servers knows of a pool --------------------- */

/* Makes one call that cannot be sent. */
static void
call_in_vain(void)
{
    calls_begin(1);
    crowd_await(&crowd, crowd.n);
    assert_int_equal(VC_UNAVAILABLE, crowd.calls[crowd.n - 1].status);
}

/* As the sticky TRANSIENT_FAILURE of A62. */
static void
a_server_that_could_not_be_reached_is_failing_until_it_is_connected(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 0, VC_CHANNEL_OPTS(.max_attempts = 1));
        assert_int_equal(VC__POOL_IDLE, health());
        call_in_vain();
        assert_int_equal(VC__POOL_FAILING, health());
        advance(300 * MS); /* the backoff is over */
        assert_int_equal(VC__POOL_FAILING, health());
        crowd_serve(&crowd);
        fake_rule("main: REQ", 1, FAKE_DELAY, 100 * MS);
        calls_begin(1);
        advance(50 * MS); /* it is being connected */
        assert_int_equal(VC__POOL_FAILING, health());
        crowd_await(&crowd, crowd.n);
        assert_int_equal(VC_OK, crowd.calls[1].status);
        assert_int_equal(VC__POOL_READY, health());
        crowd_close(&crowd);
    }
}

static void
a_server_whose_connection_was_lost_is_idle_until_it_is_used(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_slow(seed, VC_CHANNEL_OPTS(.max_links = 2), 0);
        calls_begin(1);
        all_good();
        fake_process_kill(crowd.server.process);
        links_await(0);
        advance(300 * MS);
        assert_int_equal(VC__POOL_IDLE, health());
        assert_int_equal(0, asked);
        crowd_serve(&crowd);
        fake_rule("main: REQ", 1, FAKE_DELAY, 100 * MS);
        calls_begin(1);
        advance(50 * MS);
        assert_int_equal(VC__POOL_CONNECTING, health());
        crowd_await(&crowd, crowd.n);
        assert_int_equal(2, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

/* --- which connection gets a call -------------------------------------------- */

static struct vc_channel *
channel_open(void)
{
    struct vc_channel *channel;

    assert_int_equal(
        VC_OK, vc_channel_open(crowd.runtime, crowd.server.target,
                               VC_CHANNEL_OPTS(.min_links = 2, .max_links = 2),
                               &channel));
    return channel;
}

/* Begins n calls of this channel, and returns their link. */
static struct vc__pool_link *
calls_begin_on(struct vc_channel *channel, unsigned n)
{
    struct vc_channel *first = crowd.channel;

    crowd.channel = channel;
    calls_begin(n);
    crowd.channel = first;
    return link_of(channel);
}

static void
a_channel_calls_by_the_connection_with_the_fewest_calls_in_progress(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel *b, *c, *d;
        struct vc__pool_link *first, *second;

        begin(seed, VC_CHANNEL_OPTS(.min_links = 2, .max_links = 2));
        b = channel_open();
        c = channel_open();
        d = channel_open();
        first = calls_begin_on(crowd.channel, 3);
        second = calls_begin_on(b, 2);
        assert_ptr_not_equal(first, second);
        assert_ptr_equal(second, calls_begin_on(c, 2)); /* 3 and 2 */
        assert_ptr_equal(first, calls_begin_on(d, 1));  /* 3 and 4 */
        all_good();
        vc_channel_close(b);
        vc_channel_close(c);
        vc_channel_close(d);
        crowd_close(&crowd);
    }
}

static void
each_connection_is_described_with_its_calls(void **state)
{
    struct vc_channel *b;
    char text[500];

    (void)state;
    begin(1, VC_CHANNEL_OPTS(.min_links = 2, .max_links = 2));
    b = channel_open();
    calls_begin_on(crowd.channel, 3);
    calls_begin_on(b, 2);
    vc_channel_describe(crowd.channel, text, sizeof text);
    assert_non_null(strstr(text, ": 3 calls under way"));
    assert_non_null(strstr(text, ": 2 calls under way"));
    all_good();
    vc_channel_close(b);
    crowd_close(&crowd);
}

/* --- calls that wait ---------------------------------------------------------- */

static void
begin_with_calls_that_wait(uint64_t seed, uint32_t flags)
{
    begin(seed, VC_CHANNEL_OPTS(.max_links = 2));
    crowd.opts.flags = flags;
    calls_begin(SLOTS);
    assert_int_equal(0, counted().calls_waiting);
    calls_begin(MORE);
    assert_int_equal(MORE, counted().calls_waiting);
}

static void
calls_that_wait_for_a_slot_are_sent_in_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_with_calls_that_wait(seed, 0);
        all_good();
        for (unsigned i = SLOTS; i < SLOTS + MORE; i++)
            assert_int_equal(i, atomic_load(&ran[i]));
        crowd_close(&crowd);
    }
}

static void
calls_that_wait_are_not_executed_when_the_last_connection_is_lost_for_good(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_with_calls_that_wait(seed, VC_CALL_NO_RETRY);
        advance(10 * MS);
        fake_process_kill(crowd.server.process);
        crowd.server.process = NULL;
        crowd_await(&crowd, crowd.n);
        assert_int_equal(VC_OUTCOME_UNKNOWN, crowd.calls[0].outcome);
        assert_int_equal(crowd.n, crowd_count(&crowd, VC_UNAVAILABLE));
        for (unsigned i = SLOTS; i < SLOTS + MORE; i++)
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, crowd.calls[i].outcome);
        crowd_close(&crowd);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(sixteen_calls_in_progress_have_another_connection_made),
        T(connections_are_made_one_at_a_time_up_to_the_limit),
        T(by_default_there_are_four_at_most),
        T(another_connection_that_fails_harms_no_call_and_waits_for_the_backoff),
        T(a_connection_that_is_up_ends_the_backoff),
        T(when_the_last_connection_is_lost_no_backoff_is_waited_for),
        T(an_attempt_that_is_under_way_takes_the_place_of_the_last_connection),
        T(another_connection_never_leads_to_another_instance),
        T(a_server_that_could_not_be_reached_is_failing_until_it_is_connected),
        T(a_server_whose_connection_was_lost_is_idle_until_it_is_used),
        T(a_channel_calls_by_the_connection_with_the_fewest_calls_in_progress),
        T(each_connection_is_described_with_its_calls),
        T(calls_that_wait_for_a_slot_are_sent_in_their_order),
        T(calls_that_wait_are_not_executed_when_the_last_connection_is_lost_for_good),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
