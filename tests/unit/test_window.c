/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/window.c: windows follow what peers use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/window.h"

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

/* n packets come, one after the other; then we answer. */
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
        cmocka_unit_test(what_was_promised_counts_until_it_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
