/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The two halves of a ring in a region. The publishing half is used by any
 * thread, under the lock of a link, the copying half by the holder of the
 * engine. A word of a peer's region is read once, and checked before use.
 *
 * Called by: wire.c (shm_out_reserve, shm_out_commit, shm_out_wakes,
 * shm_out_trim, shm_in_take), ring.c (shm_in_is_empty, shm_in_wake), context.c
 * (shm_in_sleep, shm_in_wake). */
#ifndef VC_TRANSPORT_SHM_RING_H
#define VC_TRANSPORT_SHM_RING_H

#include "transport/shm/region.h"

/* Publishing, into our own region. */
struct vc__shm_out {
    struct vc__shm_region *mine;
    const struct vc__shm_region *theirs;
    uint32_t tail;  /* packets published */
    uint32_t head;  /* of those, copied by the peer, as last seen */
    uint32_t write; /* where the next packet may begin */
    uint32_t at;    /* where the reserved packet begins */
    uint32_t high;  /* end of the data written to since a trim */
    uint32_t woken; /* the peer's `asleep` at our last wakeup */
    uint32_t starts[VC__SHM_ENTRIES];
};

/* Called by the wire's reserve(), commit(), flush() and probe(), in this order,
 * under the link's lock. */

/* Room for the longest packet; NULL: the peer must copy earlier ones first. */
uint8_t *vc__shm_out_reserve(struct vc__shm_out *out);
/* Publishes the reserved packet, of len bytes. */
void vc__shm_out_commit(struct vc__shm_out *out, uint32_t len);
/* True if the peer must be woken for what was published; once for each of its
 * sleeps. */
bool vc__shm_out_wakes(struct vc__shm_out *out);
/* Gives back the memory that a burst has touched, if no packet is
 * outstanding. */
void vc__shm_out_trim(struct vc__shm_out *out);

/* Copying, from the peer's region. */
struct vc__shm_in {
    struct vc__shm_region *mine;
    const struct vc__shm_region *theirs;
    uint32_t head;   /* packets copied */
    uint32_t asleep; /* the value in our region */
};

/* True if there is no packet. Without a barrier. For vc__shm_in_sleep(). */
static inline bool
vc__shm_in_is_empty(const struct vc__shm_in *in)
{
    return atomic_load_explicit(&in->theirs->tail, memory_order_relaxed) ==
           in->head;
}

/* Called by vc__shm_read(). Copies the next packet to out, of VC__PACKET_MAX
 * bytes, and returns its length. -1: there is none. -2: the values in the
 * region are invalid. */
int vc__shm_in_take(struct vc__shm_in *in, uint8_t *out);

/* Stops polling: the peer must wake the owner. False: a packet was published
 * meanwhile, so the owner keeps polling. Called by context.c, before the
 * engine sleeps or when nothing comes. */
bool vc__shm_in_sleep(struct vc__shm_in *in);
/* The owner polls again. Called by vc__shm_heat(), and by vc__shm_in_sleep()
 * when that returns false. */
void vc__shm_in_wake(struct vc__shm_in *in);

#endif
