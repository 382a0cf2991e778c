/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Transfers a file through a stream, head first and checksum last. Server and
 * client use the same code: one sends what the other one writes. */
#ifndef FILE_TRANSFER_H
#define FILE_TRANSFER_H

#include <stdint.h>
#include <stdio.h>

#include "file.vc.h"
#include "sum.h"

#define TRANSFER_MAX ((uint64_t)64 << 30) /* bytes of a file */

/* One end of a transfer. */
struct transfer {
    /* The stream of either method at either end. All have types of their own,
     * and each is a struct vc_stream. Its messages are File__Part. */
    struct vc_stream *stream;
    /* Called after each part; may be NULL. */
    void (*progress)(struct transfer *t);
    uint64_t size;               /* of the file, as in the head */
    struct sum sum;              /* of all bytes received or sent so far */
    char digits[SUM_DIGITS + 1]; /* the checksum, on success */
    char error[512];             /* the error text, on failure */
};

/* transfer_send - sends all of the open file fd. If digits are set, they are
 * sent as the checksum. */
enum vc_status transfer_send(struct transfer *t, int fd, const char *name);

/* transfer_head - receives the first part of a file; the caller frees *name. */
enum vc_status transfer_head(struct transfer *t, char **name);

/* transfer_receive - receives the rest and writes it to fd. VC_OK means that
 * the file is complete and the checksum is right. */
enum vc_status transfer_receive(struct transfer *t, int fd);

/* transfer_end - frees the state; a zeroed transfer is allowed. */
void transfer_end(struct transfer *t);

/* transfer_fail - keeps the text and returns the status. */
enum vc_status transfer_fail(struct transfer *t, enum vc_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
