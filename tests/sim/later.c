/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/later.h. */
#include "tests/sim/later.h"

#include <string.h>

#define PATIENCE UINT64_C(100000000) /* us */

/* Returns the next call; NULL: the thread must end. Under the lock. */
static struct vc_call *
next(struct later *l)
{
    while (l->at == l->n && !l->stop)
        pthread_cond_wait(&l->more, &l->lock);
    return l->at < l->n ? l->calls[l->at++ % LATER_MAX] : NULL;
}

static void *
later_main(void *arg)
{
    struct later *l = arg;
    struct vc_call *call;

    pthread_mutex_lock(&l->lock);
    while ((call = next(l)) != NULL) {
        bool hurry = l->stop;

        pthread_mutex_unlock(&l->lock);
        if (atomic_load(&l->us) > 0 && !hurry)
            fake_sleep_us(atomic_load(&l->us));
        if (atomic_load(&l->hold) != 0 && !hurry)
            assert_true(sim_await(&l->go, PATIENCE));
        vc_call_end(call, l->status);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

bool
later_begin(struct later *l, unsigned us)
{
    memset(l, 0, sizeof *l);
    atomic_store(&l->us, us);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    return pthread_create(&l->thread, NULL, later_main, l) == 0;
}

void
later_end(struct later *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
}

enum vc_status
later_take(struct later *l, struct vc_call *call)
{
    enum vc_status status = vc_call_later(call);

    pthread_mutex_lock(&l->lock);
    assert_true(l->n - l->at < LATER_MAX);
    l->calls[l->n++ % LATER_MAX] = call;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    return status;
}

static void
serve_begin(struct sim_server *s)
{
    struct later *l = s->arg;

    l->works = later_begin(l, atomic_load(&l->us));
}

static void
serve_end(struct sim_server *s)
{
    struct later *l = s->arg;

    if (l->works)
        later_end(l);
}

void
later_serve(struct later *l, struct sim_server *s, unsigned us)
{
    atomic_store(&l->us, us);
    s->arg = l;
    s->begin = serve_begin;
    s->end = serve_end;
}
