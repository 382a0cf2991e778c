/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules of transport/ud/reliable.h that do not concern losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/reliable_rig.h"

/* --- sending ----------------------------------------------------------- */

static void
sequences_begin_with_1_and_four_may_be_sent(void **state)
{
    struct vc__reliable r;

    (void)state;
    vc__reliable_init(&r, TRIES);

    assert_int_equal(vc__reliable_due(&r), NEVER);
    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(vc__reliable_room(&r), 5 - i);
        assert_int_equal(vc__reliable_send(&r, 0), i);
    }
    assert_int_equal(vc__reliable_room(&r), 0);
}

static void
what_was_received_makes_room(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    r.recovering = true; /* does not grow */
    r.recover = 100;
    send_all(&r, 8, 0);
    assert_int_equal(vc__reliable_room(&r), 0);

    acknowledge(&r, 3, MS);
    assert_int_equal(vc__reliable_room(&r), 2);
    report(&r, 7, MS);
    assert_int_equal(vc__reliable_room(&r), 3);
}

static void
no_more_than_a_window_is_under_way_though_most_of_it_was_received(void **state)
{
    struct vc__reliable r = end_with_window(WINDOW);

    (void)state;
    send_all(&r, WINDOW, 0);
    assert_true(vc__reliable_acknowledged(&r, 1, 0x7fffffff, MS));
    assert_int_equal(vc__reliable_room(&r), 0);
    acknowledge(&r, WINDOW + 1, MS);
    assert_int_equal(vc__reliable_room(&r), WINDOW);
}

static void
sequences_that_wrap_around_pass_over_0(void **state)
{
    struct vc__reliable a = end_at(UINT32_MAX - 1), b = a;
    uint32_t ack, sack;

    (void)state;
    assert_int_equal(vc__reliable_send(&a, 0), UINT32_MAX - 1);
    assert_int_equal(vc__reliable_send(&a, 0), UINT32_MAX);
    assert_int_equal(vc__reliable_send(&a, 0), 1);
    assert_int_equal(vc__reliable_send(&a, 0), 2);

    assert_int_equal(receive(&b, 1, 0), VC__RELIABLE_AHEAD);
    assert_int_equal(receive(&b, UINT32_MAX - 1, 0), VC__RELIABLE_NEXT);
    assert_int_equal(b.expected, UINT32_MAX);
    assert_int_equal(receive(&b, UINT32_MAX, 0), VC__RELIABLE_NEXT);
    assert_int_equal(b.expected, 2);
    assert_int_equal(receive(&b, 0, 0), VC__RELIABLE_OUTSIDE);

    vc__reliable_ack(&b, &ack, &sack);
    assert_true(vc__reliable_acknowledged(&a, ack, sack, MS));
    assert_int_equal(a.unacked, 2);
    acknowledge(&a, 3, MS);
    assert_int_equal(vc__reliable_due(&a), NEVER);
}

static void
the_last_before_the_wrap_is_acknowledged_alone(void **state)
{
    struct vc__reliable a = end_at(UINT32_MAX), b = a;
    uint32_t ack, sack;

    (void)state;
    vc__reliable_send(&a, 0);
    assert_int_equal(receive(&b, UINT32_MAX, 0), VC__RELIABLE_NEXT);
    vc__reliable_ack(&b, &ack, &sack);
    assert_int_equal(ack, 1);
    assert_true(vc__reliable_acknowledged(&a, ack, sack, MS));
    assert_int_equal(a.unacked, a.next);
    assert_int_equal(vc__reliable_due(&a), NEVER);
}

