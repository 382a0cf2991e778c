/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's folder: nothing outside of it is read or written. The checksum
 * of NAME is in .NAME.xxh128, as xxhsum -H128 prints it. A file that is being
 * put is in .NAME.N.part and gets its name when it is whole, so that who gets a
 * file at that time gets the one before. */
#ifndef FILE_FOLDER_H
#define FILE_FOLDER_H

#include <pthread.h>

#include "transfer.h"

#define FOLDER_MAX_NAME                                                        \
    200 /* bytes, so that the names above are not too long */

struct folder {
    int fd;
    pthread_mutex_t
        lock;           /* file and checksum change, and are opened, together */
    unsigned long puts; /* lock: N of the next one */
};

/* A file that is being put. */
struct incoming {
    int fd;
    char name[FOLDER_MAX_NAME + 1];
    char part[FOLDER_MAX_NAME + 32];
};

/* folder_open - 0, or an error's number (errno.h). */
int folder_open(struct folder *f, const char *path);
void folder_close(struct folder *f);

/* What follows says what is wrong by transfer_fail(). Any thread. */

/* folder_get - opens a file that is there; its checksum is in t->digits if it
 * was put by a client. */
enum vc_status folder_get(struct folder *f, struct transfer *t,
                          const char *name, int *fd);

/* folder_put - makes a file that is not seen yet. */
enum vc_status folder_put(struct folder *f, struct transfer *t,
                          const char *name, struct incoming *in);

/* folder_keep - gives it its name; t->digits is its checksum. */
enum vc_status folder_keep(struct folder *f, struct transfer *t,
                           struct incoming *in);

/* folder_drop - removes it instead. */
void folder_drop(struct folder *f, struct incoming *in);

#endif
