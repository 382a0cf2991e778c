/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that end before a server has seen them: the first three tables of
 * doc/outcomes.md. */
#include <errno.h>
#include <string.h>

#include <verbcall/interceptor.h>

#include "tests/sim/outcomes.h"
#include "tests/sim/refuser.h"

/* --- at the client, before it is sent ----------------------------------- */

/* FailRequest, with its text as a required field. */
static void
request_incomplete(struct play *p)
{
    ProtobufCMessageDescriptor strict = suite__fail_request__descriptor;
    ProtobufCFieldDescriptor fields[] = {strict.fields[0], strict.fields[1]};
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;

    fields[1].label = PROTOBUF_C_LABEL_REQUIRED;
    fields[1].default_value = NULL;
    strict.fields = fields;
    request.base.descriptor = &strict;
    request.text = NULL;
    p->request = &request;
    play_meet(p);
    play_call(p);
}

static void
request_over_our_limit(struct play *p)
{
    p->server_opts.max_message = 4096;
    p->size = 5000;
    play_meet(p); /* so the client knows the limit */
    play_call(p);
}

static void
no_memory_for_the_request(struct play *p)
{
    p->size = PLAY_LONG;
    play_meet(p);
    fake_fail_memory(fake_process_self(), p->kind == PLAY_BLOCKING ? 1 : 2);
    play_call(p);
}

static void
metadata_malformed(struct play *p)
{
    static const struct vc_metadata bad = {"Not A Key", "value", 5};

    p->opts.metadata = &bad;
    p->opts.n_metadata = 1;
    play_meet(p);
    play_call(p);
}

static void
metadata_too_long(struct play *p)
{
    static char bytes[VC_METADATA_MAX / 2];
    const struct vc_metadata big[] = {{"a-bin", bytes, sizeof bytes},
                                      {"b-bin", bytes, sizeof bytes}};

    p->opts.metadata = big;
    p->opts.n_metadata = 2;
    play_meet(p);
    play_call(p);
}

static void
cancelled_before(struct play *p)
{
    play_cancellable(p);
    play_cancel(p);
    play_meet(p);
    play_call(p);
}

static enum vc_status
refuse(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    return vc_interception_fail(call, VC_PERMISSION_DENIED, "no");
}

static void
interceptor_of_the_client(struct play *p)
{
    struct vc_interceptor i = VC_INTERCEPTOR_INIT;

    i.start = refuse;
    play_serve(p);
    play_open(p);
    assert_int_equal(VC_OK, vc_channel_intercept(p->channel, &i));
    play_call(p);
}

/* --- while a link is made ----------------------------------------------- */

static void
no_such_host(struct play *p)
{
    strcpy(p->target, "rdma://nowhere:7471");
    play_open(p);
    play_call(p);
}

static void
host_is_silent(struct play *p)
{
    play_serve(p);
    play_open(p);
    play_cut_wire(p);
    play_call(p);
}

static void
no_route(struct play *p)
{
    play_serve(p);
    play_open(p);
    fake_fail(fake_process_self(), "rdma_resolve_route", 1, ENODEV);
    play_call(p);
}

static void
nobody_listens(struct play *p)
{
    play_open(p);
    play_call(p);
}

static void
deadline_while_connecting(struct play *p)
{
    p->opts.timeout_ms = 300;
    host_is_silent(p);
}

static void
cancelled_while_connecting(struct play *p)
{
    play_serve(p);
    play_open(p);
    play_cut_wire(p);
    play_cancellable(p);
    play_begin(p);
    fake_sleep_us(100 * MS);
    play_cancel(p);
    play_finish(p);
}

static void
closed_while_connecting(struct play *p)
{
    play_serve(p);
    play_open(p);
    play_cut_wire(p);
    play_begin(p);
    fake_sleep_us(100 * MS);
    play_close_channel(p);
    play_finish(p);
}

static void
killed_while_connecting(struct play *p)
{
    fake_when("server: event CONNECT_REQUEST", 1, play_kill_server, p);
    play_serve(p);
    play_open(p);
    play_call(p);
}

/* The server's process has accepted, and is then frozen; its kernel goes on. */
static void
silent_once_accepted(struct play *p)
{
    fake_when("server: REP ->", 1, play_freeze_server, p);
    play_serve(p);
    play_open(p);
    play_call(p);
}

/* The client asks for a queue seven times, for less each time, and again on
 * each dial. */
static void
fail_all(const char *function, int err)
{
    for (unsigned nth = 1; nth <= 64; nth++)
        fake_fail(fake_process_self(), function, nth, err);
}

static void
device_refuses_a_queue(struct play *p)
{
    play_serve(p);
    play_open(p);
    fail_all("ibv_create_qp", ENOMEM);
    play_call(p);
}

static void
no_pinned_memory(struct play *p)
{
    play_serve(p);
    play_open(p);
    fail_all("ibv_reg_mr", ENOMEM);
    play_call(p);
}

static void
own_device_removed_before(struct play *p)
{
    play_meet(p);
    fake_device_remove(fake_host_local());
    sim_echo(p->channel, 64, PLAY_WARM, 0, NULL); /* notices it */
    play_call(p);
}

static void
too_many_links(struct play *p)
{
    struct vc_channel *other;

    p->runtime_opts.max_links = 1;
    play_meet(p);
    assert_int_equal(VC_OK, vc_channel_open(p->runtime, "rdma://10.9.0.2:7471",
                                            NULL, &other));
    play_close_channel(p);
    p->channel_opts.max_links = 2;
    assert_int_equal(VC_OK, vc_channel_open(p->runtime, p->target,
                                            &p->channel_opts, &p->channel));
    assert_int_equal(VC_OK, sim_echo(other, 64, PLAY_WARM, 0, NULL));
    play_call(p);
    vc_channel_close(other);
}

