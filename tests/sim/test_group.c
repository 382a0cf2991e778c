/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast where things go wrong: a wire that loses, doubles and delays, a
 * group that is lost, devices that cannot join, and calls of rdma_cm and verbs
 * that fail. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/multicast.h>

#include "tests/sim/scene.h"

#define MS     1000u
#define TARGET "rdma+mc://239.1.2.3:7000"
#define HERE   "10.9.0.3"
#define THERE  "10.9.0.2"
#define LOCAL  "10.9.0.1"
#define CALLS  500u
#define FAIL   1u /* the method of Probe that is no one-way one here */

static struct vc_service one_way;
static struct vc_method one_way_methods[16];
static struct vc_multicast_loss loss; /* of the last report */
static atomic_uint reports;

static void
on_lost(const struct vc_multicast_loss *l, void *arg)
{
    (void)arg;
    loss = *l;
    atomic_fetch_add(&reports, 1);
}

/* Of the server, before it listens at its own address. */
static enum vc_status
group_listen(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    assert_int_equal(vc_server_on_multicast_lost(server, on_lost, NULL), VC_OK);
    return vc_server_listen(server, TARGET);
}

static enum vc_status
group_open(struct scene *s, uint32_t ms, struct vc_channel **channel)
{
    return vc_channel_open(
        s->runtime, TARGET,
        VC_CHANNEL_OPTS(.bind_address = HERE, .connect_timeout_ms = ms),
        channel);
}

static enum vc_status
publish(struct vc_channel *channel, unsigned tag)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    void *reply = NULL;

    request.tag = tag;
    return vc_channel_call(channel, &one_way, 0, &request, NULL, &reply);
}

/* The client has no thread: this advances it, for so long. */
static void
advance(struct scene *s, uint64_t us)
{
    uint64_t until = fake_now_us() + us;

    do {
        vc_runtime_poll(s->runtime, 0);
        fake_sleep_us(us < MS ? 10 : MS);
    } while (fake_now_us() < until);
}

static void
says(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, vc_error());
}

/* Runs a scene, of which the server's handler and options may be set. */
static void
group_play(struct scene *s, void (*act)(struct scene *s), uint64_t seed)
{
    static const struct vc_server_opts opts = {.size = sizeof opts,
                                               .multicast_address = THERE};

    sim_service(&one_way, one_way_methods, VC_METHOD_ONE_WAY);
    one_way_methods[FAIL].flags = suite_probe_service.methods[FAIL].flags;
    memset(&loss, 0, sizeof loss);
    atomic_store(&reports, 0);
    s->opts = (struct vc_channel_opts)VC_CHANNEL_OPTS_INIT;
    s->act = act;
    s->server.service = &one_way;
    s->server.add = group_listen;
    if (s->server.opts == NULL)
        s->server.opts = &opts;
    scene_run(s, seed);
}

static void
group_run(void (*act)(struct scene *s), uint64_t seed)
{
    struct scene s = {0};

    group_play(&s, act, seed);
}

/* --- a bad wire ----------------------------------------------------------- */

/* Sums up which calls have run, none of them twice. */
static unsigned
runs_count(unsigned first, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = first; i < first + n; i++) {
        assert_in_range(atomic_load(&sim_ran[i]), 0, 1);
        sum += atomic_load(&sim_ran[i]);
    }
    return sum;
}

/* The first and the last datagram arrive, so that each one between is known to
 * be lost if it does not. */
static void
publishes_over_a_bad_wire(struct scene *s)
{
    static const struct fake_noise noise = {
        .lost = 100000, .doubled = 50000, .late = 100000, .late_us = 300};
    struct vc_channel *channel;
    struct vc_counters c;
    unsigned ran;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(publish(channel, 1000), VC_OK);
    fake_sleep_us(10 * MS);
    fake_path_noise(NULL, NULL, &noise);
    for (unsigned i = 1; i < CALLS - 1; i++) {
        assert_int_equal(publish(channel, 1000 + i), VC_OK);
        fake_sleep_us(50);
    }
    fake_path_noise(NULL, NULL, NULL);
    assert_int_equal(publish(channel, 1000 + CALLS - 1), VC_OK);
    fake_sleep_us(100 * MS);
    scene_sync();
    ran = runs_count(1000, CALLS);
    c = scene_server(s);
    assert_true(ran > CALLS / 2 && ran < CALLS);
    assert_int_equal(c.multicast_received, ran);
    assert_int_equal(c.multicast_lost, CALLS - ran);
    assert_true(c.multicast_late > 0);
    assert_true(c.multicast_duplicates > 0);
    assert_int_equal(loss.lost, CALLS - ran);
    assert_int_equal(scene_client(s).multicast_sent, CALLS);
    vc_channel_close(channel);
    for (unsigned i = 0; i < CALLS; i++)
        atomic_store(&sim_ran[1000 + i], 0);
}

