/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a method's handlers usually block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/server/service.h"
#include "transport/core/habit.h"

#define HEALTH "grpc.health.v1.Health"

static void
a_method_that_never_blocked_does_not(void **state)
{
    struct vc__habit h;

    (void)state;
    memset(&h, 0, sizeof h);
    assert_false(vc__habit_blocks(&h));
    vc__habit_ran(&h, VC__HABIT_QUICK_US - 1);
    assert_false(vc__habit_blocks(&h));
}

static void
it_blocks_until_four_runs_in_a_row_were_quick(void **state)
{
    struct vc__habit h;

    (void)state;
    memset(&h, 0, sizeof h);
    vc__habit_blocked(&h);
    for (unsigned i = 0; i < VC__HABIT_RUNS - 1; i++) {
        vc__habit_ran(&h, VC__HABIT_QUICK_US - 1);
        assert_true(vc__habit_blocks(&h));
    }
    vc__habit_ran(&h, VC__HABIT_QUICK_US);
    for (unsigned i = 0; i < VC__HABIT_RUNS; i++) {
        assert_true(vc__habit_blocks(&h));
        vc__habit_ran(&h, 0);
    }
    assert_false(vc__habit_blocks(&h));
}

static void
what_was_said_once_stays(void **state)
{
    struct vc__habit always, never;

    (void)state;
    vc__habit_fix(&always, VC__HABIT_ALWAYS);
    vc__habit_fix(&never, VC__HABIT_NEVER);
    for (int i = 0; i < 2 * VC__HABIT_ALWAYS; i++) {
        vc__habit_ran(&always, 0);
        vc__habit_blocked(&never);
        vc__habit_ran(&never, VC__HABIT_QUICK_US);
    }
    assert_true(vc__habit_blocks(&always));
    assert_false(vc__habit_blocks(&never));
}

static void
it_is_long_after_a_takeover_until_four_runs_were_quick(void **state)
{
    struct vc__habit h;

    (void)state;
    memset(&h, 0, sizeof h);
    assert_false(vc__habit_is_long(&h));
    vc__habit_was_quick(&h);
    assert_false(vc__habit_is_long(&h));
    vc__habit_was_long(&h);
    assert_false(vc__habit_blocks(&h));
    for (unsigned i = 0; i < VC__HABIT_RUNS; i++) {
        assert_true(vc__habit_is_long(&h));
        vc__habit_was_quick(&h);
    }
    assert_false(vc__habit_is_long(&h));
}

static void
handlers_that_take_turns_are_never_long(void **state)
{
    struct vc__habit h;

    (void)state;
    memset(&h, 0, sizeof h);
    vc__habit_fix(&h, VC__HABIT_NEVER);
    vc__habit_was_long(&h);
    assert_false(vc__habit_is_long(&h));
}

/* One of its own, which the program has in place of the library's. */
static void
only_methods_that_are_said_to_block_do_so_in_a_health_service(void **state)
{
    static const struct vc_method methods[] = {
        {.name = "Check", .flags = VC_METHOD_BLOCKING}, {.name = "Watch"}};
    const struct vc_service service = {
        .name = HEALTH,
        .id = vc__service_id(HEALTH, strlen(HEALTH)),
        .n_methods = 2,
        .methods = methods};
    struct vc__services services = {.adaptive_limit = 0};
    struct vc__service_entry *e;

    (void)state;
    assert_true(vc__services_init(&services));
    assert_int_equal(
        vc__services_add(&services, &service, NULL, 0, NULL, false), VC_OK);
    e = vc__services_get(&services, HEALTH, strlen(HEALTH));

    assert_true(vc__habit_blocks(&e->methods_state[0].habit));
    vc__habit_blocked(&e->methods_state[1].habit);
    assert_false(vc__habit_blocks(&e->methods_state[1].habit));

    vc__service_put(e);
    vc__services_fini(&services);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_that_never_blocked_does_not),
        cmocka_unit_test(it_blocks_until_four_runs_in_a_row_were_quick),
        cmocka_unit_test(what_was_said_once_stays),
        cmocka_unit_test(
            it_is_long_after_a_takeover_until_four_runs_were_quick),
        cmocka_unit_test(handlers_that_take_turns_are_never_long),
        cmocka_unit_test(
            only_methods_that_are_said_to_block_do_so_in_a_health_service),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
