/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The two halves of a ring in a region: the one that publishes packets, under
 * the lock of a link, and the one that copies them out, of the engine's holder.
 * What is read of a peer's region is read once, and checked before it is used. */
#ifndef VC_TRANSPORT_SHM_RING_H
#define VC_TRANSPORT_SHM_RING_H

#include "transport/shm/region.h"

/* Of our own region. */
struct vc__shm_out {
    struct vc__shm_region *mine;
    const struct vc__shm_region *theirs;
    uint32_t tail;  /* packets published */
    uint32_t head;  /* of those, copied by the peer, as we have seen */
    uint32_t write; /* where the next may begin */
    uint32_t at;    /* where the one begins that was reserved */
    uint32_t high;  /* what has been written to, since a trim */
    uint32_t woken; /* the peer's sleep that we have ended */
    uint32_t starts[VC__SHM_ENTRIES];
};

/* Room for one more packet; NULL: the peer has not copied those before. */
uint8_t *vc__shm_out_reserve(struct vc__shm_out *out);
/* Publishes it. */
void vc__shm_out_commit(struct vc__shm_out *out, uint32_t len);
/* Must the peer be woken, for what was published? Once for each of its sleeps. */
bool vc__shm_out_wakes(struct vc__shm_out *out);
/* Gives back what a burst has written to, if nothing is under way. */
void vc__shm_out_trim(struct vc__shm_out *out);

/* Of the peer's region. */
struct vc__shm_in {
    struct vc__shm_region *mine;
    const struct vc__shm_region *theirs;
    uint32_t head;   /* packets copied */
    uint32_t asleep; /* as in our region */
};

/* Is there a packet? Without a barrier. */
static inline bool
vc__shm_in_is_empty(const struct vc__shm_in *in)
{
    return atomic_load_explicit(&in->theirs->tail, memory_order_relaxed) ==
           in->head;
}

/* Copies the next packet to out, of VC__PACKET_MAX bytes; its length. -1: there
 * is none. -2: what the region says cannot be. */
int vc__shm_in_take(struct vc__shm_in *in, uint8_t *out);

/* From now on the owner does not look: the peer is to wake it; false: something
 * has come meanwhile, and it does look. */
bool vc__shm_in_sleep(struct vc__shm_in *in);
/* It looks again. */
void vc__shm_in_wake(struct vc__shm_in *in);

#endif