static void
what_a_bad_wire_loses_is_counted_exactly(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        group_run(publishes_over_a_bad_wire, seed);
}

/* --- groups that are lost ------------------------------------------------- */

static void
loses_the_group(struct scene *s)
{
    struct vc_channel *channel;
    char text[200];

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(publish(channel, 1), VC_OK);
    fake_sleep_us(10 * MS);
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR,
                  -ENETDOWN);
    fake_sleep_us(10 * MS);
    assert_int_equal(publish(channel, 2), VC_UNAVAILABLE);
    says("the multicast group 239.1.2.3:7000 is lost");
    says(strerror(ENETDOWN));
    assert_int_equal(vc_channel_connect(channel, &one_way), VC_UNAVAILABLE);
    vc_channel_describe(channel, text, sizeof text);
    assert_non_null(strstr(text, "not rdma+mc: the multicast group"));
    advance(s, 1500 * MS);
    assert_int_equal(publish(channel, 3), VC_OK);
    fake_sleep_us(10 * MS);
    vc_channel_describe(channel, text, sizeof text);
    assert_string_equal(text, "rdma+mc: publishes to 239.1.2.3:7000\n");
    assert_int_equal(scene_client(s).cm_multicast_errors, 1);
    /* the member */
    fake_cm_event(s->server.process, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
    fake_sleep_us(1500 * MS);
    assert_int_equal(scene_server(s).cm_multicast_errors, 1);
    assert_int_equal(publish(channel, 4), VC_OK);
    fake_sleep_us(10 * MS);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), 1);
    assert_int_equal(atomic_exchange(&sim_ran[2], 0), 0);
    assert_int_equal(atomic_exchange(&sim_ran[3], 0), 1);
    assert_int_equal(atomic_exchange(&sim_ran[4], 0), 1);
    vc_channel_close(channel);
}

static void
a_group_that_is_lost_is_joined_again(void **state)
{
    (void)state;
    group_run(loses_the_group, 1);
}

/* Makes calls of the other channel, by a connection, for so long; returns how
 * long the longest took. */
static uint64_t
longest_call(struct scene *s, uint64_t us)
{
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    uint64_t now = fake_now_us(), until = now + us, longest = 0;

    request.status = VC_ABORTED;
    request.text = (char *)"as asked for";
    while (now < until) {
        uint64_t since = now;
        Suite__Empty *reply;

        assert_int_equal(suite_probe_fail(s->channel, &request, NULL, &reply),
                         VC_ABORTED);
        now = fake_now_us();
        if (now - since > longest)
            longest = now - since;
        fake_sleep_us(MS);
    }
    return longest;
}

/* The calls' engine makes the attempts, which are not answered at first, and
 * then late. */
static void
loses_the_group_for_long(struct scene *s)
{
    struct fake_process *const losers[] = {fake_process_self(),
                                           s->server.process};
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    for (unsigned i = 0; i < 2; i++) {
        longest_call(s, 10 * MS);
        fake_rule("MULTICAST_JOIN", 0, FAKE_DROP, 0);
        fake_cm_event(losers[i], RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN);
        assert_true(longest_call(s, 5000 * MS) < 10 * MS);
        if (i == 0) {
            assert_int_equal(publish(channel, 1), VC_UNAVAILABLE);
            says("joining the group was not answered within 500 ms");
        }
        fake_no_rules();
        fake_rule("MULTICAST_JOIN", 0, FAKE_DELAY, 400 * MS);
        assert_true(longest_call(s, 12000 * MS) < 10 * MS);
        fake_no_rules();
    }
    assert_int_equal(publish(channel, 1), VC_OK);
    fake_sleep_us(10 * MS);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), 1);
    vc_channel_close(channel);
}

static void
calls_do_not_wait_while_a_group_is_joined_again(void **state)
{
    (void)state;
    group_run(loses_the_group_for_long, 1);
}

