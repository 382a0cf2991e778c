/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * More calls than a server can serve. It serves nearly as many as it can, and
 * each call ends once and in time with a true outcome. When the overload is
 * over, all calls are served again. The server has one thread, which is its
 * processor: a handler keeps it for as long as it runs, and it sleeps meanwhile.
 * A handler that used the world's own processor would keep it from the client,
 * too, which is another machine. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/crowd.h"

#define SEEDS          sim_few(20u)
#define RUN_US         200u
#define CAN            (S / RUN_US) /* calls a second, without other work */
#define GIVEN_MS       20u
#define LATE_US        (5 * MS)
#define POLL_MS        10
#define CRITICAL_EVERY 10u

static struct crowd crowd;
static pthread_t processor;
static atomic_uint ran;
static uint64_t asked_at[CROWD_MAX];
static unsigned too_late;
static bool mixes; /* mixes critical and sheddable calls */
static atomic_uint
    ran_before[CROWD_MAX]; /* value of `ran` before this tag's run */

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)call;
    atomic_store(&ran_before[request->tag], atomic_load(&ran));
    fake_sleep_us(RUN_US);
    atomic_fetch_add(&ran, 1);
    reply->tag = request->tag;
    return VC_OK;
}

/* Without threads of the library nothing takes the engine from a handler. */
static void *
processor_main(void *arg)
{
    struct sim_server *s = arg;
    struct vc_runtime *runtime;

    while ((runtime = atomic_load(&s->runtime)) == NULL)
        fake_sleep_us(MS);
    while (atomic_load(&s->close) == 0)
        vc_runtime_poll(runtime, POLL_MS);
    return NULL;
}

static void
processor_begin(struct sim_server *s)
{
    assert_int_equal(0, pthread_create(&processor, NULL, processor_main, s));
}

static void
processor_end(struct sim_server *s)
{
    (void)s;
    pthread_join(processor, NULL);
}

static void
at_end(struct crowd_call *c)
{
    if (fake_now_us() > asked_at[c->tag] + GIVEN_MS * MS + LATE_US)
        too_late++;
}

/* Starts calls at this rate per second. */
static void
offer(uint64_t rate, uint64_t us)
{
    uint64_t begun = fake_now_us(), now;
    struct vc_completion end;
    unsigned n = 0;

    while ((now = fake_now_us() - begun) < us) {
        for (; n < now * rate / S && crowd.n < CROWD_MAX; n++) {
            asked_at[crowd.n] = fake_now_us();
            if (mixes)
                crowd.opts.priority = crowd.n % CRITICAL_EVERY == 0
                                          ? VC_PRIORITY_CRITICAL
                                          : VC_PRIORITY_SHEDDABLE;
            crowd_call_queued(&crowd, 8);
        }
        if (vc_completions_next(crowd.queue, 1, &end) == VC_OK)
            crowd_told(&end);
    }
    crowd_await(&crowd, crowd.n);
}

static unsigned
refused(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < crowd.n; i++) {
        const struct crowd_call *c = &crowd.calls[i];

        n += c->status != VC_OK && c->outcome == VC_OUTCOME_NOT_EXECUTED;
    }
    return n;
}

static void
world_begin(uint64_t seed)
{
    atomic_store(&ran, 0);
    too_late = 0;
    crowd_open(&crowd, seed, 0, NULL);
    crowd.at_end = at_end;
    crowd.server.handle = handle;
    crowd.server.begin = processor_begin;
    crowd.server.end = processor_end;
    crowd.opts.timeout_ms = GIVEN_MS;
    crowd.opts.flags = VC_CALL_NO_RETRY;
    sim_server_start(&crowd.server, crowd.there, VC_THREADS_NONE);
    assert_true(sim_server_await(&crowd.server));
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
}

static void
an_overloaded_server_serves_nearly_as_many_as_it_can(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(SEEDS); seed++) {
        unsigned good, n;

        world_begin(seed);
        offer((seed % 2 == 0 ? 2 : 3) * CAN, S / 4);
        good = crowd_count(&crowd, VC_OK);
        print_message("%u of %u good, %u refused, %u ran\n", good, crowd.n,
                      refused(), atomic_load(&ran));
        assert_in_range(good, CAN / 4 * 85 / 100, CAN / 4 * 115 / 100);
        assert_int_equal(crowd.n,
                         good + refused() + (atomic_load(&ran) - good));
        assert_in_range(atomic_load(&ran) - good, 0, good / 10);
        assert_int_equal(0, too_late);

        fake_sleep_us(S / 2);
        n = crowd.n;
        offer(CAN / 2, S / 4);
        assert_int_equal(crowd.n - n, crowd_count(&crowd, VC_OK) - good);
        crowd_close(&crowd);
    }
}

/* One call in ten is critical. The others are sheddable; all together are three
 * times the capacity. */
static void
what_is_critical_is_served(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(SEEDS); seed++) {
        unsigned lost = 0;

        world_begin(seed);
        mixes = true;
        offer(3 * CAN, S / 4);
        mixes = false;
        for (unsigned i = 0; i < crowd.n; i += CRITICAL_EVERY)
            lost += crowd.calls[i].status != VC_OK;
        assert_in_range(lost, 0, crowd.n / CRITICAL_EVERY / 100);
        assert_true(crowd_count(&crowd, VC_OK) < crowd.n / 2);
        crowd_close(&crowd);
    }
}

static void
what_is_critical_begins_first(void **state)
{
    (void)state;
    world_begin(1);
    crowd.opts.timeout_ms = 1000;
    for (unsigned i = 0; i < 200; i++) {
        crowd.opts.priority =
            i < 199 ? VC_PRIORITY_DEFAULT : VC_PRIORITY_CRITICAL;
        crowd_call_queued(&crowd, 8);
    }
    crowd_await(&crowd, crowd.n);
    assert_int_equal(200, crowd_count(&crowd, VC_OK));
    print_message("%u ran before it\n", atomic_load(&ran_before[199]));
    assert_in_range(atomic_load(&ran_before[199]), 0, 40);
    crowd_close(&crowd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overloaded_server_serves_nearly_as_many_as_it_can),
        cmocka_unit_test(what_is_critical_is_served),
        cmocka_unit_test(what_is_critical_begins_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
