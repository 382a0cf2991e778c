/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a server tells clients about its services. */
#include <stdio.h>
#include <string.h>

#include "grpc/health/v1/health.vc.h"
#include "rpc/server/service.h"
#include "tests/sim/scene.h"
#include "verbcall/reflection/v1/reflection.vc.h"

static struct vc_server *the_server;
static struct vc_health *the_health;

static enum vc_status
add_both(struct vc_server *server, struct sim_server *s)
{
    scene_take_orders(s);
    the_server = server;
    assert_int_equal(vc_health_new(server, &the_health),
                     VC_OK); /* one more service */
    assert_int_equal(vc_reflection_add(server), VC_OK);
    assert_int_equal(vc_reflection_add(server), VC_ALREADY_EXISTS);
    return VC_OK;
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

/* --- List -------------------------------------------------------------- */

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
    vc_message_free(reply);
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
    scene_have_done(s, add_other);
    assert_names(s, names, 4);
    scene_have_done(s, remove_other);
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
    vc_message_free(reply);
}

static void
reflection_names_methods_and_their_types(void **state)
{
    (void)state;
    play(looks_at_methods);
}

/* Services as another generator might make them, without `file`. */
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

    scene_have_done(s, add_many);
    reply = list(s);
    one = reply->services[7];
    assert_int_equal(one->n_methods, 4);
    assert_kind(one->methods[0], false, false, false);
    assert_kind(one->methods[1], true, false, false);
    assert_kind(one->methods[2], false, true, false);
    assert_kind(one->methods[3], false, false, true);
    vc_message_free(reply);
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

    scene_have_done(s, add_many);
    reply = list(s);
    assert_int_equal(reply->n_services, MANY + 3);
    for (size_t i = 1; i < reply->n_services; i++)
        assert_true(
            strcmp(reply->services[i - 1]->name, reply->services[i]->name) < 0);
    vc_message_free(reply);
}

static void
reflection_lists_any_number_of_services_in_the_order_of_names(void **state)
{
    (void)state;
    play(lists_many);
}

/* --- File -------------------------------------------------------------- */

/* On VC_OK the file must be that of this service, byte for byte. */
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
        vc_message_free(reply);
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
    scene_have_done(s, add_many);
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
