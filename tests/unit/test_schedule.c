/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which message is sent next: order, turns by bytes and weight, long messages
 * in parts, and no flow starves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tests/unit/schedule_rig.h"
#include "transport/wire/metadata.h"

static void
messages_of_a_flow_keep_their_order(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    for (unsigned i = 0; i < 20; i++)
        rig_add(&r, 0, i * 400);
    while (rig_packet(&r, RIG_PACKET))
        continue;
    assert_int_equal(r.n_over, 20);
    for (unsigned i = 0; i < 20; i++)
        assert_ptr_equal(r.over[i], &r.sends[i]);
}

static void
a_long_message_takes_turns_with_those_behind_it(void **state)
{
    struct rig r;
    struct vc__send *s;

    (void)state;
    rig_begin(&r);
    s = rig_add(&r, 0, 200000);
    rig_add(&r, 0, 100);
    for (unsigned i = 0; i < 2; i++)
        rig_packet(&r, RIG_PACKET);
    assert_int_equal(r.n_over, 1);
    while (rig_packet(&r, RIG_PACKET))
        continue;
    assert_int_equal(r.n_over, 2);
    assert_ptr_equal(r.over[1], s);
}

static void
a_message_that_does_not_fit_waits_for_the_next_packet(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    rig_add(&r, 0, 1000);
    rig_add(&r, 1, 100000);
    assert_null(vc__schedule_take(&r.schedule, 900));
    while (rig_packet(&r, RIG_PACKET))
        continue;
    assert_int_equal(r.n_over, 2);
}

static void
metadata_go_with_the_first_part_and_make_it_shorter(void **state)
{
    struct rig r;
    struct vc__send *s;

    (void)state;
    rig_begin(&r);
    s = rig_add(&r, 0, 20000);
    s->frame.metadata_len = VC__METADATA_MAX;
    rig_packet(&r, RIG_PACKET);
    assert_int_equal(s->at, RIG_PACKET - VC__FRAME_HEADER - VC__METADATA_MAX -
                                VC__TOTAL_SIZE);
    rig_packet(&r, RIG_PACKET);
    assert_int_equal(s->at, 2 * (RIG_PACKET - VC__FRAME_HEADER) -
                                VC__METADATA_MAX - VC__TOTAL_SIZE);
}

static void
a_message_that_does_not_fit_behind_its_metadata_goes_in_parts(void **state)
{
    static const uint32_t metadata[] = {1, 100, VC__METADATA_MAX};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t fits = VC__EAGER_MAX - metadata[i];
        struct rig r;
        struct vc__send *s;

        rig_begin(&r);
        for (unsigned more = 0; more < 2; more++) {
            s = rig_add(&r, 0, fits + more);
            s->frame.metadata_len = (uint16_t)metadata[i];
            assert_int_equal(vc__send_is_long(s), more > 0);
            assert_true(rig_packet(&r, RIG_PACKET));
            assert_int_equal(s->at<s->frame.body_len, more> 0);
        }
        assert_true(rig_packet(&r, RIG_PACKET));
        assert_int_equal(r.n_over, 2);
        assert_false(rig_packet(&r, RIG_PACKET));
    }
}

/* Checks the shares of the flows while all have messages to send. */
static void
shares(uint32_t len, unsigned messages, const uint32_t *weights, unsigned n)
{
    struct rig r;
    double first;

    rig_begin(&r);
    for (unsigned i = 0; i < n; i++)
        r.flows[i].weight = weights[i];
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < messages; k++)
            rig_add(&r, i, len);
    for (unsigned i = 0; i < 20000; i++) {
        rig_packet(&r, RIG_PACKET);
        while (r.n_over > 0) { /* greedy: the next comes at once */
            struct vc__send *s = r.over[--r.n_over];

            s->at = 0;
            vc__schedule_add(&r.schedule, s);
        }
    }
    first = (double)r.bytes[0] / weights[0];
    for (unsigned i = 1; i < n; i++) {
        double share = (double)r.bytes[i] / weights[i];

        if (share < first * 0.9 || share > first * 1.1)
            fail_msg("%u messages of %u bytes: weight %u got %llu bytes, "
                     "weight %u got %llu",
                     messages, len, weights[0], (unsigned long long)r.bytes[0],
                     weights[i], (unsigned long long)r.bytes[i]);
    }
}

