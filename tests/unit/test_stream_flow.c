/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/stream_flow.h: how much a stream may have under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/stream_flow.h"
#include "tests/unit/random.h"

#define HELD_MAX 4096

static void
a_window_is_all_that_goes_at_once(void **state)
{
    struct vc__outflow o;
    uint32_t n = 0;

    (void)state;
    vc__outflow_init(&o);
    while (vc__outflow_take(&o, vc__stream_cost(1000)))
        n++;
    assert_in_range(n, (VC__STREAM_WINDOW - 1) / 1032,
                    VC__STREAM_WINDOW / 1032);
}

static void
empty_messages_end_too(void **state)
{
    struct vc__outflow o;
    uint32_t n = 0;

    (void)state;
    vc__outflow_init(&o);
    while (vc__outflow_take(&o, vc__stream_cost(0)))
        n++;
    assert_int_equal(n, VC__STREAM_WINDOW / VC__STREAM_OVERHEAD);
}

static void
a_longer_one_goes_alone(void **state)
{
    struct vc__outflow o;

    (void)state;
    vc__outflow_init(&o);
    assert_true(vc__outflow_take(&o, vc__stream_cost(1u << 30)));
    assert_false(vc__outflow_take(&o, vc__stream_cost(0)));
    assert_true(vc__outflow_window(&o, o.sent + VC__STREAM_WINDOW / 2));
    assert_true(vc__outflow_take(&o, vc__stream_cost(1u << 30)));
}

static void
one_that_does_not_go_leaves_its_room(void **state)
{
    struct vc__outflow o;

    (void)state;
    vc__outflow_init(&o);
    assert_true(vc__outflow_take(&o, VC__STREAM_WINDOW - 10));
    assert_false(vc__outflow_take(&o, 11));
    vc__outflow_return(&o, VC__STREAM_WINDOW - 10);
    assert_false(vc__outflow_window(&o, VC__STREAM_WINDOW + 1));
    assert_true(vc__outflow_take(&o, VC__STREAM_WINDOW));
}

static void
a_receiver_that_takes_back_or_gives_too_much_is_broken(void **state)
{
    struct vc__outflow o;

    (void)state;
    vc__outflow_init(&o);
    assert_false(vc__outflow_window(&o, VC__STREAM_WINDOW - 1));
    assert_false(vc__outflow_window(&o, VC__STREAM_WINDOW + 1));
    assert_false(vc__outflow_window(&o, UINT32_C(1) << 31));
    assert_false(vc__outflow_window(&o, UINT32_MAX));
    assert_true(vc__outflow_take(&o, 100));
    assert_true(vc__outflow_window(&o, VC__STREAM_WINDOW + 100));
    assert_false(vc__outflow_window(&o, VC__STREAM_WINDOW + 99));
}

static void
a_sender_that_goes_over_the_window_is_broken(void **state)
{
    struct vc__inflow i;

    (void)state;
    vc__inflow_init(&i);
    assert_true(vc__inflow_arrived(&i, VC__STREAM_WINDOW / 2 + 1));
    assert_false(vc__inflow_arrived(&i, VC__STREAM_WINDOW / 2));
    assert_true(vc__inflow_arrived(&i, VC__STREAM_WINDOW / 2 - 1));
}

/* So window updates are as rare as possible, and the sender never stops for
 * lack of one. */
static void
a_sender_is_told_when_half_a_window_was_taken(void **state)
{
    struct vc__inflow i;

    (void)state;
    vc__inflow_init(&i);
    assert_true(vc__inflow_arrived(&i, VC__STREAM_WINDOW));
    assert_false(vc__inflow_taken(&i, VC__STREAM_WINDOW / 2 - 1));
    assert_int_equal(i.promised, VC__STREAM_WINDOW);
    assert_true(vc__inflow_taken(&i, 1));
    assert_int_equal(i.promised, VC__STREAM_WINDOW + VC__STREAM_WINDOW / 2);
}

/* One direction: a sender, a receiver, and what is under way between them. */
struct way {
    struct vc__outflow o;
    struct vc__inflow i;
    uint32_t held[HELD_MAX], n, bytes;
    bool told; /* i.promised is under way */
    uint32_t word;
};

static void
way_take(struct way *w)
{
    w->bytes -= w->held[0];
    w->n--;
    for (uint32_t i = 0; i < w->n; i++)
        w->held[i] = w->held[i + 1];
}

/* In any order of sending and receiving, both ends agree. The receiver holds no
 * more than it may, and the sender can go on once all was taken. */
static void
both_ends_agree_and_none_is_stuck(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct way w = {.n = 0};
        uint32_t most = 0;

        vc__outflow_init(&w.o);
        vc__inflow_init(&w.i);
        w.o.sent = w.i.came = w.i.taken = 0u - round * 1000;
        w.o.end = w.i.promised = w.o.sent + VC__STREAM_WINDOW;
        for (unsigned step = 0; step < 2000; step++) {
            uint32_t r = random_next(&seed);
            uint32_t cost =
                vc__stream_cost(r % 5 == 0 ? r / 5 % 200000 : r / 5 % 3000);

            if (r % 3 != 0 && w.n < HELD_MAX) {
                if (!vc__outflow_take(&w.o, cost)) {
                    assert_true(w.n > 0); /* else the sender is stuck */
                    continue;
                }
                assert_true(vc__inflow_arrived(&w.i, cost));
                most = cost > most ? cost : most;
                w.held[w.n++] = cost;
                w.bytes += cost;
            } else if (w.n > 0) {
                cost = w.held[0];
                way_take(&w);
                if (vc__inflow_taken(&w.i, cost))
                    assert_true(vc__outflow_window(&w.o, w.i.promised));
            }
            assert_true(w.bytes <= VC__STREAM_WINDOW ||
                        w.bytes <= VC__STREAM_WINDOW / 2 + most);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_all_that_goes_at_once),
        cmocka_unit_test(empty_messages_end_too),
        cmocka_unit_test(a_longer_one_goes_alone),
        cmocka_unit_test(one_that_does_not_go_leaves_its_room),
        cmocka_unit_test(
            a_receiver_that_takes_back_or_gives_too_much_is_broken),
        cmocka_unit_test(a_sender_that_goes_over_the_window_is_broken),
        cmocka_unit_test(a_sender_is_told_when_half_a_window_was_taken),
        cmocka_unit_test(both_ends_agree_and_none_is_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