/* --- the hello is refused ------------------------------------------------ */

static void
meet_refuser(struct play *p, struct refuser *r)
{
    refuser_start(r, p->there);
    play_open(p);
    play_call(p);
    assert_true(atomic_load(&r->refused) > 0);
    refuser_stop(r);
}

static void
refused(struct play *p, unsigned reason, uint32_t retry_ms)
{
    struct refuser r = {.reason = reason, .retry_ms = retry_ms};

    meet_refuser(p, &r);
    /* Only a refusal with retry_ms says when to try again. */
    assert_int_equal(retry_ms > 0,
                     strstr(p->text, "tried again after") != NULL);
}

static void
refused_version(struct play *p)
{
    refused(p, VC__REJECT_VERSION, 0);
}

static void
refused_service(struct play *p)
{
    refused(p, VC__REJECT_SERVICE, 0);
}

static void
refused_schema(struct play *p)
{
    refused(p, VC__REJECT_SCHEMA, 0);
}

/* sim_server's: adds Other. */
static enum vc_status
add_other(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_other_methods none;

    (void)s;
    return suite_other_add(server, &none, NULL);
}

static void
service_of_another_schema(struct play *p)
{
    static const Suite__Empty empty = SUITE__EMPTY__INIT;
    static struct vc_service changed;

    changed = suite_other_service;
    changed.fingerprint++;
    p->server_opts.schema_check = VC_SCHEMA_REFUSE;
    p->server.add = add_other;
    play_meet(p);
    p->service = &changed;
    p->method = 0;
    p->request = &empty;
    play_call(p);
}

static void
refused_busy(struct play *p)
{
    refused(p, VC__REJECT_BUSY, 0);
}

static void
refused_busy_again_and_again(struct play *p)
{
    refused(p, VC__REJECT_BUSY, 100);
}

static void
refused_limit(struct play *p)
{
    refused(p, VC__REJECT_LIMIT, 0);
}

static void
refused_draining(struct play *p)
{
    refused(p, VC__REJECT_DRAINING, 0);
}

static void
refused_moved_nowhere(struct play *p)
{
    refused(p, VC__REJECT_MOVED, 0);
}

static void
refused_security(struct play *p)
{
    refused(p, VC__REJECT_SECURITY, 0);
}

static void
refused_malformed(struct play *p)
{
    refused(p, VC__REJECT_MALFORMED, 0);
}

static void
refused_pool(struct play *p)
{
    refused(p, VC__REJECT_POOL, 0);
}

static void
refused_unable(struct play *p)
{
    refused(p, VC__REJECT_UNABLE, 0);
}

static void
refused_for_a_reason_of_tomorrow(struct play *p)
{
    refused(p, 200, 0);
}

static void
refused_by_a_stranger(struct play *p)
{
    refused(p, 0, 0);
}

static void
accepted_by_a_stranger(struct play *p)
{
    struct refuser r = {.accepts = true};

    meet_refuser(p, &r);
}

static void
moved_in_a_circle(struct play *p)
{
    p->server_opts.redirect[0] = p->target;
    play_serve(p);
    play_open(p);
    play_call(p);
}

static const struct row rows[] = {
    ROW(request_incomplete, INVALID_ARGUMENT, NOT_EXECUTED),
    ROW(request_over_our_limit, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(no_memory_for_the_request, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(metadata_malformed, INVALID_ARGUMENT, NOT_EXECUTED),
    ROW(metadata_too_long, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(cancelled_before, CANCELLED, NOT_EXECUTED),
    ROW(interceptor_of_the_client, PERMISSION_DENIED, NOT_EXECUTED),

    ROW(no_such_host, UNAVAILABLE, NOT_EXECUTED),
    ROW(host_is_silent, UNAVAILABLE, NOT_EXECUTED),
    ROW(no_route, UNAVAILABLE, NOT_EXECUTED),
    ROW(nobody_listens, UNAVAILABLE, NOT_EXECUTED),
    ROW(deadline_while_connecting, DEADLINE_EXCEEDED, NOT_EXECUTED),
    ROW(cancelled_while_connecting, CANCELLED, NOT_EXECUTED),
    ROW(closed_while_connecting, CANCELLED, NOT_EXECUTED),
    ROW(killed_while_connecting, UNAVAILABLE, NOT_EXECUTED),
    ROW(silent_once_accepted, UNAVAILABLE, UNKNOWN),
    ROW(device_refuses_a_queue, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(no_pinned_memory, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(own_device_removed_before, UNAVAILABLE, NOT_EXECUTED),
    ROW(too_many_links, RESOURCE_EXHAUSTED, NOT_EXECUTED),

    ROW(refused_version, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(refused_service, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(refused_schema, FAILED_PRECONDITION, NOT_EXECUTED),
    ROW(service_of_another_schema, FAILED_PRECONDITION, NOT_EXECUTED),
    ROW(refused_busy, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_busy_again_and_again, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_limit, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(refused_draining, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_moved_nowhere, UNAVAILABLE, NOT_EXECUTED),
    ROW(moved_in_a_circle, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_security, UNAUTHENTICATED, NOT_EXECUTED),
    ROW(refused_malformed, INTERNAL, NOT_EXECUTED),
    ROW(refused_pool, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_unable, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_for_a_reason_of_tomorrow, UNAVAILABLE, NOT_EXECUTED),
    ROW(refused_by_a_stranger, UNAVAILABLE, NOT_EXECUTED),
    ROW(accepted_by_a_stranger, INTERNAL, NOT_EXECUTED),
};

int
main(void)
{
    return play_rows(rows, sizeof rows / sizeof rows[0]);
}
