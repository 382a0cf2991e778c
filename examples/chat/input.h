/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads lines of standard input, for a thread that another one may want to stop
 * while it waits for the next line: a blocking read of stdin could not be
 * interrupted. */
#ifndef CHAT_INPUT_H
#define CHAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "room.h"

struct input {
    int stop[2]; /* a pipe: the reader polls [0], input_stop() uses [1] */
    char data[ROOM_MAX_TEXT + 1];
    size_t n;    /* bytes in data */
    size_t line; /* of them in the last line, its newline included */
    size_t end;  /* index of its '\0', which replaced the byte kept */
    char kept;
    bool ended;
};

/* input_open - returns false without file descriptors. */
bool input_open(struct input *in);

/* input_line - returns the next line without its newline; a line longer than
 * ROOM_MAX_TEXT is returned in pieces. It is valid until the next call. Returns
 * NULL at the end, or after input_stop(). */
const char *input_line(struct input *in);

/* input_stop - makes input_line() return NULL. Any thread. */
void input_stop(struct input *in);

/* input_close - no thread may use the input any more. */
void input_close(struct input *in);

#endif
