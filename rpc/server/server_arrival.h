/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests, and messages of streams, that arrive in parts. Memory for the parts
 * and for the unpacked message is reserved when the first part comes; if it
 * cannot be, the message is not kept. Arrivals that had no part for
 * stream_stall_us, or for 5 s when memory is scarce, or whose deadline has
 * passed, give theirs back. Called by rpc/server/server_session.c, and for
 * messages of streams by rpc/server/stream_server.c, when a frame has come, a
 * call ends, or a session loses its link. The holder of the engine only.
 *
 * Called by: server_session.c (all), stream_server.c (begin), server_arrival.c
 * (unreserve, free). */
#ifndef VC_RPC_SERVER_ARRIVAL_H
#define VC_RPC_SERVER_ARRIVAL_H

#include "rpc/server/server_session.h"

/* A message that arrives in parts; or a request that is sent again in parts, of
 * which nothing is kept. */
struct vc__server_arrival {
    struct vc__assembly assembly;
    struct cds_list_head node; /* in part->arrivals */
    uint64_t due, came;        /* deadline; arrival of the last part */
    size_t reserved;           /* bytes, for the unpacked message */
    size_t held;               /* bytes in part->arriving */
    uint16_t method;
    uint8_t kind;    /* VC__FRAME_*_STREAM of the call */
    bool in_message; /* a message of a running stream */
    bool cancelled;  /* the caller has cancelled the call meanwhile */
    bool refused;    /* the call was answered before its last part */
};

/* The first part of a message, which is slot->arrival from now on; it is kept
 * if it has at most `max` bytes and there is memory for it. max 0: it is not
 * kept, as that of a call that the server has already. True also if it is not
 * kept (see assembly.loss). False: the frame breaks the protocol, or there
 * is no memory to count the parts; the link ends. Called by call_first_part(),
 * call_again() and stream_server_message_take(). */
bool vc__server_arrival_begin(struct vc__server_session *s,
                              struct vc__server_slot *slot,
                              const struct vc__frame *f, uint32_t max);

/* The next part, of a DATA frame; called by vc__server_session_data(). Returns
 * what vc__assembly_add() returns: 1 after the last part, when the message is
 * whole or lost, 0 if parts are missing, -1 if the frame is malformed. */
int vc__server_arrival_add(struct vc__server_session *s,
                           struct vc__server_arrival *a,
                           const struct vc__frame *f);

/* Releases the memory reserved for the unpacked message: called by
 * arrival_done() and message_done(), as it is about to be unpacked, and when
 * the message is lost or freed. */
void vc__server_arrival_unreserve(struct vc__server_arrival *a);

/* free: frees an arrival that is no longer in a slot; called by arrival_done(),
 * when its request was handed on. drop: frees that of a slot, if it has one:
 * its message is handled or of no use any more, or the link was lost. Called by
 * message_done(), request_end(), arrival_of_call() and
 * vc__server_session_unbind(). */
void vc__server_arrival_free(struct vc__server_peer *peer,
                             struct vc__server_arrival *a);
void vc__server_arrival_drop(struct vc__server_session *s,
                             struct vc__server_slot *slot);

#endif
