/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * QPs die under calls on a real kernel, at either end, hundreds of them:
 * every call ends well, and its handler runs once. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cm/link/link.h"
#include "rpc/runtime.h"
#include "tests/suite/fixture.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"
#include "transport/rdma/qp.h"

#define ERRORS     250u /* four times as many in a long run */
#define CALLERS    4u
#define CHANNELS   3u
#define LINKS      2u
#define SIZES      20001u
#define TAGS       (1u << 22)
#define OF_CALLER  (TAGS / CALLERS)
#define CALL_MS    30000u
#define CONNECT_MS 8000u /* below what a server keeps a lost client for */
/* One handler of so many takes so long that its call is under way when its
 * link dies. */
#define SLOW_EACH 8u
#define SLOW_MS   1u
#define LOOK_US   200u
#define LOOK_MS   20000u

/* How often the handler met a tag. */
static atomic_uchar runs[TAGS];

static unsigned errors; /* that are made */

static uint8_t noise[SIZES + 251];

static uint32_t
roll(uint32_t *dice, uint32_t n)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    *dice ^= *dice << 5;
    return *dice % n;
}

static void
noise_fill(void)
{
    uint32_t dice = 2463534242u;

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)roll(&dice, 256);
}

/* --- the server -------------------------------------------------------- */

static enum vc_status
count_echo(struct vc_call *call, const Suite__EchoRequest *request,
           Suite__EchoReply *reply, void *arg)
{
    (void)arg;
    if (request->tag >= TAGS)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "no such tag");
    atomic_fetch_add(&runs[request->tag], 1);
    if (request->tag % SLOW_EACH == 0)
        usleep(SLOW_MS * 1000);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static const struct suite_probe_methods methods = {.echo = count_echo};

static void
server_start(struct fixture *f)
{
    assert_status(VC_OK, vc_runtime_new(NULL, &f->server_runtime));
    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &f->server));
    assert_status(VC_OK, suite_probe_add(f->server, &methods, NULL));
    assert_status(VC_OK,
                  vc_server_listen(f->server, fixture_target(0, f->target)));
    assert_status(VC_OK, vc_runtime_start(f->server_runtime, 1));
    fixture_target(vc_server_port(f->server), f->target);
}

/* --- callers ----------------------------------------------------------- */

struct caller {
    struct vc_channel *channel;
    pthread_t thread;
    unsigned first; /* of its tags */
    unsigned calls, bad;
    uint64_t longest_ms;
    char text[256]; /* of the first that went wrong */
};

static atomic_uint good;
static atomic_bool enough;

static bool
reply_good(const Suite__EchoReply *reply, const Suite__EchoRequest *request)
{
    return reply->tag == request->tag &&
           reply->payload.len == request->payload.len &&
           (reply->payload.len == 0 ||
            memcmp(reply->payload.data, request->payload.data,
                   reply->payload.len) == 0);
}

static bool
call_once(struct caller *c, uint32_t tag, uint32_t size)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    bool same;

    request.tag = tag;
    request.payload.data = noise + tag % 251;
    request.payload.len = size;
    if (suite_probe_echo(c->channel, &request, NULL, &reply) != VC_OK) {
        if (c->bad++ == 0)
            snprintf(c->text, sizeof c->text, "tag %u, %u bytes: %s", tag, size,
                     vc_error());
        return false;
    }
    same = reply_good(reply, &request);
    if (!same && c->bad++ == 0)
        snprintf(c->text, sizeof c->text, "tag %u, %u bytes: another reply",
                 tag, size);
    vc_reply_free(reply);
    return same;
}

static void *
caller_run(void *arg)
{
    struct caller *c = arg;
    uint32_t dice = 88675123u + c->first;

    while (!atomic_load(&enough) && c->calls < OF_CALLER) {
        uint64_t began = fixture_ms(), took;

        if (call_once(c, c->first + c->calls++, roll(&dice, SIZES)))
            fixture_tell(&good);
        took = fixture_ms() - began;
        if (took > c->longest_ms)
            c->longest_ms = took;
    }
    return NULL;
}

/* --- errors ------------------------------------------------------------ */

/* Runs on an engine, which owns its QPs, so that none can vanish. */
struct error {
    struct vc__task task;
    struct vc__cm *cm;
    uint32_t dice;
    bool made;
    atomic_uint done;
};

/* Its link carries packets, and no error has been there before. */
static bool
is_alive(struct vc__qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    return qp != NULL && qp_link(qp)->state == VC__LINK_UP &&
           ibv_query_qp(qp->qp, &attr, IBV_QP_STATE, &init) == 0 &&
           attr.qp_state == IBV_QPS_RTS;
}

/* Any one that is alive; NULL: there is none. */
static struct vc__qp *
qp_choose(struct error *e)
{
    struct vc__qp *chosen = NULL;
    struct vc__device *d;
    unsigned n = 0;

    cds_list_for_each_entry (d, cm_devices(e->cm), node) {
        for (unsigned i = 0; i < 4096u * 4096u; i++) {
            if (d->qps[i / 4096] == NULL)
                i += 4095;
            else if (is_alive(d->qps[i / 4096][i % 4096]) &&
                     roll(&e->dice, ++n) == 0)
                chosen = d->qps[i / 4096][i % 4096];
        }
    }
    return chosen;
}