static void
a_window_around_the_wrap_has_a_place_for_each(void **state)
{
    (void)state;
    for (uint32_t first = 0; first < WINDOW + 2; first++) {
        struct vc__reliable r = end_with_window(WINDOW);
        uint32_t places = 0, sequence;

        r.next = r.unacked = r.recover = UINT32_MAX - first;
        while (vc__reliable_room(&r) > 0) {
            sequence = vc__reliable_send(&r, 0);
            assert_int_equal(places >> sequence % WINDOW & 1, 0);
            places |= 1u << sequence % WINDOW;
        }
        assert_true(r.next - r.unacked <= WINDOW);
        assert_true(__builtin_popcount(places) >= (int)WINDOW - 1);
        acknowledge(&r, r.next, MS);
        assert_int_equal(r.unacked, r.next);
        assert_int_equal(r.received, 0);
    }
}

/* --- acknowledgements -------------------------------------------------- */

static void
what_was_not_sent_cannot_be_acknowledged(void **state)
{
    static const uint32_t starts[] = {1, 7, UINT32_MAX - 1, UINT32_MAX - 20};

    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct vc__reliable r = end_at(starts[i]), before;
        uint32_t at = starts[i];

        send_all(&r, 3, 0);
        before = r;
        assert_false(vc__reliable_acknowledged(&r, r.next + 1, 0, MS));
        assert_false(vc__reliable_acknowledged(&r, r.next + 40, 0, MS));
        assert_false(vc__reliable_acknowledged(&r, at + INT32_MAX, 0, MS));
        assert_false(vc__reliable_acknowledged(&r, r.next, 1, MS));
        assert_false(vc__reliable_acknowledged(&r, r.next - 1, 1, MS));
        assert_false(vc__reliable_acknowledged(&r, at, 1u << 31, MS));
        assert_false(vc__reliable_acknowledged(&r, at, UINT32_MAX, MS));
        assert_false(
            vc__reliable_acknowledged(&r, at - 2, UINT32_MAX, MS)); /* old */
        assert_memory_equal(&r, &before, sizeof r);
        assert_true(vc__reliable_acknowledged(&r, r.next - 2, 1, MS));
        assert_true(vc__reliable_acknowledged(&r, r.next, 0, MS));
    }
}

static void
an_old_acknowledgement_is_good_and_says_nothing_new(void **state)
{
    struct vc__reliable r = end_with_window(8), before;

    (void)state;
    send_all(&r, 6, 0);
    acknowledge(&r, 4, MS);
    report(&r, 6, MS);
    before = r;

    assert_true(vc__reliable_acknowledged(&r, 1, 0, 2 * MS));
    assert_true(vc__reliable_acknowledged(&r, 2, 5, 2 * MS));
    assert_true(vc__reliable_acknowledged(&r, 4, 0, 2 * MS)); /* lacks 6 */
    assert_memory_equal(&r, &before, sizeof r);
}

static void
what_a_sack_has_reported_is_done_when_those_before_it_are(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    send_all(&r, 5, 0);
    report(&r, 3, MS);
    report(&r, 4, MS);
    assert_int_equal(r.unacked, 1);
    acknowledge(&r, 3, MS); /* 3 and 4 were reported: what it means is clear */
    assert_int_equal(r.unacked, 5);
    acknowledge(&r, 6, MS);
    assert_int_equal(r.unacked, 6);
    assert_int_equal(r.received, 0);
}

/* --- round trips and timeouts ------------------------------------------ */

static void
the_timeout_is_that_of_rfc_6298(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 0);
    assert_int_equal(vc__reliable_due(&r), VC__RELIABLE_RTO_FIRST);
    acknowledge(&r, 2, 40 * MS); /* 40, 20 */
    vc__reliable_send(&r, 50 * MS);
    assert_int_equal(vc__reliable_due(&r), 50 * MS + 120 * MS);
    acknowledge(&r, 3, 130 * MS); /* 45, 25 */
    vc__reliable_send(&r, 200 * MS);
    assert_int_equal(vc__reliable_due(&r), 200 * MS + 145 * MS);
}

