/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/token.h. */
#include "transport/core/token.h"

#include "transport/core/counts.h"

void
vc__token_init(struct vc__token *t)
{
    atomic_init(&t->word, 0);
    pthread_mutex_init(&t->lock, NULL);
    CDS_INIT_LIST_HEAD(&t->waiters);
    t->n = t->n_urgent = 0;
}

void
vc__token_fini(struct vc__token *t)
{
    pthread_mutex_destroy(&t->lock);
}

/* For vc__token_enter() and vc__token_undefer(), under the lock: sets these bits
 * and returns true if the token is held; returns false if it became free. */
static bool
token_await(struct vc__token *t, unsigned bits)
{
    unsigned was = atomic_load(&t->word);

    while (was & VC__TOKEN_HELD) {
        if (atomic_compare_exchange_weak(&t->word, &was, was | bits))
            return true;
    }
    return false;
}

/* For vc__token_unqueue(), vc__token_undefer() and vc__token_pass(), under the
 * lock: takes a waiter off the queue. */
static void
waiter_remove(struct vc__token *t, struct vc__waiter *w)
{
    unsigned bits = VC__TOKEN_AWAITED | VC__TOKEN_URGENT;

    cds_list_del_init(&w->node);
    vc__waiter_undefer(w);
    t->n--;
    t->n_urgent -= w->urgent;
    if (t->n > 0)
        bits &= ~VC__TOKEN_AWAITED;
    if (t->n_urgent > 0)
        bits &= ~VC__TOKEN_URGENT;
    if (bits != 0)
        atomic_fetch_and(&t->word, ~bits);
}

/* For vc__token_enter() and vc__token_yield(), under the lock: queues w. */
static void
waiter_add(struct vc__token *t, struct vc__waiter *w, bool deferred)
{
    if (deferred)
        vc__waiter_defer(w);
    w->urgent = !deferred;
    t->n_urgent += w->urgent;
    w->ahead = t->n++;
    cds_list_add_tail(&w->node, &t->waiters);
}

/* The bits that such a waiter sets. */
static unsigned
bits_of(bool deferred)
{
    return VC__TOKEN_AWAITED | (deferred ? 0 : VC__TOKEN_URGENT);
}

bool
vc__token_enter(struct vc__token *t, struct vc__waiter *w, bool deferred)
{
    bool got = false;

    pthread_mutex_lock(&t->lock);
    while (!token_await(t, bits_of(deferred)) && !(got = vc__token_try(t)))
        continue;
    if (!got)
        waiter_add(t, w, deferred);
    pthread_mutex_unlock(&t->lock);
    return got;
}

/* For vc__token_undefer() and waiter_notify(), under the lock: a waiter is urgent
 * now. */
static void
waiter_urge(struct vc__token *t, struct vc__waiter *w)
{
    w->urgent = true;
    t->n_urgent++;
}

bool
vc__token_undefer(struct vc__token *t, struct vc__waiter *w)
{
    bool got = false;

    pthread_mutex_lock(&t->lock);
    if (vc__waiter_is_deferred(w)) { /* otherwise it was woken */
        vc__waiter_undefer(w);
        waiter_urge(t, w);
        while (!token_await(t, VC__TOKEN_URGENT) && !(got = vc__token_try(t)))
            continue;
        if (got)
            waiter_remove(t, w);
    }
    pthread_mutex_unlock(&t->lock);
    return got;
}

bool
vc__token_unqueue(struct vc__token *t, struct vc__waiter *w)
{
    bool got;

    pthread_mutex_lock(&t->lock);
    got = vc__waiter_take(w);
    if (!got)
        waiter_remove(t, w);
    pthread_mutex_unlock(&t->lock);
    return got;
}

/* For vc__token_notify(), under the lock: notifies a deferred waiter that
 * is done; with `all`, one that is not is urgent from now on. */
static void
waiter_notify(struct vc__token *t, struct vc__waiter *w, bool all)
{
    if (all && !vc__waiter_is_done(w)) {
        waiter_urge(t, w);
        atomic_fetch_or(&t->word, VC__TOKEN_URGENT);
    }
    /* It may be done just now, by another thread, which does not wake it. */
    if (all || vc__waiter_is_done(w))
        vc__waiter_notify(w);
}

void
vc__token_notify(struct vc__token *t, bool all)
{
    struct vc__waiter *w;

    /* Sequentially consistent: see vc__tenure_are_off(). */
    if (!(atomic_load(&t->word) & VC__TOKEN_AWAITED))
        return;
    pthread_mutex_lock(&t->lock);
    cds_list_for_each_entry (w, &t->waiters, node)
        if (vc__waiter_is_deferred(w))
            waiter_notify(t, w, all);
    pthread_mutex_unlock(&t->lock);
}

/* For vc__token_pass(), under the lock: the waiter that gets the token next;
 * there is one. */
static struct vc__waiter *
next_of(struct vc__token *t)
{
    struct vc__waiter *w, *deferred = NULL;

    cds_list_for_each_entry (w, &t->waiters, node) {
        if (vc__waiter_is_deferred(w))
            deferred = deferred != NULL ? deferred : w;
        else if (!vc__waiter_is_done(w))
            return w;
    }
    return deferred != NULL
               ? deferred
               : cds_list_entry(t->waiters.next, struct vc__waiter, node);
}

/* For the two functions after it, under the lock: hands the token to a waiter.
 * vc__token_unqueue() of a waiter that stops waiting takes this lock, too, so it
 * still exists. */
static void
waiter_hand(struct vc__token *t, struct vc__waiter *w,
            _Atomic uint64_t *handovers)
{
    waiter_remove(t, w);
    vc__count_add(handovers, 1);
    vc__waiter_hand(w);
}

void
vc__token_pass(struct vc__token *t, _Atomic uint64_t *handovers)
{
    pthread_mutex_lock(&t->lock);
    if (cds_list_empty(&t->waiters)) /* all stopped waiting meanwhile */
        atomic_fetch_and(&t->word, VC__TOKEN_WATCHED);
    else
        waiter_hand(t, next_of(t), handovers);
    pthread_mutex_unlock(&t->lock);
}

bool
vc__token_yield(struct vc__token *t, struct vc__waiter *w, bool deferred,
                _Atomic uint64_t *handovers)
{
    bool alone;

    pthread_mutex_lock(&t->lock);
    alone = cds_list_empty(&t->waiters);
    if (!alone) {
        struct vc__waiter *next = next_of(t);

        waiter_add(t, w, deferred);
        atomic_fetch_or(&t->word, bits_of(deferred));
        waiter_hand(t, next, handovers);
    }
    pthread_mutex_unlock(&t->lock);
    return alone;
}
