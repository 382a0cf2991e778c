/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread that waits until the pool has a link. See cm/pool/pool.h. All of it
 * runs on that thread, without locks. */
#include "cm/pool/placement.h"
#include "cm/pool/pool.h"

/* How often a thread looks whether the peer has the first packets. */
#define HEARD_STEP_US 1000u

/* For vc__pool_connect(), on its thread. Returns true if w must wait for a
 * link; otherwise a link is up, or w->error says why none will be. */
static bool
connect_join(struct vc__pool *p, const struct vc_service *service,
             const atomic_bool *closing, struct vc__pool_waiter *w)
{
    bool wait = false;

    vc__lock_take(&p->lock);
    if (p->closed || atomic_load(closing)) {
        vc__error_put(&w->error, VC_CANCELLED, "the channel was closed");
    } else if (p->peer == NULL || vc__placement_link(p->peer) == NULL) {
        vc__pool_hurry(p); /* the caller wants to know now */
        wait = vc__pool_want(p, service, &w->error);
        if (wait)
            cds_list_add_tail(&w->node, &p->connecting);
    }
    vc__lock_give(&p->lock);
    return wait;
}

/* For vc__pool_connect(), of a pool that leads nowhere: it has waited long
 * enough. True: w has left the list, and has an error. False: w is about to be
 * woken. */
static bool
connect_leave(struct vc__pool *p, struct vc__pool_waiter *w)
{
    bool leaves;

    vc__lock_take(&p->lock);
    leaves = !w->taken;
    if (leaves) {
        cds_list_del(&w->node);
        vc__error_put(&w->error, VC_UNAVAILABLE,
                      "the servers of the channel were not known within %u ms: "
                      "its resolver has not answered",
                      p->opts.connect_ms);
    }
    vc__lock_give(&p->lock);
    return leaves;
}

/* True if each link's first packet has come to the peer. For heard_await(). */
static bool
heard_by_all(struct vc__pool *p)
{
    struct vc__pool_link *pl;
    bool heard = true;

    vc__lock_take(&p->lock);
    if (p->peer != NULL) {
        cds_list_for_each_entry (pl, &p->peer->links, node)
            heard = heard && vc__link_is_heard(&pl->link);
    }
    vc__lock_give(&p->lock);
    return heard;
}

/* Waits until the peer has the packets that were sent first, which open
 * sessions: by datagrams they may be lost, and a program without library
 * threads that does something else now would not send them again. A peer that
 * does not answer is found by keepalive. For vc__pool_connect(). */
static void
heard_await(struct vc__pool *p, uint64_t until, const atomic_bool *closing)
{
    struct vc__waiter never;
    uint64_t now;

    vc__waiter_init(&never);
    while (!heard_by_all(p) && !atomic_load(closing) &&
           (now = vc__now()) < until)
        vc__engine_wait(p->engine, &never, now + HEARD_STEP_US);
}

enum vc_status
vc__pool_connect(struct vc__pool *p, const struct vc_service *service,
                 const void *owner, const atomic_bool *closing)
{
    struct vc__pool_waiter w = {
        .owner = owner, .service = service, .error = {.status = VC_OK}};

    uint64_t now = vc__now(), until = VC__FOREVER;

    /* Connecting always ends, as every step of it has a timer; but a resolver
     * may say nothing. */
    if (p->opts.nowhere)
        until = now + (uint64_t)p->opts.connect_ms * 1000u;
    vc__engine_catch_up(p->engine, now);
    vc__waiter_init(&w.waiter);
    if (connect_join(p, service, closing, &w) &&
        !vc__engine_wait(p->engine, &w.waiter, until) && !connect_leave(p, &w))
        vc__engine_wait(p->engine, &w.waiter, VC__FOREVER);
    if (w.error.status != VC_OK)
        return vc__error_raise(&w.error);
    heard_await(p, now + (uint64_t)p->opts.connect_ms * 1000u, closing);
    return VC_OK;
}
