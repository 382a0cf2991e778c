/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests, and messages of streams, that come in parts. Memory for one, and
 * for what it becomes when it is unpacked, is set aside when its first part
 * comes, or it is not kept; and when there is none left, those give theirs back
 * that had no part for seconds. The holder of the engine only. */
#ifndef VC_RPC_SERVER_ARRIVAL_H
#define VC_RPC_SERVER_ARRIVAL_H

#include "rpc/server/server_session.h"

/* One in parts; or one that is sent again in parts, of which nothing is kept. */
struct vc__server_arrival {
    struct vc__assembly assembly;
    struct cds_list_head node; /* in part->arrivals */
    uint64_t due, came;        /* came: its last part */
    size_t reserved;           /* bytes, for when it is unpacked */
    uint16_t method;
    uint8_t kind;    /* VC__FRAME_*_STREAM of the call */
    bool in_message; /* of a stream that runs */
    bool cancelled;  /* its caller has given it up meanwhile */
};

/* A message begins, of so many bytes at most; 0: one that is not kept. False:
 * it breaks the protocol, or there is no memory to count its parts. */
bool vc__server_arrival_begin(struct vc__server_session *s,
                              struct vc__server_slot *slot,
                              const struct vc__frame *f, uint32_t max);

/* The next part: as vc__assembly_add(). */
int vc__server_arrival_add(struct vc__server_session *s,
                           struct vc__server_arrival *a,
                           const struct vc__frame *f);

/* It is about to be unpacked: what was set aside for that may be taken. */
void vc__server_arrival_unreserve(struct vc__server_arrival *a);

/* Frees it, which is in no slot any more; or that of a slot, if there is one. */
void vc__server_arrival_free(struct vc__server_peer *peer,
                             struct vc__server_arrival *a);
void vc__server_arrival_drop(struct vc__server_session *s,
                             struct vc__server_slot *slot);

#endif
