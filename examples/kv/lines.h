/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file in memory, line by line. A line ends before a newline or at the end of
 * the file; after the last newline there is no empty line. Its bytes are kept
 * unchanged, and a line may be empty. */
#ifndef KV_LINES_H
#define KV_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The caller owns it. Once read it never changes, so any thread may read it. */
struct lines {
    uint8_t *data;
    size_t count;
    size_t *starts; /* of all count lines, and one past the last newline */
};

/* lines_init - reads the file, or all of a pipe. Returns 0, or an error number
 * (errno.h) with *lines unchanged. */
int lines_init(const char *path, struct lines *lines);

/* lines_fini - frees the lines; a zeroed struct is allowed. */
void lines_fini(struct lines *lines);

/* lines_get - returns the bytes of line i, 0 <= i < count, which have no
 * terminator; *size is their number. */
uint8_t *lines_get(const struct lines *lines, size_t i, size_t *size);

/* lines_longest - returns the size of the longest line in bytes; 0 when there
 * is none. */
size_t lines_longest(const struct lines *lines);

#endif
