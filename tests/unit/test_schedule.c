/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whose message is next: order, turns by bytes and weight, long messages in
 * parts, and nobody left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/link/schedule.h"
#include "tests/unit/random.h"
#include "transport/wire/metadata.h"

#define FLOWS  6u
#define SENDS  64u
#define PACKET (VC__PACKET_MAX - VC__PACKET_HEADER)

struct rig {
    struct vc__schedule schedule;
    struct vc__flow flows[FLOWS];
    struct vc__send sends[SENDS];
    uint64_t bytes[FLOWS]; /* that have gone */
    unsigned n_sends;
    struct vc__send *over[SENDS]; /* in the order of their ends */
    unsigned n_over;
};

static void
rig_begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    vc__schedule_init(&r->schedule);
    for (unsigned i = 0; i < FLOWS; i++)
        vc__flow_init(&r->flows[i], 1);
}

static struct vc__send *
add(struct rig *r, unsigned flow, uint32_t len)
{
    struct vc__send *s = &r->sends[r->n_sends++];

    memset(s, 0, sizeof *s);
    s->flow = &r->flows[flow];
    s->frame.body_len = len;
    vc__schedule_add(&r->schedule, s);
    return s;
}

/* As the link does when it has written s->take bytes. */
static void
written(struct rig *r, struct vc__send *s)
{
    uint32_t body = s->take - VC__FRAME_HEADER;

    if (s->at == 0)
        body -= s->frame.metadata_len;
    if (vc__send_is_long(s) && s->at == 0) {
        body -= VC__TOTAL_SIZE;
        assert_in_range(body, 1, s->frame.body_len - 1);
    }
    s->at += body;
    r->bytes[s->flow - r->flows] += s->take;
    assert_true(s->at <= s->frame.body_len);
    if (s->at < s->frame.body_len)
        vc__schedule_add(&r->schedule, s);
    else
        r->over[r->n_over++] = s;
}

/* One packet; false when nothing waits. */
static bool
packet(struct rig *r, uint32_t room)
{
    struct vc__send *plan[SENDS], *s;
    unsigned n = 0;

    if (vc__schedule_is_empty(&r->schedule))
        return false;
    while ((s = vc__schedule_take(&r->schedule, room)) != NULL) {
        assert_in_range(s->take, VC__FRAME_HEADER, room);
        room -= s->take;
        plan[n++] = s;
    }
    for (unsigned i = 0; i < n; i++)
        written(r, plan[i]);
    return true;
}

static void
messages_of_a_flow_keep_their_order(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    for (unsigned i = 0; i < 20; i++)
        add(&r, 0, i * 400);
    while (packet(&r, PACKET))
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
    s = add(&r, 0, 200000);
    add(&r, 0, 100);
    for (unsigned i = 0; i < 2; i++)
        packet(&r, PACKET);
    assert_int_equal(r.n_over, 1);
    while (packet(&r, PACKET))
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
    add(&r, 0, 1000);
    add(&r, 1, 100000);
    assert_null(vc__schedule_take(&r.schedule, 900));
    while (packet(&r, PACKET))
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
    s = add(&r, 0, 20000);
    s->frame.metadata_len = VC__METADATA_MAX;
    packet(&r, PACKET);
    assert_int_equal(s->at, PACKET - VC__FRAME_HEADER - VC__METADATA_MAX -
                                VC__TOTAL_SIZE);
    packet(&r, PACKET);
    assert_int_equal(s->at, 2 * (PACKET - VC__FRAME_HEADER) - VC__METADATA_MAX -
                                VC__TOTAL_SIZE);
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
            s = add(&r, 0, fits + more);
            s->frame.metadata_len = (uint16_t)metadata[i];
            assert_int_equal(vc__send_is_long(s), more > 0);
            assert_true(packet(&r, PACKET));
            assert_int_equal(s->at<s->frame.body_len, more> 0);
        }
        assert_true(packet(&r, PACKET));
        assert_int_equal(r.n_over, 2);
        assert_false(packet(&r, PACKET));
    }
}

