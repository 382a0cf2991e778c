/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How far calls overrun their deadlines, and how soon a cancelled one returns,
 * by the clock of the simulated world, with others under way beside them. */
#include <pthread.h>
#include <stdlib.h>

#include <verbcall/cancel.h>

#include "tests/sim/scene.h"

#define MS       1000u
#define CALLERS  4u
#define CALLS    500u /* of each */
#define SLEEP_US (30 * MS)
#define MOST_US  (10 * MS) /* p99.9 of the overrun, and of a cancellation */

static uint64_t late[CALLERS * CALLS];

struct caller {
    struct scene *scene;
    unsigned i;
};

static int
by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The one in a thousand. */
static uint64_t
p999(uint64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[n - 1 - n / 1000];
}

static void *
caller_main(void *arg)
{
    const struct caller *c = arg;

    for (unsigned k = 0; k < CALLS; k++) {
        unsigned ms = 1 + (k * 7 + c->i) % 20;
        uint64_t begun = fake_now_us();
        enum vc_status status = sim_echo(c->scene->channel, 64, c->i, ms, NULL);
        uint64_t took = fake_now_us() - begun;

        assert_int_equal(status, VC_DEADLINE_EXCEEDED);
        assert_true(took >= ms * MS);
        late[c->i * CALLS + k] = took - ms * MS;
    }
    return NULL;
}

static void
act_deadlines(struct scene *s)
{
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    uint64_t most;

    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){s, i};
        pthread_create(&threads[i], NULL, caller_main, &callers[i]);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    most = p999(late, CALLERS * CALLS);
    print_message("deadline_overrun_p999_us %llu\n", (unsigned long long)most);
    assert_in_range(most, 0, MOST_US);
}

struct cancelled {
    struct scene *scene;
    struct vc_canceller *canceller;
    uint64_t returned;
};

static void *
cancelled_main(void *arg)
{
    struct cancelled *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.canceller = c->canceller;
    assert_int_equal(sim_echo_opts(c->scene->channel, 64, 0, &opts, NULL),
                     VC_CANCELLED);
    c->returned = fake_now_us();
    return NULL;
}

static void
act_cancels(struct scene *s)
{
    uint64_t most = 0;

    for (unsigned k = 0; k < 200; k++) {
        struct cancelled c = {.scene = s};
        pthread_t thread;
        uint64_t begun;

        assert_int_equal(vc_canceller_new(&c.canceller), VC_OK);
        pthread_create(&thread, NULL, cancelled_main, &c);
        fake_sleep_us(1 + k * 97 % (20 * MS));
        begun = fake_now_us();
        vc_cancel(c.canceller);
        pthread_join(thread, NULL);
        if (c.returned > begun && c.returned - begun > most)
            most = c.returned - begun;
        vc_canceller_free(c.canceller);
    }
    print_message("cancel_most_us %llu\n", (unsigned long long)most);
    assert_in_range(most, 0, MOST_US);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= SIM_SHARE(5); seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.sleep_us = SLEEP_US;
        scene_run(&s, seed);
    }
}

static void
calls_end_within_ten_milliseconds_of_their_deadline(void **state)
{
    (void)state;
    play(act_deadlines);
}

static void
cancelled_calls_return_within_ten_milliseconds(void **state)
{
    (void)state;
    play(act_cancels);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_within_ten_milliseconds_of_their_deadline),
        cmocka_unit_test(cancelled_calls_return_within_ten_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
