/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program written for protobuf-c-rpc, with its own generated files, functions
 * and loop. It calls the service in its own process and, as the same
 * ProtobufCService, on a server. The clients and servers of both generators
 * also call each other. */
#include "tests/suite/fixture.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "tests/suite/directory.h"

#define MANY        1000
#define READABLE_MS 30000

/* --- the program -------------------------------------------------------- */

/* Runs the closures of calls; a service in this process needs none. */
static struct vc_closures *loop;

static void
run_until(const unsigned *calls)
{
    while (*calls == 0)
        assert_status(VC_OK, vc_closures_run(loop, VC_NO_DEADLINE));
}

static struct directory_answer
ask(ProtobufCService *service, const char *text, uint32_t size)
{
    Lookup__Name name = directory_name(text, size);
    struct directory_answer answer = {.calls = 0};

    lookup__directory__by_name(service, &name, directory_told, &answer);
    memset(&name, 0xff, sizeof name);
    run_until(&answer.calls);
    assert_int_equal(1, answer.calls);
    return answer;
}

/* The checks are the same for both kinds of service. */
static void
assert_serves(ProtobufCService *service)
{
    Lookup__Phone phone = directory_phone("555-0001");
    struct directory_answer answer = {.calls = 0};

    assert_string_equal(DIRECTORY_ANN, ask(service, "ann", 0).text);
    assert_string_equal(DIRECTORY_BOB, ask(service, "bob", 5000).text);
    assert_int_not_equal(VC_OK, ask(service, "cid", 0).status);
    assert_int_not_equal(VC_OK, ask(service, NULL, 0).status);

    lookup__directory__by_number(service, &phone, directory_told, &answer);
    run_until(&answer.calls);
    assert_string_equal(DIRECTORY_ANN, answer.text);
}

/* --- setup and teardown ------------------------------------------------- */

struct play {
    struct fixture f;
    ProtobufCService *service; /* of the channel */
};

static void
serve_plain(struct vc_server *server)
{
    static Lookup__Directory_Service directory;

    directory = directory_plain();
    assert_status(VC_OK, vc_server_add_protobuf_c(server, &directory.base, 0));
}

static void
serve_own(struct vc_server *server)
{
    assert_status(VC_OK, lookup_directory_add(server, &directory_own, NULL));
}

static int
setup(void **state)
{
    static struct play play;

    fixture_add = serve_plain;
    fixture_start(&play.f, 1, NULL, NULL);
    assert_status(VC_OK, vc_closures_new(play.f.runtime, &loop));
    assert_status(VC_OK, vc_channel_service(play.f.channel,
                                            &lookup__directory__descriptor,
                                            NULL, loop, &play.service));
    *state = &play;
    return 0;
}

static int
teardown(void **state)
{
    struct play *p = *state;

    if (p->service != NULL)
        protobuf_c_service_destroy(p->service);
    vc_closures_free(loop);
    fixture_stop(&p->f);
    return 0;
}

static void
a_program_for_protobuf_c_rpc_works_as_it_is(void **state)
{
    struct play *p = *state;
    Lookup__Directory_Service here = directory_plain();

    assert_serves(&here.base);
    assert_serves(p->service);
    assert_int_equal(VC_INTERNAL, ask(p->service, "cid", 0).status);
}

/* Checks calls that wait for the server, which was stopped for a while. */
static void
assert_serves_when_ready(struct play *p)
{
    struct vc_call_opts waits = VC_CALL_OPTS_INIT;
    ProtobufCService *patient;

    waits.flags = VC_CALL_WAIT_FOR_READY;
    waits.timeout_ms = 30000;
    assert_status(VC_OK, vc_channel_service(p->f.channel,
                                            &lookup__directory__descriptor,
                                            &waits, loop, &patient));
    assert_serves(patient);
    protobuf_c_service_destroy(patient);
}

static void
calls_fail_without_a_server_and_succeed_when_it_is_back(void **state)
{
    struct play *p = *state;
    uint16_t port = p->f.port;

    for (unsigned round = 0; round < 2; round++) {
        assert_serves(p->service);

        fixture_stop_server(&p->f);

        assert_int_equal(VC_UNAVAILABLE, ask(p->service, "ann", 0).status);
        fixture_start_server_at(&p->f, port, 1, NULL);
        assert_serves_when_ready(p);
    }
}

static void
many_calls_are_under_way_at_a_time(void **state)
{
    struct play *p = *state;
    static struct directory_answer answers[MANY];
    Lookup__Name name = directory_name("ann", 0);

    memset(answers, 0, sizeof answers);
    for (unsigned i = 0; i < MANY; i++)
        lookup__directory__by_name(p->service, &name, directory_told,
                                   &answers[i]);
    for (unsigned i = 0; i < MANY; i++)
        run_until(&answers[i].calls);
    assert_int_equal(VC_DEADLINE_EXCEEDED, vc_closures_run(loop, 0));
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(1, answers[i].calls);
        assert_string_equal(DIRECTORY_ANN, answers[i].text);
    }
}

