/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/throttle.h. Static functions run inside
 * vc__throttle_refuses(). */
#include "cm/pool/throttle.h"

#include "transport/core/random.h"

#define ONE 256u
/* Every FADE_US each count loses a quarter; FADE_MOST times set it to 0. */
#define FADE_US   10000u
#define FADE_MOST 32u
/* The client sends a quarter more than the server accepts; twice as much if
 * fewer than one in RARE were shed. */
#define MORE 4u
#define RARE 16u
/* With fewer calls than this the counts are not reliable. */
#define FEW (8 * ONE)

/* For throttle_fade(): takes a quarter off a count, this many times. */
static void
count_fade(atomic_uint *n, uint64_t times)
{
    unsigned is = atomic_load_explicit(n, memory_order_relaxed);

    for (uint64_t i = 0; i < times; i++)
        is -= is / 4;
    atomic_store_explicit(n, times >= FADE_MOST ? 0 : is, memory_order_relaxed);
}

/* Decays the counts when it is time. Of several threads only one does it;
 * counts that others add meanwhile may be lost. For vc__throttle_refuses(). */
static void
throttle_fade(struct vc__throttle *t, uint64_t now)
{
    unsigned long long last =
        atomic_load_explicit(&t->faded, memory_order_relaxed);
    uint64_t times = now > last ? (now - last) / FADE_US : 0;

    if (times == 0 || !atomic_compare_exchange_strong_explicit(
                          &t->faded, &last, last + times * FADE_US,
                          memory_order_relaxed, memory_order_relaxed))
        return;
    times = times < FADE_MOST ? times : FADE_MOST;
    count_fade(&t->asked, times);
    count_fade(&t->taken, times);
    count_fade(&t->shed, times);
}

void
vc__throttle_answered(struct vc__throttle *t, bool shed)
{
    if (shed)
        atomic_store_explicit(&t->on, true, memory_order_relaxed);
    atomic_fetch_add_explicit(shed ? &t->shed : &t->taken, ONE,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&t->asked, ONE, memory_order_relaxed);
}

/* Reads a count. For sent_of() and vc__throttle_refuses(). */
static unsigned
throttle_get(const atomic_uint *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

/* How many of the program's calls are to be sent, 256-fold: what the server
 * takes, and a quarter more or as much again. For vc__throttle_refuses(). */
static uint64_t
sent_of(const struct vc__throttle *t)
{
    uint64_t taken = throttle_get(&t->taken), shed = throttle_get(&t->shed);

    return shed * RARE < taken ? 2 * taken : taken + taken / MORE;
}

bool
vc__throttle_refuses(struct vc__throttle *t, uint64_t now, uint64_t *seed)
{
    uint64_t asked, sent;

    throttle_fade(t, now);
    asked = throttle_get(&t->asked);
    sent = sent_of(t);
    if (asked <
        throttle_get(&t->taken) + ONE / 2) /* nothing was shed for a while */
        atomic_store_explicit(&t->on, false, memory_order_relaxed);
    if (asked <= sent ||
        vc__random_below(seed, (uint32_t)(asked + FEW)) >= asked - sent)
        return false;
    atomic_fetch_add_explicit(&t->asked, ONE, memory_order_relaxed);
    return true;
}
