/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations table of TCP, and setup and teardown of a wire. See
 * transport/tcp/wire.h. Functions named tcp_wire_ are entries of the table,
 * with the results that transport/transport.h names: cm/link/link_connect.c
 * calls dial, link_accept.c take, both confirm, link_io.c prepare, promise and
 * release, link.c leave and fini. All of it runs on the holder of the wire's
 * engine. While the wire is up, tcp_wire_describe() may run on any thread. */
#include "transport/tcp/wire.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/socket/ear.h"
#include "transport/tcp/tcp.h"

/* --- socket events -------------------------------------------------------- */

/* ready() of the socket's source: epoll reports it. While connecting, calls
 * vc__tcp_connected(); later has the link send, if there is room again, and
 * reads. */
static void
tcp_on_ready(struct vc__source *s)
{
    struct vc__tcp_wire *t = caa_container_of(s, struct vc__tcp_wire, source);

    if (t->phase == VC__TCP_CONNECTING) {
        vc__tcp_connected(t);
        return;
    }
    if (atomic_load_explicit(&t->blocked, memory_order_relaxed))
        t->wire.ops->writable(&t->wire, 0);
    if (t->watched)
        vc__tcp_read(t);
}

/* --- setup and teardown --------------------------------------------------- */

/* Called first by dial() and take(): sets the callback of the socket's
 * source. */
static void
source_init(struct vc__tcp_wire *t)
{
    t->source.ready = tcp_on_ready;
    t->source.judges = true;
}

/* Begins to connect, see vc__tcp_dial(). */
static enum vc_status
tcp_wire_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    source_init(vc__tcp_wire_of(w));
    return vc__tcp_dial(w, timeout_ms);
}

/* The wire gets the request's socket, see vc__tcp_take(). */
static void
tcp_wire_take(struct vc__wire *w, const struct vc__incoming *in)
{
    source_init(vc__tcp_wire_of(w));
    vc__tcp_take(w, in);
}

/* Reserves what a connection may take, of memory_limit; VC_RESOURCE_EXHAUSTED:
 * too little is left. The window is never lowered: received packets are in the
 * kernel's buffers until they are read, and credits bound them. */
static enum vc_status
tcp_wire_prepare(struct vc__wire *w, const struct vc__receives *r)
{
    struct vc__tcp_context *c = vc__tcp_context_of(w->context);

    if (VC__TCP_LINK > c->memory - c->used)
        return vc__fail(
            VC_RESOURCE_EXHAUSTED,
            "no memory for another connection: all of memory_limit is in use; "
            "raise it in the options of the runtime, or close connections");
    c->used += VC__TCP_LINK;
    vc__tcp_wire_of(w)->counted = true;
    w->window = r->most;
    w->promised = r->most < r->first ? r->most : r->first;
    return VC_OK;
}

/* Always VC_OK: TCP needs no confirmation. If the peer has left meanwhile, a
 * read will report it. */
static enum vc_status
tcp_wire_confirm(struct vc__wire *w)
{
    (void)w;
    return VC_OK;
}

/* Closes this side of the connection. Data left in the block are not sent any
 * more. True: left() follows when the peer has closed its side. False: the wire
 * was not open, or has ended. */
static bool
tcp_wire_leave(struct vc__wire *w)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);

    if (t->phase != VC__TCP_OPEN)
        return false;
    t->phase = VC__TCP_LEAVING;
    return shutdown(t->source.fd, SHUT_WR) == 0;
}

/* Frees all that the wire has. Also called by link_accept.c after an accept()
 * that failed: then the socket is not `owned`, and stays open for the
 * reject. */
static void
tcp_wire_fini(struct vc__wire *w)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);
    struct vc__tcp_context *c = vc__tcp_context_of(w->context);

    vc__tcp_unwatch(t);
    if (t->owned)
        close(t->source.fd);
    t->owned = false;
    t->source.fd = -1;
    vc__stock_give(&c->blocks, t->out);
    vc__stock_give(&c->parts, t->part);
    t->out = t->part = NULL;
    if (t->counted)
        c->used -= VC__TCP_LINK;
    t->counted = false;
    w->window = w->promised = 0;
}

/* --- the operations table ------------------------------------------------- */

/* Counts n more receives as promised, under the lock of the link. Always VC_OK:
 * a receive of TCP needs no memory of its own. */
static enum vc_status
tcp_wire_promise(struct vc__wire *w, uint32_t n)
{
    w->promised += n;
    return VC_OK;
}

/* Counts n receives less as promised, under the lock of the link. */
static void
tcp_wire_release(struct vc__wire *w, uint32_t n)
{
    w->promised -= n;
}

/* Called through the table by vc__wire_describe(). Writes the socket's own
 * address to `out`. Leaves `out` as it is if the socket has no name. */
static void
tcp_wire_describe(const struct vc__wire *w, char *out, size_t size)
{
    const struct vc__tcp_wire *t =
        caa_container_of(w, const struct vc__tcp_wire, wire);
    char text[VC__ADDR_TEXT];
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof local;

    if (getsockname(t->source.fd, (struct sockaddr *)&local, &len) == 0)
        snprintf(out, size, "TCP, from %s",
                 vc__addr_text((struct sockaddr *)&local, text));
}

const struct vc__transport vc__tcp = {
    .scheme = "tcp",
    .made = VC__COUNT_links_made_tcp,
    /* As over RDMA, so that each end sends the same over both. */
    .hello_max = 56,
    .accept_max = 196,
    .reject_max = 148,
    .context_size = sizeof(struct vc__tcp_context),
    .wire_size = sizeof(struct vc__tcp_wire),
    .ear_size = sizeof(struct vc__socket_ear),
    .open = vc__tcp_open,
    .close = vc__tcp_close,
    .dial = tcp_wire_dial,
    .take = tcp_wire_take,
    .prepare = tcp_wire_prepare,
    .hello = vc__tcp_hello,
    .accept = vc__tcp_accept,
    .confirm = tcp_wire_confirm,
    .leave = tcp_wire_leave,
    .fini = tcp_wire_fini,
    .reserve = vc__tcp_reserve,
    .commit = vc__tcp_commit,
    .flush = vc__tcp_flush,
    .retire = vc__tcp_retire,
    .host_is_up = "its host acknowledges what is sent",
    .probe = vc__tcp_probe,
    .proven = vc__tcp_proven,
    .describe = tcp_wire_describe,
    .promise = tcp_wire_promise,
    .release = tcp_wire_release,
    .listen = vc__tcp_listen,
    .unlisten = vc__tcp_unlisten,
    .port = vc__tcp_port,
    .reject = vc__tcp_reject,
};