static void
destroying_a_service_ends_its_calls(void **state)
{
    struct play *p = *state;
    struct directory_answer answers[20] = {{.calls = 0}};
    Lookup__Name name = directory_name("bob", 100000);

    for (unsigned i = 0; i < 20; i++)
        lookup__directory__by_name(p->service, &name, directory_told,
                                   &answers[i]);

    protobuf_c_service_destroy(p->service);
    p->service = NULL;

    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(1, answers[i].calls);
        assert_int_equal(VC_CANCELLED, answers[i].status);
    }
    assert_int_equal(VC_DEADLINE_EXCEEDED, vc_closures_run(loop, 0));
}

static int
readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms);
}

/* A thread of the library receives the reply, so this thread may sleep. */
static void
the_end_of_a_call_makes_the_descriptor_readable(void **state)
{
    struct play *p = *state;
    struct directory_answer answer = {.calls = 0};
    Lookup__Name name = directory_name("ann", 0);
    int fd = vc_closures_fd(loop);

    assert_true(fd >= 0);
    assert_int_equal(fd, vc_closures_fd(loop));
    assert_status(VC_OK, vc_runtime_start(p->f.runtime));
    assert_int_equal(0, readable(fd, 0));

    lookup__directory__by_name(p->service, &name, directory_told, &answer);

    assert_int_equal(1, readable(fd, READABLE_MS));
    assert_int_equal(0, answer.calls); /* the closure waits for
                                        * vc_closures_run() */
    assert_status(VC_OK, vc_closures_run(loop, 0));
    assert_int_equal(1, answer.calls);
    assert_string_equal(DIRECTORY_ANN, answer.text);
    assert_status(VC_DEADLINE_EXCEEDED, vc_closures_run(loop, 0));
    assert_int_equal(0, readable(fd, 0));
}

static void
a_descriptor_of_protobuf_c_names_a_service_everywhere(void **state)
{
    struct play *p = *state;
    const struct vc_service *here, *again, *there;
    Lookup__Name name = directory_name("ann", 0);
    void *entry = NULL;
    char text[256];

    assert_status(VC_OK,
                  vc_runtime_service(p->f.runtime,
                                     &lookup__directory__descriptor, &here));
    assert_status(VC_OK,
                  vc_runtime_service(p->f.runtime,
                                     &lookup__directory__descriptor, &again));
    assert_ptr_equal(here, again);
    assert_string_equal("lookup.Directory", here->name);
    assert_status(VC_OK, vc_channel_connect(p->f.channel, here));
    assert_status(VC_OK,
                  vc_channel_call(p->f.channel, here, 0, &name, NULL, &entry));
    directory_say(entry, text);
    assert_string_equal(DIRECTORY_ANN, text);
    vc_message_free(entry);

    assert_status(VC_OK,
                  vc_runtime_service(p->f.server_runtime,
                                     &lookup__directory__descriptor, &there));
    assert_status(VC_OK, vc_server_remove(p->f.server, there));

    assert_status(VC_UNIMPLEMENTED,
                  vc_channel_call(p->f.channel, here, 0, &name, NULL, &entry));
    assert_int_equal(VC_UNIMPLEMENTED, ask(p->service, "ann", 0).status);
}

/* --- both generators ---------------------------------------------------- */

static void
assert_own_client_is_served(struct vc_channel *channel)
{
    Lookup__Name name = directory_name("bob", 5000);
    Lookup__Entry *entry;
    char text[256];

    assert_status(VC_OK,
                  lookup_directory_by_name(channel, &name, NULL, &entry));
    directory_say(entry, text);
    assert_string_equal(DIRECTORY_BOB, text);
    vc_message_free(entry);
}

static void
our_client_calls_a_server_of_theirs_and_the_other_way_round(void **state)
{
    struct play *p = *state;
    uint16_t port = p->f.port;

    assert_own_client_is_served(p->f.channel);

    fixture_stop_server(&p->f);
    fixture_add = serve_own;
    fixture_start_server_at(&p->f, port, 1, NULL);
    assert_serves_when_ready(p);
    assert_serves(p->service);
    assert_int_equal(VC_NOT_FOUND, ask(p->service, "cid", 0).status);
    assert_string_equal("there is no cid", ask(p->service, "cid", 0).text);
    assert_own_client_is_served(p->f.channel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_program_for_protobuf_c_rpc_works_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(
            calls_fail_without_a_server_and_succeed_when_it_is_back, setup,
            teardown),
        cmocka_unit_test_setup_teardown(many_calls_are_under_way_at_a_time,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(destroying_a_service_ends_its_calls,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_end_of_a_call_makes_the_descriptor_readable, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_descriptor_of_protobuf_c_names_a_service_everywhere, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            our_client_calls_a_server_of_theirs_and_the_other_way_round, setup,
            teardown),
    };

    return fixture_main(tests);
}
