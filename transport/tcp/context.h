/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * TCP as one engine uses it: what its sockets share, and which sockets are
 * polled. A socket that has received something is hot (polled) for a while, as
 * more is likely to come soon. epoll reports the others. The holder of the
 * engine only, except vc__tcp_open().
 *
 * Called by: context.c (tcp_context_of), read.c (tcp_context_of, tcp_heat,
 * tcp_cool), wire.c (tcp_context_of, tcp_open, tcp_close), write.c
 * (tcp_context_of), connect.c (tcp_heat). */
#ifndef VC_TRANSPORT_TCP_CONTEXT_H
#define VC_TRANSPORT_TCP_CONTEXT_H

#include "transport/core/engine.h"
#include "transport/socket/record.h"
#include "transport/tcp/pool.h"
#include "transport/transport.h"

/* The most bytes of one wire that wait to be written to the kernel. */
#define VC__TCP_BLOCK 65536u
/* The most bytes that one read of a socket returns. */
#define VC__TCP_READ 65536u
/* The most memory that a connection may take. */
#define VC__TCP_LINK (VC__TCP_BLOCK + VC__RECORD_MAX)

struct vc__tcp_wire;

struct vc__tcp_context {
    struct vc__context context;
    size_t memory, used; /* bytes: the limit, and what connections reserved */
    /* The holder's read buffer, for one wire after the other. The room in front
     * is for the beginning of a record that was received before. */
    uint8_t *input;
    struct vc__tcp_pool blocks; /* of VC__TCP_BLOCK */
    struct vc__tcp_pool parts;  /* of VC__RECORD_MAX */

    struct vc__source source; /* polls the hot wires; has no descriptor */
    bool polls;               /* the source has been added */
    struct cds_list_head hot; /* of struct vc__tcp_wire, last heated first */
    unsigned n_hot;
    unsigned turns;
    unsigned crowded; /* turns left with more busy wires than may be hot */
};

static inline struct vc__tcp_context *
vc__tcp_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__tcp_context, context);
}

/* Entries of the table, called by cm/connect/cm.c: open under its lock, on any
 * thread; close when the engine's contexts are freed. */
enum vc_status vc__tcp_open(struct vc__context *c,
                            const struct vc__context_opts *opts);
void vc__tcp_close(struct vc__context *c);

/* Something was received from this wire: polls it. */
void vc__tcp_heat(struct vc__tcp_wire *t);
/* Stops polling the wire: nothing more is expected soon. */
void vc__tcp_cool(struct vc__tcp_wire *t);

#endif
