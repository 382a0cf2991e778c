/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/rig.h. */
#include "tests/sim/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t
rig_roll(uint64_t *d, uint64_t n)
{
    uint64_t z = *d += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

void
rig_serve(struct rig *r)
{
    sim_server_start(&r->server, r->there, 2);
    assert_true(sim_server_await(&r->server));
}

static void
rig_open(struct rig *r)
{
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    for (unsigned i = 0; i < RIG_CHANNELS; i++)
        assert_int_equal(vc_channel_open(r->runtime, r->server.target, &r->opts,
                                         &r->channels[i]),
                         VC_OK);
}

const struct vc_server_opts *rig_server_opts;

void
rig_begin(struct rig *r, uint64_t seed, unsigned sleep_us, unsigned links)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(r, 0, sizeof *r);
    r->seed = r->dice = seed;
    r->timeout_ms = 60000;
    r->opts = opts;
    r->opts.min_links = r->opts.max_links = links;
    r->server.sleep_us = sleep_us;
    r->server.opts = rig_server_opts;
    sim_begin(seed, 1 + (unsigned)(seed % 7) * 3, getenv("TRACE") != NULL);
    r->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", r->server.target);
    rig_serve(r);
    rig_open(r);
}

void
rig_end(struct rig *r)
{
    for (unsigned i = 0; i < RIG_CHANNELS; i++)
        vc_channel_close(r->channels[i]);
    vc_runtime_free(r->runtime);
    fake_fail_no_more();
    fake_no_rules();
    assert_true(sim_server_stop(&r->server));
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(fake_end(), 0);
}

/* --- its callers ---------------------------------------------------------- */

static size_t
some_size(uint64_t *d)
{
    static const size_t sizes[] = {0, 64, 300, 4000, 8100, 8200, 40000, 100000};

    return sizes[rig_roll(d, sizeof sizes / sizeof sizes[0])];
}

static void
call_once(struct rig_caller *c)
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
    struct rig_caller *c = arg;

    for (; c->done < c->calls; c->done++)
        call_once(c);
    return NULL;
}

void
rig_call(struct rig_caller *c, struct rig *r, unsigned channel, unsigned calls,
         size_t size)
{
    *c = (struct rig_caller){.rig = r,
                             .channel = r->channels[channel],
                             .calls = calls,
                             .dice = rig_roll(&r->dice, UINT64_MAX),
                             .timeout_ms = r->timeout_ms,
                             .size = size};
    pthread_create(&c->thread, NULL, caller_main, c);
}

unsigned
rig_ended(const struct rig *r)
{
    return atomic_load(&r->good) + atomic_load(&r->others);
}

void
rig_await_ended(struct rig *r, unsigned n)
{
    uint64_t until = fake_now_us() + RIG_PATIENCE;

    while (rig_ended(r) < n && fake_now_us() < until)
        fake_sleep_us(100);
    if (rig_ended(r) < n)
        fail_msg("seed %llu: calls hang", (unsigned long long)r->seed);
}

void
rig_await_run(unsigned tag)
{
    uint64_t until = fake_now_us() + RIG_PATIENCE;

    while (atomic_load(&sim_ran[tag]) == 0 && fake_now_us() < until)
        fake_sleep_us(20);
    assert_int_equal(atomic_load(&sim_ran[tag]), 1);
}

void
rig_warm_up(struct rig *r)
{
    for (unsigned i = 0; i < RIG_CHANNELS; i++) {
        unsigned tag = atomic_fetch_add(&r->next_tag, 1);

        assert_int_equal(sim_echo(r->channels[i], 10, tag, 5000, NULL), VC_OK);
        atomic_fetch_add(&r->good, 1);
    }
}

void
rig_check_once(const struct rig *r)
{
    for (unsigned tag = 0; tag < atomic_load(&r->next_tag); tag++)
        if (atomic_load(&sim_ran[tag]) > 1)
            fail_msg("seed %llu: call %u ran %u times",
                     (unsigned long long)r->seed, tag,
                     atomic_load(&sim_ran[tag]));
}

void
rig_good(struct rig_caller *c)
{
    pthread_join(c->thread, NULL);
    if (c->status != VC_OK)
        fail_msg("seed %llu: %s", (unsigned long long)c->rig->seed, c->text);
    assert_int_equal(atomic_load(&sim_ran[c->tag]), 1);
}

/* --- losses --------------------------------------------------------------- */

unsigned rig_struck;

static void
strike(void *arg)
{
    (void)arg;
    rig_struck++;
}

void
rig_break(const char *line, unsigned nth)
{
    fake_rule(line, nth, FAKE_FLUSH, 0);
    fake_when(line, nth, strike, NULL);
}
