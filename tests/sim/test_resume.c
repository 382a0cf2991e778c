/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links are lost, and calls are not: what was under way goes on by another
 * link, runs once, and is answered once. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define CHANNELS 3u
#define CALLERS  48u
#define PATIENCE 120000000u /* us */
#define MS       1000u

/* --- a client of one server --------------------------------------------- */

struct rig {
    struct sim_server server;
    struct fake_host *there;
    struct vc_runtime *runtime;
    struct vc_channel *channels[CHANNELS];
    struct vc_channel_opts opts;
    uint64_t dice;
    uint64_t seed;
    atomic_uint next_tag, good, others;
};

struct caller {
    struct rig *rig;
    struct vc_channel *channel;
    pthread_t thread;
    unsigned calls, done;
    uint64_t dice;
    unsigned timeout_ms;
    size_t size; /* 0: of some size */
    unsigned tag;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[200];
};

static uint64_t
roll(uint64_t *d, uint64_t n)
{
    uint64_t z = *d += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static void
rig_serve(struct rig *r)
{
    sim_server_start(&r->server, r->there, 2);
    assert_true(sim_server_await(&r->server));
}

static void
rig_open(struct rig *r)
{
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(vc_channel_open(r->runtime, r->server.target, &r->opts,
                                         &r->channels[i]),
                         VC_OK);
}

static void
rig_begin(struct rig *r, uint64_t seed, unsigned sleep_us, unsigned links)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(r, 0, sizeof *r);
    r->seed = r->dice = seed;
    r->opts = opts;
    r->opts.min_links = r->opts.max_links = links;
    r->server.sleep_us = sleep_us;
    sim_begin(seed, 1 + (unsigned)(seed % 7) * 3, getenv("TRACE") != NULL);
    r->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", r->server.target);
    rig_serve(r);
    rig_open(r);
}

static void
rig_end(struct rig *r)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(r->channels[i]);
    vc_runtime_free(r->runtime);
    fake_fail_no_more();
    fake_no_rules();
    assert_true(sim_server_stop(&r->server));
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(fake_end(), 0);
}

/* --- callers ------------------------------------------------------------ */

static size_t
some_size(uint64_t *d)
{
    static const size_t sizes[] = {0, 64, 300, 4000, 8100, 8200, 40000, 100000};

    return sizes[roll(d, sizeof sizes / sizeof sizes[0])];
}

static void
call_once(struct caller *c)
{
    struct rig *r = c->rig;
    size_t size = c->size != 0 ? c->size : some_size(&c->dice);

    c->tag = atomic_fetch_add(&r->next_tag, 1);
    c->status = sim_echo(c->channel, size, c->tag, c->timeout_ms, &c->outcome);
    if (c->status != VC_OK)
        snprintf(c->text, sizeof c->text, "%s", vc_error());
    atomic_fetch_add(c->status == VC_OK ? &r->good : &r->others, 1);
    if (c->status == VC_OK)
        assert_int_equal(atomic_load(&sim_ran[c->tag]), 1);
    if (c->outcome == VC_OUTCOME_NOT_EXECUTED)
        assert_int_equal(atomic_load(&sim_ran[c->tag]), 0);
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (; c->done < c->calls; c->done++)
        call_once(c);
    return NULL;
}

static void
caller_start(struct caller *c, struct rig *r, unsigned channel, unsigned calls,
             size_t size)
{
    *c = (struct caller){.rig = r,
                         .channel = r->channels[channel],
                         .calls = calls,
                         .dice = roll(&r->dice, UINT64_MAX),
                         .timeout_ms = 60000,
                         .size = size};
    pthread_create(&c->thread, NULL, caller_main, c);
}

static unsigned
ended(const struct rig *r)
{
    return atomic_load(&r->good) + atomic_load(&r->others);
}

