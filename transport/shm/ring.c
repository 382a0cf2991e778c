/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/shm/ring.h and the words of transport/shm/region.h. */
#include "transport/shm/ring.h"

#include <string.h>

#define ALIGN 64u
/* Packets after which the peer is asked what it has copied: to ask costs what the
 * line takes from the other processor. */
#define LOOK_EVERY 8u

/* --- publishing ---------------------------------------------------------- */

/* What the peer has copied. Acquire: the bytes may be written again after it.
 * A peer that says what cannot be spoils what we send to it. */
static void
head_look(struct vc__shm_out *out)
{
    uint32_t head =
        atomic_load_explicit(&out->theirs->head, memory_order_acquire);

    if (out->tail - head <= out->tail - out->head)
        out->head = head;
    if (out->head == out->tail)
        out->write = 0; /* so little traffic stays in few pages */
}

/* Offset of room for the longest packet; false: there is none. Behind a packet
 * that is under way `write` never comes to where that begins: equal means that
 * all is free. */
static bool
room_find(struct vc__shm_out *out)
{
    uint32_t oldest = out->starts[out->head % VC__SHM_ENTRIES];
    bool idle = out->head == out->tail;

    if (out->tail - out->head == VC__SHM_ENTRIES)
        return false;
    out->at = out->write;
    if (idle || out->write >= oldest) {
        if (VC__SHM_DATA - out->write >= VC__PACKET_MAX)
            return true;
        out->at = 0;
        return idle || oldest > VC__PACKET_MAX;
    }
    return oldest - out->write > VC__PACKET_MAX;
}

uint8_t *
vc__shm_out_reserve(struct vc__shm_out *out)
{
    if (out->tail - out->head >= LOOK_EVERY)
        head_look(out);
    if (!room_find(out)) {
        head_look(out);
        if (!room_find(out))
            return NULL;
    }
    return out->mine->data + out->at;
}

void
vc__shm_out_commit(struct vc__shm_out *out, uint32_t len)
{
    struct vc__shm_entry *e = &out->mine->entries[out->tail % VC__SHM_ENTRIES];

    out->starts[out->tail % VC__SHM_ENTRIES] = out->at;
    atomic_store_explicit(&e->offset, out->at, memory_order_relaxed);
    atomic_store_explicit(&e->len, len, memory_order_relaxed);
    out->write = out->at + (len + ALIGN - 1) / ALIGN * ALIGN;
    if (out->write > out->high)
        out->high = out->write;
    /* Release: who sees it sees the entry and the bytes. */
    atomic_store_explicit(&out->mine->tail, ++out->tail, memory_order_release);
}

bool
vc__shm_out_wakes(struct vc__shm_out *out)
{
    uint32_t asleep;

    /* Pairs with that in vc__shm_in_sleep(). */
    atomic_thread_fence(memory_order_seq_cst);
    asleep = atomic_load_explicit(&out->theirs->asleep, memory_order_relaxed);
    if (asleep % 2 == 0 || asleep == out->woken)
        return false;
    out->woken = asleep;
    return true;
}

void
vc__shm_out_trim(struct vc__shm_out *out)
{
    head_look(out);
    if (out->head != out->tail || out->high <= VC__SHM_KEPT)
        return;
    vc__shm_region_trim(out->mine);
    out->high = VC__SHM_KEPT;
}

/* --- copying out --------------------------------------------------------- */

int
vc__shm_in_take(struct vc__shm_in *in, uint8_t *out)
{
    /* Acquire: pairs with vc__shm_out_commit(). */
    uint32_t tail =
        atomic_load_explicit(&in->theirs->tail, memory_order_acquire);
    const struct vc__shm_entry *e =
        &in->theirs->entries[in->head % VC__SHM_ENTRIES];
    uint32_t offset, len;

    if (tail == in->head)
        return -1;
    /* Each once: the peer may change it at any time. */
    offset = atomic_load_explicit(&e->offset, memory_order_relaxed);
    len = atomic_load_explicit(&e->len, memory_order_relaxed);
    if (tail - in->head > VC__SHM_ENTRIES || len > VC__PACKET_MAX ||
        offset > VC__SHM_DATA - len)
        return -2;
    memcpy(out, in->theirs->data + offset, len);
    /* Release: the bytes were read before they may be written again. */
    atomic_store_explicit(&in->mine->head, ++in->head, memory_order_release);
    return (int)len;
}

static void
asleep_set(struct vc__shm_in *in, uint32_t asleep)
{
    in->asleep = asleep;
    atomic_store_explicit(&in->mine->asleep, asleep, memory_order_relaxed);
}

bool
vc__shm_in_sleep(struct vc__shm_in *in)
{
    asleep_set(in, in->asleep | 1);
    /* Pairs with that in vc__shm_out_wakes(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (vc__shm_in_is_empty(in))
        return true;
    vc__shm_in_wake(in);
    return false;
}

void
vc__shm_in_wake(struct vc__shm_in *in)
{
    if (in->asleep % 2 == 1)
        asleep_set(in, in->asleep + 1);
}
