/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is sent to a socket. The packets of a round are written one after the
 * other into a block and sent by one system call. Data that the kernel does not
 * take stays there until epoll reports room. All of it under the lock of the
 * wire's link: reserve, commit and flush on any thread; retire, probe and
 * proven on the holder of the engine. See transport/tcp/wire.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/tcp/wire.h"

/* How much older than it is an acknowledgement may seem: the kernel's clock
 * ticks every 4 or 10 ms. */
#define TICK_MS 20u

/* Returns the stock of the blocks to write. For out_drop(), tcp_room_make() and
 * probe(). */
static struct vc__stock *
blocks_of(struct vc__tcp_wire *t)
{
    return &vc__tcp_context_of(t->wire.context)->blocks;
}

/* Has epoll report when the socket has room, or no longer. Called by
 * out_write(), tcp_room_make() and retire(). */
static void
blocked_set(struct vc__tcp_wire *t, bool blocked)
{
    if (atomic_load_explicit(&t->blocked, memory_order_relaxed) == blocked)
        return;
    /* Relaxed: epoll reports the descriptor only after it was asked to,
     * below. */
    atomic_store_explicit(&t->blocked, blocked, memory_order_relaxed);
    vc__engine_await_room(t->wire.context->engine, &t->source, blocked);
}

/* Gives the block back, with what is left in it. Called by out_write(). */
static void
out_drop(struct vc__tcp_wire *t)
{
    vc__stock_give(blocks_of(t), t->out);
    t->out = NULL;
    t->sent = t->end = 0;
}

/* Called by reserve(), flush(), retire() and probe(): writes as much as the
 * kernel takes. What it does not take stays in the block, and the wire is
 * `blocked`. After an error, which sets `broken`, the data are dropped. */
static void
out_write(struct vc__tcp_wire *t)
{
    while (t->sent < t->end) {
        ssize_t n = send(t->source.fd, t->out + t->sent, t->end - t->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            blocked_set(t, true);
            return;
        }
        if (n < 0) {
            t->broken = true;
            break;
        }
        t->sent += (uint32_t)n;
    }
    out_drop(t);
    blocked_set(t, false);
}

/* Makes room in the block for the longest packet. True: there is room; false:
 * there is none. Called by reserve(). */
static bool
tcp_room_make(struct vc__tcp_wire *t)
{
    if (t->out == NULL)
        t->out = vc__stock_take(blocks_of(t));
    if (t->out == NULL) { /* epoll reports room at once: a retry */
        blocked_set(t, true);
        return false;
    }
    if (VC__TCP_BLOCK - t->end >= VC__RECORD_MAX)
        return true;
    memmove(t->out, t->out + t->sent, t->end - t->sent);
    t->end -= t->sent;
    t->sent = 0;
    return VC__TCP_BLOCK - t->end >= VC__RECORD_MAX;
}

/* Returns room for the longest packet at the end of the block; writes the block
 * to the kernel first if there is too little. */
uint8_t *
vc__tcp_reserve(struct vc__wire *w, uint32_t *room)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);

    if (!tcp_room_make(t)) {
        if (atomic_load_explicit(&t->blocked, memory_order_relaxed))
            return NULL;
        out_write(t);
        if (!tcp_room_make(t))
            return NULL;
    }
    *room = VC__PACKET_MAX;
    return t->out + t->end + VC__RECORD_HEADER;
}

/* Appends the packet to the block; flush() writes it. EPIPE if an earlier write
 * has failed. */
int
vc__tcp_commit(struct vc__wire *w, uint32_t len)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);

    if (t->broken)
        return EPIPE;
    vc__record_put(t->out + t->end, VC__RECORD_PACKET, len);
    t->end += VC__RECORD_HEADER + len;
    return 0;
}

/* Writes the block, unless epoll has still to report room. */
void
vc__tcp_flush(struct vc__wire *w)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);

    if (t->out != NULL &&
        !atomic_load_explicit(&t->blocked, memory_order_relaxed))
        out_write(t);
}

/* Called by vc__link_on_writable() (cm/link/link_io.c) inside ops->writable(),
 * on the holder: epoll has reported room. There is one ticket, 0, which is not
 * used. */
void
vc__tcp_retire(struct vc__wire *w, uint32_t ticket)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);

    (void)ticket;
    if (t->out != NULL)
        out_write(t);
    else
        blocked_set(t, false);
}

/* --- probes of the host -------------------------------------------------- */

/* Reads what the kernel knows about the connection (TCP_INFO). False: it says
 * nothing. Called by probe() and proven(). */
static bool
info_get(const struct vc__tcp_wire *t, struct tcp_info *info)
{
    socklen_t len = sizeof *info;

    return getsockopt(t->source.fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0;
}

/* Sends an empty record, which the peer's kernel acknowledges whatever its
 * process does. Unacknowledged data serve as well: TCP sends them again, or
 * probes the window. */
int
vc__tcp_probe(struct vc__wire *w, uint32_t *ticket)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);
    struct tcp_info info;

    *ticket = (uint32_t)(vc__now() / 1000);
    if (t->out != NULL || !info_get(t, &info) || info.tcpi_unacked > 0)
        return t->broken ? EPIPE : 0;
    t->out = vc__stock_take(blocks_of(t));
    if (t->out == NULL)
        return 0;
    vc__record_put(t->out, VC__RECORD_NOTHING, 0);
    t->end = VC__RECORD_HEADER;
    out_write(t);
    return t->broken ? EPIPE : 0;
}

/* True if the peer's host has acknowledged something since the probe of this
 * ticket. */
bool
vc__tcp_proven(const struct vc__wire *w, uint32_t ticket)
{
    const struct vc__tcp_wire *t =
        caa_container_of(w, const struct vc__tcp_wire, wire);
    uint32_t since = (uint32_t)(vc__now() / 1000) - ticket;
    struct tcp_info info;

    return info_get(t, &info) && info.tcpi_last_ack_recv <= since + TICK_MS;
}
