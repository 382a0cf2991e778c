/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The load reports of a server (option load_reports): counts replies, measures
 * how busy the process is, and adds a report to the replies of unary calls. A
 * report is made at most every 100 ms; until then a reply gets a copy of it.
 * New and free: any thread, alone.
 *
 * Called by: server.c (new, free), server_reply.c (reply). */
#ifndef VC_RPC_SERVER_LOAD_H
#define VC_RPC_SERVER_LOAD_H

#include <stdatomic.h>

#include <verbcall/status.h>

#include "rpc/load_report.h"

struct vc_call;
struct vc__server_load;

/* A packed metadata entry: lengths, key and report. */
#define VC__LOAD_ENTRY_MAX                                                     \
    (3 + sizeof VC__LOAD_REPORT_KEY - 1 + VC__LOAD_REPORT_MAX)

/* In a part of a server; zeroed before. The holder of its engine only, except
 * the counts, which other engines read. */
struct vc__part_load {
    _Atomic uint64_t answered, failed; /* replies; the failures of them */
    uint64_t due;                      /* when the report is to be renewed */
    size_t len;                        /* 0: nothing is known to report */
    uint8_t entry[VC__LOAD_ENTRY_MAX];
};

/* Makes the state that the parts share, for vc__server_load_free(). NULL
 * without memory. Called by server_fill() within vc_server_new(). */
struct vc__server_load *vc__server_load_new(void);
/* Frees it. NULL is allowed. Called by vc__server_destroy(). */
void vc__server_load_free(struct vc__server_load *load);

/* Counts a reply, and adds the report to it if it is that of a unary call, and
 * the conditions of vc__call_metadata_append() hold; its message or text has
 * body_len bytes. Called by reply_count() of server_reply.c, on the holder, for
 * a call that vc__limit_take() has counted, of a server with load reports. */
void vc__server_load_reply(struct vc_call *call, enum vc_status status,
                           size_t body_len);

#endif
