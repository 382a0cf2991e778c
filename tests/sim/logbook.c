/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/logbook.h. */
#include "tests/sim/logbook.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/golden.h"

#define ROOM 65536u

static struct {
    enum vc_log_level level;
    size_t len;
    char text[ROOM];
} book;

/* The world runs one thread at a time; this shows that order to the thread
 * sanitizer. */
static void
order(void)
{
    static atomic_uint turns;

    atomic_fetch_add(&turns, 1);
}

static void
on_line(const char *process, enum vc_log_level level, const char *line)
{
    size_t room;
    int n;

    order();
    if (level > book.level)
        return;
    room = ROOM - book.len;
    n = snprintf(book.text + book.len, room, "%s %s: %s\n", process,
                 vc_log_level_name(level), line);
    assert_true(n > 0 && (size_t)n < room);
    book.len += (size_t)n;
    order();
}

void
logbook_begin(enum vc_log_level level)
{
    book.level = level;
    book.len = 0;
    book.text[0] = '\0';
    order();
    sim_log_to(on_line);
}

const char *
logbook_lines(void)
{
    order();
    return book.text;
}

void
logbook_end(const char *lines)
{
    sim_log_to(NULL);
    assert_string_equal(lines, logbook_lines());
}

void
logbook_end_as(const char *name)
{
    sim_log_to(NULL);
    golden_compare(name, logbook_lines());
}
