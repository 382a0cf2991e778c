/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How calls end that have a link: in its queue, refused by the server, on their
 * way, and while their handlers run. See doc/outcomes.md. */
#include <errno.h>
#include <string.h>

#include <verbcall/interceptor.h>
#include <verbcall/server.h>

#include "tests/sim/outcomes.h"

#define ECHO         0u
#define MISSING      4u
#define SHORT_MS     300u
#define BULK         1000000u /* more than a link's credits */
#define LONG_SERVICE 64u      /* methods */

/* --- after others -------------------------------------------------------- */

/* The quota of the session allows no second call at a time. */
static void
behind_another(struct play *p)
{
    p->channel_opts.quota = 1;
    play_connect(p);
    play_other_begin(p);
    play_await_handler(p);
}

static void
begin_behind(struct play *p)
{
    behind_another(p);
    play_begin(p);
    fake_sleep_us(100 * MS);
}

static void
deadline_in_the_queue(struct play *p)
{
    p->opts.timeout_ms = SHORT_MS;
    behind_another(p);
    play_call(p);
    play_other_end(p);
}

static void
cancelled_in_the_queue(struct play *p)
{
    play_cancellable(p);
    begin_behind(p);
    play_cancel(p);
    play_finish(p);
    play_other_end(p);
}

static void
closed_in_the_queue(struct play *p)
{
    begin_behind(p);
    play_close_channel(p);
    play_finish(p);
    play_other_end(p);
}

static void
killed_with_it_in_the_queue(struct play *p)
{
    begin_behind(p);
    play_kill_server(p);
    play_finish(p);
    play_other_end(p);
}

/* A frozen server gives no credits. */
static void
begin_without_credits(struct play *p)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    play_meet(p);
    play_freeze_server(p);
    p->other_size = BULK;
    play_other_begin(p);
    do {
        fake_sleep_us(MS);
        vc_runtime_counters(p->runtime, &c);
    } while (c.stalls_credits == 0);
    play_begin(p);
}

static void
deadline_without_a_credit(struct play *p)
{
    p->opts.timeout_ms = SHORT_MS;
    begin_without_credits(p);
    play_finish(p);
    play_other_end(p);
}

static void
cancelled_without_a_credit(struct play *p)
{
    play_cancellable(p);
    begin_without_credits(p);
    fake_sleep_us(100 * MS);
    play_cancel(p);
    play_finish(p);
    play_other_end(p);
}

/* --- refused by the server ----------------------------------------------- */

static const Suite__Empty empty = SUITE__EMPTY__INIT;

static void
call_absent(struct play *p)
{
    p->service = &suite_absent_service;
    p->method = 0;
    p->request = &empty;
    play_call(p);
}

static void
service_unknown(struct play *p)
{
    play_meet(p);
    call_absent(p);
}

static void
service_removed(struct play *p)
{
    play_meet(p);
    assert_int_equal(VC_OK,
                     vc_server_remove(p->server.server, &suite_probe_service));
    play_call(p);
}

static void
method_unknown(struct play *p)
{
    play_serve(p);
    play_open(p);
    play_method(p, ECHO)->hash = 12345;
    play_call(p);
}

static void
method_without_a_handler(struct play *p)
{
    play_meet(p);
    p->method = MISSING;
    p->request = &empty;
    play_call(p);
}

static size_t
bad_size(const ProtobufCMessage *message)
{
    (void)message;
    return 4;
}

static size_t
bad_pack(const ProtobufCMessage *message, uint8_t *out)
{
    (void)message;
    memset(out, 0xff, 4);
    return 4;
}

static void
request_malformed(struct play *p)
{
    struct vc_method *echo = play_method(p, ECHO);

    echo->request.packed_size = bad_size;
    echo->request.pack = bad_pack;
    play_meet(p);
    play_call(p);
}

/* The first call on its link, when the client does not know the limit yet. */
static void
request_over_their_limit(struct play *p)
{
    p->server_opts.max_message = 4096;
    p->size = PLAY_LONG;
    play_serve(p);
    play_open(p);
    play_call(p);
}

static void
beside_another(struct play *p)
{
    play_other_begin(p);
    play_await_handler(p);
    play_call(p);
    play_other_end(p);
}

static void
too_many_calls_of_the_server(struct play *p)
{
    p->server_opts.max_calls = 1;
    play_meet(p);
    beside_another(p);
}

static void
too_many_calls_of_the_session(struct play *p)
{
    p->server_opts.max_calls_session = 1;
    play_meet(p);
    beside_another(p);
}

static void
too_many_calls_of_the_service(struct play *p)
{
    play_meet(p);
    assert_int_equal(
        VC_OK, vc_server_limit(p->server.server, &suite_probe_service, 1));
    beside_another(p);
}

