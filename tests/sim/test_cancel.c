/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that the program cancels at any point of their progress. Their callers
 * return at once with a true outcome, and their handlers are notified. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cm/pool/peer.h"
#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/sim/waiting.h"

#define BUFFERS 16u   /* send buffers of a link */
#define LARGE   3000u /* bytes; a message that needs a send buffer */

static void
play(void (*act)(struct scene *s))
{
    waiting_play(act, 0);
}

/* --- cancelled by the program ------------------------------------------- */

static void
act_waits_for_a_link(struct scene *s)
{
    struct vc_channel *channel;
    struct caller c;

    assert_int_equal(
        vc_channel_open(s->runtime, "rdma://10.9.0.77:1", NULL, &channel),
        VC_OK);
    caller_start(&c, channel, ECHOES);
    fake_sleep_us(50 * MS);
    caller_cancel(&c, VC_OUTCOME_NOT_EXECUTED);
    vc_channel_close(channel);
}

static void
a_call_that_waits_for_a_link_is_cancelled(void **state)
{
    (void)state;
    play(act_waits_for_a_link);
}

static void
act_waits_for_a_slot(struct scene *s)
{
    struct caller first, second;

    caller_start(&first, s->channel, IS_TOLD);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    caller_start(&second, s->channel, ECHOES);
    while (scene_client(s).calls_waiting == 0)
        fake_sleep_us(MS);
    caller_cancel(&second, VC_OUTCOME_NOT_EXECUTED);
    caller_cancel(&first, VC_OUTCOME_UNKNOWN);
    scene_call(s, 64, ECHOES);
    assert_int_equal(atomic_load(&sim_ran[ECHOES]), 1);
}

static void
a_call_that_waits_for_a_slot_is_cancelled(void **state)
{
    (void)state;
    waiting_play(act_waits_for_a_slot, 1);
}

/* A frozen server gives no credits. So a long request stays half sent, and the
 * request after it stays in the queue. */
static void
act_waits_for_credits(struct scene *s)
{
    struct caller half, queued;

    scene_call(s, 64, ECHOES);
    fake_process_freeze(s->server.process);
    caller_start_long(&half, s->channel, IS_TOLD, 1000000);
    while (scene_client(s).stalls_credits == 0)
        fake_sleep_us(MS);
    caller_start(&queued, s->channel, ASKS);
    while (scene_client(s).calls_started < 3)
        fake_sleep_us(MS);
    fake_sleep_us(MS);
    caller_cancel(&queued, VC_OUTCOME_NOT_EXECUTED);
    caller_cancel(&half, VC_OUTCOME_NOT_EXECUTED);
    fake_process_thaw(s->server.process);
    scene_call(s, 64, ECHOES);
    assert_int_equal(scene_server(s).requests_arriving, 0);
    assert_int_equal(atomic_load(&sim_ran[ASKS]), 0);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 0);
}

static void
what_has_not_come_whole_when_it_is_cancelled_does_not_run(void **state)
{
    (void)state;
    play(act_waits_for_credits);
}

/* Send completions come late, until no send buffer is left. */
static void
buffers_use_up(struct scene *s)
{
    unsigned number;
    char line[64];

    scene_call(s, 64, ECHOES);
    assert_int_equal(
        sscanf(strstr(fake_trace(), "client qp "), "client qp %u", &number), 1);
    snprintf(line, sizeof line, "client qp %u: completion SEND", number);
    fake_rule(line, 0, FAKE_DELAY, 2 * S);
    for (unsigned i = 0; i < BUFFERS; i++)
        scene_call(s, LARGE, ECHOES);
}

/* A short request needs no buffer, but it is second in the queue. */
static void
act_waits_for_a_buffer(struct scene *s)
{
    struct caller first, second;
    uint64_t now;

    buffers_use_up(s);
    caller_start_long(&first, s->channel, ASKS, LARGE);
    while (scene_client(s).stalls_buffers == 0)
        fake_sleep_us(MS);
    caller_start(&second, s->channel, ECHOES);
    while (scene_client(s).calls_started < 1 + BUFFERS + 2)
        fake_sleep_us(MS);
    fake_sleep_us(MS);
    now = fake_now_us();
    caller_cancel(&first, VC_OUTCOME_NOT_EXECUTED);
    caller_join(&second);
    assert_int_equal(second.status, VC_OK);
    assert_in_range(second.ended_at, now, now + 10 * MS);
    assert_int_equal(atomic_load(&sim_ran[ASKS]), 0);
}

static void
what_was_behind_a_cancelled_request_goes_at_once(void **state)
{
    (void)state;
    play(act_waits_for_a_buffer);
}

static unsigned lost; /* messages reported as VC__SEND_LOST */

static void
on_done(struct vc__send *send, enum vc__send_end end)
{
    (void)send;
    lost += end == VC__SEND_LOST;
}

static struct vc__link *
link_of(struct scene *s)
{
    const struct vc__peer *peer = s->channel->servers.only->pool->peer;

    return &cds_list_first_entry(&peer->links, struct vc__pool_link, node)
                ->link;
}

