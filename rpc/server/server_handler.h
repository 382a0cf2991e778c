/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From the bytes of a request to the handler that has run. The holder of the
 * engine only. */
#ifndef VC_RPC_SERVER_HANDLER_H
#define VC_RPC_SERVER_HANDLER_H

#include "rpc/server/server_call.h"

#define VC__GIVEN_UP "the caller has given up the call"
/* A call that is refused with this is shed: its client may come again. */
extern const char vc__no_memory[];
/* The text of a request that is over max_message: it is not tried again. */
extern const char vc__too_long[];

/* Unpacks the request and has the handler run, or answers why not. */
void vc__call_begin(const struct vc__call_site *site, const uint8_t *body,
                    uint32_t len);

/* Answers a request that could not be kept. */
void vc__call_refuse(const struct vc__call_site *site, enum vc_status status,
                     const char *text);

/* It has all it needs, and waits for its turn. */
void vc__call_came(struct vc_call *call);

/* The handler itself, with nothing around it; on its thread. */
static inline enum vc_status
vc__call_method(struct vc_call *call, const struct vc__service_entry *entry)
{
    const struct vc_method *method = call->method;
    enum vc_status status;

    if (call->stream != NULL)
        status = method->run_stream(call, entry->methods, call->request,
                                    call->stream, call->reply, entry->arg);
    else
        status = method->run(call, entry->methods, call->request, call->reply,
                             entry->arg);
    if (status != VC_OK && status != VC__LATER)
        vc__call_explain(call, status);
    return status;
}

/* Has its end come to the holder, who answers it as call->status says. Any
 * thread; the call may be gone afterwards. */
void vc__call_finish(struct vc_call *call);

#endif
