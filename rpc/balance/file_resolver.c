/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/file_resolver.h. A change of the file is noticed by inotify
 * (file_watch.h) and read 20 ms later, with all that happens until then. Where
 * that is not enough, the file is also read once a second. Static functions run
 * in file_open(), on its thread, or on the holder. */
#include "rpc/balance/file_resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpc/balance/endpoint_file.h"
#include "rpc/balance/file_watch.h"
#include "transport/core/error.h"
#include "transport/core/hash.h"

#define SCHEME "file:"

/* Changes within this time are read once. */
#define GATHER_MS 20u
/* Between two readings of a file that must be read again and again. */
#define AGAIN_MS 1000u

/* The most bytes that an error shows of a path, with a NUL. */
#define PATH_SHOWN 300

/* What a reading needs: most of it for a file as large as it may be. */
struct reading {
    struct vc__endpoint_file file;
    struct vc_endpoint given[VC_ENDPOINTS_MAX];
    size_t len;
    char text[VC__ENDPOINT_FILE_MAX + 1]; /* a byte more than is allowed */
};

struct file_resolver {
    struct vc_resolver *r;
    struct vc__file_watch watch;
    bool attached; /* the engine polls watch.fd */
    bool due;      /* a reading follows within GATHER_MS */
    bool again;    /* the file is read once a second */

    /* Of the text that the channel has now. */
    bool known;
    uint64_t hash;

    char why[VC_ERROR_SIZE];  /* of this reading; "": nothing is wrong */
    char said[VC_ERROR_SIZE]; /* what vc_resolver_fail() got last, or "" */
    char path[PATH_MAX];      /* absolute */
    char shown[PATH_SHOWN];   /* the same in errors */
};

/* --- what is wrong ------------------------------------------------------- */

/* Appends to f->why, which begins with the path. Called by all that fails in a
 * reading. */
static void __attribute__((format(printf, 2, 3)))
file_why(struct file_resolver *f, const char *format, ...)
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

/* The same for a system call that has failed. */
static void
file_why_errno(struct file_resolver *f, const char *what, int err)
{
    file_why(f, "%s: %s", what, strerror(err));
}

/* Passes on what is wrong, unless that was done already. Called when a reading
 * is over. */
static void
file_say(struct file_resolver *f)
{
    if (f->why[0] != '\0' && strcmp(f->why, f->said) != 0)
        vc_resolver_fail(f->r, f->why);
    memcpy(f->said, f->why, sizeof f->said);
}

/* --- reading ------------------------------------------------------------- */

/* Opens the file; -1: it fails, or is no file. A FIFO does not block it. A
 * missing file is noticed when it comes, others are tried again. */
static int
file_descriptor(struct file_resolver *f)
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
    file_why(f, "is no regular file");
    close(fd);
    return -1;
}

/* Reads the whole file, or one byte more than it may have. */
static bool
file_read_all(struct file_resolver *f, struct reading *g)
{
    int fd = file_descriptor(f);
    ssize_t n;

    if (fd < 0)
        return false;
    g->len = 0;
    do {
        n = read(fd, g->text + g->len, sizeof g->text - g->len);
        if (n > 0)
            g->len += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        f->again = true;
        file_why_errno(f, "cannot be read", errno);
    }
    close(fd);
    return n == 0;
}

/* Gives the channel what was read. */
static void
file_give(struct file_resolver *f, struct reading *g)
{
    enum vc_status status;

    for (unsigned i = 0; i < g->file.n; i++) {
        const struct vc__endpoint *e = &g->file.endpoints[i];

        g->given[i] = (struct vc_endpoint){
            .size = sizeof g->given[i],
            .target = e->target,
            .weight = e->weight,
            .priority = e->priority,
            .label = e->label[0] != '\0' ? e->label : NULL,
            .hash_key = e->hash_key[0] != '\0' ? e->hash_key : NULL,
        };
    }
    status = vc_resolver_set(f->r, g->given, g->file.n);
    f->known = status == VC_OK;
    if (f->known)
        f->said[0] = '\0';
    else
        file_why(f, "has servers that are refused: %s", vc_error());
    f->again = f->again || status == VC_RESOURCE_EXHAUSTED;
}

/* Reads the file, and gives the channel what is there, unless the channel has
 * it. */
static void
file_read_into(struct file_resolver *f, struct reading *g)
{
    bool good = file_read_all(f, g);
    uint64_t hash = good ? hash_64(g->text, g->len) : 0;

    if (good && f->known && hash == f->hash)
        return;
    if (good && !vc__endpoint_file_parse(&g->file, g->text, g->len)) {
        file_why(f, "is malformed: %s", g->file.why);
        good = false;
    }
    if (good) {
        f->hash = hash;
        file_give(f, g);
    }
}

/* --- watching ------------------------------------------------------------ */

static void file_ready(void *state, int fd);

/* Has the engine poll the descriptor of inotify, on its thread. */
static int
file_attach(struct file_resolver *f)
{
    if (f->watch.fd < 0 || f->attached)
        return 0;
    f->attached =
        vc_resolver_watch(f->r, f->watch.fd, false, file_ready) == VC_OK;
    return f->attached ? 0 : EBUSY;
}

