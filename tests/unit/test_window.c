/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/link/window.c: windows adapt to what peers use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/link/window.h"
#include "transport/rdma/wire.h"

struct peer {
    struct vc__credit c;
    struct vc__window w;
};

static struct peer
peer_new(uint32_t window, uint32_t max)
{
    struct peer p = {.w = {.max = max}};

    vc__credit_init(&p.c, window, 100);
    return p;
}

/* n packets arrive, one after the other; then this end answers. */
static void
burst(struct peer *p, unsigned n)
{
    struct vc__credit_word known = {p->c.tx_acked,
                                    (uint16_t)(p->c.tx_end - p->c.tx_acked)};
    struct vc__credit_word word;

    for (unsigned i = 0; i < n; i++) {
        assert_true(vc__credit_arrived(&p->c, &known));
        p->c.window = vc__window_next(&p->w, &p->c);
        vc__credit_handled(&p->c);
    }
    vc__credit_sent(&p->c, &word);
    p->c.tx_acked = p->c.tx_next;
    p->c.tx_end = p->c.tx_next + 100;
}

static void
a_peer_that_uses_all_gets_more_up_to_the_limit(void **state)
{
    struct peer p = peer_new(8, 32);

    (void)state;
    burst(&p, 7);
    assert_int_equal(p.c.window, 16);
    burst(&p, 13);
    assert_int_equal(p.c.window, 32);
    for (int i = 0; i < 10; i++)
        burst(&p, 30);
    assert_int_equal(p.c.window, 32);
}

static void
a_peer_that_sends_one_at_a_time_is_left_with_few(void **state)
{
    struct peer p = peer_new(32, 32);

    (void)state;
    for (int i = 0; i < 2000; i++)
        burst(&p, 1);
    assert_int_equal(p.c.window, VC__WINDOW_MIN);
    assert_int_equal(vc__window_promised(&p.c), VC__WINDOW_MIN);
}

static void
a_peer_that_uses_half_keeps_what_it_has(void **state)
{
    struct peer p = peer_new(16, 32);

    (void)state;
    for (int i = 0; i < 1000; i++)
        burst(&p, 8);
    assert_int_equal(p.c.window, 16);
}

static uint32_t
window_of_bursts(uint32_t from, unsigned n)
{
    struct peer p = peer_new(from, 32);

    for (int i = 0; i < 2000; i++)
        burst(&p, n);
    return p.c.window;
}

/* Otherwise a packet of its own would report half of the window, each time. */
static void
a_peer_that_sends_two_or_three_at_a_time_needs_more_than_the_fewest(
    void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 3; n++) {
        assert_int_equal(window_of_bursts(VC__WINDOW_MIN, n), VC__WINDOW_FIRST);
        assert_int_equal(window_of_bursts(VC__WINDOW_FIRST, n),
                         VC__WINDOW_FIRST);
    }
}

/* One packet: the credits left after it, those reported, and the state before
 * and after it. */
struct moment {
    uint32_t window, max, left, told;
    struct {
        uint32_t least, seen;
    } before, after;
    uint32_t next; /* the next window */
};

static void
assert_moment(const struct moment *m)
{
    struct vc__credit c = {.window = m->window,
                           .rx_reported = 1000 - m->told,
                           .rx_next = 999 - m->left,
                           .rx_end = 1000};
    struct vc__window w = {m->max, m->before.least, m->before.seen};

    assert_int_equal(vc__window_next(&w, &c), m->next);
    assert_int_equal(w.least, m->after.least);
    assert_int_equal(w.seen, m->after.seen);
    assert_int_equal(w.max, m->max);
}

static void
a_window_doubles_with_the_last_quarter(void **state)
{
    static const struct moment moments[] = {
        {16, 64, 4, 16, {9, 7}, {9, 0}, 32},
        {16, 64, 5, 16, {9, 7}, {5, 8}, 16}, /* more is left */
        {16, 31, 4, 16, {9, 7}, {9, 0}, 31}, /* limited by max */
        {16, 32, 4, 16, {9, 7}, {9, 0}, 32},
        {16, 17, 4, 16, {9, 7}, {9, 0}, 17},
        {16, 16, 4, 16, {9, 7}, {4, 8}, 16}, /* at the limit already */
        {16, 64, 4, 15, {9, 7}, {4, 8}, 16}, /* not reported yet */
        {16, 64, 4, 17, {9, 7}, {4, 8}, 16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        assert_moment(&moments[i]);
}

static void
a_window_is_halved_after_256_packets_with_three_quarters_left(void **state)
{
    static const struct moment moments[] = {
        {32, 64, 24, 32, {24, 254}, {24, 255}, 32},
        {32, 64, 24, 32, {24, 255}, {24, 0}, 16},
        {32, 64, 24, 32, {25, 255}, {24, 0}, 16},
        {32, 64, 23, 32, {24, 255}, {23, 0}, 32},
        {32, 64, 25, 32, {23, 255}, {23, 0}, 32},
        {8, 64, 7, 8, {7, 255}, {7, 0}, VC__WINDOW_MIN},
        {7, 64, 6, 7, {6, 255}, {6, 0}, 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        assert_moment(&moments[i]);
}

/* Credits left before the first packet of a period do not count. */
static void
the_least_is_that_of_a_while(void **state)
{
    static const struct moment moments[] = {
        {32, 64, 20, 32, {0, 0}, {20, 1}, 32},
        {32, 64, 20, 32, {10, 0}, {20, 1}, 32},
        {32, 64, 20, 32, {10, 1}, {10, 2}, 32},
        {32, 64, 20, 32, {21, 1}, {20, 2}, 32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        assert_moment(&moments[i]);
}

static void
links_share_what_a_device_has(void **state)
{
    static const struct {
        unsigned links, window;
    } cases[] = {
        {0, 32},  {63, 32}, {64, 16},  {191, 16}, {192, 8},
        {575, 8}, {576, 4}, {1727, 4}, {1728, 4}, {100000, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(vc__rdma_share(cases[i].links), cases[i].window);
}

static void
what_was_promised_counts_until_it_is_used(void **state)
{
    struct peer p = peer_new(32, 32);

    (void)state;
    p.c.window = 4;
    assert_int_equal(vc__window_promised(&p.c), 32);
    burst(&p, 20);
    assert_int_equal(vc__window_promised(&p.c), 12);
    burst(&p, 10);
    assert_int_equal(vc__window_promised(&p.c), 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_that_uses_all_gets_more_up_to_the_limit),
        cmocka_unit_test(a_peer_that_sends_one_at_a_time_is_left_with_few),
        cmocka_unit_test(a_peer_that_uses_half_keeps_what_it_has),
        cmocka_unit_test(
            a_peer_that_sends_two_or_three_at_a_time_needs_more_than_the_fewest),
        cmocka_unit_test(a_window_doubles_with_the_last_quarter),
        cmocka_unit_test(
            a_window_is_halved_after_256_packets_with_three_quarters_left),
        cmocka_unit_test(the_least_is_that_of_a_while),
        cmocka_unit_test(links_share_what_a_device_has),
        cmocka_unit_test(what_was_promised_counts_until_it_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
