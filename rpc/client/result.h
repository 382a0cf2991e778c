/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata on the client: packed into the request, taken from the reply, given
 * to the program in a struct vc_result. Any thread.
 *
 * Called by: attempt.c (metadata_pack, reply_metadata_new,
 * reply_metadata_pushback), packed.c (metadata_pack), stream_again.c
 * (metadata_pack, reply_metadata_pushback), stream_open.c (metadata_pack),
 * stream_client.c (reply_metadata_new), stream_reply.c (reply_metadata_new),
 * call_opts.c (check), stream_finish.c (check), many files (fill). */
#ifndef VC_RPC_CLIENT_METADATA_H
#define VC_RPC_CLIENT_METADATA_H

#include <verbcall/call.h>

#include "transport/core/error.h"
#include "transport/wire/metadata.h"

/* --- of a request ------------------------------------------------------ */

/* Packs a program's entries, the attempt's number (1: the first) and its
 * priority (enum vc_priority) into memory that the caller frees by free(). On
 * the thread that makes the call or the stream, for all attempts of a call that
 * blocks; on the holder for hedges, and for further attempts of asynchronous
 * calls and streams. An error is this thread's last.
 * VC_INVALID_ARGUMENT    an entry is not allowed
 * VC_RESOURCE_EXHAUSTED  more than VC_METADATA_MAX bytes; no memory */
enum vc_status vc__metadata_pack(const struct vc_metadata *entries, size_t n,
                                 unsigned attempt, uint32_t priority,
                                 uint8_t **packed, uint16_t *len);

/* --- of a reply -------------------------------------------------------- */

/* The unpacked metadata of a reply, in a block of its own. */
struct vc__reply_metadata {
    struct vc__metadata_view view;
    char text[VC__ERROR_TEXT];
    struct vc_metadata entries[];
};

/* Unpacks the metadata of a reply, or of a stream's first message, which has no
 * trailing ones. Called on the holder when that has come. NULL with *fault set:
 * they are malformed. NULL with *fault NULL: memory is short. Otherwise the
 * caller frees it by free(), or gives it to vc__result_fill(). */
struct vc__reply_metadata *vc__reply_metadata_new(const struct vc__metadata *m,
                                                  bool may_trail,
                                                  const char **fault);

/* True if a failed reply has the server's pushback. *ms is then the
 * milliseconds until the next attempt, below 0 for no retry; else it stays as
 * it is. As in gRPC, a value that is no number means no retry. Called on the
 * holder when the reply has come. */
bool vc__reply_metadata_pushback(const struct vc__reply_metadata *b,
                                 int32_t *ms);

/* --- for the program --------------------------------------------------- */

/* Called when a call or a stream is made, if its options have a result, and by
 * vc_stream_result(): on that thread, whose last error it sets. VC_OK, or
 * VC_INVALID_ARGUMENT  result is NULL, or its size is not set */
enum vc_status vc__result_check(const struct vc_result *result);

/* Fills a result, and takes ownership of b, which may be NULL. If the result is
 * NULL, only frees b. error->status is VC_OK if the call succeeded. Called on
 * the thread that makes the call when that could not begin or has blocked; on
 * the holder at the end of an asynchronous call, also of a hedged one that
 * blocks; by vc_stream_result(); and with NULL when an attempt is released. */
void vc__result_fill(struct vc_result *result, const struct vc__error *error,
                     unsigned attempts, struct vc__reply_metadata *b);

#endif