/* Each time at another point of an attempt. */
static void
closes_while_it_joins(struct scene *s)
{
    for (unsigned us = 0; us < 1000; us += 50) {
        struct vc_channel *channel;

        assert_int_equal(group_open(s, 500, &channel), VC_OK);
        fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR,
                      -ENETDOWN);
        advance(s, 10 * MS);
        fake_sleep_us(1000 * MS);
        advance(s, us);
        assert_int_equal(vc_channel_close(channel), VC_OK);
    }
}

/* Loses the group, and begins to join it again. */
static void
lose_and_begin(struct scene *s)
{
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR,
                  -ENETDOWN);
    advance(s, 10 * MS);
    fake_sleep_us(1000 * MS);
    advance(s, 50 * MS);
}

/* The device goes at each step. */
static void
loses_its_device_while_it_joins(struct scene *s)
{
    static const char *const steps[] = {"ADDR_RESOLVED", "MULTICAST_JOIN"};
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    for (unsigned i = 0; i < 2; i++) {
        fake_rule(steps[i], 0, FAKE_DELAY, 300 * MS);
        lose_and_begin(s);
        fake_device_remove(s->here);
        advance(s, 10 * MS);
        assert_int_equal(publish(channel, 1), VC_UNAVAILABLE);
        says("its RDMA device was removed");
        fake_no_rules();
        fake_device_return(s->here);
        advance(s, 5000 * MS);
        assert_int_equal(publish(channel, 1), VC_OK);
    }
    fake_sleep_us(10 * MS);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), 2);
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

/* An event that is no answer does not end the attempt. */
static void
changes_its_address_while_it_joins(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    fake_rule("MULTICAST_JOIN", 0, FAKE_DELAY, 300 * MS);
    lose_and_begin(s);
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_ADDR_CHANGE, 0);
    advance(s, 400 * MS);
    fake_no_rules();
    assert_int_equal(publish(channel, 1), VC_OK);
    fake_sleep_us(10 * MS);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), 1);
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

/* The attempt ends within a call that is refused for a reason of its own. */
static void
refuses_a_call_as_an_attempt_ends(struct scene *s)
{
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    struct vc_channel *channel;
    void *reply = NULL;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    fake_rule("MULTICAST_JOIN", 0, FAKE_DROP, 0);
    lose_and_begin(s);
    fake_sleep_us(500 * MS);
    assert_int_equal(
        vc_channel_call(channel, &one_way, FAIL, &request, NULL, &reply),
        VC_UNIMPLEMENTED);
    says("only methods with the option");
    assert_int_equal(publish(channel, 1), VC_UNAVAILABLE);
    says("joining the group was not answered within 500 ms");
    fake_no_rules();
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

/* The events of each step are there before this client looks, and the time of
 * the step is over. */
static void
looks_once_a_second(struct scene *s)
{
    struct vc_channel *channel;
    char text[200];

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR,
                  -ENETDOWN);
    for (unsigned i = 0; i < 6; i++) {
        vc_runtime_poll(s->runtime, 0);
        fake_sleep_us(1000 * MS);
    }
    vc_channel_describe(channel, text, sizeof text);
    assert_string_equal(text, "rdma+mc: publishes to 239.1.2.3:7000\n");
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

static void
joining_again_may_be_cut_short(void **state)
{
    (void)state;
    group_run(looks_once_a_second, 1);
    group_run(closes_while_it_joins, 1);
    group_run(loses_its_device_while_it_joins, 1);
    group_run(changes_its_address_while_it_joins, 1);
    group_run(refuses_a_call_as_an_attempt_ends, 1);
}

/* --- calls that run when their server closes ------------------------------- */

enum {
    WAITS = 1,   /* until its call is cancelled */
    IS_LEFT = 2, /* the same, after it has removed its service */
    IS_UNKNOWN = 3
};

static atomic_uint begun;

static enum vc_status
wait_cancelled(struct sim_server *s, struct vc_call *call,
               const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)reply;
    if (request->tag == IS_LEFT)
        assert_int_equal(vc_server_remove(s->server, &one_way), VC_OK);
    sim_tell(&begun);
    while (!vc_call_is_cancelled(call))
        fake_sleep_us(MS);
    return VC_OK;
}

