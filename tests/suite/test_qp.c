/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The attributes of a connected QP as the adapter reports them, at both ends.
 * Retries and timers are those of doc/architecture.md ("Connecting"). The
 * numbers of outstanding RDMA READs are the minimum of both ends' wishes and of
 * the devices' limits. The peer is Verbcall, or a raw end with other wishes. */
#include <verbcall/counters.h>

#include "tests/suite/connected.h"
#include "tests/suite/raw_rdma.h"
#include "tests/suite/stage.h"

/* From doc/architecture.md. */
#define RETRY_COUNT     6
#define RNR_RETRY_COUNT 6
#define ACK_TIMEOUT     14 /* 67 ms */
#define MIN_RNR_TIMER   14 /* 1.28 ms */
#define READS           16 /* in each direction */

#define COUNT 3 /* the index of this method in suite.Probe */

/* --- retries and timers -------------------------------------------------- */

static void
has_timers(struct ibv_qp_attr attr)
{
    assert_int_equal(IBV_QPS_RTS, attr.qp_state);
    /* As an RNR retry count, 7 would mean no limit. */
    assert_int_equal(RETRY_COUNT, attr.retry_cnt);
    assert_int_equal(RNR_RETRY_COUNT, attr.rnr_retry);
    assert_int_equal(ACK_TIMEOUT, attr.timeout);
    assert_int_equal(MIN_RNR_TIMER, attr.min_rnr_timer);
}

static void
a_connected_qp_has_the_retries_and_timers_of_the_documents(void **state)
{
    struct fixture *f = *state;
    struct ibv_qp *qp = link_qp(connected_link(f->channel))->qp;

    has_timers(connected_own(qp));
    has_timers(connected_server(f, qp));
}

static uint64_t
reused(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c.qps_reused;
}

/* Meanwhile the QP was in the RESET state. */
static void
a_qp_that_is_used_again_has_them_too(void **state)
{
    struct fixture *f = *state;
    struct ibv_qp *qp;

    vc_channel_close(f->channel);
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, NULL, &f->channel));
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
    assert_int_equal(1, reused(f->runtime));
    qp = link_qp(connected_link(f->channel))->qp;
    has_timers(connected_own(qp));
    has_timers(connected_server(f, qp));
}

/* --- READs --------------------------------------------------------------- */

static void
two_of_us_take_as_many_reads_as_we_wish_and_the_device_can(void **state)
{
    struct fixture *f = *state;
    struct vc__link *link = connected_link(f->channel);
    const struct ibv_device_attr *can = &link_device(link)->attr;
    uint8_t n = connected_least(
        READS, connected_least((unsigned)can->max_qp_rd_atom,
                               (unsigned)can->max_qp_init_rd_atom));

    connected_has_reads(connected_own(link_qp(link)->qp), n, n);
    connected_has_reads(connected_server(f, link_qp(link)->qp), n, n);
}

/* The READs that a raw end accepts from its peer, and sends to it. Besides that
 * it asks for a retry count of 7, which it does not get. All numbers are powers
 * of two, to which Soft-RoCE rounds up. */
static const struct wish {
    uint8_t in, out;
} wishes[] = {{1, 1}, {2, 4}, {4, 2}, {64, 128}, {128, 8}, {0, 0}};
#define WISHES (sizeof wishes / sizeof wishes[0])

/* Makes a call on session 1 that is answered. */
static void
raw_call(struct raw *r)
{
    const struct vc__frame call = {.type = VC__FRAME_CALL,
                                   .session = 1,
                                   .sequence = 1,
                                   .method = COUNT,
                                   .deadline = VC__DEADLINE_NONE};
    struct vc__frame reply;

    assert_true(raw_send_frame(r, call));
    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, &call, &reply));
    assert_int_equal(VC_OK, reply.method);
}

static void
a_server_takes_and_sends_no_more_reads_than_its_client_offers(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < WISHES; i++) {
        uint8_t in = connected_least(READS, wishes[i].out);
        uint8_t out = connected_least(READS, wishes[i].in);
        struct raw r = {.wishes = true,
                        .reads_in = wishes[i].in,
                        .reads_out = wishes[i].out};

        hostile_open_session(f, &r);
        raw_call(&r);
        connected_has_reads(connected_server(f, raw_verbs_of(&r)->id->qp), in,
                            out);
        has_timers(connected_server(f, raw_verbs_of(&r)->id->qp));
        /* The client got these numbers: its kernel has no other source for
         * them. */
        connected_has_reads(connected_own(raw_verbs_of(&r)->id->qp), out, in);
        raw_close(&r);
    }
}

struct stage_of_wish {
    struct stage stage;
    struct ibv_qp_attr client;
};

/* A good server of one call, which queries the client's QP meanwhile. */
static bool
play_wish(struct stage *s)
{
    struct stage_of_wish *w = caa_container_of(s, struct stage_of_wish, stage);
    struct vc__frame call;

    return stage_accept_well(s, RAW_BUFFERS) && stage_take_call(&s->r, &call) &&
           connected_query(link_qp(connected_link(s->channel))->qp,
                           &w->client) &&
           raw_send_frame(&s->r, (struct vc__frame){.type = VC__FRAME_REPLY,
                                                    .session = call.session,
                                                    .slot = call.slot,
                                                    .sequence = call.sequence,
                                                    BODY("\x08\x07")});
}

/* The client's kernel would accept the server's answer even if it were more
 * than was offered. */
static void
a_client_takes_and_sends_no_more_reads_than_its_server_answers(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < WISHES; i++) {
        struct stage_of_wish w = {.stage = {.r = {.wishes = true,
                                                  .reads_in = wishes[i].in,
                                                  .reads_out = wishes[i].out}}};
        uint64_t calls = 0;

        stage_start(&w.stage, f, play_wish);
        assert_status(VC_OK, stage_call(&w.stage, &calls));
        assert_int_equal(7, calls);
        stage_end(&w.stage, "a server with another wish");
        has_timers(w.client);
        connected_has_reads(w.client, connected_least(READS, wishes[i].out),
                            connected_least(READS, wishes[i].in));
    }
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, hostile_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_connected_qp_has_the_retries_and_timers_of_the_documents),
        T(a_qp_that_is_used_again_has_them_too),
        T(two_of_us_take_as_many_reads_as_we_wish_and_the_device_can),
        T(a_server_takes_and_sends_no_more_reads_than_its_client_offers),
        T(a_client_takes_and_sends_no_more_reads_than_its_server_answers),
    };

    return fixture_main(tests);
}
