/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What stands between a peer's bytes and protobuf-c, which has no limit of
 * depth and can be made to allocate 59 times what it is sent: a walk over the
 * bytes along the descriptor, without recursion that a peer controls beyond
 * the depth limit and without allocation. Pure, any thread. */
#ifndef VC_RPC_MESSAGE_H
#define VC_RPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

struct vc__message_limits {
    unsigned depth; /* nested messages, the outermost is 1 */
    size_t memory;  /* bytes that unpacking may allocate */
};

/* What is wrong, and where. */
struct vc__message_fault {
    const char *what;                          /* a static text */
    const ProtobufCMessageDescriptor *message; /* NULL: in none of them */
    const ProtobufCFieldDescriptor *field;     /* NULL: in none that it has */
};

#define VC__MESSAGE_DEPTH 100 /* protobuf's own default */

/* Checks that len bytes at data are a well-formed message of type desc which
 * protobuf_c_message_unpack() takes within the limits: field numbers and wire
 * types (a known field with a wire type that is not its type's is malformed),
 * lengths, varints of at most 10 bytes, no groups, strings in UTF-8 without
 * NUL (C could not hold it), required fields there. A sub-message that comes
 * twice is merged, as protobuf has it, and the merging is in the memory; with
 * a oneof in it it is refused, as protobuf-c fails to merge these.
 * False with *fault, for VC_INVALID_ARGUMENT, when they are not. *memory, if
 * not NULL, receives an upper bound of what unpacking will allocate from an
 * arena (rpc/codec/arena.h), written only when good. */
bool vc__message_is_good(const ProtobufCMessageDescriptor *desc,
                         const uint8_t *data, size_t len,
                         const struct vc__message_limits *limits,
                         size_t *memory, struct vc__message_fault *fault);

/* The same; NULL, or what is wrong. */
const char *vc__message_check(const ProtobufCMessageDescriptor *desc,
                              const uint8_t *data, size_t len,
                              const struct vc__message_limits *limits,
                              size_t *memory);

/* "demo.HelloRequest.name: not UTF-8", or as much of it as fits. */
void vc__message_fault_text(const struct vc__message_fault *fault, char *text,
                            size_t size);

#endif