/* Says why the file is read again and again. */
static void
file_why_again(struct file_resolver *f, int err)
{
    const char *cannot = "is read once a second, as it cannot be watched";

    if (f->watch.fd < 0)
        file_why(f,
                 "%s: no inotify instance is left; raise "
                 "fs.inotify.max_user_instances, or the limit of open "
                 "descriptors (ulimit -n)",
                 cannot);
    else if (err == ENOSPC)
        file_why(f,
                 "%s: no inotify watch is left; raise "
                 "fs.inotify.max_user_watches",
                 cannot);
    else if (err == ELOOP)
        file_why(f, "%s: more than %u links lead to it", cannot,
                 VC__FILE_WATCH_PLACES - 1);
    else if (err == EBUSY)
        file_why(f, "%s: %s", cannot, vc_error());
    else
        file_why_errno(f, cannot, err);
}

/* Reads the file, with all that follows; `attaches` is true on the engine's
 * thread. The file is watched first, so changes while it is read are
 * noticed. */
static void
file_refresh(struct file_resolver *f, bool attaches)
{
    struct reading *g = malloc(sizeof *g);
    int err = vc__file_watch_open(&f->watch);

    f->why[0] = '\0';
    if (err == 0 && attaches)
        err = file_attach(f);
    if (err == 0)
        err = vc__file_watch_follow(&f->watch, f->path);
    f->again = err != 0 || g == NULL;
    if (err == 0 && f->said[0] != '\0')
        f->known = false; /* the channel learns that this is over */
    if (g != NULL)
        file_read_into(f, g);
    else
        file_why(f, "cannot be read: no memory");
    if (err != 0)
        file_why_again(f, err);
    free(g);
    file_say(f);
}

/* --- when ---------------------------------------------------------------- */

/* The timer: reads the file. */
static void
file_due(void *state)
{
    struct file_resolver *f = state;

    f->due = false;
    file_refresh(f, true);
    if (f->again)
        vc_resolver_timer(f->r, AGAIN_MS, file_due);
}

/* The first timer: open() could not have the descriptor polled. What has
 * happened since is waiting there. */
static void
file_begin(void *state)
{
    struct file_resolver *f = state;

    if (file_attach(f) != 0 || f->again)
        vc_resolver_timer(f->r, AGAIN_MS, file_due);
}

/* Has the file read soon, if that is not so already. */
static void
file_hurry(struct file_resolver *f)
{
    if (!f->due)
        vc_resolver_timer(f->r, GATHER_MS, file_due);
    f->due = true;
}

/* Inotify has reported something. */
static void
file_ready(void *state, int fd)
{
    struct file_resolver *f = state;

    (void)fd;
    if (vc__file_watch_changed(&f->watch))
        file_hurry(f);
}

/* A server was lost: reads the file, for file systems that inotify knows too
 * little of, as those of a network. */
static void
file_again(void *state)
{
    file_hurry(state);
}

/* --- a channel's begin and end ------------------------------------------- */

/* Refuses a target; frees f. */
static enum vc_status
file_refuse(struct file_resolver *f, const char *target, const char *fault,
            const char *text)
{
    char shown[PATH_SHOWN];

    vc__words_put(shown, sizeof shown, target, strlen(target));
    snprintf(f->why, sizeof f->why, "target \"%s\": %s%s", shown, fault, text);
    vc_resolver_fail(f->r, f->why);
    free(f);
    return VC_INVALID_ARGUMENT;
}

/* Writes the absolute path of a target. Returns NULL, or what is wrong. */
static const char *
file_path(char *out, size_t size, const char *target)
{
    const char *path = target + strlen(SCHEME);
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

/* Returns 0 if the path's folder is one, or an errno. */
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

static enum vc_status
file_open(struct vc_resolver *r, const char *target, void **state)
{
    struct file_resolver *f = calloc(1, sizeof *f);
    const char *fault;
    int err;

    if (f == NULL) {
        vc_resolver_fail(r, "no memory for the resolver of file:");
        return VC_RESOURCE_EXHAUSTED;
    }
    f->r = r;
    fault = file_path(f->path, sizeof f->path, target);
    if (fault != NULL)
        return file_refuse(f, target, fault, "");
    err = folder_check(f->path);
    if (err != 0)
        return file_refuse(f, target,
                           "the file may come later, but its folder must be "
                           "there: ",
                           strerror(err));
    vc__words_put(f->shown, sizeof f->shown, f->path, strlen(f->path));
    vc__file_watch_init(&f->watch);
    *state = f;
    file_refresh(f, false);
    vc_resolver_timer(r, 0, file_begin);
    return VC_OK;
}

static void
file_close(void *state)
{
    struct file_resolver *f = state;

    vc__file_watch_close(&f->watch);
    free(f);
}

const struct vc_resolver_type vc__file_resolver = {
    .size = sizeof vc__file_resolver,
    .scheme = "file",
    .open = file_open,
    .again = file_again,
    .close = file_close,
};
