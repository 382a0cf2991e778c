/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See input.h. */
#include "input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

bool
input_open(struct input *in)
{
    memset(in, 0, sizeof *in);
    return pipe(in->stop) == 0;
}

/* Waits for more bytes and reads them; false at the end. */
static bool
input_fill(struct input *in)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = in->stop[0], .events = POLLIN}};
    ssize_t n;

    do {
        n = poll(fds, 2, -1);
        if (n >= 0 && fds[1].revents != 0)
            return false;
        if (n >= 0)
            n = read(STDIN_FILENO, in->data + in->n, ROOM_MAX_TEXT - in->n);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    in->n += (size_t)n;
    return true;
}

/* Where to cut a full buffer: not within a UTF-8 character. */
static size_t
input_cut(const struct input *in)
{
    size_t lead = in->n - 1;

    while (lead > in->n - 4 && (in->data[lead] & 0xc0) == 0x80)
        lead--;
    return (in->data[lead] & 0x80) != 0 ? lead : in->n;
}

/* True when there is a line; sets in->end and in->line. */
static bool
input_has_line(struct input *in)
{
    const char *newline = memchr(in->data, '\n', in->n);

    if (newline != NULL)
        in->end = (size_t)(newline - in->data);
    else if (in->n == ROOM_MAX_TEXT)
        in->end = input_cut(in);
    else if (in->ended && in->n > 0)
        in->end = in->n;
    else
        return false;
    in->line = in->end + (newline != NULL);
    return true;
}

const char *
input_line(struct input *in)
{
    in->data[in->end] = in->kept;
    in->n -= in->line;
    memmove(in->data, in->data + in->line, in->n);
    in->line = in->end = 0;
    in->kept = in->data[0];
    while (!input_has_line(in)) {
        if (in->ended)
            return NULL;
        in->ended = !input_fill(in);
    }
    in->kept = in->data[in->end];
    in->data[in->end] = '\0';
    return in->data;
}

void
input_stop(struct input *in)
{
    char byte = 0;

    while (write(in->stop[1], &byte, 1) < 0 && errno == EINTR)
        continue;
}

void
input_close(struct input *in)
{
    close(in->stop[0]);
    close(in->stop[1]);
}
