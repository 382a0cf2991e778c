/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/tcp/listen.h. Strangers are never freed while their ear
 * listens: epoll may have found one that is turned away in the same turn. */
#define _GNU_SOURCE /* accept4() */
#include "transport/tcp/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/tcp/socket.h"
#include "transport/tcp/wire.h"

/* A stranger's hello comes within this time. */
#define HELLO_MS 2000u
/* Without descriptors, connections wait in the kernel's queue for so long. */
#define PAUSE_MS 100u
/* The kernel has a limit of its own: net.core.somaxconn, 4096 by default. */
#define BACKLOG 65535
/* Connections that one look takes. */
#define BATCH 16

static struct vc__tcp_ear *
ear_of(struct vc__ear *ear)
{
    return caa_container_of(ear, struct vc__tcp_ear, ear);
}

static struct vc__engine *
engine_of(const struct vc__tcp_ear *e)
{
    return e->ear.context->engine;
}

/* --- strangers ------------------------------------------------------------ */

/* It is none any more; its socket is the caller's. */
static int
stranger_release(struct vc__tcp_stranger *s)
{
    struct vc__engine *engine = engine_of(s->ear);
    int fd = s->source.fd;

    vc__timer_stop(&engine->timers, &s->timer);
    vc__engine_remove(engine, &s->source);
    s->source.fd = -1;
    cds_list_del(&s->node);
    cds_list_add(&s->node, &s->ear->free);
    return fd;
}

static void
stranger_drop(struct vc__tcp_stranger *s)
{
    vc__count(&engine_of(s->ear)->ledger, VC__COUNT_hellos_missed, 1);
    close(stranger_release(s));
}

static void
on_late(struct vc__timer *timer)
{
    stranger_drop(caa_container_of(timer, struct vc__tcp_stranger, timer));
}

/* Its hello is whole. */
static void
stranger_ask(struct vc__tcp_stranger *s, uint32_t len)
{
    struct vc__tcp_ear *e = s->ear;
    struct vc__incoming in = {.context = e->ear.context, .peer = s->peer};
    uint8_t hello[VC__TCP_HELLO];

    memcpy(hello, s->bytes + VC__RECORD_HEADER, len);
    in.handle = (void *)(intptr_t)stranger_release(s);
    e->ear.ops->request(&e->ear, &in, hello, len);
}

/* Bytes of the record that it has begun; 0: that is no hello. */
static uint32_t
stranger_wants(const struct vc__tcp_stranger *s)
{
    struct vc__record r;

    if (s->len < VC__RECORD_HEADER)
        return VC__RECORD_HEADER;
    if (!vc__record_get(s->bytes, &r) || r.kind != VC__RECORD_HELLO)
        return 0;
    return VC__RECORD_HEADER + r.len;
}

/* Not a byte more is read than its hello has: what follows is for the wire. */
static void
stranger_ready(struct vc__source *source)
{
    struct vc__tcp_stranger *s =
        caa_container_of(source, struct vc__tcp_stranger, source);
    uint32_t wants = 0;
    ssize_t n = 0;

    while (s->source.fd >= 0 && (wants = stranger_wants(s)) > s->len) {
        n = recv(s->source.fd, s->bytes + s->len, wants - s->len, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            break;
        s->len += (uint32_t)n;
    }
    if (s->source.fd < 0)
        return; /* turned away in this turn */
    if (wants == s->len && wants > VC__RECORD_HEADER)
        stranger_ask(s, wants - VC__RECORD_HEADER);
    else
        stranger_drop(s);
}

/* Among too many, who has waited longest is the likeliest to say nothing. */
static struct vc__tcp_stranger *
stranger_take(struct vc__tcp_ear *e)
{
    if (cds_list_empty(&e->free))
        stranger_drop(
            cds_list_entry(e->waiting.next, struct vc__tcp_stranger, node));
    return cds_list_entry(e->free.next, struct vc__tcp_stranger, node);
}

static void
stranger_come(struct vc__tcp_ear *e, int fd,
              const struct sockaddr_storage *peer)
{
    struct vc__tcp_stranger *s = stranger_take(e);
    struct vc__engine *engine = engine_of(e);

    s->ear = e;
    s->len = 0;
    s->peer = *peer;
    vc__socket_addr_plain(&s->peer);
    s->source = (struct vc__source){.fd = fd, .ready = stranger_ready};
    if (vc__engine_add(engine, &s->source) != 0) {
        s->source.fd = -1;
        close(fd);
        return;
    }
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &e->waiting);
    vc__socket_tune(fd);
    if (!vc__timer_start(&engine->timers, &s->timer,
                         vc__after_ms(vc__now(), HELLO_MS), on_late))
        stranger_drop(s);
}

/* --- the ear -------------------------------------------------------------- */

