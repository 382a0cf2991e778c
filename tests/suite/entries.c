/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/entries.h. */
#include "tests/suite/entries.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

unsigned
entries_of(const char *path, const char *with)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    unsigned n = 0;

    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL)
        n += strstr(e->d_name, with) != NULL;
    closedir(dir);
    return n;
}

unsigned
entries_descriptors(void)
{
    return entries_of("/proc/self/fd", "");
}