static void
flows_share_by_weight_whatever_they_send(void **state)
{
    static const uint32_t same[] = {1, 1, 1}, near[] = {1, 2, 3},
                          far[] = {1, 16, 64};

    (void)state;
    for (unsigned messages = 4; messages <= 16; messages *= 2) {
        shares(100, messages, same, 3);
        shares(8000, messages, near, 3);
        shares(100000, messages, same, 3);
        shares(100000, messages, near, 3);
        shares(1000000, messages, far, 3);
    }
}

static void
one_long_message_at_a_time_has_its_share_too(void **state)
{
    static const uint32_t near[] = {1, 2, 3}, far[] = {1, 16, 64};

    (void)state;
    shares(10000000, 1, near, 3);
    shares(10000000, 1, far, 3);
}

static void
what_is_urgent_goes_first_each_time(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.flows[0].urgent = true;
    for (unsigned i = 1; i < RIG_FLOWS; i++)
        rig_add(&r, i, 3000000);
    for (unsigned round = 0; round < 20; round++) {
        struct vc__send *s = rig_add(&r, 0, 0);

        rig_packet(&r, RIG_PACKET);
        assert_int_equal(r.n_over, round + 1);
        assert_ptr_equal(r.over[round], s);
    }
}

static void
what_a_flow_owes_it_owes_on_and_saves_up_nothing(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    rig_add(&r, 0, 7000);
    rig_packet(&r, RIG_PACKET);
    assert_true(r.flows[0].left < 0);
    rig_add(&r, 1, 10);
    rig_packet(&r, RIG_PACKET);
    assert_int_equal(r.flows[1].left, 0);
    /* So the other flow is first now, several times. */
    rig_add(&r, 0, 10);
    for (unsigned i = 0; i < 3; i++)
        rig_add(&r, 1, 10);
    rig_packet(&r, RIG_PACKET);
    assert_ptr_equal(r.over[r.n_over - 1]->flow, &r.flows[0]);
}

static void
what_is_taken_out_is_gone_and_the_rest_goes(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    for (unsigned i = 0; i < 12; i++)
        rig_add(&r, i % 3, 50);
    for (unsigned i = 0; i < 12; i += 2)
        vc__schedule_remove(&r.sends[i]);
    while (rig_packet(&r, RIG_PACKET))
        continue;
    assert_int_equal(r.n_over, 6);
    for (unsigned i = 0; i < 3; i++)
        rig_add(&r, i, 50);
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(vc__schedule_clear(&r.schedule));
    assert_null(vc__schedule_clear(&r.schedule));
    assert_true(vc__schedule_is_empty(&r.schedule));
}

/* For any messages, in packets of any size: all flows that wait make progress,
 * and each message is sent once. */
static void
nobody_starves(void **state)
{
    static const uint32_t lens[] = {0, 10, 600, 8000, 9000, 70000};

    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t dice = seed;
        unsigned added, packets = 0;
        struct rig r;

        rig_begin(&r);
        for (unsigned i = 0; i < RIG_FLOWS; i++)
            r.flows[i].weight = 1 + random_below(&dice, 8);
        while (r.n_sends < RIG_SENDS) {
            struct vc__send *s = rig_add(&r, random_below(&dice, RIG_FLOWS),
                                         lens[random_below(&dice, 6)]);

            if (random_below(&dice, 4) == 0)
                s->frame.metadata_len =
                    (uint16_t)random_below(&dice, VC__METADATA_MAX + 1);
            if (random_below(&dice, 3) == 0)
                rig_packet(&r, random_below(&dice, 2) == 0 ? 200 : RIG_PACKET);
        }
        added = r.n_sends;
        while (rig_packet(&r, RIG_PACKET))
            assert_in_range(++packets, 1, 4000);
        assert_int_equal(r.n_over, added);
        for (unsigned i = 0; i < added; i++)
            assert_int_equal(r.sends[i].at, r.sends[i].frame.body_len);
    }
}

/* Adds a long message whose last `rest` bytes are not sent yet. */
static struct vc__send *
add_rest(struct rig *r, unsigned flow, uint32_t rest)
{
    struct vc__send *s = rig_add(r, flow, 100000);

    s->at = 100000 - rest;
    return s;
}

static void
a_flow_begins_with_no_sends_no_turn_and_no_hurry(void **state)
{
    struct vc__flow f;

    (void)state;
    memset(&f, 0xa5, sizeof f);
    vc__flow_init(&f, 3);
    assert_true(cds_list_empty(&f.node));
    assert_true(cds_list_empty(&f.sends));
    assert_int_equal(f.weight, 3);
    assert_int_equal(f.left, 0);
    memset(&f, 1, sizeof f);
    vc__flow_init(&f, 3);
    assert_false(f.urgent);
}