static void
on_pause(struct vc__timer *timer)
{
    struct vc__tcp_ear *e = caa_container_of(timer, struct vc__tcp_ear, pause);

    vc__engine_add(engine_of(e), &e->source);
}

/* There are no descriptors, or no memory: the kernel would tell of those that
 * wait all the time. */
static void
pause_begin(struct vc__tcp_ear *e)
{
    struct vc__engine *engine = engine_of(e);

    if (vc__timer_start(&engine->timers, &e->pause,
                        vc__after_ms(vc__now(), PAUSE_MS), on_pause))
        vc__engine_remove(engine, &e->source);
}

static void
ear_ready(struct vc__source *source)
{
    struct vc__tcp_ear *e =
        caa_container_of(source, struct vc__tcp_ear, source);
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};

    for (int i = 0; i < BATCH && e->source.fd >= 0; i++) {
        socklen_t len = sizeof peer;
        int fd = accept4(e->source.fd, (struct sockaddr *)&peer, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            stranger_come(e, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                   errno == ENOMEM) {
            pause_begin(e);
            return;
        } else if (errno == EAGAIN) {
            return;
        } /* else it has gone again */
    }
}

void
vc__tcp_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    int fd = (int)(intptr_t)in->handle;

    /* It fails only when the peer has gone, and then there is nobody to tell. */
    vc__socket_say(fd, VC__RECORD_REJECT, data, len);
    close(fd);
}

/* --- listening ------------------------------------------------------------ */

static enum vc_status
fail_bind(const struct sockaddr *addr, int err)
{
    char text[VC__ADDR_TEXT];

    vc__addr_text(addr, text);
    switch (err) {
    case EADDRINUSE:
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: another socket does", text);
    case EADDRNOTAVAIL:
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: that is not an address of this "
                        "machine; see `ip addr`",
                        text);
    case EACCES:
        return vc__fail(VC_PERMISSION_DENIED,
                        "cannot listen at %s: this user may not have ports "
                        "below 1024; take another, or give the program "
                        "CAP_NET_BIND_SERVICE",
                        text);
    default:
        return vc__fail(vc__status_of_errno(err), "cannot listen at %s: %s",
                        text, strerror(err));
    }
}

static uint16_t
port_of(int fd)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;

    if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    /* In the same place in both families. */
    return ntohs(((const struct sockaddr_in *)&addr)->sin_port);
}

/* Who listens at all addresses of IPv6 does so at those of IPv4, too. */
static int
socket_listen(int fd, const struct sockaddr *addr)
{
    const int on = 1, off = 0;
    struct sockaddr_storage copy;

    vc__addr_copy(&copy, addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (addr->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, addr, vc__socket_addr_len(&copy)) != 0 ||
        listen(fd, BACKLOG) != 0)
        return errno;
    return 0;
}

static bool
strangers_make(struct vc__tcp_ear *e)
{
    CDS_INIT_LIST_HEAD(&e->waiting);
    CDS_INIT_LIST_HEAD(&e->free);
    e->strangers = calloc(VC__TCP_STRANGERS, sizeof *e->strangers);
    for (unsigned i = 0; e->strangers != NULL && i < VC__TCP_STRANGERS; i++) {
        e->strangers[i].source.fd = -1;
        cds_list_add_tail(&e->strangers[i].node, &e->free);
    }
    return e->strangers != NULL;
}

static void
ear_undo(struct vc__tcp_ear *e)
{
    close(e->source.fd);
    e->source.fd = -1;
    free(e->strangers);
    e->strangers = NULL;
}

enum vc_status
vc__tcp_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__tcp_ear *e = ear_of(ear);
    int err;

    e->source.ready = ear_ready;
    e->source.fd = vc__socket_new(addr->sa_family);
    if (e->source.fd < 0)
        return fail_bind(addr, errno);
    err = socket_listen(e->source.fd, addr);
    if (err == 0 && !strangers_make(e))
        err = ENOMEM;
    e->port = port_of(e->source.fd);
    if (err == 0)
        err = vc__engine_add(engine_of(e), &e->source);
    if (err == 0)
        return VC_OK;
    ear_undo(e);
    return fail_bind(addr, err);
}

void
vc__tcp_unlisten(struct vc__ear *ear)
{
    struct vc__tcp_ear *e = ear_of(ear);
    struct vc__engine *engine = engine_of(e);

    if (e->source.fd < 0 || e->strangers == NULL)
        return;
    if (vc__timer_running(&e->pause))
        vc__timer_stop(&engine->timers, &e->pause);
    else
        vc__engine_remove(engine, &e->source);
    while (!cds_list_empty(&e->waiting))
        close(stranger_release(
            cds_list_entry(e->waiting.next, struct vc__tcp_stranger, node)));
    ear_undo(e);
}

uint16_t
vc__tcp_port(const struct vc__ear *ear)
{
    return caa_container_of(ear, const struct vc__tcp_ear, ear)->port;
}
