/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a call from beginning to end, on the wire and at both endpoints,
 * as golden traces under simulated time (tests/sim/golden). */
#include <string.h>

#include "tests/sim/golden.h"
#include "tests/sim/outcomes.h"

#define ECHO    0u
#define MISSING 4u
#define BULK    20000u /* three packets */

/* --- what is recorded --------------------------------------------------- */

static void
on_handler(struct play *p, Suite__EchoReply *reply)
{
    (void)reply;
    golden_say("server: the handler returns, %u have begun",
               atomic_load(&p->runs));
}

static void
begin(struct play *p)
{
    golden_say("client: the call begins");
    play_begin(p);
}

static void
end(struct play *p)
{
    static const char *const outcomes[] = {"executed", "not executed",
                                           "unknown"};

    play_finish(p);
    golden_say("client: the call ends, %s, %s, after %u attempt%s",
               vc_status_name(p->status), outcomes[p->outcome],
               p->result.attempts, p->result.attempts == 1 ? "" : "s");
}

static void
call(struct play *p)
{
    begin(p);
    end(p);
}

/* Makes a first call, and starts recording. */
static void
tell(struct play *p)
{
    play_meet(p);
    golden_begin();
}

/* Makes a call whose handler waits until it is let go. */
static void
call_held(struct play *p)
{
    p->holds = true;
    tell(p);
    begin(p);
    play_await_handler(p);
    golden_say("server: the handler waits");
}

static void
let_go(struct play *p)
{
    golden_say("server: the handler is let go");
    sim_tell(&p->go);
}

/* --- scenarios ----------------------------------------------------------- */

static void
call_first(struct play *p)
{
    play_serve(p);
    play_open(p);
    golden_begin();
    call(p);
}

static void
call_next(struct play *p)
{
    tell(p);
    call(p);
}

static void
call_long(struct play *p)
{
    p->size = BULK;
    tell(p);
    call(p);
}

static void
call_fails(struct play *p)
{
    p->handler_status = VC_NOT_FOUND;
    tell(p);
    call(p);
}

static void
call_refused(struct play *p)
{
    static const Suite__Empty empty = SUITE__EMPTY__INIT;

    tell(p);
    p->method = MISSING;
    p->request = &empty;
    call(p);
}

static void
call_in_the_queue(struct play *p)
{
    p->channel_opts.quota = 1;
    play_connect(p);
    golden_begin();
    play_other_begin(p);
    play_await_handler(p);
    golden_say("server: the handler of another call waits");
    begin(p);
    fake_sleep_us(100 * MS);
    let_go(p);
    end(p);
    play_other_end(p);
}

static void
call_expires_in_the_queue(struct play *p)
{
    p->channel_opts.quota = 1;
    p->opts.timeout_ms = 200;
    play_connect(p);
    golden_begin();
    play_other_begin(p);
    play_await_handler(p);
    golden_say("server: the handler of another call waits");
    call(p);
    play_other_end(p);
}

static void
call_expires(struct play *p)
{
    p->opts.timeout_ms = 200;
    call_held(p);
    end(p);
    fake_sleep_us(50 * MS);
    let_go(p);
    fake_sleep_us(50 * MS);
}

static void
call_cancelled(struct play *p)
{
    play_cancellable(p);
    call_held(p);
    fake_sleep_us(100 * MS);
    golden_say("client: the call is cancelled");
    play_cancel(p);
    fake_sleep_us(MS); /* until the packet has arrived */
    end(p);
    let_go(p);
    fake_sleep_us(50 * MS);
}

static void
call_closed(struct play *p)
{
    call_held(p);
    fake_sleep_us(100 * MS);
    golden_say("client: the channel is closed");
    play_close_channel(p);
    end(p);
    let_go(p);
    fake_sleep_us(50 * MS);
}

static void
link_lost_before(struct play *p)
{
    tell(p);
    fake_rule("main qp", 1, FAKE_FLUSH, 0);
    golden_say("the next packet of the client is lost, and its link");
    call(p);
}

static void
link_lost_meanwhile(struct play *p)
{
    call_held(p);
    fake_rule("main qp", 1, FAKE_FLUSH, 0);
    golden_say("the next packet of the client is lost, and its link");
    fake_sleep_us(500 * MS);
    let_go(p);
    end(p);
}

static void
link_lost_afterwards(struct play *p)
{
    tell(p);
    fake_rule(": SEND", 2, FAKE_FLUSH, 0);
    golden_say("the second packet from now on is lost, and the link");
    call(p);
}

static void
server_killed(struct play *p)
{
    call_held(p);
    golden_say("server: it is killed");
    play_kill_server(p);
    end(p);
}

static void
server_drained(struct play *p)
{
    call_held(p);
    golden_say("server: it drains");
    play_drain(p);
    let_go(p);
    end(p);
}

static enum vc_status
first_fails(struct play *p)
{
    return atomic_load(&p->runs) == 1 ? VC_UNAVAILABLE : VC_OK;
}

static void
fail_first(struct play *p, Suite__EchoReply *reply)
{
    on_handler(p, reply);
    p->handler_status = first_fails(p);
}

static void
call_again(struct play *p)
{
    p->opts.flags = 0;
    p->inside = fail_first;
    p->pushback_ms = 70;
    play_method(p, ECHO)->flags |= VC_METHOD_IDEMPOTENT;
    tell(p);
    call(p);
}

static void
call_hedged(struct play *p)
{
    p->opts.hedge_ms = 50;
    p->slow_once = true;
    play_method(p, ECHO)->flags |= VC_METHOD_NO_SIDE_EFFECTS;
    tell(p);
    call(p);
    fake_sleep_us(300 * MS);
}

static void
call_one_way(struct play *p)
{
    struct vc_method *m = play_method(p, 5);

    *m = p->service->methods[ECHO];
    m->flags |= VC_METHOD_ONE_WAY;
    tell(p);
    call(p);
    fake_sleep_us(10 * MS);
}

static void
call_answered_later(struct play *p)
{
    p->answers_later = true;
    tell(p);
    call(p);
}

#define SCENE(name)                                                            \
    {                                                                          \
#name, VC_OK, VC_OUTCOME_EXECUTED, name                                \
    }

static const struct row scenes[] = {
    SCENE(call_first),
    SCENE(call_next),
    SCENE(call_long),
    SCENE(call_fails),
    SCENE(call_refused),
    SCENE(call_in_the_queue),
    SCENE(call_expires),
    SCENE(call_expires_in_the_queue),
    SCENE(call_cancelled),
    SCENE(call_closed),
    SCENE(link_lost_before),
    SCENE(link_lost_meanwhile),
    SCENE(link_lost_afterwards),
    SCENE(server_killed),
    SCENE(server_drained),
    SCENE(call_again),
    SCENE(call_hedged),
    SCENE(call_one_way),
    SCENE(call_answered_later),
};

#define N_SCENES (sizeof scenes / sizeof scenes[0])

static void
scene_play(void **state)
{
    const struct row *scene = *state;
    static struct play p;

    play_setup(&p, scene, PLAY_BLOCKING, 1);
    p.inside = on_handler;
    scene->act(&p);
    golden_end(scene->name);
    play_teardown(&p);
    assert_int_equal(0, fake_end());
}

int
main(void)
{
    static struct CMUnitTest tests[N_SCENES];
    static struct row own[N_SCENES];

    for (unsigned i = 0; i < N_SCENES; i++) {
        own[i] = scenes[i];
        tests[i] = (struct CMUnitTest){.name = own[i].name,
                                       .test_func = scene_play,
                                       .initial_state = &own[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
