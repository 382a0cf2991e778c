/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules; see cm/link/keepalive.h. vc__keepalive_tick() uses the static
 * functions. All of this file runs on the holder of the engine. */
#include "cm/link/keepalive.h"

#include <string.h>

#include "transport/core/timer.h"

#define STEPS 6u

/* All in steps. */
struct pace {
    unsigned tick, ask, wait;
};

/* Returns the row of the table of cm/link/keepalive.h, never NULL. For an idle
 * link ask + wait is what three periods leave if silence was noticed a tick
 * late. Asking is the only cost of an idle link, so it is done late and seldom.
 * An adapter is asked so late that a peer whose PINGs arrive is not asked at
 * all. A tick may be no longer, because only the next tick notices that a link
 * has become busy. */
static const struct pace *
pace_of(const struct vc__keepalive_news *n)
{
    static const struct pace adapter = {2, 12, 4}, process = {2, 10, 6},
                             busy = {1, 1, 4};

    if (n->busy)
        return &busy;
    return n->may_ask ? &process : &adapter;
}

void
vc__keepalive_init(struct vc__keepalive *k, uint64_t now, uint64_t period)
{
    memset(k, 0, sizeof *k);
    k->step = period < STEPS ? 1 : period / STEPS;
    k->heard = k->reached = now;
    k->next = vc__timer_beat(now, k->step);
}

/* Records the signs of life since the last tick. For vc__keepalive_tick(). */
static void
news_take(struct vc__keepalive *k, uint64_t now,
          const struct vc__keepalive_news *n)
{
    if (n->answered)
        k->ping_out = false;
    if (n->proven)
        k->probe_out = false;
    if (n->heard || n->answered) {
        k->heard = now;
        k->asking = false;
    }
    if (n->heard || n->answered || n->proven)
        k->reached = k->probed = now;
}

/* This process was stopped, so signs of life of the peer may not have been
 * received yet. An idle peer gets its full time again; one that a call waits
 * for is asked at once. For vc__keepalive_tick(), if the tick is late. */
static void
round_restart(struct vc__keepalive *k, uint64_t now, bool busy)
{
    k->asking = false;
    k->probed = now;
    if (!busy)
        k->heard = k->reached = now;
}

/* Asks the adapter: returns that action. For the two functions named _check. */
static enum vc__keepalive_act
keepalive_probe(struct vc__keepalive *k, uint64_t now)
{
    k->probe_out = true;
    k->probed = now;
    return VC__KEEPALIVE_PROBE;
}

/* Asks the process: returns PING, or NOTHING, as a PING that is still
 * unanswered does as well as a new one. For process_check(). */
static enum vc__keepalive_act
keepalive_ask(struct vc__keepalive *k, uint64_t now)
{
    k->asking = true;
    k->asked = now;
    if (k->ping_out)
        return VC__KEEPALIVE_NOTHING;
    k->ping_out = true;
    return VC__KEEPALIVE_PING;
}

/* A tick of a link whose peer's process is asked: returns the action. Half-way
 * through, the adapter is asked too: a PING may be waiting for a credit, and
 * then it would be unknown whether the process or the host has died. For
 * vc__keepalive_tick(). */
static enum vc__keepalive_act
process_check(struct vc__keepalive *k, uint64_t now, const struct pace *pace)
{
    uint64_t wait = pace->wait * k->step;

    if (!k->asking)
        return now - k->heard < pace->ask * k->step ? VC__KEEPALIVE_NOTHING
                                                    : keepalive_ask(k, now);
    if (now - k->asked >= wait)
        return k->reached > k->asked ? VC__KEEPALIVE_STOPPED
                                     : VC__KEEPALIVE_LOST;
    if (!k->probe_out && k->reached <= k->asked && now - k->asked >= wait / 2)
        return keepalive_probe(k, now);
    return VC__KEEPALIVE_NOTHING;
}

/* A tick of a link of which only the peer's adapter is asked: returns the
 * action. For vc__keepalive_tick(). */
static enum vc__keepalive_act
adapter_check(struct vc__keepalive *k, uint64_t now, const struct pace *pace)
{
    if (k->probe_out)
        return now - k->probed < pace->wait * k->step ? VC__KEEPALIVE_NOTHING
                                                      : VC__KEEPALIVE_LOST;
    return now - k->reached < pace->ask * k->step ? VC__KEEPALIVE_NOTHING
                                                  : keepalive_probe(k, now);
}

enum vc__keepalive_act
vc__keepalive_tick(struct vc__keepalive *k, uint64_t now,
                   const struct vc__keepalive_news *n)
{
    const struct pace *pace = pace_of(n);
    bool late = now > k->next + k->step;
    uint64_t wanted = k->next;

    k->next = vc__timer_beat(now, pace->tick * k->step);
    /* Use the time for which the tick was due; else a timer that was late once
     * would make the next check seem too early. */
    if (now > wanted && !late)
        now = wanted;
    news_take(k, now, n);
    if (late)
        round_restart(k, now, n->busy);
    return n->may_ask ? process_check(k, now, pace)
                      : adapter_check(k, now, pace);
}

uint64_t
vc__keepalive_silence(const struct vc__keepalive *k, uint64_t now)
{
    return now - k->heard;
}
