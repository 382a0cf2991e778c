/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random messages of any type, valid ones only, for which protoc's text is the
 * same to the byte. So there is no NaN, no -0 and no enum number without a
 * name, and keys of maps differ. */
#ifndef VC_TESTS_SIM_RANDOM_MESSAGE_H
#define VC_TESTS_SIM_RANDOM_MESSAGE_H

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Makes the same message from the same seed. NULL without memory. */
ProtobufCMessage *random_message_new(const ProtobufCMessageDescriptor *desc,
                                     uint64_t *seed);
void random_message_free(ProtobufCMessage *message);

#endif
