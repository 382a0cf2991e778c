/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_opts.h. */
#include "rpc/server/server_opts.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/channel.h>

#include "cm/connect/admission.h"
#include "cm/link/link_keepalive.h"
#include "cm/link/window.h"
#include "rpc/options.h"
#include "rpc/runtime.h"
#include "rpc/server/gradient.h"
#include "transport/core/error.h"

#define LINKS_MAX    65536u
#define MEMORY_MIN   ((size_t)16 << 20)
#define MEMORY_MAX   ((size_t)1 << 30) /* by default */
#define MESSAGES_MIN 4u                /* of the longest messages: must fit */
_Static_assert(MEMORY_MAX / MESSAGES_MIN >= VC__MESSAGE_MAX,
               "they fit by default");

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_server_opts, name, otherwise, min, max)
#define SIZE(name, otherwise, min, max)                                        \
    VC__OPTION_SIZE(vc_server_opts, name, otherwise, min, max)
#define OR(name, otherwise, min, max, constant)                                \
    VC__OPTION(vc_server_opts, name, otherwise, min, max, constant, #constant, \
               VC__OPTION_NUMBER)

static const struct vc__option numbers[] = {
    SIZE(max_message, VC__MAX_MESSAGE, VC__MAX_MESSAGE_MIN,
         VC__MAX_MESSAGE_MAX),
    IN(max_links, 1024, 1, LINKS_MAX),
    IN(handshake_timeout_ms, 2000, 1, 600000),
    OR(keepalive_ms, VC__KEEPALIVE_DEFAULT_MS, VC__KEEPALIVE_MIN_MS,
       VC__KEEPALIVE_MAX_MS, VC_KEEPALIVE_OFF),
    IN(max_half_open, 256, 1, LINKS_MAX),
    IN(connects_per_second, 0, 1, VC__ADMISSION_RATE_MAX),
    IN(connects_per_second_source, 0, 1, VC__ADMISSION_RATE_MAX),
    IN(max_sessions, 16384, 1, 1048576),
    OR(stream_stall_ms, 30000, 10, 3600000, VC_STREAM_STALL_OFF),
    SIZE(max_memory, 0, MEMORY_MIN, SIZE_MAX),
    IN(adaptive_limit, 0, VC__GRADIENT_MIN, 65536),
    IN(ipv6_only, 0, 1, 1),
    IN(reuse_address, 0, 1, 1),
    IN(load_reports, 0, 1, 1),
    IN(schema_check, 0, VC_SCHEMA_WARN, VC_SCHEMA_REFUSE),
    SIZE(client_max_message, 0, VC__MAX_MESSAGE_MIN, VC__MAX_MESSAGE_MAX),
    IN(client_packets, 0, VC__WINDOW_MIN, UINT16_MAX),
    VC__OPTION(vc_server_opts, shm_mode, 0600, 1, 0777, 0, NULL,
               VC__OPTION_MODE),
};

static const struct vc__options server_opts = VC__OPTIONS(
    vc_server_opts, "VC_SERVER_OPTS_INIT or VC_SERVER_OPTS()", numbers);

/* Returns a quarter of the machine's memory, from 16 MiB to 1 GiB; but enough
 * for four messages of the longest size. Called by memory_take(). */
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

/* Called by vc__server_opts_take(). max_memory gets its default;
 * VC_INVALID_ARGUMENT: it has no room for MESSAGES_MIN messages of the longest
 * size. */
static enum vc_status
memory_take(struct vc_server_opts *opts)
{
    uint8_t log2_message = vc__log2_message(opts->max_message);

    if (opts->max_memory == 0)
        opts->max_memory = memory_default(opts->max_message);
    if (opts->max_memory / MESSAGES_MIN >= (size_t)1 << log2_message)
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_server_opts.max_memory: %zu is less than four times "
                    "max_message, which is %zu (rounded up to a power of two)",
                    opts->max_memory, (size_t)1 << log2_message);
}

/* Called by vc__server_opts_take(): a name that is NULL becomes "".
 * VC_INVALID_ARGUMENT: the name is too long. */
static enum vc_status
server_opts_name_take(struct vc_server_opts *opts)
{
    if (opts->name == NULL)
        opts->name = "";
    if (strlen(opts->name) <= VC__ACCEPT_TEXT_MAX)
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_server_opts.name: %zu bytes are not in 0..%d",
                    strlen(opts->name), VC__ACCEPT_TEXT_MAX);
}

enum vc_status
vc__server_opts_take(struct vc_server_opts *out,
                     const struct vc_server_opts *opts)
{
    enum vc_status status = vc__options_take(out, &server_opts, opts);

    if (status == VC_OK)
        status = memory_take(out);
    if (out->keepalive_ms == VC_KEEPALIVE_OFF)
        out->keepalive_ms = 0;
    return status == VC_OK ? server_opts_name_take(out) : status;
}
