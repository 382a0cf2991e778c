/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The health of a server and its services, as a client sees it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "grpc/health/v1/health.vc.h"
#include "tests/sim/scene.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING                                                            \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__UNKNOWN

static struct vc_server *the_server;
static struct vc_health *the_health;

static enum vc_status
add_health(struct vc_server *server, struct sim_server *s)
{
    scene_take_orders(s);
    the_server = server;
    return vc_health_new(server, &the_health);
}

static void
free_health(struct sim_server *s)
{
    (void)s;
    vc_health_free(the_health);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.add = add_health;
        s.server.closed = free_health;
        scene_run(&s, seed);
    }
}

/* --- Check ------------------------------------------------------------- */

/* Returns the status that the client gets; on VC_OK sets *health. */
static enum vc_status
check(struct scene *s, const char *service, int *health)
{
    Grpc__Health__V1__HealthCheckRequest request =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    Grpc__Health__V1__HealthCheckResponse *reply;
    enum vc_status status;

    request.service = (char *)service;
    *health = UNKNOWN;
    status = grpc_health_v1_health_check(s->channel, &request, NULL, &reply);
    if (status == VC_OK) {
        *health = (int)reply->status;
        vc_message_free(reply);
    }
    return status;
}

static void
assert_health(struct scene *s, const char *service, int expected)
{
    int health;

    assert_int_equal(check(s, service, &health), VC_OK);
    assert_int_equal(health, expected);
}

static void
assert_no_health(struct scene *s, const char *service)
{
    int health;

    assert_int_equal(check(s, service, &health), VC_NOT_FOUND);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_EXECUTED);
    assert_non_null(strstr(vc_error(), service));
}

static void
set_probe(void)
{
    assert_int_equal(vc_health_set(the_health, "suite.Probe", true), VC_OK);
}

static void
unset_probe(void)
{
    assert_int_equal(vc_health_set(the_health, "suite.Probe", false), VC_OK);
}

static void
remove_probe(void)
{
    assert_int_equal(vc_health_remove(the_health, "suite.Probe"), VC_OK);
    assert_int_equal(vc_health_remove(the_health, "suite.Probe"), VC_NOT_FOUND);
}

static void
unset_server(void)
{
    assert_int_equal(vc_health_set(the_health, "", false), VC_OK);
}

static void
asks_for_probe(struct scene *s)
{
    assert_no_health(s, "suite.Probe");
    scene_have_done(s, set_probe);
    assert_health(s, "suite.Probe", SERVING);
    scene_have_done(s, unset_probe);
    assert_health(s, "suite.Probe", NOT_SERVING);
    scene_have_done(s, set_probe);
    assert_health(s, "suite.Probe", SERVING);
    scene_have_done(s, remove_probe);
    assert_no_health(s, "suite.Probe");
}

static void
a_client_sees_what_was_last_said_of_a_service(void **state)
{
    (void)state;
    play(asks_for_probe);
}

static void
asks_for_the_server(struct scene *s)
{
    assert_health(s, "", SERVING);
    scene_have_done(s, unset_probe);
    assert_health(s, "", SERVING);
    scene_have_done(s, unset_server);
    assert_health(s, "", NOT_SERVING);
    assert_health(s, "suite.Probe", NOT_SERVING);
    assert_no_health(s, "suite.Prob");
    assert_no_health(s, "suite.Probe2");
}

static void
a_server_serves_until_it_says_otherwise_and_no_name_stands_for_another(
    void **state)
{
    (void)state;
    play(asks_for_the_server);
}

static void
add_again(void)
{
    struct vc_health *second = NULL;

    assert_int_equal(vc_health_new(the_server, &second), VC_ALREADY_EXISTS);
    assert_null(second);
}

static void
has_it_added_again(struct scene *s)
{
    scene_have_done(s, add_again);
    assert_health(s, "", SERVING);
}

static void
a_server_has_its_health_once(void **state)
{
    (void)state;
    play(has_it_added_again);
}

static void
fill_health(void)
{
    char name[32];

    for (unsigned i = 1; i < VC_HEALTH_MAX; i++) {
        snprintf(name, sizeof name, "some.S%u", i);
        assert_int_equal(vc_health_set(the_health, name, true), VC_OK);
    }
    assert_int_equal(vc_health_set(the_health, "one.More", true),
                     VC_RESOURCE_EXHAUSTED);
    assert_int_equal(vc_health_set(the_health, "some.S1", false), VC_OK);
    assert_int_equal(vc_health_remove(the_health, "some.S2"), VC_OK);
    assert_int_equal(vc_health_set(the_health, "one.More", true), VC_OK);
}

static void
has_it_filled(struct scene *s)
{
    scene_have_done(s, fill_health);
    assert_health(s, "some.S1", NOT_SERVING);
    assert_no_health(s, "some.S2");
    assert_health(s, "one.More", SERVING);
}

static void
the_names_of_which_a_server_speaks_are_limited(void **state)
{
    (void)state;
    play(has_it_filled);
}

/* --- Watch ------------------------------------------------------------- */

#define SERVICE_UNKNOWN                                                        \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

