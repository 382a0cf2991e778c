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
}

void
vc__token_fini(struct vc__token *t)
{
    pthread_mutex_destroy(&t->lock);
}

/* For vc__token_enter(), under the lock: sets VC__TOKEN_AWAITED and returns
 * true if the token is held; returns false if it became free. */
static bool
token_await(struct vc__token *t)
{
    unsigned was = atomic_load(&t->word);

    while (was & VC__TOKEN_HELD) {
        if (atomic_compare_exchange_weak(&t->word, &was,
                                         was | VC__TOKEN_AWAITED))
            return true;
    }
    return false;
}

/* For vc__token_unqueue() and vc__token_pass(), under the lock: takes a waiter
 * off the queue. */
static void
waiter_remove(struct vc__token *t, struct vc__waiter *w)
{
    cds_list_del_init(&w->node);
    if (cds_list_empty(&t->waiters))
        atomic_fetch_and(&t->word, ~VC__TOKEN_AWAITED);
}

bool
vc__token_enter(struct vc__token *t, struct vc__waiter *w)
{
    bool got = vc__token_try(t);

    if (!got) {
        pthread_mutex_lock(&t->lock);
        while (!token_await(t) && !(got = vc__token_try(t)))
            continue;
        if (!got)
            cds_list_add_tail(&w->node, &t->waiters);
        pthread_mutex_unlock(&t->lock);
    }
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

/* For vc__token_pass(), under the lock: the waiter that gets the token next;
 * there is one. */
static struct vc__waiter *
next_of(struct vc__token *t)
{
    struct vc__waiter *w;

    cds_list_for_each_entry (w, &t->waiters, node)
        if (!vc__waiter_is_done(w))
            return w;
    return cds_list_entry(t->waiters.next, struct vc__waiter, node);
}

void
vc__token_pass(struct vc__token *t, _Atomic uint64_t *handovers)
{
    pthread_mutex_lock(&t->lock);
    if (cds_list_empty(&t->waiters)) { /* all stopped waiting meanwhile */
        atomic_fetch_and(&t->word, VC__TOKEN_WATCHED);
    } else {
        struct vc__waiter *w = next_of(t);

        waiter_remove(t, w);
        vc__count_add(handovers, 1);
        /* Handed over under the lock: vc__token_unqueue() of a waiter that
         * stops waiting takes this lock, too, so w still exists. */
        vc__waiter_hand(w);
    }
    pthread_mutex_unlock(&t->lock);
}