static void
the_timeout_has_a_least_and_a_greatest_value(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 7);
    acknowledge(&r, 2, 7); /* took no time at all */
    assert_int_equal(r.rto, VC__RELIABLE_RTO_MIN);
    assert_true(r.srtt > 0); /* 0: not known */
    vc__reliable_send(&r, 10);
    acknowledge(&r, 3, 9); /* the clocks of two threads differ */
    assert_int_equal(r.rto, VC__RELIABLE_RTO_MIN);
    vc__reliable_send(&r, 10);
    acknowledge(&r, 4, 3600 * 1000 * MS); /* the caller slept */
    assert_int_equal(r.rto, VC__RELIABLE_RTO_MAX);
    assert_true(r.srtt <= VC__RELIABLE_RTO_MAX);
}

static void
of_several_the_newest_is_measured(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 0);
    vc__reliable_send(&r, 40 * MS);
    acknowledge(&r, 3, 50 * MS);
    assert_int_equal(r.srtt, 10 * MS);
}

static void
a_datagram_that_was_sent_twice_measures_nothing(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_send(&r, 0);
    time_out(&r, 0, 1);
    acknowledge(&r, 2, 101 * MS);
    assert_int_equal(r.srtt, 0);
    assert_int_equal(r.rto, 2 * VC__RELIABLE_RTO_FIRST);
}

static void
a_timeout_stays_doubled_until_a_round_trip_is_measured(void **state)
{
    struct vc__reliable r = end_with_window(2);

    (void)state;
    vc__reliable_send(&r, 0);
    time_out(&r, 0, 1);
    acknowledge(&r, 2, 30 * MS);
    vc__reliable_send(&r, 40 * MS);
    assert_int_equal(vc__reliable_due(&r), 80 * MS);
    acknowledge(&r, 3, 50 * MS);
    vc__reliable_send(&r, 60 * MS);
    assert_int_equal(vc__reliable_due(&r), 80 * MS);
}

static void
the_timeout_doubles_up_to_four_seconds(void **state)
{
    static const uint64_t takes[] = {100,  200,  400,  800,
                                     1600, 3200, 4000, 4000};
    struct vc__reliable r = end_at(1);
    uint64_t now = 0;

    (void)state;
    r.tries = 100;
    vc__reliable_send(&r, 0);
    for (size_t i = 0; i < sizeof takes / sizeof takes[0]; i++) {
        uint64_t took = time_out(&r, now, 1);

        assert_int_equal(took, takes[i] * MS);
        now += took;
    }
    assert_int_equal(r.resent, 8);
}

static void
a_timeout_is_counted_from_when_the_oldest_was_sent(void **state)
{
    struct vc__reliable r = end_with_window(8);

    (void)state;
    vc__reliable_send(&r, 0);
    vc__reliable_send(&r, 6 * MS);
    vc__reliable_send(&r, 9 * MS);
    assert_int_equal(vc__reliable_due(&r), 20 * MS);
    acknowledge(&r, 2, 10 * MS);
    assert_int_equal(vc__reliable_due(&r), 6 * MS + r.rto);
}

/* --- receiving --------------------------------------------------------- */

static void
the_expected_one_is_next_and_fills_the_gap(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    assert_int_equal(receive(&r, 1, 0), VC__RELIABLE_NEXT);
    assert_int_equal(r.expected, 2);
    assert_int_equal(receive(&r, 3, 0), VC__RELIABLE_AHEAD);
    assert_int_equal(receive(&r, 4, 0), VC__RELIABLE_AHEAD);
    assert_int_equal(receive(&r, 6, 0), VC__RELIABLE_AHEAD);
    assert_int_equal(r.expected, 2);
    assert_int_equal(receive(&r, 2, 0), VC__RELIABLE_NEXT);
    assert_int_equal(r.expected, 5);
    assert_int_equal(receive(&r, 5, 0), VC__RELIABLE_NEXT);
    assert_int_equal(r.expected, 7);
    assert_int_equal(r.later, 0);
}

