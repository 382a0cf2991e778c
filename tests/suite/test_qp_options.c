/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The effect of the options of verbcall/rdma.h: on the QPs of a connection, as
 * the adapter reports them, and on the parameters that rdma_cm sends to the
 * other end, as its event reports them. The peer is Verbcall or a raw end. */
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/rdma.h>

#include "tests/suite/connected.h"
#include "tests/suite/raw_rdma.h"
#include "tests/suite/stage.h"

/* Powers of two where Soft-RoCE rounds up to them. */
static const struct vc_rdma_opts of_client = {.size = sizeof of_client,
                                              .responder_resources = 8,
                                              .initiator_depth = 2,
                                              .flow_control = 1,
                                              .retry_count = 5,
                                              .rnr_retry_count = 4,
                                              .ack_timeout = 17,
                                              .min_rnr_timer = 20,
                                              .tos = 104};
static const struct vc_rdma_opts of_server = {.size = sizeof of_server,
                                              .responder_resources = 4,
                                              .initiator_depth = 4,
                                              .flow_control = 1,
                                              .retry_count = 3,
                                              .rnr_retry_count = 2,
                                              .ack_timeout = 16,
                                              .min_rnr_timer = 10,
                                              .tos = 32};
static const struct vc_rdma_opts of_none = {.size = sizeof of_none,
                                            .responder_resources = VC_RDMA_NONE,
                                            .initiator_depth = VC_RDMA_NONE,
                                            .retry_count = VC_RDMA_NONE,
                                            .rnr_retry_count = VC_RDMA_NONE,
                                            .ack_timeout = 21};
static const struct vc_rdma_opts of_much = {
    .size = sizeof of_much, .responder_resources = 255, .initiator_depth = 255};

/* Starts a server and a channel with these options, and makes a call. */
static void
meet(struct fixture *f, const struct vc_rdma_opts *server,
     const struct vc_rdma_opts *client)
{
    struct vc_server_opts server_opts = VC_SERVER_OPTS_INIT;
    struct vc_channel_opts channel_opts = VC_CHANNEL_OPTS_INIT;

    server_opts.rdma = server;
    channel_opts.rdma = client;
    channel_opts.connect_timeout_ms = STAGE_PATIENT_MS;
    fixture_start(f, 1, &server_opts, &channel_opts);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
}

static void
has_options(struct ibv_qp_attr attr, const struct vc_rdma_opts *opts)
{
    assert_int_equal(IBV_QPS_RTS, attr.qp_state);
    assert_int_equal(opts->retry_count, attr.retry_cnt);
    assert_int_equal(opts->rnr_retry_count, attr.rnr_retry);
    assert_int_equal(opts->ack_timeout, attr.timeout);
    assert_int_equal(opts->min_rnr_timer, attr.min_rnr_timer);
    assert_int_equal(opts->tos, attr.ah_attr.grh.traffic_class);
}

static void
each_end_sets_its_qp_by_its_own_options(void **state)
{
    struct ibv_qp_attr client, server;
    struct fixture f;

    (void)state;
    meet(&f, &of_server, &of_client);
    client = connected_own(link_qp(connected_link(f.channel))->qp);
    server = connected_server(&f, link_qp(connected_link(f.channel))->qp);
    has_options(client, &of_client);
    has_options(server, &of_server);
    connected_has_reads(client, 4, 2);
    connected_has_reads(server, 2, 4);
    fixture_stop(&f);
}

/* So switches treat the packets of both directions alike. */
static void
a_server_without_a_type_of_service_takes_its_clients(void **state)
{
    struct fixture f;

    (void)state;
    meet(&f, NULL, &of_client);
    assert_int_equal(
        104, connected_server(&f, link_qp(connected_link(f.channel))->qp)
                 .ah_attr.grh.traffic_class);
    fixture_stop(&f);
}

static void
what_is_said_to_be_none_is_zero(void **state)
{
    struct ibv_qp_attr attr;
    struct fixture f;

    (void)state;
    meet(&f, &of_none, &of_none);
    attr = connected_own(link_qp(connected_link(f.channel))->qp);
    assert_int_equal(0, attr.retry_cnt);
    assert_int_equal(0, attr.rnr_retry);
    connected_has_reads(attr, 0, 0);
    connected_has_reads(
        connected_server(&f, link_qp(connected_link(f.channel))->qp), 0, 0);
    fixture_stop(&f);
}

