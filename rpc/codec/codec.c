/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/codec.h. */
#include "rpc/codec/codec.h"

#include "rpc/codec/whole.h"

#define MEMORY_FACTOR 4
#define MEMORY_FLOOR  ((size_t)64 * 1024)

const char vc__codec_no_memory[] = "no memory to unpack it";

bool
vc__codec_measure(const struct vc_message_type *type, const void *message,
                  struct vc__packing *packing)
{
    packing->plain =
        type->packed_size == NULL && vc__fast_size(message, &packing->size);
    if (packing->plain)
        return true;
    if (!vc__message_is_whole(message))
        return false;
    packing->size = type->packed_size != NULL
                        ? type->packed_size(message)
                        : protobuf_c_message_get_packed_size(message);
    return true;
}

void
vc__codec_pack(const struct vc_message_type *type,
               const struct vc__packing *packing, const void *message,
               uint8_t *out)
{
    if (packing->plain)
        vc__fast_pack(message, out);
    else if (type->pack != NULL)
        type->pack(message, out);
    else
        protobuf_c_message_pack(message, out);
}

void *
vc__codec_unpack(const struct vc_message_type *type,
                 ProtobufCAllocator *allocator, size_t memory,
                 struct vc__bytes *from, struct vc__message_fault *fault)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, memory};
    void *message;

    if (type->unpack != NULL ||
        !vc__fast_unpack(type->desc, allocator, memory, from, &message)) {
        if (!vc__message_is_good(type->desc, from->data, from->len, &limits,
                                 NULL, fault))
            return NULL;
        message = type->unpack != NULL
                      ? type->unpack(allocator, from->len, from->data)
                      : protobuf_c_message_unpack(type->desc, allocator,
                                                  from->len, from->data);
    }
    if (message == NULL)
        *fault = (struct vc__message_fault){.what = vc__codec_no_memory};
    return message;
}

size_t
vc__codec_memory(size_t max_message)
{
    return MEMORY_FACTOR * max_message + MEMORY_FLOOR;
}
