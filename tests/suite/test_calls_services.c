/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Services and methods that exist, that do not, and that are added and
 * removed. */
#include <string.h>

#include "tests/suite/fixture.h"

static void
two_services_share_a_channel(void **state)
{
    struct fixture *f = *state;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    assert_status(VC_OK, suite_other_name(f->channel, &request, NULL, &reply));
    assert_string_equal("other", reply->name);
    vc_message_free(reply);
    assert_status(VC_OK, fixture_echo(f->channel, 20, 2));
}

static void
a_method_without_a_handler_is_unimplemented(void **state)
{
    struct fixture *f = *state;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    assert_status(VC_UNIMPLEMENTED,
                  suite_probe_missing(f->channel, &request, NULL, &reply));
    assert_non_null(strstr(vc_error(), "suite.Probe.Missing"));
}

static void
a_service_that_is_not_there_is_unimplemented_and_not_executed(void **state)
{
    struct fixture *f = *state;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    /* The hello names the service, and is rejected. */
    assert_status(VC_UNIMPLEMENTED,
                  suite_absent_nothing(f->channel, &request, NULL, &reply));
    assert_non_null(strstr(vc_error(), "not served"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    /* An OPEN names the service, and is answered. */
    assert_status(VC_OK, fixture_echo(f->channel, 1, 1));
    assert_status(VC_UNIMPLEMENTED,
                  suite_absent_nothing(f->channel, &request, NULL, &reply));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_status(VC_OK, fixture_echo(f->channel, 1, 1));
}

static enum vc_status
name_again(struct vc_call *call, const Suite__Empty *request,
           Suite__NameReply *reply, void *arg)
{
    (void)request;
    (void)arg;
    reply->name = vc_call_strdup(call, "again");
    return VC_OK;
}

static enum vc_status
nothing(struct vc_call *call, const Suite__Empty *request, Suite__Empty *reply,
        void *arg)
{
    (void)call;
    (void)request;
    (void)reply;
    (void)arg;
    return VC_OK;
}

static void
a_service_may_be_removed_and_added_again(void **state)
{
    struct fixture *f = *state;
    static const struct suite_other_methods none = {0};
    static const struct suite_other_methods again = {.name = name_again};
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    assert_status(VC_OK, suite_other_name(f->channel, &request, NULL, &reply));
    vc_message_free(reply);
    assert_status(VC_ALREADY_EXISTS, suite_other_add(f->server, &none, NULL));

    assert_status(VC_OK, vc_server_remove(f->server, &suite_other_service));

    assert_status(VC_UNIMPLEMENTED,
                  suite_other_name(f->channel, &request, NULL, &reply));
    assert_status(VC_NOT_FOUND,
                  vc_server_remove(f->server, &suite_other_service));
    assert_status(VC_OK, suite_other_add(f->server, &none, NULL));
    /* The same session is used, with another handler. */
    assert_status(VC_UNIMPLEMENTED,
                  suite_other_name(f->channel, &request, NULL, &reply));
    assert_status(VC_OK, vc_server_remove(f->server, &suite_other_service));
    assert_status(VC_OK, suite_other_add(f->server, &again, NULL));
    assert_status(VC_OK, suite_other_name(f->channel, &request, NULL, &reply));
    assert_string_equal(reply->name, "again");
    vc_message_free(reply);
}

/* The session is opened before the service is added. */
static void
a_service_may_be_added_after_its_first_call(void **state)
{
    struct fixture *f = *state;
    static const struct suite_absent_methods methods = {.nothing = nothing};
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    assert_status(VC_OK, fixture_echo(f->channel, 1, 1));
    assert_status(VC_UNIMPLEMENTED,
                  suite_absent_nothing(f->channel, &request, NULL, &reply));
    assert_status(VC_OK, suite_absent_add(f->server, &methods, NULL));
    assert_status(VC_OK,
                  suite_absent_nothing(f->channel, &request, NULL, &reply));
    vc_message_free(reply);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(two_services_share_a_channel),
        T(a_method_without_a_handler_is_unimplemented),
        T(a_service_that_is_not_there_is_unimplemented_and_not_executed),
        T(a_service_may_be_removed_and_added_again),
        T(a_service_may_be_added_after_its_first_call),
    };

    return fixture_main(tests);
}