/* The same with the link alone: the test does not push it afterwards. */
static void
act_takes_back(struct scene *s)
{
    static const uint8_t zeros[LARGE];
    struct vc__flow flow;
    struct vc__send send = {.flow = &flow, .body = zeros, .done = on_done};
    struct caller behind;
    uint64_t now;

    buffers_use_up(s);
    lost = 0;
    vc__flow_init(&flow, VC__WEIGHT_MAX);
    send.frame.type = VC__FRAME_DATA;
    send.frame.body_len = LARGE;
    vc__link_send(link_of(s), &send);
    caller_start(&behind, s->channel, ECHOES);
    while (scene_client(s).stalls_buffers < 2)
        fake_sleep_us(MS);
    now = fake_now_us();
    assert_true(vc__link_unsend(link_of(s), &send));
    assert_int_equal(lost, 1);
    caller_join(&behind);
    assert_int_equal(behind.status, VC_OK);
    assert_in_range(behind.ended_at, now, now + 10 * MS);
}

static void
a_message_taken_back_lets_those_behind_it_go(void **state)
{
    (void)state;
    play(act_takes_back);
}

static void
act_runs(struct scene *s, unsigned tag)
{
    struct caller c;
    uint64_t now;

    caller_start(&c, s->channel, tag);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    now = fake_now_us();
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
    assert_in_range(waiting_seen.ended_at - now, 0, 10 * MS);
    scene_call(s, 64, ECHOES);
    assert_int_equal(scene_server(s).calls_cancelled, 1);
    assert_int_equal(scene_client(s).calls_given_up, 1);
}

static void
act_is_told(struct scene *s)
{
    act_runs(s, IS_TOLD);
}

static void
act_asks_long(struct scene *s)
{
    act_runs(s, ASKS);
}

static void
the_handler_of_a_cancelled_call_is_told(void **state)
{
    (void)state;
    play(act_is_told);
    play(act_asks_long);
}

/* Cancels calls at any point of their progress. */
static void
act_races(struct scene *s)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};

    for (unsigned i = 0; i < 60; i++) {
        unsigned tag = TAGS + i;
        struct caller c;

        caller_start_long(&c, s->channel, tag, i % 2 * 30000);
        fake_sleep_us(i);
        vc_cancel(c.canceller);
        caller_join(&c);
        ends[c.status]++;
        if (c.status == VC_OK || c.outcome == VC_OUTCOME_EXECUTED)
            assert_int_equal(atomic_load(&sim_ran[tag]), 1);
    }
    scene_call(s, 64, ECHOES);
    for (unsigned i = 0; i < 60; i++)
        assert_in_range(atomic_load(&sim_ran[TAGS + i]), 0, 1);
    assert_int_equal(ends[VC_OK] + ends[VC_CANCELLED], 60);
    assert_true(ends[VC_OK] > 0 && ends[VC_CANCELLED] > 0);
}

static void
a_call_may_be_cancelled_at_any_moment(void **state)
{
    (void)state;
    play(act_races);
}

static void
act_afterwards(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_outcome outcome;

    assert_int_equal(vc_canceller_new(&opts.canceller), VC_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sim_echo_opts(s->channel, 64, ECHOES, &opts, NULL),
                         VC_OK);
    vc_cancel(opts.canceller);
    vc_cancel(opts.canceller);
    assert_int_equal(sim_echo_opts(s->channel, 64, ASKS, &opts, &outcome),
                     VC_CANCELLED);
    assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&sim_ran[ASKS]), 0);
    vc_canceller_free(opts.canceller);
    vc_canceller_free(NULL);
}

static void
a_canceller_ends_nothing_that_is_over_and_all_that_comes_later(void **state)
{
    (void)state;
    play(act_afterwards);
}

static void
act_many(struct scene *s)
{
    struct caller c[10];
    struct vc_canceller *canceller;

    assert_int_equal(vc_canceller_new(&canceller), VC_OK);
    for (unsigned i = 0; i < 10; i++)
        caller_start_with(&c[i], s->channel, i == 0 ? IS_TOLD : ASKS, 64,
                          canceller);
    while (atomic_load(&sim_ran[IS_TOLD]) + atomic_load(&sim_ran[ASKS]) < 10)
        fake_sleep_us(MS);
    vc_cancel(canceller);
    vc_canceller_free(canceller);
    for (unsigned i = 0; i < 10; i++) {
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].status, VC_CANCELLED);
    }
    scene_call(s, 64, ECHOES);
}

static void
one_canceller_ends_many_calls(void **state)
{
    (void)state;
    play(act_many);
}

/* --- links that are lost ------------------------------------------------ */

static void
act_lost_before_the_cancel(struct scene *s)
{
    struct caller c;
    uint64_t now;

    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    now = fake_now_us();
    fake_port_set(s->server.host, false);
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    fake_sleep_us(100 * MS);
    fake_port_set(s->server.host, true);
    /* The next call makes the client connect again. */
    scene_call(s, 64, ECHOES);
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
    assert_in_range(waiting_seen.ended_at - now, 0, 5 * S);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 1);
}

