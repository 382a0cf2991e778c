/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that is overloaded at random: by bursts, by handlers that are slow
 * or block, or while it is frozen. Each call ends once and in time, with a true
 * outcome. When the overload is over, all calls are served. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/crowd.h"

#define WORLDS      100u
#define WORLDS_LONG 10000u
#define CALLS       150u
#define PHASES      6u
#define AFTER       5u /* calls after the overload */
#define QUIET_MS    1200u
#define KEEP_MS     2000u /* longer than any freeze of the server */
/* How late a call may end. An engine reads the clock after 64 polls, which take
 * long where threads switch at each call. */
#define GRACE          (5 * MS)
#define GRACE_SWITCHES (100 * MS)
#define BURST_MAX      60u

static struct crowd crowd;
static struct {
    uint64_t started, ended;
    uint32_t timeout_ms;
} asked[CALLS + AFTER];
static atomic_uint run_us, block_us; /* of the handlers now */
/* The server's processor, which its handlers use in turn. A handler that used
 * the world's own one would keep it from the client, too, which is another
 * machine. */
static pthread_mutex_t processor = PTHREAD_MUTEX_INITIALIZER;

static uint64_t chance_state, grace;

/* Returns 0..n-1. Only for the test's own thread. */
static unsigned
chance(unsigned n)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + 1;
    return (unsigned)((chance_state >> 33) % n);
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    unsigned us = atomic_load(&block_us);

    (void)s;
    (void)call;
    pthread_mutex_lock(&processor);
    fake_sleep_us(atomic_load(&run_us));
    pthread_mutex_unlock(&processor);
    if (us > 0)
        fake_sleep_us(us);
    reply->tag = request->tag;
    return VC_OK;
}

static void
at_end(struct crowd_call *c)
{
    asked[c->tag].ended = fake_now_us();
}

static void
call_one(uint32_t timeout_ms)
{
    if (crowd.n >= CALLS + AFTER)
        return;
    crowd.opts.timeout_ms = timeout_ms;
    crowd.opts.priority = chance(3);
    crowd.opts.flags = chance(2) ? VC_CALL_NO_RETRY : 0;
    asked[crowd.n].started = fake_now_us();
    asked[crowd.n].timeout_ms = timeout_ms;
    assert_non_null(crowd_call(&crowd, 8));
}

static void
phase(void)
{
    static const uint32_t timeouts[] = {2, 10, 50, 200};
    unsigned n = 1 + chance(BURST_MAX), apart_us = chance(2) ? 0 : chance(2000);

    atomic_store(&run_us, 10 + chance(chance(4) == 0 ? 3000 : 300));
    atomic_store(&block_us, chance(4) == 0 ? chance(5000) : 0);
    if (chance(4) == 0) {
        fake_process_freeze(crowd.server.process);
        fake_sleep_us(chance(100000));
        fake_process_thaw(crowd.server.process);
    }
    for (unsigned i = 0; i < n && crowd.n < CALLS; i++) {
        call_one(timeouts[chance(4)]);
        if (apart_us > 0)
            fake_sleep_us(apart_us);
    }
    fake_sleep_us(chance(20000));
}

static void
check(unsigned i)
{
    const struct crowd_call *c = &crowd.calls[i];

    crowd_check_runs(c, 1);
    if (c->status != VC_OK && c->status != VC_DEADLINE_EXCEEDED &&
        c->status != VC_RESOURCE_EXHAUSTED)
        fail_msg("call %u: %s: %s", i, vc_status_name(c->status), c->text);
    if (asked[i].ended > asked[i].started + asked[i].timeout_ms * MS + grace)
        fail_msg("call %u has taken %llu us, not %u ms: %s", i,
                 (unsigned long long)(asked[i].ended - asked[i].started),
                 asked[i].timeout_ms, c->text);
}

static void
world(uint64_t seed, unsigned ends[VC_UNAUTHENTICATED + 1])
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    unsigned switch_every;

    chance_state = seed;
    opts.keepalive_ms = KEEP_MS;
    switch_every = chance(4) == 0 ? 1 + chance(8) : 0;
    grace = switch_every > 0 ? GRACE_SWITCHES : GRACE;
    crowd_open(&crowd, seed, switch_every, &opts);
    /* A library thread reports the ends as soon as they occur. */
    assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
    crowd.at_end = at_end;
    crowd.server.handle = handle;
    crowd_serve(&crowd);
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
    for (unsigned i = 0; i < PHASES; i++)
        phase();
    crowd_await(&crowd, crowd.n);
    atomic_store(&run_us, 10);
    atomic_store(&block_us, 0);
    fake_sleep_us(QUIET_MS * MS);
    for (unsigned i = 0; i < AFTER; i++) {
        unsigned n = crowd.n;

        call_one(200);
        crowd_await(&crowd, n + 1);
        if (crowd.calls[n].status != VC_OK)
            fail_msg("when it is over: %s", crowd.calls[n].text);
    }
    crowd_close(&crowd);
    for (unsigned i = 0; i < crowd.n; i++) {
        check(i);
        ends[crowd.calls[i].status]++;
    }
}

static void
whatever_comes_each_call_ends_once_and_truly(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};
    uint64_t worlds = sim_share(sim_many(1) > 1 ? WORLDS_LONG : WORLDS);

    (void)state;
    for (uint64_t seed = 1; seed <= worlds; seed++)
        world(seed, ends);
    print_message("%u good, %u expired, %u shed\n", ends[VC_OK],
                  ends[VC_DEADLINE_EXCEEDED], ends[VC_RESOURCE_EXHAUSTED]);
    assert_true(ends[VC_OK] > worlds * AFTER);
    assert_true(ends[VC_DEADLINE_EXCEEDED] > worlds);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_comes_each_call_ends_once_and_truly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
