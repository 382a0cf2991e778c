/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many receives a link promises its peer: few while there is little
 * traffic, more when the peer uses up what it has, within what the device can
 * post for all links. Pure; the link calls it under its lock, on the holder.
 *
 * Called by: link_io.c (all). */
#ifndef VC_CM_WINDOW_H
#define VC_CM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/wire/credit.h"

#define VC__WINDOW_FIRST 8u
#define VC__WINDOW_MIN   4u
#define VC__WINDOW_MAX   32u

struct vc__window {
    uint32_t max;   /* the most for this link */
    uint32_t least; /* the fewest that the peer had left, of late */
    uint32_t seen;  /* packets over which `least` was measured */
};

/* Returns the new size of the window; c->window if there is no change. Called
 * by window_follow() when a packet has arrived and is not handled yet. */
uint32_t vc__window_next(struct vc__window *w, const struct vc__credit *c);

/* Receives that the peer may still use, including that of the packet being
 * handled. If the window is now larger, the window. For window_follow(). */
static inline uint32_t
vc__window_promised(const struct vc__credit *c)
{
    uint32_t open = vc__credit_promised_end(c) - vc__credit_next(c);

    return open > c->window ? open : c->window;
}

#endif
