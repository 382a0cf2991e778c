/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages are taken back from a link: one of which nothing, or not all, was
 * sent, or all of a flow. See cm/link/link.h. Any thread, unless the comment
 * says otherwise. */
#include <stdatomic.h>

#include "cm/link/link.h"

/* Takes back a message of which no byte was sent; or, with `begun`, of which a
 * byte is left. Returns false if it is too late, or the link does not have it.
 * Called without the lock, by vc__link_unsend() and vc__link_cut(). */
static bool
take_back(struct vc__link *link, struct vc__send *s, bool begun)
{
    bool back;

    vc__link_lock(link);
    vc__link_arrivals_take(link);
    back = s->place == VC__SEND_QUEUED && (begun || !atomic_load(&s->gone));
    if (back) {
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    vc__link_flush(link);
    vc__link_unlock(link);
    return back;
}

bool
vc__link_unsend(struct vc__link *link, struct vc__send *s)
{
    return take_back(link, s, false);
}

bool
vc__link_cut(struct vc__link *link, struct vc__send *s)
{
    return take_back(link, s, true);
}

/* The holder, without the lock. Needs no flush: only the holder appends to, or
 * locks, the link of a server, so no push of another thread has failed. Its
 * reply is still queued only if a client breaks the rules, by a call in a slot
 * that is not free. */
void
vc__link_withdraw(struct vc__link *link, struct vc__send *s)
{
    vc__link_lock(link);
    vc__link_arrivals_take(link);
    if (s->place == VC__SEND_QUEUED) {
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    } else if (s->place == VC__SEND_SENT) {
        cds_list_del(&s->node);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    vc__link_unlock(link);
}

bool
vc__link_drop(struct vc__link *link, struct vc__flow *flow)
{
    struct vc__send *s;
    bool open = false;

    vc__link_lock(link);
    vc__link_arrivals_take(link);
    while ((s = vc__flow_any(flow)) != NULL) {
        open |= s->frame.type == VC__FRAME_OPEN;
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    vc__link_flush(link);
    vc__link_unlock(link);
    return open;
}
