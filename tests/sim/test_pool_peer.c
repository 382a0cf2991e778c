/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool whose peer has changed: another server has its address, it has removed
 * a service, it is drained, or it starts late. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/sim/sim.h"

#define SEEDS    sim_share(20u)
#define MS       1000u
#define LONG_US  60000000u
#define CALLERS  6u
#define LONG_TAG 60000u /* the call with this tag runs for 3 s */
#define ONE      "10.9.0.2"
#define TWO      "10.9.0.3"

/* --- servers ------------------------------------------------------------- */

/* A server that serves what its fields say, and runs an order. */
struct place {
    char target[80];
    bool probe, other;
    unsigned handler_us;
    void (*order)(struct place *p, struct vc_server *server);
    const char *alternative;
    enum vc_status status; /* of the order */
    atomic_uint serves, ordered, done, stop;
    atomic_uint ran;
    struct fake_process *process;
};

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    struct place *p = arg;

    (void)call;
    atomic_fetch_add(&p->ran, 1);
    atomic_fetch_add(&sim_ran[request->tag], 1);
    fake_sleep_us(request->tag == LONG_TAG ? 3000 * MS : p->handler_us);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static enum vc_status
name(struct vc_call *call, const Suite__Empty *request, Suite__NameReply *reply,
     void *arg)
{
    (void)call;
    (void)request;
    (void)arg;
    reply->name = (char *)"other";
    return VC_OK;
}

static void
place_main(void *arg)
{
    const struct suite_probe_methods probe = {.echo = echo};
    const struct suite_other_methods other = {.name = name};
    struct place *p = arg;
    struct vc_runtime *runtime;
    struct vc_server *server;

    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
    if (p->probe)
        assert_int_equal(VC_OK, suite_probe_add(server, &probe, p));
    if (p->other)
        assert_int_equal(VC_OK, suite_other_add(server, &other, p));
    assert_int_equal(VC_OK, vc_server_listen(server, p->target));
    sim_tell(&p->serves);
    sim_await(&p->ordered, LONG_US);
    if (p->order != NULL && atomic_load(&p->stop) == 0) {
        p->order(p, server);
        sim_tell(&p->done);
    }
    sim_await(&p->stop, LONG_US);
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
place_start(struct place *p, struct fake_host *host, const char *addr,
            const char *process)
{
    sim_target(addr, p->target);
    p->process = fake_process_start(host, process, place_main, p);
    assert_true(sim_await(&p->serves, LONG_US));
}

static void
place_stop(struct place *p)
{
    sim_tell(&p->stop);
    sim_tell(&p->ordered);
    assert_true(fake_process_wait(p->process, LONG_US));
}

/* --- a client ------------------------------------------------------------ */

struct client {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static struct vc_channel *
client_channel(struct client *c, const char *target, unsigned links)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.min_links = opts.max_links = links;
    opts.call_timeout_ms = 60000;
    opts.max_attempts = 1; /* so the result is that of one attempt */
    assert_int_equal(VC_OK,
                     vc_channel_open(c->runtime, target, &opts, &channel));
    return channel;
}

static void
client_open(struct client *c, const char *target, unsigned links)
{
    assert_int_equal(VC_OK, sim_runtime(&c->runtime, 1));
    c->channel = client_channel(c, target, links);
}

static void
client_close(struct client *c)
{
    vc_channel_close(c->channel);
    vc_runtime_free(c->runtime);
}

struct caller {
    struct vc_channel *channel;
    pthread_t thread;
    unsigned tag;
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t ended_us;
};

static void *
calls_echo(void *arg)
{
    struct caller *c = arg;

    c->status = sim_echo(c->channel, 64, c->tag, 0, &c->outcome);
    c->ended_us = fake_now_us();
    return NULL;
}

static void *
calls_name(void *arg)
{
    struct caller *c = arg;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    c->status = suite_other_name(c->channel, &request, NULL, &reply);
    if (c->status == VC_OK)
        vc_message_free(reply);
    c->ended_us = fake_now_us();
    return NULL;
}

static void
callers_start(struct caller *c, unsigned n, struct vc_channel *channel,
              void *(*call)(void *), unsigned tag)
{
    for (unsigned i = 0; i < n; i++) {
        c[i] = (struct caller){.channel = channel, .tag = tag + i};
        assert_int_equal(0, pthread_create(&c[i].thread, NULL, call, &c[i]));
    }
}

static void
callers_join(struct caller *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        pthread_join(c[i].thread, NULL);
}

/* Waits until handlers run for the tags 0..n-1. */
static void
await_runs(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        while (atomic_load(&sim_ran[i]) == 0)
            fake_sleep_us(20);
}

static unsigned seen;

static void
see(void *arg)
{
    (void)arg;
    seen++;
}

/* --- removed services ---------------------------------------------------- */

/* The new server has only one of the two services. It listens when the request
 * to resume arrives. Calls of its service wait for it, or come when all others
 * have ended. */
static void
calls_end_when_the_server_that_is_to_resume_them_lacks_their_service(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place first = {
            .probe = true, .other = true, .handler_us = LONG_US};
        struct place second = {.other = true};
        struct caller running[CALLERS], later[CALLERS], others[CALLERS];
        struct fake_host *host;
        struct client c;
        uint64_t killed;

        sim_begin(seed, 2, true);
        host = fake_host_new("one", ONE);
        place_start(&first, host, ONE, "first");
        client_open(&c, first.target, 1);
        callers_start(running, CALLERS, c.channel, calls_echo, 0);
        await_runs(CALLERS);
        seen = 0;
        fake_when("main: REQ", 1, see, NULL);
        fake_rule("main: REQ", 1, FAKE_DELAY, 20 * MS);
        killed = fake_now_us();
        fake_process_kill(first.process);
        while (seen == 0) /* the client knows that the link is lost */
            fake_sleep_us(MS);
        callers_start(later, CALLERS, c.channel, calls_echo, CALLERS);
        if (seed % 4 < 2)
            callers_start(others, CALLERS, c.channel, calls_name, 0);
        place_start(&second, host, ONE, "second");
        callers_join(running, CALLERS);
        callers_join(later, CALLERS);
        if (seed % 4 >= 2)
            callers_start(others, CALLERS, c.channel, calls_name, 0);
        callers_join(others, CALLERS);

        for (unsigned i = 0; i < CALLERS; i++) {
            assert_int_equal(VC_UNAVAILABLE, running[i].status);
            assert_int_equal(VC_OUTCOME_UNKNOWN, running[i].outcome);
            assert_in_range(running[i].ended_us - killed, 0, 1000 * MS);
            assert_int_equal(VC_UNIMPLEMENTED, later[i].status);
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, later[i].outcome);
            assert_int_equal(VC_OK, others[i].status);
        }
        client_close(&c);
        place_stop(&second);
        assert_int_equal(0, fake_end());
    }
}

