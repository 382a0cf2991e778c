/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What transport/ud/reliable.h does about losses and a quiet peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/reliable_rig.h"

/* --- the window -------------------------------------------------------- */

static void
the_window_grows_by_one_for_each_datagram_until_the_first_loss(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    for (unsigned n = VC__RELIABLE_FIRST; n < WINDOW; n *= 2) {
        assert_int_equal(vc__reliable_room(&r), n);
        send_all(&r, n, 0);
        acknowledge(&r, r.next, MS);
    }
    assert_int_equal(vc__reliable_room(&r), WINDOW);
    send_all(&r, WINDOW, 0);
    acknowledge(&r, r.next, MS);
    assert_int_equal(vc__reliable_room(&r), WINDOW);
}

/* Of a window of n the first is lost, and all are received in the end. */
static void
lose_one(struct vc__reliable *r, unsigned n, uint64_t now)
{
    uint32_t first = r->next;

    send_all(r, n, now);
    assert_true(
        vc__reliable_acknowledged(r, first, (1u << (n - 1)) - 1, now + MS));
    assert_int_equal(resend(r, now + MS), first);
    assert_int_equal(resend(r, now + MS), 0);
    acknowledge(r, first + n, now + 2 * MS);
}

static void
after_a_loss_the_window_is_half_and_grows_by_one_for_each_window(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    lose_one(&r, 16, 0);
    assert_int_equal(vc__reliable_room(&r), 8);
    for (unsigned n = 8; n < 12; n++) {
        send_all(&r, n - 1, 10 * MS);
        acknowledge(&r, r.next, 11 * MS);
        assert_int_equal(vc__reliable_room(&r), n);
        send_all(&r, 1, 10 * MS);
        acknowledge(&r, r.next, 11 * MS);
        assert_int_equal(vc__reliable_room(&r), n + 1);
    }
}

static void
losses_of_one_window_halve_it_once(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 16, 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x7, MS));
    assert_int_equal(resend(&r, MS), 1);
    assert_int_equal(r.window, 8);
    assert_true(vc__reliable_acknowledged(&r, 5, 0x7ff >> 1 & ~1u, 2 * MS));
    assert_int_equal(resend(&r, 2 * MS), 5);
    assert_int_equal(resend(&r, 2 * MS), 6);
    assert_int_equal(r.window, 8);

    acknowledge(&r, 17, 3 * MS);
    lose_one(&r, 8, 10 * MS);
    assert_int_equal(r.window, 4);
}

static void
a_loss_leaves_two_at_least(void **state)
{
    struct vc__reliable r = end_with_window(4);

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        r.window = 4;
        lose_one(&r, 4, i * 10 * MS);
        assert_int_equal(r.window, 2);
    }
    r.window = 4;
    send_all(&r, 4, 90 * MS);
    r.window = 2;
    report(&r, r.unacked + 1, 91 * MS);
    report(&r, r.unacked + 2, 91 * MS);
    report(&r, r.unacked + 3, 91 * MS);
    resend(&r, 91 * MS);
    assert_int_equal(r.window, 2);
}

static void
a_loss_is_counted_however_long_ago_the_last_one_was(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        r.next = r.unacked = i << 30;
        send_all(&r, 1, 0);
        acknowledge(&r, r.next, MS);
    }
    r.window = 16;
    lose_one(&r, 16, 0);
    assert_int_equal(r.window, 8);
}

static void
a_timeout_leaves_a_window_of_one_that_grows_quickly_to_the_half(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 16, 0);
    time_out(&r, 0, 1);
    assert_int_equal(r.window, 1);
    acknowledge(&r, 2, 21 * MS);
    assert_int_equal(resend(&r, 21 * MS), 2);
    assert_int_equal(resend(&r, 21 * MS), 3);
    assert_int_equal(resend(&r, 21 * MS), 0);
    acknowledge(&r, 8, 22 * MS);
    assert_int_equal(r.window, 8);
    acknowledge(&r, 15, 22 * MS);
    assert_int_equal(r.window, 8);
    acknowledge(&r, 16, 22 * MS);
    assert_int_equal(r.window, 9);
}

static void
timeouts_in_a_row_count_as_one_loss(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 16, 0);
    time_out(&r, 0, 1);
    time_out(&r, 0, 1);
    acknowledge(&r, 9, 100 * MS);
    assert_int_equal(r.window, 8);
}

