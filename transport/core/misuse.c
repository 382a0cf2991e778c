/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/misuse.h and transport/core/invariant.h. */
#include "transport/core/misuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/core/invariant.h"

void
vc__misuse(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "verbcall: %s\n", text);
    abort();
}

void
vc__broken(const char *file, int line, const char *fact)
{
    vc__misuse("a fault of the library, please report it: %s:%d: not %s", file,
               line, fact);
}
