/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names to listen at, and requests. See transport/inproc/wire.h, which says who
 * calls each function, and on which thread. */
#include <string.h>

#include "transport/inproc/wire.h"

static CDS_LIST_HEAD(ears); /* vc__inproc_lock() */

/* The ear of inproc that has this head. For listen() and unlisten(). */
static struct vc__inproc_ear *
inproc_ear_of(struct vc__ear *ear)
{
    return caa_container_of(ear, struct vc__inproc_ear, ear);
}

struct vc__inproc_ear *
vc__inproc_find(const struct sockaddr_storage *addr)
{
    uint8_t key[VC__ADDR_KEY], its[VC__ADDR_KEY];
    struct vc__inproc_ear *e;

    vc__addr_key(addr, key);
    cds_list_for_each_entry (e, &ears, node) {
        vc__addr_key(&e->addr, its);
        if (memcmp(its, key, sizeof key) == 0)
            return e;
    }
    return NULL;
}

/* Puts the ear into the list of listeners, if the name is free. */
enum vc_status
vc__inproc_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__inproc_ear *e = inproc_ear_of(ear);
    char text[VC__ADDR_TEXT];

    CDS_INIT_LIST_HEAD(&e->asking);
    vc__addr_copy(&e->addr, addr);
    vc__inproc_lock();
    e->listens = vc__inproc_find(&e->addr) == NULL;
    if (e->listens)
        cds_list_add(&e->node, &ears);
    vc__inproc_unlock();
    if (e->listens)
        return VC_OK;
    return vc__fail(VC_UNAVAILABLE,
                    "cannot listen at %s: another server of this process "
                    "listens there; use another name",
                    vc__addr_text(addr, text));
}

/* Takes the ear out of the list of listeners, and refuses the requests that it
 * has not handled yet. Does nothing to an ear that does not listen. */
void
vc__inproc_unlisten(struct vc__ear *ear)
{
    struct vc__inproc_ear *e = inproc_ear_of(ear);
    struct vc__inproc_half *half, *next;

    if (!e->listens)
        return;
    vc__inproc_lock();
    cds_list_del(&e->node);
    /* Refuse them here: it may be long before their REQUEST is handled. */
    cds_list_for_each_entry_safe (half, next, &e->asking, asks) {
        half->ear = NULL;
        vc__inproc_tell(half, VC__INPROC_REFUSAL, "", 0);
    }
    e->listens = false;
    vc__inproc_unlock();
}

/* Names have no port. */
uint16_t
vc__inproc_port(const struct vc__ear *ear)
{
    (void)ear;
    return 0;
}

/* --- requests ------------------------------------------------------------ */

/* Called by vc__inproc_reject(), on the holder of any engine: answers the
 * request, and ends the half. */
static void
inproc_turn_away(struct vc__inproc_half *half, const void *data, size_t len)
{
    vc__inproc_lock();
    vc__inproc_tell(half, VC__INPROC_REFUSAL, data, len);
    vc__inproc_unlock();
    vc__inproc_end(half);
}

void
vc__inproc_request(struct vc__context *c, struct vc__inproc_half *half)
{
    struct vc__incoming in = {.context = c, .handle = half};
    struct vc__inproc_ear *e;

    in.peer.ss_family = AF_UNIX; /* unnamed */
    vc__inproc_lock();
    e = half->ear;
    if (e != NULL)
        cds_list_del(&half->asks);
    half->ear = NULL;
    vc__inproc_unlock();
    /* Safe without the lock: only the engine's holder, this thread, closes its
     * ears. */
    if (e == NULL)
        vc__inproc_end(half);
    else
        e->ear.ops->request(&e->ear, &in, half->said, half->said_len);
}

/* Answers the request, and ends its half. */
void
vc__inproc_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    inproc_turn_away(in->handle, data, len);
}