static void
what_a_timeout_has_counted_is_counted_once(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 16, 0);
    time_out(&r, 0, 1);
    acknowledge(&r, 16, 21 * MS);
    assert_int_equal(resend(&r, 21 * MS), 16);
    send_all(&r, 3, 21 * MS);
    assert_true(vc__reliable_acknowledged(&r, 16, 7, 22 * MS));
    assert_int_equal(resend(&r, 22 * MS), 16);
    assert_int_equal(r.window, 9);
}

static void
nothing_new_is_sent_before_what_was_lost(void **state)
{
    struct vc__reliable r = end_with_window(4);

    (void)state;
    send_all(&r, 4, 0);
    time_out(&r, 0, 1);
    acknowledge(&r, 2, 21 * MS);
    assert_int_equal(vc__reliable_room(&r), 0);
    assert_int_equal(resend(&r, 21 * MS), 2);
    assert_int_equal(resend(&r, 21 * MS), 3);
    acknowledge(&r, 4, 22 * MS);
    assert_int_equal(resend(&r, 22 * MS), 4);
    acknowledge(&r, 5, 23 * MS);
    assert_true(vc__reliable_room(&r) > 0);
}

/* --- sending again at once --------------------------------------------- */

static void
a_datagram_is_sent_again_after_three_later_ones_and_not_after_two(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    send_all(&r, 6, 0);
    report(&r, 3, MS);
    assert_int_equal(resend(&r, MS), 0);
    report(&r, 4, MS);
    assert_int_equal(resend(&r, MS), 0);
    report(&r, 5, MS);
    assert_true(vc__reliable_due(&r) <= MS);
    assert_int_equal(resend(&r, MS), 1);
    assert_int_equal(resend(&r, MS), 2);
    assert_int_equal(resend(&r, MS), 0); /* nothing is later than 6 */
    assert_int_equal(r.resent, 2);
    assert_int_equal(vc__reliable_due(&r), MS + r.rto);
}

static void
later_is_what_was_sent_later(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 7, 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x7, MS));
    assert_int_equal(resend(&r, MS), 1);
    /* 5..7 have been sent before the second copy of 1 was. */
    assert_true(vc__reliable_acknowledged(&r, 1, 0x3f, MS));
    assert_int_equal(resend(&r, MS), 0);
    send_all(&r, 3, MS);
    assert_true(vc__reliable_acknowledged(&r, 1, 0xff, 2 * MS));
    assert_int_equal(resend(&r, 2 * MS), 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x1ff, 2 * MS));
    assert_int_equal(resend(&r, 2 * MS), 1);
    assert_int_equal(resend(&r, 2 * MS), 0);
}

static void
the_sequence_0_is_no_later_datagram(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    r.next = r.unacked = r.recover = UINT32_MAX - 1;
    send_all(&r, 4, 0);
    report(&r, 1, MS);
    report(&r, 2, MS);
    assert_int_equal(resend(&r, MS), 0);
    assert_true(vc__reliable_due(&r) > MS);
    acknowledge(&r, UINT32_MAX, MS);
    send_all(&r, 1, MS);
    report(&r, 3, MS);
    assert_int_equal(resend(&r, r.srtt + 2 * r.rttvar), UINT32_MAX);
}

static void
the_sequence_0_shows_no_reordering(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    r.next = r.unacked = r.recover = UINT32_MAX - 1;
    send_all(&r, 2, 0);
    acknowledge(&r, UINT32_MAX, MS);
    assert_false(r.reorders);
    acknowledge(&r, 1, MS);
    assert_false(r.reorders);
}

static void
where_datagrams_overtake_each_other_a_slow_one_has_its_time(void **state)
{
    struct vc__reliable r = end_with_window(8);
    uint64_t due;

    (void)state;
    send_all(&r, 8, 0);
    report(&r, 2, 8 * MS);
    acknowledge(&r, 3, 12 * MS); /* 1 was overtaken */
    assert_true(r.reorders);
    report(&r, 6, 12 * MS);
    report(&r, 7, 12 * MS);
    report(&r, 8, 12 * MS);

    due = vc__reliable_due(&r);
    assert_int_equal(due, r.srtt + 2 * r.rttvar);
    assert_true(due > 12 * MS && due < VC__RELIABLE_RTO_MIN);
    assert_int_equal(resend(&r, due - 1), 0);
    assert_int_equal(resend(&r, due), 3);
    assert_int_equal(resend(&r, due), 4);
    assert_int_equal(resend(&r, due), 5);
    assert_int_equal(resend(&r, due), 0);
}

