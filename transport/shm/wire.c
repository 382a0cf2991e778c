/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations table of shared memory; packets; setup and teardown of a wire.
 * See transport/shm/wire.h. Functions named shm_wire_ are entries of the table,
 * with the results that transport/transport.h names: cm/link/link_connect.c
 * calls dial, link_accept.c take, both confirm, link_io.c prepare, promise and
 * release, link.c leave and fini, link_accept.c fini too, link_send.c reserve,
 * commit and flush, link_keepalive.c probe and proven. Promise and release, and
 * the last five, run under the lock of the link; reserve, commit and flush on
 * any thread, all else of this file on the holder of the wire's engine. */
#include "transport/shm/wire.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/refusal.h"
#include "transport/shm/shm.h"
#include "transport/socket/ear.h"

/* The most packets of a wire that are handled in one turn of the engine. */
#define BATCH 16u
/* A region takes at most 1/SHARE of the memory left, unless its window is the
 * least. */
#define SHARE 256

_Static_assert(VC__SHM_ENTRIES % BATCH == 0, "batches make up a ring");

/* --- the socket ---------------------------------------------------------- */

int
vc__shm_watch(struct vc__shm_wire *s)
{
    struct vc__engine *engine = s->wire.context->engine;
    int err = vc__engine_add(engine, &s->source);

    s->watched = err == 0;
    engine->cold_wires += s->watched;
    return err;
}

void
vc__shm_unwatch(struct vc__shm_wire *s)
{
    struct vc__engine *engine = s->wire.context->engine;

    if (!s->watched)
        return;
    vc__shm_cool(s);
    vc__engine_remove(engine, &s->source);
    s->watched = false;
    engine->cold_wires--;
}

/* Handles the packets that the peer has published before its end, no more than
 * its ring holds: a process that still has its region could go on publishing
 * for ever. Called by shm_ended(). */
static void
shm_read_last(struct vc__shm_wire *s)
{
    unsigned n = 0, found = 1;

    while (s->phase == VC__SHM_OPEN && n < VC__SHM_ENTRIES && found > 0) {
        found = vc__shm_read(s);
        n += found;
    }
}

/* Handles the last packets of the peer, then its end; err: the errno, or 0 for
 * an orderly end. Called by shm_on_ready(). */
static void
shm_ended(struct vc__shm_wire *s, int err)
{
    struct vc__wire *w = &s->wire;
    bool open = s->phase == VC__SHM_OPEN;

    vc__shm_unwatch(s);
    shm_read_last(s);
    if (open && s->phase == VC__SHM_ENDED)
        return; /* one of the last packets was malformed */
    s->phase = VC__SHM_ENDED;
    if (open && err != 0 && err != ECONNRESET) /* a reset is an end, too */
        w->ops->failed(w, strerror(err));
    else
        w->ops->left(w);
}

/* ready() of the socket's source: epoll reports it. Any byte is a wakeup; its
 * value is ignored, as the region has the packets. */
static void
shm_on_ready(struct vc__source *source)
{
    struct vc__shm_wire *s =
        caa_container_of(source, struct vc__shm_wire, source);
    uint8_t bytes[64];
    ssize_t n;

    if (s->phase == VC__SHM_ASKED) {
        vc__shm_answered(s);
        return;
    }
    n = recv(s->source.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        shm_ended(s, n == 0 ? 0 : errno);
        return;
    }
    vc__shm_heat(s);
    if (s->phase == VC__SHM_OPEN)
        vc__shm_read(s);
}

/* --- packets ------------------------------------------------------------- */

/* The peer's region has invalid contents. Ends the wire, and reports that to
 * the link. Called by vc__shm_read(). */
static void
shm_malformed(struct vc__shm_wire *s)
{
    vc__shm_unwatch(s);
    s->phase = VC__SHM_ENDED;
    s->wire.ops->failed(&s->wire, "its shared memory has invalid contents");
}

unsigned
vc__shm_read(struct vc__shm_wire *s)
{
    struct vc__shm_context *c = vc__shm_context_of(s->wire.context);
    unsigned n = 0;
    int len;

    while (n < BATCH && s->phase == VC__SHM_OPEN &&
           (len = vc__shm_in_take(&s->in, c->packet)) != -1) {
        n++;
        if (len < 0)
            shm_malformed(s);
        else
            s->wire.ops->received(&s->wire, c->packet, (uint32_t)len);
    }
    return n;
}

