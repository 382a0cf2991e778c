/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Most messages are plain: a few fields, each once and in the order of their
 * numbers, none of them repeated or a message. These are checked and unpacked
 * in one go, for a third of what the check (rpc/codec/validate.h) and
 * protobuf_c_message_unpack() cost together, and packed for half of what
 * protobuf-c takes. Whatever is not plain is left to
 * those two, which also say what is wrong with it. Pure, any thread. */
#ifndef VC_RPC_PLAIN_H
#define VC_RPC_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* More fields than these are not plain. */
#define VC__PLAIN_FIELDS 16

/* True when it is plain and good and takes at most `memory` bytes: *message is
 * what protobuf_c_message_unpack() would have made of it, or NULL when the
 * allocator has no memory; the message itself is the first that is allocated.
 * False, and nothing was allocated, when the other way must be taken. */
bool vc__fast_unpack(const ProtobufCMessageDescriptor *desc,
                     ProtobufCAllocator *allocator, size_t memory,
                     const uint8_t *data, size_t len, void **message);

/* True when the message that a user made is plain and may be packed: *size is
 * what protobuf_c_message_get_packed_size() says. False when the other way
 * must be taken, vc__message_is_whole() first. */
bool vc__fast_size(const ProtobufCMessage *message, size_t *size);

/* Packs one of which vc__fast_size() was true, and which has not been touched
 * since; as protobuf_c_message_pack(). */
void vc__fast_pack(const ProtobufCMessage *message, uint8_t *out);

#endif
