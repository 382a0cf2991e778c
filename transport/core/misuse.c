/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/misuse.h. */
#include "transport/core/misuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
