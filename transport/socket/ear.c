/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/socket/ear.h. Strangers are never freed while their ear
 * listens: epoll may have found one that is turned away in the same turn.
 * Static functions run on the holder of the engine. Only those that
 * vc__socket_ear_open() calls may run on another thread, too: spare_open(),
 * spare_close(), strangers_make() and socket_engine_of(). */
#define _GNU_SOURCE /* accept4() */
#include "transport/socket/ear.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/core/log.h"
#include "transport/core/words.h"

/* A stranger's hello comes within this time. */
#define HELLO_MS 2000u
/* Without descriptors, connections wait in the kernel's queue for so long. */
#define PAUSE_MS 100u
/* The kernel has a limit of its own: net.core.somaxconn, 4096 by default. */
#define BACKLOG 65535
/* Connections that one look takes. */
#define BATCH 16

/* The engine of the ear's context, for all functions of this file. */
static struct vc__engine *
socket_engine_of(const struct vc__socket_ear *e)
{
    return e->ear.context->engine;
}

/* --- the spare descriptor ------------------------------------------------- */

/* Makes the spare descriptor, unless there is one. Called when the ear opens,
 * before connections are accepted, and before and after a hello is passed on.
 * False: no descriptor is left for it. */
static bool
spare_open(struct vc__socket_ear *e)
{
    if (e->spare < 0)
        e->spare = fcntl(e->source.fd, F_DUPFD_CLOEXEC, 0);
    return e->spare >= 0;
}

/* Closes the spare descriptor, if there is one. Called when it is needed for a
 * connection (connection_take()), and when the ear closes or could not be
 * opened. */
static void
spare_close(struct vc__socket_ear *e)
{
    if (e->spare >= 0)
        close(e->spare);
    e->spare = -1;
}

/* --- strangers ------------------------------------------------------------ */

/* Frees the stranger's place, and stops its timer and its source: it was turned
 * away (stranger_drop()), its request was passed on (stranger_ask()), or the
 * ear closes. Returns its socket: stranger_ask() has given it to the transport,
 * the other callers close it. */
static int
stranger_release(struct vc__stranger *s)
{
    struct vc__engine *engine = socket_engine_of(s->ear);
    int fd = s->source.fd;

    vc__timer_stop(&engine->timers, &s->timer);
    vc__engine_remove(engine, &s->source);
    s->source.fd = -1;
    cds_list_del(&s->node);
    cds_list_add(&s->node, &s->ear->free);
    return fd;
}

/* Called by stranger_drop(): logs that the stranger is turned away, if such
 * lines are logged. */
static void
stranger_log(const struct vc__stranger *s)
{
    struct vc__log *log = socket_engine_of(s->ear)->log;
    char peer[VC__ADDR_TEXT];

    if (vc__log_wants(log, VC__LOG_STRANGER))
        vc__log(log, VC__LOG_STRANGER,
                "link from %s: not up: no valid hello, %u byte%s received",
                vc__addr_text((const struct sockaddr *)&s->peer, peer),
                (unsigned)s->len, vc__plural(s->len));
}

/* Turns the stranger away without an answer, and closes its socket: it has
 * disconnected, its hello is late (on_late()), invalid or not wanted by the
 * transport, or there are too many strangers (stranger_take()), or no memory
 * for its timer. */
static void
stranger_drop(struct vc__stranger *s)
{
    vc__count(&socket_engine_of(s->ear)->ledger, VC__COUNT_hellos_missed, 1);
    stranger_log(s);
    vc__socket_fds_close(&s->fds);
    close(stranger_release(s));
}

/* A timer that stranger_come() has started: the hello did not come within
 * HELLO_MS. Turns the stranger away. */
static void
on_late(struct vc__timer *timer)
{
    stranger_drop(caa_container_of(timer, struct vc__stranger, timer));
}

/* Its hello is whole, with len bytes after the header. Passes the request to
 * the listener by request(), or turns the stranger away. Called by
 * stranger_ready(). */
static void
stranger_ask(struct vc__stranger *s, uint32_t len)
{
    struct vc__socket_ear *e = s->ear;
    struct vc__incoming in = {.context = e->ear.context, .peer = s->peer};
    uint8_t hello[VC__EAR_HELLO];

    if (!spare_open(e))
        in.lack = VC__LACK_DESCRIPTORS;
    else if (s->fds.cut) {
        stranger_drop(s);
        return;
    }
    if (!e->offer(&e->ear, &in, s->source.fd, &s->fds)) {
        stranger_drop(s);
        return;
    }
    memcpy(hello, s->bytes + VC__RECORD_HEADER, len);
    stranger_release(s);
    e->ear.ops->request(&e->ear, &in, hello, len);
    spare_open(e);
}

/* ready() of a stranger's source: its socket is readable. Reads the hello,
 * passes it to stranger_ask() when it is whole, and turns the stranger away if
 * it is invalid or the connection has ended. Not a byte more is read than its
 * hello has: what follows is for the wire. */
