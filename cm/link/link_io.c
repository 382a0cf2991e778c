/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Receiving on a link: checks each packet's sequence and credits and passes its
 * frames up. Also opens and closes both directions; sending is in link_send.c.
 * See cm/link/link.h. All of this file runs on the holder of the engine, but
 * vc__link_is_heard() on any thread. */
#include <string.h>

#include "cm/link/link.h"
#include "transport/core/le.h"

/* --- what comes in ----------------------------------------------------- */

/* The peer broke this rule of the protocol: ends the link. Called by
 * frame_refused() and the functions that check or handle a packet. */
static void
link_malformed(struct vc__link *link, const char *what)
{
    vc__link_end(link, VC__LINK_EV_BROKEN, VC_INTERNAL,
                 "%s broke the protocol: %s", vc__link_peer(link), what);
}

/* ops->frame() has refused a frame of the peer. Ends the link: by the rule that
 * the frame broke, or, if there is none, for lack of memory at this end, which
 * is no fault of the peer. Called by frames_handle(). */
static void
frame_refused(struct vc__link *link)
{
    if (link->breach != NULL)
        link_malformed(link, link->breach);
    else
        vc__link_end(link, VC__LINK_EV_BROKEN, VC_RESOURCE_EXHAUSTED,
                     "%s: out of memory for a frame that it has sent",
                     vc__link_peer(link));
}

/* Ends the messages that the peer has acknowledged. For packet_arrived(), under
 * the lock. */
static void
acks_take(struct vc__link *link)
{
    while (!cds_list_empty(&link->sent)) {
        struct vc__send *s =
            cds_list_entry(link->sent.next, struct vc__send, node);

        if (!vc__credit_is_acked(&link->credit, s->packet))
            return;
        cds_list_del(&s->node);
        vc__link_send_end(s, VC__SEND_ACKED);
    }
}

/* Adjusts the receives to the window. New receives are posted before the peer
 * is notified; receives are taken back after the peer has used the last one
 * announced. For packet_arrived(), under the lock. */
static void
window_follow(struct vc__link *link)
{
    struct vc__credit *c = &link->credit;
    struct vc__wire *w = link->wire;
    uint32_t next = vc__window_next(&link->window, c), promised;

    if (next > w->promised &&
        w->transport->promise(w, next - w->promised) != VC_OK) {
        link->window.max = c->window; /* no more available */
        return;
    }
    c->window = next;
    promised = vc__window_promised(c);
    if (w->promised > promised)
        w->transport->release(w, w->promised - promised);
}

/* A packet used a credit and may have granted new ones, so waiting messages may
 * be sent. Messages that it acknowledges end before its frames are handled,
 * because a client calls again when it has the reply. For packet_handle().
 * False: the packet breaks the rule link->breach. */
static bool
packet_arrived(struct vc__link *link, const struct vc__credit_word *word)
{
    bool good;

    vc__link_lock(link);
    good = vc__credit_arrived(&link->credit, word);
    if (!good) {
        vc__link_breach(link, vc__credit_breach(&link->credit, word));
    } else {
        window_follow(link);
        acks_take(link);
        if (!vc__schedule_is_empty(&link->schedule)) {
            link->engine->traffic = true;
            vc__link_flush(link);
        }
    }
    vc__link_unlock(link);
    return good;
}

/* The packet's frames were handled. Only now may the peer be notified, because
 * it may then forget what we have seen. Called by packet_handle(). */
static void
packet_handled(struct vc__link *link)
{
    vc__credit_handled(&link->credit);
    if (vc__credit_is_due(&link->credit)) {
        vc__link_lock(link);
        vc__link_flush(link);
        vc__link_unlock(link);
    } else {
        vc__link_push_arrived(link);
    }
}

/* Checks a frame that needs a feature which the link may not have. Handles a
 * PING itself, passes any other frame to ops->frame(). Result as that of
 * frame_take(), which calls it. */
static bool
frame_take_seldom(struct vc__link *link, const struct vc__frame *f)
{
    const char *breach = vc__features_cover(link->features, f->type)
                             ? NULL
                             : vc__features_breach(link->features, f);

    if (breach != NULL)
        return vc__link_breach(link, breach);
    if (f->type == VC__FRAME_PING)
        return vc__link_ping(link, f);
    link->engine->traffic = true;
    return link->ops->frame(link, f);
}

/* Handles a frame. False: the frame breaks the rule link->breach, or, if that
 * is NULL, this end has no memory to handle it. The frames of calls, whose
 * types come before PING, are passed on without a further look where the link
 * has the first features. For frames_handle(). */
static bool
frame_take(struct vc__link *link, const struct vc__frame *f)
{
    if (f->type >= VC__FRAME_PING || !vc__features_has_first(link->features))
        return frame_take_seldom(link, f);
    link->engine->traffic = true;
    return link->ops->frame(link, f);
}

/* Handles the packet's frames in order, until one is refused, which ends the
 * link, or the link is not up any more. For packet_handle(). */
