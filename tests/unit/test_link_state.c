/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of link states: the usual paths, and rules that hold
 * in all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/link/link_state.h"

/* Makes one step; checks its action. */
static enum vc__link_state
step(enum vc__link_state state, enum vc__link_event event,
     enum vc__link_action action)
{
    struct vc__link_step s = vc__link_step(state, event);

    assert_int_equal(action, s.action);
    return s.next;
}

static void
the_active_side_resolves_asks_and_is_up(void **state)
{
    enum vc__link_state s = VC__LINK_NEW;

    (void)state;
    s = step(s, VC__LINK_EV_CONNECT, VC__LINK_DO_NOTHING);
    s = step(s, VC__LINK_EV_READY, VC__LINK_DO_ASK);
    s = step(s, VC__LINK_EV_RESPONSE, VC__LINK_DO_GO_UP);
    assert_int_equal(VC__LINK_UP, s);
}

static void
the_passive_side_is_up_when_established_and_only_once(void **state)
{
    enum vc__link_state s = VC__LINK_NEW;

    (void)state;
    s = step(s, VC__LINK_EV_ACCEPT, VC__LINK_DO_NOTHING);
    s = step(s, VC__LINK_EV_ESTABLISHED, VC__LINK_DO_GO_UP);
    assert_int_equal(VC__LINK_UP, s);
    s = step(s, VC__LINK_EV_ESTABLISHED, VC__LINK_DO_NOTHING);
    assert_int_equal(VC__LINK_UP, s);
}

static void
a_link_that_leaves_waits_for_the_peer_or_the_timer(void **state)
{
    enum vc__link_state s;

    (void)state;
    s = step(VC__LINK_UP, VC__LINK_EV_CLOSE, VC__LINK_DO_LEAVE);
    assert_int_equal(VC__LINK_LEAVING, s);
    assert_int_equal(VC__LINK_GONE,
                     step(s, VC__LINK_EV_LEFT, VC__LINK_DO_REAP));
    assert_int_equal(VC__LINK_GONE,
                     step(s, VC__LINK_EV_TIMEOUT, VC__LINK_DO_REAP));
    assert_int_equal(VC__LINK_LEAVING,
                     step(s, VC__LINK_EV_CLOSE, VC__LINK_DO_NOTHING));
}

static void
a_peer_that_leaves_is_answered(void **state)
{
    (void)state;
    assert_int_equal(VC__LINK_GONE,
                     step(VC__LINK_UP, VC__LINK_EV_LEFT, VC__LINK_DO_ANSWER));
}

static void
unreachable_is_no_end_of_a_link_that_is_up(void **state)
{
    (void)state;
    assert_int_equal(VC__LINK_UP, step(VC__LINK_UP, VC__LINK_EV_NO_WAY,
                                       VC__LINK_DO_NOTHING));
}

static void
nothing_happens_to_a_link_that_is_gone(void **state)
{
    (void)state;
    for (int e = 0; e < VC__LINK_EVENTS; e++)
        assert_int_equal(
            VC__LINK_GONE,
            step(VC__LINK_GONE, (enum vc__link_event)e, VC__LINK_DO_NOTHING));
}

/* In every state the owner's close, the timer and a removed device end the link
 * within two steps: no link can stay for ever. */
static void
every_state_has_a_way_out(void **state)
{
    static const enum vc__link_event ends[] = {
        VC__LINK_EV_CLOSE, VC__LINK_EV_TIMEOUT, VC__LINK_EV_REMOVED};

    (void)state;
    for (int s = VC__LINK_NEW; s < VC__LINK_LEAVING; s++) {
        for (unsigned i = 0; i < 3; i++) {
            enum vc__link_state next =
                vc__link_step((enum vc__link_state)s, ends[i]).next;

            if (next == VC__LINK_LEAVING)
                next = vc__link_step(next, VC__LINK_EV_TIMEOUT).next;
            assert_int_equal(VC__LINK_GONE, next);
        }
    }
}

/* A link reports exactly once that it is down, and is freed exactly once, on
 * every path of six events from the first state. */
static int
tells(enum vc__link_action a)
{
    return a == VC__LINK_DO_LEAVE || a == VC__LINK_DO_ANSWER ||
           a == VC__LINK_DO_FAIL;
}

static int
reaps(enum vc__link_action a)
{
    return a == VC__LINK_DO_ANSWER || a == VC__LINK_DO_FAIL ||
           a == VC__LINK_DO_REAP;
}

static void
walk(enum vc__link_state s, int told, int reaped, int depth)
{
    assert_in_range(told, 0, 1);
    assert_in_range(reaped, 0, 1);
    assert_int_equal(reaped, s == VC__LINK_GONE);
    assert_int_equal(told, s == VC__LINK_GONE || s == VC__LINK_LEAVING);
    if (depth == 0)
        return;
    for (int e = 0; e < VC__LINK_EVENTS; e++) {
        struct vc__link_step step = vc__link_step(s, (enum vc__link_event)e);

        walk(step.next, told + tells(step.action), reaped + reaps(step.action),
             depth - 1);
    }
}

static void
on_every_path_the_end_is_told_once_and_taken_apart_once(void **state)
{
    (void)state;
    walk(VC__LINK_NEW, 0, 0, 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_active_side_resolves_asks_and_is_up),
        cmocka_unit_test(the_passive_side_is_up_when_established_and_only_once),
        cmocka_unit_test(a_link_that_leaves_waits_for_the_peer_or_the_timer),
        cmocka_unit_test(a_peer_that_leaves_is_answered),
        cmocka_unit_test(unreachable_is_no_end_of_a_link_that_is_up),
        cmocka_unit_test(nothing_happens_to_a_link_that_is_gone),
        cmocka_unit_test(every_state_has_a_way_out),
        cmocka_unit_test(
            on_every_path_the_end_is_told_once_and_taken_apart_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
