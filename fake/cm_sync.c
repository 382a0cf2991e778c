/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Synchronous ids, which have no channel of the program: each has its own, and
 * a call that leads to an event waits for it there, as in librdmacm. Connecting
 * is simulated; listening by rdma_get_request() is not. Static functions run on
 * the thread of their caller: one thread of the world runs at a time
 * (world.h). */
#include <errno.h>

#include "fake/cm.h"

/* Called by rdma_create_id() (cm.c). */
void
fake__sync_open(struct fake__id *id)
{
    id->sync = true;
}

/* Called by fake__sync_complete() and fake__sync_close(). */
static void
event_let_go(struct fake__id *id)
{
    struct rdma_cm_event *e = id->handle->event;

    id->handle->event = NULL;
    if (e != NULL)
        fake__cm_event_close(e);
}

/* The errno that the program gets for the event. Called by
 * fake__sync_complete(). */
static int
errno_of(const struct rdma_cm_event *e)
{
    if (e->status == 0)
        return 0;
    if (e->event == RDMA_CM_EVENT_REJECTED)
        return ECONNREFUSED;
    return e->status < 0 ? -e->status : e->status;
}

/* Called by rdma_resolve_addr() and rdma_resolve_route() (cm.c) and
 * rdma_connect() (cm_conn.c). */
int
fake__sync_complete(struct fake__id *id)
{
    if (!id->sync)
        return 0;
    event_let_go(id);
    if (!fake__cm_event_get(id->channel, &id->handle->event))
        return fake__fail(errno);
    return fake__result(errno_of(id->handle->event));
}

/* Called by rdma_destroy_id() (cm.c). */
void
fake__sync_close(struct fake__id *id)
{
    if (id->sync)
        event_let_go(id);
}
