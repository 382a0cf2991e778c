/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata and results of calls with several attempts, and of asynchronous
 * calls. Each attempt carries the same metadata and its number. The result is
 * that of the attempt which ended the call. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <verbcall/async.h>

#include "tests/sim/told.h"

#define MS 1000u /* us */

/* --- the service ------------------------------------------------------- */

/* The simulated wire does not order memory accesses of client and server, so
 * they need a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan {
    unsigned failures; /* this many attempts fail */
    unsigned size;     /* of the metadata, packed */
    bool advises;      /* failing attempts send a pushback: */
    int32_t advice;
    bool slow; /* the first attempt is slow */
} the_plan;    /* lock */

static atomic_uint ran;
static _Atomic(uint64_t) began_us[8]; /* of each attempt */

static struct plan
plan_now(void)
{
    struct plan p;

    pthread_mutex_lock(&lock);
    p = the_plan;
    pthread_mutex_unlock(&lock);
    return p;
}

static void
plan_set(const struct plan *p)
{
    pthread_mutex_lock(&lock);
    the_plan = *p;
    pthread_mutex_unlock(&lock);
}

static enum vc_status
run(struct vc_call *call, const void *methods, const void *request, void *reply,
    void *arg)
{
    const struct plan plan = plan_now();
    unsigned number = vc_call_attempt(call);
    char text[2] = {(char)('0' + number % 10), '\0'};
    size_t length;

    (void)methods;
    (void)arg;
    ((Suite__EchoReply *)reply)->payload =
        ((const Suite__EchoRequest *)request)->payload;
    if (number > 7 || vc_call_metadata_find(call, "x-bin", &length) == NULL ||
        length != plan.size - 8)
        return VC_DATA_LOSS;
    began_us[number] = fake_now_us();
    atomic_fetch_add(&ran, 1);
    vc_call_add_trailing(call, "attempt", text, 1);
    if (number > plan.failures) {
        if (plan.slow && number == 1)
            fake_sleep_us(300 * MS);
        return VC_OK;
    }
    if (plan.advises)
        vc_call_pushback(call, plan.advice);
    return vc_call_fail(call, VC_UNAVAILABLE, "attempt %u", number);
}

static const struct vc_method method = {
    .name = "Safe",
    .hash = 1,
    .flags = VC_METHOD_IDEMPOTENT | VC_METHOD_NO_SIDE_EFFECTS,
    .request = {.desc = &suite__echo_request__descriptor},
    .reply = {.desc = &suite__echo_reply__descriptor},
    .run = run};
static const struct vc_service service = {.name = "sim.Streams",
                                          .id = UINT64_C(0xa029f56136183507),
                                          .n_methods = 1,
                                          .methods = &method};

static enum vc_status
service_add(struct vc_server *server, struct sim_server *s)
{
    static const int none;

    return vc_server_add(server, &service, &none, sizeof none, s);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.add = service_add;
        s.opts.max_attempts = 4;
        scene_run(&s, seed);
    }
}

/* --- the client -------------------------------------------------------- */

struct end {
    atomic_uint over;
    enum vc_status status;
};

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    struct end *end = arg;

    vc_message_free(reply);
    end->status = status;
    sim_tell(&end->over);
}

static enum vc_status
call_async(struct vc_channel *channel, const Suite__EchoRequest *request,
           const struct vc_call_opts *opts)
{
    struct end end = {.status = VC_OK};

    assert_int_equal(vc_channel_call_async(channel, &service, 0, request, opts,
                                           on_done, &end, NULL),
                     VC_OK);
    assert_true(sim_await(&end.over, 10000 * MS));
    return end.status;
}

