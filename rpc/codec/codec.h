/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Packs and unpacks messages through one interface, whether the message type
 * has its own functions or uses those of protobuf-c. Any thread.
 *
 * Called by: outgoing.c (measure), outgoing.h (measure),
 * rpc/protobuf_c/protobuf_c_server.c (measure, unpack),
 * rpc/server/server_reply.c (measure, reply_fits), rpc/client/attempt.c
 * (unpack, reply_fits), rpc/client/stream_reply.c (unpack),
 * rpc/server/server_begin.c (unpack), rpc/stream/stream.c (unpack),
 * rpc/client/channel.c (memory), rpc/server/server.c (memory), many files
 * (pack). */
#ifndef VC_RPC_CODEC_H
#define VC_RPC_CODEC_H

#include <stdbool.h>

#include <verbcall/service.h>

#include "rpc/codec/fast_codec.h"
#include "rpc/codec/validate.h"

/* How a message will be packed. */
struct vc__packing {
    size_t size;
    bool plain; /* rpc/codec/fast_codec.h */
};

/* Measures a program's message: true with *packing set. False if it cannot be
 * packed: a required field is not set, a pointer is NULL, or a message in it is
 * not initialised. Called before a message is sent: by
 * rpc/codec/outgoing.[ch], vc__reply_measure() and reply_copy(). */
bool vc__codec_measure(const struct vc_message_type *type, const void *message,
                       struct vc__packing *packing);

/* Packs a message that was measured and has not changed since, into `out`,
 * which has packing->size bytes. Called when the link sends a request or a
 * reply (call_write(), reply_write()); before that for those in parts, and for
 * requests that must outlive the program's message (vc__packed_new(),
 * reply_pack()); for messages of streams (message_send()); and by
 * vc__outgoing_pack(). */
void vc__codec_pack(const struct vc_message_type *type,
                    const struct vc__packing *packing, const void *message,
                    uint8_t *out);

/* Checks bytes from a peer and unpacks them into memory of the allocator, at
 * most `memory` bytes. Returns the message, which is freed with that memory; if
 * from->in_use is set then, the bytes must last as long. NULL with *fault set if
 * they are no message of this type or need too much memory, or if memory is
 * short. Called for a request or a reply on the holder;
 * for a message of a stream on the thread of vc_stream_receive(), or as a
 * handler before on_message(); and by reply_copy() of rpc/protobuf_c on the
 * thread of the closure. */
extern const char vc__codec_no_memory[]; /* fault->what if memory is short */
void *vc__codec_unpack(const struct vc_message_type *type,
                       ProtobufCAllocator *allocator, size_t memory,
                       struct vc__bytes *from, struct vc__message_fault *fault);

/* Returns the most bytes that unpacking may take if messages are limited to
 * max_message bytes. Some types legitimately grow a lot; an attack grows more.
 * Called by channel_new() and opts_keep(). */
size_t vc__codec_memory(size_t max_message);

/* True if the method allows a reply of this size. Asked by reply_check() of a
 * server and call_replied() of a client. */
static inline bool
vc__codec_reply_fits(const struct vc_method *method, size_t size)
{
    return method->max_reply == 0 || size <= method->max_reply;
}

#endif
