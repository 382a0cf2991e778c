/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared memory as one engine uses it, and which wires are looked at: those that
 * something came from, until the engine sleeps or, of very many, until nothing
 * has come for a while. The others are asleep, and woken by a byte in their
 * socket.
 *
 * An eventfd would be woken a little quicker; but whoever shares it can make it
 * block, by fcntl(2) and a full counter, at the moment when we write to it. A
 * socket is written to with MSG_DONTWAIT, which is ours alone. */
#ifndef VC_TRANSPORT_SHM_CONTEXT_H
#define VC_TRANSPORT_SHM_CONTEXT_H

#include "transport/core/engine.h"
#include "transport/transport.h"
#include "transport/wire/packet.h"

struct vc__shm_wire;

struct vc__shm_context {
    struct vc__context context;
    size_t memory, used;      /* bytes of regions that there may be, and are */
    struct vc__source source; /* of the hot ones; has no descriptor */
    bool polls;               /* the source has been added */
    struct cds_list_head hot; /* of struct vc__shm_wire */
    unsigned n_hot;
    uint8_t packet[VC__PACKET_MAX]; /* the one that is handed up */
};

static inline struct vc__shm_context *
vc__shm_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__shm_context, context);
}

enum vc_status vc__shm_open(struct vc__context *c,
                            const struct vc__context_opts *opts);
void vc__shm_close(struct vc__context *c);

/* It is looked at from now on; and no more, whatever it has. The holder. */
void vc__shm_heat(struct vc__shm_wire *s);
void vc__shm_cool(struct vc__shm_wire *s);

#endif
