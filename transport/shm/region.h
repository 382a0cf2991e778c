/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory by which an end of a link sends: a sealed memfd that it writes, and
 * that its peer maps to read. An end never reads its own region: so whatever a
 * peer does, to this region too, it spoils nothing but what it sends, or gets.
 * (F_SEAL_FUTURE_WRITE would keep it from writing, and us from giving memory
 * back.) Nothing is locked in there, and nothing has a name: it is gone when both
 * ends are.
 *
 * Every word has one writer, the owner of the region, and stands on a line of
 * its own (two of 64 bytes, as processors fetch them in pairs):
 *
 * word     says                                   written
 * tail     packets that the owner has published   after all else of it (release)
 * newest   the packet before tail: so who copies  before tail (relaxed); who copies
 *          one fetches no line of an entry        reads it first (acquire)
 * head     packets of the peer's region that the  after their bytes were copied
 *          owner has copied                       (release)
 * asleep   odd: the owner does not look at tail,  before it looks at tail for the
 *          and wants to be woken                  last time (fence)
 *
 * Who has published looks at the other's `asleep` behind a fence: either it sees
 * that the other sleeps, or the other sees what was published. The rings are
 * those of Tachyon and copyrpc, the sleeping word that of io_uring's SQPOLL. */
#ifndef VC_TRANSPORT_SHM_REGION_H
#define VC_TRANSPORT_SHM_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/wire/packet.h"

#define VC__SHM_LINE    128
#define VC__SHM_ENTRIES 64u /* a power of two, above all windows */
/* For a window of the longest packets, and for what the end of the ring wastes. */
#define VC__SHM_DATA (34u * VC__PACKET_MAX)

/* Where a packet is: at a multiple of VC__SHM_ALIGN. */
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
    /* In the first page there is room for what little traffic needs. */
    _Alignas(VC__SHM_LINE) uint8_t data[VC__SHM_DATA];
};

/* What `newest` says of packet n: all of it is in one word, so that nobody sees
 * half of it. It never says 0, which is what a region begins with. */
static inline uint32_t
vc__shm_newest(uint32_t n, uint32_t offset, uint32_t len)
{
    return 1u << 31 | n % 16 << 27 | len << 13 | offset / VC__SHM_ALIGN;
}

_Static_assert(VC__SHM_DATA / VC__SHM_ALIGN <= 1u << 13, "offsets have room");
_Static_assert(VC__PACKET_MAX < 1u << 14, "lengths have room");

/* A region of zeros, whose memfd *fd becomes. NULL and errno. */
struct vc__shm_region *vc__shm_region_make(int *fd);
#define VC__SHM_REGION_CALL "memfd_create() and its seals"

/* Whether this process can make regions at all: 0 or an errno. */
int vc__shm_region_try(void);

/* Maps a peer's region to read it. NULL and errno; EPROTO: the descriptor is
 * none of a region: it is no memfd of this size that nobody can shrink, so that
 * to read it might end this process. */
const struct vc__shm_region *vc__shm_region_map(int fd);

/* NULL is none. */
void vc__shm_region_unmap(const struct vc__shm_region *region);

/* Gives back the data from here on, the end of some page, which becomes zeros. */
#define VC__SHM_KEPT (8192u - offsetof(struct vc__shm_region, data))
void vc__shm_region_trim(struct vc__shm_region *region);

#endif
