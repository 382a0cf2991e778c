/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's folder: nothing outside of it is read or written. The checksum
 * of NAME is in .NAME.xxh128, in the format of xxhsum -H128. A file that is
 * being put is in .NAME.N.part and gets its name when it is complete. A client
 * that gets the file at that time receives the previous one. */
#ifndef FILE_FOLDER_H
#define FILE_FOLDER_H

#include <pthread.h>

#include "transfer.h"

#define FOLDER_MAX_NAME                                                        \
    200 /* bytes, so that the names above are not too long */

struct folder {
    int fd;
    pthread_mutex_t lock; /* taken to change or open a file and its sum */
    unsigned long puts;   /* lock: N of the next one */
};

/* A file that is being put. */
struct incoming {
    int fd;
    char name[FOLDER_MAX_NAME + 1];
    char part[FOLDER_MAX_NAME + 32];
};

/* folder_open - returns 0, or an error number (errno.h). */
int folder_open(struct folder *f, const char *path);
void folder_close(struct folder *f);

/* The functions below report errors by transfer_fail(). Any thread. */

/* folder_get - opens an existing file; its checksum is in t->digits if a client
 * put it. */
enum vc_status folder_get(struct folder *f, struct transfer *t,
                          const char *name, int *fd);

/* folder_put - creates a file that is not visible yet. */
enum vc_status folder_put(struct folder *f, struct transfer *t,
                          const char *name, struct incoming *in);

/* folder_keep - gives the file its name; t->digits is its checksum. */
enum vc_status folder_keep(struct folder *f, struct transfer *t,
                           struct incoming *in);

/* folder_drop - removes the file instead. */
void folder_drop(struct folder *f, struct incoming *in);

#endif