static void
act_lost_for_good(struct scene *s)
{
    struct caller c;

    scene_call(s, 64, ECHOES);
    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    fake_rule("SEND", 1, FAKE_FLUSH, 0);
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    scene_call(s, 64, ECHOES);
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
    assert_int_equal(scene_client(s).links_lost, 1);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 1);
}

static void
a_cancel_that_was_lost_comes_by_the_next_link(void **state)
{
    (void)state;
    play(act_lost_before_the_cancel);
    play(act_lost_for_good);
}

/* --- no memory ----------------------------------------------------------- */

static unsigned nth_block; /* allocation that fails from the loss on */
static bool did_fail;      /* true if there were so many */
static unsigned n_starved; /* worlds in which a third link was needed */

/* The link is lost with the CANCEL, and nobody calls again. */
static void
act_lost_and_starved(struct scene *s)
{
    struct caller c;
    uint64_t now;

    assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    scene_call(s, 64, ECHOES);
    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    fake_rule("SEND", 1, FAKE_FLUSH, 0);
    now = fake_now_us();
    fake_fail_memory(fake_process_self(), nth_block);
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    if (!sim_await(&waiting_seen.ended, PATIENCE))
        fail_msg("without allocation %u the handler is not told\n%s", nth_block,
                 fake_trace());
    assert_in_range(waiting_seen.ended_at - now, 0, 15 * S);
    did_fail = fake_failed() > 0;
    n_starved += scene_client(s).links_made > 2;
    fake_fail_no_more();
    fake_sleep_us(S);
    scene_call(s, 64, ECHOES);
}

/* Whatever allocation fails while a link is made that resumes the session, the
 * handler is notified. The session must not keep the slot of a call that the
 * server keeps an answer for. */
static void
a_cancel_that_was_lost_comes_though_memory_is_short(void **state)
{
    (void)state;
    nth_block = n_starved = 0;
    do {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = act_lost_and_starved};

        memset(&waiting_seen, 0, sizeof waiting_seen);
        s.server.handle = waiting_handle;
        nth_block++;
        scene_run(&s, 1 + nth_block % SEEDS);
    } while (did_fail);
    assert_in_range(nth_block, 4, 400);
    assert_in_range(n_starved, 1, 400);
}

/* --- by closing the channel ---------------------------------------------- */

/* Starts a call on a channel that shares its connection with no other. */
static void
lonely_call_start(struct scene *s, struct caller *c)
{
    struct vc_channel_opts opts = s->opts;
    struct vc_channel *channel;

    opts.idle_timeout_ms = 77000; /* unlike those of s->channel */
    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &opts, &channel), VC_OK);
    caller_start(c, channel, IS_TOLD);
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
}

/* Closes the channel of a call, which ends; returns how long that took. */
static uint64_t
lonely_call_close(struct caller *c)
{
    uint64_t began = fake_now_us();

    vc_channel_close(c->channel);
    began = fake_now_us() - began;
    caller_join(c);
    assert_int_equal(c->status, VC_CANCELLED);
    assert_int_equal(c->outcome, VC_OUTCOME_UNKNOWN);
    return began;
}

static void
act_closes(struct scene *s)
{
    struct caller c;

    lonely_call_start(s, &c);
    assert_in_range(lonely_call_close(&c), 0, 10 * MS);
    assert_int_equal(scene_server(s).sessions_server, 0);
    assert_true(sim_await(&waiting_seen.told, 10 * MS));
}

/* Also for the last channel of a connection, which is closed then. */
static void
handlers_are_told_when_the_channel_is_closed(void **state)
{
    (void)state;
    play(act_closes);
}

static void
act_closes_at_a_frozen_server(struct scene *s)
{
    struct caller c;

    lonely_call_start(s, &c);
    fake_process_freeze(s->server.process);
    assert_in_range(lonely_call_close(&c), 200 * MS, 4 * S);
    fake_process_thaw(s->server.process);
    assert_true(sim_await(&waiting_seen.told, 11 * S));
}

static void
closing_waits_not_long_for_a_server_that_does_not_answer(void **state)
{
    (void)state;
    play(act_closes_at_a_frozen_server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_waits_for_a_link_is_cancelled),
        cmocka_unit_test(a_call_that_waits_for_a_slot_is_cancelled),
        cmocka_unit_test(
            what_has_not_come_whole_when_it_is_cancelled_does_not_run),
        cmocka_unit_test(what_was_behind_a_cancelled_request_goes_at_once),
        cmocka_unit_test(a_message_taken_back_lets_those_behind_it_go),
        cmocka_unit_test(the_handler_of_a_cancelled_call_is_told),
        cmocka_unit_test(a_call_may_be_cancelled_at_any_moment),
        cmocka_unit_test(
            a_canceller_ends_nothing_that_is_over_and_all_that_comes_later),
        cmocka_unit_test(one_canceller_ends_many_calls),
        cmocka_unit_test(a_cancel_that_was_lost_comes_by_the_next_link),
        cmocka_unit_test(a_cancel_that_was_lost_comes_though_memory_is_short),
        cmocka_unit_test(handlers_are_told_when_the_channel_is_closed),
        cmocka_unit_test(
            closing_waits_not_long_for_a_server_that_does_not_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
