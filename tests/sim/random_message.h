/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random messages of any type. They are all valid, and protoc's text format
 * keeps each of them to the byte. So there is no NaN, no -0, and no enum number
 * without a name, and keys of a map differ. */
#ifndef VC_TESTS_SIM_RANDOM_MESSAGE_H
#define VC_TESTS_SIM_RANDOM_MESSAGE_H

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* The same seed makes the same message. NULL without memory. */
ProtobufCMessage *random_message_new(const ProtobufCMessageDescriptor *desc,
                                     uint64_t *seed);
void random_message_free(ProtobufCMessage *message);

#endif
