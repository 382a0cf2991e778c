/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/client/attempts.h: the deadline of a call that a handler makes for its
 * own call (its parent). */
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
    return vc__attempts_begin(a, &opts, NOW);
}

static void
ends(uint64_t due, uint32_t timeout_ms, uint64_t want_due, uint32_t want_ms)
{
    struct vc__parent p = {.due = due};
    struct vc__attempts a;

    assert_int_equal(begin(&a, &p, timeout_ms), VC_OK);
    assert_true(a.due == want_due);
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
        cmocka_unit_test(none_begins_from_its_deadline_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
