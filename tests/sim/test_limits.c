/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The allowed number of calls runs, and no more. Other calls are refused at
 * once, and may be retried. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/caller.h"
#include "tests/sim/later.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define PATIENCE UINT64_C(100000000) /* us */
#define SEEDS    sim_few(8u)
#define HELD     8u /* calls with a lower tag wait for `go` */
#define LATER    9u /* another thread ends it, on later.go */
#define FREE     10u
#define ECHO     0u /* a method of Probe */

static struct seen {
    atomic_uint begun[HELD], go[HELD];
    struct later later;
} seen;

/* --- the server --------------------------------------------------------- */

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag < HELD) {
        sim_tell(&seen.begun[request->tag]);
        assert_true(sim_await(&seen.go[request->tag], PATIENCE));
    }
    if (request->tag != LATER)
        return VC_OK;
    atomic_store(&seen.later.hold, 1);
    return later_take(&seen.later, call);
}

static void
play_service(void (*act)(struct scene *s), const struct vc_server_opts *opts,
             const struct vc_service *service)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.handle = handle;
        later_serve(&seen.later, &s.server, 0);
        s.server.opts = opts;
        s.server.service = service;
        scene_run(&s, seed);
    }
}

static void
play(void (*act)(struct scene *s), const struct vc_server_opts *opts)
{
    play_service(act, opts, NULL);
}

/* --- callers ----------------------------------------------------------- */

/* Starts a call that runs until caller_let_go(). */
static void
caller_hold(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    *c = (struct caller){.channel = channel, .tag = tag, .size = 64};
    caller_begin(c);
    if (tag < HELD)
        assert_true(sim_await(&seen.begun[tag], PATIENCE));
    else
        while (atomic_load(&sim_ran[tag]) == 0)
            fake_sleep_us(MS);
}

static void
caller_let_go(struct caller *c)
{
    sim_tell(c->tag < HELD ? &seen.go[c->tag] : &seen.later.go);
    pthread_join(c->thread, NULL);
    assert_int_equal(c->status, VC_OK);
}

static void
is_refused(struct vc_channel *channel, const char *word)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_outcome outcome;
    unsigned ran = atomic_load(&sim_ran[FREE]);

    opts.flags = VC_CALL_NO_RETRY;
    assert_int_equal(sim_echo_opts(channel, 64, FREE, &opts, &outcome),
                     VC_RESOURCE_EXHAUSTED);
    assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_non_null(strstr(vc_error(), word));
    assert_non_null(strstr(vc_error(), "again"));
    assert_int_equal(atomic_load(&sim_ran[FREE]), ran);
}

/* --- limits ------------------------------------------------------------- */

static struct vc_channel *
another_session(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    return channel;
}

/* The limit counts the calls of all sessions. */
static void
act_server(struct scene *s)
{
    struct vc_channel *other = another_session(s);
    struct caller c[2];

    scene_call(s, 64, FREE);
    caller_hold(&c[0], s->channel, 0);
    scene_call(s, 64, FREE);
    caller_hold(&c[1], other, LATER);
    is_refused(s->channel, "max_calls)");
    is_refused(other, "max_calls)");
    caller_let_go(&c[1]);
    scene_call(s, 64, FREE);
    scene_call(s, 64, FREE);
    caller_hold(&c[1], other, 1);
    is_refused(s->channel, "max_calls)");
    caller_let_go(&c[0]);
    caller_let_go(&c[1]);
    scene_call(s, 64, FREE);
    assert_int_equal(scene_server(s).calls_limited, 3);
    vc_channel_close(other);
}

static void
a_server_runs_no_more_calls_than_it_may(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_calls = 2;
    play(act_server, &opts);
}

static void
act_session(struct scene *s)
{
    struct vc_channel *other = another_session(s);
    struct caller c[4];

    caller_hold(&c[0], s->channel, 0);
    caller_hold(&c[1], s->channel, 1);
    is_refused(s->channel, "max_calls_session");
    caller_hold(&c[2], other, 2);
    caller_hold(&c[3], other, LATER);
    is_refused(other, "max_calls_session");
    for (unsigned i = 0; i < 4; i++)
        caller_let_go(&c[i]);
    scene_call(s, 64, FREE);
    assert_int_equal(scene_server(s).calls_limited, 2);
    vc_channel_close(other);
}

static void
a_session_runs_no_more_calls_than_it_may(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_calls_session = 2;
    play(act_session, &opts);
}

