/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Huge messages in the schedule: a few of each flow are sent at a time, those
 * of streams beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/schedule_rig.h"

static struct vc__send *
add_huge(struct rig *r, unsigned flow, uint8_t type)
{
    struct vc__send *s = &r->sends[r->n_sends++];

    memset(s, 0, sizeof *s);
    s->flow = &r->flows[flow];
    s->frame.type = type;
    s->frame.body_len = VC__HUGE;
    vc__schedule_add(&r->schedule, s);
    return s;
}

static unsigned
begun(const struct rig *r)
{
    unsigned n = 0;

    for (unsigned i = 0; i < r->n_sends; i++)
        n += r->sends[i].at > 0 && r->sends[i].at < r->sends[i].frame.body_len;
    return n;
}

/* Huge messages keep their order. Short ones do not wait for them, and a
 * message that was queued before them is sent before them. */
static void
a_few_huge_ones_of_a_flow_go_at_a_time(void **state)
{
    static const uint8_t types[] = {VC__FRAME_CALL, VC__FRAME_REPLY};
    struct rig r;

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        struct vc__send *early, *late;

        rig_begin(&r);
        early = rig_add(&r, 0, 100);
        for (unsigned i = 0; i < 10; i++)
            add_huge(&r, 0, types[t]);
        late = rig_add(&r, 0, 100);
        assert_true(rig_packet(&r, RIG_PACKET));
        assert_ptr_equal(r.over[0], early);
        for (unsigned i = 0; i < VC__HUGE_MOST + 1; i++)
            assert_true(rig_packet(&r, RIG_PACKET));
        assert_ptr_equal(r.over[1], late);
        while (rig_packet(&r, RIG_PACKET))
            assert_in_range(begun(&r), 0, VC__HUGE_MOST);
        assert_int_equal(r.n_over, 12);
        for (unsigned i = 2; i < 12; i++)
            assert_ptr_equal(r.over[i], &r.sends[i - 1]);
        assert_true(vc__schedule_is_empty(&r.schedule));
        assert_int_equal(r.flows[0].n_huge, 0);
    }
}

/* Each flow has its own limit, and messages of streams are not counted. */
static void
other_flows_and_streams_have_their_own(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    for (unsigned i = 0; i < 10; i++) {
        add_huge(&r, 0, VC__FRAME_CALL);
        add_huge(&r, 1, VC__FRAME_CALL);
        add_huge(&r, 2, VC__FRAME_MESSAGE);
    }
    for (unsigned i = 0; i < 100; i++)
        assert_true(rig_packet(&r, RIG_PACKET));
    assert_int_equal(begun(&r), 2 * VC__HUGE_MOST + 10);
    while (rig_packet(&r, RIG_PACKET))
        continue;
    assert_int_equal(r.n_over, 30);
}

/* Whichever message is removed, the next one starts in its place. */
static void
a_huge_one_that_is_taken_out_makes_room(void **state)
{
    struct rig r;

    (void)state;
    for (unsigned victim = 0; victim < 10; victim++) {
        rig_begin(&r);
        for (unsigned i = 0; i < 10; i++)
            add_huge(&r, 0, VC__FRAME_CALL);
        for (unsigned i = 0; i < 2 * VC__HUGE_MOST; i++)
            assert_true(rig_packet(&r, RIG_PACKET));
        assert_int_equal(begun(&r), VC__HUGE_MOST);
        vc__schedule_remove(&r.sends[victim]);
        assert_int_equal(r.flows[0].n_huge,
                         VC__HUGE_MOST - (victim < VC__HUGE_MOST));
        while (rig_packet(&r, RIG_PACKET))
            assert_in_range(r.flows[0].n_huge, 0, VC__HUGE_MOST);
        assert_int_equal(r.n_over, 9);
        assert_int_equal(r.flows[0].n_huge, 0);
    }
    rig_begin(&r);
    for (unsigned i = 0; i < 10; i++)
        add_huge(&r, 0, VC__FRAME_CALL);
    for (unsigned i = 0; i < VC__HUGE_MOST; i++)
        assert_true(rig_packet(&r, RIG_PACKET));
    for (unsigned i = 0; i < 5; i++)
        vc__schedule_remove(vc__flow_any(&r.flows[0]));
    for (unsigned i = 0; i < 5; i++)
        assert_non_null(vc__schedule_clear(&r.schedule));
    assert_null(vc__flow_any(&r.flows[0]));
    assert_null(vc__schedule_clear(&r.schedule));
    assert_true(vc__schedule_is_empty(&r.schedule));
    assert_int_equal(r.flows[0].n_huge, 0);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_few_huge_ones_of_a_flow_go_at_a_time),
        T(other_flows_and_streams_have_their_own),
        T(a_huge_one_that_is_taken_out_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