/* Returns room in our region for the next packet. NULL only if the peer breaks
 * the rules: the ring has room for 34 packets, and no link has as many
 * credits. */
static uint8_t *
shm_wire_reserve(struct vc__wire *w, uint32_t *room)
{
    *room = VC__PACKET_MAX;
    return vc__shm_out_reserve(&vc__shm_wire_of(w)->out);
}

/* Publishes the packet. Always 0: it is in the region, whatever has become of
 * the peer. */
static int
shm_wire_commit(struct vc__wire *w, uint32_t len)
{
    vc__shm_out_commit(&vc__shm_wire_of(w)->out, len);
    return 0;
}

/* Wakes the peer by a byte in the socket, if it sleeps. If the socket is full,
 * it has bytes that the peer has not read: they wake the peer, too. If the peer
 * has ended, a read will report that. */
static void
shm_wire_flush(struct vc__wire *w)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);

    if (vc__shm_out_wakes(&s->out) &&
        send(s->source.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
}

/* The host is this one: nothing is sent, and 0 is returned. A probe comes when
 * the link is idle, a good moment to trim the region. */
static int
shm_wire_probe(struct vc__wire *w, uint32_t *ticket)
{
    *ticket = 0;
    vc__shm_out_trim(&vc__shm_wire_of(w)->out);
    return 0;
}

/* Always true: the host is this one. */
static bool
shm_wire_proven(const struct vc__wire *w, uint32_t ticket)
{
    (void)w;
    (void)ticket;
    return true;
}

/* Counts n more receives as promised, under the lock of the link. Always VC_OK:
 * the ring has room for any window. */
static enum vc_status
shm_wire_promise(struct vc__wire *w, uint32_t n)
{
    w->promised += n;
    return VC_OK;
}

/* Counts n receives less as promised, under the lock of the link. */
static void
shm_wire_release(struct vc__wire *w, uint32_t n)
{
    w->promised -= n;
}

/* --- setup and teardown -------------------------------------------------- */

/* Called first by dial() and take(): sets the callback of the socket's source,
 * and has the engine poll wires of shared memory. */
static void
wire_init(struct vc__shm_wire *s)
{
    s->source.ready = shm_on_ready;
    s->source.judges = true;
    s->source.fd = s->memfd = -1;
    vc__shm_poll(vc__shm_context_of(s->wire.context));
}

/* Connects, see vc__shm_dial(). */
static enum vc_status
shm_wire_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    wire_init(vc__shm_wire_of(w));
    return vc__shm_dial(w, timeout_ms);
}

/* The wire gets the request's socket and offer, see vc__shm_take(). */
static void
shm_wire_take(struct vc__wire *w, const struct vc__incoming *in)
{
    wire_init(vc__shm_wire_of(w));
    vc__shm_take(w, in);
}

/* For window_choose() and region_fini(): how much of its region an end can have
 * touched if its peer promises `window` receives. Each end assumes that the
 * other's window is as large as its own, as both choose theirs by the number of
 * their links. */
static size_t
region_size(uint32_t window)
{
    return offsetof(struct vc__shm_region, data) +
           (window + 2) * (size_t)VC__PACKET_MAX;
}

/* Sets the window, and reserves its memory of memory_limit. Few links get full
 * windows; many share the memory. True if that is done; false: not enough is
 * left. Called by prepare(). */
static bool
window_choose(struct vc__wire *w, const struct vc__receives *r)
{
    struct vc__shm_context *c = vc__shm_context_of(w->context);
    size_t left = c->memory - c->used;
    uint32_t window = r->most;

    while (window / 2 >= r->least && region_size(window) > left / SHARE)
        window /= 2;
    if (region_size(window) > left)
        return false;
    c->used += region_size(window);
    w->window = window;
    return true;
}

/* Frees our region, and what it counts of memory_limit. Called by fini(), and
 * by prepare() when it fails. Without a region, memfd is not this wire's
 * descriptor. */
