/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rule of cm/link/window.h: double when the peer was down to its last quarter,
 * halve when it never needed more than a quarter for a while. */
#include "cm/link/window.h"

#define WHILE 256u /* packets */

uint32_t
vc__window_next(struct vc__window *w, const struct vc__credit *c)
{
    uint32_t end = vc__credit_promised_end(c);
    uint32_t left = end - (vc__credit_next(c) + 1);
    bool first = w->seen == 0;

    /* Not again before the peer was told of the last change. */
    if (left * 4 <= c->window && c->window < w->max &&
        end - c->rx_told == c->window) {
        w->seen = 0;
        return c->window * 2 < w->max ? c->window * 2 : w->max;
    }
    if (first || left < w->least)
        w->least = left;
    if (++w->seen < WHILE)
        return c->window;
    w->seen = 0;
    if (w->least * 4 < c->window * 3 || c->window / 2 < VC__WINDOW_MIN)
        return c->window;
    return c->window / 2;
}
