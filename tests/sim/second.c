/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/second.h. */
#include "tests/sim/second.h"

#include <arpa/inet.h>
#include <stdatomic.h>

#include "transport/rdma/rdma.h"
#include "transport/rdma/wire.h"
#include "transport/tcp/tcp.h"

#define NETWORK 0x100u /* 10.9.0.X becomes 10.9.1.X */

static atomic_ulong packets;

unsigned long
second_packets(void)
{
    return atomic_load(&packets);
}

/* --- addresses ------------------------------------------------------------- */

static void
addr_shift(struct sockaddr_storage *addr)
{
    if (addr->ss_family == AF_INET)
        ((struct sockaddr_in *)addr)->sin_addr.s_addr |= htonl(NETWORK);
}

/* The wire keeps the address of the first network, because the pool goes on
 * from it to other transports. */
static enum vc_status
second_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    const struct sockaddr_storage peer = w->peer, source = w->source;
    enum vc_status status;

    addr_shift(&w->peer);
    addr_shift(&w->source);
    status = vc__rdma_dial(w, timeout_ms);
    w->peer = peer;
    w->source = source;
    return status;
}

static enum vc_status
second_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct sockaddr_storage at;

    vc__addr_copy(&at, addr);
    addr_shift(&at);
    return vc__rdma_listen(ear, (const struct sockaddr *)&at);
}

/* --- packets --------------------------------------------------------------- */

static uint8_t *
second_reserve(struct vc__wire *w, uint32_t *room)
{
    return vc__rdma.reserve(w, room);
}

static int
second_commit(struct vc__wire *w, uint32_t len)
{
    atomic_fetch_add(&packets, 1);
    return vc__rdma.commit(w, len);
}

static void
second_retire(struct vc__wire *w, uint32_t ticket)
{
    vc__rdma.retire(w, ticket);
}

static int
second_probe(struct vc__wire *w, uint32_t *ticket)
{
    return vc__rdma.probe(w, ticket);
}

static bool
second_proven(const struct vc__wire *w, uint32_t ticket)
{
    return vc__rdma.proven(w, ticket);
}

static enum vc_status
second_promise(struct vc__wire *w, uint32_t n)
{
    return vc__rdma.promise(w, n);
}

static void
second_release(struct vc__wire *w, uint32_t n)
{
    vc__rdma.release(w, n);
}

/* --- the table ------------------------------------------------------------- */

const struct vc__transport vc__tcp = {
    .scheme = "tcp",
    .made = VC__COUNT_links_made_tcp,
    .hello_max = 56,
    .accept_max = 196,
    .reject_max = 148,
    .context_size = sizeof(struct vc__rdma_context),
    .wire_size = sizeof(struct vc__rdma_wire),
    .ear_size = sizeof(struct vc__rdma_ear),
    .open = vc__rdma_open,
    .close = vc__rdma_close,
    .dial = second_dial,
    .take = vc__rdma_take,
    .prepare = vc__rdma_prepare,
    .hello = vc__rdma_hello,
    .accept = vc__rdma_accept,
    .confirm = vc__rdma_confirm,
    .leave = vc__rdma_leave,
    .fini = vc__rdma_fini,
    .reserve = second_reserve,
    .commit = second_commit,
    .retire = second_retire,
    .host_is_up = "its host answers",
    .probe = second_probe,
    .proven = second_proven,
    .promise = second_promise,
    .release = second_release,
    .listen = second_listen,
    .unlisten = vc__rdma_unlisten,
    .port = vc__rdma_port,
    .reject = vc__rdma_reject,
};
