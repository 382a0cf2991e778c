/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a socket is connected, from either side, and how failures are reported.
 * Each error text has the cause and the remedy. All of it runs on the holder of
 * the wire's engine. See transport/tcp/wire.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "transport/socket/socket.h"
#include "transport/tcp/wire.h"

/* --- failures ------------------------------------------------------------ */

void
vc__tcp_refused(struct vc__tcp_wire *t, const struct vc__error *why)
{
    t->wire.ops->refused(&t->wire, NULL, 0, why, false);
}

/* Describes why connecting to the peer failed. Called by dial() and hello()
 * when they fail, and by vc__tcp_connected(). */
static void
put_errno(struct vc__error *error, struct vc__wire *w, int err)
{
    const char *peer = vc__wire_peer(w);

    switch (err) {
    case ECONNREFUSED:
        vc__error_put(error, VC_UNAVAILABLE,
                      "nothing listens at %s: see that the server runs and "
                      "that the port is right",
                      peer);
        break;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case ETIMEDOUT:
        vc__error_put(error, VC_UNAVAILABLE,
                      "no host answers at %s (%s): see that the address is "
                      "right, the host is up and no firewall is in between",
                      peer, strerror(err));
        break;
    case ECONNRESET:
    case EPIPE:
        vc__error_put(error, VC_UNAVAILABLE,
                      "%s closed the connection at once: its process ended, or "
                      "it is no Verbcall server",
                      peer);
        break;
    case EADDRNOTAVAIL:
        vc__error_put(error, VC_UNAVAILABLE,
                      "cannot connect to %s: no port is free for it, or "
                      "bind_address is not an address of this machine (%s)",
                      peer, strerror(err));
        break;
    default:
        vc__error_put_errno(error, err, "connecting to %s failed", peer);
        break;
    }
}

/* Called by dial() and hello(): sets the thread's error, and returns its
 * status, which is their result. */
static enum vc_status
tcp_fail_errno(struct vc__wire *w, int err)
{
    struct vc__error error;

    put_errno(&error, w, err);
    return vc__error_raise(&error);
}

/* --- the active side ------------------------------------------------------ */

/* Starts connect(2) and returns its errno, or that of bind(2); EINPROGRESS also
 * if it has succeeded. Called by dial(). */
static int
connect_begin(struct vc__tcp_wire *t)
{
    struct vc__wire *w = &t->wire;
    int fd = t->source.fd;

    if (w->source.ss_family != AF_UNSPEC &&
        bind(fd, (const struct sockaddr *)&w->source,
             vc__socket_addr_len(&w->source)) != 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)&w->peer,
                vc__socket_addr_len(&w->peer)) == 0)
        return EINPROGRESS;
    return errno;
}

/* As the address is known, this connects at once. The timeout is the link's
 * own. After VC_OK, vc__tcp_connected() reports ready(); or refused(), if
 * nothing listens there; or unreachable(). */
enum vc_status
vc__tcp_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);
    int err;

    (void)timeout_ms;
    t->source.fd = vc__socket_new(w->peer.ss_family);
    if (t->source.fd < 0)
        return tcp_fail_errno(w, errno);
    t->owned = true;
    err = connect_begin(t);
    if (err == EINPROGRESS)
        err = vc__tcp_watch(t);
    if (err != 0)
        return tcp_fail_errno(w, err);
    vc__engine_await_room(w->context->engine, &t->source, true);
    t->phase = VC__TCP_CONNECTING;
    return VC_OK;
}

void
vc__tcp_connected(struct vc__tcp_wire *t)
{
    struct vc__wire *w = &t->wire;
    socklen_t len = sizeof(int);
    struct vc__error why;
    int err = 0;

    getsockopt(t->source.fd, SOL_SOCKET, SO_ERROR, &err, &len);
    if (err == 0) {
        vc__engine_await_room(w->context->engine, &t->source, false);
        vc__socket_tune(t->source.fd);
        t->phase = VC__TCP_READY;
        w->ops->ready(w);
        return;
    }
    vc__tcp_unwatch(t);
    t->phase = VC__TCP_ENDED;
    put_errno(&why, w, err);
    if (err == ECONNREFUSED) /* so the host is reachable */
        vc__tcp_refused(t, &why);
    else
        w->ops->unreachable(w, &why);
}

/* Sends the hello; from now on the answer is read. */
enum vc_status
vc__tcp_hello(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);
    int err = vc__socket_say(t->source.fd, VC__RECORD_HELLO, data, len, NULL);

    if (err != 0)
        return tcp_fail_errno(w, err);
    t->phase = VC__TCP_ASKED;
    vc__tcp_heat(t);
    return VC_OK;
}

/* --- the passive side ----------------------------------------------------- */

/* Gives the wire its request. The handle of a request is its socket, which is
 * the wire's only when accept() has succeeded. */
void
vc__tcp_take(struct vc__wire *w, const struct vc__incoming *in)
{
    vc__tcp_wire_of(w)->source.fd = (int)(intptr_t)in->handle;
}

/* Called by accept() when it fails: stops watching the socket, which stays the
 * caller's, sets the thread's error and returns its status. */
static enum vc_status
tcp_fail_accept(struct vc__tcp_wire *t, int err)
{
    vc__tcp_unwatch(t);
    t->source.fd = -1;
    return vc__fail(VC_UNAVAILABLE, "cannot accept %s: %s",
                    vc__wire_peer(&t->wire), strerror(err));
}

/* Watches the request's socket, and sends the accept: the wire is open, and the
 * socket its own. On failure the socket stays the caller's. */
enum vc_status
vc__tcp_accept(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__tcp_wire *t = vc__tcp_wire_of(w);
    int err = vc__tcp_watch(t);

    if (err == 0)
        err = vc__socket_say(t->source.fd, VC__RECORD_ACCEPT, data, len, NULL);
    if (err != 0)
        return tcp_fail_accept(t, err);
    t->owned = true;
    t->phase = VC__TCP_OPEN;
    vc__tcp_heat(t);
    return VC_OK;
}