static void
more_reads_than_the_device_can_are_as_many_as_it_can(void **state)
{
    const struct ibv_device_attr *can;
    struct vc__link *link;
    struct fixture f;
    uint8_t n;

    (void)state;
    meet(&f, &of_much, &of_much);
    link = connected_link(f.channel);
    can = &link_device(link)->attr;
    n = connected_least((unsigned)can->max_qp_rd_atom,
                        (unsigned)can->max_qp_init_rd_atom);
    assert_true(n < 255);
    connected_has_reads(connected_own(link_qp(link)->qp), n, n);
    connected_has_reads(connected_server(&f, link_qp(link)->qp), n, n);
    fixture_stop(&f);
}

struct stage_of_options {
    struct stage stage;
    struct raw_parameters said;
    uint32_t qp_num; /* of the client */
};

/* A good server of one call, which stores the parameters of the request. */
static bool
play_options(struct stage *s)
{
    struct stage_of_options *o =
        caa_container_of(s, struct stage_of_options, stage);
    struct vc__frame call;

    o->said = s->r.parameters;
    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call))
        return false;
    o->qp_num = link_qp(connected_link(s->channel))->qp->qp_num;
    return raw_send_frame(&s->r, (struct vc__frame){.type = VC__FRAME_REPLY,
                                                    .session = call.session,
                                                    .slot = call.slot,
                                                    .sequence = call.sequence,
                                                    BODY("\x08\x07")});
}

/* As seen from the server: the numbers of READs are exchanged. */
static void
a_request_says_what_the_options_of_the_channel_do(void **state)
{
    struct stage_of_options o = {.stage = {.rdma = &of_client}};
    uint64_t calls = 0;

    stage_start(&o.stage, *state, play_options);
    assert_status(VC_OK, stage_call(&o.stage, &calls));
    stage_end(&o.stage, "a channel with options");
    assert_int_equal(of_client.initiator_depth, o.said.reads_in);
    assert_int_equal(of_client.responder_resources, o.said.reads_out);
    assert_int_equal(of_client.flow_control, o.said.flow_control);
    assert_int_equal(of_client.retry_count, o.said.retry_count);
    assert_int_equal(of_client.rnr_retry_count, o.said.rnr_retry_count);
    assert_int_equal(1, o.said.srq);
    assert_int_equal(o.qp_num, o.said.qp_num);
}

static void
an_answer_says_what_the_options_of_the_server_do(void **state)
{
    struct raw r = {.wishes = true, .reads_in = 64, .reads_out = 64};
    struct fixture f;

    (void)state;
    meet(&f, &of_server, NULL);
    hostile_open_session(&f, &r);
    assert_int_equal(of_server.initiator_depth, r.parameters.reads_in);
    assert_int_equal(of_server.responder_resources, r.parameters.reads_out);
    assert_int_equal(of_server.flow_control, r.parameters.flow_control);
    assert_int_equal(of_server.rnr_retry_count, r.parameters.rnr_retry_count);
    assert_int_equal(1, r.parameters.srq);
    raw_close(&r);
    fixture_stop(&f);
}

/* By default there is no flow control to announce. */
static void
flow_control_is_said_only_if_an_option_says_so(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    assert_int_equal(0, r.parameters.flow_control);
    raw_close(&r);
}

static void
a_channel_tells_its_qp_and_how_much_goes_inline(void **state)
{
    struct fixture *f = *state;
    const struct vc__qp *qp = link_qp(connected_link(f->channel));
    char text[1024], words[80];

    vc_channel_describe(f->channel, text, sizeof text);
    snprintf(words, sizeof words, "QP %u, %u bytes inline)",
             (unsigned)qp->qp->qp_num, (unsigned)qp->max_inline);
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    assert_int_equal(VC__INLINE_MAX, qp->max_inline);
}

/* --- servers without a protocol of their own ---------------------------- */