static void
probe_remove(struct place *p, struct vc_server *server)
{
    p->status = vc_server_remove(server, &suite_probe_service);
}

/* vc_server_remove() promises this for running calls. */
static void
calls_run_on_when_their_service_is_removed_and_their_link_is_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place one = {.probe = true,
                            .other = true,
                            .handler_us = 50 * MS,
                            .order = probe_remove};
        struct caller running[CALLERS], later, other;
        struct client c;

        sim_begin(seed, 2, true);
        place_start(&one, fake_host_new("one", ONE), ONE, "one");
        client_open(&c, one.target, 1);
        callers_start(running, CALLERS, c.channel, calls_echo, 0);
        await_runs(CALLERS);
        sim_tell(&one.ordered);
        assert_true(sim_await(&one.done, LONG_US));
        fake_rule("main qp", 1, FAKE_FLUSH, 0);
        callers_start(&other, 1, c.channel, calls_name, 0);
        callers_start(&later, 1, c.channel, calls_echo, CALLERS);
        callers_join(&other, 1);
        callers_join(&later, 1);
        callers_join(running, CALLERS);

        assert_int_equal(VC_OK, one.status);
        assert_int_equal(VC_OK, other.status);
        assert_int_equal(VC_UNIMPLEMENTED, later.status);
        for (unsigned i = 0; i < CALLERS; i++) {
            assert_int_equal(VC_OK, running[i].status);
            assert_int_equal(1, atomic_load(&sim_ran[i]));
        }
        client_close(&c);
        place_stop(&one);
        assert_int_equal(0, fake_end());
    }
}

/* --- out of service ------------------------------------------------------ */

static void
drain(struct place *p, struct vc_server *server)
{
    p->status = vc_server_drain(server, p->alternative, 5000);
}

/* Makes a call that must succeed quickly. */
static void
call_quickly(struct client *c, unsigned tag)
{
    uint64_t begun = fake_now_us();

    assert_int_equal(VC_OK, sim_echo(c->channel, 64, tag, 0, NULL));
    assert_in_range(fake_now_us() - begun, 0, 100 * MS);
}

/* The client's second link is being made: its message of this line is slow, and
 * the first server is drained meanwhile. No call is lost or waits for that
 * link. After the drain all calls go to the second server. */
