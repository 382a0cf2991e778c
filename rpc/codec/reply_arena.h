/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages that the library unpacks for the program: replies at a client, and
 * messages of streams at either end. Each lives in an arena of its own, which
 * returns to the runtime's stock when the program frees the message. Any
 * thread, except vc__replies_init() and vc__replies_fini(): these run on the
 * thread that makes or frees the runtime.
 *
 * Called by: rpc/runtime.c (replies_init, replies_fini), rpc/client/attempt.c
 * (reply_take, reply_give), rpc/client/stream_reply.c (reply_take, reply_give),
 * rpc/stream/stream.c (reply_take, reply_give), reply_arena.c (reply_give). */
#ifndef VC_RPC_REPLY_H
#define VC_RPC_REPLY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "rpc/codec/arena.h"
#include "transport/core/lock.h"

struct vc__reply;

struct vc__replies {
    /* The reply given back last. A thread that makes one call after the other
     * needs no more. */
    _Atomic(struct vc__reply *) spare;
    struct vc__lock lock;
    struct vc__reply *stock; /* lock */
    unsigned n_stock;        /* lock */
};

struct vc__reply {
    ProtobufCAllocator allocator; /* for unpacking one message */
    struct vc__arena arena;
    bool first; /* the next allocation is the message itself */
    struct vc__replies *home;
    struct vc__reply *next;
};

/* Called by vc_runtime_new() when a runtime is made, and by vc_runtime_free().
 * fini frees the spare reply and those in stock. */
void vc__replies_init(struct vc__replies *rs);
void vc__replies_fini(struct vc__replies *rs);

/* Returns an empty reply that may use `memory` bytes: the spare one, one of the
 * stock or a new one; NULL if memory is short. The caller owns it, until
 * vc__reply_give(). A message that is unpacked with its allocator is freed by
 * vc_message_free(), which gives the reply back. Called by those who unpack
 * replies and messages of streams: attempt_reply_unpack(),
 * stream_client_reply_unpack(), vc__stream_unpack(). */
struct vc__reply *vc__reply_take(struct vc__replies *rs, size_t memory);

/* Drops what a reply has allocated and makes it the spare one. The one that was
 * spare goes to the stock, or is freed if that is full. Called if no message
 * could be unpacked, and by vc_message_free() for the others. */
void vc__reply_give(struct vc__reply *r);

#endif
