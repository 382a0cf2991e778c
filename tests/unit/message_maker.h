/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes messages to test rpc/codec/validate.c with, in three ways: random ones
 * packed by protobuf-c, fields written without regard to sense, and mutated
 * ones. All messages live until maker_reset(). */
#ifndef VC_TESTS_UNIT_MESSAGE_MAKER_H
#define VC_TESTS_UNIT_MESSAGE_MAKER_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* A message that grows up to its room. */
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

/* Puts a length-delimited field. */
void put_block(struct bytes *b, uint32_t number, const void *data, size_t len);

/* Returns the wire type of one value of the type. */
unsigned usual_wire(ProtobufCType type);

/* Returns a random message of the type, as packed by protobuf-c. */
struct bytes random_packed(const ProtobufCMessageDescriptor *desc,
                           uint64_t *seed);

/* Returns a message of random_packed(), fields in a row that may make sense or
 * not, or any bytes; all may be mutated up to three times. */
struct bytes any_bytes(const ProtobufCMessageDescriptor *desc, uint64_t *seed);

/* Returns `levels` nested messages: each holds only the next, in its field 2;
 * the innermost is empty. */
struct bytes nested(unsigned levels);

/* Returns a type with n fields, numbered from 1: int32, but from `subs` on
 * messages of type `sub`. protobuf-c initialises such a message itself. */
ProtobufCMessageDescriptor *wide_type(unsigned n, ProtobufCLabel label,
                                      unsigned subs,
                                      const ProtobufCMessageDescriptor *sub);

#endif