static void
drain_during(const char *line, uint64_t seed)
{
    struct place first = {.probe = true, .handler_us = 100, .order = drain};
    struct place second = {.probe = true};
    struct client c;
    unsigned tag = 0, ran;
    uint64_t begun;

    sim_begin(seed, 2, true);
    place_start(&second, fake_host_new("two", TWO), TWO, "second");
    first.alternative = second.target;
    place_start(&first, fake_host_new("one", ONE), ONE, "first");
    client_open(&c, first.target, 2);
    seen = 0;
    fake_when(line, 2, see, NULL);
    fake_rule(line, 2, FAKE_DELAY, 500 * MS);
    while (seen == 0)
        call_quickly(&c, tag++);
    begun = fake_now_us();
    sim_tell(&first.ordered);
    while (atomic_load(&first.done) == 0)
        call_quickly(&c, tag++);
    assert_in_range(fake_now_us() - begun, 0, 1000 * MS);
    ran = atomic_load(&first.ran);
    while (fake_now_us() < begun + 1000 * MS) {
        call_quickly(&c, tag++);
        fake_sleep_us(MS);
    }

    assert_int_equal(VC_OK, first.status);
    assert_int_equal(ran, atomic_load(&first.ran));
    assert_int_equal(tag, ran + atomic_load(&second.ran));
    client_close(&c);
    place_stop(&first);
    place_stop(&second);
    assert_int_equal(0, fake_end());
}

static void
no_call_is_lost_when_a_further_link_is_asked_for_while_the_server_is_drained(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        drain_during("main: REQ", seed);
}

static void
a_further_link_accepted_before_the_server_is_drained_keeps_nobody_there(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        drain_during("first: REP", seed);
}

static void
a_client_accepted_before_the_server_is_drained_goes_to_the_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place first = {.probe = true, .order = drain};
        struct place second = {.probe = true};
        struct caller early;
        struct client c;
        uint64_t begun;

        sim_begin(seed, 2, true);
        place_start(&second, fake_host_new("two", TWO), TWO, "second");
        first.alternative = second.target;
        place_start(&first, fake_host_new("one", ONE), ONE, "first");
        client_open(&c, first.target, 1);
        seen = 0;
        fake_when("first: REP", 1, see, NULL);
        fake_rule("first: REP", 1, FAKE_DELAY, 20 * MS);
        callers_start(&early, 1, c.channel, calls_echo, 1);
        while (seen == 0)
            fake_sleep_us(100);
        begun = fake_now_us();
        sim_tell(&first.ordered);
        callers_join(&early, 1);
        while (atomic_load(&first.done) == 0)
            call_quickly(&c, 2);
        assert_in_range(fake_now_us() - begun, 0, 1000 * MS);
        call_quickly(&c, 3);

        assert_int_equal(VC_OK, early.status);
        assert_int_equal(VC_OK, first.status);
        assert_true(atomic_load(&second.ran) > 0);
        client_close(&c);
        place_stop(&first);
        place_stop(&second);
        assert_int_equal(0, fake_end());
    }
}

/* The handler runs long after its call was abandoned. */
static void
a_call_given_up_keeps_no_link_to_a_drained_server_when_its_channel_is_closed(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place first = {.probe = true, .order = drain};
        struct place second = {.probe = true};
        struct vc_channel *other;
        struct client c;
        uint64_t begun;

        sim_begin(seed, 2, true);
        place_start(&second, fake_host_new("two", TWO), TWO, "second");
        first.alternative = second.target;
        place_start(&first, fake_host_new("one", ONE), ONE, "first");
        client_open(&c, first.target, 1);
        other = client_channel(&c, first.target, 1);
        assert_int_equal(VC_DEADLINE_EXCEEDED,
                         sim_echo(other, 64, LONG_TAG, 20, NULL));
        call_quickly(&c, 2);
        begun = fake_now_us();
        sim_tell(&first.ordered);
        while (atomic_load(&second.ran) == 0)
            call_quickly(&c, 3);
        vc_channel_close(other);
        while (atomic_load(&first.done) == 0)
            call_quickly(&c, 4);
        assert_in_range(fake_now_us() - begun, 0, 1000 * MS);

        assert_int_equal(VC_OK, first.status);
        client_close(&c);
        place_stop(&first);
        place_stop(&second);
        assert_int_equal(0, fake_end());
    }
}

/* --- servers that start late --------------------------------------------- */

