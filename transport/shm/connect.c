/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a socket of this host is connected, from either side, and how the two
 * ends exchange their regions. Each error text has the cause and the remedy.
 * All of it runs on the holder of the wire's engine. See transport/shm/wire.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/shm/refusal.h"
#include "transport/shm/wire.h"

/* How long to wait before a retry when the listener's backlog is full. */
#define AGAIN_US 10000u

/* --- failures ------------------------------------------------------------ */

/* Sets the thread's error, and returns its status. Called by dial() and
 * hello(), and by on_again(). */
static enum vc_status
fail_connect(struct vc__wire *w, int err)
{
    const char *peer = vc__wire_peer(w);

    switch (err) {
    case ECONNREFUSED:
    case ENOENT:
        return vc__fail(VC_UNAVAILABLE,
                        "nothing listens at %s: see that the server runs, on "
                        "this host and in this network namespace, and that the "
                        "name is right",
                        peer);
    case EPERM:
        return vc__fail(VC_PERMISSION_DENIED,
                        "another user's process listens at %s: by a name only "
                        "servers of this user and of root are trusted; use "
                        "shm:///PATH",
                        peer);
    case EACCES:
        return vc__fail(VC_PERMISSION_DENIED,
                        "%s may not be opened by this user: see shm_mode and "
                        "shm_group of the server's options",
                        peer);
    default:
        return vc__fail_errno(err, "connecting to %s failed", peer);
    }
}

/* Sets the thread's error, and returns its status. Called by dial() when it
 * gets no socket. */
static enum vc_status
fail_socket(struct vc__wire *w, int err)
{
    char what[VC__PEER_TEXT + 16];

    snprintf(what, sizeof what, "connecting to %s", vc__wire_peer(w));
    return vc__shm_fail(what, "socket(AF_UNIX)", err);
}

/* Ends the wire, and reports the refusal to the link, with the private data of
 * a reject, or NULL. Called by shm_refused(), accept_take() and
 * shm_answer_take(). */
static void
refused_for(struct vc__shm_wire *s, const void *data, uint32_t len,
            const struct vc__error *why)
{
    vc__shm_unwatch(s);
    s->phase = VC__SHM_ENDED;
    s->wire.ops->refused(&s->wire, data, len, why, false);
}

/* Reports to the link that the peer has ended the connection, or sent no valid
 * answer. Called by vc__shm_answered() and accept_take(). */
static void
shm_refused(struct vc__shm_wire *s, const char *what)
{
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "%s %s: its process ended, it is no Verbcall server, or this "
                  "user may not connect there (shm_mode of its options)",
                  vc__wire_peer(&s->wire), what);
    refused_for(s, NULL, 0, &why);
}

/* --- the active side ------------------------------------------------------ */

/* A task, deferred by connect_try(): connect(2) has succeeded, so the link may
 * send its hello. */
static void
on_connected(struct vc__task *task)
{
    struct vc__shm_wire *s = caa_container_of(task, struct vc__shm_wire, ready);

    if (s->owned)
        s->wire.ops->ready(&s->wire);
}

static void on_again(struct vc__timer *timer);

/* True if the listener is trusted. Any user may take a free name, so its owner
 * must be this user or root. A path is safe, as nobody can put a file into
 * another user's folder. For a drawn name, an accept has said whose it is.
 * Called by connect_try(). */
static bool
is_trusted(const struct vc__shm_wire *s)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&s->wire.peer;
    uint32_t pid, uid, its;

    if (vc__addr_is_drawn(&s->wire.peer, &its))
        return vc__shm_peer(s->source.fd, &pid, &uid) && uid == its;
    return un->sun_path[0] != '@' || (vc__shm_peer(s->source.fd, &pid, &uid) &&
                                      (uid == 0 || uid == geteuid()));
}

/* Connects, or starts the timer to retry. 0 or an errno; EPERM: the listener is
 * not trusted. Called by dial() and on_again(). */
static int
connect_try(struct vc__shm_wire *s)
{
    struct vc__engine *engine = s->wire.context->engine;
    struct sockaddr_un addr;
    socklen_t len = vc__shm_sockaddr(&s->wire.peer, &addr);

    if (connect(s->source.fd, (struct sockaddr *)&addr, len) == 0) {
        if (!is_trusted(s))
            return EPERM;
        vc__engine_defer(engine, &s->ready);
        return 0;
    }
    if (errno != EAGAIN)
        return errno;
    s->phase = VC__SHM_CONNECTING;
    return vc__timer_start(&engine->timers, &s->again, vc__now() + AGAIN_US,
                           on_again)
               ? 0
               : ENOMEM;
}

/* A timer: the listener was busy (EAGAIN) AGAIN_US ago; tries again. Reports
 * unreachable() if that fails. */
static void
on_again(struct vc__timer *timer)
{
    struct vc__shm_wire *s =
        caa_container_of(timer, struct vc__shm_wire, again);
    int err = connect_try(s);

    if (err != 0) {
        fail_connect(&s->wire, err);
        s->wire.ops->unreachable(&s->wire, vc__error_last());
    }
}

/* After VC_OK, ready() follows; or unreachable(), if the listener was busy and
 * a retry fails. The timeout is the link's own. */
