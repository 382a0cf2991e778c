/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/outgoing.h. */
#include "rpc/codec/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/codec/whole.h"

enum vc_status
vc__outgoing_check(const struct vc__outgoing *o, size_t size)
{
    if (o->reply_max != 0 && size > o->reply_max)
        return vc__fail(
            VC_RESOURCE_EXHAUSTED,
            "%s.%s: the %s has %zu bytes, more than "
            "(verbcall.method).max_reply, which is %zu: send less, or raise it",
            o->service, o->method, o->what, size, o->reply_max);
    if (o->config_max != 0 && size > o->config_max)
        return vc__fail(VC_RESOURCE_EXHAUSTED, VC__OUTGOING_CONFIG, o->service,
                        o->method, o->what, size, o->config_max);
    if (size > o->peer_max)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "%s.%s: the %s " VC__OUTGOING_LONG, o->service,
                        o->method, o->what, size, o->peer, o->peer_max);
    return VC_OK;
}

/* Called by vc__outgoing_is_of(). Another copy of the generated code has
 * descriptors of its own. */
bool
vc__outgoing_is_copy(const ProtobufCMessageDescriptor *desc,
                     const ProtobufCMessageDescriptor *its)
{
    return its != NULL && its->magic == PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC &&
           its->sizeof_message == desc->sizeof_message &&
           strcmp(its->name, desc->name) == 0;
}

/* Called by vc__outgoing_measure(): returns VC_INVALID_ARGUMENT, by vc__fail(),
 * for a message that is not initialised or of another type. */
static enum vc_status
type_fail(const struct vc__outgoing *o, const ProtobufCMessageDescriptor *desc,
          const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *its = message->descriptor;

    if (its == NULL || its->magic != PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: the %s is not initialised: initialise it by "
                        "the __INIT macro of %s",
                        o->service, o->method, o->what, desc->name);
    return vc__fail(VC_INVALID_ARGUMENT,
                    "%s.%s: the %s is of type %s, and must be of type %s",
                    o->service, o->method, o->what, its->name, desc->name);
}

enum vc_status
vc__outgoing_measure(const struct vc__outgoing *o,
                     const struct vc_message_type *type, const void *message,
                     struct vc__packing *packing)
{
    char gap[VC__GAP_TEXT];

    if (message == NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "%s.%s: the %s is NULL",
                        o->service, o->method, o->what);
    if (!vc__outgoing_is_of(type, message))
        return type_fail(o, type->desc, message);
    if (!vc__codec_measure(type, message, packing)) {
        vc__message_gap(message, gap, sizeof gap);
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: the %s cannot be packed: %s", o->service,
                        o->method, o->what, gap);
    }
    return vc__outgoing_check(o, packing->size);
}

uint8_t *
vc__outgoing_pack(const struct vc_message_type *type, const void *message,
                  const struct vc__packing *packing)
{
    /* At least one byte: for an empty message malloc(0) could return NULL. */
    uint8_t *packed = malloc(packing->size + 1);

    if (packed != NULL)
        vc__codec_pack(type, packing, message, packed);
    return packed;
}
