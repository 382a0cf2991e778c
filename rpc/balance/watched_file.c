/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/watched_file.h. A change of the file is noticed by inotify
 * (file_watch.h) and read 20 ms later, with all that happens until then. Where
 * that is not enough, the file is also read once a second. Static functions run
 * in vc__watched_file_begin(), on its thread, or on the holder. */
#include "rpc/balance/watched_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/core/error.h"
#include "transport/core/hash.h"

/* Changes within this time are read once. */
#define GATHER_MS 20u
/* Between two readings of a file that must be read again and again. */
#define AGAIN_MS 1000u

/* --- what is wrong ------------------------------------------------------- */

void
vc__watched_file_why(struct vc__watched_file *f, const char *format, ...)
{
    size_t len = strlen(f->why);
    va_list args;

    if (len == 0)
        len = (size_t)snprintf(f->why, sizeof f->why, "the file %s ", f->shown);
    else
        len += (size_t)snprintf(f->why + len, sizeof f->why - len, "; it ");
    if (len >= sizeof f->why)
        return;
    va_start(args, format);
    vc__text_format(f->why + len, sizeof f->why - len, format, args);
    va_end(args);
}

/* As vc__watched_file_why(), for a system call that has failed with this
 * errno. */
static void
file_why_errno(struct vc__watched_file *f, const char *what, int err)
{
    vc__watched_file_why(f, "%s: %s", what, strerror(err));
}

/* For file_refresh(), when a reading is over: passes on what is wrong, if
 * anything, by f->say(), unless that was said last. */
static void
file_say(struct vc__watched_file *f)
{
    if (f->why[0] != '\0' && strcmp(f->why, f->said) != 0)
        f->say(f, f->why);
    memcpy(f->said, f->why, sizeof f->said);
}

/* --- reading ------------------------------------------------------------- */

/* For file_read_all(): opens the file; -1, with f->why: it fails, or is no
 * file. A FIFO does not block it. If open(2) fails otherwise than for a missing
 * file, which is noticed when it comes, f->again is set. */
static int
file_descriptor(struct vc__watched_file *f)
{
    int fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0) {
        f->again = f->again || errno != ENOENT;
        file_why_errno(f, "cannot be opened", errno);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    vc__watched_file_why(f, "is no regular file");
    close(fd);
    return -1;
}

/* For file_read_into(): reads the whole file, or one byte more than it may
 * have, into `text`, which has room for that. False, with f->why, if that
 * fails. */
static bool
file_read_all(struct vc__watched_file *f, char *text, size_t *len)
{
    int fd = file_descriptor(f);
    ssize_t n;

    if (fd < 0)
        return false;
    *len = 0;
    do {
        n = read(fd, text + *len, f->max + 1 - *len);
        if (n > 0)
            *len += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        f->again = true;
        file_why_errno(f, "cannot be read", errno);
    }
    close(fd);
    return n == 0;
}

/* For file_refresh(): reads the file into `text`, which has f->max + 1 bytes,
 * and gives its owner what is there, unless the owner has it. */
static void
file_read_into(struct vc__watched_file *f, char *text)
{
    size_t len = 0;
    uint64_t hash;

    if (!file_read_all(f, text, &len))
        return;
    hash = hash_64(text, len);
    if (f->known && hash == f->hash)
        return;
    f->hash = hash;
    f->known = f->take(f, text, len);
    if (f->known)
        f->said[0] = '\0';
}

/* --- watching ------------------------------------------------------------ */

static void file_ready(void *state, int fd);

/* For file_begin() and file_refresh(), on the holder: has the engine poll the
 * descriptor of inotify, if there is one. Returns 0, or EBUSY with the thread's
 * last error if it cannot. */
static int
file_attach(struct vc__watched_file *f)
{
    if (f->watch.fd < 0 || f->attached)
        return 0;
    f->attached =
        vc_resolver_watch(f->r, f->watch.fd, false, file_ready) == VC_OK;
    return f->attached ? 0 : EBUSY;
}

/* For file_refresh(): says why the file is read again and again. */
static void
file_why_again(struct vc__watched_file *f, int err)
{
    const char *cannot = "is read once a second, as it cannot be watched";

    if (f->watch.fd < 0)
        vc__watched_file_why(
            f,
            "%s: no inotify instance is left; raise "
            "fs.inotify.max_user_instances, or the limit of open "
            "descriptors (ulimit -n)",
            cannot);
    else if (err == ENOSPC)
        vc__watched_file_why(f,
                             "%s: no inotify watch is left; raise "
                             "fs.inotify.max_user_watches",
                             cannot);
    else if (err == ELOOP)
        vc__watched_file_why(f, "%s: more than %u links lead to it", cannot,
                             VC__FILE_WATCH_PLACES - 1);
    else if (err == EBUSY)
        vc__watched_file_why(f, "%s: %s", cannot, vc_error());
    else
        file_why_errno(f, cannot, err);
}

