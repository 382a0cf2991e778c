/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/reply_arena.h. vc_message_free() gets only the message's
 * address. So the first allocation, which protobuf_c_message_unpack() makes for
 * the message itself, has a struct front before it. */
#include "rpc/codec/reply_arena.h"

#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "transport/core/handle.h"

/* What stands before a message. The handle tells it from the messages that the
 * program makes itself, and from one that was freed. */
struct front {
    _Alignas(16) struct vc__reply *reply; /* the message keeps its alignment */
    struct vc__handle handle;
};
#define FRONT sizeof(struct front)

/* Bytes of the chunk that a reply in stock keeps, and most replies in stock. */
#define CHUNK     4096
#define STOCK_MAX 64

/* r->allocator.alloc(): called by protobuf-c, by rpc/codec/fast_codec.c or by
 * the unpack() of a type, on the thread that unpacks the message. Returns size
 * bytes, the first ones after a struct front; NULL beyond the cap or without
 * memory. */
static void *
reply_alloc(void *data, size_t size)
{
    struct vc__reply *r = data;
    struct front *front;

    if (!r->first)
        return vc__arena_alloc(&r->arena, size);
    front = vc__arena_alloc(&r->arena, FRONT + size);
    if (front == NULL)
        return NULL;
    r->first = false;
    front->reply = r;
    vc__handle_init(&front->handle, VC__MESSAGE);
    return front + 1;
}

/* r->allocator.free(): called by protobuf-c, on the thread of reply_alloc().
 * Does nothing, as the reply is freed as a whole. */
static void
reply_free_nothing(void *data, void *pointer)
{
    (void)data;
    (void)pointer; /* freed at once, with the reply */
}

void
vc__replies_init(struct vc__replies *rs)
{
    memset(rs, 0, sizeof *rs);
    vc__lock_init(&rs->lock);
}

/* Frees a reply that is not in stock: by vc__replies_fini(), and by
 * vc__reply_give() when the stock is full. */
static void
reply_destroy(struct vc__reply *r)
{
    vc__arena_fini(&r->arena);
    free(r);
}

void
vc__replies_fini(struct vc__replies *rs)
{
    struct vc__reply *spare = atomic_load(&rs->spare);

    if (spare != NULL)
        reply_destroy(spare);
    while (rs->stock != NULL) {
        struct vc__reply *r = rs->stock;

        rs->stock = r->next;
        reply_destroy(r);
    }
}

/* Called by vc__reply_take() when there is no spare reply and none in stock.
 * Returns a new reply, the caller's; NULL without memory. */
static struct vc__reply *
reply_make(struct vc__replies *rs, size_t memory)
{
    struct vc__reply *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    if (vc__arena_init(&r->arena, CHUNK, memory) != 0) {
        free(r);
        return NULL;
    }
    r->home = rs;
    r->allocator.alloc = reply_alloc;
    r->allocator.free = reply_free_nothing;
    r->allocator.allocator_data = r;
    return r;
}

/* Called by vc__reply_take() when there is no spare reply. Returns a reply,
 * which is then the caller's; NULL if none is in stock. */
static struct vc__reply *
stock_take(struct vc__replies *rs)
{
    struct vc__reply *r;

    vc__lock_take(&rs->lock);
    r = rs->stock;
    if (r != NULL) {
        rs->stock = r->next;
        rs->n_stock--;
    }
    vc__lock_give(&rs->lock);
    return r;
}

/* Called by vc__reply_give(): adds the reply to the stock. False if that is
 * full: then the reply is still the caller's. */
static bool
stock_give(struct vc__replies *rs, struct vc__reply *r)
{
    bool keep;

    vc__lock_take(&rs->lock);
    keep = rs->n_stock < STOCK_MAX;
    if (keep) {
        r->next = rs->stock;
        rs->stock = r;
        rs->n_stock++;
    }
    vc__lock_give(&rs->lock);
    return keep;
}

/* Swaps r, which may be NULL, and the spare reply, which it returns, or NULL.
 * For vc__reply_take() and vc__reply_give(). Acquire and release: the thread
 * that takes a reply sees all that the thread did which gave it. */
static struct vc__reply *
spare_swap(struct vc__replies *rs, struct vc__reply *r)
{
    return atomic_exchange_explicit(&rs->spare, r, memory_order_acq_rel);
}

struct vc__reply *
vc__reply_take(struct vc__replies *rs, size_t memory)
{
    struct vc__reply *r = spare_swap(rs, NULL);

    if (r == NULL)
        r = stock_take(rs);
    if (r == NULL)
        r = reply_make(rs, memory + FRONT);
    if (r == NULL)
        return NULL;
    vc__arena_set_cap(&r->arena, memory + FRONT);
    r->first = true;
    return r;
}

void
vc__reply_give(struct vc__reply *r)
{
    vc__arena_reset(&r->arena);
    r = spare_swap(r->home, r);
    if (r != NULL && !stock_give(r->home, r))
        reply_destroy(r);
}

/* Also called by rpc/client and rpc/stream for messages that the program does
 * not get, and by pending_end() (rpc/protobuf_c) when the closure has
 * returned. */
void
vc_message_free(void *message)
{
    struct front *front;

    if (message == NULL)
        return;
    front = (struct front *)message - 1;
    if (!vc__handle_is(&front->handle, VC__MESSAGE)) {
        vc__handle_misuse(&front->handle, VC__MESSAGE, __func__, true);
        return;
    }
    vc__handle_fini(&front->handle);
    vc__reply_give(front->reply);
}
