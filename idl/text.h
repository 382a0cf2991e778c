/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A growing buffer: for generated text, and for bytes passed between the
 * programs. The arena owns its memory.
 *
 * One thread, as all of the plugin.
 *
 * Called by: chain.c (reserve), request.c (reserve), text.c (reserve), many
 * files (init, add_bytes, add, addf). */
#ifndef VC_IDL_TEXT_H
#define VC_IDL_TEXT_H

#include <stddef.h>

#include "idl/arena.h"

struct text {
    struct arena *arena;
    char *data; /* no NUL at its end */
    size_t length;
    size_t size;
};

/* Makes the text empty; data is NULL until room is made. Called by whatever
 * writes a text, first. */
void text_init(struct text *text, struct arena *arena);

/* Makes room for at least `more` bytes after length; data may move. Called
 * before a read into the text, and by the functions below. */
void text_reserve(struct text *text, size_t more);

/* Append bytes, a string, and a formatted text. Called wherever names, files or
 * messages are written. */
void text_add_bytes(struct text *text, const void *data, size_t length);
void text_add(struct text *text, const char *string);
void text_addf(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
