/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/balance/ring.c without memory. The file is included, so that malloc() can
 * fail; test_ring.c has the tests of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static unsigned allocations, failing; /* that number fails; 0: none */

static void *
failing_malloc(size_t size)
{
    return ++allocations == failing ? NULL : malloc(size);
}

#define malloc failing_malloc
#include "rpc/balance/ring.c"
#undef malloc

static struct vc__ring *
ring_of_two(void)
{
    static const struct vc__endpoint endpoints[] = {{.target = "tcp://a:1"},
                                                    {.target = "tcp://b:1"}};

    allocations = 0;
    return vc__ring_new(endpoints, 2, 256, VC__RING_SIZE_MAX);
}

static void
without_memory_there_is_no_ring(void **state)
{
    unsigned needed;

    (void)state;
    vc__ring_free(ring_of_two());
    needed = allocations;
    assert_in_range(needed, 1, 2);
    for (failing = 1; failing <= needed; failing++)
        assert_null(ring_of_two());
    failing = 0;
    vc__ring_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_there_is_no_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
