/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams by callbacks that are read slowly or not at all, and many streams:
 * what each costs others in time, memory and threads. */
#include <string.h>

#include "tests/sim/reactor.h"
#include "tests/sim/scene.h"

#define MESSAGES 300u
#define IDLE     1000u
#define CHANNELS 5u /* a session has 256 slots */

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&reactor_served, 0, sizeof reactor_served);
        atomic_store(&reactor_served.last, -1);
        s.server.add = reactor_add;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&reactor_served.faults), 0);
        assert_int_equal(atomic_load(&reactor_served.began),
                         atomic_load(&reactor_served.ended));
    }
}

static void
must(enum vc_status status)
{
    if (status != VC_OK)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
}

static void
begin(struct scene *s, struct reactor *r, unsigned method, uint32_t count,
      size_t size)
{
    must(reactor_start(r, s->channel, method, NULL, count, size));
}

/* Waits for the stream's end, and closes it. */
static void
finish(struct reactor *r, enum vc_status status)
{
    if (!reactor_await(r))
        fail_msg("it does not end, %u came: %s", r->came, fake_trace());
    if (r->status != status)
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
    if (reactor_fault(r) != NULL)
        fail_msg("%s", reactor_fault(r));
    vc_stream_close(r->stream);
}

static void
runtime_start(struct scene *s)
{
    must(vc_runtime_start(s->runtime));
}

/* --- slow readers ---------------------------------------------------------- */

static void
pause_it(struct reactor *r)
{
    if (r->came == 1)
        vc_stream_pause(r->stream);
}

/* Memory blocks of a process. */
static unsigned
blocks(const struct fake_process *p)
{
    struct fake_census census;

    fake_census(p, &census);
    return census.blocks;
}

/* A window is 63 messages of this size. Each takes one block until it is
 * unpacked; the stream itself needs some more. */
static void
assert_holds_a_window(unsigned before, unsigned now)
{
    assert_in_range(now, before, before + 63 + 30);
}

static void
client_pauses_act(struct scene *s)
{
    struct reactor r = {.at_message = pause_it};
    unsigned here, there;

    runtime_start(s);
    scene_call(s, 10, 5);
    here = blocks(fake_process_self());
    there = blocks(s->server.process);
    begin(s, &r, DOWN, MESSAGES, 1000);
    for (unsigned i = 0; i < 50; i++)
        scene_call(s, 10, 5); /* other calls are not delayed */
    fake_sleep_us(100000);
    assert_int_equal(r.came, 1);
    assert_holds_a_window(here, blocks(fake_process_self()));
    assert_holds_a_window(there, blocks(s->server.process));
    assert_int_equal(atomic_load(&reactor_served.ended), 0); /* it waits, too */
    vc_stream_resume(r.stream);
    finish(&r, VC_OK);
    assert_int_equal(r.came, MESSAGES);
}

static void
a_client_that_pauses_holds_a_window_at_both_ends_and_delays_nobody(void **state)
{
    (void)state;
    play(client_pauses_act);
}

static void
server_pauses_act(struct scene *s)
{
    struct reactor r = {
        .to_send = 1, .mark = REACTOR_PAUSE, .keeps_open = true};

    runtime_start(s);
    begin(s, &r, UP, 0, 1000);
    vc_stream_close(r.stream);
    assert_true(reactor_await(&r));
    r = (struct reactor){
        .to_send = 1, .mark = REACTOR_PAUSE, .keeps_open = true};
    begin(s, &r, TALK, 0, 1000);
    must(reactor_pump(&r));
    assert_true(reactor_await_word(&reactor_served.messages, 1));
    pthread_mutex_lock(&r.pumping);
    r.to_send = MESSAGES;
    r.tag = r.mark = 0;
    pthread_mutex_unlock(&r.pumping);
    must(reactor_pump(&r));
    assert_in_range(r.sent, 30, 66); /* messages of 1000 bytes */
    for (unsigned i = 0; i < 50; i++)
        scene_call(s, 10, 5);
    assert_int_equal(r.writable, 0);
    assert_int_equal(atomic_load(&reactor_served.messages), 1);
    pthread_mutex_lock(&r.pumping);
    r.keeps_open = false;
    pthread_mutex_unlock(&r.pumping);
    sim_tell(&reactor_served.resume);
    finish(&r, VC_OK);
    assert_int_equal(r.came, MESSAGES - 1);
}

