/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata on the client: packed into the request, taken from the reply, given
 * to the program in a struct vc_result. */
#ifndef VC_RPC_CLIENT_METADATA_H
#define VC_RPC_CLIENT_METADATA_H

#include <verbcall/call.h>

#include "transport/core/error.h"
#include "transport/wire/metadata.h"

/* --- of a request ------------------------------------------------------ */

/* Packs a program's entries, and which attempt (from 1 on) this is and its
 * priority (enum vc_priority), into memory that the caller frees.
 * VC_INVALID_ARGUMENT    an entry may not be
 * VC_RESOURCE_EXHAUSTED  they are more than VC_METADATA_MAX; no memory */
enum vc_status vc__metadata_pack(const struct vc_metadata *entries, size_t n,
                                 unsigned attempt, uint32_t priority,
                                 uint8_t **packed, uint16_t *len);

/* --- of a reply -------------------------------------------------------- */

/* What a reply brought, in a block of its own. */
struct vc__brought {
    struct vc__metadata_view view;
    char text[VC__ERROR_TEXT];
    struct vc_metadata entries[];
};

/* Unpacks the metadata of a reply, or of the first message of a stream, which
 * do not trail. *fault tells malformed ones, then NULL is
 * returned; else NULL says that there is no memory. Freed by free(). */
struct vc__brought *vc__brought_new(const struct vc__metadata *m,
                                    bool may_trail, const char **fault);

/* The server's advice in a reply that failed, when there is any: milliseconds
 * until the next attempt, below 0 for none. One that is no number says none,
 * too, as gRPC has it. */
bool vc__brought_pushback(const struct vc__brought *b, int32_t *ms);

/* --- for the program --------------------------------------------------- */

/* VC_INVALID_ARGUMENT  a program's result has no size */
enum vc_status vc__result_check(const struct vc_result *result);

/* Fills a result, which may be NULL; b, which may be NULL, is the result's from
 * now on. error->status VC_OK: the call was good. */
void vc__result_fill(struct vc_result *result, const struct vc__error *error,
                     unsigned attempts, struct vc__brought *b);

#endif
