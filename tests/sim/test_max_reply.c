/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The largest reply that a .proto file allows for a method. Either endpoint
 * enforces the limit alone, and a call that exceeds it ends without harm to
 * others. */
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/stream.h>

#include "tests/sim/sim.h"

#define MAX  50u /* bytes; limit of one endpoint */
#define FITS 48u /* bytes; payload of a reply of that size */
/* The same for the limit of a channel, which holds for all methods. */
#define TAKES      4096u
#define TAKES_FITS 4093u
/* The same for the default limit of a server. */
#define FULL_FITS ((4u << 20) - 5)

enum {
    ASK,
    DOWN,
    UP,
    METHODS
};

/* --- the service: echoes the payload ------------------------------------ */

static enum vc_status
ask(struct vc_call *call, const void *methods, const void *request, void *reply,
    void *arg)
{
    (void)call;
    (void)methods;
    (void)arg;
    ((Suite__EchoReply *)reply)->payload =
        ((const Suite__EchoRequest *)request)->payload;
    return VC_OK;
}

static enum vc_status
down(struct vc_call *call, const void *methods, const void *request,
     struct vc_stream *stream, void *reply, void *arg)
{
    Suite__EchoReply message = SUITE__ECHO_REPLY__INIT;
    enum vc_status status;

    (void)methods;
    (void)reply;
    (void)arg;
    message.payload = ((const Suite__EchoRequest *)request)->payload;
    status = vc_stream_send(stream, &message);
    return status == VC_OK ? VC_OK
                           : vc_call_fail(call, status, "%s", vc_error());
}

static uint8_t room[FULL_FITS + 1]; /* payload of UP's replies */

/* The reply has the length of the last message. */
static enum vc_status
up(struct vc_call *call, const void *methods, const void *request,
   struct vc_stream *stream, void *reply, void *arg)
{
    Suite__EchoReply *message = reply;
    Suite__EchoRequest *one;

    (void)call;
    (void)methods;
    (void)request;
    (void)arg;
    while (vc_stream_receive(stream, (void **)&one) == VC_OK && one != NULL) {
        message->payload.len = one->payload.len;
        vc_message_free(one);
    }
    message->payload.data = room;
    return VC_OK;
}

/* The table of one endpoint. */
struct table {
    struct vc_method methods[METHODS];
    struct vc_service service;
};

static void
table_fill(struct table *t, uint32_t max_reply)
{
    static const struct vc_method plain[METHODS] = {
        {.name = "ASK", .hash = 1, .run = ask},
        {.name = "DOWN",
         .hash = 2,
         .flags = VC_METHOD_SERVER_STREAM,
         .run_stream = down},
        {.name = "UP",
         .hash = 3,
         .flags = VC_METHOD_CLIENT_STREAM,
         .run_stream = up},
    };

    memcpy(t->methods, plain, sizeof plain);
    for (unsigned i = 0; i < METHODS; i++) {
        t->methods[i].request.desc = &suite__echo_request__descriptor;
        t->methods[i].reply.desc = &suite__echo_reply__descriptor;
        t->methods[i].max_reply = max_reply;
    }
    t->service = (struct vc_service){.name = "sim.MaxReply",
                                     .id = UINT64_C(0xb1934bea0b437c74),
                                     .n_methods = METHODS,
                                     .methods = t->methods};
}

/* --- the two endpoints ------------------------------------------------- */

struct stage {
    struct table there, here;
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static enum vc_status
service_add(struct vc_server *server, struct sim_server *s)
{
    struct stage *st = s->arg;
    static const int none;

    return vc_server_add(server, &st->there.service, &none, sizeof none, NULL);
}

static void
stage_open(struct stage *st, uint32_t max_there, uint32_t max_here)
{
    memset(st, 0, sizeof *st);
    table_fill(&st->there, max_there);
    table_fill(&st->here, max_here);
    sim_begin(1, 2, false);
    sim_target("10.9.0.2", st->server.target);
    st->server.add = service_add;
    st->server.arg = st;
    sim_server_start(&st->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&st->server));
    assert_int_equal(VC_OK, sim_runtime(&st->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(st->runtime, st->server.target,
                                            NULL, &st->channel));
    assert_int_equal(VC_OK, vc_channel_connect(st->channel, &st->here.service));
}

static void
stage_close(struct stage *st)
{
    vc_channel_close(st->channel);
    vc_runtime_free(st->runtime);
    assert_true(sim_server_stop(&st->server));
    assert_int_equal(0, fake_end());
}

/* --- calls of each kind ------------------------------------------------ */

static enum vc_status
call_ask(struct stage *st, const Suite__EchoRequest *request, void **reply)
{
    return vc_channel_call(st->channel, &st->here.service, ASK, request, NULL,
                           reply);
}

static enum vc_status
call_down(struct stage *st, const Suite__EchoRequest *request, void **reply)
{
    struct vc_stream *stream;
    enum vc_status status;

    status = vc_stream_open(st->channel, &st->here.service, DOWN, request, NULL,
                            &stream);
    if (status != VC_OK)
        return status;
    status = vc_stream_receive(stream, reply);
    vc_stream_close(stream);
    return status;
}

static enum vc_status
call_up(struct stage *st, const Suite__EchoRequest *request, void **reply)
{
    struct vc_stream *stream;
    enum vc_status status;

    assert_int_equal(VC_OK, vc_stream_open(st->channel, &st->here.service, UP,
                                           NULL, NULL, &stream));
    status = vc_stream_send(stream, request);
    if (status == VC_OK)
        status = vc_stream_finish(stream, reply);
    vc_stream_close(stream);
    return status;
}

static enum vc_status (*const calls[METHODS])(struct stage *st,
                                              const Suite__EchoRequest *request,
                                              void **reply) = {
    [ASK] = call_ask, [DOWN] = call_down, [UP] = call_up};

static enum vc_status
call(struct stage *st, unsigned method, size_t length)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    void *reply = NULL;
    enum vc_status status;

