/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared memory as one engine uses it, and which wires are polled (hot): those
 * that are new or were woken, until the engine sleeps or, if more than 16 are
 * hot, until nothing has come for a while. The other wires are asleep: the peer
 * wakes them by a byte in their socket.
 *
 * An eventfd would wake a little faster. But any process that shares it can
 * make our write to it block, by fcntl(2) and a full counter. A socket is
 * written to with MSG_DONTWAIT, which no other process can change. The holder
 * of the engine only, except vc__shm_open() and vc__shm_close(), and
 * vc__shm_context_of(), which these call too.
 *
 * Called by: context.c (shm_context_of, shm_cool), wire.c (all). */
#ifndef VC_TRANSPORT_SHM_CONTEXT_H
#define VC_TRANSPORT_SHM_CONTEXT_H

#include "transport/core/engine.h"
#include "transport/transport.h"
#include "transport/wire/packet.h"

struct vc__shm_wire;

struct vc__shm_context {
    struct vc__context context;
    size_t memory, used;      /* bytes of regions: limit; in use */
    struct vc__source source; /* polls the hot wires; has no descriptor */
    bool polls;               /* the engine polls the source */
    struct cds_list_head hot; /* of struct vc__shm_wire */
    unsigned n_hot;
    uint8_t packet[VC__PACKET_MAX]; /* the packet that is being received */
};

/* The context of shared memory that has this head. For this folder. */
static inline struct vc__shm_context *
vc__shm_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__shm_context, context);
}

/* Entries of the table, called by cm/connect/cm.c: open under its lock, on any
 * thread, when the engine first uses shared memory; close by vc_runtime_free(),
 * on its thread, when no thread advances the engine any more. Open always
 * returns VC_OK. */
enum vc_status vc__shm_open(struct vc__context *c,
                            const struct vc__context_opts *opts);
void vc__shm_close(struct vc__context *c);

/* Heat starts polling the wire, if it is open. Called when it has become so,
 * and when its socket is readable. Cool stops that, even if the wire has
 * packets. Called when the wire leaves or is not watched any more, and after
 * vc__shm_in_sleep() has returned true. */
void vc__shm_heat(struct vc__shm_wire *s);
void vc__shm_cool(struct vc__shm_wire *s);

#endif