enum vc_status
vc__shm_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);
    int err;

    (void)timeout_ms;
    s->ready.run = on_connected;
    s->source.fd = vc__socket_new(AF_UNIX);
    if (s->source.fd < 0)
        return fail_socket(w, errno);
    s->owned = true;
    err = connect_try(s);
    return err == 0 ? VC_OK : fail_connect(w, err);
}

/* Called by hello() and accept(): returns what goes with them, the memfd of our
 * region, which stays the wire's. */
static struct vc__socket_fds
fds_of(const struct vc__shm_wire *s)
{
    return (struct vc__socket_fds){.fd = {s->memfd}, .n = 1};
}

/* Sends the hello with our region; from now on the answer is read. */
enum vc_status
vc__shm_hello(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);
    const struct vc__socket_fds fds = fds_of(s);
    int err = vc__shm_watch(s);

    if (err == 0)
        err = vc__socket_say(s->source.fd, VC__RECORD_HELLO, data, len, &fds);
    if (err != 0)
        return fail_connect(w, err);
    s->phase = VC__SHM_ASKED;
    return VC_OK;
}

/* An accept must come with a region, and no other descriptor. Returns it; NULL:
 * it is not valid. Closes the descriptors. Called by accept_take(). */
static const struct vc__shm_region *
region_take(struct vc__socket_fds *fds)
{
    const struct vc__shm_region *region =
        fds->n == 1 ? vc__shm_region_map(fds->fd[0]) : NULL;

    vc__socket_fds_close(fds);
    return region;
}

/* The answer is an accept: opens the wire and calls answered(), or refused()
 * without a valid region. Called by shm_answer_take(). */
static void
accept_take(struct vc__shm_wire *s, const uint8_t *body, uint32_t len)
{
    bool lost = s->fds.cut && s->fds.n == 0; /* no descriptor was left for it */
    const struct vc__shm_region *region = region_take(&s->fds);
    struct vc__error why;

    if (region != NULL) {
        vc__shm_begin(s, region);
        s->wire.ops->answered(&s->wire, body, len);
    } else if (lost) {
        vc__error_put_errno(&why, EMFILE,
                            "%s accepted, but its memory was lost",
                            vc__wire_peer(&s->wire));
        refused_for(s, NULL, 0, &why);
    } else {
        shm_refused(s, "accepted without valid shared memory (a sealed memfd)");
    }
}

/* The answer is complete, an accept or a reject: reports it to the link. Called
 * by vc__shm_answered(). */
static void
shm_answer_take(struct vc__shm_wire *s)
{
    const uint8_t *body = s->answer + VC__RECORD_HEADER;
    uint32_t len = s->len - VC__RECORD_HEADER;
    struct vc__error why;

    if (s->answer[0] != VC__RECORD_REJECT) {
        accept_take(s, body, len);
        return;
    }
    vc__error_put(&why, VC_UNAVAILABLE,
                  "%s refused without a reason: see the log of the server",
                  vc__wire_peer(&s->wire));
    refused_for(s, body, len, &why);
}

void
vc__shm_answered(struct vc__shm_wire *s)
{
    uint32_t wants;

    while ((wants = vc__record_wants(s->answer, s->len, VC__RECORD_ACCEPT,
                                     VC__RECORD_REJECT)) > s->len) {
        ssize_t n = vc__socket_read(s->source.fd, s->answer + s->len,
                                    wants - s->len, &s->fds);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            shm_refused(s, "closed the connection without an answer");
            return;
        }
        s->len += (uint32_t)n;
    }
    if (wants == 0)
        shm_refused(s, "sent no valid answer of Verbcall");
    else
        shm_answer_take(s);
}

/* --- the passive side ----------------------------------------------------- */

/* Gives the wire its request. The handle of a request is its offer, which is
 * the wire's only when accept() has succeeded. */
void
vc__shm_take(struct vc__wire *w, const struct vc__incoming *in)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);

    s->offer = in->handle;
    s->source.fd = s->offer->fd;
}

/* Called by accept() when it fails: stops watching the socket, sets the
 * thread's error and returns its status. The offer stays the caller's. */
static enum vc_status
shm_fail_accept(struct vc__shm_wire *s, int err)
{
    vc__shm_unwatch(s);
    s->source.fd = -1;
    return vc__fail(VC_UNAVAILABLE, "cannot accept %s: %s",
                    vc__wire_peer(&s->wire), strerror(err));
}

/* Sends the accept with our region: the wire is open, and has the offer's
 * socket and region. On failure the offer stays the caller's. */
enum vc_status
vc__shm_accept(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__shm_wire *s = vc__shm_wire_of(w);
    const struct vc__socket_fds fds = fds_of(s);
    struct vc__shm_offer *offer = s->offer;
    int err = vc__shm_watch(s);

    if (err == 0)
        err = vc__socket_say(s->source.fd, VC__RECORD_ACCEPT, data, len, &fds);
    if (err != 0)
        return shm_fail_accept(s, err);
    s->owned = true;
    s->offer = NULL;
    vc__shm_begin(s, offer->region);
    free(offer);
    return VC_OK;
}