static void
too_many_calls_of_the_method(struct play *p)
{
    play_method(p, ECHO)->max_calls = 1;
    p->server.service = p->service;
    play_meet(p);
    beside_another(p);
}

static void
too_many_sessions(struct play *p)
{
    p->server_opts.max_sessions = 1;
    play_meet(p);
    call_absent(p);
}

static enum vc_status
refuse(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    return vc_interception_fail(call, VC_PERMISSION_DENIED, "no");
}

static enum vc_status
interceptor_add(struct vc_server *server, struct sim_server *s)
{
    struct vc_interceptor i = VC_INTERCEPTOR_INIT;

    (void)s;
    i.start = refuse;
    return vc_server_intercept(server, &i);
}

static void
interceptor_of_the_server(struct play *p)
{
    p->server.add = interceptor_add;
    play_connect(p);
    play_call(p);
}

/* The server has no memory to count the request's parts. It closes the link,
 * and the request is sent again. */
static void
no_memory_to_begin_a_long_request_there(struct play *p)
{
    p->size = PLAY_LONG;
    play_meet(p);
    fake_fail_memory(p->server.process, 1);
    play_call(p);
}

static void
no_memory_for_a_long_request_there(struct play *p)
{
    p->size = PLAY_LONG;
    play_meet(p);
    fake_fail_memory(p->server.process, 2);
    play_call(p);
}

/* Arms the client's side, for no_memory_to_stop_a_long_request(). */
static void
fail_here(void *arg)
{
    const struct play *p = arg;

    fake_fail_memory(p->here, 1);
}

/* The server refuses the request at its first part, and the client has no
 * memory for the CANCEL that stops the rest. The client closes the link, and
 * sends the request again. Neither the call nor another one of the link ends by
 * that. The service is so long that no memory of its OPEN is kept for the
 * CANCEL. */
static void
no_memory_to_stop_a_long_request(struct play *p)
{
    static struct vc_method methods[LONG_SERVICE];
    static struct vc_service service;
    struct vc_counters c = VC_COUNTERS_INIT;

    service = suite_probe_service;
    for (unsigned i = 0; i < LONG_SERVICE; i++)
        methods[i] = service.methods[i < service.n_methods ? i : 0];
    service.methods = methods;
    service.n_methods = LONG_SERVICE;
    p->service = &service;
    p->size = BULK;
    play_connect(p);
    play_other_begin(p);
    play_await_handler(p);
    fake_fail_memory(p->server.process, 4);
    fake_when("server: an allocation fails", 1, fail_here, p);
    play_call(p);
    play_other_end(p);
    assert_int_equal(p->other_status, VC_OK);
    assert_int_equal(fake_failed(), 2);
    vc_runtime_counters(p->runtime, &c);
    assert_int_equal(c.links_lost, 1);
}

/* There is no memory for a reply, either. The server closes the link, and the
 * request is sent again. */
static void
no_memory_for_a_call_there(struct play *p)
{
    play_connect(p);
    play_other_begin(p); /* takes the call that the server keeps */
    play_await_handler(p);
    fake_fail_memory(p->server.process, 1);
    play_call(p);
    play_other_end(p);
}

/* --- on its way ---------------------------------------------------------- */

static void
sending_fails(struct play *p)
{
    play_meet(p);
    fake_fail(fake_process_self(), "ibv_post_send", 1, ENOMEM);
    play_call(p);
}

static void
link_lost_with_the_request(struct play *p)
{
    play_meet(p);
    fake_rule(": SEND", 1, FAKE_FLUSH, 0);
    play_call(p);
}

static void
killed_before_the_request_arrived(struct play *p)
{
    play_meet(p);
    fake_when(": SEND", 1, play_kill_server, p);
    play_call(p);
}

static void
deadline_on_the_way(struct play *p)
{
    p->opts.timeout_ms = SHORT_MS;
    play_meet(p);
    play_freeze_server(p);
    play_call(p);
}

static void
deadline_half_sent(struct play *p)
{
    p->size = BULK;
    deadline_on_the_way(p);
}

static void
drained_before(struct play *p)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    play_meet(p);
    play_drain(p);
    play_call(p);
    vc_runtime_counters(p->runtime, &c);
    assert_true(c.rejects_got > 0);
}

/* --- while the handler runs ---------------------------------------------- */

static void
begin_long(struct play *p)
{
    p->holds = true;
    play_meet(p);
    play_begin(p);
    play_await_handler(p);
}

static void
deadline_while_it_runs(struct play *p)
{
    p->opts.timeout_ms = SHORT_MS;
    begin_long(p);
    play_finish(p);
}

