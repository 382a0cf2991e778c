/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of a service config, which is watched: as the file of file: targets
 * (doc/balancing.md). All functions: the thread that opens or closes the
 * channel.
 *
 * Called by: channel_config.c (all). */
#ifndef VC_RPC_CONFIG_FILE_H
#define VC_RPC_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <verbcall/status.h>

struct vc__config_file;
struct vc__engine;

/* What the owner is called with: on the thread that opens the file, and then on
 * the holder. */
struct vc__config_file_owner {
    /* A new text of the file with this path. False with the thread's last error
     * if it is refused. */
    bool (*take)(struct vc__config_file_owner *owner, const char *path,
                 const char *text, size_t len);
    /* The file cannot be read or watched. */
    void (*fail)(struct vc__config_file_owner *owner, const char *why);
};

/* True if an option names a file: it begins with "file:". Called by
 * vc__channel_config_open(). */
bool vc__config_file_is_one(const char *option);

/* Reads the file, and calls take() of the owner, or fails with why there is no
 * config: VC_INVALID_ARGUMENT, the error of take(), or VC_RESOURCE_EXHAUSTED.
 * *file is set with VC_OK only. Called by vc_channel_open(). */
enum vc_status vc__config_file_open(struct vc__config_file **file,
                                    const char *option,
                                    struct vc__config_file_owner *owner,
                                    struct vc__engine *engine);
/* Watches the file from now on: the holder reads it when it has changed. Called
 * by vc_channel_open(), when all else is open. */
void vc__config_file_start(struct vc__config_file *file);
/* Closes and frees the file: the owner is not called any more. NULL is allowed.
 * Called by vc_channel_close(), and by a vc_channel_open() that fails. */
void vc__config_file_close(struct vc__config_file *file);

#endif
