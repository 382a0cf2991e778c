/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The buffer doubles, or more, when it is full, and the old one is freed.
 * text_addf() leaves a second copy of what it appends in the arena.
 *
 * One thread, as all of the plugin. Nothing here fails: without memory the
 * program ends. */
#include "idl/text.h"

#include <stdarg.h>
#include <string.h>

#define TEXT_SIZE_FIRST 256

void
text_init(struct text *text, struct arena *arena)
{
    *text = (struct text){.arena = arena};
}

void
text_reserve(struct text *text, size_t more)
{
    size_t size = text->size > 0 ? text->size : TEXT_SIZE_FIRST;
    char *data;

    if (text->size - text->length >= more)
        return;
    while (size - text->length < more)
        size *= 2;
    data = arena_alloc(text->arena, size);
    if (text->length > 0)
        memcpy(data, text->data, text->length);
    arena_free(text->data);
    text->data = data;
    text->size = size;
}

void
text_add_bytes(struct text *text, const void *data, size_t length)
{
    if (length == 0)
        return;
    text_reserve(text, length);
    memcpy(text->data + text->length, data, length);
    text->length += length;
}

void
text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void
text_addf(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_add(text, arena_vprintf(text->arena, format, args));
    va_end(args);
}
