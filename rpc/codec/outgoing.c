/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/outgoing.h. */
#include "rpc/codec/outgoing.h"

#include <stdlib.h>

#include "rpc/codec/whole.h"

enum vc_status
vc__outgoing_check(const struct vc__outgoing *o, size_t size)
{
    if (o->reply_max != 0 && size > o->reply_max)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "the %s of %s has %zu bytes, its max_reply is %zu",
                        o->what, o->method, size, o->reply_max);
    if (size > o->peer_max)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "the %s of %s has %zu bytes, the %s takes %zu", o->what,
                        o->method, size, o->peer, o->peer_max);
    return VC_OK;
}

enum vc_status
vc__outgoing_measure(const struct vc__outgoing *o,
                     const struct vc_message_type *type, const void *message,
                     struct vc__packing *packing)
{
    char gap[VC__GAP_TEXT];

    if (message == NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "the %s of %s is NULL", o->what,
                        o->method);
    if (!vc__codec_measure(type, message, packing)) {
        vc__message_gap(message, gap, sizeof gap);
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the %s of %s cannot be packed: %s", o->what, o->method,
                        gap);
    }
    return vc__outgoing_check(o, packing->size);
}

uint8_t *
vc__outgoing_pack(const struct vc_message_type *type, const void *message,
                  const struct vc__packing *packing)
{
    /* One byte at least: an empty message is no lack of memory. */
    uint8_t *packed = malloc(packing->size + 1);

    if (packed != NULL)
        vc__codec_pack(type, packing, message, packed);
    return packed;
}