/* After the fourth failed attempt the next one waits 320 ms at least. */
static void
connect_hurries_an_attempt_that_waits_for_its_time(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place one = {.probe = true};
        struct fake_host *host;
        struct caller waiting;
        struct client c;
        uint64_t failed, begun;

        sim_begin(seed, 2, true);
        host = fake_host_new("one", ONE);
        sim_target(ONE, one.target);
        client_open(&c, one.target, 1);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(VC_UNAVAILABLE,
                             sim_echo(c.channel, 64, 0, 0, NULL));
        failed = fake_now_us();
        place_start(&one, host, ONE, "one");
        /* The caller waits for an attempt that is due in less than 300 ms. */
        fake_sleep_us(200 * MS - (fake_now_us() - failed));
        callers_start(&waiting, 1, c.channel, calls_echo, 1);
        fake_sleep_us(10 * MS);
        begun = fake_now_us();
        assert_int_equal(VC_OK,
                         vc_channel_connect(c.channel, &suite_probe_service));
        assert_in_range(fake_now_us() - begun, 0, 20 * MS);
        callers_join(&waiting, 1);

        assert_int_equal(VC_OK, waiting.status);
        assert_in_range(waiting.ended_us - begun, 0, 20 * MS);
        client_close(&c);
        place_stop(&one);
        assert_int_equal(0, fake_end());
    }
}

static void
connect_joins_an_attempt_that_is_under_way(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct place one = {.probe = true};
        struct caller waiting;
        struct client c;

        sim_begin(seed, 2, true);
        place_start(&one, fake_host_new("one", ONE), ONE, "one");
        client_open(&c, one.target, 1);
        seen = 0;
        fake_when("main: REQ", 1, see, NULL);
        fake_rule("main: REQ", 1, FAKE_DELAY, 20 * MS);
        callers_start(&waiting, 1, c.channel, calls_echo, 1);
        while (seen == 0)
            fake_sleep_us(MS);
        fake_when("main: REQ", 1, see, NULL);
        assert_int_equal(VC_OK,
                         vc_channel_connect(c.channel, &suite_probe_service));
        callers_join(&waiting, 1);

        assert_int_equal(VC_OK, waiting.status);
        assert_int_equal(1, seen);
        client_close(&c);
        place_stop(&one);
        assert_int_equal(0, fake_end());
    }
}

/* --- how long an attempt may take ---------------------------------------- */

static uint64_t
links_up(struct vc_runtime *runtime)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &counters);
    return counters.links_up;
}

/* Makes a call to a server that does not answer. Returns after how many ms the
 * call failed. */
static uint64_t
ms_until_silence_is_found(struct client *c)
{
    uint64_t called = fake_now_us();
    enum vc_outcome outcome;

    assert_int_equal(VC_UNAVAILABLE,
                     sim_echo(c->channel, 64, 1, 60000, &outcome));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, outcome);
    return (fake_now_us() - called) / MS;
}

/* The client knows its server still, but no call waits there. So a new call has
 * all of the connect timeout, and its error names that. */
static void
a_call_after_an_idle_link_was_lost_has_the_whole_connect_timeout(void **state)
{
    struct place one = {.probe = true}, frozen = {.probe = true};
    struct fake_host *there;
    struct client c;
    uint64_t ms;

    (void)state;
    sim_begin(1, 0, true);
    there = fake_host_new("one", ONE);
    place_start(&one, there, ONE, "first");
    assert_int_equal(VC_OK, sim_runtime(&c.runtime, 1));
    assert_int_equal(VC_OK, vc_runtime_start(c.runtime));
    assert_int_equal(
        VC_OK,
        vc_channel_open(c.runtime, one.target,
                        VC_CHANNEL_OPTS(.connect_timeout_ms = 3000,
                                        .keepalive_ms = 500, .max_attempts = 1),
                        &c.channel));
    assert_int_equal(VC_OK, sim_echo(c.channel, 64, 0, 60000, NULL));
    fake_process_kill(one.process);
    while (links_up(c.runtime) > 0)
        fake_sleep_us(MS);
    place_start(&frozen, there, ONE, "frozen");
    fake_process_freeze(frozen.process);
    ms = ms_until_silence_is_found(&c);

    assert_in_range(ms, 2900, 3200);
    assert_non_null(strstr(vc_error(), "3000 ms"));
    client_close(&c);
    fake_process_thaw(frozen.process);
    place_stop(&frozen);
    assert_int_equal(0, fake_end());
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(calls_end_when_the_server_that_is_to_resume_them_lacks_their_service),
        T(calls_run_on_when_their_service_is_removed_and_their_link_is_lost),
        T(no_call_is_lost_when_a_further_link_is_asked_for_while_the_server_is_drained),
        T(a_further_link_accepted_before_the_server_is_drained_keeps_nobody_there),
        T(a_client_accepted_before_the_server_is_drained_goes_to_the_other),
        T(a_call_given_up_keeps_no_link_to_a_drained_server_when_its_channel_is_closed),
        T(a_call_after_an_idle_link_was_lost_has_the_whole_connect_timeout),
        T(connect_hurries_an_attempt_that_waits_for_its_time),
        T(connect_joins_an_attempt_that_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
