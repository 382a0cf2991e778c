/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rooms and who is in them. Each member has a queue of lines that it has not
 * been sent yet. When a slow one's queue is full, further lines are lost to it
 * and counted: it delays nobody else, and needs no more memory. */
#ifndef CHAT_ROOM_H
#define CHAT_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#define ROOM_MAX_NAME    64   /* bytes, of rooms and members */
#define ROOM_MAX_TEXT    4096 /* bytes of a line */
#define ROOM_MAX_MEMBERS 200  /* in all rooms */
#define ROOM_MAX_LINES   64   /* in a queue */

struct member;

enum room_enter {
    ROOM_ENTERED,
    ROOM_HAS_NAME, /* somebody of this name is there */
    ROOM_FULL,     /* ROOM_MAX_MEMBERS are there, or there is no memory */
};

/* A line that a member is to be sent; the texts are freed by line_free(). */
struct line {
    char *name; /* NULL: the room says it */
    char *text;
};

void line_free(struct line *line);

/* All of them may be called by any thread. */

/* room_enter - makes a member of the room, and tells all in it. */
enum room_enter room_enter(const char *room, const char *name,
                           struct member **member);

/* room_say - says text to all in the member's room. */
void room_say(struct member *member, const char *text);

/* room_next - waits for the next line that the member is to be sent; false
 * when it has left and has been given all. */
bool room_next(struct member *member, struct line *line);

/* room_leave - takes the member out of the room, and tells the others; it is
 * given what is in its queue, and no more. */
void room_leave(struct member *member);

/* room_free - when nobody uses the member any more, which must have left. */
void room_free(struct member *member);

#endif
