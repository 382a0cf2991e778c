/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs the ticks of cm/link/keepalive.c and does what they ask for. The active
 * side asks its peer's process, if that has promised to answer, else its host.
 * The passive side asks only the host, because a client without library threads
 * does not poll between its calls and is still healthy. See
 * cm/link/link_keepalive.h. All of this file runs on the holder of the
 * engine. */
#include "cm/link/link_keepalive.h"

#include <stdio.h>

#include "cm/link/link.h"

static void keepalive_tick(struct vc__timer *timer);

void
vc__link_keepalive_set(struct vc__link *link, uint32_t ms)
{
    link->keepalive.wish_ms = ms;
}

/* --- the timer --------------------------------------------------------- */

/* Starts the timer of the next tick; without memory for it, ends the link.
 * Called when keepalive starts, and after each tick. */
static void
link_keepalive_timer_set(struct vc__link *link)
{
    struct vc__link_keepalive *k = &link->keepalive;

    if (!vc__timer_start(&link->engine->timers, &k->timer, k->state.next,
                         keepalive_tick))
        vc__link_end(link, VC__LINK_EV_BROKEN, VC_RESOURCE_EXHAUSTED,
                     "%s: out of memory for a timer", vc__link_peer(link));
}

void
vc__link_keepalive_start(struct vc__link *link)
{
    struct vc__link_keepalive *k = &link->keepalive;

    if (k->wish_ms == 0 || link->state != VC__LINK_UP)
        return;
    k->asks = link->active && link->accept.keepalive_ms != 0;
    vc__keepalive_init(&k->state, vc__now(), (uint64_t)k->wish_ms * 1000);
    link_keepalive_timer_set(link);
}

/* Counts an unanswered PING in engine->awaiting_answers, or no longer (awaits
 * is false). Called when a PING is sent or answered, and when keepalive
 * stops. */
static void
answer_await(struct vc__link *link, bool awaits)
{
    struct vc__link_keepalive *k = &link->keepalive;

    link->engine->awaiting_answers += (unsigned)awaits - (unsigned)k->awaits;
    k->awaits = awaits;
}

void
vc__link_keepalive_stop(struct vc__link *link)
{
    answer_await(link, false);
    vc__timer_stop(&link->engine->timers, &link->keepalive.timer);
}

/* --- what is asked for ------------------------------------------------- */

/* Sends link->ping or link->answer; these are embedded in the link, so sending
 * needs no memory. One that still waits for a credit is replaced: by the latest
 * answer, or because a broken peer has answered a PING that was not sent. For
 * link_keepalive_ask() and vc__link_ping(). */
static void
ping_send(struct vc__link *link, struct vc__send *s, uint8_t flags,
          uint32_t sequence)
{
    vc__link_unsend(link, s);
    s->flow = &link->control;
    s->frame = (struct vc__frame){
        .type = VC__FRAME_PING, .flags = flags, .sequence = sequence};
    vc__link_send(link, s);
}

/* Sends a PING: a tick asks for it, or vc__link_greet() does. */
static void
link_keepalive_ask(struct vc__link *link)
{
    vc__count(&link->engine->ledger, VC__COUNT_keepalive_pings, 1);
    answer_await(link, true);
    ping_send(link, &link->ping, 0, ++link->keepalive.pings);
}

void
vc__link_greet(struct vc__link *link)
{
    bool mute;

    vc__link_lock(link);
    mute = link->open && link->credit.tx_next == 0 &&
           vc__schedule_is_empty(&link->schedule);
    vc__link_unlock(link);
    if (!mute)
        return;
    link->keepalive.state.ping_out = true;
    link_keepalive_ask(link);
}

/* Asks the peer's host: by a packet if the path may drop the transport's probe,
 * or if a process is being asked, which such a packet does not disturb; else by
 * that probe. If the path may drop the probe and there is no credit for a
 * packet, nothing is asked, and the next tick tries again. Nor is the active
 * end before its first packet, as it has to send first. Returns 0, or an errno:
 * the connection is broken. For probe_send(), under the lock. */
static int
probe_post(struct vc__link *link)
{
    const struct vc__transport *t = link->wire->transport;
    struct vc__link_keepalive *k = &link->keepalive;
    struct vc__ledger *ledger = &link->engine->ledger;
    bool drops = t->drops_probe != NULL && t->drops_probe(link->wire);
    bool begun = link->active || vc__credit_next(&link->credit) > 0;

    if ((drops || (k->asks && t->mark != NULL)) &&
        vc__link_send_marked(link, &k->probed)) {
        vc__count(ledger, VC__COUNT_keepalive_probes, 1);
        vc__count(ledger, VC__COUNT_keepalive_packets, 1);
        return 0;
    }
    if (drops || !begun) {
        vc__count(ledger, VC__COUNT_keepalive_left_out, 1);
        k->state.probe_out = false;
        return 0;
    }
    vc__count(ledger, VC__COUNT_keepalive_probes, 1);
    return t->probe == NULL ? 0 : t->probe(link->wire, &k->probed);
}

