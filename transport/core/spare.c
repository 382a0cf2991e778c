/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/spare.h. */
#include "transport/core/spare.h"

#include "transport/core/clock.h"

/* Of the store, which keeps an eighth of it at most, but no more than 32 MiB:
 * no limit. */
#define NO_LIMIT SIZE_MAX

static void spare_on_timer(struct vc__timer *timer);

/* run() of the task, on the holder: blocks were kept while the timer did not
 * run. Also called by spare_on_timer() while some are left. Without memory for
 * the timer they stay until blocks are given back the next time. */
static void
spare_watch(struct vc__task *task)
{
    struct vc__spare *s = caa_container_of(task, struct vc__spare, watch);

    if (!vc__timer_start(&s->engine->timers, &s->timer,
                         vc__now() + VC__MEMORY_KEEP_US, spare_on_timer))
        atomic_store(&s->watched, false);
}

/* fire() of the timer, on the holder. Blocks may be given back while it stops to
 * watch. Both threads exchange `watched`: either the one that gives comes
 * first, and this one sees its block, or it sees that nobody watches. */
static void
spare_on_timer(struct vc__timer *timer)
{
    struct vc__spare *s = caa_container_of(timer, struct vc__spare, timer);

    if (!vc__store_trim(&s->store, vc__now())) {
        atomic_exchange(&s->watched, false);
        if (atomic_load(&s->store.kept) == 0 ||
            atomic_exchange(&s->watched, true))
            return;
    }
    spare_watch(&s->watch);
}

void
vc__spare_init(struct vc__spare *s, struct vc__engine *engine)
{
    s->engine = engine;
    vc__stock_init(&s->of_short, VC__SPARE_SHORT, VC__SPARE_KEPT);
    vc__stock_init(&s->of_call, VC__SPARE_CALL, VC__SPARE_KEPT);
    vc__store_init(&s->store, NO_LIMIT, false);
    atomic_init(&s->watched, false);
    s->watch.run = spare_watch;
}

void
vc__spare_fini(struct vc__spare *s)
{
    vc__stock_fini(&s->of_short);
    vc__stock_fini(&s->of_call);
    vc__store_fini(&s->store);
}

/* The stock of blocks for this size, or NULL: such ones are in the store. For
 * take and give. */
static inline struct vc__stock *
stock_of(struct vc__spare *s, size_t size)
{
    if (size <= VC__SPARE_SHORT)
        return &s->of_short;
    return size <= VC__SPARE_CALL ? &s->of_call : NULL;
}

void *
vc__spare_take(struct vc__spare *s, size_t size)
{
    struct vc__stock *stock = stock_of(s, size);

    return stock != NULL ? vc__stock_take(stock)
                         : vc__store_take(&s->store, size);
}

void
vc__spare_give(struct vc__spare *s, void *memory, size_t size)
{
    struct vc__stock *stock = stock_of(s, size);

    if (stock != NULL)
        vc__stock_give(stock, memory);
    else if (vc__store_give(&s->store, memory, size) &&
             !atomic_exchange(&s->watched, true))
        vc__engine_post(s->engine, &s->watch);
}