static void
a_server_that_pauses_stops_its_client_and_delays_nobody(void **state)
{
    (void)state;
    play(server_pauses_act);
}

static void
pause_and_end_act(struct scene *s)
{
    struct reactor good = {.at_message = pause_it},
                   bad = {.at_message = pause_it};

    runtime_start(s);
    begin(s, &good, DOWN, 10, 100);
    begin(s, &bad, DOWN, 10, 100);
    assert_true(reactor_await_word(&reactor_served.ended, 2));
    for (unsigned i = 0; i < 20; i++)
        scene_call(s, 10, 5);
    assert_int_equal(atomic_load(&good.ends),
                     0); /* the end is delayed, not lost */
    vc_stream_resume(good.stream);
    finish(&good, VC_OK);
    assert_int_equal(good.came, 10);
    vc_stream_close(bad.stream); /* ends, though paused */
    assert_true(reactor_await(&bad));
    assert_null(reactor_fault(&bad));
    assert_int_equal(bad.came, 1);
}

static void
pause_and_close_act(struct scene *s)
{
    struct reactor r = {.at_message = pause_it};
    struct vc_channel *channel;

    runtime_start(s);
    must(vc_channel_open(s->runtime, s->server.target, NULL, &channel));
    must(reactor_start(&r, channel, DOWN, NULL, 10, 100));
    assert_true(reactor_await_word(&reactor_served.ended, 1));
    for (unsigned i = 0; i < 20; i++)
        scene_call(s, 10, 5);
    assert_int_equal(r.came, 1);
    vc_channel_close(channel);
    finish(&r, VC_OK);
    assert_int_equal(r.came, 10);
}

static void
closing_a_channel_waits_for_no_pause(void **state)
{
    (void)state;
    play(pause_and_close_act);
}

static void
a_pause_keeps_a_good_end_back_but_not_a_close(void **state)
{
    (void)state;
    play(pause_and_end_act);
}

/* --- many ------------------------------------------------------------------ */

static void
idle_act(struct scene *s)
{
    static struct reactor r[IDLE];
    struct vc_channel *channels[CHANNELS];
    struct fake_census before, after;

    runtime_start(s);
    memset(r, 0, sizeof r);
    scene_call(s, 10, 5);
    fake_census(s->server.process, &before);
    for (unsigned i = 0; i < CHANNELS; i++)
        must(vc_channel_open(s->runtime, s->server.target, NULL, &channels[i]));
    for (unsigned i = 0; i < IDLE; i++)
        must(reactor_start(&r[i], channels[i % CHANNELS], TALK, NULL, 0, 10));
    assert_true(reactor_await_word(&reactor_served.began, IDLE));
    fake_census(s->server.process, &after);
    assert_in_range(after.threads, before.threads, before.threads + 1);
    scene_call(s, 10, 5);
    for (unsigned i = 0; i < IDLE; i++) {
        r[i].to_send = 2; /* no earlier send, so on_writable() was not due */
        must(reactor_pump(&r[i]));
    }
    for (unsigned i = 0; i < IDLE; i++) {
        finish(&r[i], VC_OK);
        assert_int_equal(r[i].came, 2);
    }
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
}

static void
a_thousand_idle_streams_take_no_threads(void **state)
{
    (void)state;
    play(idle_act);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_client_that_pauses_holds_a_window_at_both_ends_and_delays_nobody),
        cmocka_unit_test(
            a_server_that_pauses_stops_its_client_and_delays_nobody),
        cmocka_unit_test(closing_a_channel_waits_for_no_pause),
        cmocka_unit_test(a_pause_keeps_a_good_end_back_but_not_a_close),
        cmocka_unit_test(a_thousand_idle_streams_take_no_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