static void
what_was_sent_twice_does_not_show_that_datagrams_overtake(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    lose_one(&r, 8, 0);
    assert_false(r.reorders);
}

static void
the_oldest_is_sent_again_though_the_window_is_full(void **state)
{
    struct vc__reliable r = end_with_window(16);

    (void)state;
    send_all(&r, 16, 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x1c, MS)); /* 4, 5, 6 */
    assert_int_equal(resend(&r, MS), 1);
    assert_int_equal(resend(&r, MS), 0); /* 11 are under way, 8 may be */
    assert_int_equal(r.lost, 6);
    assert_true(vc__reliable_acknowledged(&r, 1, 0xfc, MS));
    assert_int_equal(resend(&r, MS), 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x1fc, MS));
    assert_int_equal(resend(&r, MS), 2);
    assert_int_equal(resend(&r, MS), 0);
}

/* --- quiet ------------------------------------------------------------- */

static void
a_peer_is_quiet_after_so_many_timeouts_in_a_row(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 0);
    for (unsigned i = 1; i < TRIES; i++) {
        time_out(&r, 0, 1);
        assert_false(vc__reliable_is_quiet(&r));
    }
    assert_int_equal(resend(&r, vc__reliable_due(&r)), 0);

    assert_true(vc__reliable_is_quiet(&r));
    assert_int_equal(r.resent, TRIES - 1);
    assert_int_equal(vc__reliable_room(&r), 0);
    assert_int_equal(vc__reliable_due(&r), NEVER);
    assert_int_equal(resend(&r, NEVER - 1), 0);
}

/* Only the first of two is sent again; both have come. */
static void
what_comes_late_and_was_sent_once_begins_it_anew_too(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    send_all(&r, 2, 0);
    assert_int_equal(resend(&r, VC__RELIABLE_RTO_FIRST), 1);
    assert_int_equal(r.timeouts, 1);
    acknowledge(&r, 3, VC__RELIABLE_RTO_FIRST + MS);
    assert_int_equal(r.timeouts, 0);
    assert_int_equal(r.srtt, VC__RELIABLE_RTO_FIRST + MS);
}

/* Which of the two was acknowledged nobody knows (Karn). */
static void
what_was_sent_again_measures_nothing_after_the_first_of_them_either(
    void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    send_all(&r, 2, 0);
    assert_int_equal(resend(&r, VC__RELIABLE_RTO_FIRST), 1);
    acknowledge(&r, 2, VC__RELIABLE_RTO_FIRST + MS);
    assert_int_equal(resend(&r, VC__RELIABLE_RTO_FIRST + MS), 2);
    acknowledge(&r, 3, VC__RELIABLE_RTO_FIRST + 2 * MS);
    assert_int_equal(r.srtt, 0);
}

static void
what_is_acknowledged_begins_the_row_anew(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    send_all(&r, 4, 0);
    for (unsigned i = 1; i < TRIES; i++)
        time_out(&r, 0, 1);
    report(&r, 3, 2000 * MS);
    for (unsigned i = 0; i < TRIES - 1; i++)
        while (resend(&r, vc__reliable_due(&r)) != 1)
            assert_false(vc__reliable_is_quiet(&r));
    assert_false(vc__reliable_is_quiet(&r));
}

static void
a_quiet_peer_that_is_heard_gets_what_is_under_way_at_once(void **state)
{
    struct vc__reliable r = end_at(1);
    uint64_t now;

    (void)state;
    send_all(&r, 2, 0);
    now = fall_quiet(&r) + 60000 * MS;
    vc__reliable_heard(&r, now);

    assert_false(vc__reliable_is_quiet(&r));
    assert_true(vc__reliable_due(&r) <= now);
    assert_int_equal(resend(&r, now), 1);
    assert_int_equal(resend(&r, now), 0); /* the window is 1 */
    acknowledge(&r, 2, now + MS);
    assert_int_equal(resend(&r, now + MS), 2);
    assert_int_equal(resend(&r, now + MS), 3);
    acknowledge(&r, 4, now + 2 * MS);
    assert_int_equal(r.window, 4); /* silence is no congestion */
}

