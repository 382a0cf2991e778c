/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a link: events of its wire and of its own timer go through the
 * table of cm/link/link_state.c; the resulting actions are carried out here.
 * What only one side does is in link_connect.c and link_accept.c, moving
 * packets in link_io.c. See cm/link/link.h. All of this file runs on the holder
 * of the engine. link_on_ready(), on_established(), on_left(), link_on_failed()
 * and on_removed() are callbacks of the wire, which its transport calls. */
#include "cm/link/link.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/core/invariant.h"

/* How long the peer may take to confirm our disconnect; rdma_cm itself would
 * wait 102 s for a process that does not react. */
#define LEAVE_MS 1000

static const struct vc__wire_ops wire_ops;
static void link_reap(struct vc__task *task);
static void link_on_broken(struct vc__task *task);

static const uint8_t link_counts[VC__LINK_COUNTS] = {
    [VC__LINK_PACKETS_SENT] = VC__COUNT_packets_sent,
    [VC__LINK_BYTES_SENT] = VC__COUNT_bytes_sent,
    [VC__LINK_PACKETS_OF_CREDITS] = VC__COUNT_packets_of_credits,
    [VC__LINK_STALLS_CREDITS] = VC__COUNT_stalls_credits,
    [VC__LINK_STALLS_BUFFERS] = VC__COUNT_stalls_buffers,
};

void
vc__link_init(struct vc__link *link, struct vc__context *context, void *wire,
              const struct vc__link_ops *ops, uint32_t timeout_ms)
{
    memset(link, 0, sizeof *link);
    link->ops = ops;
    link->engine = context->engine;
    link->wire = wire;
    link->wire->transport = context->transport;
    link->wire->context = context;
    link->wire->ops = &wire_ops;
    link->wire->owner = link;
    link->wire->opts = VC__WIRE_OPTS;
    link->timeout_ms = link->said_ms = timeout_ms;
    link->reap.run = link_reap;
    link->broken.run = link_on_broken;
    vc__lock_init(&link->lock);
    __cds_wfcq_init(&link->arrivals, &link->arrivals_tail);
    vc__schedule_init(&link->schedule);
    vc__flow_init(&link->control, VC__WEIGHT_MAX);
    link->control.urgent = true;
    CDS_INIT_LIST_HEAD(&link->sent);
    vc__tally_open(&link->tally, &link->engine->ledger, link_counts,
                   VC__LINK_COUNTS);
}

void
vc__link_fini(struct vc__link *link)
{
    vc__invariant(cds_list_empty(&link->sent) && link->alone == NULL &&
                  vc__schedule_is_empty(&link->schedule));
    vc__tally_close(&link->tally, &link->engine->ledger);
}

/* --- timer ------------------------------------------------------------- */

/* Called by link_on_timer(): the connect timeout of the active side has
 * elapsed. Ends the link. */
static void
link_on_silence(struct vc__link *link)
{
    if (link->state == VC__LINK_ASKED)
        vc__link_end(link, VC__LINK_EV_TIMEOUT, VC_UNAVAILABLE,
                     "%s: connection request sent, no answer within %u ms; is "
                     "it a Verbcall server, and is a thread of its runtime "
                     "running (option threads), or does its program call "
                     "vc_runtime_poll()?",
                     vc__link_peer(link), link->said_ms);
    else
        vc__link_end(link, VC__LINK_EV_TIMEOUT, VC_UNAVAILABLE,
                     "%s: no route to it was found within the connect timeout "
                     "of %u ms; is the address right, its host up, and no "
                     "firewall between?",
                     vc__link_peer(link), link->said_ms);
}

/* link->timer fires, in the engine's loop: of connecting, of a client's first
 * packet, or of a disconnect. Ends the link. */
static void
link_on_timer(struct vc__timer *timer)
{
    struct vc__link *link = caa_container_of(timer, struct vc__link, timer);

    if (link->state == VC__LINK_LEAVING)
        vc__link_event(link, VC__LINK_EV_TIMEOUT);
    else if (link->active)
        link_on_silence(link);
    else
        vc__link_end(link, VC__LINK_EV_TIMEOUT, VC_UNAVAILABLE,
                     "%s has sent no packet within %u ms of its hello",
                     vc__link_peer(link), link->timeout_ms);
}

void
vc__link_timer(struct vc__link *link, uint32_t ms)
{
    struct vc__timers *timers = &link->engine->timers;

    /* Without a timer the link could wait for ever. */
    if (!vc__timer_start(timers, &link->timer, vc__after_ms(vc__now(), ms),
                         link_on_timer))
        vc__link_end(link, VC__LINK_EV_REMOVED, VC_RESOURCE_EXHAUSTED,
                     "%s: out of memory for a timer", vc__link_peer(link));
}

/* Stops link->timer. Called by vc__link_trust(), and by take_apart(). */
static void
timer_stop(struct vc__link *link)
{
    vc__timer_stop(&link->engine->timers, &link->timer);
}

void
vc__link_trust(struct vc__link *link)
{
    if (link->state != VC__LINK_UP)
        return;
    timer_stop(link);
    if (link->ops->trusted != NULL)
        link->ops->trusted(link);
}

