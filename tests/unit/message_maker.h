/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes messages to test rpc/codec/validate.c, in three ways: packed by
 * protobuf-c from random ones, written field by field at random, and mutated.
 * All of them live until maker_reset(). */
#ifndef VC_TESTS_UNIT_MESSAGE_MAKER_H
#define VC_TESTS_UNIT_MESSAGE_MAKER_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* A message under construction; `room` is its capacity. */
struct bytes {
    uint8_t *at;
    size_t len, room;
};

/* For cmocka: memory for the messages. */
int maker_setup(void **state);
int maker_teardown(void **state);
void maker_reset(void);

struct bytes bytes_new(size_t room);
void put_byte(struct bytes *b, unsigned byte);
void put_bytes(struct bytes *b, const void *data, size_t len);
void put_varint(struct bytes *b, uint64_t v);
void put_tag(struct bytes *b, uint32_t number, unsigned wire);

/* A field with a length. */
void put_block(struct bytes *b, uint32_t number, const void *data, size_t len);

/* The wire type of one value of the type. */
unsigned usual_wire(ProtobufCType type);

/* A random message of the type as protobuf-c packs it. */
struct bytes random_packed(const ProtobufCMessageDescriptor *desc,
                           uint64_t *seed);

/* Such a message, or a sequence of fields that may be valid or not, or random
 * bytes; then mutated up to three times. */
struct bytes any_bytes(const ProtobufCMessageDescriptor *desc, uint64_t *seed);

/* `levels` nested messages; each except the innermost holds only the next, in
 * its field 2. */
struct bytes nested(unsigned levels);

/* A type with n fields, numbered from 1: int32 fields, and from `subs` on
 * messages of type `sub`; protobuf-c itself initialises it. */
ProtobufCMessageDescriptor *wide_type(unsigned n, ProtobufCLabel label,
                                      unsigned subs,
                                      const ProtobufCMessageDescriptor *sub);

#endif
