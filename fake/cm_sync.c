/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Synchronous ids, which have no channel of the program: each has its own, and
 * a call that leads to an event waits for it there, as in librdmacm. Connecting
 * is simulated; listening by rdma_get_request() is not. */
#include <errno.h>

#include "fake/cm.h"

void
fake__sync_open(struct fake__id *id)
{
    id->sync = true;
}

static void
event_let_go(struct fake__id *id)
{
    struct rdma_cm_event *e = id->handle->event;

    id->handle->event = NULL;
    if (e != NULL)
        fake__cm_event_close(e);
}

/* The errno that the program gets for the event. */
static int
errno_of(const struct rdma_cm_event *e)
{
    if (e->status == 0)
        return 0;
    if (e->event == RDMA_CM_EVENT_REJECTED)
        return ECONNREFUSED;
    return e->status < 0 ? -e->status : e->status;
}

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

void
fake__sync_close(struct fake__id *id)
{
    if (id->sync)
        event_let_go(id);
}
