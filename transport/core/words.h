/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A text that is written piece by piece into a buffer that may be too small, as
 * snprintf(3) does with one piece: what does not fit is only counted. Pure;
 * called on the thread that describes a channel or a server or logs a pool's
 * transport, mostly under the lock of the pool or server.
 *
 * Called by: cm/pool/pool_describe.c (begin, add), rpc/balance/server_line.c
 * (begin, add), rpc/server/server_listen.c (begin, add), many files (plural).
 */
#ifndef VC_TRANSPORT_WORDS_H
#define VC_TRANSPORT_WORDS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct vc__words {
    char *text;
    size_t size, len; /* len: of the whole text, without the NUL */
};

/* Begins an empty text in `text`, of `size` bytes; NULL when size is 0. */
static inline void
vc__words_begin(struct vc__words *w, char *text, size_t size)
{
    w->text = text;
    w->size = size;
    w->len = 0;
    if (size > 0)
        text[0] = '\0';
}

/* Appends a piece, truncated to fit; w->len counts all of it. */
__attribute__((format(printf, 2, 3))) static inline void
vc__words_add(struct vc__words *w, const char *format, ...)
{
    size_t room = w->len < w->size ? w->size - w->len : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(room > 0 ? w->text + w->len : NULL, room, format, args);
    va_end(args);
    w->len += n > 0 ? (size_t)n : 0;
}

/* Returns the ending of the noun after this number: "1 call", "2 calls". Called
 * on any thread for a text with a number that may be 1. */
static inline const char *
vc__plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
