/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Taking a server out of service: GOAWAY to every client (doc/wire.md 4.8),
 * then waiting until the last has left. */
#include <stdlib.h>

#include "rpc/redirect.h"
#include "rpc/server.h"
#include "rpc/server_link.h"

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

static void
drain_run(struct drain *d, void (*run)(struct vc__task *task))
{
    struct vc__engine *engine = &d->part->progress->engine;

    vc__waiter_init(&d->ran);
    d->task.run = run;
    vc__engine_post(engine, &d->task);
    vc__engine_wait(engine, &d->ran, VC__FOREVER);
}

/* False when calls still run at the end of the time. */
static bool
part_drain(struct vc__server_part *part, uint64_t until, bool *no_memory)
{
    struct drain d = {.part = part};

    vc__waiter_init(&d.empty);
    drain_run(&d, drain_begin);
    vc__engine_wait(&part->progress->engine, &d.empty, until);
    drain_run(&d, drain_end);
    *no_memory |= d.no_memory;
    return !d.busy;
}

enum vc_status
vc_server_drain(struct vc_server *server, const char *alternative,
                uint32_t timeout_ms)
{
    uint64_t until = vc__after_ms(vc__now(), timeout_ms);
    enum vc_status status = VC_OK;
    bool idle = true, no_memory = false;

    if (alternative != NULL && !atomic_load(&server->draining)) {
        status = vc__redirect_target(&server->alternative, alternative);
        if (status != VC_OK)
            return status;
        server->has_alternative = true;
    }
    atomic_store(&server->draining, true);
    for (unsigned i = 0; i < server->runtime->n; i++)
        idle = part_drain(&server->parts[i], until, &no_memory) && idle;
    if (no_memory)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "no memory to tell all clients to leave");
    if (!idle)
        return vc__fail(VC_DEADLINE_EXCEEDED,
                        "some calls still run after %u ms: drain again, or "
                        "close the server and lose their replies",
                        timeout_ms);
    return VC_OK;
}
