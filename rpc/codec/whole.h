/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a message that a program made can be packed. It is what
 * protobuf_c_message_check() of protobuf-c asks, and more: protobuf-c 1.4.1
 * lets a bytes field of proto3 pass that has a length and no data, and reads
 * from address 0 when it packs it. Pure, any thread. */
#ifndef VC_RPC_WHOLE_H
#define VC_RPC_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* True when the message, and each message in it, can be packed. */
bool vc__message_is_whole(const ProtobufCMessage *message);

/* Writes to text, of size bytes, which field of a message that is not whole
 * keeps it from being packed: "orders.v1.Order.note: 5 bytes, and data is
 * NULL". */
void vc__message_gap(const ProtobufCMessage *message, char *text, size_t size);

/* As long as a text of vc__message_gap() needs to be, with most names. */
#define VC__GAP_TEXT 200

#endif
