/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests in parts that are not sent to their end: the server has answered
 * before their last part, or the client has cancelled them. */
#include <stdio.h>
#include <string.h>

#include <verbcall/cancel.h>
#include <verbcall/counters.h>

#include "tests/sim/waiting.h"

#define MIB     ((size_t)1 << 20)
#define LONG    1000000u
#define HELD    16u /* long requests that exceed the server's memory */
#define REFUSED 8u

static uint64_t
bytes_sent(struct scene *s)
{
    return scene_client(s).bytes_sent;
}

/* The server keeps nothing of a request that has ended, and the slot can be
 * used again, by requests in one part and in several. */
static void
nothing_is_left(struct scene *s)
{
    scene_call(s, 64, ECHOES);
    scene_call(s, 100000, ECHOES);
    assert_int_equal(scene_server(s).requests_arriving, 0);
    assert_int_equal(scene_client(s).links_lost, 0);
}

/* --- refused -------------------------------------------------------------- */

static void
refuse(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    uint64_t before = bytes_sent(s);
    enum vc_outcome outcome;

    opts.flags = VC_CALL_NO_RETRY;
    for (unsigned i = 0; i < REFUSED; i++) {
        assert_int_equal(
            sim_echo_opts(s->channel, LONG, ECHOES, &opts, &outcome),
            VC_RESOURCE_EXHAUSTED);
        assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
    }
    assert_in_range(bytes_sent(s) - before, 1, REFUSED * (LONG / 2));
    assert_true(scene_server(s).shed_memory > REFUSED);
}

/* Handlers keep requests until the server has no memory for more. */
static void
act_is_refused(struct scene *s)
{
    struct caller held[HELD];

    for (unsigned i = 0; i < HELD; i++)
        caller_start_long(&held[i], s->channel, ASKS, LONG);
    while (scene_server(s).shed_memory == 0)
        fake_sleep_us(MS);
    refuse(s);
    for (unsigned i = 0; i < HELD; i++) {
        vc_cancel(held[i].canceller);
        caller_join(&held[i]);
    }
    nothing_is_left(s);
}

static void
a_request_without_memory_is_refused_before_it_is_read(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_memory = 16 * MIB;
    waiting_server_opts = &opts;
    waiting_play(act_is_refused, 0);
    waiting_server_opts = NULL;
}

/* --- cancelled ------------------------------------------------------------ */

/* A frozen server gives no credits, so the request stays half sent. */
static void
act_is_cancelled(struct scene *s)
{
    struct caller half;
    uint64_t before;

    scene_call(s, 64, ECHOES);
    before = bytes_sent(s);
    fake_process_freeze(s->server.process);
    caller_start_long(&half, s->channel, IS_TOLD, LONG);
    while (scene_client(s).stalls_credits == 0)
        fake_sleep_us(MS);
    caller_cancel(&half, VC_OUTCOME_NOT_EXECUTED);
    fake_process_thaw(s->server.process);
    nothing_is_left(s);
    assert_in_range(bytes_sent(s) - before, 1, LONG / 2);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 0);
}

static void
a_cancelled_request_is_not_sent_to_its_end(void **state)
{
    (void)state;
    waiting_play(act_is_cancelled, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_memory_is_refused_before_it_is_read),
        cmocka_unit_test(a_cancelled_request_is_not_sent_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
