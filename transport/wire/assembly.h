/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A long message that arrives in parts (doc/wire.md, section 4). Its announced
 * length counts against an account from the first part on, so that a message
 * that has begun is not lost half-way. Pages that no part has reached take no
 * memory. A message over a limit is counted to its end and not kept. A zeroed
 * assembly is idle. Any thread; the owner serialises: a client by its pool's
 * lock, a server by its engine's holder.
 *
 * Called by: rpc/server/server_arrival.c (announced, begin, add, lose, holds,
 * end), assembly.c (announced), cm/pool/session_reply.c (begin, add, metadata,
 * end), rpc/server/server_begin.c (hand), rpc/server/server_session.c
 * (metadata), cm/pool/pool_link.c (end), cm/pool/session.c (end). */
#ifndef VC_TRANSPORT_ASSEMBLY_H
#define VC_TRANSPORT_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/core/memory.h"
#include "transport/wire/metadata.h"
#include "transport/wire/packet.h"

/* Why a message was not kept. */
enum vc__assembly_loss {
    VC__ASSEMBLY_KEPT,
    VC__ASSEMBLY_TOO_LONG,  /* longer than `max` */
    VC__ASSEMBLY_NO_MEMORY, /* the account has no more, there is none, or the
                             * owner called vc__assembly_lose() */
};

/* Bytes of the first frame that announce the message's length; the message
 * follows. */
#define VC__ASSEMBLY_TOTAL 4u
/* Free bytes before the message, for who gets its memory (vc__assembly_hand());
 * so many and those of `lead` are taken beside it. */
#define VC__ASSEMBLY_HEAD 16u
#define VC__ASSEMBLY_ROOM (VC__ASSEMBLY_HEAD + VC__MEMORY_ALIGN)

/* Bytes that are enough for a text about a loss. */
#define VC__ASSEMBLY_LOSS_TEXT 160

struct vc__assembly {
    struct vc__account *account; /* NULL: no memory for it */
    uint8_t *block;              /* the memory of data */
    uint8_t *data;               /* NULL: not kept */
    uint32_t have;               /* bytes received, kept or not */
    uint32_t total;              /* bytes announced; 0: the assembly is idle */
    uint8_t *metadata; /* of the first frame, if the message is kept */
    uint16_t metadata_len;
    size_t lead; /* set before the first part: data + lead will be aligned */
    enum vc__assembly_loss loss;
};

/* Bytes that the first frame of a message announces; 0 if malformed, as when
 * all of them are in that frame. Called by vc__assembly_begin(), and by
 * vc__server_arrival_begin() before it, to reserve memory. */
uint32_t vc__assembly_announced(const struct vc__frame *f);

/* Takes the first frame of a message, with VC__FRAME_MORE. max: the most bytes
 * of a message that is kept; 0 for a request that is sent again. account NULL:
 * there is no memory for it. Returns true if parts are awaited from now on,
 * also if the message is not kept (see loss); false if the frame is malformed,
 * or a message is in progress. By a client called for replies and servers'
 * messages of streams (cm/pool/session_reply.c), by a server for requests and
 * clients' messages of streams (vc__server_arrival_begin()). */
bool vc__assembly_begin(struct vc__assembly *a, const struct vc__frame *f,
                        uint32_t max, struct vc__account *account);

/* Takes a DATA frame. Returns 1 if this was the last part: the message is
 * whole, or lost (see loss), and the owner calls vc__assembly_end() when done
 * with it; 0 if parts are missing; -1 if malformed. Called by reply_more()
 * (cm/pool/session_reply.c) and vc__server_arrival_add(). */
int vc__assembly_add(struct vc__assembly *a, const struct vc__frame *f);

/* Gives the message's memory back, for another one; further parts are counted,
 * and lost. Does nothing to a message that is lost already. Called by
 * server_arrival_lose() for requests and messages of streams that have stalled,
 * or whose deadline has passed. */
void vc__assembly_lose(struct vc__assembly *a);

/* Hands the memory of a whole message over: *size bytes of the account, which
 * the caller gives back to that. Its first VC__ASSEMBLY_HEAD bytes are not
 * used; data stays valid, but is not the assembly's any more. Called by
 * request_unpack(). */
uint8_t *vc__assembly_hand(struct vc__assembly *a, size_t *size);

/* The metadata of the message; valid until its end. Called for replies,
 * requests and the messages of servers, when the last part has come. That of a
 * lost message is empty. */
static inline struct vc__metadata
vc__assembly_metadata(const struct vc__assembly *a)
{
    return (struct vc__metadata){.data = a->metadata, .len = a->metadata_len};
}

/* Bytes that the message has of the account. Called by a server's
 * server_arrival.c, which counts them before and after each change. */
static inline size_t
vc__assembly_holds(const struct vc__assembly *a)
{
    return (a->block != NULL ? a->total + VC__ASSEMBLY_ROOM : 0) +
           (size_t)a->metadata_len;
}

/* Frees all; the assembly is idle. Called when the message was handled, and
 * when its slot or arrival ends before that. */
void vc__assembly_end(struct vc__assembly *a);

#endif
