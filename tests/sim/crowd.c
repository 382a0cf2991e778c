/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/crowd.h. */
#include "tests/sim/crowd.h"

#include <stdio.h>
#include <string.h>

#define ECHO      0u
#define PATIENCE  (100 * S)
#define SIZE_MAX_ ((size_t)1 << 20)

/* The call that this thread is just starting. */
static _Thread_local struct crowd_call *starting;

void
crowd_open(struct crowd *c, uint64_t seed, unsigned switch_every,
           const struct vc_channel_opts *opts)
{
    sim_begin(seed, switch_every, true);
    c->there = fake_host_new("there", "10.9.0.2");
    c->server = (struct sim_server){.process = NULL};
    c->at_end = NULL;
    c->service = &suite_probe_service;
    c->opts = (struct vc_call_opts)VC_CALL_OPTS_INIT;
    memset(c->calls, 0, c->n * sizeof c->calls[0]);
    c->n = c->refused = 0;
    atomic_store(&c->ended, 0);
    sim_target("10.9.0.2", c->server.target);
    assert_int_equal(VC_OK, sim_runtime(&c->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(c->runtime, c->server.target, opts,
                                            &c->channel));
    assert_int_equal(VC_OK, vc_completions_new(c->runtime, &c->queue));
}

void
crowd_serve(struct crowd *c)
{
    sim_server_start(&c->server, c->there, 1);
    assert_true(sim_server_await(&c->server));
}

void
crowd_close_channel(struct crowd *c)
{
    vc_channel_close(c->channel);
    c->channel = NULL;
}

void
crowd_close(struct crowd *c)
{
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct vc_completion end;

    crowd_close_channel(c);
    while (c->queue != NULL && vc_completions_next(c->queue, 0, &end) == VC_OK)
        crowd_told(&end);
    for (unsigned i = 0; i < c->n; i++) {
        if (atomic_load(&c->calls[i].ends) != 1)
            fail_msg("call %u has ended %u times: %s", i,
                     atomic_load(&c->calls[i].ends), fake_trace());
        vc_async_free(c->calls[i].handle);
    }
    vc_completions_free(c->queue);
    vc_runtime_counters(c->runtime, &counters);
    if (sim_counters_fault(&counters) != NULL)
        fail_msg("%s", sim_counters_fault(&counters));
    vc_runtime_free(c->runtime);
    if (c->server.process != NULL)
        assert_true(sim_server_stop(&c->server));
    assert_int_equal(0, fake_end());
}

/* --- calls ------------------------------------------------------------- */

static void
told(struct crowd_call *call, enum vc_status status, Suite__EchoReply *reply)
{
    struct crowd *c = call->crowd;

    call->status = status;
    if (status == VC_OK && reply->tag != call->tag)
        call->status = VC_DATA_LOSS;
    vc_message_free(reply);
    atomic_fetch_add(&call->ends, 1);
    if (c->at_end != NULL)
        c->at_end(call);
    atomic_fetch_add(&c->ended, 1);
}

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    struct crowd_call *call = arg;

    if (starting != NULL)
        fail_msg("call %u ended inside of the function that starts call %u",
                 call->tag, starting->tag);
    if (status != VC_OK) {
        call->outcome = vc_error_outcome();
        snprintf(call->text, sizeof call->text, "%s", vc_error());
    }
    told(call, status, reply);
}

void
crowd_told(const struct vc_completion *completion)
{
    struct crowd_call *call = completion->tag;

    call->outcome = completion->outcome;
    snprintf(call->text, sizeof call->text, "%s", completion->text);
    told(call, completion->status, completion->reply);
}

static struct crowd_call *
call_start(struct crowd *c, size_t size, bool queued)
{
    static const uint8_t zeros[SIZE_MAX_];
    struct crowd_call *call = &c->calls[c->n], *outer = starting;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    enum vc_status status;

    assert_true(c->n < CROWD_MAX);
    call->crowd = c;
    call->tag = request.tag = c->n;
    request.payload.len = size;
    request.payload.data = (uint8_t *)zeros;
    starting = call;
    if (queued)
        status =
            vc_channel_call_queued(c->channel, c->service, ECHO, &request,
                                   &c->opts, c->queue, call, &call->handle);
    else
        status = vc_channel_call_async(c->channel, c->service, ECHO, &request,
                                       &c->opts, on_done, call, &call->handle);
    starting = outer;
    /* The library must not read the request any more. */
    memset(&request, 0xff, sizeof request);
    if (status != VC_OK) {
        c->refused++;
        return NULL;
    }
    c->n++;
    return call;
}

struct crowd_call *
crowd_call(struct crowd *c, size_t size)
{
    return call_start(c, size, false);
}

struct crowd_call *
crowd_call_queued(struct crowd *c, size_t size)
{
    return call_start(c, size, true);
}

bool
crowd_was_struck(struct crowd *c)
{
    unsigned struck;

    crowd_await(c, c->n);
    struck = fake_failed();
    fake_fail_no_more();
    assert_int_equal(c->n, crowd_count(c, VC_OK) +
                               crowd_count(c, VC_UNAVAILABLE) +
                               crowd_count(c, VC_RESOURCE_EXHAUSTED));
    return struck > 0;
}

void
crowd_await(struct crowd *c, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;
    struct vc_completion end;

    while (atomic_load(&c->ended) < n) {
        if (vc_completions_next(c->queue, 1, &end) == VC_OK)
            crowd_told(&end);
        if (fake_now_us() > until)
            fail_msg("only %u of %u calls have ended: %s",
                     atomic_load(&c->ended), n, fake_trace());
    }
}

void
crowd_check_runs(const struct crowd_call *call, unsigned most)
{
    unsigned times = atomic_load(&sim_ran[call->tag]);

    if (times > most)
        fail_msg("call %u has run %u times", call->tag, times);
    if (call->status == VC_OK && times == 0)
        fail_msg("call %u is good and has not run", call->tag);
    if (call->status != VC_OK && call->outcome == VC_OUTCOME_NOT_EXECUTED &&
        times > 0)
        fail_msg("call %u has run, which it denies: %s", call->tag, call->text);
}

unsigned
crowd_count(const struct crowd *c, enum vc_status status)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->n; i++)
        n += c->calls[i].status == status;
    return n;
}
