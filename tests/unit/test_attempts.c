/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/client/attempts.h: the deadline of a call, also of one that a handler
 * makes for its own call (its parent). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/client/attempts.h"

#define NOW UINT64_C(1000000) /* us */

static enum vc_status
begin(struct vc__attempts *a, struct vc__parent *p, uint32_t timeout_ms)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = timeout_ms;
    opts.parent = (struct vc_call *)p; /* its first member */
    return vc__attempts_begin_at(a, &opts, NOW, 0);
}

static void
ends(uint64_t due, uint32_t timeout_ms, uint64_t want_due, uint32_t want_ms)
{
    struct vc__parent p = {.due = due};
    struct vc__attempts a;

    assert_int_equal(begin(&a, &p, timeout_ms), VC_OK);
    assert_true(a.due == want_due && a.until == want_due);
    assert_int_equal(a.ms, want_ms);
    vc__attempts_end(&a);
    vc__parent_end(&p);
}

static void
a_call_ends_with_the_one_that_it_is_made_for_if_not_before(void **state)
{
    (void)state;
    ends(NOW + 1, VC_NO_DEADLINE, NOW + 1, 1);
    ends(NOW + 5000, VC_NO_DEADLINE, NOW + 5000, 5);
    ends(NOW + 5001, 7, NOW + 5001, 6);
    ends(NOW + 5000, 3, NOW + 3000, 3);
    ends(VC__FOREVER, 3, NOW + 3000, 3);
}

/* The clock may have been late: the server is given no more than
 * the timeout, and the call lasts no less. */
static void
a_rough_clock_makes_no_call_shorter(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc__attempts a;

    (void)state;
    opts.timeout_ms = 2000;
    assert_int_equal(vc__attempts_begin_at(&a, &opts, NOW, 4000), VC_OK);
    assert_true(a.began == NOW && a.due == NOW + 2000000);
    assert_true(a.until == NOW + 2004000);
    opts.timeout_ms = VC_NO_DEADLINE;
    assert_int_equal(vc__attempts_begin_at(&a, &opts, NOW, 4000), VC_OK);
    assert_true(a.due == VC__FOREVER && a.until == VC__FOREVER);
}

/* The clock is read roughly only for a call that lasts long. */
static void
a_short_call_and_a_far_one_begin_now(void **state)
{
    const uint32_t rough_us = vc__rough_us();
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    (void)state;
    assert_in_range(rough_us, 1, 30000);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t before = vc__now();
        struct vc__attempts a;

        opts.timeout_ms = i % 2 == 0 ? 4999 : 5000;
        assert_int_equal(vc__attempts_begin(&a, &opts, rough_us), VC_OK);
        assert_true(a.began <= vc__now());
        assert_true(i % 2 != 0 || a.began >= before);
        assert_true(a.until - a.due == (i % 2 != 0 ? rough_us : 0));
        vc__attempts_end(&a);
    }
}

static void
over(uint64_t due)
{
    struct vc__parent p = {.due = due};
    struct vc__attempts a;

    assert_int_equal(begin(&a, &p, VC_NO_DEADLINE), VC_DEADLINE_EXCEEDED);
    assert_string_equal(
        vc_error(),
        "the deadline of the parent call (vc_call_opts.parent) has passed");
    assert_null(atomic_load(&p.children));
}

static void
none_begins_from_its_deadline_on(void **state)
{
    (void)state;
    over(NOW);
    over(NOW - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_call_ends_with_the_one_that_it_is_made_for_if_not_before),
        cmocka_unit_test(a_rough_clock_makes_no_call_shorter),
        cmocka_unit_test(a_short_call_and_a_far_one_begin_now),
        cmocka_unit_test(none_begins_from_its_deadline_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
