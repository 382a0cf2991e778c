/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See room.h. One lock for everything: critical sections are short. */
#include "room.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    char *room, *name;
    struct member *next; /* in members */
    pthread_cond_t change;
    struct line queue[ROOM_MAX_LINES];
    size_t first, n;    /* in queue */
    unsigned long lost; /* lines that the queue had no room for */
    bool left;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct member *members; /* members of all rooms that have not left */
static size_t n_members;

void
line_free(struct line *line)
{
    free(line->name);
    free(line->text);
}

/* --- lines --------------------------------------------------------------- */

/* If a line cannot be queued, only this member loses it. */
static void
member_hear(struct member *m, const char *name, const char *text)
{
    struct line line = {0};

    if (m->n < ROOM_MAX_LINES) {
        line.name = name != NULL ? strdup(name) : NULL;
        line.text = strdup(text);
    }
    if (line.text != NULL && (name == NULL || line.name != NULL)) {
        m->queue[(m->first + m->n++) % ROOM_MAX_LINES] = line;
    } else {
        line_free(&line);
        m->lost++;
    }
    pthread_cond_signal(&m->change);
}

static void
all_hear(const char *room, const char *name, const char *text)
{
    for (struct member *m = members; m != NULL; m = m->next)
        if (strcmp(m->room, room) == 0)
            member_hear(m, name, text);
}

static void
room_tells(const struct member *m, const char *what)
{
    char text[ROOM_MAX_NAME + 32];

    snprintf(text, sizeof text, "%s %s", m->name, what);
    all_hear(m->room, NULL, text);
}

void
room_say(struct member *member, const char *text)
{
    pthread_mutex_lock(&lock);
    all_hear(member->room, member->name, text);
    pthread_mutex_unlock(&lock);
}

/* Makes a line that says how many lines were lost, once all before them have
 * been taken. */
static bool
take_loss(struct member *m, struct line *line)
{
    char text[96];

    if (m->lost == 0)
        return false;
    snprintf(text, sizeof text,
             "%lu lines were lost here: this client reads too slowly", m->lost);
    *line = (struct line){.text = strdup(text)};
    m->lost = 0;
    return line->text != NULL;
}

static bool
take(struct member *m, struct line *line)
{
    if (m->n == 0)
        return take_loss(m, line);
    *line = m->queue[m->first];
    m->first = (m->first + 1) % ROOM_MAX_LINES;
    m->n--;
    return true;
}

bool
room_next(struct member *member, struct line *line)
{
    bool has;

    pthread_mutex_lock(&lock);
    while (!(has = take(member, line)) && !member->left)
        pthread_cond_wait(&member->change, &lock);
    pthread_mutex_unlock(&lock);
    return has;
}

/* --- members ------------------------------------------------------------- */

static struct member *
member_new(const char *room, const char *name)
{
    struct member *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->room = strdup(room);
    m->name = strdup(name);
    pthread_cond_init(&m->change, NULL);
    if (m->room != NULL && m->name != NULL)
        return m;
    room_free(m);
    return NULL;
}

/* True when a member of this name is in the room. */
static bool
is_taken(const char *room, const char *name)
{
    for (const struct member *m = members; m != NULL; m = m->next)
        if (strcmp(m->room, room) == 0 && strcmp(m->name, name) == 0)
            return true;
    return false;
}

enum room_enter
room_enter(const char *room, const char *name, struct member **member)
{
    struct member *m = member_new(room, name);
    enum room_enter entered = ROOM_ENTERED;

    pthread_mutex_lock(&lock);
    if (m == NULL || n_members == ROOM_MAX_MEMBERS)
        entered = ROOM_FULL;
    else if (is_taken(room, name))
        entered = ROOM_HAS_NAME;
    if (entered == ROOM_ENTERED) {
        m->next = members;
        members = m;
        n_members++;
        room_tells(m, "has come");
    }
    pthread_mutex_unlock(&lock);
    if (entered == ROOM_ENTERED)
        *member = m;
    else
        room_free(m);
    return entered;
}

void
room_leave(struct member *member)
{
    struct member **m = &members;

    pthread_mutex_lock(&lock);
    while (*m != member)
        m = &(*m)->next;
    *m = member->next;
    n_members--;
    room_tells(member, "has gone");
    member->left = true;
    pthread_cond_signal(&member->change);
    pthread_mutex_unlock(&lock);
}

void
room_free(struct member *member)
{
    if (member == NULL)
        return;
    for (; member->n > 0; member->n--) {
        line_free(&member->queue[member->first]);
        member->first = (member->first + 1) % ROOM_MAX_LINES;
    }
    pthread_cond_destroy(&member->change);
    free(member->room);
    free(member->name);
    free(member);
}