static enum vc_status
call_blocking(struct vc_channel *channel, const Suite__EchoRequest *request,
              const struct vc_call_opts *opts)
{
    void *reply;
    enum vc_status status =
        vc_channel_call(channel, &service, 0, request, opts, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

/* Makes one call by the plan. It needs a channel of its own, because failures
 * of other calls would use up its attempts. */
static enum vc_status
call(struct scene *s, const struct plan *plan, bool async, size_t size,
     uint32_t hedge_ms, struct vc_result *result)
{
    static uint8_t bytes[50000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_metadata m = told_long(plan->size);
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_channel *channel;
    enum vc_status status;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    opts.metadata = &m;
    opts.n_metadata = 1;
    opts.result = result;
    opts.hedge_ms = hedge_ms;
    request.payload.data = bytes;
    request.payload.len = size;
    plan_set(plan);
    atomic_store(&ran, 0);
    status = async ? call_async(channel, &request, &opts)
                   : call_blocking(channel, &request, &opts);
    vc_channel_close(channel);
    return status;
}

/* The result is that of attempt `last`, and has the number of attempts. */
static void
assert_result(const struct vc_result *r, enum vc_status status, unsigned last)
{
    assert_int_equal(r->status, status);
    assert_int_equal(r->attempts, last);
    assert_int_equal(r->n_initial, 0);
    assert_int_equal(r->n_trailing, 1);
    assert_string_equal(r->trailing[0].key, "attempt");
    assert_int_equal(*(const char *)r->trailing[0].value - '0', last);
}

/* --- tests ------------------------------------------------------------- */

static void
tries_again(struct scene *s)
{
    static const unsigned sizes[] = {9, 3000, VC_METADATA_MAX};
    struct vc_result result = VC_RESULT_INIT;

    vc_runtime_start(s->runtime);
    for (unsigned i = 0; i < 12; i++) {
        bool async = i % 2 != 0;
        size_t size = i / 2 % 2 == 0 ? 10 : 50000;

        struct plan plan = {.failures = 2, .size = sizes[i / 4]};
        assert_int_equal(call(s, &plan, async, size, 0, &result), VC_OK);
        assert_int_equal(atomic_load(&ran), 3);
        assert_result(&result, VC_OK, 3);
        assert_string_equal(result.message, "");
    }
    vc_result_clear(&result);
}

static void
each_attempt_has_the_metadata_and_its_number(void **state)
{
    (void)state;
    play(tries_again);
}

static void
takes_advice(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;

    vc_runtime_start(s->runtime);
    for (unsigned async = 0; async < 2; async++) {
        struct plan plan = {
            .failures = 1, .size = 9, .advises = true, .advice = 700};
        assert_int_equal(call(s, &plan, async, 10, 0, &result), VC_OK);
        assert_result(&result, VC_OK, 2);
        assert_true(began_us[2] - began_us[1] >= 700 * MS);
        plan.advice = -1;
        assert_int_equal(call(s, &plan, async, 10, 0, &result), VC_UNAVAILABLE);
        assert_int_equal(atomic_load(&ran), 1);
        assert_result(&result, VC_UNAVAILABLE, 1);
        assert_string_equal(result.message, "attempt 1");
    }
    vc_result_clear(&result);
}

static void
the_handlers_advice_is_taken(void **state)
{
    (void)state;
    play(takes_advice);
}

static void
hedges(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;

    vc_runtime_start(s->runtime);
    for (unsigned i = 0; i < 4; i++) {
        const struct plan plan = {.size = i < 2 ? 100 : VC_METADATA_MAX,
                                  .slow = true};
        assert_int_equal(call(s, &plan, i % 2, 10, 50, &result), VC_OK);
        assert_result(&result, VC_OK, 2);
        fake_sleep_us(1000 * MS); /* the other has ended, too */
    }
    vc_result_clear(&result);
}

static void
of_two_attempts_at_a_time_the_result_is_the_winners(void **state)
{
    (void)state;
    play(hedges);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_attempt_has_the_metadata_and_its_number),
        cmocka_unit_test(the_handlers_advice_is_taken),
        cmocka_unit_test(of_two_attempts_at_a_time_the_result_is_the_winners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
