/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See unions.h. A line of nothing else opens a union and stands in no comment,
 * as all lines of those begin with an asterisk. */
#include "idl/unions.h"

#include <string.h>

#include "idl/text.h"

#define OPENING "union {"

/* Of a line without its end: how much comes before the word, or its length. */
static size_t
line_indent(const char *line, size_t length)
{
    size_t n = 0;

    while (n < length && line[n] == ' ')
        n++;
    return length - n == strlen(OPENING) &&
                   memcmp(line + n, OPENING, length - n) == 0
               ? n
               : length;
}

static void
file_mark(struct arena *arena, Idl__Response__File *file)
{
    const char *rest = (const char *)file->content.data;
    const char *end = rest + file->content.len;
    struct text out;

    text_init(&out, arena);
    while (rest < end) {
        const char *newline = memchr(rest, '\n', (size_t)(end - rest));
        const char *next = newline != NULL ? newline + 1 : end;
        size_t length = (size_t)((newline != NULL ? newline : end) - rest);
        size_t indent = line_indent(rest, length);

        text_add_bytes(&out, rest, indent);
        if (indent < length)
            text_add(&out, "__extension__ ");
        text_add_bytes(&out, rest + indent, (size_t)(next - rest) - indent);
        rest = next;
    }
    file->content.data = (uint8_t *)out.data;
    file->content.len = out.length;
}

void
unions_mark(struct arena *arena, Idl__Response *messages)
{
    for (size_t i = 0; i < messages->n_file; i++)
        if (messages->file[i]->has_content)
            file_mark(arena, messages->file[i]);
}