/* For vc__watched_file_begin() and file_due(): reads the file, with all that
 * follows; `attaches` is true on the engine's thread. The file is watched
 * first, so changes while it is read are noticed. */
static void
file_refresh(struct vc__watched_file *f, bool attaches)
{
    char *text = malloc(f->max + 1);
    int err = vc__file_watch_open(&f->watch);

    f->why[0] = '\0';
    if (err == 0 && attaches)
        err = file_attach(f);
    if (err == 0)
        err = vc__file_watch_follow(&f->watch, f->path);
    f->again = err != 0 || text == NULL;
    if (err == 0 && f->said[0] != '\0')
        f->known = false; /* the owner learns that this is over */
    if (text != NULL)
        file_read_into(f, text);
    else
        vc__watched_file_why(f, "cannot be read: no memory");
    if (err != 0)
        file_why_again(f, err);
    free(text);
    file_say(f);
}

/* --- when ---------------------------------------------------------------- */

/* fire() of the timer, on the holder: reads the file, and if f->again is set
 * once more in a second. */
static void
file_due(void *state)
{
    struct vc__watched_file *f = state;

    f->due = false;
    file_refresh(f, true);
    if (f->again)
        vc_resolver_timer(f->r, AGAIN_MS, file_due);
}

/* fire() of the first timer, on the holder: has the descriptor polled, which
 * could not be done when the file was read first. What has happened since is
 * waiting there. If that fails, or f->again is set, the file is read in a
 * second. */
static void
file_begin(void *state)
{
    struct vc__watched_file *f = state;

    if (file_attach(f) != 0 || f->again)
        vc_resolver_timer(f->r, AGAIN_MS, file_due);
}

/* For file_ready() and vc__watched_file_again(), on the holder: has the file
 * read soon, if that is not so already. */
static void
file_hurry(struct vc__watched_file *f)
{
    if (!f->due)
        vc_resolver_timer(f->r, GATHER_MS, file_due);
    f->due = true;
}

/* ready() of vc_resolver_watch(), on the holder: inotify has reported
 * something. */
static void
file_ready(void *state, int fd)
{
    struct vc__watched_file *f = state;

    (void)fd;
    if (vc__file_watch_changed(&f->watch))
        file_hurry(f);
}

/* --- begin and end ------------------------------------------- */

/* For vc__watched_file_begin(): writes the absolute path of a target. Returns
 * NULL, or what is wrong. */
static const char *
file_path(char *out, size_t size, const char *target)
{
    const char *path = target + strlen("file:");
    bool relative = path[0] != '/';
    size_t len = 0;

    if (strncmp(path, "///", 3) == 0)
        path += 2;
    else if (strncmp(path, "//", 2) == 0)
        return "a file of another host cannot be read; write file:///PATH, or "
               "file:PATH for one relative to the current folder";
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return "it has no file's name; write file:///PATH";
    if (relative && getcwd(out, size) == NULL)
        return "the current folder cannot be found; write file:///PATH";
    if (relative && strcmp(out, "/") != 0)
        len = strlen(out);
    return snprintf(out + len, size - len, "%s%s", relative ? "/" : "", path) >=
                   (int)(size - len)
               ? "its path is too long"
               : NULL;
}

/* For vc__watched_file_begin(): returns 0 if the path's folder is one, or an
 * errno. */
static int
folder_check(char *path)
{
    char *name = strrchr(path, '/') + 1, first = *name;
    struct stat st;
    int err;

    *name = '\0'; /* stat(2) wants a folder before a final '/' */
    err = stat(path, &st) == 0 ? 0 : errno;
    *name = first;
    return err;
}

bool
vc__watched_file_begin(struct vc__watched_file *f, const char *target)
{
    char shown[VC__WATCHED_FILE_SHOWN];
    const char *fault = file_path(f->path, sizeof f->path, target), *text = "";
    int err;

    vc__file_watch_init(&f->watch);
    if (fault == NULL) {
        err = folder_check(f->path);
        if (err != 0) {
            fault = "the file may come later, but its folder must be there: ";
            text = strerror(err);
        }
    }
    if (fault != NULL) {
        vc__words_put(shown, sizeof shown, target, strlen(target));
        snprintf(f->why, sizeof f->why, "target \"%s\": %s%s", shown, fault,
                 text);
        return false;
    }
    vc__words_put(f->shown, sizeof f->shown, f->path, strlen(f->path));
    file_refresh(f, false);
    return true;
}

void
vc__watched_file_start(struct vc__watched_file *f)
{
    vc_resolver_timer(f->r, 0, file_begin);
}

void
vc__watched_file_again(struct vc__watched_file *f)
{
    file_hurry(f);
}

void
vc__watched_file_end(struct vc__watched_file *f)
{
    vc__file_watch_close(&f->watch);
}
