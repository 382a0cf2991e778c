/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many receives a link has its transport prepare for: a power of two, as
 * the transport takes counters that wrap around modulo their number, whatever
 * the peer allows; and the peer is never promised more than it allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/link/link.h"

static struct vc__receives asked;

/* As the transports do that have enough memory. */
static enum vc_status
prepare(struct vc__wire *w, const struct vc__receives *r)
{
    asked = *r;
    w->window = r->most;
    w->promised = w->window < r->first ? w->window : r->first;
    return VC_OK;
}

static const struct vc__transport transport = {.prepare = prepare};

struct rig {
    struct vc__link link;
    struct vc__wire wire;
};

/* Prepares a link whose peer allows so many; 0: as many as the link wants. */
static void
rig_prepare(struct rig *r, unsigned credits_max)
{
    memset(r, 0, sizeof *r);
    r->wire.transport = &transport;
    r->link.wire = &r->wire;
    r->link.credits_max = credits_max;
    assert_int_equal(vc__link_prepare(&r->link), VC_OK);
    assert_true(asked.least <= asked.most);
}

static void
the_window_is_the_power_of_two_that_the_peer_allows(void **state)
{
    static const struct {
        unsigned allowed, window;
    } rows[] = {{0, 32},  {4, 4},   {5, 4},     {6, 4},   {7, 4},
                {8, 8},   {9, 8},   {15, 8},    {16, 16}, {31, 16},
                {32, 32}, {33, 32}, {65535, 32}};
    struct rig r;

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_prepare(&r, rows[i].allowed);
        assert_int_equal(asked.most, rows[i].window);
        assert_int_equal(r.link.window.max, rows[i].window);
        assert_in_range(r.wire.promised, VC__WINDOW_MIN, VC__WINDOW_FIRST);
        assert_true(r.wire.promised <= rows[i].window);
    }
}

/* doc/wire.md allows a server to want three. */
static void
a_peer_that_allows_fewer_than_the_least_is_promised_fewer(void **state)
{
    struct rig r;

    (void)state;
    rig_prepare(&r, VC__CREDIT_MIN);
    assert_int_equal(asked.most, VC__WINDOW_MIN);
    assert_int_equal(r.wire.promised, VC__CREDIT_MIN);
    assert_int_equal(r.link.window.max, VC__CREDIT_MIN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_is_the_power_of_two_that_the_peer_allows),
        cmocka_unit_test(
            a_peer_that_allows_fewer_than_the_least_is_promised_fewer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