/* The limit is set and changed while calls run. */
static void
act_service(struct scene *s)
{
    struct vc_server *server = s->server.server;
    struct caller c[3];

    assert_int_equal(vc_server_limit(server, &suite_absent_service, 1),
                     VC_NOT_FOUND);
    caller_hold(&c[0], s->channel, 0);
    assert_int_equal(vc_server_limit(server, &suite_probe_service, 1), VC_OK);
    caller_hold(&c[1], s->channel, 1);
    is_refused(s->channel, "vc_server_limit");
    assert_int_equal(vc_server_limit(server, &suite_probe_service, 2), VC_OK);
    caller_hold(&c[2], s->channel, 2);
    is_refused(s->channel, "vc_server_limit");
    /* This call was not counted, because it began before the limit. */
    caller_let_go(&c[0]);
    is_refused(s->channel, "vc_server_limit");
    caller_let_go(&c[1]);
    scene_call(s, 64, FREE);
    assert_int_equal(vc_server_limit(server, &suite_probe_service, 0), VC_OK);
    caller_hold(&c[0], s->channel, 3);
    caller_let_go(&c[2]);
    assert_int_equal(vc_server_limit(server, &suite_probe_service, 1), VC_OK);
    scene_call(s, 64, FREE);
    caller_let_go(&c[0]);
    scene_call(s, 64, FREE);
}

static void
a_service_runs_no_more_calls_than_it_may(void **state)
{
    (void)state;
    play(act_service, NULL);
}

static void
another_method(struct vc_channel *channel)
{
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    Suite__Empty *reply;

    request.status = VC_NOT_FOUND;
    request.text = (char *)"as asked for";
    assert_int_equal(suite_probe_fail(channel, &request, NULL, &reply),
                     VC_NOT_FOUND);
}

/* The limit counts the calls of all sessions, but of no other method. */
static void
act_method(struct scene *s)
{
    struct vc_server *server = s->server.server;
    struct vc_channel *other = another_session(s);
    struct caller c[2];

    scene_call(s, 64, FREE);
    caller_hold(&c[0], s->channel, 0);
    scene_call(s, 64, FREE);
    caller_hold(&c[1], other, LATER);
    is_refused(s->channel, "max_calls of its .proto file");
    is_refused(other, "max_calls of its .proto file");
    another_method(s->channel);
    caller_let_go(&c[1]);
    scene_call(s, 64, FREE);
    /* Calls that it refuses do not count for the service's limit. */
    assert_int_equal(vc_server_limit(server, &suite_probe_service, 2), VC_OK);
    caller_hold(&c[1], other, 1);
    for (unsigned i = 0; i < 4; i++)
        is_refused(s->channel, "max_calls of its .proto file");
    another_method(s->channel);
    caller_let_go(&c[0]);
    scene_call(s, 64, FREE);
    caller_let_go(&c[1]);
    assert_int_equal(scene_server(s).calls_limited, 6);
    vc_channel_close(other);
}

static void
a_method_runs_no_more_calls_than_its_proto_file_says(void **state)
{
    struct vc_service service;
    struct vc_method methods[16];

    (void)state;
    sim_service(&service, methods, 0);
    methods[ECHO].max_calls = 2;
    methods[ECHO + 1].max_calls = 1;
    play_service(act_method, NULL, &service);
}

/* A call stops counting when it is refused for another reason, is cancelled, or
 * its client leaves. */
static void
act_ends(struct scene *s)
{
    for (unsigned i = 0; i < 4; i++) {
        struct vc_channel *other = another_session(s);
        Suite__Empty request = SUITE__EMPTY__INIT, *reply;
        struct caller c;

        assert_int_equal(
            suite_probe_missing(s->channel, &request, NULL, &reply),
            VC_UNIMPLEMENTED);
        assert_int_equal(sim_echo(s->channel, 64, i, 5, NULL),
                         VC_DEADLINE_EXCEEDED);
        is_refused(s->channel, "max_calls");
        sim_tell(&seen.go[i]);
        while (scene_server(s).handlers_running > 0)
            fake_sleep_us(MS);
        scene_call(s, 64, FREE);
        caller_hold(&c, other, i + 4);
        vc_channel_close(other);
        pthread_join(c.thread, NULL);
        assert_int_equal(c.status, VC_CANCELLED);
        sim_tell(&seen.go[i + 4]);
        while (scene_server(s).handlers_running > 0)
            fake_sleep_us(MS);
        scene_call(s, 64, FREE);
    }
}

static void
however_a_call_ends_its_place_is_free_again(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_service service;
    struct vc_method methods[16];

    (void)state;
    opts.max_calls = 1;
    play(act_ends, &opts);
    sim_service(&service, methods, 0);
    methods[ECHO].max_calls = 1;
    play_service(act_ends, NULL, &service);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_runs_no_more_calls_than_it_may),
        cmocka_unit_test(a_session_runs_no_more_calls_than_it_may),
        cmocka_unit_test(a_service_runs_no_more_calls_than_it_may),
        cmocka_unit_test(a_method_runs_no_more_calls_than_its_proto_file_says),
        cmocka_unit_test(however_a_call_ends_its_place_is_free_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
