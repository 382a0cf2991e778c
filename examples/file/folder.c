/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See folder.h. Names are looked up from the open folder only, and never
 * through a symbolic link. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
folder_open(struct folder *f, const char *path)
{
    f->puts = 0;
    f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0)
        return errno;
    return pthread_mutex_init(&f->lock, NULL);
}

void
folder_close(struct folder *f)
{
    close(f->fd);
    pthread_mutex_destroy(&f->lock);
}

/* --- names ---------------------------------------------------------------- */

/* A name that begins with a dot would be one of our own files, or leave the
 * folder. */
static enum vc_status
name_check(struct transfer *t, const char *name)
{
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
        strlen(name) > FOLDER_MAX_NAME)
        return transfer_fail(t, VC_INVALID_ARGUMENT,
                             "'%.200s' is no name of a file here: take 1 to %d "
                             "bytes without '/', the first not '.'",
                             name, FOLDER_MAX_NAME);
    return VC_OK;
}

static void
sum_name(char out[FOLDER_MAX_NAME + 32], const char *name)
{
    snprintf(out, FOLDER_MAX_NAME + 32, ".%s.xxh128", name);
}

static enum vc_status
fail_errno(struct transfer *t, const char *what, const char *name)
{
    int error = errno;
    enum vc_status status = error == ENOENT   ? VC_NOT_FOUND
                            : error == EACCES ? VC_PERMISSION_DENIED
                            : error == ENOSPC ? VC_RESOURCE_EXHAUSTED
                            : error == EMFILE ? VC_RESOURCE_EXHAUSTED
                                              : VC_INTERNAL;

    return transfer_fail(t, status, "cannot %s %s: %s", what, name,
                         strerror(error));
}

/* --- getting -------------------------------------------------------------- */

/* Reads the checksum that was stored with the file. If there is none, the
 * sender computes one of what it reads. */
static void
sum_read(const struct folder *f, struct transfer *t, const char *name)
{
    char path[FOLDER_MAX_NAME + 32];
    ssize_t n;
    int fd;

    sum_name(path, name);
    fd = openat(f->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, t->digits, SUM_DIGITS);
    t->digits[n > 0 ? n : 0] = '\0';
    close(fd);
}

enum vc_status
folder_get(struct folder *f, struct transfer *t, const char *name, int *fd)
{
    enum vc_status status = name_check(t, name);
    struct stat st;

    if (status != VC_OK)
        return status;
    pthread_mutex_lock(&f->lock);
    /* O_NONBLOCK: do not block on a FIFO of that name. */
    *fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        status = fail_errno(t, "open", name);
    else
        sum_read(f, t, name);
    pthread_mutex_unlock(&f->lock);
    if (status == VC_OK && (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(*fd);
        status =
            transfer_fail(t, VC_INVALID_ARGUMENT, "%s is not a file", name);
    }
    return status;
}

/* --- putting -------------------------------------------------------------- */

enum vc_status
folder_put(struct folder *f, struct transfer *t, const char *name,
           struct incoming *in)
{
    enum vc_status status = name_check(t, name);
    unsigned long number;

    if (status != VC_OK)
        return status;
    pthread_mutex_lock(&f->lock);
    number = f->puts++;
    pthread_mutex_unlock(&f->lock);
    snprintf(in->name, sizeof in->name, "%s", name);
    snprintf(in->part, sizeof in->part, ".%s.%lu.part", name, number);
    in->fd =
        openat(f->fd, in->part,
               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return in->fd >= 0 ? VC_OK : fail_errno(t, "make a file for", name);
}

static bool
sum_write(const struct folder *f, const struct transfer *t,
          const struct incoming *in)
{
    char path[FOLDER_MAX_NAME + 32], text[SUM_DIGITS + FOLDER_MAX_NAME + 8];
    int n = snprintf(text, sizeof text, "%s  %s\n", t->digits, in->name);
    int fd;
    bool good;

    sum_name(path, in->name);
    fd = openat(f->fd, path,
                O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    good = write(fd, text, (size_t)n) == n && fsync(fd) == 0;
    return close(fd) == 0 && good;
}

/* If the machine crashes between rename and checksum, the checksum is wrong,
 * and a client that gets the file receives an error. */
enum vc_status
folder_keep(struct folder *f, struct transfer *t, struct incoming *in)
{
    enum vc_status status = VC_OK;
    bool good = fsync(in->fd) == 0;

    good = close(in->fd) == 0 && good;
    in->fd = -1;
    pthread_mutex_lock(&f->lock);
    if (!good || renameat(f->fd, in->part, f->fd, in->name) != 0 ||
        !sum_write(f, t, in) || fsync(f->fd) != 0)
        status = fail_errno(t, "keep", in->name);
    pthread_mutex_unlock(&f->lock);
    return status;
}

void
folder_drop(struct folder *f, struct incoming *in)
{
    if (in->fd >= 0)
        close(in->fd);
    unlinkat(f->fd, in->part, 0);
}
