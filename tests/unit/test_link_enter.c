/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A message that goes into a link's schedule without the queue of appended
 * ones, or past it: it does not overtake those that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <urcu/uatomic.h>

#include "cm/link/link.h"

/* A link that sends nothing by itself, and messages of one flow. */
struct rig {
    struct vc__link link;
    struct vc__flow flow;
    struct vc__send a, b, c;
    struct vc__transport transport;
    struct vc__wire wire;
    uint32_t room; /* of each packet */
    uint32_t sent; /* bytes of the last one */
    uint8_t packet[VC__PACKET_MAX];
};

static uint8_t *
rig_reserve(struct vc__wire *w, uint32_t *room)
{
    struct rig *r = caa_container_of(w, struct rig, wire);

    *room = r->room;
    return r->packet;
}

static int
rig_commit(struct vc__wire *w, uint32_t len)
{
    caa_container_of(w, struct rig, wire)->sent = len;
    return 0;
}

static void
rig_begin(struct rig *r)
{
    struct vc__send *sends[] = {&r->a, &r->b, &r->c};

    memset(r, 0, sizeof *r);
    r->link.active = r->link.open = true;
    vc__lock_init(&r->link.lock);
    __cds_wfcq_init(&r->link.arrivals, &r->link.arrivals_tail);
    vc__schedule_init(&r->link.schedule);
    vc__flow_init(&r->flow, 1);
    r->transport.reserve = rig_reserve;
    r->transport.commit = rig_commit;
    r->wire.transport = &r->transport;
    r->link.wire = &r->wire;
    r->room = VC__PACKET_MAX;
    vc__credit_init(&r->link.credit, 8, 8);
    for (unsigned i = 0; i < 3; i++) {
        vc__send_clear(sends[i]);
        sends[i]->flow = &r->flow;
    }
}

/* Takes what is appended, and checks that exactly these are scheduled, in this
 * order. With the link's lock. */
static void
scheduled(struct rig *r, struct vc__send *one, struct vc__send *two,
          struct vc__send *three)
{
    struct vc__send *sends[] = {one, two, three};

    vc__link_arrivals_take(&r->link);
    for (unsigned i = 0; i < 3 && sends[i] != NULL; i++)
        assert_ptr_equal(sends[i],
                         vc__schedule_take(&r->link.schedule, VC__PACKET_MAX));
    assert_true(vc__schedule_is_empty(&r->link.schedule));
}

/* Enters and sends a message, which finds the schedule empty. */
static void
rig_send(struct rig *r, struct vc__send *s)
{
    assert_true(vc__link_enter(&r->link, s));
    assert_true(vc__schedule_is_empty(&r->link.schedule));
    vc__link_push_entered(&r->link);
    assert_null(r->link.alone);
}

static void
one_that_is_alone_goes_past_the_schedule(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    rig_send(&r, &r.a);
    assert_int_equal(r.sent, VC__PACKET_HEADER + VC__FRAME_HEADER);
    assert_int_equal(r.a.place, VC__SEND_OUT);
    scheduled(&r, NULL, NULL, NULL);
}

static void
one_that_is_not_goes_into_it(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    vc__schedule_add(&r.link.schedule, &r.a);
    assert_true(vc__link_enter(&r.link, &r.b));
    assert_null(r.link.alone);
    scheduled(&r, &r.a, &r.b, NULL);
}

static void
so_does_a_long_one(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.a.frame.body_len = VC__EAGER_MAX + 1;
    assert_true(vc__link_enter(&r.link, &r.a));
    assert_null(r.link.alone);
    assert_false(vc__schedule_is_empty(&r.link.schedule));
}

static void
one_that_is_alone_and_cannot_be_sent_waits_in_it(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    vc__credit_init(&r.link.credit, 8, 1); /* kept for a packet of credits */
    rig_send(&r, &r.a);
    assert_int_equal(r.sent, 0);
    scheduled(&r, &r.a, NULL, NULL);

    rig_begin(&r);
    r.a.frame.body_len = 100;
    r.room = VC__PACKET_HEADER + VC__FRAME_HEADER + 99;
    rig_send(&r, &r.a);
    assert_int_equal(r.sent, 0);
    scheduled(&r, &r.a, NULL, NULL);
}

static void
one_for_a_link_that_is_closed_is_lost(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.link.open = false;
    rig_send(&r, &r.a);
    assert_int_equal(r.sent, 0);
    scheduled(&r, NULL, NULL, NULL);
}

static void
it_is_appended_if_another_thread_has_the_lock(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    assert_true(vc__lock_try(&r.link.lock));
    assert_false(vc__link_enter(&r.link, &r.a));
    assert_true(vc__schedule_is_empty(&r.link.schedule));
    scheduled(&r, &r.a, NULL, NULL);
}

static void
those_that_were_appended_go_first(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    vc__link_append(&r.link, &r.a);
    vc__link_append(&r.link, &r.b);
    assert_true(vc__link_enter(&r.link, &r.c));
    scheduled(&r, &r.a, &r.b, &r.c);
}

/* Another thread is in the middle of appending `a`, as cds_wfcq_enqueue() does
 * it: the tail points to it, and nothing else yet. */
static void
so_do_those_behind_one_that_is_being_appended(void **state)
{
    struct cds_wfcq_node *before;
    struct rig r;

    (void)state;
    rig_begin(&r);
    cds_wfcq_node_init(&r.a.arrival);
    before = uatomic_xchg(&r.link.arrivals_tail.p, &r.a.arrival);
    vc__link_append(&r.link, &r.b);             /* as the OPEN of a session */
    assert_true(vc__link_enter(&r.link, &r.c)); /* as its first CALL */
    assert_true(vc__schedule_is_empty(&r.link.schedule));
    CMM_STORE_SHARED(before->next, &r.a.arrival);
    scheduled(&r, &r.a, &r.b, &r.c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_alone_goes_past_the_schedule),
        cmocka_unit_test(one_that_is_not_goes_into_it),
        cmocka_unit_test(so_does_a_long_one),
        cmocka_unit_test(one_that_is_alone_and_cannot_be_sent_waits_in_it),
        cmocka_unit_test(one_for_a_link_that_is_closed_is_lost),
        cmocka_unit_test(it_is_appended_if_another_thread_has_the_lock),
        cmocka_unit_test(those_that_were_appended_go_first),
        cmocka_unit_test(so_do_those_behind_one_that_is_being_appended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
