/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The fast path for plain messages, which most are. A plain message has a few
 * fields, each once and in the order of their numbers, none of them required,
 * repeated, in a oneof or a message. It is checked and unpacked in one pass,
 * for a third of what the check (rpc/codec/validate.h) and
 * protobuf_c_message_unpack() cost together, and packed for half of what
 * protobuf-c takes. Other messages are left to those two, which also report
 * what is wrong. Pure but for the allocator. Any thread.
 *
 * Called by: fast_codec.c (field_is_plain), fast_pack.c (field_is_plain),
 * codec.c (fast_unpack, fast_size, fast_pack), rpc/server/server_arrival.c
 * (fast_lead). */
#ifndef VC_RPC_PLAIN_H
#define VC_RPC_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* A message with more fields is not plain. */
#define VC__PLAIN_FIELDS 16

/* False for a repeated or required field, and for one of a oneof. Asked by
 * member_read() and vc__fast_size(). */
static inline bool
vc__field_is_plain(const ProtobufCFieldDescriptor *f)
{
    return (f->label == PROTOBUF_C_LABEL_NONE ||
            f->label == PROTOBUF_C_LABEL_OPTIONAL) &&
           (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0;
}

/* A message as it came. */
struct vc__bytes {
    const uint8_t *data;
    size_t len;
    /* The same as data if they may live as long as the message: bytes of at
     * least half of it are then not copied if they are aligned. NULL: copy. */
    uint8_t *lasting;
    bool in_use; /* set by unpacking: the message points to them */
};

/* True if the message is plain and valid and takes at most `memory` bytes. Then
 * *message is what protobuf_c_message_unpack() would have made, or NULL if the
 * allocator has no memory; from->in_use is set. The message itself is the first
 * allocation. False, with nothing allocated, if the slow path must be taken.
 * Called by vc__codec_unpack(). */
bool vc__fast_unpack(const ProtobufCMessageDescriptor *desc,
                     ProtobufCAllocator *allocator, size_t memory,
                     struct vc__bytes *from, void **message);

/* Of the first part of a message, which ends in the contents of a member:
 * returns how many bytes come before these. 0 if it is no such part. Called by
 * vc__server_arrival_begin(), so that the contents will be aligned. */
size_t vc__fast_lead(const uint8_t *data, size_t len);

/* True if a program's message is plain and can be packed; *size is then that of
 * protobuf_c_message_get_packed_size(). False if the slow path must be taken,
 * with vc__message_is_whole() first. Called by vc__codec_measure(). */
bool vc__fast_size(const ProtobufCMessage *message, size_t *size);

/* Packs, as protobuf_c_message_pack(), a message for which vc__fast_size() was
 * true and which has not changed since. Called by vc__codec_pack(). */
void vc__fast_pack(const ProtobufCMessage *message, uint8_t *out);

#endif