static struct grpc_health_v1_health_watch_client_stream *
watch(struct vc_channel *channel, const char *service)
{
    Grpc__Health__V1__HealthCheckRequest request =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct grpc_health_v1_health_watch_client_stream *stream;

    request.service = (char *)service;
    opts.timeout_ms = VC_NO_DEADLINE;
    assert_int_equal(
        grpc_health_v1_health_watch(channel, &request, &opts, &stream), VC_OK);
    return stream;
}

/* Returns the next state, which is another one than this. */
static int
assert_other(struct grpc_health_v1_health_watch_client_stream *stream, int than)
{
    Grpc__Health__V1__HealthCheckResponse *said = NULL;
    int word;

    assert_int_equal(grpc_health_v1_health_watch_receive(stream, &said), VC_OK);
    assert_non_null(said);
    word = (int)said->status;
    assert_int_not_equal(word, than);
    vc_message_free(said);
    return word;
}

static void
assert_told(struct grpc_health_v1_health_watch_client_stream *stream,
            int expected)
{
    assert_int_equal(assert_other(stream, UNKNOWN), expected);
}

/* Receives until this state comes; returns how many messages that took. */
static unsigned
await_told(struct grpc_health_v1_health_watch_client_stream *stream,
           int expected)
{
    int word = UNKNOWN;
    unsigned n = 0;

    for (; word != expected; n++)
        word = assert_other(stream, word);
    return n;
}

/* The watch ends as vc_health_stop() has it. */
static void
assert_ends(struct grpc_health_v1_health_watch_client_stream *stream)
{
    Grpc__Health__V1__HealthCheckResponse *said = NULL;

    assert_int_equal(grpc_health_v1_health_watch_receive(stream, &said),
                     VC_UNAVAILABLE);
    assert_non_null(strstr(vc_error(), "the server is about to stop"));
    grpc_health_v1_health_watch_close(stream);
}

static void
watches_probe(struct scene *s)
{
    struct grpc_health_v1_health_watch_client_stream *stream =
        watch(s->channel, "suite.Probe");

    assert_told(stream, SERVICE_UNKNOWN);
    scene_have_done(s, unset_server); /* not what is watched */
    scene_have_done(s, set_probe);
    assert_told(stream, SERVING);
    scene_have_done(s, set_probe); /* no change */
    scene_have_done(s, unset_probe);
    assert_told(stream, NOT_SERVING);
    scene_have_done(s, remove_probe);
    assert_told(stream, SERVICE_UNKNOWN);
    grpc_health_v1_health_watch_close(stream);
}

static void
who_watches_a_service_is_told_each_change_of_it(void **state)
{
    (void)state;
    play(watches_probe);
}

static void
stop_health(void)
{
    vc_health_stop(the_health);
    assert_int_equal(vc_health_set(the_health, "", true), VC_OK);
}

static void
watches_a_stop(struct scene *s)
{
    struct grpc_health_v1_health_watch_client_stream *one =
                                                         watch(s->channel, ""),
                                                     *other =
                                                         watch(s->channel,
                                                               "suite.Probe");

    assert_told(one, SERVING);
    assert_told(other, SERVICE_UNKNOWN);
    scene_have_done(s, stop_health);
    assert_told(one, NOT_SERVING);
    assert_ends(one);
    assert_ends(other);
    assert_health(s, "", NOT_SERVING);
}

static void
a_server_that_stops_serves_no_more_and_ends_those_who_watch(void **state)
{
    (void)state;
    play(watches_a_stop);
}

/* The end of each watch must reach the server, because the server closes only
 * when no handler runs. */
static void
leaves_while_it_watches(struct scene *s)
{
    struct vc_channel *channel;
    struct grpc_health_v1_health_watch_client_stream *stream;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    stream = watch(channel, "");
    assert_told(stream, SERVING);
    vc_channel_close(channel);
    grpc_health_v1_health_watch_close(stream);
    stream = watch(s->channel, "");
    assert_told(stream, SERVING);
    sim_server_close(&s->server);
    while (atomic_load(&s->server.runtime) != NULL)
        fake_sleep_us(1000);
    grpc_health_v1_health_watch_close(stream);
}

static void
a_watch_ends_with_its_client_and_with_the_server(void **state)
{
    (void)state;
    play(leaves_while_it_watches);
}

/* A session has 256 slots. */
#define WATCHERS_EACH 250u
#define CHANNELS      (VC_HEALTH_WATCHERS_MAX / WATCHERS_EACH + 1)

static bool
may_watch(struct scene *s)
{
    struct grpc_health_v1_health_watch_client_stream *stream =
        watch(s->channel, "");
    Grpc__Health__V1__HealthCheckResponse *said = NULL;
    enum vc_status status = grpc_health_v1_health_watch_receive(stream, &said);

    vc_message_free(said);
    grpc_health_v1_health_watch_close(stream);
    if (status != VC_OK)
        assert_int_equal(status, VC_RESOURCE_EXHAUSTED);
    return status == VC_OK;
}