static void
cancelled_while_it_runs(struct play *p)
{
    play_cancellable(p);
    begin_long(p);
    play_cancel(p);
    play_finish(p);
}

static void
closed_while_it_runs(struct play *p)
{
    begin_long(p);
    play_close_channel(p);
    play_finish(p);
}

static void
link_lost_while_it_runs(struct play *p)
{
    begin_long(p);
    fake_rule("main qp", 1, FAKE_FLUSH, 0); /* a PING */
    fake_sleep_us(2 * S);
    sim_tell(&p->go);
    play_finish(p);
}

static void
killed_while_it_runs(struct play *p)
{
    begin_long(p);
    play_kill_server(p);
    play_finish(p);
}

static void
started_anew_while_it_runs(struct play *p)
{
    begin_long(p);
    play_kill_server(p);
    play_serve(p);
    play_finish(p);
}

static void
silent_while_it_runs(struct play *p)
{
    begin_long(p);
    play_freeze_server(p);
    play_finish(p);
    assert_in_range(p->took_us, 500 * MS, 1200 * MS);
}

static void
cut_off_while_it_runs(struct play *p)
{
    begin_long(p);
    play_cut_wire(p);
    play_finish(p);
}

static void
port_down_while_it_runs(struct play *p)
{
    begin_long(p);
    fake_port_set(fake_host_local(), false);
    play_finish(p);
    fake_port_set(fake_host_local(), true);
}

static void
own_device_removed_while_it_runs(struct play *p)
{
    begin_long(p);
    fake_device_remove(fake_host_local());
    play_finish(p);
}

static void
their_device_removed_while_it_runs(struct play *p)
{
    begin_long(p);
    fake_device_remove(p->there);
    play_finish(p);
}

static void
server_closes_while_it_runs(struct play *p)
{
    begin_long(p);
    sim_server_close(&p->server);
    play_finish(p);
}

static void
drained_while_it_runs(struct play *p)
{
    begin_long(p);
    play_drain(p);
    fake_sleep_us(100 * MS);
    sim_tell(&p->go);
    play_finish(p);
}

static const struct row rows[] = {
    ROW(deadline_in_the_queue, DEADLINE_EXCEEDED, NOT_EXECUTED),
    ROW(cancelled_in_the_queue, CANCELLED, NOT_EXECUTED),
    ROW(closed_in_the_queue, CANCELLED, NOT_EXECUTED),
    ROW(killed_with_it_in_the_queue, UNAVAILABLE, NOT_EXECUTED),
    ROW(deadline_without_a_credit, DEADLINE_EXCEEDED, NOT_EXECUTED),
    ROW(cancelled_without_a_credit, CANCELLED, NOT_EXECUTED),

    ROW(service_unknown, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(service_removed, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(method_unknown, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(method_without_a_handler, UNIMPLEMENTED, NOT_EXECUTED),
    ROW(request_malformed, INVALID_ARGUMENT, NOT_EXECUTED),
    ROW(request_over_their_limit, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(too_many_calls_of_the_server, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(too_many_calls_of_the_session, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(too_many_calls_of_the_service, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(too_many_calls_of_the_method, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(too_many_sessions, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(interceptor_of_the_server, PERMISSION_DENIED, NOT_EXECUTED),
    ROW(no_memory_for_a_call_there, OK, EXECUTED),
    ROW(no_memory_to_begin_a_long_request_there, OK, EXECUTED),
    ROW(no_memory_for_a_long_request_there, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(no_memory_to_stop_a_long_request, RESOURCE_EXHAUSTED, NOT_EXECUTED),
    ROW(drained_before, UNAVAILABLE, NOT_EXECUTED),

    ROW(sending_fails, OK, EXECUTED),
    ROW(link_lost_with_the_request, OK, EXECUTED),
    ROW(killed_before_the_request_arrived, UNAVAILABLE, UNKNOWN),
    ROW(deadline_on_the_way, DEADLINE_EXCEEDED, UNKNOWN),
    ROW(deadline_half_sent, DEADLINE_EXCEEDED, NOT_EXECUTED),

    ROW(deadline_while_it_runs, DEADLINE_EXCEEDED, UNKNOWN),
    ROW(cancelled_while_it_runs, CANCELLED, UNKNOWN),
    ROW(closed_while_it_runs, CANCELLED, UNKNOWN),
    ROW(link_lost_while_it_runs, OK, EXECUTED),
    ROW(killed_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(started_anew_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(silent_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(cut_off_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(port_down_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(own_device_removed_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(their_device_removed_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(server_closes_while_it_runs, UNAVAILABLE, UNKNOWN),
    ROW(drained_while_it_runs, OK, EXECUTED),
};

int
main(void)
{
    return play_rows(rows, sizeof rows / sizeof rows[0]);
}
