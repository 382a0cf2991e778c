/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call on the server: from the bytes of its request to the reply that has
 * been handed to the adapter. */
#ifndef VC_RPC_SERVER_CALL_H
#define VC_RPC_SERVER_CALL_H

#include "rpc/server_session.h"

/* Where a call came from and what it asks for. */
struct vc__call_site {
    struct vc__server_session *session;
    uint16_t slot;
    uint16_t method; /* the client's number of it */
    uint64_t due;
};

/* Unpacks the request and has the handler run, or answers why not. */
void vc__call_begin(const struct vc__call_site *site, const uint8_t *body,
                    uint32_t len);

/* Answers a request that could not be kept. */
void vc__call_refuse(const struct vc__call_site *site, enum vc_status status,
                     const char *text);

/* Its reply, on its way to the client. */
struct vc__send *vc__call_send(struct vc_call *call);

/* The client has the reply, or nobody wants it. */
void vc__call_release(struct vc_call *call);

/* Frees the stock of a part. */
void vc__call_free_stock(struct vc__server_part *part);

#endif
