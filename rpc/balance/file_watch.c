/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/file_watch.h. vc__file_watch_follow() calls the static
 * functions of the walk, directly or not, vc__file_watch_changed() those of
 * events: on the thread to which the watch belongs. Those of the walk that
 * return an int return 0 or an errno. */
#include "rpc/balance/file_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* What may change a file or a link, by its name in a folder, and a move of the
 * folder itself. IN_IGNORED, which says that the folder was removed or
 * unmounted, is reported unasked. */
#define EVENTS                                                                 \
    (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM |    \
     IN_ATTRIB | IN_MOVE_SELF | IN_ONLYDIR)

/* Buffers that one call takes; the next call takes the rest. */
#define BUFFERS_MAX 64u

int
vc__file_watch_open(struct vc__file_watch *w)
{
    if (w->fd < 0)
        w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return w->fd < 0 ? errno : 0;
}

void
vc__file_watch_close(struct vc__file_watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    vc__file_watch_init(w);
}

/* --- the walk ------------------------------------------------------------ */

/* A path, resolved from its first name on, as the kernel does it. */
struct walk {
    struct vc__file_watch *w;
    char done[PATH_MAX]; /* a path without links; "" is the root */
    char rest[PATH_MAX]; /* relative to it */
    char name[NAME_MAX + 1];
    char full[PATH_MAX], to[PATH_MAX], more[PATH_MAX]; /* of single steps */
};

/* Watches a folder for walk->name. */
static int
walk_watch(struct walk *walk)
{
    struct vc__file_watch *w = walk->w;
    int folder;

    if (w->n == VC__FILE_WATCH_PLACES)
        return ELOOP;
    folder = inotify_add_watch(w->fd, walk->done[0] != '\0' ? walk->done : "/",
                               EVENTS);
    if (folder < 0)
        return errno;
    w->places[w->n].folder = folder;
    memcpy(w->places[w->n].name, walk->name, sizeof walk->name);
    w->n++;
    return 0;
}

/* Moves the next name from walk->rest to walk->name. Returns false if there is
 * none, or it is too long: *err is 0 or an errno then. */
static bool
walk_next(struct walk *walk, int *err)
{
    char *at = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(at, "/");

    *err = len > NAME_MAX ? ENAMETOOLONG : 0;
    if (len == 0 || *err != 0)
        return false;
    memcpy(walk->name, at, len);
    walk->name[len] = '\0';
    at += len;
    at += strspn(at, "/");
    memmove(walk->rest, at, strlen(at) + 1);
    return true;
}

/* True if the name is "." or ".."; then it has been followed. */
static bool
walk_dots(struct walk *walk)
{
    char *slash;

    if (strcmp(walk->name, ".") == 0)
        return true;
    if (strcmp(walk->name, "..") != 0)
        return false;
    slash = strrchr(walk->done, '/');
    if (slash != NULL)
        *slash = '\0';
    return true;
}

/* Puts walk->to, what a link points to, in front of walk->rest. */
static int
walk_link(struct walk *walk)
{
    if (snprintf(walk->more, sizeof walk->more, "%s/%s", walk->to,
                 walk->rest) >= (int)sizeof walk->more)
        return ENAMETOOLONG;
    if (walk->to[0] == '/')
        walk->done[0] = '\0';
    memcpy(walk->rest, walk->more, sizeof walk->rest);
    return 0;
}

/* Follows walk->name, which is no dots: into a folder, or to where a link
 * points. A link is watched first and read then, so no change of it is missed.
 * `watched` is true if this was done. */
static int
walk_step(struct walk *walk, bool watched)
{
    ssize_t len;
    int err;

    if (snprintf(walk->full, sizeof walk->full, "%s/%s", walk->done,
                 walk->name) >= (int)sizeof walk->full)
        return ENAMETOOLONG;
    len = readlink(walk->full, walk->to, sizeof walk->to - 1);
    if (len < 0 && errno == EINVAL) { /* it is no link */
        memcpy(walk->done, walk->full, sizeof walk->done);
        return 0;
    }
    if (len < 0)
        return errno;
    if (!watched) {
        err = walk_watch(walk);
        return err != 0 ? err : walk_step(walk, true);
    }
    walk->to[len] = '\0';
    return walk_link(walk);
}

/* Watches everything that leads to the path in walk->rest. A path that ends
 * with dots leads to a folder, which is no file. */
static int
walk_all(struct walk *walk)
{
    int err;

    while (walk_next(walk, &err)) {
        bool last = walk->rest[0] == '\0';

        if (walk_dots(walk))
            continue;
        err = last ? walk_watch(walk) : 0;
        if (err != 0)
            return err;
        err = walk_step(walk, last);
        if (err != 0)
            return last && err == ENOENT ? 0 : err;
    }
    return err;
}

/* Stops watching the folders that are not in the watch any more. It fails for
 * those that do not exist any more, which are not watched either. */
static void
watch_forget(struct vc__file_watch *w, const int *folders, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool kept = false;

        for (unsigned j = 0; j < w->n; j++)
            kept = kept || w->places[j].folder == folders[i];
        if (!kept)
            inotify_rm_watch(w->fd, folders[i]);
    }
}

int
vc__file_watch_follow(struct vc__file_watch *w, const char *path)
{
    struct walk *walk;
    int before[VC__FILE_WATCH_PLACES];
    unsigned n = w->n;
    int err;

    if (w->fd < 0)
        return EMFILE;
    if (strlen(path) >= sizeof walk->rest)
        return ENAMETOOLONG;
    walk = calloc(1, sizeof *walk); /* too large for some stacks */
    if (walk == NULL)
        return ENOMEM;
    walk->w = w;
    memcpy(walk->rest, path, strlen(path) + 1);
    for (unsigned i = 0; i < n; i++)
        before[i] = w->places[i].folder;
    w->n = 0;
    err = walk_all(walk);
    watch_forget(w, before, n);
    free(walk);
    return err;
}

/* --- events -------------------------------------------------------------- */

/* True if this event is of what leads to the file. An event without a name is
 * of the folder itself. */
static bool
event_matters(const struct vc__file_watch *w, const struct inotify_event *e,
              const char *name)
{
    if (e->mask & IN_Q_OVERFLOW) /* others are lost */
        return true;
    for (unsigned i = 0; i < w->n; i++)
        if (w->places[i].folder == e->wd &&
            (e->len == 0 || strcmp(w->places[i].name, name) == 0))
            return true;
    return false;
}

/* Looks at the events in a buffer of the kernel's, of len bytes. True if one is
 * of what leads to the file. */
static bool
events_matter(const struct vc__file_watch *w, const char *at, size_t len)
{
    bool matters = false;
    struct inotify_event e;

    for (size_t i = 0; i + sizeof e <= len; i += sizeof e + e.len) {
        memcpy(&e, at + i, sizeof e);
        matters = matters || event_matters(w, &e, at + i + sizeof e);
    }
    return matters;
}

bool
vc__file_watch_changed(struct vc__file_watch *w)
{
    char buffer[4096];
    bool changed = false;

    for (unsigned i = 0; i < BUFFERS_MAX; i++) {
        ssize_t len = read(w->fd, buffer, sizeof buffer);

        if (len <= 0) /* EAGAIN: there are no more */
            break;
        changed = events_matter(w, buffer, (size_t)len) || changed;
    }
    return changed;
}