/* Until so many calls have ended. */
static void
await_ended(struct rig *r, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (ended(r) < n && fake_now_us() < until)
        fake_sleep_us(100);
    if (ended(r) < n)
        fail_msg("seed %llu: calls hang", (unsigned long long)r->seed);
}

/* Until a handler runs for this tag. */
static void
await_run(unsigned tag)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&sim_ran[tag]) == 0 && fake_now_us() < until)
        fake_sleep_us(20);
    assert_int_equal(atomic_load(&sim_ran[tag]), 1);
}

/* Every channel has a session at the server. */
static void
warm_up(struct rig *r)
{
    for (unsigned i = 0; i < CHANNELS; i++) {
        unsigned tag = atomic_fetch_add(&r->next_tag, 1);

        assert_int_equal(sim_echo(r->channels[i], 10, tag, 5000, NULL), VC_OK);
        atomic_fetch_add(&r->good, 1);
    }
}

static void
once_each(const struct rig *r)
{
    for (unsigned tag = 0; tag < atomic_load(&r->next_tag); tag++)
        if (atomic_load(&sim_ran[tag]) > 1)
            fail_msg("seed %llu: call %u ran %u times",
                     (unsigned long long)r->seed, tag,
                     atomic_load(&sim_ran[tag]));
}

/* --- storms ------------------------------------------------------------- */

static unsigned struck;

static void
strike(void *arg)
{
    (void)arg;
    struck++;
}

/* The QP of one of the next lines of data breaks. */
static void
flush_soon(struct rig *r)
{
    static const char *const lines[] = {"main qp", "server qp", "SEND",
                                        "completion"};
    const char *line = lines[roll(&r->dice, 4)];
    unsigned nth = 1 + (unsigned)roll(&r->dice, 30);

    fake_rule(line, nth, FAKE_FLUSH, 0);
    fake_when(line, nth, strike, NULL);
}

static void
storm(struct rig *r, unsigned n_callers, unsigned calls, size_t size)
{
    struct caller callers[CALLERS];
    unsigned all;

    warm_up(r);
    all = ended(r) + n_callers * calls;
    for (unsigned i = 0; i < n_callers; i++)
        caller_start(&callers[i], r, size == 0 ? i % CHANNELS : 0, calls, size);
    while (ended(r) < all) {
        unsigned n = ended(r) + 8;
        unsigned was = struck;

        flush_soon(r);
        await_ended(r, n < all ? n : all);
        while (struck == was && ended(r) < all)
            fake_sleep_us(100);
        await_ended(r, ended(r) + 3 < all ? ended(r) + 3 : all);
    }
    for (unsigned i = 0; i < n_callers; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].status != VC_OK)
            print_error("%s\n", callers[i].text);
    }
    once_each(r);
    if (atomic_load(&r->others) != 0)
        fail_msg("seed %llu: %u calls were lost", (unsigned long long)r->seed,
                 atomic_load(&r->others));
}

static void
a_thousand_links_are_lost_and_no_call_is(void **state)
{
    struct rig r;
    uint64_t seed =
        getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 0) : 1;

    (void)state;
    (void)await_run;
    struck = 0;
    for (; struck < 1000; seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 3) * 200,
                  1 + (unsigned)(seed % 3));
        storm(&r, 6, 40, 0);
        rig_end(&r);
        if (getenv("SEED") != NULL)
            return;
    }
    print_message("%u links lost in %llu worlds\n", struck,
                  (unsigned long long)seed);
}

/* So long that credits run out when all is sent again: the server may be done
 * with a call before it is asked for it on the new link. */
static void
long_requests_are_resumed_when_credits_are_short(void **state)
{
    struct rig r;

    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 4) * 150, 1 + seed % 2);
        storm(&r, CALLERS, 2, seed % 3 == 0 ? 30000 : 60000);
        rig_end(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_links_are_lost_and_no_call_is),
        cmocka_unit_test(long_requests_are_resumed_when_credits_are_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