/* Asks the peer's host. If the connection is broken, ends the link. For
 * link_keepalive_act(). */
static void
probe_send(struct vc__link *link)
{
    int err;

    vc__link_lock(link);
    err = probe_post(link);
    vc__link_unlock(link);
    if (err != 0)
        vc__link_end(
            link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
            "the connection to %s broke while keepalive asked its host",
            vc__link_peer(link));
}

/* The peer is dead: ends the link as silent. For link_keepalive_act() and
 * dead_process(). */
static void
link_keepalive_dead(struct vc__link *link, const char *why)
{
    uint64_t silence = vc__keepalive_silence(&link->keepalive.state, vc__now());

    link->silent = true;
    vc__count(&link->engine->ledger, VC__COUNT_keepalive_dead, 1);
    vc__link_end(link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                 "%s has not answered for %u ms: %s", vc__link_peer(link),
                 (unsigned)(silence / 1000), why);
}

/* The peer's host answers, its process does not: ends the link as silent. For
 * link_keepalive_act(). */
static void
dead_process(struct vc__link *link)
{
    char why[160];

    snprintf(why, sizeof why,
             "%s, so its process is stopped, or nothing advances its runtime "
             "(option threads, or vc_runtime_poll())",
             link->wire->transport->host_is_up);
    link_keepalive_dead(link, why);
}

/* Does what a tick asks for; may end the link. For keepalive_tick(). */
static void
link_keepalive_act(struct vc__link *link, enum vc__keepalive_act what)
{
    switch (what) {
    case VC__KEEPALIVE_PING:
        link_keepalive_ask(link);
        break;
    case VC__KEEPALIVE_PROBE:
        probe_send(link);
        break;
    case VC__KEEPALIVE_STOPPED:
        link->stopped = true;
        dead_process(link);
        break;
    case VC__KEEPALIVE_LOST:
        link_keepalive_dead(link, "its host or the network on the way is down");
        break;
    case VC__KEEPALIVE_NOTHING:
        break;
    }
}

/* --- a tick ------------------------------------------------------------ */

/* Returns what happened since the last tick, and clears it. For
 * keepalive_tick(). */
static struct vc__keepalive_news
news_of(struct vc__link *link)
{
    const struct vc__transport *t = link->wire->transport;
    struct vc__link_keepalive *k = &link->keepalive;
    struct vc__keepalive_news n = {
        .heard = k->heard, .answered = k->answered, .may_ask = k->asks};

    n.busy = link->ops->busy != NULL && link->ops->busy(link);
    if (k->state.probe_out) {
        vc__link_lock(link);
        n.proven = t->proven == NULL || t->proven(link->wire, k->probed);
        vc__link_unlock(link);
    }
    k->heard = k->answered = false;
    return n;
}

/* The keepalive timer fires, in the engine's loop: does what the tick asks for,
 * and starts the timer again unless that has ended the link. */
static void
keepalive_tick(struct vc__timer *timer)
{
    struct vc__link *link =
        caa_container_of(timer, struct vc__link, keepalive.timer);
    struct vc__keepalive_news news = news_of(link);

    link_keepalive_act(
        link, vc__keepalive_tick(&link->keepalive.state, vc__now(), &news));
    if (link->state == VC__LINK_UP)
        link_keepalive_timer_set(link);
}

/* --- PINGs of the peer ------------------------------------------------- */

/* Takes the answer to our PING. False, with link->breach: it answers no PING,
 * or not the last one. For vc__link_ping(). */
static bool
link_keepalive_answer_take(struct vc__link *link, uint32_t sequence)
{
    struct vc__link_keepalive *k = &link->keepalive;

    if (!k->state.ping_out || k->answered || sequence != k->pings)
        return vc__link_breach(link, "an answer without a PING");
    k->answered = true;
    answer_await(link, false);
    return true;
}

bool
vc__link_ping(struct vc__link *link, const struct vc__frame *f)
{
    /* The passive side's timer runs until the first good packet. */
    if (!link->active && vc__timer_running(&link->timer))
        vc__link_trust(link);
    if (f->flags & VC__FRAME_ANSWER)
        return link_keepalive_answer_take(link, f->sequence);
    link->engine->pings++;
    ping_send(link, &link->answer, VC__FRAME_ANSWER, f->sequence);
    return true;
}