/* --- actions ----------------------------------------------------------- */

/* Stops keepalive and sending, then calls ops->down(); once. Called by
 * link_act() and link_leave(). */
static void
tell_down(struct vc__link *link)
{
    if (link->is_down)
        return;
    link->is_down = true;
    vc__link_keepalive_stop(link);
    vc__link_close_io(link);
    link->ops->down(link);
}

/* Has link_reap() destroy the wire and call ops->gone(), later. Called by
 * link_act() when the link is gone. */
static void
take_apart(struct vc__link *link)
{
    timer_stop(link);
    /* Posted after `broken`, if that is posted, so that it cannot run after the
     * link was freed. */
    vc__engine_post(link->engine, &link->reap);
}

/* A task, posted by take_apart() or vc__link_push_held(). So it never runs
 * inside a callback of the wire, which it destroys. */
static void
link_reap(struct vc__task *task)
{
    struct vc__link *link = caa_container_of(task, struct vc__link, reap);

    /* A thread that appended before ops->down() is about to push, and will find
     * the link closed. The last such thread posts this task again. Acquire:
     * pairs with vc__link_push_held(). */
    if ((atomic_fetch_or_explicit(&link->pushers, VC__LINK_REAPED,
                                  memory_order_acq_rel) &
         ~VC__LINK_REAPED) > 0)
        return;
    link->wire->transport->fini(link->wire);
    link->ops->gone(link);
}

/* Called by link_act(). Disconnects; the peer's confirmation, or the timer,
 * ends the link. */
static void
link_leave(struct vc__link *link)
{
    tell_down(link);
    if (link->wire->transport->leave(link->wire))
        vc__link_timer(link, LEAVE_MS);
    else /* not established, or no device: no answer will come */
        vc__link_event(link, VC__LINK_EV_LEFT);
}

/* Carries out an action of the table, for vc__link_event(). ops->up() or
 * ops->down() may run inside, and may end the link. */
static void
link_act(struct vc__link *link, enum vc__link_action action)
{
    switch (action) {
    case VC__LINK_DO_GO_UP:
        link->ops->up(link);
        vc__link_keepalive_start(link);
        if (link->active)
            vc__link_greet(link);
        break;
    case VC__LINK_DO_LEAVE:
        link_leave(link);
        break;
    case VC__LINK_DO_ANSWER:
        tell_down(link);
        link->wire->transport->leave(link->wire);
        take_apart(link);
        break;
    case VC__LINK_DO_FAIL:
        tell_down(link);
        take_apart(link);
        break;
    case VC__LINK_DO_REAP:
        take_apart(link);
        break;
    case VC__LINK_DO_ASK:
        vc__link_ask(link);
        break;
    case VC__LINK_DO_NOTHING:
        break;
    }
}

/* True if the link waits for an event of its wire. For awaiting_count(). */
static bool
waits_for_wire(enum vc__link_state state)
{
    return state != VC__LINK_NEW && state != VC__LINK_UP &&
           state != VC__LINK_GONE;
}

/* Updates engine->awaiting_wires after a change of state. Called by
 * vc__link_event(). */
static void
awaiting_count(struct vc__link *link)
{
    bool awaits = waits_for_wire(link->state);
    unsigned *count = &link->engine->awaiting_wires;

    if (awaits && !link->awaits_wire)
        ++*count;
    else if (!awaits && link->awaits_wire)
        --*count;
    link->awaits_wire = awaits;
}

/* The gauge that counts a link in this state, plus 1; 0: none. For
 * step_count(). */
static unsigned
gauge_of(enum vc__link_state state)
{
    static const uint8_t gauges[] = {
        [VC__LINK_DIALLING] = 1 + VC__COUNT_links_connecting,
        [VC__LINK_ASKED] = 1 + VC__COUNT_links_connecting,
        [VC__LINK_OFFERED] = 1 + VC__COUNT_links_connecting,
        [VC__LINK_UP] = 1 + VC__COUNT_links_up,
        [VC__LINK_LEAVING] = 1 + VC__COUNT_links_leaving,
        [VC__LINK_GONE] = 0,
    };

    return gauges[state];
}

/* Adds n to a gauge of gauge_of(), and to the gauge of the link's side. For
 * step_count(). */
static void
gauge_count(struct vc__ledger *l, unsigned gauge, bool active, int64_t n)
{
    if (gauge == 0)
        return;
    vc__count(l, (enum vc__count)(gauge - 1), n);
    vc__count(l, active ? VC__COUNT_links_client : VC__COUNT_links_server, n);
}

/* The counter for a link that ends by this event. up: the link was up; else it
 * has failed to come up. For step_count(). */
static enum vc__count
link_end_of(bool up, enum vc__link_event event)
{
    if (event == VC__LINK_EV_CLOSE && up)
        return VC__COUNT_links_closed;
    if (event == VC__LINK_EV_LEFT && up)
        return VC__COUNT_links_left;
    if (up)
        return VC__COUNT_links_lost;
    return event == VC__LINK_EV_REFUSED ? VC__COUNT_links_refused
                                        : VC__COUNT_links_failed;
}

