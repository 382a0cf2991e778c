/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rule; see cm/link/window.h. Double the window if the peer was down to its
 * last quarter; halve it if the peer never needed more than a quarter for a
 * while. A small window is for peers that send one packet at a time. Two at a
 * time are half of it, so that each time a packet of its own would report them
 * (vc__credit_is_due()). */
#include "cm/link/window.h"

#define WHILE 256u /* packets */

/* True if the peer had so few left that its window must grow. For
 * vc__window_next(). */
static bool
is_short(const struct vc__credit *c, uint32_t left)
{
    return left * (c->window < VC__WINDOW_FIRST ? 2 : 4) <= c->window;
}

/* True if half the window would be enough, if `least` were always left. For
 * vc__window_next(). */
static bool
is_ample(const struct vc__credit *c, uint32_t least)
{
    if (c->window / 2 < VC__WINDOW_FIRST)
        return c->window - least <= 1;
    return least * 4 >= c->window * 3;
}

uint32_t
vc__window_next(struct vc__window *w, const struct vc__credit *c)
{
    uint32_t end = vc__credit_promised_end(c);
    uint32_t left = end - (vc__credit_next(c) + 1);
    bool first = w->seen == 0;

    /* Not again before the peer was notified of the last change. */
    if (is_short(c, left) && c->window < w->max &&
        end - c->rx_reported == c->window) {
        w->seen = 0;
        return c->window * 2 < w->max ? c->window * 2 : w->max;
    }
    if (first || left < w->least)
        w->least = left;
    if (++w->seen < WHILE)
        return c->window;
    w->seen = 0;
    if (!is_ample(c, w->least) || c->window / 2 < VC__WINDOW_MIN)
        return c->window;
    return c->window / 2;
}