static void
a_quiet_peer_that_acknowledges_is_quiet_no_more(void **state)
{
    struct vc__reliable r = end_at(1);
    uint64_t now;

    (void)state;
    vc__reliable_send(&r, 0);
    now = fall_quiet(&r);
    acknowledge(&r, 1, now); /* nothing new */
    assert_true(vc__reliable_is_quiet(&r));
    acknowledge(&r, 2, now);
    assert_false(vc__reliable_is_quiet(&r));
    assert_int_equal(resend(&r, now), 2);
    acknowledge(&r, 3, now);
    assert_int_equal(vc__reliable_due(&r), NEVER);
    assert_true(vc__reliable_room(&r) > 0);
}

static void
a_peer_that_was_quiet_has_the_timeout_of_its_round_trips(void **state)
{
    struct vc__reliable r = end_with_window(4);
    uint64_t now = fall_quiet(&r);

    (void)state;
    assert_true(r.rto > VC__RELIABLE_RTO_MIN);
    vc__reliable_heard(&r, now);
    assert_int_equal(resend(&r, now), 1);
    assert_int_equal(vc__reliable_due(&r), now + VC__RELIABLE_RTO_MIN);

    r = end_at(1); /* that has measured none */
    now = fall_quiet(&r);
    vc__reliable_heard(&r, now);
    resend(&r, now);
    assert_int_equal(vc__reliable_due(&r), now + VC__RELIABLE_RTO_FIRST);
}

static void
a_peer_that_is_heard_and_acknowledges_nothing_is_quiet_in_time(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 0);
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t due = vc__reliable_due(&r);

        vc__reliable_heard(&r, due);
        assert_int_equal(vc__reliable_due(&r), due);
        resend(&r, due);
    }
    assert_true(vc__reliable_is_quiet(&r));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_window_grows_by_one_for_each_datagram_until_the_first_loss),
        cmocka_unit_test(
            after_a_loss_the_window_is_half_and_grows_by_one_for_each_window),
        cmocka_unit_test(losses_of_one_window_halve_it_once),
        cmocka_unit_test(a_loss_leaves_two_at_least),
        cmocka_unit_test(a_loss_is_counted_however_long_ago_the_last_one_was),
        cmocka_unit_test(
            a_timeout_leaves_a_window_of_one_that_grows_quickly_to_the_half),
        cmocka_unit_test(timeouts_in_a_row_count_as_one_loss),
        cmocka_unit_test(what_a_timeout_has_counted_is_counted_once),
        cmocka_unit_test(nothing_new_is_sent_before_what_was_lost),
        cmocka_unit_test(
            a_datagram_is_sent_again_after_three_later_ones_and_not_after_two),
        cmocka_unit_test(later_is_what_was_sent_later),
        cmocka_unit_test(the_sequence_0_is_no_later_datagram),
        cmocka_unit_test(the_sequence_0_shows_no_reordering),
        cmocka_unit_test(
            where_datagrams_overtake_each_other_a_slow_one_has_its_time),
        cmocka_unit_test(
            what_was_sent_twice_does_not_show_that_datagrams_overtake),
        cmocka_unit_test(the_oldest_is_sent_again_though_the_window_is_full),
        cmocka_unit_test(a_peer_is_quiet_after_so_many_timeouts_in_a_row),
        cmocka_unit_test(what_is_acknowledged_begins_the_row_anew),
        cmocka_unit_test(what_comes_late_and_was_sent_once_begins_it_anew_too),
        cmocka_unit_test(
            what_was_sent_again_measures_nothing_after_the_first_of_them_either),
        cmocka_unit_test(
            a_quiet_peer_that_is_heard_gets_what_is_under_way_at_once),
        cmocka_unit_test(a_quiet_peer_that_acknowledges_is_quiet_no_more),
        cmocka_unit_test(
            a_peer_that_was_quiet_has_the_timeout_of_its_round_trips),
        cmocka_unit_test(
            a_peer_that_is_heard_and_acknowledges_nothing_is_quiet_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
