/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Events of rdma_cm that need no reaction, and events with private data; and
 * failures in the form in which old versions of librdmacm returned them. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/rdma.h>

#include "tests/sim/scene.h"

#define MS 1000u

/* --- events that need no reaction ---------------------------------------- */

static void
events_come(struct fake_process *p)
{
    fake_cm_event(p, RDMA_CM_EVENT_ADDR_CHANGE, 0);
    fake_cm_event(p, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    fake_cm_event(p, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    fake_cm_event(p, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    fake_cm_event(p, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
}

static void
are_counted(const struct vc_counters *c)
{
    assert_int_equal(c->cm_address_changes, 1);
    assert_int_equal(c->cm_unreachable, 2);
    assert_int_equal(c->cm_hints, 2);
    assert_int_equal(c->cm_timewaits, 1);
    assert_int_equal(c->cm_multicast_errors, 1);
    assert_int_equal(c->links_made, 1);
    assert_int_equal(c->links_up, 1);
}

static void
goes_on_calling(struct scene *s)
{
    struct vc_counters client, server;

    scene_call(s, 64, 1);
    events_come(fake_process_self());
    events_come(s->server.process);
    fake_sleep_us(10 * MS);
    scene_call(s, 64, 1);
    client = scene_client(s);
    server = scene_server(s);
    are_counted(&client);
    are_counted(&server);
}

static void
events_that_ask_for_nothing_are_counted_and_the_link_lives(void **state)
{
    (void)state;
    scene_play(goes_on_calling, NULL);
}

/* --- events with private data --------------------------------------------- */

/* The fake overwrites an event's private data when the event is acknowledged.
 * So the hello, the accept and the text of the reject must have been copied. */
static void
connects_and_is_refused(struct scene *s)
{
    struct vc_channel *channel;

    scene_call(s, 64, 1);
    assert_int_equal(vc_channel_open(s->runtime, s->server.target,
                                     VC_CHANNEL_OPTS(.max_links = 2), &channel),
                     VC_OK);
    assert_int_equal(vc_channel_connect(channel, &suite_streams_service),
                     VC_UNIMPLEMENTED);
    if (strstr(vc_error(), "refused: ") == NULL)
        fail_msg("%s", vc_error());
    vc_channel_close(channel);
    assert_int_equal(scene_server(s).rejects_service, 1);
    assert_int_equal(scene_server(s).rejects_malformed, 0);
}

static void
events_are_copied_before_they_are_acknowledged(void **state)
{
    (void)state;
    scene_play(connects_and_is_refused, NULL);
}

/* --- failures of old versions --------------------------------------------- */

static const struct failure {
    const char *function;
    int err;
    enum vc_status status;
} failures[] = {
    {"rdma_create_id", ENOMEM, VC_RESOURCE_EXHAUSTED},
    {"rdma_set_option", EINVAL, VC_INVALID_ARGUMENT},
    {"rdma_resolve_addr", EADDRNOTAVAIL, VC_UNAVAILABLE},
    {"rdma_resolve_addr", ENODEV, VC_UNAVAILABLE},
    {"rdma_resolve_route", ENODEV, VC_UNAVAILABLE},
    {"rdma_init_qp_attr", ENODEV, VC_UNAVAILABLE},
    {"rdma_connect", ENOMEM, VC_RESOURCE_EXHAUSTED},
    {"rdma_establish", EINVAL, VC_UNAVAILABLE},
};
#define FAILURES (sizeof failures / sizeof failures[0])

#define TEXT 512

/* Returns the status of connecting a channel that sets all rdma_cm options. */
static enum vc_status
connect_fails(struct scene *s, const struct failure *f, bool former,
              char text[TEXT])
{
    unsigned struck = fake_failed();
    struct vc_channel *channel;
    enum vc_status status;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target,
                        VC_CHANNEL_OPTS(.connect_timeout_ms = 500,
                                        .rdma = VC_RDMA_OPTS(.tos = 8)),
                        &channel),
        VC_OK);
    fake_cm_former(former);
    fake_fail(fake_process_self(), f->function, 1, f->err);
    status = vc_channel_connect(channel, &suite_probe_service);
    snprintf(text, TEXT, "%s", vc_error());
    assert_int_equal(fake_failed(), struck + 1);
    fake_fail_no_more();
    fake_cm_former(false);
    vc_channel_close(channel);
    return status;
}

static void
connects_in_vain(struct scene *s)
{
    char now[TEXT], then[TEXT];

    for (size_t i = 0; i < FAILURES; i++) {
        const struct failure *f = &failures[i];

        print_message("%s: %s\n", f->function, strerror(f->err));
        assert_int_equal(connect_fails(s, f, false, now), f->status);
        assert_int_equal(connect_fails(s, f, true, then), f->status);
        assert_string_equal(now, then);
        if (f->status != VC_UNAVAILABLE || f->err != EINVAL)
            assert_non_null(strstr(then, strerror(f->err)));
    }
}

static const struct failure deafness[] = {
    {"rdma_create_id", ENOMEM, VC_RESOURCE_EXHAUSTED},
    {"rdma_set_option", EINVAL, VC_INVALID_ARGUMENT},
    {"rdma_bind_addr", EADDRNOTAVAIL, VC_UNAVAILABLE},
    {"rdma_bind_addr", ENODEV, VC_UNAVAILABLE},
    {"rdma_listen", ENOMEM, VC_RESOURCE_EXHAUSTED},
};
#define DEAFNESS (sizeof deafness / sizeof deafness[0])

static void
listen_fails(struct scene *s, const struct failure *f, bool former)
{
    struct vc_server *server;

    assert_int_equal(
        vc_server_new(s->runtime, VC_SERVER_OPTS(.reuse_address = 1), &server),
        VC_OK);
    fake_cm_former(former);
    fake_fail(fake_process_self(), f->function, 1, f->err);
    assert_int_equal(vc_server_listen(server, "rdma://0.0.0.0:7000"),
                     f->status);
    if (f->err != ENODEV && strstr(vc_error(), strerror(f->err)) == NULL)
        fail_msg("%s: %s", f->function, vc_error());
    fake_fail_no_more();
    fake_cm_former(false);
    vc_server_free(server);
}

static void
listens_in_vain(struct scene *s)
{
    for (size_t i = 0; i < DEAFNESS; i++) {
        print_message("%s: %s\n", deafness[i].function,
                      strerror(deafness[i].err));
        listen_fails(s, &deafness[i], false);
        listen_fails(s, &deafness[i], true);
    }
}

static void
fails_in_both_ways(struct scene *s)
{
    connects_in_vain(s);
    listens_in_vain(s);
    scene_call(s, 64, 1);
}

/* The result does not depend on the former value of errno. */
static void
a_librdmacm_that_returns_errno_is_understood(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = fails_in_both_ways};

    (void)state;
    scene_run(&s, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            events_that_ask_for_nothing_are_counted_and_the_link_lives),
        cmocka_unit_test(events_are_copied_before_they_are_acknowledged),
        cmocka_unit_test(a_librdmacm_that_returns_errno_is_understood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