static void
stranger_ready(struct vc__source *source)
{
    struct vc__stranger *s =
        caa_container_of(source, struct vc__stranger, source);
    uint32_t wants = 0;
    ssize_t n = 0;

    while (s->source.fd >= 0 &&
           (wants = vc__record_wants(s->bytes, s->len, VC__RECORD_HELLO,
                                     VC__RECORD_HELLO)) > s->len) {
        n = vc__socket_read(s->source.fd, s->bytes + s->len, wants - s->len,
                            &s->fds);
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

/* Returns a free place for a stranger, never NULL. If all are taken, turns away
 * who has waited longest: that one is the likeliest to say nothing. Called by
 * stranger_come(). */
static struct vc__stranger *
stranger_take(struct vc__socket_ear *e)
{
    if (cds_list_empty(&e->free))
        stranger_drop(
            cds_list_entry(e->waiting.next, struct vc__stranger, node));
    return cds_list_entry(e->free.next, struct vc__stranger, node);
}

/* A connection was accepted: waits for its hello. Closes fd if that is not
 * possible. Called by ear_ready(). */
static void
stranger_come(struct vc__socket_ear *e, int fd,
              const struct sockaddr_storage *peer)
{
    struct vc__stranger *s = stranger_take(e);
    struct vc__engine *engine = socket_engine_of(e);

    s->ear = e;
    s->len = 0;
    s->fds = (struct vc__socket_fds){.n = 0};
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

/* Logs that accept() fails: once, until all that wait have been accepted.
 * Called by pause_begin(). */
static void
starved_log(struct vc__socket_ear *e, int err)
{
    if (!e->starved)
        vc__log(
            socket_engine_of(e)->log, VC__LOG_STARVED,
            "listener over %s, port %u: clients wait, as accept() fails: %s",
            e->ear.context->transport->scheme, (unsigned)e->port,
            strerror(err));
    e->starved = true;
}

static void on_pause(struct vc__timer *timer);

/* Called by ear_ready() when there are no descriptors, or no memory, and by
 * on_pause() when epoll has none: stops listening to the socket for PAUSE_MS,
 * as epoll would report all the time that some wait. Without memory for the
 * timer there is no pause. */
static void
pause_begin(struct vc__socket_ear *e, int err)
{
    struct vc__engine *engine = socket_engine_of(e);

    starved_log(e, err);
    if (vc__timer_start(&engine->timers, &e->pause,
                        vc__after_ms(vc__now(), PAUSE_MS), on_pause))
        vc__engine_remove(engine, &e->source);
}

/* The timer that pause_begin() has started: the pause is over, accepts
 * connections again. */
static void
on_pause(struct vc__timer *timer)
{
    struct vc__socket_ear *e =
        caa_container_of(timer, struct vc__socket_ear, pause);
    int err = vc__engine_add(socket_engine_of(e), &e->source);

    if (err != 0)
        pause_begin(e, err);
}

/* For connection_take(): returns the socket of the next connection; -1 and
 * errno: none, EAGAIN if none waits. */
static int
connection_accept(struct vc__socket_ear *e, struct sockaddr_storage *peer)
{
    socklen_t len = sizeof *peer;

    return accept4(e->source.fd, (struct sockaddr *)peer, &len,
                   SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* As connection_accept(), but in place of the spare descriptor if there are no
 * others. Called by ear_ready(). */
static int
connection_take(struct vc__socket_ear *e, struct sockaddr_storage *peer)
{
    int fd = connection_accept(e, peer);

    if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || e->spare < 0)
        return fd;
    spare_close(e);
    return connection_accept(e, peer);
}

/* ready() of the listening socket's source: epoll reports that connections
 * wait. Takes up to BATCH of them. */
static void
ear_ready(struct vc__source *source)
{
    struct vc__socket_ear *e =
        caa_container_of(source, struct vc__socket_ear, source);
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};

    spare_open(e);
    for (int i = 0; i < BATCH && e->source.fd >= 0; i++) {
        int fd = connection_take(e, &peer);

        if (fd >= 0) {
            stranger_come(e, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                   errno == ENOMEM) {
            pause_begin(e, errno);
            return;
        } else if (errno == EAGAIN) {
            e->starved = false;
            return;
        } /* else it was closed again */
    }
}

/* Called by vc__socket_ear_open(): makes the places of strangers, all of them
 * free. False: no memory. */
static bool
strangers_make(struct vc__socket_ear *e)
{
    CDS_INIT_LIST_HEAD(&e->waiting);
    CDS_INIT_LIST_HEAD(&e->free);
    e->strangers = calloc(VC__EAR_STRANGERS, sizeof *e->strangers);
    for (unsigned i = 0; e->strangers != NULL && i < VC__EAR_STRANGERS; i++) {
        e->strangers[i].source.fd = -1;
        cds_list_add_tail(&e->strangers[i].node, &e->free);
    }
    return e->strangers != NULL;
}

int
vc__socket_ear_open(struct vc__socket_ear *e, int fd)
{
    int err = listen(fd, BACKLOG) == 0 ? 0 : errno;

    if (err == 0 && !strangers_make(e))
        err = ENOMEM;
    e->source.ready = ear_ready;
    e->source.fd = fd;
    e->spare = -1;
    if (err == 0 && !spare_open(e))
        err = errno;
    if (err == 0)
        err = vc__engine_add(socket_engine_of(e), &e->source);
    if (err == 0)
        return 0;
    spare_close(e);
    free(e->strangers);
    e->strangers = NULL;
    e->source.fd = -1;
    return err;
}

void
vc__socket_ear_close(struct vc__socket_ear *e)
{
    struct vc__engine *engine = socket_engine_of(e);

    if (e->strangers == NULL)
        return;
    if (vc__timer_running(&e->pause))
        vc__timer_stop(&engine->timers, &e->pause);
    else
        vc__engine_remove(engine, &e->source);
    while (!cds_list_empty(&e->waiting)) {
        struct vc__stranger *s =
            cds_list_entry(e->waiting.next, struct vc__stranger, node);

        vc__socket_fds_close(&s->fds);
        close(stranger_release(s));
    }
    spare_close(e);
    close(e->source.fd);
    e->source.fd = -1;
    free(e->strangers);
    e->strangers = NULL;
}
