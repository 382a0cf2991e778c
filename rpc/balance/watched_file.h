/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file that is read again when it changes, for an owner that has a struct
 * vc_resolver: see doc/balancing.md, "file:". The state of the resolver must
 * begin with the struct. vc__watched_file_begin() and vc__watched_file_start():
 * the thread that opens the channel; vc__watched_file_end(): the one that
 * closes it, or could not open it; vc__watched_file_again(): the holder;
 * vc__watched_file_why(): where the file is read.
 *
 * Called by: file_resolver.c (all), rpc/client/config_file.c (begin, start,
 * end, why), watched_file.c (why). */
#ifndef VC_RPC_WATCHED_FILE_H
#define VC_RPC_WATCHED_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/resolver.h>
#include <verbcall/status.h>

#include "rpc/balance/file_watch.h"

/* The most bytes that an error shows of a path, with a NUL. */
#define VC__WATCHED_FILE_SHOWN 300

struct vc__watched_file {
    /* Set by the owner; r before vc__watched_file_start(). */
    struct vc_resolver *r;
    size_t max; /* bytes that the file may have; one more is read */
    /* Takes a text that may be longer than `max`. False if it is refused: then
     * vc__watched_file_why() was called. */
    bool (*take)(struct vc__watched_file *f, char *text, size_t len);
    /* Something is wrong, and it is not what was said last. */
    void (*say)(struct vc__watched_file *f, const char *why);

    struct vc__file_watch watch;
    bool attached; /* the engine polls watch.fd */
    bool due;      /* a reading follows soon */
    bool again;    /* the file is read once a second; take() may set it, too */

    /* Of the text that the owner has now. */
    bool known;
    uint64_t hash;

    char why[VC_ERROR_SIZE];  /* of this reading; "": nothing is wrong */
    char said[VC_ERROR_SIZE]; /* what say() got last, or "" */
    char path[PATH_MAX];      /* absolute */
    char shown[VC__WATCHED_FILE_SHOWN]; /* the same in errors */
};

/* Reads the file of a target, file:PATH, for the first time. False, with
 * f->why, if there can be none: the target is malformed, or there is no such
 * folder. True, too, if it could not be read, or was refused: then f->known is
 * false. */
bool vc__watched_file_begin(struct vc__watched_file *f, const char *target);
/* From now on the file is read when it has changed, on the holder. */
void vc__watched_file_start(struct vc__watched_file *f);
/* Has the file read soon: inotify may not know of a change. */
void vc__watched_file_again(struct vc__watched_file *f);
/* Closes the watch; it frees nothing else. The holder does not call the
 * functions here any more. Blocks some 10 ms: see vc__file_watch_close(). */
void vc__watched_file_end(struct vc__watched_file *f);

/* Appends to f->why, which begins with the path. Called by all that fails in a
 * reading, on the thread that reads. */
void vc__watched_file_why(struct vc__watched_file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
