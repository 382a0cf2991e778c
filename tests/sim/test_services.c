/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's own services, as a client sees them: health and reflection. */
#include <stdio.h>
#include <string.h>

#include "grpc/health/v1/health.vc.h"
#include "rpc/service.h"
#include "tests/sim/scene.h"
#include "verbcall/reflection/v1/reflection.vc.h"

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING                                                            \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__UNKNOWN

static struct vc_server *the_server;
static struct vc_health *the_health;

/* Has the server do something, in its own process: in a handler. */
static void (*to_do)(void);

static void
do_it(struct sim_server *s)
{
    (void)s;
    to_do();
}

static void
have_done(struct scene *s, void (*what)(void))
{
    to_do = what;
    scene_call(s, 8, 1);
}

static enum vc_status
add_both(struct vc_server *server, struct sim_server *s)
{
    s->inside = do_it;
    the_server = server;
    assert_int_equal(vc_health_add(server, &the_health), VC_OK);
    return vc_reflection_add(server);
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

        s.server.add = add_both;
        s.server.closed = free_health;
        scene_run(&s, seed);
    }
}

/* --- health ------------------------------------------------------------ */

/* What the client is told, VC_OK with *health. */
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
        vc_reply_free(reply);
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
    have_done(s, set_probe);
    assert_health(s, "suite.Probe", SERVING);
    have_done(s, unset_probe);
    assert_health(s, "suite.Probe", NOT_SERVING);
    have_done(s, set_probe);
    assert_health(s, "suite.Probe", SERVING);
    have_done(s, remove_probe);
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
    have_done(s, unset_probe);
    assert_health(s, "", SERVING);
    have_done(s, unset_server);
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

    assert_int_equal(vc_health_add(the_server, &second), VC_ALREADY_EXISTS);
    assert_null(second);
    assert_int_equal(vc_reflection_add(the_server), VC_ALREADY_EXISTS);
}

static void
has_them_added_again(struct scene *s)
{
    have_done(s, add_again);
    assert_health(s, "", SERVING);
}