/* The handler runs on when the client has left. */
static void
leaves_a_call(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(publish(channel, WAITS), VC_OK);
    assert_true(sim_await(&begun, 1000 * MS));
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

/* The second datagram finds no service of that name, and ends the first one's
 * session. */
static void
leaves_a_call_of_a_removed_service(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(publish(channel, IS_LEFT), VC_OK);
    assert_true(sim_await(&begun, 1000 * MS));
    assert_int_equal(publish(channel, IS_UNKNOWN), VC_OK);
    fake_sleep_us(10 * MS);
    assert_int_equal(scene_server(s).multicast_unknown, 1);
    assert_int_equal(scene_server(s).calls_cancelled, 0);
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

static void
closing_cancels(void (*act)(struct scene *s))
{
    struct scene s = {.server.handle = wait_cancelled};

    atomic_store(&begun, 0);
    group_play(&s, act, 1);
    assert_int_equal(s.server.last.calls_cancelled, 1);
    assert_int_equal(s.server.last.handlers_running, 0);
}

static void
a_server_that_closes_cancels_the_calls_of_its_groups(void **state)
{
    (void)state;
    closing_cancels(leaves_a_call);
    closing_cancels(leaves_a_call_of_a_removed_service);
}

/* --- a server that compares schemas ----------------------------------------- */

static void
publishes_without_a_schema(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(publish(channel, 1), VC_OK);
    fake_sleep_us(10 * MS);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), 1);
    assert_int_equal(scene_server(s).schemas_differ, 0);
    vc_channel_close(channel);
}

static void
schemas_are_not_compared_in_groups(void **state)
{
    static const uint32_t checks[] = {VC_SCHEMA_WARN, VC_SCHEMA_REFUSE};

    (void)state;
    assert_true(suite_probe_service.fingerprint != 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct vc_server_opts opts = {.size = sizeof opts,
                                            .schema_check = checks[i],
                                            .multicast_address = THERE};
        struct scene s = {.server.opts = &opts};

        group_play(&s, publishes_without_a_schema, 1);
    }
}

/* --- groups that cannot be joined ----------------------------------------- */

static enum vc_status
local_open(struct vc_runtime *runtime, uint32_t ms)
{
    struct vc_channel *channel;

    return vc_channel_open(
        runtime, TARGET,
        VC_CHANNEL_OPTS(.bind_address = LOCAL, .connect_timeout_ms = ms),
        &channel);
}

static void
devices_have_no_room(struct vc_runtime *runtime)
{
    struct vc_server *server;

    fake_device_multicast(fake_host_local(), 0, 0);
    assert_int_equal(local_open(runtime, 500), VC_UNAVAILABLE);
    says("239.1.2.3:7000: the RDMA device rxe0 has no multicast");
    fake_device_multicast(fake_host_local(), 1, 1);
    assert_int_equal(vc_server_new(runtime,
                                   VC_SERVER_OPTS(.multicast_address = LOCAL),
                                   &server),
                     VC_OK);
    assert_int_equal(vc_server_listen(server, TARGET), VC_OK);
    assert_int_equal(vc_server_listen(server, "rdma+mc://239.1.2.4:7000"),
                     VC_RESOURCE_EXHAUSTED);
    says("239.1.2.4:7000: rxe0 has no room for one more group or member");
    vc_server_free(server);
}

static void
joining_is_not_answered(struct vc_runtime *runtime)
{
    uint64_t since = fake_now_us();

    fake_rule("MULTICAST_JOIN", 1, FAKE_DROP, 0);
    assert_int_equal(local_open(runtime, 300), VC_UNAVAILABLE);
    says("joining the group was not answered within 300 ms");
    assert_in_range(fake_now_us() - since, 300 * MS, 310 * MS);
    fake_no_rules();
}

/* These calls return the errno, and need not set it. */
static void
device_is_not_queried(struct vc_runtime *runtime, const char *call)
{
    fake_fail(fake_process_self(), call, 1, EACCES);
    errno = 0;
    assert_int_equal(local_open(runtime, 300), VC_PERMISSION_DENIED);
    says(strerror(EACCES));
}