static void
what_was_received_before_is_counted_and_dropped(void **state)
{
    struct vc__reliable r = end_at(100);

    (void)state;
    receive(&r, 100, 0);
    receive(&r, 103, 0);
    assert_int_equal(receive(&r, 100, 0), VC__RELIABLE_AGAIN);
    assert_int_equal(receive(&r, 103, 0), VC__RELIABLE_AGAIN);
    assert_int_equal(receive(&r, 1, 0), VC__RELIABLE_AGAIN);
    assert_int_equal(r.duplicates, 3);
    assert_int_equal(r.expected, 101);
    assert_int_equal(r.later, 2);
}

static void
what_no_peer_may_send_is_outside_and_changes_nothing(void **state)
{
    static const uint32_t starts[] = {1, 40, UINT32_MAX - 5};

    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct vc__reliable r = end_at(starts[i]), before = r;
        uint32_t at = starts[i];

        assert_int_equal(receive(&r, at + WINDOW, 0), VC__RELIABLE_OUTSIDE);
        assert_int_equal(receive(&r, at + WINDOW + 1, 0), VC__RELIABLE_OUTSIDE);
        assert_int_equal(receive(&r, at + INT32_MAX, 0), VC__RELIABLE_OUTSIDE);
        assert_int_equal(receive(&r, 0, 0), VC__RELIABLE_OUTSIDE);
        assert_memory_equal(&r, &before, sizeof r);
        assert_int_equal(receive(&r, at + WINDOW - 1, 0), VC__RELIABLE_AHEAD);
    }
}

static void
an_acknowledgement_has_what_is_expected_and_what_is_ahead(void **state)
{
    struct vc__reliable r = end_at(1);
    uint32_t ack, sack;

    (void)state;
    receive(&r, 1, 0);
    receive(&r, 3, 0);
    receive(&r, 33, 0);
    vc__reliable_ack(&r, &ack, &sack);
    assert_int_equal(ack, 2);
    assert_int_equal(sack, 1u | 1u << 30);
}

static void
one_datagram_is_acknowledged_after_a_delay(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    assert_false(vc__reliable_ack_due(&r, NEVER - 1));
    receive(&r, 1, 7);
    assert_int_equal(vc__reliable_due(&r), 7 + VC__RELIABLE_ACK_DELAY);
    assert_false(vc__reliable_ack_due(&r, 6 + VC__RELIABLE_ACK_DELAY));
    assert_true(vc__reliable_ack_due(&r, 7 + VC__RELIABLE_ACK_DELAY));
}

static void
two_datagrams_are_acknowledged_at_once(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    receive(&r, 1, 0);
    assert_false(vc__reliable_ack_due(&r, 10));
    receive(&r, 2, 10);
    assert_true(vc__reliable_ack_due(&r, 10));
    assert_int_equal(vc__reliable_due(&r), 10);
}

static void
what_data_has_acknowledged_is_not_acknowledged_alone(void **state)
{
    struct vc__reliable r = end_at(1);
    uint32_t ack, sack;

    (void)state;
    receive(&r, 1, 0);
    vc__reliable_ack(&r, &ack, &sack);
    assert_int_equal(vc__reliable_due(&r), NEVER);
    receive(&r, 2, 20); /* the first since then */
    assert_false(vc__reliable_ack_due(&r, 20));
}

static void
what_asks_is_acknowledged_at_once(void **state)
{
    struct vc__reliable r = end_at(1);

    (void)state;
    vc__reliable_received(&r, 1, true, 10);
    assert_true(vc__reliable_ack_due(&r, 10));
}

