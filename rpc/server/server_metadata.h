/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata of a call on the server: those that came with its request, and
 * those that go with its reply. All of it is in the call's arena, so a reply
 * that is kept keeps its metadata. Whoever runs the call. */
#ifndef VC_RPC_SERVER_METADATA_H
#define VC_RPC_SERVER_METADATA_H

#include <verbcall/call.h>

#include "transport/wire/metadata.h"

/* In struct vc_call; zeroed between calls. */
struct vc__call_metadata {
    bool used; /* something else of it is set */
    struct vc__metadata_view came;
    uint32_t previous; /* attempts of the caller before this */
    uint8_t *said;     /* packed, for the reply */
    size_t said_len, said_room;
    size_t advice_len; /* of them, for vc_call_pushback() */
};

/* Takes those of the request. Else what to answer, with *text to say why. */
enum vc_status vc__call_metadata_take(struct vc_call *call, const char **text);

/* The call is over, and its arena with it. */
static inline void
vc__call_metadata_reset(struct vc__call_metadata *m)
{
    if (m->used)
        *m = (struct vc__call_metadata){.used = false};
}

#endif
