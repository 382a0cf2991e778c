/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks a peer's bytes before protobuf-c unpacks them, as protobuf-c has no
 * limit of depth and can be made to allocate 59 times what it receives. The
 * check walks over the bytes along the descriptor. It allocates nothing, and a
 * peer controls its recursion only up to the depth limit. Pure, any thread.
 *
 * Called by: codec.c (message_is_good), validate.c (message_is_good),
 * rpc/client/attempt.c (message_fault_text), rpc/client/stream_reply.c
 * (message_fault_text), rpc/protobuf_c/protobuf_c_server.c
 * (message_fault_text), rpc/server/server_begin.c (message_fault_text),
 * rpc/stream/stream.c (message_fault_text). */
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
    const ProtobufCMessageDescriptor *message; /* NULL: in no message */
    const ProtobufCFieldDescriptor *field;     /* NULL: in no known field */
};

#define VC__MESSAGE_DEPTH 100 /* protobuf's own default */

/* Checks that len bytes at data are a well-formed message of type desc which
 * protobuf_c_message_unpack() accepts within the limits. The rules: field
 * numbers and wire types are valid (a known field with a wire type that is not
 * its type's is malformed); lengths fit; varints have at most 10 bytes; no
 * groups; strings are UTF-8 without NUL (C could not hold it); required fields
 * without a default are present. A sub-message that is given twice is merged,
 * as protobuf demands, and the merge counts as memory; with a oneof in it it is
 * refused, as protobuf-c fails to merge these. False with *fault set if the
 * check fails, else true. If memory is not NULL, *memory receives, only on
 * success, an upper bound of what unpacking will allocate from an arena
 * (rpc/codec/arena.h). Called by vc__codec_unpack(), and for tests by
 * vc__message_check(). */
bool vc__message_is_good(const ProtobufCMessageDescriptor *desc,
                         const uint8_t *data, size_t len,
                         const struct vc__message_limits *limits,
                         size_t *memory, struct vc__message_fault *fault);

/* vc__message_is_good() for tests: returns NULL, or what is wrong. */
const char *vc__message_check(const ProtobufCMessageDescriptor *desc,
                              const uint8_t *data, size_t len,
                              const struct vc__message_limits *limits,
                              size_t *memory);

/* Writes "demo.HelloRequest.name: not UTF-8", or as much of it as fits. Called
 * for the error of a request, a reply or a message that was refused. */
void vc__message_fault_text(const struct vc__message_fault *fault, char *text,
                            size_t size);

#endif
