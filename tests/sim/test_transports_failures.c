/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every allocation, and every call of verbs, rdma_cm and the system that can
 * fail, fails once, on either side. Meanwhile a vc:// channel is opened, calls
 * by RDMA, loses RDMA, calls by the second transport, returns to RDMA and is
 * closed. Nothing crashes and nothing is left, an error has a text, and
 * repeated steps succeed. Only some of the failures are played; all with
 * VC_TEST_LONG=1. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/stream.h>

#include "tests/sim/networks.h"
#include "tests/sim/second.h"

#define TRIES       4
#define MS          UINT64_C(1000)
#define S           UINT64_C(1000000)
#define END_US      (120 * S) /* of the client */
#define CARRIER_US  (30 * S)  /* until calls use a given transport */
#define BETWEEN_US  (100 * MS)
#define ONE_IN      3u /* of these failures, one is played */
#define TAG_CARRIED 3u

struct client {
    struct networks *networks;
    bool rdma_missed;     /* the server could not listen by RDMA */
    atomic_uint failures; /* steps that returned an error */
    atomic_uint mute;     /* those of them without an error text */
    const char *stuck;    /* the failed step; NULL: all were done */
};

struct opening {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct suite_streams_talk_client_stream *stream;
};

typedef enum vc_status client_step(struct opening *o);

/* --- steps ------------------------------------------------------------------- */

/* True if an error has no text. A handler may fail without one. */
static bool
is_mute(void)
{
    return vc_error()[0] == '\0' && vc_error_outcome() != VC_OUTCOME_EXECUTED;
}

static bool
try_step(struct client *c, client_step *step, struct opening *o)
{
    if (step(o) == VC_OK)
        return true;
    atomic_fetch_add(&c->failures, 1);
    atomic_fetch_add(&c->mute, is_mute());
    return false;
}

/* Repeats a step until it works. */
static bool
persist(struct client *c, client_step *step, struct opening *o)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if (try_step(c, step, o))
            return true;
    }
    return false;
}

static enum vc_status
step_runtime(struct opening *o)
{
    return sim_runtime(&o->runtime, 1);
}

static enum vc_status
step_open(struct opening *o)
{
    struct vc_channel_opts opts = networks_opts();

    return vc_channel_open(o->runtime, NETWORKS_TARGET, &opts, &o->channel);
}

static enum vc_status
step_connect(struct opening *o)
{
    return vc_channel_connect(o->channel, &suite_probe_service);
}

static enum vc_status
step_small(struct opening *o)
{
    return sim_echo(o->channel, 64, 1, 0, NULL);
}

static enum vc_status
step_large(struct opening *o)
{
    return sim_echo(o->channel, 50000, 2, 0, NULL);
}

/* Sends a message each way. */
static enum vc_status
stream_begin(struct suite_streams_talk_client_stream *stream)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_talk_send(stream, &request);

    if (status == VC_OK)
        status = suite_streams_talk_receive(stream, &reply);
    vc_message_free(reply);
    return status;
}

static enum vc_status
step_stream(struct opening *o)
{
    enum vc_status status = suite_streams_talk(o->channel, NULL, &o->stream);

    if (status == VC_OK)
        status = stream_begin(o->stream);
    if (status != VC_OK) {
        suite_streams_talk_close(o->stream);
        o->stream = NULL;
    }
    return status;
}

/* Makes calls until the channel uses this transport only. */
static bool
carried_by(struct client *c, struct opening *o, const char *scheme)
{
    uint64_t until = fake_now_us() + CARRIER_US;

    while (!networks_only(o->channel, scheme)) {
        if (fake_now_us() > until)
            return false;
        try_step(c, step_small, o);
        fake_sleep_us(BETWEEN_US);
    }
    return persist(c, step_small, o) && persist(c, step_large, o);
}

/* --- the client -------------------------------------------------------------- */

/* Uses RDMA, the second transport, and RDMA again. Returns the step that
 * failed, or NULL. */
static const char *
to_and_fro(struct client *c, struct opening *o)
{
    if (!c->rdma_missed && !carried_by(c, o, "rdma"))
        return "does not come to RDMA";
    if (!persist(c, step_stream, o))
        return "never opens a stream";
    networks_lose(c->networks, FIRST, LOSS_CUT);
    suite_streams_talk_close(o->stream); /* the next link tells the server */
    if (!carried_by(c, o, "tcp"))
        return "does not come to the second transport";
    networks_heal(c->networks, FIRST);
    if (!c->rdma_missed && !carried_by(c, o, "rdma"))
        return "does not come back to RDMA";
    return NULL;
}

