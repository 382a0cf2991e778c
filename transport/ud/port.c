/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ports of an engine, one for each device that it exchanges datagrams over.
 * A port stays until the context is closed, or until its device is gone and no
 * wire uses it any more. All of it runs on the holder of the engine, but
 * vc__ud_close() when there is none. See transport/ud/port.h. */
#include <stdlib.h>

#include "transport/core/log.h"
#include "transport/ud/wire.h"

/* A window is no wider and no narrower than so. */
#define WINDOW_MOST  VC__RELIABLE_WINDOW
#define WINDOW_LEAST 2u

void
vc__ud_port_count(struct vc__ud_port *p, int change)
{
    uint32_t window;

    p->users += (unsigned)change;
    window = p->receives_max / (p->users == 0 ? 1 : p->users);
    if (window > WINDOW_MOST)
        window = WINDOW_MOST;
    p->window = (uint8_t)(window < WINDOW_LEAST ? WINDOW_LEAST : window);
}

void
vc__ud_port_account(struct vc__ud_port *p)
{
    struct vc__ledger *l = &p->device->engine->ledger;
    struct vc__ud_counted *t = &p->counted;

    vc__count_now(l, VC__COUNT_memory_receive, &t->receive,
                  p->receive.limit - p->receive.budget);
    vc__count_now(l, VC__COUNT_memory_receive_limit, &t->receive_limit,
                  p->receive.limit);
    vc__count_now(l, VC__COUNT_memory_send, &t->send,
                  p->small.limit - p->small.budget + p->large.limit -
                      p->large.budget);
    vc__count_now(l, VC__COUNT_memory_send_limit, &t->send_limit,
                  p->small.limit + p->large.limit);
}

void
vc__ud_port_grow(struct vc__ud_port *p)
{
    unsigned need = p->users * WINDOW_MOST;

    if (need > p->receives_max)
        need = p->receives_max;
    /* An engine doubles them: most wires come in crowds. */
    if (need > p->posted)
        vc__ud_receives_add(p, need < p->posted * 2 ? p->posted : need);
    vc__lock_take(&p->lock);
    vc__ud_port_account(p);
    vc__lock_give(&p->lock);
}

/* --- the end of a port --------------------------------------------------- */

/* Frees a port without wires. For port_bury(), vc__ud_close() and
 * port_new(). */
static void
port_free(struct vc__ud_port *p)
{
    cds_list_del(&p->node);
    cds_list_del(&p->watcher.node);
    vc__timer_stop(&p->device->engine->timers, &p->tick);
    vc__ud_ahs_trim(p, 0);
    vc__ud_queues_free(p);
    vc__ud_port_account(p);
    vc__device_put(p->device);
    free(p);
}

/* A wire that was not notified yet that the port has failed; NULL: none. For
 * port_gone(). */
static struct vc__ud_wire *
unnotified_find(struct vc__ud_port *p)
{
    struct vc__ud_wire *u;

    cds_list_for_each_entry (u, &p->wires, node) {
        if (!u->notified)
            return u;
    }
    return NULL;
}

/* True if the task that starts the tick is queued. Without wires nobody posts
 * it any more. For port_gone(). */
static bool
arm_is_posted(struct vc__ud_port *p)
{
    bool posted;

    vc__lock_take(&p->lock);
    posted = p->arm_posted;
    vc__lock_give(&p->lock);
    return posted;
}

/* A task, posted when the port has failed: notifies its wires; without wires,
 * frees the port. Posted again when the last wire is freed, and while the task
 * that starts the tick is queued, which then runs first. */
static void
port_gone(struct vc__task *task)
{
    struct vc__ud_port *p = caa_container_of(task, struct vc__ud_port, gone);
    struct vc__ud_wire *u;

    p->gone_posted = false;
    while ((u = unnotified_find(p)) != NULL) {
        u->notified = true;
        if (p->device->doomed)
            u->wire.ops->removed(&u->wire, "the RDMA device was removed");
        else
            u->wire.ops->failed(&u->wire, "the QP of all datagrams has failed");
    }
    if (p->users > 0 || p->gone_posted)
        return;
    if (arm_is_posted(p))
        vc__ud_port_fail(p);
    else
        port_free(p);
}

void
vc__ud_port_fail(struct vc__ud_port *p)
{
    p->failed = true;
    if (p->gone_posted)
        return;
    p->gone_posted = true;
    vc__engine_post(p->device->engine, &p->gone);
}

/* The device is doomed. Called by vc__device_doom() through the watcher. */
static void
port_on_doomed(struct vc__device_watcher *w)
{
    vc__ud_port_fail(caa_container_of(w, struct vc__ud_port, watcher));
}

/* --- getting one --------------------------------------------------------- */

/* Sets what a port has before its queues. For port_new(). */
static void
port_init(struct vc__ud_port *p, struct vc__ud_context *c,
          struct vc__device *device, uint8_t number)
{
    p->context = c;
    p->device = device;
    p->number = number;
    p->gone.run = port_gone;
    p->arm.run = vc__ud_tick_arm;
    p->watcher.doomed = port_on_doomed;
    vc__lock_init(&p->lock);
    CDS_INIT_LIST_HEAD(&p->ahs);
    CDS_INIT_LIST_HEAD(&p->wires);
    CDS_INIT_LIST_HEAD(&p->busy);
    CDS_INIT_LIST_HEAD(&p->waiting);
    CDS_INIT_LIST_HEAD(&p->acking);
    cds_list_add(&p->node, &c->ports);
    cds_list_add(&p->watcher.node, &device->watchers);
}

/* Makes a port of this device, which becomes the port's. Errors as
 * vc__ud_port_get(). */
static enum vc_status
port_new(struct vc__ud_context *c, struct vc__device *device, uint8_t number,
         struct vc__ud_port **port)
{
    struct vc__ud_port *p = calloc(1, sizeof *p);
    enum vc_status status;

    if (p == NULL) {
        vc__device_put(device);
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    port_init(p, c, device, number);
    status = vc__ud_queues_make(p);
    if (status != VC_OK) {
        port_free(p);
        return status;
    }
    *port = p;
    return VC_OK;
}

enum vc_status
vc__ud_port_get(struct vc__ud_context *c, struct rdma_cm_id *id,
                struct vc__ud_port **port)
{
    struct vc__device *device;
    struct vc__ud_port *p;
    enum vc_status status;

    cds_list_for_each_entry (p, &c->ports, node) {
        if (p->device->verbs->device == id->verbs->device &&
            p->number == id->port_num && !p->failed) {
            *port = p;
            return VC_OK;
        }
    }
    status = vc__rdma_device(&c->rdma, id, &device);
    if (status != VC_OK)
        return status;
    return port_new(c, device, id->port_num, port);
}

/* --- opening and closing ------------------------------------------------- */

enum vc_status
vc__ud_open(struct vc__context *context, const struct vc__context_opts *opts)
{
    CDS_INIT_LIST_HEAD(&vc__ud_context_of(context)->ports);
    return vc__rdma_open(context, opts);
}

void
vc__ud_close(struct vc__context *context)
{
    struct vc__ud_port *p, *next;

    cds_list_for_each_entry_safe (p, next, &vc__ud_context_of(context)->ports,
                                  node)
        port_free(p);
    vc__rdma_close(context);
}
