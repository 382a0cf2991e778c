/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/shm/ring.h and the table of words in transport/shm/region.h. */
#include "transport/shm/ring.h"

#include <string.h>

#include "transport/core/fence.h"

/* Outstanding packets from which on the peer's head is read: each read fetches
 * the cache line from the other CPU. */
#define LOOK_EVERY 8u

/* --- publishing ---------------------------------------------------------- */

/* Reads how many packets the peer has copied. Acquire: their bytes may be
 * overwritten only after it. Impossible values are ignored; a false one
 * corrupts only what we send to this peer. Called by reserve and trim. */
static void
head_look(struct vc__shm_out *out)
{
    uint32_t head =
        atomic_load_explicit(&out->theirs->head, memory_order_acquire);

    if (out->tail - head <= out->tail - out->head)
        out->head = head;
    if (out->head == out->tail)
        out->write = 0; /* so that little traffic uses few pages */
}

/* Sets `at` to room for the longest packet. True: there is room; false: there
 * is none. While a packet is outstanding, `write` never reaches the start of
 * the oldest one from below: equal means that all is free. Called by
 * vc__shm_out_reserve(). */
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
    atomic_store_explicit(&out->mine->newest,
                          vc__shm_newest(out->tail, out->at, len),
                          memory_order_relaxed);
    out->write =
        out->at + (len + VC__SHM_ALIGN - 1) / VC__SHM_ALIGN * VC__SHM_ALIGN;
    if (out->write > out->high)
        out->high = out->write;
    /* Release: a reader of tail sees the entry and the bytes, too. */
    atomic_store_explicit(&out->mine->tail, ++out->tail, memory_order_release);
}

bool
vc__shm_out_wakes(struct vc__shm_out *out)
{
    uint32_t asleep;

    /* Pairs with the fence in vc__shm_in_sleep(). */
    vc__fence();
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

/* Where the next packet is. Each word is read once, because the peer may change
 * it at any time. */
struct place {
    uint32_t offset, len;
};

/* Called by vc__shm_in_take() when there is a packet: returns where it is. The
 * result is not checked yet. If tail is one ahead, `newest`, which was read
 * before tail, belongs to the packet before, to this one or to the next; its
 * number says which. */
static struct place
shm_place_of(const struct vc__shm_in *in, uint32_t tail, uint32_t newest)
{
    const struct vc__shm_entry *e =
        &in->theirs->entries[in->head % VC__SHM_ENTRIES];

    if (tail - in->head == 1 &&
        newest >> 27 == vc__shm_newest(in->head, 0, 0) >> 27)
        return (struct place){
            newest % (1u << 13) * VC__SHM_ALIGN,
            newest >> 13 & ((1u << 14) - 1),
        };
    return (struct place){
        atomic_load_explicit(&e->offset, memory_order_relaxed),
        atomic_load_explicit(&e->len, memory_order_relaxed),
    };
}

/* Called by vc__shm_in_take(): copies a packet. Most packets are short: copying
 * pieces of constant size takes few instructions. Source and destination have
 * room for whole pieces. */
static void
bytes_copy(uint8_t *restrict to, const uint8_t *restrict from, uint32_t len)
{
    if (len > 4 * VC__SHM_ALIGN) {
        memcpy(to, from, len);
        return;
    }
    for (uint32_t i = 0; i < len; i += VC__SHM_ALIGN)
        memcpy(to + i, from + i, VC__SHM_ALIGN);
}

int
vc__shm_in_take(struct vc__shm_in *in, uint8_t *out)
{
    /* Acquire: must be read before tail. */
    uint32_t newest =
        atomic_load_explicit(&in->theirs->newest, memory_order_acquire);
    /* Acquire: pairs with vc__shm_out_commit(). */
    uint32_t tail =
        atomic_load_explicit(&in->theirs->tail, memory_order_acquire);
    struct place p;

    if (tail == in->head)
        return -1;
    if (tail - in->head > VC__SHM_ENTRIES)
        return -2;
    p = shm_place_of(in, tail, newest);
    if (p.len > VC__PACKET_MAX || p.offset % VC__SHM_ALIGN != 0 ||
        p.offset > VC__SHM_DATA - p.len)
        return -2;
    bytes_copy(out, in->theirs->data + p.offset, p.len);
    /* Release: the bytes must be read before the peer may overwrite them. */
    atomic_store_explicit(&in->mine->head, ++in->head, memory_order_release);
    return (int)p.len;
}

/* Called by vc__shm_in_sleep() and vc__shm_in_wake(), on the holder: writes to
 * our region that this end stops polling, or polls again. */
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
    /* Pairs with the fence in vc__shm_out_wakes(). */
    vc__fence();
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
