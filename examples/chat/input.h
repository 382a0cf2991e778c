/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lines of standard input, for a thread that another one may want to end while
 * it waits for the next: a read of stdin could not be interrupted. */
#ifndef CHAT_INPUT_H
#define CHAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "room.h"

struct input {
    int stop[2]; /* a pipe: the waiting end, and the one that ends it */
    char data[ROOM_MAX_TEXT + 1];
    size_t n;    /* bytes in data */
    size_t line; /* of these are in the last line, its newline included */
    size_t end;  /* where that has its '\0', in place of the byte kept */
    char kept;
    bool ended;
};

/* input_open - false without file descriptors. */
bool input_open(struct input *in);

/* input_line - the next line without its newline; a longer one than
 * ROOM_MAX_TEXT comes in pieces. It holds until the next call. NULL at the end,
 * or when input_stop() was called. */
const char *input_line(struct input *in);

/* input_stop - any thread. */
void input_stop(struct input *in);

/* input_close - when nobody uses it any more. */
void input_close(struct input *in);

#endif
