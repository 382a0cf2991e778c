/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * TCP as one engine uses it: what all of its sockets share, and which of them
 * are read by polling. A socket from which something came is hot for a while, as
 * more is likely to come soon; of the others epoll tells. */
#ifndef VC_TRANSPORT_TCP_CONTEXT_H
#define VC_TRANSPORT_TCP_CONTEXT_H

#include "transport/core/engine.h"
#include "transport/socket/record.h"
#include "transport/tcp/pool.h"
#include "transport/transport.h"

/* Bytes to be written that are not the kernel's yet, of one wire at most. */
#define VC__TCP_BLOCK 65536u
/* Bytes that one look at a socket reads at most. */
#define VC__TCP_READ 65536u
/* What a connection may take. */
#define VC__TCP_LINK (VC__TCP_BLOCK + VC__RECORD_MAX)

struct vc__tcp_wire;

struct vc__tcp_context {
    struct vc__context context;
    size_t memory, used; /* bytes that connections may take, and may have */
    /* Where the holder reads to, one wire after the other. In front there is
     * room for the beginning of a record that came before. */
    uint8_t *input;
    struct vc__tcp_pool blocks; /* of VC__TCP_BLOCK */
    struct vc__tcp_pool parts;  /* of VC__RECORD_MAX */

    struct vc__source source; /* of the hot ones; has no descriptor */
    bool polls;               /* the source has been added */
    struct cds_list_head hot; /* of struct vc__tcp_wire, the latest first */
    unsigned n_hot;
    unsigned turns;
    unsigned crowded; /* turns in which more are busy than may be hot */
};

static inline struct vc__tcp_context *
vc__tcp_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__tcp_context, context);
}

enum vc_status vc__tcp_open(struct vc__context *c,
                            const struct vc__context_opts *opts);
void vc__tcp_close(struct vc__context *c);

/* Something came from this wire. The holder, as below. */
void vc__tcp_heat(struct vc__tcp_wire *t);
/* Nothing more will, or not soon. */
void vc__tcp_cool(struct vc__tcp_wire *t);

#endif
