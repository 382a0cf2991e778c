/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a call carries besides its messages: metadata, which are keys with
 * values, in both directions; and the full result of a call, for callers who
 * need more than its status. Keys and limits are as in gRPC. */
#ifndef VERBCALL_METADATA_H
#define VERBCALL_METADATA_H

#include <stddef.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* One entry. Keys may repeat, and entries keep their order.
 *
 * key   1 to 127 of the characters a-z, 0-9, '_', '-' and '.'. Keys that begin
 *       with "grpc-" or "verbcall-" belong to the library: a program can
 *       neither set nor see them.
 * value for a key that ends in "-bin": any bytes. For other keys: printable
 *       ASCII, 0x20 to 0x7e, that neither begins nor ends with a space. May be
 *       empty, and then NULL. A received value is followed by a NUL that length
 *       does not count. */
struct vc_metadata {
    const char *key;
    const void *value;
    size_t length; /* of the value */
};

/* Most bytes that a program's metadata of one direction of a call may take
 * together: those of keys and values, and 3 for each entry. Details of a status
 * (vc_call_details()) count as one entry. */
#define VC_METADATA_MAX 7000

/* The full result of a call. The program initializes it with VC_RESULT_INIT and
 * puts it in the options of a call, which fills it when it ends, with any
 * status. The program releases it by vc_result_clear(). One thread at a
 * time. */
struct vc_result {
    size_t size;

    enum vc_status status;   /* what the call returned */
    enum vc_outcome outcome; /* whether its handler ran */
    unsigned attempts;       /* attempts of the call; 0 when it could not
                              * begin */

    /* The text of vc_error(); "" for VC_OK, or without memory. */
    const char *message;

    /* Set by the handler with vc_call_details(): by convention a packed
     * google.rpc.Status. NULL when the handler set none. */
    const void *details;
    size_t details_length;

    /* Added by the handler with vc_call_add_initial() and
     * vc_call_add_trailing(). */
    const struct vc_metadata *initial;
    size_t n_initial;
    const struct vc_metadata *trailing;
    size_t n_trailing;

    void *memory; /* of the library: holds all of the above */
};

#define VC_RESULT_INIT                                                         \
    {                                                                          \
        sizeof(struct vc_result), VC_OK, VC_OUTCOME_NOT_EXECUTED, 0, "", NULL, \
            0, NULL, 0, NULL, 0, NULL                                          \
    }

/* vc_result_clear - frees what a call left in a result, which is then as
 * VC_RESULT_INIT makes it. A second time does nothing; NULL is allowed. A call
 * that is given a result clears its former content. Any thread; the runtime and
 * the channel may be freed before. */
VC_API void vc_result_clear(struct vc_result *result);

VC_END_DECLS

#endif