static void
a_server_has_each_of_them_once(void **state)
{
    (void)state;
    play(has_them_added_again);
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
    have_done(s, fill_health);
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

static struct vc_stream *
watch(struct vc_channel *channel, const char *service)
{
    Grpc__Health__V1__HealthCheckRequest request =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream;

    request.service = (char *)service;
    opts.timeout_ms = VC_NO_DEADLINE;
    assert_int_equal(
        grpc_health_v1_health_watch(channel, &request, &opts, &stream), VC_OK);
    return stream;
}

static void
assert_told(struct vc_stream *stream, int expected)
{
    Grpc__Health__V1__HealthCheckResponse *said;

    assert_int_equal(grpc_health_v1_health_watch_receive(stream, &said), VC_OK);
    assert_non_null(said);
    assert_int_equal(said->status, expected);
    vc_reply_free(said);
}

static void
watches_probe(struct scene *s)
{
    struct vc_stream *stream = watch(s->channel, "suite.Probe");

    assert_told(stream, SERVICE_UNKNOWN);
    have_done(s, unset_server); /* not of it */
    have_done(s, set_probe);
    assert_told(stream, SERVING);
    have_done(s, set_probe); /* no change */
    have_done(s, unset_probe);
    assert_told(stream, NOT_SERVING);
    have_done(s, remove_probe);
    assert_told(stream, SERVICE_UNKNOWN);
    vc_stream_close(stream);
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
    struct vc_stream *one = watch(s->channel, ""),
                     *other = watch(s->channel, "suite.Probe");
    Grpc__Health__V1__HealthCheckResponse *said;

    assert_told(one, SERVING);
    assert_told(other, SERVICE_UNKNOWN);
    have_done(s, stop_health);
    assert_told(one, NOT_SERVING);
    assert_int_equal(grpc_health_v1_health_watch_receive(one, &said),
                     VC_UNAVAILABLE);
    assert_int_equal(grpc_health_v1_health_watch_receive(other, &said),
                     VC_UNAVAILABLE);
    vc_stream_close(one);
    vc_stream_close(other);
    assert_health(s, "", NOT_SERVING);
}

static void
a_server_that_stops_serves_no_more_and_ends_those_who_watch(void **state)
{
    (void)state;
    play(watches_a_stop);
}

/* Their ends must reach the server: it closes only when no handler runs. */
static void
leaves_while_it_watches(struct scene *s)
{
    struct vc_channel *channel;
    struct vc_stream *stream;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    stream = watch(channel, "");
    assert_told(stream, SERVING);
    vc_channel_close(channel);
    vc_stream_close(stream);
    stream = watch(s->channel, "");
    assert_told(stream, SERVING);
    sim_server_close(&s->server);
    while (atomic_load(&s->server.runtime) != NULL)
        fake_sleep_us(1000);
    vc_stream_close(stream);
}

static void
a_watch_ends_with_its_client_and_with_the_server(void **state)
{
    (void)state;
    play(leaves_while_it_watches);
}

static void
watches_too_often(struct scene *s)
{
    struct vc_stream *streams[VC_HEALTH_WATCHERS_MAX], *more;
    Grpc__Health__V1__HealthCheckResponse *said;

    for (unsigned i = 0; i < VC_HEALTH_WATCHERS_MAX; i++) {
        streams[i] = watch(s->channel, "");
        assert_told(streams[i], SERVING);
    }
    more = watch(s->channel, "");
    assert_int_equal(grpc_health_v1_health_watch_receive(more, &said),
                     VC_RESOURCE_EXHAUSTED);
    vc_stream_close(more);
    for (unsigned i = 0; i < VC_HEALTH_WATCHERS_MAX; i++)
        vc_stream_close(streams[i]);
}

static void
those_who_watch_are_limited(void **state)
{
    (void)state;
    play(watches_too_often);
}

/* --- reflection -------------------------------------------------------- */

#define SERVICES_MAX 16

static Verbcall__Reflection__V1__ListReply *
list(struct scene *s)
{
    Verbcall__Reflection__V1__ListRequest request =
        VERBCALL__REFLECTION__V1__LIST_REQUEST__INIT;
    Verbcall__Reflection__V1__ListReply *reply;

    if (verbcall_reflection_v1_reflection_list(s->channel, &request, NULL,
                                               &reply) != VC_OK)
        fail_msg("%s", vc_error());
    return reply;
}

static void
assert_names(struct scene *s, const char *const *names, size_t n)
{
    Verbcall__Reflection__V1__ListReply *reply = list(s);

    assert_int_equal(reply->n_services, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(reply->services[i]->name, names[i]);
    vc_reply_free(reply);
}

static void
add_other(void)
{
    static const struct suite_other_methods none;

    assert_int_equal(suite_other_add(the_server, &none, NULL), VC_OK);
}

static void
remove_other(void)
{
    assert_int_equal(vc_server_remove(the_server, &suite_other_service), VC_OK);
}

static void
lists_services(struct scene *s)
{
    static const char *const names[] = {"grpc.health.v1.Health", "suite.Other",
                                        "suite.Probe",
                                        "verbcall.reflection.v1.Reflection"};
    static const char *const fewer[] = {names[0], "suite.Probe",
                                        "verbcall.reflection.v1.Reflection"};

    assert_names(s, fewer, 3);
    have_done(s, add_other);
    assert_names(s, names, 4);
    have_done(s, remove_other);
    assert_names(s, fewer, 3);
}

static void
reflection_lists_the_services_that_are_there_when_it_is_asked(void **state)
{
    (void)state;
    play(lists_services);
}

static void
looks_at_methods(struct scene *s)
{
    Verbcall__Reflection__V1__ListReply *reply = list(s);
    Verbcall__Reflection__V1__Service *probe = reply->services[1];

    assert_string_equal(probe->name, "suite.Probe");
    assert_int_equal(probe->n_methods, suite_probe_service.n_methods);
    assert_string_equal(probe->methods[0]->name, "Echo");
    assert_string_equal(probe->methods[0]->request_type, "suite.EchoRequest");
    assert_string_equal(probe->methods[0]->reply_type, "suite.EchoReply");
    assert_string_equal(probe->methods[3]->name, "Count");
    assert_string_equal(probe->methods[3]->request_type, "suite.Empty");
    vc_reply_free(reply);
}

static void
reflection_names_methods_and_their_types(void **state)
{
    (void)state;
    play(looks_at_methods);
}

/* Services as a generator might make them, without their files. */
#define MANY 200

static const struct vc_method kinds[] = {
    {.name = "Plain",
     .request = {.desc = &suite__empty__descriptor},
     .reply = {.desc = &suite__empty__descriptor}},
    {.name = "Up",
     .flags = VC_METHOD_CLIENT_STREAM,
     .request = {.desc = &suite__empty__descriptor},
     .reply = {.desc = &suite__empty__descriptor}},
    {.name = "Down",
     .flags = VC_METHOD_SERVER_STREAM,
     .request = {.desc = &suite__empty__descriptor},
     .reply = {.desc = &suite__empty__descriptor}},
    {.name = "Away",
     .flags = VC_METHOD_ONE_WAY,
     .request = {.desc = &suite__empty__descriptor},
     .reply = {.desc = &suite__empty__descriptor}},
};

static void
add_many(void)
{
    static struct vc_service many[MANY];
    static char names[MANY][16];

    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "many.S%03u", (i * 73) % MANY);
        many[i] = (struct vc_service){
            .name = names[i],
            .id = vc__service_id(names[i], strlen(names[i])),
            .n_methods = 4,
            .methods = kinds};
        assert_int_equal(vc_server_add(the_server, &many[i], "", 1, NULL),
                         VC_OK);
    }
}