static const char *
client_live(struct client *c, struct opening *o)
{
    if (!persist(c, step_runtime, o) || !persist(c, step_open, o))
        return "never opens a channel";
    if (!persist(c, step_connect, o) || !persist(c, step_small, o))
        return "never connects";
    return to_and_fro(c, o);
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct opening o = {NULL, NULL, NULL};

    c->stuck = client_live(c, &o);
    vc_channel_close(o.channel);
    vc_runtime_free(o.runtime);
}

/* --- worlds ------------------------------------------------------------------ */

/* What fails. */
struct plan {
    bool server; /* on the server's side, else on the client's */
    int err;     /* errno of calls; 0: allocations fail */
};

static void
plan_arm(const struct plan *plan, struct fake_process *p, unsigned nth)
{
    if (plan->err == 0)
        fake_fail_memory(p, nth);
    else
        fake_fail(p, "*", nth, plan->err);
}

static void
plan_fail(const struct plan *plan, unsigned nth, const char *why)
{
    fail_msg("%s, %s %u, error %d: %s", plan->server ? "server" : "client",
             plan->err == 0 ? "allocation" : "call", nth, plan->err, why);
}

static bool
server_misses_rdma(const struct sim_server *s)
{
    char text[1000];

    vc_server_describe(s->server, text, sizeof text);
    return strstr(text, "not rdma") != NULL;
}

/* Runs both sides; returns what is wrong, or NULL. */
static const char *
world_live(struct networks *n, struct client *c, const struct plan *plan,
           unsigned nth)
{
    struct fake_process *p;

    sim_server_start(&n->server, n->there[FIRST], 1);
    if (plan->server)
        plan_arm(plan, n->server.process, nth);
    if (!sim_server_await(&n->server))
        return "the server never serves";
    c->rdma_missed = server_misses_rdma(&n->server);
    p = fake_process_start(n->here[FIRST], "client", client_main, c);
    if (!plan->server)
        plan_arm(plan, p, nth);
    if (!fake_process_wait(p, END_US))
        return "the client does not end";
    if (!sim_server_stop(&n->server))
        return "the server does not end";
    return atomic_load(&c->mute) > 0 ? "an error without a text" : c->stuck;
}

/* Runs a world in which the nth call or allocation fails; false when there is
 * no nth one. */
static bool
world_run(const struct plan *plan, unsigned nth)
{
    struct networks n;
    struct client c = {.networks = &n, .stuck = "never began"};
    const char *wrong;
    bool struck;

    sim_begin(nth, 0, true);
    networks_make(&n, fake_host_new("here", "10.9.0.3"), "10.9.1.3");
    wrong = world_live(&n, &c, plan, nth);
    struck = fake_failed() > 0;
    if (wrong != NULL) {
        print_error("%s\n", fake_trace());
        plan_fail(plan, nth, wrong);
    }
    if (fake_end() > 0)
        plan_fail(plan, nth, "something is left");
    return struck;
}

/* Plays the same selection of failures in each run of the tests. */
static void
some_of(bool server, int err)
{
    const struct plan plan = {server, err};
    unsigned step =
        sim_many(1) > 1 ? 5 / sim_share(5u) : ONE_IN * 5 / sim_share(5u);
    unsigned nth = 1 + (unsigned)err % ONE_IN;
    unsigned long packets = second_packets();

    while (world_run(&plan, nth))
        nth += step;
    print_message("%u places\n", nth);
    assert_in_range(nth, 20, 100000);
    assert_in_range(second_packets() - packets, nth / step, UINT64_MAX);
}

static void
any_allocation_of_a_client_may_fail(void **state)
{
    (void)state;
    some_of(false, 0);
}

static void
any_allocation_of_a_server_may_fail(void **state)
{
    (void)state;
    some_of(true, 0);
}

static void
any_call_of_a_client_may_fail(void **state)
{
    (void)state;
    some_of(false, ENOMEM);
    some_of(false, EIO);
    some_of(false, EINVAL);
}

static void
any_call_of_a_server_may_fail(void **state)
{
    (void)state;
    some_of(true, ENOMEM);
    some_of(true, EIO);
    some_of(true, EINVAL);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(any_allocation_of_a_client_may_fail),
        T(any_allocation_of_a_server_may_fail),
        T(any_call_of_a_client_may_fail),
        T(any_call_of_a_server_may_fail),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