static void
region_fini(struct vc__shm_wire *s)
{
    if (s->out.mine != NULL && s->memfd >= 0)
        close(s->memfd);
    s->memfd = -1;
    if (s->wire.window > 0)
        vc__shm_context_of(s->wire.context)->used -=
            region_size(s->wire.window);
    vc__shm_region_unmap(s->out.mine);
    s->out.mine = s->in.mine = NULL;
    s->wire.window = s->wire.promised = 0;
}

/* Makes our region. VC_RESOURCE_EXHAUSTED: memory_limit is reached;
 * VC_PERMISSION_DENIED: a call is not allowed; or the status of its errno. */
static enum vc_status
shm_wire_prepare(struct vc__wire *w, const struct vc__receives *r)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);
    int err;

    if (!window_choose(w, r))
        return vc__fail(
            VC_RESOURCE_EXHAUSTED,
            "no memory for another connection: all of memory_limit is in use; "
            "raise it in the options of the runtime, or close connections");
    s->out.mine = s->in.mine = vc__shm_region_make(&s->memfd);
    err = errno;
    if (s->out.mine == NULL) {
        region_fini(s);
        return vc__shm_fail("cannot make shared memory", VC__SHM_REGION_CALL,
                            err);
    }
    w->promised = w->window < r->first ? w->window : r->first;
    return VC_OK;
}

void
vc__shm_begin(struct vc__shm_wire *s, const struct vc__shm_region *theirs)
{
    s->in.theirs = s->out.theirs = theirs;
    close(s->memfd);
    s->memfd = -1;
    s->phase = VC__SHM_OPEN;
    vc__shm_heat(s);
}

/* Always VC_OK: nothing is to be confirmed. If the peer has left meanwhile, its
 * socket will report it. */
static enum vc_status
shm_wire_confirm(struct vc__wire *w)
{
    (void)w;
    return VC_OK;
}

/* Closes this side of the socket. True: left() follows when the peer has closed
 * its side. False: the wire was not open, or has ended. */
static bool
shm_wire_leave(struct vc__wire *w)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);

    if (s->phase != VC__SHM_OPEN)
        return false;
    vc__shm_cool(s);
    s->phase = VC__SHM_LEAVING;
    return shutdown(s->source.fd, SHUT_WR) == 0;
}

/* Frees all that the wire has. Also called by link_accept.c after an accept()
 * that failed: then the socket and the offer stay for the reject. */
static void
shm_wire_fini(struct vc__wire *w)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);

    vc__timer_stop(&w->context->engine->timers, &s->again);
    vc__shm_unwatch(s);
    if (s->owned) {
        close(s->source.fd);
        vc__shm_region_unmap(s->in.theirs);
    }
    s->owned = false;
    s->source.fd = -1;
    s->in.theirs = s->out.theirs = NULL;
    vc__socket_fds_close(&s->fds);
    region_fini(s);
}

/* --- the operations table ------------------------------------------------ */

const struct vc__transport vc__shm = {
    .scheme = "shm",
    .made = VC__COUNT_links_made_shm,
    .local = true,
    .hello_max = 56,
    .accept_max = 196,
    .reject_max = 148,
    .context_size = sizeof(struct vc__shm_context),
    .wire_size = sizeof(struct vc__shm_wire),
    .ear_size = sizeof(struct vc__socket_ear),
    .open = vc__shm_open,
    .close = vc__shm_close,
    .dial = shm_wire_dial,
    .take = shm_wire_take,
    .prepare = shm_wire_prepare,
    .hello = vc__shm_hello,
    .accept = vc__shm_accept,
    .confirm = shm_wire_confirm,
    .leave = shm_wire_leave,
    .fini = shm_wire_fini,
    .reserve = shm_wire_reserve,
    .commit = shm_wire_commit,
    .flush = shm_wire_flush,
    .host_is_up = "it is on this host",
    .probe = shm_wire_probe,
    .proven = shm_wire_proven,
    .promise = shm_wire_promise,
    .release = shm_wire_release,
    .listen = vc__shm_listen,
    .unlisten = vc__shm_unlisten,
    .port = vc__shm_port,
    .reject = vc__shm_reject,
};
