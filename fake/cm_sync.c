/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Synchronous ids, which have no channel of the program: each has its own, and
 * a call that leads to an event waits for it there, as in librdmacm.
 * rdma_create_ep() is not simulated. Static functions run on the thread of
 * their caller: one thread of the world runs at a time (world.h). */
#include <errno.h>

#include "fake/cm.h"

/* Called by rdma_migrate_id() and event_process() (cm.c). */
void
fake__sync_open(struct fake__id *id)
{
    fake__cm_channel_move(id, fake__cm_channel_new(id->process));
    id->sync = true;
}

/* Called by fake__sync_complete(), fake__sync_close() and
 * rdma_get_request(). */
static void
event_let_go(struct fake__id *id)
{
    struct rdma_cm_event *e = id->handle->event;

    id->handle->event = NULL;
    if (e != NULL)
        fake__cm_event_close(e);
}

/* The errno that the program gets for the event. Called by
 * fake__sync_complete() and rdma_get_request(). */
static int
errno_of(const struct rdma_cm_event *e)
{
    if (e->status == 0)
        return 0;
    if (e->event == RDMA_CM_EVENT_REJECTED)
        return ECONNREFUSED;
    return e->status < 0 ? -e->status : e->status;
}

/* Called by rdma_resolve_addr() and rdma_resolve_route() (cm.c),
 * rdma_connect(), rdma_accept() and rdma_disconnect() (cm_conn.c), and join()
 * (cm_multicast.c). */
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

/* Called by rdma_destroy_id() and rdma_migrate_id() (cm.c) and rdma_accept()
 * (cm_conn.c). */
void
fake__sync_close(struct fake__id *id)
{
    if (id->sync)
        event_let_go(id);
}

int
rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
    FAKE_CALL("rdma_get_request");
    struct fake__id *k = fake__id_of(listen);
    struct rdma_cm_event *e;
    int err;

    if (call.err != 0)
        return fake__fail(call.err);
    if (!k->sync)
        return fake__fail(EINVAL);
    event_let_go(k);
    if (!fake__cm_event_get(k->channel, &e))
        return fake__fail(errno);
    err = errno_of(e);
    if (err == 0 && e->event != RDMA_CM_EVENT_CONNECT_REQUEST)
        err = EINVAL;
    if (err != 0) {
        listen->event = e;
        return fake__fail(err);
    }
    *id = e->id;
    (*id)->event = e;
    return 0;
}
