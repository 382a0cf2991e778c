/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which datagrams of one publisher a member of the group has received, and how
 * many it has lost, by their sequence numbers. Pure; the holder of the engine
 * only. Of the last 64 numbers it is known which ones came, so a datagram that
 * others have overtaken is recognised, and a second copy of one, too.
 *
 * Called by: server_multicast.c (note). */
#ifndef VC_RPC_MULTICAST_LOSS_H
#define VC_RPC_MULTICAST_LOSS_H

#include <stdint.h>

/* Zeroed before the first datagram. */
struct vc__multicast_loss {
    uint64_t first; /* number of the first datagram; 0: none came yet */
    uint64_t last;  /* the highest number */
    uint64_t got;   /* bit i: number last - i has come */
    uint64_t received, lost, late, duplicates;
};

enum vc__multicast_came {
    VC__MULTICAST_NEXT,  /* in order; others may be missing before it */
    VC__MULTICAST_LATE,  /* others have overtaken it */
    VC__MULTICAST_AGAIN, /* a duplicate, or as old that it may be one */
    VC__MULTICAST_WILD,  /* so far ahead that its number is not believed */
};

/* The numbers that a datagram may be ahead of the one before: more are no loss
 * but a forged number. */
#define VC__MULTICAST_AHEAD ((uint64_t)1 << 31)

/* A datagram with this number, which is not 0, has come: counts it, and those
 * that are missing before it. A datagram that comes late no longer counts as
 * lost. The caller drops the last two kinds. Called for each datagram. */
enum vc__multicast_came vc__multicast_loss_note(struct vc__multicast_loss *l,
                                                uint64_t sequence);

#endif
