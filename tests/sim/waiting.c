/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/waiting.h. */
#include "tests/sim/waiting.h"

#include <string.h>

struct waiting_seen waiting_seen;

/* --- handlers ---------------------------------------------------------- */

static void
on_told(struct vc_call *call, void *arg)
{
    struct waiting_seen *s = arg;

    assert_true(vc_call_is_cancelled(call));
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL),
                     VC_FAILED_PRECONDITION);
    assert_int_equal(atomic_load(&s->told), 0);
    sim_tell(&s->told);
}

static void
wait_told(struct vc_call *call)
{
    assert_int_equal(vc_call_on_cancel(call, on_told, &waiting_seen), VC_OK);
    sim_tell(&waiting_seen.begun);
    assert_true(sim_await(&waiting_seen.told, PATIENCE));
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
    assert_true(vc_call_is_cancelled(call));
}

static void
ask(struct vc_call *call)
{
    assert_false(vc_call_is_cancelled(call));
    sim_tell(&waiting_seen.begun);
    while (!vc_call_is_cancelled(call))
        fake_sleep_us(MS);
}

static void
take_away(struct vc_call *call)
{
    assert_int_equal(vc_call_on_cancel(call, on_told, &waiting_seen), VC_OK);
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
    sim_tell(&waiting_seen.begun);
    fake_sleep_us(300 * MS);
    assert_true(vc_call_is_cancelled(call));
}

enum vc_status
waiting_handle(struct sim_server *s, struct vc_call *call,
               const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag == IS_TOLD)
        wait_told(call);
    else if (request->tag == ASKS)
        ask(call);
    else if (request->tag == IS_NOT_TOLD)
        take_away(call);
    else
        return VC_OK;
    atomic_store(&waiting_seen.ended_at, fake_now_us());
    sim_tell(&waiting_seen.ended);
    return VC_OK;
}

/* --- callers ----------------------------------------------------------- */

void
caller_start_with(struct caller *c, struct vc_channel *channel, unsigned tag,
                  size_t size, struct vc_canceller *canceller)
{
    *c = (struct caller){
        .channel = channel, .tag = tag, .canceller = canceller, .size = size};
    caller_begin(c);
}

void
caller_start_long(struct caller *c, struct vc_channel *channel, unsigned tag,
                  size_t size)
{
    struct vc_canceller *canceller;

    assert_int_equal(vc_canceller_new(&canceller), VC_OK);
    caller_start_with(c, channel, tag, size, canceller);
}

void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    caller_start_long(c, channel, tag, 64);
}

void
caller_cancel(struct caller *c, enum vc_outcome outcome)
{
    uint64_t now = fake_now_us();

    vc_cancel(c->canceller);
    caller_join(c);
    assert_int_equal(c->status, VC_CANCELLED);
    assert_int_equal(c->outcome, outcome);
    assert_in_range(c->ended_at - now, 0, 10 * MS);
}

const struct vc_server_opts *waiting_server_opts;

void
waiting_play(void (*act)(struct scene *s), size_t quota)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&waiting_seen, 0, sizeof waiting_seen);
        s.server.handle = waiting_handle;
        s.server.opts = waiting_server_opts;
        s.opts.quota = quota;
        scene_run(&s, seed);
    }
}