    request.payload.data = room;
    request.payload.len = length;
    status = calls[method](st, &request, &reply);
    assert_true((status == VC_OK) == (reply != NULL));
    if (reply != NULL) {
        assert_int_equal(length, ((Suite__EchoReply *)reply)->payload.len);
        vc_message_free(reply);
    }
    return status;
}

/* --- the tests --------------------------------------------------------- */

static void
each_kind_keeps_to_it(uint32_t max_there, uint32_t max_here)
{
    struct stage st;

    stage_open(&st, max_there, max_here);
    for (unsigned i = 0; i < METHODS; i++) {
        assert_int_equal(VC_OK, call(&st, i, FITS));
        assert_int_equal(VC_RESOURCE_EXHAUSTED, call(&st, i, FITS + 1));
        assert_non_null(strstr(vc_error(), "max_reply, which is 50"));
        assert_int_equal(VC_OK, call(&st, i, FITS));
    }
    assert_int_equal(VC_RESOURCE_EXHAUSTED, call(&st, ASK, FITS + 1));
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    stage_close(&st);
}

static void
a_server_sends_no_larger_reply_than_its_methods(void **state)
{
    (void)state;
    each_kind_keeps_to_it(MAX, 0);
}

static void
a_client_takes_no_larger_reply_than_its_methods(void **state)
{
    (void)state;
    each_kind_keeps_to_it(0, MAX);
}

static void
the_smaller_limit_of_two_ends_holds(void **state)
{
    (void)state;
    each_kind_keeps_to_it(MAX, 2 * MAX);
    each_kind_keeps_to_it(2 * MAX, MAX);
}

static void
a_method_that_says_none_has_none(void **state)
{
    struct stage st;

    (void)state;
    stage_open(&st, 0, 0);
    for (unsigned i = 0; i < METHODS; i++)
        assert_int_equal(VC_OK, call(&st, i, FITS + 1));
    stage_close(&st);
}

static void
a_reply_as_long_as_the_client_takes_comes_and_no_longer_one(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct stage st;

    (void)state;
    stage_open(&st, 0, 0);
    vc_channel_close(st.channel);
    opts.max_message = TAKES;
    assert_int_equal(VC_OK, vc_channel_open(st.runtime, st.server.target, &opts,
                                            &st.channel));
    for (unsigned i = 0; i < METHODS; i++) {
        assert_int_equal(VC_OK, call(&st, i, TAKES_FITS));
        assert_int_equal(VC_RESOURCE_EXHAUSTED, call(&st, i, TAKES_FITS + 1));
        if (strstr(vc_error(), "4096") == NULL)
            fail_msg("%s", vc_error());
        assert_int_equal(VC_OK, call(&st, i, TAKES_FITS));
    }
    stage_close(&st);
}

static void
a_request_as_long_as_the_server_takes_goes_and_no_longer_one(void **state)
{
    struct stage st;

    (void)state;
    stage_open(&st, 0, 0);
    for (unsigned i = 0; i < METHODS; i++) {
        assert_int_equal(VC_OK, call(&st, i, FULL_FITS));
        assert_int_equal(VC_RESOURCE_EXHAUSTED, call(&st, i, FULL_FITS + 1));
        if (strstr(vc_error(), " accepts 4194304") == NULL)
            fail_msg("%s", vc_error());
    }
    stage_close(&st);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_sends_no_larger_reply_than_its_methods),
        cmocka_unit_test(a_client_takes_no_larger_reply_than_its_methods),
        cmocka_unit_test(the_smaller_limit_of_two_ends_holds),
        cmocka_unit_test(a_method_that_says_none_has_none),
        cmocka_unit_test(
            a_reply_as_long_as_the_client_takes_comes_and_no_longer_one),
        cmocka_unit_test(
            a_request_as_long_as_the_server_takes_goes_and_no_longer_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
