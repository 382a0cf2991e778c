/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asynchronous calls of all kinds in worlds with random faults. The end of each
 * call is reported once and in time, and the call runs no more often than
 * allowed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/crowd.h"
#include "tests/sim/loop.h"

#define WORLDS      300u
#define WORLDS_LONG 10000u
#define CALLS       60u
#define LONG        40000u
/* An engine reads the clock after 64 polls. These take long where threads
 * switch at each call. */
#define GRACE    (100 * MS)
#define KEEP_MS  300u /* short, so that silence is detected soon */
#define ATTEMPTS 3u

static struct crowd crowd;
/* Methods of three kinds. Calls of the third may have hedges. */
static struct vc_service services[3];
static struct vc_method methods[3][16];

/* The options of each call, and when it ended. */
static struct {
    unsigned kind;
    bool hedged;
    bool queued;
    bool frees; /* frees its handle at once */
    uint64_t started;
    uint64_t ended;
    uint32_t timeout_ms;
} asked[CALLS];

static uint64_t chance_state;
static pthread_mutex_t chance_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns 0..n-1. */
static unsigned
chance(unsigned n)
{
    uint64_t z;

    pthread_mutex_lock(&chance_lock);
    z = chance_state = chance_state * UINT64_C(6364136223846793005) + 1;
    pthread_mutex_unlock(&chance_lock);
    return (unsigned)((z >> 33) % n);
}

static void
note_end(struct crowd_call *c)
{
    asked[c->tag].ended = fake_now_us();
    if (chance(8) == 0 && !asked[c->tag].frees)
        vc_async_cancel(c->handle);
}

static void
call_any(unsigned i)
{
    static const uint32_t timeouts[] = {0, 2, 20, 500, VC_NO_DEADLINE};
    static const uint32_t flags[] = {0, 0, VC_CALL_WAIT_FOR_READY,
                                     VC_CALL_NO_RETRY};
    struct crowd_call *c;

    asked[i].kind = chance(3);
    asked[i].hedged = asked[i].kind == 2 && chance(2);
    asked[i].frees = chance(3) == 0;
    asked[i].started = fake_now_us();
    asked[i].timeout_ms = timeouts[chance(5)];
    crowd.service = &services[asked[i].kind];
    crowd.opts.hedge_ms = asked[i].hedged ? 1 + chance(10) : 0;
    crowd.opts.timeout_ms = asked[i].timeout_ms;
    crowd.opts.flags = flags[chance(4)];
    asked[i].queued = chance(2);
    c = (asked[i].queued ? crowd_call_queued
                         : crowd_call)(&crowd, chance(8) ? 64 : LONG);
    assert_non_null(c);
    if (chance(6) == 0)
        vc_async_cancel(c->handle);
    if (asked[i].frees) {
        vc_async_free(c->handle);
        c->handle = NULL;
    }
}

static void *
starter_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < CALLS; i++) {
        call_any(i);
        if (chance(4) == 0)
            fake_sleep_us(chance(5000));
    }
    return NULL;
}

/* --- faults ------------------------------------------------------------ */

/* Of one direction; packets may arrive twice up to the end of the world. */
static void
strike_path(struct fake_host *from, struct fake_host *to)
{
    switch (chance(3)) {
    case 0:
        fake_path_cut(from, to, true);
        fake_sleep_us(chance(600000));
        fake_path_cut(from, to, false);
        break;
    case 1:
        fake_path_clog(from, to, true);
        fake_sleep_us(chance(600000));
        fake_path_clog(from, to, false);
        break;
    default:
        fake_path_duplicate(from, to, 1 + chance(4));
        break;
    }
}

static void
strike(void)
{
    switch (chance(9)) {
    case 0:
        fake_process_kill(crowd.server.process);
        fake_sleep_us(chance(400000));
        crowd_serve(&crowd);
        break;
    case 1:
        fake_process_freeze(crowd.server.process);
        fake_sleep_us(chance(600000));
        fake_process_thaw(crowd.server.process);
        break;
    case 2:
        fake_port_set(crowd.there, false);
        fake_sleep_us(chance(600000));
        fake_port_set(crowd.there, true);
        break;
    case 3:
        fake_wire_cut(crowd.there, fake_host_local(), true);
        fake_sleep_us(chance(600000));
        fake_wire_cut(crowd.there, fake_host_local(), false);
        break;
    case 4:
        fake_rule("main qp", 1 + chance(20), FAKE_FLUSH, 0);
        break;
    case 5:
        fake_rule("server qp", 1 + chance(20), FAKE_FLUSH, 0);
        break;
    default:
        if (chance(2))
            strike_path(crowd.there, fake_host_local());
        else
            strike_path(fake_host_local(), crowd.there);
        break;
    }
}

