/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many receives a link promises its peer: few while it has little to do,
 * more when it uses up what it has, within what the device can post for all.
 * Pure. */
#ifndef VC_CM_WINDOW_H
#define VC_CM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/wire/credit.h"

#define VC__WINDOW_FIRST 8u
#define VC__WINDOW_MIN   4u
#define VC__WINDOW_MAX   32u

struct vc__window {
    uint32_t max;   /* for this link */
    uint32_t least; /* that the peer had left, of late */
    uint32_t seen;  /* packets since then */
};

/* What to change the window to when a packet has arrived, and is not handled
 * yet; c->window when nothing is to be changed. */
uint32_t vc__window_next(struct vc__window *w, const struct vc__credit *c);

/* Receives that are promised, whatever the window is by now, with that of the
 * packet that is being handled. */
static inline uint32_t
vc__window_promised(const struct vc__credit *c)
{
    uint32_t open = vc__credit_promised_end(c) - vc__credit_next(c);

    return open > c->window ? open : c->window;
}

#endif
