/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A message that goes into a link's schedule without the queue of appended
 * ones: it does not overtake those. */
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
};

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

static void
it_goes_into_the_schedule(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    assert_true(vc__link_enter(&r.link, &r.a));
    assert_false(vc__schedule_is_empty(&r.link.schedule));
    scheduled(&r, &r.a, NULL, NULL);
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
        cmocka_unit_test(it_goes_into_the_schedule),
        cmocka_unit_test(it_is_appended_if_another_thread_has_the_lock),
        cmocka_unit_test(those_that_were_appended_go_first),
        cmocka_unit_test(so_do_those_behind_one_that_is_being_appended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
