/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_READ ((size_t)64 << 10)

/* Reads until the end of the file. On 0 the caller frees *data. */
static int
read_all(FILE *file, uint8_t **data, size_t *size)
{
    size_t room = FIRST_READ, used = 0;
    uint8_t *bytes = malloc(room), *more;

    while (bytes != NULL) {
        used += fread(bytes + used, 1, room - used, file);
        if (used < room)
            break;
        room *= 2;
        more = realloc(bytes, room);
        if (more == NULL)
            free(bytes);
        bytes = more;
    }
    if (bytes == NULL)
        return ENOMEM;
    if (ferror(file)) {
        free(bytes);
        return errno != 0 ? errno : EIO;
    }
    *data = bytes;
    *size = used;
    return 0;
}

static int
read_file(const char *path, uint8_t **data, size_t *size)
{
    FILE *file = fopen(path, "rb");
    int error;

    if (file == NULL)
        return errno;
    errno = 0;
    error = read_all(file, data, size);
    fclose(file);
    return error;
}

/* Returns the end of the line that begins at start: at its newline, or at
 * size. */
static size_t
line_end(const uint8_t *data, size_t start, size_t size)
{
    const uint8_t *newline = memchr(data + start, '\n', size - start);

    return newline != NULL ? (size_t)(newline - data) : size;
}

static size_t
count_lines(const uint8_t *data, size_t size)
{
    size_t count = 0;

    for (size_t at = 0; at < size; at = line_end(data, at, size) + 1)
        count++;
    return count;
}

int
lines_init(const char *path, struct lines *lines)
{
    size_t size = 0, count, at = 0;
    size_t *starts;
    uint8_t *data = NULL;
    int error = read_file(path, &data, &size);

    if (error != 0)
        return error;
    count = count_lines(data, size);
    starts = malloc((count + 1) * sizeof *starts);
    if (starts == NULL) {
        free(data);
        return ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        starts[i] = at;
        at = line_end(data, at, size) + 1;
    }
    starts[count] = at;
    *lines = (struct lines){data, count, starts};
    return 0;
}

void
lines_fini(struct lines *lines)
{
    free(lines->data);
    free(lines->starts);
    *lines = (struct lines){0};
}

uint8_t *
lines_get(const struct lines *lines, size_t i, size_t *size)
{
    *size = lines->starts[i + 1] - lines->starts[i] - 1;
    return lines->data + lines->starts[i];
}

size_t
lines_longest(const struct lines *lines)
{
    size_t longest = 0, size;

    for (size_t i = 0; i < lines->count; i++) {
        lines_get(lines, i, &size);
        if (size > longest)
            longest = size;
    }
    return longest;
}