static void
why_a_group_cannot_be_joined_is_said_in_time(void **state)
{
    struct vc_runtime *runtime;

    (void)state;
    sim_begin(1, 0, true);
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    devices_have_no_room(runtime);
    joining_is_not_answered(runtime);
    fake_fail(fake_process_self(), "rdma_join_multicast", 1, ENOSYS);
    assert_int_equal(local_open(runtime, 300), VC_UNAVAILABLE);
    says("has no multicast");
    device_is_not_queried(runtime, "ibv_query_device");
    device_is_not_queried(runtime, "ibv_query_port");
    fake_fail_no_more();
    vc_runtime_free(runtime);
    assert_int_equal(fake_end(), 0);
}

/* --- any call fails ------------------------------------------------------- */

static unsigned
things(void)
{
    struct fake_census c;

    fake_census(fake_process_self(), &c);
    return c.pds + c.cqs + c.qps + c.event_channels + c.ids + c.events +
           c.descriptors + c.blocks;
}

/* Until no call is left to fail. */
static void
fails_at_each_call(struct scene *s)
{
    struct vc_channel *channel;
    enum vc_status status;
    unsigned before, struck, n = 0;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    assert_int_equal(vc_channel_close(channel), VC_OK);
    before = things();
    do {
        struck = fake_failed();
        fake_fail(fake_process_self(), "*", ++n, ENOMEM);
        status = group_open(s, 500, &channel);
        if (status == VC_OK)
            vc_channel_close(channel);
        else
            assert_int_equal(vc_error_status(), status);
        assert_int_equal(things(), before);
    } while (fake_failed() > struck);
    fake_fail_no_more();
    assert_int_equal(status, VC_OK);
    assert_true(n > 12);
}

static void
listens_at_each_call(struct scene *s)
{
    struct vc_server *server;
    enum vc_status status;
    unsigned struck, n = 0;

    assert_int_equal(vc_server_new(s->runtime,
                                   VC_SERVER_OPTS(.multicast_address = HERE),
                                   &server),
                     VC_OK);
    do {
        struck = fake_failed();
        fake_fail(fake_process_self(), "*", ++n, ENOMEM);
        status = vc_server_listen(server, TARGET);
        assert_true(status == VC_OK || vc_error_status() == status);
    } while (fake_failed() > struck);
    fake_fail_no_more();
    assert_int_equal(status, VC_OK);
    assert_true(n > 12);
    vc_server_free(server);
}

static unsigned strike, struck;

/* The client has no thread: its calls advance it. Returns how many were
 * sent. */
static unsigned
publish_on(struct vc_channel *channel, uint64_t us)
{
    uint64_t until = fake_now_us() + us;
    unsigned n = 0;

    while (fake_now_us() < until) {
        n += publish(channel, 1) == VC_OK;
        fake_sleep_us(20 * MS);
    }
    return n;
}

static void
joins_again(struct scene *s)
{
    struct vc_channel *channel;
    unsigned sent, again;

    assert_int_equal(group_open(s, 500, &channel), VC_OK);
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR,
                  -ENETDOWN);
    fake_sleep_us(10 * MS);
    assert_int_equal(publish(channel, 1), VC_UNAVAILABLE);
    fake_sleep_us(1000 * MS);
    struck = fake_failed();
    fake_fail(fake_process_self(), "*", strike, ENOMEM);
    sent = publish_on(channel, 600 * MS);
    struck = fake_failed() - struck;
    fake_fail_no_more();
    again = publish_on(channel, 5000 * MS);
    assert_true(again > 0);
    scene_sync();
    assert_int_equal(atomic_exchange(&sim_ran[1], 0), sent + again);
    assert_int_equal(vc_channel_close(channel), VC_OK);
}

static void
any_call_may_fail_and_no_group_is_left(void **state)
{
    (void)state;
    group_run(fails_at_each_call, 1);
    group_run(listens_at_each_call, 1);
    strike = 0;
    do {
        strike++;
        group_run(joins_again, 1);
    } while (struck > 0 && strike < 60);
    assert_true(strike > 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_bad_wire_loses_is_counted_exactly),
        cmocka_unit_test(a_group_that_is_lost_is_joined_again),
        cmocka_unit_test(calls_do_not_wait_while_a_group_is_joined_again),
        cmocka_unit_test(joining_again_may_be_cut_short),
        cmocka_unit_test(a_server_that_closes_cancels_the_calls_of_its_groups),
        cmocka_unit_test(schemas_are_not_compared_in_groups),
        cmocka_unit_test(why_a_group_cannot_be_joined_is_said_in_time),
        cmocka_unit_test(any_call_may_fail_and_no_group_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
