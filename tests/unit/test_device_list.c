/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which device lists librdmacm can sort by their addresses.
 * tests/suite/test_failover shows that a removed device is released, and that
 * the others stay. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "transport/rdma/device_list.h"

#define HEAP ((uintptr_t)0x0fbd437)

static void
those_within_2_GiB_are_sorted(void **state)
{
    const uintptr_t near[] = {HEAP, HEAP + INT_MAX, HEAP + 64};

    (void)state;
    assert_true(vc__device_list_is_near(near, 0));
    assert_true(vc__device_list_is_near(near, 1));
    assert_true(vc__device_list_is_near(near, 3));
}

static void
those_that_are_further_apart_are_not(void **state)
{
    const uintptr_t beyond[] = {HEAP + 64, HEAP + 64 + INT_MAX, HEAP + 63};
#if UINTPTR_MAX > UINT32_MAX
    const uintptr_t far[] = {(uintptr_t)0x7ffa88014d20, HEAP};

    assert_false(vc__device_list_is_near(far, 2));
#endif
    (void)state;
    assert_true(vc__device_list_is_near(beyond, 2));
    assert_false(vc__device_list_is_near(beyond, 3));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_within_2_GiB_are_sorted),
        cmocka_unit_test(those_that_are_further_apart_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
