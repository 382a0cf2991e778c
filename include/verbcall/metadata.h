/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes with a call beside its messages: metadata, which are keys with
 * values, both ways; and all that a call came to, for callers who want to know
 * more than its status. As in gRPC, of which keys and limits are. */
#ifndef VERBCALL_METADATA_H
#define VERBCALL_METADATA_H

#include <stddef.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* One entry. Keys may repeat, and entries keep their order.
 *
 * key     1 to 127 of the characters a-z, 0-9, '_', '-' and '.'. Those that
 *         begin with "grpc-" or "verbcall-" are the library's own: a program
 *         can neither give nor see them.
 * value   of a key that ends in "-bin": any bytes. Of others: printable ASCII,
 *         0x20 to 0x7e, that neither begins nor ends with a space. May be
 *         empty, and then NULL. One that came has a NUL behind it that length
 *         does not count. */
struct vc_metadata {
    const char *key;
    const void *value;
    size_t length; /* of the value */
};

/* Bytes that a program's metadata of one direction of a call may take
 * together: those of keys and values, and 3 for each entry. Details of a status
 * (vc_call_details()) are one of them. */
#define VC_METADATA_MAX 7000

/* What a call came to. Set by VC_RESULT_INIT, filled at the end of the call
 * that has it in its options, whatever the end is, and given back by
 * vc_result_clear(). One thread at a time. */
struct vc_result {
    size_t size;

    enum vc_status status;   /* what the call returned */
    enum vc_outcome outcome; /* whether its handler ran */
    unsigned attempts;       /* made for it, 0 when it could not begin */

    /* As vc_error() has it; "" for VC_OK, or without memory. */
    const char *message;

    /* What the handler gave by vc_call_details(): by convention a packed
     * google.rpc.Status. NULL when it gave none. */
    const void *details;
    size_t details_length;

    /* What the handler gave by vc_call_add_initial() and
     * vc_call_add_trailing(). */
    const struct vc_metadata *initial;
    size_t n_initial;
    const struct vc_metadata *trailing;
    size_t n_trailing;

    void *memory; /* the library's: where all of this is */
};

#define VC_RESULT_INIT                                                         \
    {                                                                          \
        sizeof(struct vc_result), VC_OK, VC_OUTCOME_NOT_EXECUTED, 0, "", NULL, \
            0, NULL, 0, NULL, 0, NULL                                          \
    }

/* vc_result_clear - gives back what a call left in a result, which is then as
 * VC_RESULT_INIT makes it. Once more does nothing; NULL is fine. A call that
 * is given a result clears what a former one left. Any thread; no runtime or
 * channel need live any more. */
VC_API void vc_result_clear(struct vc_result *result);

VC_END_DECLS

#endif
