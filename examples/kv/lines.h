/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file in memory, line by line. A line is what stands before a newline, and
 * what stands after the last one unless that is nothing; its bytes are kept as
 * they are, and it may be empty. */
#ifndef KV_LINES_H
#define KV_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Owned by the caller. Once read it never changes, so any thread may look. */
struct lines {
    uint8_t *data;
    size_t count;
    size_t *starts; /* of count lines, and one past the last line's newline */
};

/* lines_init - reads the file, or all that a pipe gives. Returns 0, or the
 * error's number (errno.h) with *lines untouched. */
int lines_init(const char *path, struct lines *lines);

/* lines_fini - a zeroed one is fine. */
void lines_fini(struct lines *lines);

/* lines_get - the bytes of line i, 0 <= i < count, which are not ended by
 * anything; *size is their number. */
uint8_t *lines_get(const struct lines *lines, size_t i, size_t *size);

/* lines_longest - the bytes of the longest line; 0 when there is none. */
size_t lines_longest(const struct lines *lines);

#endif