static void
frames_handle(struct vc__link *link, struct vc__packet_reader *reader)
{
    struct vc__frame f;
    int got;

    while ((got = vc__frame_next(reader, &f)) == 1) {
        if (!frame_take(link, &f)) {
            frame_refused(link);
            return;
        }
        if (link->state != VC__LINK_UP)
            return;
    }
    if (got < 0)
        link_malformed(link, reader->breach);
}

/* A packet with a good header and sequence has come. Called by
 * vc__link_on_received(). Ends the link if the packet breaks a rule. */
static void
packet_handle(struct vc__link *link, struct vc__packet_reader *reader,
              const struct vc__credit_word *word)
{
    if (!packet_arrived(link, word)) {
        link_malformed(link, link->breach);
        return;
    }
    frames_handle(link, reader);
    if (link->state == VC__LINK_UP)
        packet_handled(link);
}

/* Called by the wire for each packet. Checks it and handles its frames; a
 * packet that breaks the protocol ends the link. On a link that is not up, and
 * does not come up by the packet, it is only counted. */
void
vc__link_on_received(struct vc__wire *w, const uint8_t *data, uint32_t len)
{
    struct vc__link *link = vc__link_of(w);
    struct vc__ledger *ledger = &link->engine->ledger;
    struct vc__packet_reader reader;
    struct vc__packet p;

    vc__count(ledger, VC__COUNT_packets_received, 1);
    vc__count(ledger, VC__COUNT_bytes_received, len);

    /* A packet may arrive before the ESTABLISHED event, and implies it. */
    if (link->state != VC__LINK_UP)
        vc__link_event(link, VC__LINK_EV_ESTABLISHED);
    if (link->state != VC__LINK_UP)
        return;
    link->keepalive.heard = true;
    if (!vc__packet_open(&reader, data, len, &p))
        link_malformed(link, "a packet without a header");
    else if (p.sequence != vc__credit_next(&link->credit))
        link_malformed(link, "a packet out of sequence");
    else if (!link->active && p.sequence == 0 && p.count == 0)
        link_malformed(link, "a first packet without an OPEN");
    else if (p.count > vc__link_frames_max(link))
        link_malformed(
            link,
            "several frames in a packet, a feature that was not negotiated");
    else
        packet_handle(link, &reader, &p.word);
}

/* Called by the wire when there may be room to send again. The ticket is for
 * retire() of the transport. */
void
vc__link_on_writable(struct vc__wire *w, uint32_t ticket)
{
    struct vc__link *link = vc__link_of(w);

    vc__link_lock(link);
    w->transport->retire(w, ticket);
    vc__link_flush(link);
    vc__link_unlock(link);
}

/* --- opening and closing ----------------------------------------------- */

_Static_assert((VC__WINDOW_MAX & (VC__WINDOW_MAX - 1)) == 0 &&
                   (VC__WINDOW_MIN & (VC__WINDOW_MIN - 1)) == 0,
               "windows are powers of two");

/* Allocates for no more than `most` receives, and for a power of two, by halves
 * of the most that there is: transports take counters of packets modulo their
 * slots, and those wrap around at 2^32. A peer that wants fewer than the least
 * is promised fewer. For vc__link_prepare(). */
static void
receives_limit(struct vc__receives *r, uint32_t most)
{
    while (r->most > most && r->most > r->least)
        r->most /= 2;
    if (r->first > most)
        r->first = most;
}

enum vc_status
vc__link_prepare(struct vc__link *link)
{
    struct vc__receives receives = {.most = VC__WINDOW_MAX,
                                    .least = VC__WINDOW_MIN,
                                    .first = VC__WINDOW_FIRST};
    uint32_t most = link->credits_max;
    enum vc_status status;

    if (most == 0)
        most = VC__WINDOW_MAX;
    receives_limit(&receives, most);
    status = link->wire->transport->prepare(link->wire, &receives);
    link->window.max = link->wire->window < most ? link->wire->window : most;
    return status;
}

void
vc__link_open_io(struct vc__link *link, uint32_t peer_credits)
{
    vc__link_lock(link);
    vc__credit_init(&link->credit, link->wire->promised, peer_credits);
    link->open = true;
    vc__link_unlock(link);
}

void
vc__link_close_io(struct vc__link *link)
{
    struct vc__send *s, *next;

    vc__link_lock(link);
    link->open = false;
    vc__link_arrivals_take(link);
    while ((s = vc__schedule_clear(&link->schedule)) != NULL)
        vc__link_send_end(s, VC__SEND_LOST);
    cds_list_for_each_entry_safe (s, next, &link->sent, node)
        vc__link_send_end(s, VC__SEND_LOST);
    CDS_INIT_LIST_HEAD(&link->sent);
    vc__link_unlock(link);
}

bool
vc__link_is_heard(struct vc__link *link)
{
    const struct vc__transport *t = link->wire->transport;
    bool heard;

    if (t->heard == NULL)
        return true;
    vc__link_lock(link);
    heard = !link->open || t->heard(link->wire);
    vc__link_unlock(link);
    return heard;
}
