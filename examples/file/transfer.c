/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transfer.h. */
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of data in a part. Several parts fit the window of a stream (64 KiB),
 * so that the next one is under way while one is written. */
#define PART 16000

enum vc_status
transfer_fail(struct transfer *t, enum vc_status status, const char *format,
              ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(t->error, sizeof t->error, format, args);
    va_end(args);
    return status;
}

/* Takes the error text of the library. */
static enum vc_status
fail_stream(struct transfer *t, enum vc_status status)
{
    return transfer_fail(t, status, "%s", vc_error());
}

static enum vc_status
begin(struct transfer *t)
{
    if (sum_begin(&t->sum))
        return VC_OK;
    return transfer_fail(t, VC_RESOURCE_EXHAUSTED, "no memory for a checksum");
}

void
transfer_end(struct transfer *t)
{
    sum_end(&t->sum);
}

/* --- sending -------------------------------------------------------------- */

static enum vc_status
send_part(struct transfer *t, const File__Part *part)
{
    enum vc_status status = vc_stream_send(t->stream, part);

    if (status != VC_OK)
        return fail_stream(t, status);
    if (t->progress != NULL)
        t->progress(t);
    return VC_OK;
}

static enum vc_status
send_head(struct transfer *t, int fd, const char *name)
{
    File__Head head = FILE__HEAD__INIT;
    File__Part part = FILE__PART__INIT;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return transfer_fail(t, VC_INTERNAL, "cannot read %s: %s", name,
                             strerror(errno));
    t->size = (uint64_t)st.st_size;
    head.name = (char *)name;
    head.size = t->size;
    part.what_case = FILE__PART__WHAT_HEAD;
    part.head = &head;
    return send_part(t, &part);
}

static enum vc_status
send_data(struct transfer *t, int fd, const char *name)
{
    static _Thread_local uint8_t data[PART];
    enum vc_status status = VC_OK;
    ssize_t n = 0;

    while (status == VC_OK && (n = read(fd, data, sizeof data)) != 0) {
        File__Part part = FILE__PART__INIT;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return transfer_fail(t, VC_INTERNAL, "cannot read %s: %s", name,
                                 strerror(errno));
        sum_add(&t->sum, data, (size_t)n);
        part.what_case = FILE__PART__WHAT_DATA;
        part.data.data = data;
        part.data.len = (size_t)n;
        status = send_part(t, &part);
    }
    return status;
}

static enum vc_status
send_sum(struct transfer *t)
{
    File__Part part = FILE__PART__INIT;
    File__Sum sum = FILE__SUM__INIT;

    if (t->digits[0] == '\0')
        sum_get(&t->sum, t->digits);
    sum.size = t->sum.size;
    sum.xxh128 = t->digits;
    part.what_case = FILE__PART__WHAT_SUM;
    part.sum = &sum;
    return send_part(t, &part);
}

enum vc_status
transfer_send(struct transfer *t, int fd, const char *name)
{
    enum vc_status status = begin(t);

    if (status == VC_OK)
        status = send_head(t, fd, name);
    if (status == VC_OK)
        status = send_data(t, fd, name);
    if (status == VC_OK)
        status = send_sum(t);
    return status;
}

/* --- receiving ------------------------------------------------------------ */

/* On VC_OK *part is set. */
static enum vc_status
receive_part(struct transfer *t, File__Part **part)
{
    void *message = NULL;
    enum vc_status status = vc_stream_receive(t->stream, &message);

    if (status != VC_OK)
        return fail_stream(t, status);
    *part = message;
    if (*part == NULL)
        return transfer_fail(t, VC_DATA_LOSS,
                             "the file ended after %" PRIu64 " bytes without "
                             "its checksum: send it again",
                             t->sum.size);
    return VC_OK;
}

enum vc_status
transfer_head(struct transfer *t, char **name)
{
    File__Part *part = NULL;
    enum vc_status status = receive_part(t, &part);

    *name = NULL;
    if (status != VC_OK)
        return status;
    if (part->what_case != FILE__PART__WHAT_HEAD) {
        status = transfer_fail(t, VC_INVALID_ARGUMENT,
                               "the first part is not the head");
    } else if (part->head->size > TRANSFER_MAX) {
        status =
            transfer_fail(t, VC_RESOURCE_EXHAUSTED,
                          "a file may have %" PRIu64 " bytes, not %" PRIu64,
                          TRANSFER_MAX, part->head->size);
    } else {
        t->size = part->head->size;
        *name = strdup(part->head->name);
        if (*name == NULL)
            status = transfer_fail(t, VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    vc_message_free(part);
    return status;
}

static enum vc_status
write_all(struct transfer *t, int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return transfer_fail(t,
                                 errno == ENOSPC || errno == EDQUOT ||
                                         errno == EFBIG
                                     ? VC_RESOURCE_EXHAUSTED
                                     : VC_INTERNAL,
                                 "cannot write the file: %s", strerror(errno));
        data += n;
        size -= (size_t)n;
    }
    return VC_OK;
}

static enum vc_status
take_data(struct transfer *t, int fd, const ProtobufCBinaryData *data)
{
    if (data->len > t->size - t->sum.size)
        return transfer_fail(t, VC_INVALID_ARGUMENT,
                             "more comes than the %" PRIu64 " bytes that the "
                             "head said: did the file grow? Send it again",
                             t->size);
    sum_add(&t->sum, data->data, data->len);
    return write_all(t, fd, data->data, data->len);
}

static enum vc_status
take_sum(struct transfer *t, const File__Sum *sum)
{
    if (t->sum.size != t->size || t->sum.size != sum->size)
        return transfer_fail(t, VC_DATA_LOSS,
                             "%" PRIu64 " bytes came of %" PRIu64
                             ": did the file shrink? Send it again",
                             t->sum.size, t->size);
    sum_get(&t->sum, t->digits);
    if (strcmp(t->digits, sum->xxh128) == 0)
        return VC_OK;
    return transfer_fail(t, VC_DATA_LOSS,
                         "the checksum is %s and should be %s: the file was "
                         "changed on its way, or where it was kept",
                         t->digits, sum->xxh128);
}

enum vc_status
transfer_receive(struct transfer *t, int fd)
{
    enum vc_status status = begin(t);
    bool more = true;

    while (status == VC_OK && more) {
        File__Part *part = NULL;

        status = receive_part(t, &part);
        if (status != VC_OK)
            break;
        if (part->what_case == FILE__PART__WHAT_DATA)
            status = take_data(t, fd, &part->data);
        else if (part->what_case == FILE__PART__WHAT_SUM)
            status = take_sum(t, part->sum);
        else
            status = transfer_fail(t, VC_INVALID_ARGUMENT,
                                   "a part is neither data nor checksum");
        more = part->what_case == FILE__PART__WHAT_DATA;
        vc_message_free(part);
        if (status == VC_OK && t->progress != NULL)
            t->progress(t);
    }
    return status;
}
