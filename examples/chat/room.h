/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rooms and their members. Each member has a queue of lines that it has not
 * been sent yet. When the queue of a slow member is full, further lines are
 * dropped and counted. So the slow member delays nobody else, and needs no more
 * memory. */
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
    ROOM_HAS_NAME, /* the room has a member of this name */
    ROOM_FULL,     /* ROOM_MAX_MEMBERS reached, or no memory */
};

/* A line to send to a member; line_free() frees the texts. */
struct line {
    char *name; /* NULL: a line of the room itself */
    char *text;
};

void line_free(struct line *line);

/* Any thread may call the functions below. */

/* room_enter - creates a member of the room, and notifies all members. */
enum room_enter room_enter(const char *room, const char *name,
                           struct member **member);

/* room_say - queues text for all members of the member's room. */
void room_say(struct member *member, const char *text);

/* room_next - waits for the next line for the member; false when the member has
 * left and its queue is empty. */
bool room_next(struct member *member, struct line *line);

/* room_leave - removes the member from the room, and notifies the others. The
 * lines in its queue can still be taken; no more are added. */
void room_leave(struct member *member);

/* room_free - frees a member that has left and that no thread uses any more. */
void room_free(struct member *member);

#endif
