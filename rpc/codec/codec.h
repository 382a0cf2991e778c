/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Packing and unpacking behind one face, whether the message type brings its
 * own functions or leaves it to protobuf-c. Any thread. */
#ifndef VC_RPC_CODEC_H
#define VC_RPC_CODEC_H

#include <stdbool.h>

#include <verbcall/service.h>

#include "rpc/codec/validate.h"

/* How a message will be packed. */
struct vc__packing {
    size_t size;
    bool plain; /* rpc/codec/fast_codec.h */
};

/* False when the message, which a user made, cannot be packed: a field that
 * must be set is not, or a pointer is NULL. */
bool vc__codec_measure(const struct vc_message_type *type, const void *message,
                       struct vc__packing *packing);

/* Packs a message that was measured, and not touched since. */
void vc__codec_pack(const struct vc_message_type *type,
                    const struct vc__packing *packing, const void *message,
                    uint8_t *out);

/* Checks len bytes from a peer and unpacks them into what the allocator
 * gives, which may be `memory` bytes. NULL with *fault when they are no message
 * of this type or too much. */
extern const char vc__codec_no_memory[]; /* what fault->what is then */
void *vc__codec_unpack(const struct vc_message_type *type,
                       ProtobufCAllocator *allocator, size_t memory,
                       const uint8_t *data, size_t len,
                       struct vc__message_fault *fault);

/* Bytes that unpacking a message may take where messages are limited to
 * max_message: some types legitimately grow a lot, an attack grows more. */
size_t vc__codec_memory(size_t max_message);

/* Whether a reply of so many bytes is one that the method may have. */
static inline bool
vc__codec_reply_fits(const struct vc_method *method, size_t size)
{
    return method->max_reply == 0 || size <= method->max_reply;
}

#endif