static void
out_of_order_or_twice_is_acknowledged_at_once(void **state)
{
    struct vc__reliable r = end_at(1);
    static const uint32_t arrive[] = {3, 3, 1, 2, 2, 1};
    uint32_t ack, sack;

    (void)state;
    for (size_t i = 0; i < sizeof arrive / sizeof arrive[0]; i++) {
        receive(&r, arrive[i], 10);
        assert_true(vc__reliable_ack_due(&r, 10));
        vc__reliable_ack(&r, &ack, &sack);
        assert_false(vc__reliable_ack_due(&r, NEVER - 1));
    }
    assert_int_equal(ack, 4);
}

static void
an_acknowledgement_that_is_due_is_not_put_off(void **state)
{
    struct vc__reliable r = end_at(2);

    (void)state;
    receive(&r, 1, 10); /* twice */
    receive(&r, 2, 10);
    assert_true(vc__reliable_ack_due(&r, 10));
}

static void
what_is_due_first_is_due(void **state)
{
    struct vc__reliable r = end_with_window(4);
    uint32_t ack, sack;
    uint64_t now;

    (void)state;
    vc__reliable_send(&r, 0);
    receive(&r, 1, 0);
    assert_int_equal(vc__reliable_due(&r), VC__RELIABLE_ACK_DELAY);
    vc__reliable_ack(&r, &ack, &sack);
    receive(&r, 2, 18 * MS);
    assert_int_equal(vc__reliable_due(&r), VC__RELIABLE_RTO_MIN);
    acknowledge(&r, 2, 19 * MS);
    assert_int_equal(vc__reliable_due(&r), 18 * MS + VC__RELIABLE_ACK_DELAY);
    vc__reliable_ack(&r, &ack, &sack);
    now = fall_quiet(&r); /* which is acknowledged all the same */
    receive(&r, 3, now);
    assert_int_equal(vc__reliable_due(&r), now + VC__RELIABLE_ACK_DELAY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_begin_with_1_and_four_may_be_sent),
        cmocka_unit_test(what_was_received_makes_room),
        cmocka_unit_test(
            no_more_than_a_window_is_under_way_though_most_of_it_was_received),
        cmocka_unit_test(sequences_that_wrap_around_pass_over_0),
        cmocka_unit_test(the_last_before_the_wrap_is_acknowledged_alone),
        cmocka_unit_test(a_window_around_the_wrap_has_a_place_for_each),
        cmocka_unit_test(what_was_not_sent_cannot_be_acknowledged),
        cmocka_unit_test(an_old_acknowledgement_is_good_and_says_nothing_new),
        cmocka_unit_test(
            what_a_sack_has_reported_is_done_when_those_before_it_are),
        cmocka_unit_test(the_timeout_is_that_of_rfc_6298),
        cmocka_unit_test(the_timeout_has_a_least_and_a_greatest_value),
        cmocka_unit_test(of_several_the_newest_is_measured),
        cmocka_unit_test(a_datagram_that_was_sent_twice_measures_nothing),
        cmocka_unit_test(
            a_timeout_stays_doubled_until_a_round_trip_is_measured),
        cmocka_unit_test(the_timeout_doubles_up_to_four_seconds),
        cmocka_unit_test(a_timeout_is_counted_from_when_the_oldest_was_sent),
        cmocka_unit_test(the_expected_one_is_next_and_fills_the_gap),
        cmocka_unit_test(what_was_received_before_is_counted_and_dropped),
        cmocka_unit_test(what_no_peer_may_send_is_outside_and_changes_nothing),
        cmocka_unit_test(
            an_acknowledgement_has_what_is_expected_and_what_is_ahead),
        cmocka_unit_test(one_datagram_is_acknowledged_after_a_delay),
        cmocka_unit_test(two_datagrams_are_acknowledged_at_once),
        cmocka_unit_test(what_data_has_acknowledged_is_not_acknowledged_alone),
        cmocka_unit_test(what_asks_is_acknowledged_at_once),
        cmocka_unit_test(out_of_order_or_twice_is_acknowledged_at_once),
        cmocka_unit_test(an_acknowledgement_that_is_due_is_not_put_off),
        cmocka_unit_test(what_is_due_first_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