static void *
blows_main(void *arg)
{
    (void)arg;
    for (unsigned n = chance(3); n > 0; n--) {
        fake_sleep_us(chance(40000));
        strike();
    }
    return NULL;
}

/* --- the worlds -------------------------------------------------------- */

/* Ends are not timed if the channel is closed early, because no thread advances
 * the engine all the time then. Nor are ends in the queue, which is read
 * late. */
static bool was_closed;

static void
check(unsigned i)
{
    const struct crowd_call *c = &crowd.calls[i];

    crowd_check_runs(c, asked[i].kind > 0 ? ATTEMPTS + asked[i].hedged : 1u);
    if (!was_closed && !asked[i].queued && asked[i].timeout_ms != 0 &&
        asked[i].timeout_ms != VC_NO_DEADLINE &&
        asked[i].ended - asked[i].started > asked[i].timeout_ms * MS + GRACE)
        fail_msg("call %u has taken %llu us, not %u ms: %s %s", i,
                 (unsigned long long)(asked[i].ended - asked[i].started),
                 asked[i].timeout_ms, vc_status_name(c->status), c->text);
}

static void
world(uint64_t seed, unsigned ends[VC_UNAUTHENTICATED + 1])
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    static struct loop loop;
    bool in_a_loop = false;
    pthread_t starter, blows;
    unsigned sleep_us;

    chance_state = seed;
    opts.keepalive_ms = KEEP_MS;
    opts.max_attempts = ATTEMPTS;
    opts.retry_backoff_ms = 1 + chance(100);
    opts.connect_timeout_ms = 500;
    sleep_us = chance(3000);
    crowd_open(&crowd, seed, 1 + chance(4), &opts);
    crowd.server.sleep_us = sleep_us;
    crowd.at_end = note_end;
    crowd_serve(&crowd);
    if (chance(2))
        assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
    else if ((in_a_loop = chance(2)))
        loop_start(&loop, crowd.runtime);
    pthread_create(&starter, NULL, starter_main, NULL);
    pthread_create(&blows, NULL, blows_main, NULL);
    was_closed = chance(3) == 0;
    if (was_closed) {
        /* Closes the channel while the last calls are under way. */
        pthread_join(starter, NULL);
        crowd_await(&crowd, chance(CALLS));
        crowd_close_channel(&crowd);
    } else {
        crowd_await(&crowd, CALLS);
        pthread_join(starter, NULL);
    }
    pthread_join(blows, NULL);
    fake_no_rules();
    if (in_a_loop)
        loop_stop(&loop);
    crowd_close(&crowd);
    for (unsigned i = 0; i < CALLS; i++) {
        check(i);
        ends[crowd.calls[i].status]++;
    }
}

static void
whatever_happens_each_call_ends_once_and_in_time(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};
    uint64_t worlds = sim_many(1) > 1 ? WORLDS_LONG : sim_share(WORLDS);

    (void)state;
    for (uint64_t seed = 1; seed <= worlds; seed++)
        world(seed, ends);
    for (unsigned i = 0; i <= VC_UNAUTHENTICATED; i++) {
        if (ends[i] > 0)
            print_message("%s %u\n", vc_status_name((enum vc_status)i),
                          ends[i]);
    }
    assert_true(ends[VC_OK] > worlds * CALLS / 3);
    assert_int_equal(worlds * CALLS, ends[VC_OK] + ends[VC_CANCELLED] +
                                         ends[VC_UNAVAILABLE] +
                                         ends[VC_DEADLINE_EXCEEDED] +
                                         ends[VC_RESOURCE_EXHAUSTED]);
    /* Calls that waited while the server was frozen are shed. */
    assert_in_range(ends[VC_RESOURCE_EXHAUSTED], 0, worlds * CALLS / 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_each_call_ends_once_and_in_time),
    };

    sim_service(&services[0], methods[0], 0);
    sim_service(&services[1], methods[1], VC_METHOD_IDEMPOTENT);
    sim_service(&services[2], methods[2], VC_METHOD_NO_SIDE_EFFECTS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