/* Shares of what goes while all have something to send. */
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
            add(&r, i, len);
    for (unsigned i = 0; i < 20000; i++) {
        packet(&r, PACKET);
        while (r.n_over > 0) { /* a greedy flow: the next is there at once */
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
    for (unsigned i = 1; i < FLOWS; i++)
        add(&r, i, 3000000);
    for (unsigned round = 0; round < 20; round++) {
        struct vc__send *s = add(&r, 0, 0);

        packet(&r, PACKET);
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
    add(&r, 0, 7000);
    packet(&r, PACKET);
    assert_true(r.flows[0].left < 0);
    add(&r, 1, 10);
    packet(&r, PACKET);
    assert_int_equal(r.flows[1].left, 0);
    /* So the other goes first now, several times. */
    add(&r, 0, 10);
    for (unsigned i = 0; i < 3; i++)
        add(&r, 1, 10);
    packet(&r, PACKET);
    assert_ptr_equal(r.over[r.n_over - 1]->flow, &r.flows[0]);
}

static void
what_is_taken_out_is_gone_and_the_rest_goes(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    for (unsigned i = 0; i < 12; i++)
        add(&r, i % 3, 50);
    for (unsigned i = 0; i < 12; i += 2)
        vc__schedule_remove(&r.sends[i]);
    while (packet(&r, PACKET))
        continue;
    assert_int_equal(r.n_over, 6);
    for (unsigned i = 0; i < 3; i++)
        add(&r, i, 50);
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(vc__schedule_clear(&r.schedule));
    assert_null(vc__schedule_clear(&r.schedule));
    assert_true(vc__schedule_is_empty(&r.schedule));
}

/* Whatever comes, in packets of any size: in each round of packets all flows
 * that wait get on, and all that was added goes, once. */
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
        for (unsigned i = 0; i < FLOWS; i++)
            r.flows[i].weight = 1 + random_below(&dice, 8);
        while (r.n_sends < SENDS) {
            struct vc__send *s = add(&r, random_below(&dice, FLOWS),
                                     lens[random_below(&dice, 6)]);

            if (random_below(&dice, 4) == 0)
                s->frame.metadata_len =
                    (uint16_t)random_below(&dice, VC__METADATA_MAX + 1);
            if (random_below(&dice, 3) == 0)
                packet(&r, random_below(&dice, 2) == 0 ? 200 : PACKET);
        }
        added = r.n_sends;
        while (packet(&r, PACKET))
            assert_in_range(++packets, 1, 4000);
        assert_int_equal(r.n_over, added);
        for (unsigned i = 0; i < added; i++)
            assert_int_equal(r.sends[i].at, r.sends[i].frame.body_len);
    }
}

/* A long message of which all but these bytes have gone. */
static struct vc__send *
add_rest(struct rig *r, unsigned flow, uint32_t rest)
{
    struct vc__send *s = add(r, flow, 100000);

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
    s = add(&r, 0, 10);
    assert_int_equal(s->place, VC__SEND_QUEUED);
    assert_ptr_equal(vc__schedule_take(&r.schedule, PACKET), s);
    assert_int_equal(s->place, VC__SEND_OUT);
    vc__schedule_add(&r.schedule, s);
    assert_int_equal(s->place, VC__SEND_QUEUED);
    vc__schedule_remove(s);
    assert_int_equal(s->place, VC__SEND_OUT);
}

/* The least of a long message that is worth a part, unless it is the rest. */
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
    s = add(&r, 0, 0);
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
        first[0] = add(&r, 0, 100);
        first[1] = add(&r, 0, 100);
        other = add(&r, 1, 100);
        r.flows[0].left = (int32_t)(VC__FRAME_HEADER + 100) + more;
        assert_ptr_equal(vc__schedule_take(&r.schedule, PACKET), first[0]);
        assert_int_equal(r.flows[0].left, more);
        assert_ptr_equal(vc__schedule_take(&r.schedule, PACKET),
                         more ? first[1] : other);
    }
    (void)state;
}

/* --- huge ones ---------------------------------------------------------- */

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

/* In the order of their coming; short ones do not wait for them, and one that
 * came before them goes before them. */
static void
a_few_huge_ones_of_a_flow_go_at_a_time(void **state)
{
    static const uint8_t types[] = {VC__FRAME_CALL, VC__FRAME_REPLY};
    struct rig r;

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        struct vc__send *early, *late;

        rig_begin(&r);
        early = add(&r, 0, 100);
        for (unsigned i = 0; i < 10; i++)
            add_huge(&r, 0, types[t]);
        late = add(&r, 0, 100);
        assert_true(packet(&r, PACKET));
        assert_ptr_equal(r.over[0], early);
        for (unsigned i = 0; i < VC__HUGE_MOST + 1; i++)
            assert_true(packet(&r, PACKET));
        assert_ptr_equal(r.over[1], late);
        while (packet(&r, PACKET))
            assert_in_range(begun(&r), 0, VC__HUGE_MOST);
        assert_int_equal(r.n_over, 12);
        for (unsigned i = 2; i < 12; i++)
            assert_ptr_equal(r.over[i], &r.sends[i - 1]);
        assert_true(vc__schedule_is_empty(&r.schedule));
        assert_int_equal(r.flows[0].n_huge, 0);
    }
}

/* Each flow has its few, and messages of streams are not counted. */
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
        assert_true(packet(&r, PACKET));
    assert_int_equal(begun(&r), 2 * VC__HUGE_MOST + 10);
    while (packet(&r, PACKET))
        continue;
    assert_int_equal(r.n_over, 30);
}

/* Whatever is taken out, the next one begins in its place. */
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
            assert_true(packet(&r, PACKET));
        assert_int_equal(begun(&r), VC__HUGE_MOST);
        vc__schedule_remove(&r.sends[victim]);
        assert_int_equal(r.flows[0].n_huge,
                         VC__HUGE_MOST - (victim < VC__HUGE_MOST));
        while (packet(&r, PACKET))
            assert_in_range(r.flows[0].n_huge, 0, VC__HUGE_MOST);
        assert_int_equal(r.n_over, 9);
        assert_int_equal(r.flows[0].n_huge, 0);
    }
    rig_begin(&r);
    for (unsigned i = 0; i < 10; i++)
        add_huge(&r, 0, VC__FRAME_CALL);
    for (unsigned i = 0; i < VC__HUGE_MOST; i++)
        assert_true(packet(&r, PACKET));
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
        T(a_few_huge_ones_of_a_flow_go_at_a_time),
        T(other_flows_and_streams_have_their_own),
        T(a_huge_one_that_is_taken_out_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
