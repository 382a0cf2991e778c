/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counters of what happens to calls besides a request and a reply: further
 * attempts, hedges, streams, cancelling. */
#include <string.h>

#include <verbcall/cancel.h>
#include <verbcall/stream.h>

#include "rpc/client/channel.h"
#include "tests/sim/scene.h"
#include "tests/suite/streams.h"

#define MS   UINT64_C(1000)
#define ECHO 0u
#define SLOW 1u /* the first run with this tag is slow */

static struct vc_service harmless;
static struct vc_method harmless_methods[16];

static atomic_uint fails; /* attempts that fail */
static atomic_uint slow_ran;

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    if (request->tag == SLOW && atomic_fetch_add(&slow_ran, 1) == 0)
        fake_sleep_us(300 * MS);
    if (vc_call_attempt(call) <= fails)
        return VC_UNAVAILABLE;
    return VC_OK;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return suite_streams_add(server, &streams_methods, NULL);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        fails = 0;
        atomic_store(&slow_ran, 0);
        s.server.handle = handle;
        s.server.add = streams_add;
        scene_run(&s, seed);
    }
}

static enum vc_status
call(struct scene *s, unsigned tag, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    void *reply = NULL;
    enum vc_status status;

    request.tag = tag;
    status =
        vc_channel_call(s->channel, &harmless, ECHO, &request, opts, &reply);
    vc_message_free(reply);
    return status;
}

/* --- further attempts ---------------------------------------------------- */

static void
act_again(struct scene *s)
{
    struct vc_counters c;

    assert_int_equal(VC_OK, call(s, 0, NULL));
    assert_int_equal(0, scene_client(s).calls_retried);
    fails = 2;
    assert_int_equal(VC_OK, call(s, 0, NULL));
    c = scene_client(s);
    assert_int_equal(2, c.calls_retried);
    assert_int_equal(0, c.calls_not_retried);
    assert_int_equal(4, c.calls_started);
    fails = 100; /* each failure costs a token; ten are left */
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(VC_UNAVAILABLE, call(s, 0, NULL));
    c = scene_client(s);
    assert_in_range(c.calls_retried, 3, 6);
    assert_in_range(c.calls_not_retried, 3, 5);
    assert_int_equal(c.calls_started, 2 + 5 + c.calls_retried);
}

static void
attempts_are_counted_and_those_that_the_budget_refused(void **state)
{
    (void)state;
    play(act_again);
}

/* Two failures cost two tokens; each good call gives a tenth back, also one that
 * is good only when it is tried again. */
static void
act_gives_back(struct scene *s)
{
    fails = 2;
    assert_int_equal(VC_OK, call(s, 0, NULL));
    assert_int_equal(2 * VC__RETRY_COST - VC__RETRY_GIVES,
                     atomic_load(&s->channel->budget.missing));
    fails = 0;
    assert_int_equal(VC_OK, call(s, 0, NULL));
    assert_int_equal(2 * VC__RETRY_COST - 2 * VC__RETRY_GIVES,
                     atomic_load(&s->channel->budget.missing));
}

static void
each_good_call_gives_something_back_to_the_budget(void **state)
{
    (void)state;
    play(act_gives_back);
}

static void
act_hedges(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_counters c;

    opts.hedge_ms = 20;
    assert_int_equal(VC_OK, call(s, 0, &opts));
    assert_int_equal(0, scene_client(s).hedges_started);
    assert_int_equal(VC_OK, call(s, SLOW, &opts));
    c = scene_client(s);
    assert_int_equal(1, c.hedges_started);
    assert_int_equal(1, c.hedges_won);
    assert_int_equal(0, c.calls_retried);
    /* The slower attempt is cancelled. */
    assert_int_equal(1, c.cancels_sent);
    atomic_store(&slow_ran, 0);
    opts.hedge_ms = 299;
    assert_int_equal(VC_OK, call(s, SLOW, &opts));
    c = scene_client(s);
    assert_int_equal(2, c.hedges_started);
    assert_in_range(c.hedges_won, 1, 2);
}

static void
hedges_are_counted_and_those_that_won(void **state)
{
    (void)state;
    play(act_hedges);
}

/* --- streams -------------------------------------------------------------- */

static void
said(struct suite_streams_talk_client_stream *stream)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;

    assert_int_equal(VC_OK, suite_streams_talk_send(stream, &request));
    assert_int_equal(VC_OK, suite_streams_talk_receive(stream, &reply));
    vc_message_free(reply);
}

static void
act_streams(struct scene *s)
{
    struct suite_streams_talk_client_stream *streams[3];

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(VC_OK,
                         suite_streams_talk(s->channel, NULL, &streams[i]));
        said(streams[i]);
        assert_int_equal(i + 1, scene_client(s).streams_client);
        assert_int_equal(i + 1, scene_server(s).streams_server);
    }
    assert_int_equal(0, scene_server(s).streams_client);
    assert_int_equal(VC_OK, suite_streams_talk_finish(streams[0]));
    assert_int_equal(2, scene_client(s).streams_client);
    suite_streams_talk_cancel(streams[1]);
    assert_int_equal(1, scene_client(s).streams_client);
    said(streams[2]);
    while (scene_server(s).streams_server > 1)
        fake_sleep_us(MS);
    for (unsigned i = 0; i < 3; i++)
        suite_streams_talk_close(streams[i]);
    assert_int_equal(0, scene_client(s).streams_client);
    assert_int_equal(3, scene_client(s).streams_client_opened);
    assert_int_equal(3, scene_server(s).streams_server_opened);
    assert_int_equal(2, scene_client(s).cancels_sent);
    scene_call(s, 0, 0);
    assert_int_equal(2, scene_server(s).cancels_received);
}

static void
streams_are_counted_while_they_are_open(void **state)
{
    (void)state;
    play(act_streams);
}

/* --- cancelling ----------------------------------------------------------- */

static void
act_deadline(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = 100;
    assert_int_equal(VC_OK, call(s, 0, NULL));
    assert_int_equal(0, scene_client(s).cancels_sent);
    assert_int_equal(VC_DEADLINE_EXCEEDED, call(s, SLOW, &opts));
    assert_int_equal(1, scene_client(s).cancels_sent);
    assert_int_equal(VC_OK, call(s, 0, NULL));
    assert_int_equal(1, scene_server(s).cancels_received);
}

static void
cancels_are_counted_by_who_sends_and_who_gets_them(void **state)
{
    (void)state;
    play(act_deadline);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            attempts_are_counted_and_those_that_the_budget_refused),
        cmocka_unit_test(each_good_call_gives_something_back_to_the_budget),
        cmocka_unit_test(hedges_are_counted_and_those_that_won),
        cmocka_unit_test(streams_are_counted_while_they_are_open),
        cmocka_unit_test(cancels_are_counted_by_who_sends_and_who_gets_them),
    };

    sim_service(&harmless, harmless_methods, VC_METHOD_NO_SIDE_EFFECTS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
