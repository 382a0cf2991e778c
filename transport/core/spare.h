/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of asynchronous calls, and of messages that a program sends: nobody
 * counts it, as it is the program that decides how many are under way. Large
 * blocks that are not used any more are kept for a second, up to 32 MiB for each
 * engine, as those of transport/core/memory.h are: the system would have to zero
 * new pages for each message, which takes longer than to copy it. Small ones
 * are kept in two stocks (transport/core/stock.h), up to 224 KiB for each
 * engine.
 *
 * One for each engine of a runtime, and as old as that. Any thread, but init
 * and fini, which run alone when the runtime is made and freed.
 *
 * Called by: rpc/runtime.c (init, fini), rpc/client/async.c (take, give),
 * rpc/client/packed.c (take, give). */
#ifndef VC_TRANSPORT_SPARE_H
#define VC_TRANSPORT_SPARE_H

#include "transport/core/engine.h"
#include "transport/core/memory.h"
#include "transport/core/stock.h"

/* Sizes of the blocks in stock: enough for a short request that is packed, and
 * for an asynchronous call. */
#define VC__SPARE_SHORT 512u
#define VC__SPARE_CALL  3072u
/* Blocks kept of each size. */
#define VC__SPARE_KEPT 64u

struct vc__spare {
    struct vc__engine *engine;
    struct vc__stock of_short, of_call;
    struct vc__store store; /* of longer blocks */
    atomic_bool watched;    /* the timer runs, or the task will start it */
    struct vc__task watch;  /* starts the timer */
    struct vc__timer timer;
};

void vc__spare_init(struct vc__spare *s, struct vc__engine *engine);
/* All memory must have been given back. */
void vc__spare_fini(struct vc__spare *s);

/* Returns size bytes, aligned for any type, not zeroed; NULL without memory.
 * Called for an asynchronous call, by async_alloc() of rpc/client/async.c, and
 * for a request that is packed before it is sent, by packed_alloc() of
 * rpc/client/packed.c. */
void *vc__spare_take(struct vc__spare *s, size_t size);
/* Gives memory back. size: as it was taken with. Called by vc__async_put() and
 * packed_put(). */
void vc__spare_give(struct vc__spare *s, void *memory, size_t size);

#endif
