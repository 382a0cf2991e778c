/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices when the file of a path may be another or have other contents, with
 * inotify(7). The folder of the file is watched for the file's name, so it does
 * not matter how the file is replaced. Symbolic links that lead to the file are
 * watched in their own folders: with /etc/conf/servers -> ..data/servers and
 * ..data -> 7 these are "servers" and "..data" in /etc/conf, and "servers" in
 * /etc/conf/7. A watch belongs to one thread at a time: the one that opens the
 * channel, then the holder, at last the one that closes the channel, or could
 * not open it.
 *
 * Called by: file_watch.c (init), watched_file.c (all). */
#ifndef VC_RPC_FILE_WATCH_H
#define VC_RPC_FILE_WATCH_H

#include <limits.h>
#include <stdbool.h>

/* The most links on the way to a file, and one more for the file itself. */
#define VC__FILE_WATCH_PLACES 16u

/* A name in a folder. */
struct vc__file_place {
    int folder; /* its watch descriptor of inotify */
    char name[NAME_MAX + 1];
};

struct vc__file_watch {
    int fd; /* of inotify; -1: there is none */
    unsigned n;
    struct vc__file_place places[VC__FILE_WATCH_PLACES];
};

/* Makes a watch without an inotify instance, which needs no close. */
static inline void
vc__file_watch_init(struct vc__file_watch *w)
{
    w->fd = -1;
    w->n = 0;
}

/* Gets an inotify instance, if there is none yet. Returns 0 or an errno; EMFILE
 * if the user has too many instances, or the process too many descriptors. */
int vc__file_watch_open(struct vc__file_watch *w);
/* Blocks: close(2) of an inotify instance with watches waits until the kernel
 * has freed them, some 10 ms, and longer on a busy host. Called by
 * vc__watched_file_end(), and by nothing that holds an engine. */
void vc__file_watch_close(struct vc__file_watch *w);

/* From now on watches what leads to this absolute path now, and nothing else.
 * Read the file afterwards: a later change is then noticed. Returns 0 if all is
 * watched; the file itself need not exist. Else an errno, as ENOENT if a folder
 * is missing, ENOSPC if the user has too many watches, EMFILE if there is no
 * inotify instance, ELOOP if there are too many links. What can be watched then
 * is. */
int vc__file_watch_follow(struct vc__file_watch *w, const char *path);

/* Takes what inotify has reported, on the holder. Returns true if the file may
 * have changed. fd must be readable, or there is nothing. Does not block. */
bool vc__file_watch_changed(struct vc__file_watch *w);

#endif