/* A server of one request, which it accepts without parameters. */
struct bare {
    struct raw_listener listener;
    struct raw r;
    struct raw_parameters asked; /* of the request */
    pthread_t thread;
    bool good;
};

static void *
bare_main(void *arg)
{
    struct bare *b = arg;

    b->good = raw_take(&b->listener, &b->r, RAW_MS);
    b->asked = b->r.parameters;
    b->good = b->good && raw_accept_bare(&b->r) &&
              raw_wait(&b->r, RAW_MS) == RAW_ESTABLISHED;
    return NULL;
}

/* A raw client asks for these numbers of READs, and gets `in` and `out`. */
static void
bare_gives(uint8_t reads_in, uint8_t reads_out, uint8_t in, uint8_t out)
{
    struct raw client = {
        .wishes = true, .reads_in = reads_in, .reads_out = reads_out};
    struct bare b = {.good = false};
    char target[80];

    assert_true(raw_listen(&b.listener));
    fixture_target(b.listener.port, target);
    assert_int_equal(0, pthread_create(&b.thread, NULL, bare_main, &b));
    assert_int_equal(RAW_ESTABLISHED, raw_connect(&client, target, NULL, 0));
    pthread_join(b.thread, NULL);
    assert_true(b.good);
    assert_int_equal(out, b.asked.reads_in);
    assert_int_equal(in, b.asked.reads_out);
    assert_int_equal(in, client.parameters.reads_in);
    assert_int_equal(out, client.parameters.reads_out);
    connected_has_reads(connected_own(raw_verbs_of(&client)->id->qp), in, out);
    connected_has_reads(connected_own(raw_verbs_of(&b.r)->id->qp), out, in);
    raw_close(&client);
    raw_close(&b.r);
    raw_unlisten(&b.listener);
}

/* The numbers of the request, where "as many as possible" is what the device
 * can. */
static void
an_answer_without_parameters_has_the_reads_of_the_request(void **state)
{
    struct fixture *f = *state;
    const struct ibv_device_attr *can =
        &link_device(connected_link(f->channel))->attr;

    bare_gives(8, 2, 8, 2);
    bare_gives(0, 0, 0, 0);
    bare_gives(RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH,
               connected_least((unsigned)can->max_qp_rd_atom, 255),
               connected_least((unsigned)can->max_qp_init_rd_atom, 255));
}

/* True when the client leaves before the connection is established. */
static bool
play_bare(struct stage *s)
{
    int event;

    if (!raw_accept_bare(&s->r))
        return false;
    event = raw_wait(&s->r, RAW_MS);
    return event == RAW_DISCONNECTED || event == RAW_REJECTED ||
           event == RAW_FAILED;
}

static struct vc_counters
client_counters(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    assert_status(VC_OK, vc_runtime_counters(f->runtime, &c));
    return c;
}

/* The client has the answer, but no accept of Verbcall in it. */
static void
a_server_without_a_protocol_is_an_error_that_says_so(void **state)
{
    struct vc_counters before, after;
    struct fixture *f = *state;
    struct stage s = {.good = false};

    before = client_counters(f);
    stage_start(&s, f, play_bare);
    stage_call_fails(&s, VC_INTERNAL, "no Verbcall server", "a bare server");
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    after = client_counters(f);
    assert_int_equal(before.cm_established + 1, after.cm_established);
    assert_int_equal(before.links_refused + 1, after.links_refused);
    assert_int_equal(before.links_made, after.links_made);
    stage_end(&s, "a bare server");
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, hostile_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_sets_its_qp_by_its_own_options),
        cmocka_unit_test(a_server_without_a_type_of_service_takes_its_clients),
        cmocka_unit_test(what_is_said_to_be_none_is_zero),
        cmocka_unit_test(more_reads_than_the_device_can_are_as_many_as_it_can),
        T(a_request_says_what_the_options_of_the_channel_do),
        cmocka_unit_test(an_answer_says_what_the_options_of_the_server_do),
        T(flow_control_is_said_only_if_an_option_says_so),
        T(a_channel_tells_its_qp_and_how_much_goes_inline),
        T(an_answer_without_parameters_has_the_reads_of_the_request),
        T(a_server_without_a_protocol_is_an_error_that_says_so),
    };

    return fixture_main(tests);
}
