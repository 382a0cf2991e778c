/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * TCP as one engine uses it: what its sockets share, and which sockets are
 * polled. A socket that has received something, or has sent a hello or an
 * accept, is hot (polled) for a while, as more is likely to come soon. epoll
 * reports the others. The holder of the engine only, except vc__tcp_open(),
 * vc__tcp_close() and vc__tcp_context_of().
 *
 * Called by: context.c (tcp_context_of, tcp_cool), read.c (tcp_context_of,
 * tcp_heat, tcp_cool), wire.c (tcp_context_of, tcp_open, tcp_close), write.c
 * (tcp_context_of), connect.c (tcp_heat). */
#ifndef VC_TRANSPORT_TCP_CONTEXT_H
#define VC_TRANSPORT_TCP_CONTEXT_H

#include "transport/core/engine.h"
#include "transport/core/stock.h"
#include "transport/socket/record.h"
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
    struct vc__stock blocks; /* of VC__TCP_BLOCK */
    struct vc__stock parts;  /* of VC__RECORD_MAX */

    struct vc__source source; /* polls the hot wires; has no descriptor */
    bool polls;               /* the engine polls the source */
    struct cds_list_head hot; /* of struct vc__tcp_wire, last heated first */
    unsigned n_hot;
    unsigned turns;
    unsigned crowded; /* turns left with more busy wires than may be hot */
};

/* The TCP context that has this head. For this folder; any thread, as write.c
 * calls it under the link's lock. */
static inline struct vc__tcp_context *
vc__tcp_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__tcp_context, context);
}

/* Entries of the table, called by cm/connect/cm.c: open under its lock, on any
 * thread, when the engine first uses TCP; close by vc_runtime_free(), on its
 * thread, when no thread advances the engine any more. Open returns VC_OK, or
 * VC_RESOURCE_EXHAUSTED with the thread's error set. */
enum vc_status vc__tcp_open(struct vc__context *c,
                            const struct vc__context_opts *opts);
void vc__tcp_close(struct vc__context *c);

/* Polls the wire, if it is watched: something was received from it (read.c), or
 * its hello or accept was sent (connect.c). If too many are hot, the one that
 * was heated first is cooled. */
void vc__tcp_heat(struct vc__tcp_wire *t);
/* Stops polling the wire, if it is polled: it is not watched any more (read.c);
 * or, in context.c, nothing has come for long, too many are hot, or the engine
 * goes to sleep or is left to the program's loop. */
void vc__tcp_cool(struct vc__tcp_wire *t);

#endif
