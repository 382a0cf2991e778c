/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/pool/throttle.c against a server that accepts so many calls a second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/pool/throttle.h"

#define S UINT64_C(1000000)
/* The longest queue at the server. */
#define QUEUE_US 20000u

struct world {
    struct vc__throttle t;
    uint64_t now, seed;
    uint64_t due; /* when the server can accept the next call */
    unsigned asked, sent, taken;
};

static void
world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->now = 1000 * S;
    w->seed = 1;
}

/* Makes calls at a steady rate to a server that accepts `takes` a second. */
static void
run(struct world *w, unsigned rate, unsigned takes, uint64_t us)
{
    uint64_t until = w->now + us;

    w->asked = w->sent = w->taken = 0;
    for (; w->now < until; w->now += S / rate) {
        bool shed;

        w->asked++;
        if (vc__throttle_is_on(&w->t) &&
            vc__throttle_refuses(&w->t, w->now, &w->seed))
            continue;
        w->sent++;
        shed = w->due > w->now + QUEUE_US;
        if (!shed)
            w->due = (w->due > w->now ? w->due : w->now) + S / takes;
        w->taken += !shed;
        if (shed || vc__throttle_is_on(&w->t))
            vc__throttle_answered(&w->t, shed);
    }
}

static void
what_the_server_takes_is_sent(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    run(&w, 1000, 2000, 10 * S);
    assert_int_equal(w.asked, w.sent);
    assert_false(vc__throttle_is_on(&w.t));
}

/* Nine calls in ten are accepted: the client fails none by itself. */
static void
a_server_that_takes_most_is_asked_for_all(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    run(&w, 2200, 2000, 10 * S);
    assert_in_range(w.sent, w.asked * 98 / 100, w.asked);
    assert_in_range(w.taken, 19600, 20050);
}

static void
a_server_that_sheds_most_is_sent_little_more_than_it_takes(void **state)
{
    static const unsigned rates[] = {10000, 20000, 100000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world w;

        world_begin(&w);
        run(&w, rates[i], 2000, S);
        run(&w, rates[i], 2000, 5 * S);
        assert_in_range(w.sent, 9500, 14500);
        assert_in_range(w.taken, 8500, 10010);
    }
}

static void
when_it_takes_all_again_all_are_sent_within_a_second(void **state)
{
    static const unsigned rates[] = {50, 400, 5000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world w;

        world_begin(&w);
        run(&w, 100000, 2000, 5 * S);
        run(&w, rates[i], 10000, S);
        run(&w, rates[i], 10000, 5 * S);
        assert_int_equal(w.asked, w.sent);
        assert_false(vc__throttle_is_on(&w.t));
    }
}

/* The server has died, or accepts no call: the client still tries
 * now and then. */
static void
a_server_that_takes_none_is_asked_all_the_same(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w);
    for (unsigned i = 0; i < 5000; i++, w.now += 1000) {
        if (vc__throttle_is_on(&w.t) &&
            vc__throttle_refuses(&w.t, w.now, &w.seed))
            continue;
        w.sent++;
        vc__throttle_answered(&w.t, true);
    }
    assert_in_range(w.sent, 100, 1500);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_server_takes_is_sent),
        cmocka_unit_test(a_server_that_takes_most_is_asked_for_all),
        cmocka_unit_test(
            a_server_that_sheds_most_is_sent_little_more_than_it_takes),
        cmocka_unit_test(when_it_takes_all_again_all_are_sent_within_a_second),
        cmocka_unit_test(a_server_that_takes_none_is_asked_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
