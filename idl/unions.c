/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See unions.h. Lines of comments are left unchanged. All of it runs within
 * unions_mark(), which generate.c calls at most once, on the only thread of the
 * plugin. Texts are constants or lie in the arena. */
#define _GNU_SOURCE /* memmem() */
#include "idl/unions.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "idl/text.h"

#define OPENING "union {"
#define BYTES   "ProtobufCBinaryData "
#define INIT    "__NOT_SET, {0}"

struct line {
    const char *data;
    size_t length; /* with its newline */
    size_t indent;
};

struct marker {
    struct text out;
    bool opened; /* the next member is the first of a union */
    /* For each union of the current structure, a const char *: the initializer
     * of its first member. */
    struct text firsts;
};

/* Takes a line from the front of *rest, which is not empty, and returns it. It
 * points into the file's content. Called by file_mark(). */
static struct line
line_take(const char **rest, const char *end)
{
    const char *newline = memchr(*rest, '\n', (size_t)(end - *rest));
    struct line line = {.data = *rest};

    *rest = newline != NULL ? newline + 1 : end;
    line.length = (size_t)(*rest - line.data);
    while (line.indent < line.length && line.data[line.indent] == ' ')
        line.indent++;
    return line;
}

/* True when the line, after its indent, begins with word. Called by
 * is_comment(), first_value() and file_mark(). */
static bool
line_begins(const struct line *line, const char *word)
{
    size_t n = strlen(word);

    return line->length - line->indent >= n &&
           memcmp(line->data + line->indent, word, n) == 0;
}

/* True for a line of a comment: every one begins with an asterisk, or opens the
 * comment. Called by file_mark(). */
static bool
is_comment(const struct line *line)
{
    return line_begins(line, "*") || line_begins(line, "/*");
}

/* Copies the line that opens a union, with the mark. Called by file_mark(). */
static void
mark_opening(struct marker *m, const struct line *line)
{
    text_add_bytes(&m->out, line->data, line->indent);
    text_add(&m->out, "__extension__ ");
    text_add_bytes(&m->out, line->data + line->indent,
                   line->length - line->indent);
    m->opened = true;
}

/* Returns the initializer of a first member, for first_note(). A structure
 * needs braces of its own, and an enum a cast in C++. Of the possible members
 * only these two, and pointers, have types in upper case. */
static const char *
first_value(struct arena *arena, const struct line *line)
{
    const char *type = line->data + line->indent;
    size_t length = line->length - line->indent, n = 0;

    while (n < length && type[n] != ' ')
        n++;
    if (line_begins(line, BYTES))
        return "{0,NULL}";
    if (!isupper((unsigned char)type[0]) || length - n < 2 ||
        type[n + 1] == '*')
        return "0";
    return arena_printf(arena, "(%.*s)0", (int)n, type);
}

/* Notes the initializer of a union's first member, which this line may be.
 * Called by file_mark() for each line but comments and openings. */
static void
first_note(struct marker *m, const struct line *line)
{
    const char *value;

    if (!m->opened || line->indent == line->length)
        return;
    value = first_value(m->out.arena, line);
    text_add_bytes(&m->firsts, &value, sizeof value);
    m->opened = false;
}

/* Returns the initializer for the first member of union n; "0" if none was
 * noted. Called by mark_inits(). */
static const char *
first_get(const struct marker *m, size_t n)
{
    const char *value = "0";

    if (n < m->firsts.length / sizeof value)
        memcpy(&value, m->firsts.data + n * sizeof value, sizeof value);
    return value;
}

/* Copies a line, with the initializers of unions in it replaced; if there are
 * any, the notes of first_note() are forgotten. Called by file_mark() after
 * first_note(). */
static void
mark_inits(struct marker *m, const struct line *line)
{
    const char *rest = line->data, *end = line->data + line->length, *at;
    size_t n = 0;

    while ((at = memmem(rest, (size_t)(end - rest), INIT, strlen(INIT)))) {
        at += strlen(INIT) - strlen("0}");
        text_add_bytes(&m->out, rest, (size_t)(at - rest));
        text_add(&m->out, first_get(m, n++));
        rest = at + strlen("0");
    }
    text_add_bytes(&m->out, rest, (size_t)(end - rest));
    if (n > 0)
        m->firsts.length = 0;
}

/* Edits the content of one file and frees the old one. Called by unions_mark()
 * for each file with content. */
static void
file_mark(struct arena *arena, Idl__Response__File *file)
{
    const char *rest = (const char *)file->content.data;
    const char *end = rest + file->content.len;
    struct marker marker = {.opened = false};

    text_init(&marker.out, arena);
    text_init(&marker.firsts, arena);
    while (rest < end) {
        struct line line = line_take(&rest, end);

        if (is_comment(&line))
            text_add_bytes(&marker.out, line.data, line.length);
        else if (line_begins(&line, OPENING "\n"))
            mark_opening(&marker, &line);
        else {
            first_note(&marker, &line);
            mark_inits(&marker, &line);
        }
    }
    arena_free(file->content.data); /* a copy that protobuf-c made */
    file->content.data = (uint8_t *)marker.out.data;
    file->content.len = marker.out.length;
}

void
unions_mark(struct arena *arena, Idl__Response *messages)
{
    for (size_t i = 0; i < messages->n_file; i++)
        if (messages->file[i]->has_content)
            file_mark(arena, messages->file[i]);
}
