/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file on its way through a stream, head first and checksum last. Server and
 * client do the same here: the one sends what the other one writes. */
#ifndef FILE_TRANSFER_H
#define FILE_TRANSFER_H

#include <stdint.h>
#include <stdio.h>

#include "file.vc.h"
#include "sum.h"

#define TRANSFER_MAX ((uint64_t)64 << 30) /* bytes of a file */

/* One end of a transfer. */
struct transfer {
    /* Of either method at either end, which all have types of their own: each
     * is a struct vc_stream. Its messages are File__Part. */
    struct vc_stream *stream;
    /* Told after each part; or NULL. */
    void (*progress)(struct transfer *t);
    uint64_t size;               /* that the head says */
    struct sum sum;              /* of what came or went so far */
    char digits[SUM_DIGITS + 1]; /* the checksum, when all was good */
    char error[512];             /* what is wrong, when it was not */
};

/* transfer_send - sends all of the open file fd. When digits are set, they are
 * what the checksum is said to be. */
enum vc_status transfer_send(struct transfer *t, int fd, const char *name);

/* transfer_head - receives the first part, of a file that is to come; *name is
 * freed by the caller. */
enum vc_status transfer_head(struct transfer *t, char **name);

/* transfer_receive - receives the rest and writes it to fd. On VC_OK all of it
 * came and the checksum is right. */
enum vc_status transfer_receive(struct transfer *t, int fd);

/* transfer_end - fine for one that is zeroed. */
void transfer_end(struct transfer *t);

/* transfer_fail - keeps the text and returns the status. */
enum vc_status transfer_fail(struct transfer *t, enum vc_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
