/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks whether a program's message can be packed. This includes all that
 * protobuf_c_message_check() checks, and more: protobuf-c 1.4.1 accepts a bytes
 * field of proto3 that has a length and no data, and reads from address 0 when
 * it packs that. Pure, any thread.
 *
 * Called by: codec.c (message_is_whole), outgoing.c (message_gap),
 * rpc/protobuf_c/protobuf_c_server.c (message_gap), rpc/server/server_reply.c
 * (message_gap). */
#ifndef VC_RPC_WHOLE_H
#define VC_RPC_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/* True if the message, and each message in it, can be packed. Asked by
 * vc__codec_measure(). */
bool vc__message_is_whole(const ProtobufCMessage *message);

/* Writes to text, of size bytes, which field of a message that is not whole
 * cannot be packed: "orders.v1.Order.note: 5 bytes, and data is NULL". Called
 * for the error when vc__codec_measure() has returned false. */
void vc__message_gap(const ProtobufCMessage *message, char *text, size_t size);

/* Bytes that a text of vc__message_gap() needs, with most names. */
#define VC__GAP_TEXT 200

#endif