static void
error_run(struct vc__task *task)
{
    struct error *e = caa_container_of(task, struct error, task);
    struct vc__qp *qp = qp_choose(e);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    e->made = qp != NULL && ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE) == 0;
    fixture_tell(&e->done);
}

/* False when no QP is alive there. */
static bool
error_make(struct error *e, struct vc_runtime *runtime)
{
    struct vc__progress *p = &runtime->progress[0];

    e->task.run = error_run;
    e->cm = &p->cm;
    atomic_store(&e->done, 0);
    vc__engine_post(&p->engine, &e->task);
    fixture_await(&e->done, 1);
    return e->made;
}

/* At either end, whichever the dice say. */
static unsigned
error_somewhere(struct error *e, const struct fixture *f)
{
    uint64_t due = fixture_ms() + LOOK_MS;
    unsigned server;

    for (;;) {
        server = roll(&e->dice, 2);
        if (error_make(e, server ? f->server_runtime : f->runtime))
            return server;
        if (fixture_ms() >= due)
            fail_msg("no QP came alive for %u ms", LOOK_MS);
        usleep(LOOK_US);
    }
}

static unsigned
errors_make(const struct fixture *f)
{
    static struct error e = {.dice = 521288629u};
    unsigned of_server = 0;

    for (unsigned i = 0; i < errors; i++) {
        fixture_await(&good, atomic_load(&good) + 1);
        of_server += error_somewhere(&e, f);
    }
    fixture_await(&good, atomic_load(&good) + 1);
    return of_server;
}

/* --- the account ------------------------------------------------------- */

static void
tags_check(const struct caller *c)
{
    for (unsigned i = 0; i < c->calls; i++) {
        if (atomic_load(&runs[c->first + i]) != 1)
            fail_msg("the handler ran %u times for tag %u of %u",
                     atomic_load(&runs[c->first + i]), c->first + i, c->calls);
    }
}

static void
callers_check(const struct caller callers[CALLERS])
{
    for (unsigned i = 0; i < CALLERS; i++) {
        if (callers[i].bad != 0)
            fail_msg("caller %u: %u of %u calls went wrong; the first: %s", i,
                     callers[i].bad, callers[i].calls, callers[i].text);
        assert_in_range(callers[i].calls, 1, OF_CALLER - 1);
        tags_check(&callers[i]);
    }
}

/* What is told is also what makes the test one: sessions did move. */
static void
counters_check(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT, s = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    vc_runtime_counters(f->server_runtime, &s);
    printf("# client: %" PRIu64 " links lost, %" PRIu64
           " left, sessions moved %" PRIu64 " times, %" PRIu64
           " calls sent again\n",
           c.links_lost, c.links_left, c.sessions_client_moved,
           c.calls_sent_again);
    printf("# server: %" PRIu64 " links lost, %" PRIu64
           " left, sessions moved %" PRIu64 " times, %" PRIu64
           " calls joined, %" PRIu64 " answered again\n",
           s.links_lost, s.links_left, s.sessions_server_moved, s.calls_joined,
           s.calls_answered_again);
    assert_true(c.sessions_client_moved > errors / 2);
    assert_true(c.calls_sent_again > 0);
    assert_true(s.calls_answered_again > 0);
    assert_int_equal(c.calls_started, c.calls_ended);
}

static void
account(const struct caller callers[CALLERS], unsigned of_server, uint64_t ms)
{
    unsigned calls = 0;
    uint64_t longest = 0;

    for (unsigned i = 0; i < CALLERS; i++) {
        calls += callers[i].calls;
        if (callers[i].longest_ms > longest)
            longest = callers[i].longest_ms;
    }
    printf("# %u errors (%u of the server's QPs) in %" PRIu64
           " ms, %u calls, the longest took %" PRIu64 " ms\n",
           errors, of_server, ms, calls, longest);
}

static void
no_call_is_lost_or_doubled_by_errors_of_qps(void **state)
{
    static struct caller callers[CALLERS];
    struct vc_channel *channels[CHANNELS];
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f = {.target = ""};
    uint64_t began;
    unsigned of_server;

    (void)state;
    errors = fixture_many(ERRORS, 4 * ERRORS);
    noise_fill();
    server_start(&f);
    opts.min_links = opts.max_links = LINKS;
    opts.call_timeout_ms = CALL_MS;
    /* It is QPs that die here, not the server, however busy the machine. */
    opts.keepalive_ms = CALL_MS;
    opts.connect_timeout_ms = CONNECT_MS;
    assert_status(VC_OK, vc_runtime_new(NULL, &f.runtime));
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_status(
            VC_OK, vc_channel_open(f.runtime, f.target, &opts, &channels[i]));
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].channel = channels[i % CHANNELS];
        callers[i].first = i * OF_CALLER;
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL, caller_run,
                                           &callers[i]));
    }
    began = fixture_ms();
    of_server = errors_make(&f);
    began = fixture_ms() - began;
    atomic_store(&enough, true);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(0, pthread_join(callers[i].thread, NULL));

    account(callers, of_server, began);
    callers_check(callers);
    counters_check(&f);
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
    vc_runtime_free(f.runtime);
    fixture_stop_server(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_is_lost_or_doubled_by_errors_of_qps),
    };

    return fixture_main(tests);
}