static void
assert_kind(const Verbcall__Reflection__V1__Method *m, bool up, bool down,
            bool away)
{
    assert_int_equal(m->client_streams, up);
    assert_int_equal(m->server_streams, down);
    assert_int_equal(m->one_way, away);
}

static void
looks_at_kinds(struct scene *s)
{
    Verbcall__Reflection__V1__ListReply *reply;
    Verbcall__Reflection__V1__Service *one;

    have_done(s, add_many);
    reply = list(s);
    one = reply->services[7];
    assert_int_equal(one->n_methods, 4);
    assert_kind(one->methods[0], false, false, false);
    assert_kind(one->methods[1], true, false, false);
    assert_kind(one->methods[2], false, true, false);
    assert_kind(one->methods[3], false, false, true);
    vc_reply_free(reply);
}

static void
reflection_says_which_methods_stream_and_which_are_one_way(void **state)
{
    (void)state;
    play(looks_at_kinds);
}

static void
lists_many(struct scene *s)
{
    Verbcall__Reflection__V1__ListReply *reply;

    have_done(s, add_many);
    reply = list(s);
    assert_int_equal(reply->n_services, MANY + 3);
    for (size_t i = 1; i < reply->n_services; i++)
        assert_true(
            strcmp(reply->services[i - 1]->name, reply->services[i]->name) < 0);
    vc_reply_free(reply);
}

static void
reflection_lists_any_number_of_services_in_the_order_of_names(void **state)
{
    (void)state;
    play(lists_many);
}

/* When it is VC_OK it must be this service's, byte for byte. */
static enum vc_status
ask_for_file(struct scene *s, const char *symbol,
             const struct vc_service *service)
{
    Verbcall__Reflection__V1__FileRequest request =
        VERBCALL__REFLECTION__V1__FILE_REQUEST__INIT;
    Verbcall__Reflection__V1__FileReply *reply;
    enum vc_status status;

    request.symbol = (char *)symbol;
    status = verbcall_reflection_v1_reflection_file(s->channel, &request, NULL,
                                                    &reply);
    if (status == VC_OK) {
        assert_true(service->file_length > 0);
        assert_int_equal(reply->file_descriptor_set.len, service->file_length);
        assert_memory_equal(reply->file_descriptor_set.data, service->file,
                            service->file_length);
        vc_reply_free(reply);
    }
    return status;
}

static void
asks_for_files(struct scene *s)
{
    static const char *const probe[] = {"suite.Probe", "suite.Probe.Echo",
                                        "suite.Probe.Nest"};
    static const char *const health[] = {"grpc.health.v1.Health",
                                         "grpc.health.v1.Health.Check"};

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ask_for_file(s, probe[i], &suite_probe_service),
                         VC_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            ask_for_file(s, health[i], &grpc_health_v1_health_service), VC_OK);
}

static void
reflection_gives_the_file_of_a_service_or_method(void **state)
{
    (void)state;
    play(asks_for_files);
}

static void
asks_for_what_is_not_there(struct scene *s)
{
    static const char *const unknown[] = {"suite.Probe.Ech",
                                          "suite.Probe.",
                                          "suite.Prob",
                                          "suite",
                                          "",
                                          ".",
                                          "Probe.Echo",
                                          "suite.Absent",
                                          "suite.Probe.Echo.x"};

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_int_equal(ask_for_file(s, unknown[i], NULL), VC_NOT_FOUND);
    have_done(s, add_many);
    assert_int_equal(ask_for_file(s, "many.S001", NULL),
                     VC_FAILED_PRECONDITION);
    assert_non_null(strstr(vc_error(), "many.S001"));
}

static void
reflection_says_that_a_symbol_or_its_file_is_not_there(void **state)
{
    (void)state;
    play(asks_for_what_is_not_there);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_sees_what_was_last_said_of_a_service),
        cmocka_unit_test(
            a_server_serves_until_it_says_otherwise_and_no_name_stands_for_another),
        cmocka_unit_test(a_server_has_each_of_them_once),
        cmocka_unit_test(the_names_of_which_a_server_speaks_are_limited),
        cmocka_unit_test(who_watches_a_service_is_told_each_change_of_it),
        cmocka_unit_test(
            a_server_that_stops_serves_no_more_and_ends_those_who_watch),
        cmocka_unit_test(a_watch_ends_with_its_client_and_with_the_server),
        cmocka_unit_test(those_who_watch_are_limited),
        cmocka_unit_test(
            reflection_lists_the_services_that_are_there_when_it_is_asked),
        cmocka_unit_test(reflection_names_methods_and_their_types),
        cmocka_unit_test(
            reflection_lists_any_number_of_services_in_the_order_of_names),
        cmocka_unit_test(reflection_gives_the_file_of_a_service_or_method),
        cmocka_unit_test(
            reflection_says_that_a_symbol_or_its_file_is_not_there),
        cmocka_unit_test(
            reflection_says_which_methods_stream_and_which_are_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
