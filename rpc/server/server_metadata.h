/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata of a call on the server: that of its request, and that of its reply.
 * All of it is in the call's arena, so a reply that is kept keeps its metadata.
 * The holder of the engine only, except the functions for handlers
 * (verbcall/call.h) and what they call. These run on the thread that has the
 * call: its handler's, or after vc_call_later() one of the program.
 * vc_call_pushback() also runs on the holder, for a call that is refused.
 *
 * Called by: server_begin.c (call_metadata_take), server_load.c
 * (call_metadata_append), server_call.c (call_metadata_reset). */
#ifndef VC_RPC_SERVER_METADATA_H
#define VC_RPC_SERVER_METADATA_H

#include <verbcall/call.h>

#include "transport/wire/metadata.h"

/* In struct vc_call; zeroed between calls. */
struct vc__call_metadata {
    bool used; /* true if any other member is set */
    struct vc__metadata_view came;
    uint32_t previous; /* earlier attempts of the caller */
    uint8_t *said;     /* reply metadata, packed */
    size_t said_len, said_room;
    size_t advice_len; /* of them, for vc_call_pushback() */
};

/* Unpacks the request's metadata, and takes the call's priority from it. Called
 * by call_take() (rpc/server/server_begin.c) for a new call with metadata.
 * VC_OK: *text is not valid. VC_INVALID_ARGUMENT (malformed) or
 * VC_RESOURCE_EXHAUSTED: the call is answered with this status, and *text says
 * why: a static text. */
enum vc_status vc__call_metadata_take(struct vc_call *call, const char **text);

/* Appends a packed trailing entry of the library's own that the client can do
 * without. Not if it does not support metadata, or if the entry has no room
 * beside those of the program, or in a reply of one packet, whose message or
 * text has body_len bytes; or if memory is short. Called by
 * vc__server_load_reply(), on the holder. */
void vc__call_metadata_append(struct vc_call *call, const uint8_t *entry,
                              size_t len, size_t body_len);

/* Called by vc__call_release(): the call has ended, and its arena is about to
 * be reset. */
static inline void
vc__call_metadata_reset(struct vc__call_metadata *m)
{
    if (m->used)
        *m = (struct vc__call_metadata){.used = false};
}

#endif
