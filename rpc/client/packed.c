/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/packed.h. */
#include "rpc/client/packed.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/client/channel.h"
#include "rpc/runtime.h"

/* A packed request. The link may still be sending it when its caller has
 * abandoned the call, so both hold references. */
struct packed {
    struct vc__send send;
    atomic_uint holders;
    struct vc__spare *spare; /* where its memory is from */
    size_t memory;           /* bytes */
    struct vc__watch *watch;
    uint16_t own;   /* metadata of the first attempt: the last bytes */
    uint8_t body[]; /* metadata, message */
};

/* Drops a reference; the last one frees the request. Any thread: for
 * vc__packed_put() and packed_done(). */
static void
packed_put(struct packed *p)
{
    if (atomic_fetch_sub(&p->holders, 1) != 1)
        return;
    if (p->watch != NULL)
        p->watch->drop(p->watch);
    vc__spare_give(p->spare, p, p->memory);
}

/* hold() of a packed request: called when a link gets it, on any thread, under
 * the pool's lock. */
static void
packed_hold(struct vc__send *send)
{
    atomic_fetch_add(&caa_container_of(send, struct packed, send)->holders, 1);
}

/* done() of a packed request: called when the link no longer uses it, on any
 * thread, under the link's lock. The owner of a watch learns if the adapter has
 * all of it. */
static void
packed_done(struct vc__send *send, enum vc__send_end end)
{
    struct packed *p = caa_container_of(send, struct packed, send);

    if (p->watch != NULL && end == VC__SEND_HANDED)
        p->watch->handed(p->watch);
    packed_put(p);
}

/* For vc__packed_new() and vc__packed_copy(): allocates room for both parts of
 * the body, which the caller fills. Returns it with one reference, the
 * attempt's; NULL if memory is short. */
static struct packed *
packed_alloc(struct vc__spare *spare, struct vc__watch *watch, uint16_t before,
             uint32_t size)
{
    size_t memory = sizeof(struct packed) + before + size;
    struct packed *p = vc__spare_take(spare, memory);

    if (p == NULL)
        return NULL;
    vc__send_clear(&p->send);
    atomic_init(&p->holders, 1);
    p->spare = spare;
    p->memory = memory;
    p->watch = watch;
    if (watch != NULL)
        watch->hold(watch);
    p->send.frame.metadata = p->body;
    p->send.frame.metadata_len = before;
    p->send.frame.body_len = size;
    p->send.body = p->body + before;
    p->send.hold = packed_hold;
    p->send.done = packed_done;
    return p;
}

struct vc__send *
vc__packed_new(const struct vc__attempt *u, size_t size)
{
    uint16_t before = u->send.frame.metadata_len;
    struct packed *p = packed_alloc(&u->channel->progress->spare, u->watch,
                                    before, (uint32_t)size);

    if (p == NULL)
        return NULL;
    p->own = before;
    if (before > 0)
        memcpy(p->body, u->packed, before);
    vc__codec_pack(&u->method->request, &u->packing, u->message,
                   p->body + before);
    return &p->send;
}

void
vc__packed_put(struct vc__send *send)
{
    packed_put(caa_container_of(send, struct packed, send));
}

struct vc__send *
vc__packed_copy(const struct vc__send *send, struct vc__watch *watch,
                unsigned attempt)
{
    const struct packed *of = caa_container_of(send, const struct packed, send);
    const uint8_t *own = send->body - of->own;
    uint8_t *ours = NULL;
    uint16_t n = 0;
    struct packed *p;

    if (vc__metadata_pack(NULL, 0, attempt, 0, &ours, &n) != VC_OK)
        return NULL;
    p = packed_alloc(of->spare, watch, (uint16_t)(n + of->own),
                     send->frame.body_len);
    if (p != NULL) {
        p->own = of->own;
        memcpy(p->body, ours, n);
        memcpy(p->body + n, own, (size_t)of->own + send->frame.body_len);
    }
    free(ours);
    return p == NULL ? NULL : &p->send;
}
