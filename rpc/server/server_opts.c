/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_opts.h. */
#include "rpc/server/server_opts.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cm/connect/admission.h"
#include "cm/link/link_keepalive.h"
#include "rpc/runtime.h"
#include "rpc/server/gradient.h"
#include "transport/core/error.h"

#define LINKS_MAX    65536u
#define MEMORY_MIN   ((size_t)16 << 20)
#define MEMORY_MAX   ((size_t)1 << 30) /* by default */
#define MESSAGES_MIN 4u                /* of the longest: that fit */

/* A number of 32 bits. */
struct range {
    const char *name;
    size_t offset;
    uint32_t otherwise; /* when it is 0 */
    uint32_t min, max;
    uint32_t off; /* a value that is allowed beside; 0: none */
};

#define RANGE(name, otherwise, min, max, off)                                  \
    {                                                                          \
#name, offsetof(struct vc_server_opts, name), otherwise, min, max, off \
    }

static const struct range ranges[] = {
    RANGE(max_links, 1024, 1, LINKS_MAX, 0),
    RANGE(max_half_open, 256, 1, LINKS_MAX, 0),
    RANGE(handshake_timeout_ms, 2000, 1, 600000, 0),
    RANGE(max_sessions, 16384, 1, 1048576, 0),
    RANGE(connects_per_second, 0, 0, VC__ADMISSION_RATE_MAX, 0),
    RANGE(connects_per_second_source, 0, 0, VC__ADMISSION_RATE_MAX, 0),
    RANGE(stream_stall_ms, 30000, 10, 3600000, VC_STREAM_STALL_OFF),
    RANGE(adaptive_limit, 0, VC__GRADIENT_MIN, 65536, 0),
    RANGE(shm_mode, 0600, 1, 0777, 0),
};

static enum vc_status
range_take(struct vc_server_opts *opts, const struct range *r)
{
    unsigned char *at = (unsigned char *)opts + r->offset;
    uint32_t value;

    memcpy(&value, at, sizeof value);
    if (value == 0) {
        memcpy(at, &r->otherwise, sizeof r->otherwise);
        return VC_OK;
    }
    if ((value < r->min || value > r->max) && (r->off == 0 || value != r->off))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s: %" PRIu32 " is not in %" PRIu32 "..%" PRIu32,
                        r->name, value, r->min, r->max);
    return VC_OK;
}

/* A quarter of the machine's, 1 GiB at most; but enough for four messages. */
static size_t
memory_default(size_t max_message)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t least = MESSAGES_MIN * ((size_t)1 << vc__log2_message(max_message)),
           memory = MEMORY_MAX;

    if (pages > 0 && page > 0 &&
        (uint64_t)pages * (uint64_t)page / 4 < MEMORY_MAX)
        memory = (size_t)pages * (size_t)page / 4;
    if (memory < MEMORY_MIN)
        memory = MEMORY_MIN;
    return memory < least ? least : memory;
}

/* The sizes; max_memory counts in messages of the largest size. */
static enum vc_status
sizes_take(struct vc_server_opts *opts)
{
    uint8_t log2_message = vc__log2_message(opts->max_message);

    if (log2_message == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "max_message: %zu is not in 4 KiB..256 MiB",
                        opts->max_message);
    if (opts->max_memory == 0)
        opts->max_memory = memory_default(opts->max_message);
    if (opts->max_memory < MEMORY_MIN ||
        opts->max_memory / MESSAGES_MIN < (size_t)1 << log2_message)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "max_memory: %zu is below 16 MiB, or below four times "
                        "max_message",
                        opts->max_memory);
    return VC_OK;
}

static enum vc_status
keepalive_take(struct vc_server_opts *opts)
{
    if (vc__keepalive_take(opts->keepalive_ms, &opts->keepalive_ms))
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT, "keepalive_ms: %u is not in %u..%u",
                    opts->keepalive_ms, VC__KEEPALIVE_MIN_MS,
                    VC__KEEPALIVE_MAX_MS);
}

static enum vc_status
name_take(struct vc_server_opts *opts)
{
    if (opts->name == NULL)
        opts->name = "";
    if (strlen(opts->name) <= VC__ACCEPT_TEXT_MAX)
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT, "name: longer than %d bytes",
                    VC__ACCEPT_TEXT_MAX);
}

enum vc_status
vc__server_opts_take(struct vc_server_opts *out,
                     const struct vc_server_opts *opts)
{
    enum vc_status status;

    memset(out, 0, sizeof *out);
    if (opts != NULL)
        memcpy(out, opts, opts->size < sizeof *out ? opts->size : sizeof *out);
    status = sizes_take(out);
    for (size_t i = 0; status == VC_OK && i < sizeof ranges / sizeof ranges[0];
         i++)
        status = range_take(out, &ranges[i]);
    if (status == VC_OK)
        status = keepalive_take(out);
    return status == VC_OK ? name_take(out) : status;
}
