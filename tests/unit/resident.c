/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/resident.h. */
#include "tests/unit/resident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

size_t
resident(void)
{
    size_t all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(2, fscanf(f, "%zu %zu", &all, &pages));
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

bool
resident_is_known(void)
{
    return getenv("VC_TEST_EMULATED") == NULL;
}
