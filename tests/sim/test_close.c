/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel is closed while calls wait on it and while their deadlines pass.
 * Each call ends, and uses no memory that closing has freed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/caller.h"
#include "tests/sim/scene.h"

#define SEEDS    sim_few(300u)
#define CALLERS  3u
#define SLEEP_US 700u   /* of the handlers, which run one by one */
#define LONG     70000u /* bytes of a request whose memory is the runtime's */
#define PATIENCE 60000000u

struct late_caller {
    struct vc_channel *channel;
    size_t size;
    unsigned tag;
    enum vc_status status;
    atomic_bool ended;
};

struct client {
    char target[80];
    uint64_t seed;
    struct late_caller callers[CALLERS];
};

static void *
caller_main(void *arg)
{
    struct late_caller *c = arg;

    /* The deadline passes at about the time of the close. */
    c->status = sim_echo(c->channel, c->size, c->tag, 1, NULL);
    atomic_store(&c->ended, true);
    return NULL;
}

/* True when all calls have begun. Only such calls may meet the close. */
static bool
all_begun(struct client *c)
{
    for (unsigned i = 0; i < CALLERS; i++)
        if (atomic_load(&sim_ran[i]) == 0 && !atomic_load(&c->callers[i].ended))
            return false;
    return true;
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    pthread_t threads[CALLERS];

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, c->target, NULL, &channel),
                     VC_OK);
    assert_int_equal(vc_channel_connect(channel, &suite_probe_service), VC_OK);
    for (unsigned i = 0; i < CALLERS; i++) {
        c->callers[i].channel = channel;
        c->callers[i].size = c->seed % 2 == 0 ? 64 : LONG;
        c->callers[i].tag = i;
        pthread_create(&threads[i], NULL, caller_main, &c->callers[i]);
    }
    while (!all_begun(c))
        fake_sleep_us(5);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
}

static void
a_channel_may_be_closed_while_deadlines_pass(void **state)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server s = {.sleep_us = SLEEP_US};
        struct client c = {.seed = seed};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        sim_target("10.9.0.2", s.target);
        sim_target("10.9.0.2", c.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), CALLERS);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               client_main, &c);
        if (!fake_process_wait(p, PATIENCE))
            fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
        assert_true(sim_server_stop(&s));
        assert_int_equal(fake_end(), 0);
        for (unsigned i = 0; i < CALLERS; i++)
            ends[c.callers[i].status]++;
    }
    print_message("%u good, %u cancelled, %u too late\n", ends[VC_OK],
                  ends[VC_CANCELLED], ends[VC_DEADLINE_EXCEEDED]);
    assert_int_equal(ends[VC_OK] + ends[VC_CANCELLED] +
                         ends[VC_DEADLINE_EXCEEDED],
                     SEEDS * CALLERS);
    assert_true(ends[VC_CANCELLED] > 0 && ends[VC_DEADLINE_EXCEEDED] > 0);
}

/* Another channel keeps the link that both share. The server is frozen, so no
 * packet from it wakes the caller. */
static void
act_stopped(struct scene *s)
{
    struct caller c = {.tag = 2, .size = 64};
    uint64_t closed;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &c.channel),
        VC_OK);
    scene_call(s, 64, 0);
    assert_int_equal(sim_echo(c.channel, 64, 1, 0, NULL), VC_OK);
    assert_int_equal(scene_client(s).links_up, 1);
    fake_process_freeze(s->server.process);
    caller_begin(&c);
    fake_sleep_us(1000);
    closed = fake_now_us();
    vc_channel_close(c.channel);
    caller_join(&c);
    assert_int_equal(c.status, VC_CANCELLED);
    assert_int_equal(c.outcome, VC_OUTCOME_UNKNOWN);
    assert_in_range(c.ended_at - closed, 0, 100);
    fake_process_thaw(s->server.process);
}

static void
a_caller_that_sleeps_is_woken_when_its_channel_is_closed(void **state)
{
    (void)state;
    scene_play(act_stopped, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_may_be_closed_while_deadlines_pass),
        cmocka_unit_test(
            a_caller_that_sleeps_is_woken_when_its_channel_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
