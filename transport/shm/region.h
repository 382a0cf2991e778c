/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory by which an end of a link sends: a sealed memfd that this end
 * writes, and that its peer maps to read. An end never reads its own region. So
 * whatever a peer does, even to this region, can corrupt only what that peer
 * sends or receives. (F_SEAL_FUTURE_WRITE would keep the peer from writing, but
 * also us from giving memory back.) A region has no locks and no name: it is
 * gone when both ends are.
 *
 * Every word has one writer, the owner of the region, and a cache line of its
 * own (two of 64 bytes, as processors fetch them in pairs):
 *
 * word     holds                                  written
 * tail     number of packets that the owner has   after all else of the packet
 *          published                              (release)
 * newest   place of the last published packet:    before tail (relaxed); read
 *          so readers need no entry's line        before tail (acquire)
 * head     number of packets of the peer's        after their bytes were copied
 *          region that the owner has copied       (release)
 * asleep   odd: the owner does not poll tail,     before the owner reads tail
 *          and must be woken                      for the last time (fence)
 *
 * After publishing, an end reads the other's `asleep` after a fence: either
 * this end sees that the other sleeps, or the other sees what was published.
 * The rings are those of Tachyon and copyrpc, `asleep` is that of io_uring's
 * SQPOLL.
 *
 * Any thread: the functions have no state of their own. A region is trimmed
 * under the lock of its link; no other thread may use a region that is
 * unmapped.
 *
 * Called by: ring.c (shm_newest, shm_region_trim), region.c (shm_region_make,
 * shm_region_unmap), wire.c (shm_region_make, shm_region_unmap), listen.c
 * (shm_region_try, shm_region_map, shm_region_unmap), connect.c
 * (shm_region_map). */
#ifndef VC_TRANSPORT_SHM_REGION_H
#define VC_TRANSPORT_SHM_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/wire/packet.h"

#define VC__SHM_LINE    128
#define VC__SHM_ENTRIES 64u /* a power of two, more than any window */
/* Room for a window of the longest packets, and for the waste at the ring's
 * end. */
#define VC__SHM_DATA (34u * VC__PACKET_MAX)

/* Where a packet is; offset is a multiple of VC__SHM_ALIGN. */
struct vc__shm_entry {
    atomic_uint offset, len;
};
#define VC__SHM_ALIGN 64u

struct vc__shm_region {
    _Alignas(VC__SHM_LINE) atomic_uint tail;
    atomic_uint newest; /* see vc__shm_newest() */
    _Alignas(VC__SHM_LINE) atomic_uint head;
    _Alignas(VC__SHM_LINE) atomic_uint asleep;
    _Alignas(VC__SHM_LINE) struct vc__shm_entry entries[VC__SHM_ENTRIES];
    /* The part in the first page is enough for little traffic. */
    _Alignas(VC__SHM_LINE) uint8_t data[VC__SHM_DATA];
};

/* The value of `newest` for packet n. One word holds all of it, so that no
 * reader sees half of it. It is never 0, the initial value of a region. Called
 * by ring.c, when a packet is published and when one is copied. */
static inline uint32_t
vc__shm_newest(uint32_t n, uint32_t offset, uint32_t len)
{
    return 1u << 31 | n % 16 << 27 | len << 13 | offset / VC__SHM_ALIGN;
}

_Static_assert(VC__SHM_DATA / VC__SHM_ALIGN <= 1u << 13, "offsets have room");
_Static_assert(VC__PACKET_MAX < 1u << 14, "lengths have room");

/* Creates a region of zeros, and its memfd *fd; the caller unmaps and closes
 * them. NULL and errno on failure. Called when a wire is prepared, and by
 * vc__shm_region_try(). */
struct vc__shm_region *vc__shm_region_make(int *fd);
#define VC__SHM_REGION_CALL "memfd_create() and its seals"

/* Tests whether this process can create regions: 0 or an errno. Called
 * by vc__shm_listen(). */
int vc__shm_region_try(void);

/* Maps a peer's region for reading; the caller unmaps it, and still owns fd.
 * NULL and errno on failure. EPROTO: fd is not a region, a memfd of this size
 * that nobody can shrink; reading anything else might end this process. Called
 * when a hello or an accept has come. */
const struct vc__shm_region *vc__shm_region_map(int fd);

/* Unmaps a region of this end or of the peer. NULL is allowed. Called when a
 * wire is freed or cannot be prepared, when a request is rejected, and by
 * vc__shm_region_try(). */
void vc__shm_region_unmap(const struct vc__shm_region *region);

/* Gives back the memory of data from here on, which is the end of a page; it
 * becomes zeros. Called by vc__shm_out_trim(). */
#define VC__SHM_KEPT (8192u - offsetof(struct vc__shm_region, data))
void vc__shm_region_trim(struct vc__shm_region *region);

#endif