static void
a_send_knows_whether_it_is_queued(void **state)
{
    struct vc__send *s;
    struct rig r;

    (void)state;
    rig_begin(&r);
    s = rig_add(&r, 0, 10);
    assert_int_equal(s->place, VC__SEND_QUEUED);
    assert_ptr_equal(vc__schedule_take(&r.schedule, RIG_PACKET), s);
    assert_int_equal(s->place, VC__SEND_OUT);
    vc__schedule_add(&r.schedule, s);
    assert_int_equal(s->place, VC__SEND_QUEUED);
    vc__schedule_remove(s);
    assert_int_equal(s->place, VC__SEND_OUT);
}

/* The least part of a long message that is worth a frame, unless it
 * is the last. */
#define PART_LEAST 512u

static void
a_send_goes_when_there_is_just_the_room_for_it(void **state)
{
    static const struct {
        uint32_t rest, room;
    } table[] = {{10, 10},
                 {PART_LEAST, PART_LEAST},
                 {PART_LEAST + 1, PART_LEAST},
                 {50000, PART_LEAST}};
    struct vc__send *s;
    struct rig r;

    (void)state;
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint32_t room = VC__FRAME_HEADER + table[i].room;

        rig_begin(&r);
        s = add_rest(&r, 0, table[i].rest);
        assert_null(vc__schedule_take(&r.schedule, room - 1));
        assert_ptr_equal(vc__schedule_take(&r.schedule, room), s);
        assert_int_equal(s->take, room);
    }

    rig_begin(&r);
    s = rig_add(&r, 0, 0);
    assert_null(vc__schedule_take(&r.schedule, VC__FRAME_HEADER - 1));
    assert_ptr_equal(vc__schedule_take(&r.schedule, VC__FRAME_HEADER), s);
    assert_int_equal(s->take, VC__FRAME_HEADER);
}

static void
a_long_message_keeps_its_turn_until_its_last_byte(void **state)
{
    struct vc__send *s;
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.flows[0].left = 5000;
    s = add_rest(&r, 0, 1001);
    vc__schedule_take(&r.schedule, VC__FRAME_HEADER + 1000);
    assert_int_equal(s->take, VC__FRAME_HEADER + 1000);
    assert_int_equal(r.flows[0].left, 5000 - (int)s->take);

    rig_begin(&r);
    r.flows[0].left = 5000;
    s = add_rest(&r, 0, 1001);
    vc__schedule_take(&r.schedule, VC__FRAME_HEADER + 1001);
    assert_int_equal(s->take, VC__FRAME_HEADER + 1001);
    assert_int_equal(r.flows[0].left, 0);
}

static void
a_turn_ends_with_its_last_byte(void **state)
{
    for (int more = 0; more < 2; more++) {
        struct vc__send *first[2], *other;
        struct rig r;

        rig_begin(&r);
        first[0] = rig_add(&r, 0, 100);
        first[1] = rig_add(&r, 0, 100);
        other = rig_add(&r, 1, 100);
        r.flows[0].left = (int32_t)(VC__FRAME_HEADER + 100) + more;
        assert_ptr_equal(vc__schedule_take(&r.schedule, RIG_PACKET), first[0]);
        assert_int_equal(r.flows[0].left, more);
        assert_ptr_equal(vc__schedule_take(&r.schedule, RIG_PACKET),
                         more ? first[1] : other);
    }
    (void)state;
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(messages_of_a_flow_keep_their_order),
        T(a_long_message_takes_turns_with_those_behind_it),
        T(a_message_that_does_not_fit_waits_for_the_next_packet),
        T(metadata_go_with_the_first_part_and_make_it_shorter),
        T(a_message_that_does_not_fit_behind_its_metadata_goes_in_parts),
        T(flows_share_by_weight_whatever_they_send),
        T(one_long_message_at_a_time_has_its_share_too),
        T(what_is_urgent_goes_first_each_time),
        T(what_a_flow_owes_it_owes_on_and_saves_up_nothing),
        T(what_is_taken_out_is_gone_and_the_rest_goes),
        T(nobody_starves),
        T(a_flow_begins_with_no_sends_no_turn_and_no_hurry),
        T(a_send_knows_whether_it_is_queued),
        T(a_send_goes_when_there_is_just_the_room_for_it),
        T(a_long_message_keeps_its_turn_until_its_last_byte),
        T(a_turn_ends_with_its_last_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