/* Counts a link that has come up. For step_count(). */
static void
made_count(struct vc__ledger *l, const struct vc__transport *transport)
{
    vc__count(l, VC__COUNT_links_made, 1);
    vc__count(l, transport->made, 1);
}

/* Counts a change of state in the engine's ledger. Called by vc__link_event(),
 * before the change. */
static void
step_count(const struct vc__link *link, enum vc__link_state next,
           enum vc__link_event event)
{
    struct vc__ledger *l = &link->engine->ledger;
    unsigned was = gauge_of(link->state), is = gauge_of(next);
    bool up = link->state == VC__LINK_UP;

    if (was == is)
        return;
    gauge_count(l, was, link->active, -1);
    gauge_count(l, is, link->active, 1);
    if (was == 0)
        vc__count(l, VC__COUNT_links_started, 1);
    else if (next == VC__LINK_UP)
        made_count(l, link->wire->transport);
    else if (link->state != VC__LINK_LEAVING)
        vc__count(l, link_end_of(up, event), 1);
}

void
vc__link_event(struct vc__link *link, enum vc__link_event event)
{
    enum vc__link_state was = link->state;
    struct vc__link_step step = vc__link_step(was, event);

    step_count(link, step.next, event);
    link->state = step.next;
    awaiting_count(link);
    vc__link_log(link, was, event);
    link_act(link, step.action);
}

/* Keeps the first reason: later ones are consequences of it. For vc__link_end()
 * and vc__link_close(). */
static void __attribute__((format(printf, 3, 0)))
error_keep(struct vc__link *link, enum vc_status status, const char *format,
           va_list args)
{
    if (link->error.status != VC_OK)
        return;
    link->error.status = status;
    link->error.outcome = VC_OUTCOME_NOT_EXECUTED;
    link->error.lack = VC__LACK_NOTHING;
    vc__text_format(link->error.text, sizeof link->error.text, format, args);
}

void
vc__link_end(struct vc__link *link, enum vc__link_event event,
             enum vc_status status, const char *format, ...)
{
    va_list args;

    if (vc__link_step(link->state, event).action == VC__LINK_DO_NOTHING)
        return; /* ignored in this state: a hint, or too late */
    va_start(args, format);
    error_keep(link, status, format, args);
    va_end(args);
    vc__link_event(link, event);
}

void
vc__link_fail(struct vc__link *link, enum vc__link_event event,
              const struct vc__error *why)
{
    if (vc__link_step(link->state, event).action == VC__LINK_DO_NOTHING)
        return;
    if (link->error.status == VC_OK)
        link->error = *why;
    vc__link_event(link, event);
}

void
vc__link_close(struct vc__link *link, enum vc_status status, const char *format,
               ...)
{
    va_list args;

    va_start(args, format);
    error_keep(link, status, format, args);
    va_end(args);
    vc__link_event(link, VC__LINK_EV_CLOSE);
}

/* A task on the holder: posted by link_is_ill() of the thread whose send
 * failed. Ends the link. */
static void
link_on_broken(struct vc__task *task)
{
    struct vc__link *link = caa_container_of(task, struct vc__link, broken);

    vc__link_end(link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                 "the connection to %s broke while sending",
                 vc__link_peer(link));
}

/* --- events of the wire -------------------------------------------------- */

/* Active side: the route to the peer is known. The link sends its hello. */
static void
link_on_ready(struct vc__wire *w)
{
    vc__link_event(vc__link_of(w), VC__LINK_EV_READY);
}

/* Passive side: the peer has confirmed, so the link is up. */
static void
on_established(struct vc__wire *w)
{
    vc__link_event(vc__link_of(w), VC__LINK_EV_ESTABLISHED);
}

/* The peer has disconnected, or has answered our disconnect. Ends the link. */
static void
on_left(struct vc__wire *w)
{
    vc__link_end(vc__link_of(w), VC__LINK_EV_LEFT, VC_UNAVAILABLE,
                 "%s closed the connection, or its process ended",
                 vc__wire_peer(w));
}

/* The connection is broken; `why` are the transport's words. Ends the link,
 * unless it is leaving already. */
static void
link_on_failed(struct vc__wire *w, const char *why)
{
    char what[VC__WIRE_TEXT];

    vc__wire_describe(w, what);
    vc__link_end(vc__link_of(w), VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                 "the connection to %s broke: %s%s", vc__wire_peer(w), why,
                 what);
}

/* The device was removed, says `why`. Ends the link. */
static void
on_removed(struct vc__wire *w, const char *why)
{
    vc__link_end(vc__link_of(w), VC__LINK_EV_REMOVED, VC_UNAVAILABLE, "%s",
                 why);
}

static const struct vc__wire_ops wire_ops = {
    .ready = link_on_ready,
    .answered = vc__link_on_answered,
    .established = on_established,
    .refused = vc__link_on_refused,
    .unreachable = vc__link_on_unreachable,
    .received = vc__link_on_received,
    .writable = vc__link_on_writable,
    .left = on_left,
    .failed = link_on_failed,
    .removed = on_removed,
};
