/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Taking a server out of service: GOAWAY to every client (doc/wire.md 4.8),
 * then waiting until the last has left. */
#include <stdlib.h>

#include "rpc/server/redirect.h"
#include "rpc/server/server.h"
#include "rpc/server/server_link.h"

/* Of several engines each is advanced so long at a time, unless a thread of the
 * library does: longer than a holder polls, so that it sleeps. */
#define SLICE_MS 10u

/* On the part's engine. */
struct drain {
    struct vc__task task;
    struct vc__server_part *part;
    struct vc__waiter ran; /* the task has */
    struct vc__waiter empty;
    bool no_memory, busy;
};

static void
goaway_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    free(send);
}

bool
vc__server_link_goaway(struct vc__server_link *sl)
{
    struct vc__send *send = calloc(1, sizeof *send);

    if (send == NULL)
        return false;
    send->flow = &sl->link.control;
    send->frame.type = VC__FRAME_GOAWAY;
    send->done = goaway_done;
    sl->told = true;
    vc__link_send(&sl->link, send);
    return true;
}

static void
drain_begin(struct vc__task *task)
{
    struct drain *d = caa_container_of(task, struct drain, task);
    struct vc__server_link *sl;

    d->part->drainer = &d->empty;
    cds_list_for_each_entry (sl, &d->part->links, node) {
        if (sl->link.state == VC__LINK_UP && !vc__server_link_goaway(sl))
            d->no_memory = true;
    }
    if (cds_list_empty(&d->part->links))
        vc__waiter_done(&d->empty);
    vc__waiter_done(&d->ran);
}

/* A client that does not poll has not heard of it, and loses nothing: its next
 * call sees that the link is gone before it is sent. */
static void
drain_end(struct vc__task *task)
{
    struct drain *d = caa_container_of(task, struct drain, task);
    struct vc__server_link *sl, *next;

    d->part->drainer = NULL;
    cds_list_for_each_entry_safe (sl, next, &d->part->links, node) {
        if (sl->peer->n_calls > 0)
            d->busy = true;
        else
            vc__link_close(&sl->link, VC_UNAVAILABLE, "it had nothing to do");
    }
    vc__waiter_done(&d->ran);
}

/* On all engines. */
static void
drain_run(struct drain *drains, unsigned n, void (*run)(struct vc__task *task))
{
    for (unsigned i = 0; i < n; i++) {
        struct drain *d = &drains[i];

        vc__waiter_init(&d->ran);
        d->task.run = run;
        vc__engine_post(&d->part->progress->engine, &d->task);
    }
    for (unsigned i = 0; i < n; i++)
        vc__engine_wait(&drains[i].part->progress->engine, &drains[i].ran,
                        VC__FOREVER);
}

/* Engines whose clients have not all left. */
static unsigned
drains_left(struct drain *drains, unsigned n)
{
    unsigned left = 0;

    for (unsigned i = 0; i < n; i++)
        left += !vc__waiter_is_done(&drains[i].empty);
    return left;
}

/* Each engine in turn. */
static void
drain_look(struct drain *drains, unsigned n, uint64_t until)
{
    for (unsigned i = 0; i < n; i++) {
        struct drain *d = &drains[i];
        uint64_t slice = drains_left(drains, n) <= 1
                             ? until
                             : vc__after_ms(vc__now(), SLICE_MS);

        if (!vc__waiter_is_done(&d->empty))
            vc__engine_wait(&d->part->progress->engine, &d->empty,
                            slice < until ? slice : until);
    }
}

/* All are told before any is waited for, so each has the whole time. */
static void
drain_all(struct drain *drains, unsigned n, uint64_t until)
{
    drain_run(drains, n, drain_begin);
    while (drains_left(drains, n) > 0 && vc__now() < until)
        drain_look(drains, n, until);
    drain_run(drains, n, drain_end);
}

static enum vc_status
drain_result(const struct drain *drains, unsigned n, uint32_t timeout_ms)
{
    bool busy = false, no_memory = false;

    for (unsigned i = 0; i < n; i++) {
        busy |= drains[i].busy;
        no_memory |= drains[i].no_memory;
    }
    if (no_memory)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "no memory to tell all clients to leave");
    if (busy)
        return vc__fail(VC_DEADLINE_EXCEEDED,
                        "some calls still run after %u ms: drain again, or "
                        "close the server and lose their replies",
                        timeout_ms);
    return VC_OK;
}

enum vc_status
vc_server_drain(struct vc_server *server, const char *alternative,
                uint32_t timeout_ms)
{
    uint64_t until = vc__after_ms(vc__now(), timeout_ms);
    struct drain drains[VC__ENGINES_MAX];
    unsigned n = server->runtime->n;
    enum vc_status status;

    if (alternative != NULL && !atomic_load(&server->draining)) {
        status = vc__redirect_target(&server->alternative, alternative);
        if (status != VC_OK)
            return status;
        server->has_alternative = true;
    }
    atomic_store(&server->draining, true);
    for (unsigned i = 0; i < n; i++) {
        drains[i] = (struct drain){.part = &server->parts[i]};
        vc__waiter_init(&drains[i].empty);
    }
    drain_all(drains, n, until);
    return drain_result(drains, n, timeout_ms);
}