static void
watches_too_often(struct scene *s)
{
    static struct grpc_health_v1_health_watch_client_stream
        *streams[VC_HEALTH_WATCHERS_MAX];
    struct vc_channel *channels[CHANNELS];

    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(vc_channel_open(s->runtime, s->server.target, &s->opts,
                                         &channels[i]),
                         VC_OK);
    for (unsigned i = 0; i < VC_HEALTH_WATCHERS_MAX; i++) {
        streams[i] = watch(channels[i / WATCHERS_EACH], "");
        assert_told(streams[i], SERVING);
    }
    assert_false(may_watch(s));
    for (unsigned i = 0; i < VC_HEALTH_WATCHERS_MAX; i++)
        grpc_health_v1_health_watch_close(streams[i]);
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
    while (!may_watch(s))
        fake_sleep_us(1000);
}

static void
those_who_watch_are_limited(void **state)
{
    (void)state;
    play(watches_too_often);
}

/* Far more changes than a window has room for, then one that differs from
 * them. */
#define CHANGES 5000u

static void
change_often(void)
{
    for (unsigned i = 0; i < CHANGES; i++)
        assert_int_equal(vc_health_set(the_health, "suite.Probe", i % 2 == 0),
                         VC_OK);
    remove_probe();
}

static void
reads_late(struct scene *s)
{
    struct grpc_health_v1_health_watch_client_stream *stream =
        watch(s->channel, "suite.Probe");
    Grpc__Health__V1__HealthCheckResponse *said;
    enum vc_status status;

    assert_told(stream, SERVICE_UNKNOWN);
    scene_have_done(s, change_often);
    assert_in_range(await_told(stream, SERVICE_UNKNOWN), 100, CHANGES / 2);
    scene_have_done(s, set_probe);
    assert_told(stream, SERVING);

    scene_have_done(s, change_often);
    scene_have_done(s, set_probe);
    scene_have_done(s, stop_health);
    while ((status = grpc_health_v1_health_watch_receive(stream, &said)) ==
           VC_OK)
        vc_message_free(said);
    assert_int_equal(status, VC_UNAVAILABLE);
    grpc_health_v1_health_watch_close(stream);
}

static void
a_watcher_that_does_not_read_gets_the_newest_state(void **state)
{
    (void)state;
    play(reads_late);
}

static atomic_bool doubt_ends;
static pthread_t doubter;

/* In the server's process, on a thread of its own. */
static void *
doubter_main(void *arg)
{
    bool serving = false;

    (void)arg;
    for (; !atomic_load(&doubt_ends); serving = !serving) {
        assert_int_equal(vc_health_set(the_health, "suite.Probe", serving),
                         VC_OK);
        fake_sleep_us(3);
    }
    return NULL;
}

static void
begin_to_doubt(void)
{
    atomic_store(&doubt_ends, false);
    assert_int_equal(pthread_create(&doubter, NULL, doubter_main, NULL), 0);
}

static void
doubt_no_more(void)
{
    atomic_store(&doubt_ends, true);
    pthread_join(doubter, NULL);
    assert_int_equal(vc_health_remove(the_health, "suite.Probe"), VC_OK);
}

/* Each leaves at another moment, the first ones before their handler runs; what
 * it has got until then has changed each time. */
static void
watches_while_states_change(struct scene *s)
{
    struct grpc_health_v1_health_watch_client_stream *last;

    scene_have_done(s, begin_to_doubt);
    for (unsigned i = 0; i < 60; i++) {
        struct grpc_health_v1_health_watch_client_stream *stream =
            watch(s->channel, "suite.Probe");
        int word = UNKNOWN;

        fake_sleep_us(i % 20);
        for (unsigned k = 0; k < i / 20; k++)
            word = assert_other(stream, word);
        grpc_health_v1_health_watch_close(stream);
    }
    last = watch(s->channel, "suite.Probe");
    assert_other(last, SERVICE_UNKNOWN);
    scene_have_done(s, doubt_no_more);
    await_told(last, SERVICE_UNKNOWN);
    scene_have_done(s, set_probe);
    assert_told(last, SERVING);
    scene_have_done(s, stop_health);
    assert_told(last, NOT_SERVING);
    assert_ends(last);
}

static void
watches_end_at_any_moment_of_a_change(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(sim_many(30)); seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .switch_every = 1 + (unsigned)(seed % 4),
                          .act = watches_while_states_change};

        s.server.add = add_health;
        s.server.closed = free_health;
        scene_run(&s, seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_sees_what_was_last_said_of_a_service),
        cmocka_unit_test(
            a_server_serves_until_it_says_otherwise_and_no_name_stands_for_another),
        cmocka_unit_test(a_server_has_its_health_once),
        cmocka_unit_test(the_names_of_which_a_server_speaks_are_limited),
        cmocka_unit_test(who_watches_a_service_is_told_each_change_of_it),
        cmocka_unit_test(
            a_server_that_stops_serves_no_more_and_ends_those_who_watch),
        cmocka_unit_test(a_watch_ends_with_its_client_and_with_the_server),
        cmocka_unit_test(those_who_watch_are_limited),
        cmocka_unit_test(a_watcher_that_does_not_read_gets_the_newest_state),
        cmocka_unit_test(watches_end_at_any_moment_of_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
