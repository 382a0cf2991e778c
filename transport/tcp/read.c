/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a socket receives. All wires of the engine read into one buffer, and
 * records are handled there: the kernel has copied them, so no peer can change
 * them any more. Only the beginning of an incomplete record is kept. All of it
 * runs on the holder of the engine. See transport/tcp/wire.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/tcp/wire.h"

int
vc__tcp_watch(struct vc__tcp_wire *t)
{
    struct vc__engine *engine = t->wire.context->engine;
    int err = vc__engine_add(engine, &t->source);

    t->watched = err == 0;
    engine->cold_wires += t->watched;
    return err;
}

void
vc__tcp_unwatch(struct vc__tcp_wire *t)
{
    struct vc__engine *engine = t->wire.context->engine;

    if (!t->watched)
        return;
    vc__tcp_cool(t);
    vc__engine_remove(engine, &t->source);
    t->watched = false;
    engine->cold_wires--;
}

/* --- ends ---------------------------------------------------------------- */

/* Reports to the link that the connection was refused: it has ended, or an
 * invalid record came, in place of an answer to our hello. Called by
 * tcp_ended() and tcp_malformed(). */
static void
refused_by_end(struct vc__tcp_wire *t, const char *what)
{
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "%s %s: its process ended, or it is no Verbcall server",
                  vc__wire_peer(&t->wire), what);
    vc__tcp_refused(t, &why);
}

/* The connection has ended; err: the errno, or 0 for an orderly end by the
 * peer. Stops watching the socket, and reports the end to the link, unless no
 * hello was sent yet or the end was reported already. Called by vc__tcp_read(),
 * and by bytes_take() without memory. */
static void
tcp_ended(struct vc__tcp_wire *t, int err)
{
    struct vc__wire *w = &t->wire;
    enum vc__tcp_phase phase = t->phase;

    vc__tcp_unwatch(t);
    t->phase = VC__TCP_ENDED;
    switch (phase) {
    case VC__TCP_ASKED:
        refused_by_end(t, "closed the connection without an answer");
        break;
    case VC__TCP_OPEN:
        if (err == 0)
            w->ops->left(w);
        else
            w->ops->failed(w, strerror(err));
        break;
    case VC__TCP_LEAVING:
        w->ops->left(w);
        break;
    default:
        break;
    }
}

/* The peer sent no valid record, or a record that is not allowed now. Ends the
 * connection, and reports it to the link. Called by records_take() and
 * record_take(). */
static void
tcp_malformed(struct vc__tcp_wire *t)
{
    struct vc__wire *w = &t->wire;
    bool open = t->phase == VC__TCP_OPEN;

    vc__tcp_unwatch(t);
    t->phase = VC__TCP_ENDED;
    if (open)
        w->ops->failed(w, "it sent an invalid record");
    else
        refused_by_end(t, "sent no valid answer of Verbcall");
}

/* --- records ------------------------------------------------------------- */

/* Handles one complete record: passes a packet, an accept or a reject to the
 * link. True while further records may be handled. Called by records_take(). */
static bool
record_take(struct vc__tcp_wire *t, const struct vc__record *r,
            const uint8_t *body)
{
    struct vc__wire *w = &t->wire;
    struct vc__error why;

    if (t->phase == VC__TCP_OPEN && r->kind == VC__RECORD_PACKET) {
        w->ops->received(w, body, r->len);
    } else if (t->phase == VC__TCP_OPEN && r->kind == VC__RECORD_NOTHING) {
        return true;
    } else if (t->phase == VC__TCP_ASKED && r->kind == VC__RECORD_ACCEPT) {
        t->phase = VC__TCP_OPEN;
        w->ops->answered(w, body, r->len);
    } else if (t->phase == VC__TCP_ASKED && r->kind == VC__RECORD_REJECT) {
        vc__tcp_unwatch(t);
        t->phase = VC__TCP_ENDED;
        vc__error_put(&why, VC_UNAVAILABLE,
                      "%s refused without a reason: see the log of the server",
                      vc__wire_peer(w));
        w->ops->refused(w, body, r->len, &why, false);
    } else {
        tcp_malformed(t);
    }
    return t->phase == VC__TCP_OPEN;
}

/* Passes complete records up. Returns the number of bytes handled: len also
 * when the rest is ignored, as the connection is not open any more. Called by
 * bytes_take(). */
static uint32_t
records_take(struct vc__tcp_wire *t, const uint8_t *at, uint32_t len)
{
    uint32_t done = 0;
    struct vc__record r;

    while (len - done >= VC__RECORD_HEADER) {
        if (!vc__record_get(at + done, &r)) {
            tcp_malformed(t);
            return len;
        }
        if (len - done - VC__RECORD_HEADER < r.len)
            return done;
        if (!record_take(t, &r, at + done + VC__RECORD_HEADER))
            return len;
        done += VC__RECORD_HEADER + r.len;
    }
    return done;
}

/* Keeps the beginning of an incomplete record, and returns true. False: no
 * memory. Called by bytes_take(). */
static bool
part_keep(struct vc__tcp_wire *t, const uint8_t *at, uint32_t len)
{
    struct vc__tcp_context *c = vc__tcp_context_of(t->wire.context);

    if (t->part == NULL)
        t->part = vc__stock_take(&c->parts);
    if (t->part == NULL)
        return false;
    memcpy(t->part, at, len);
    t->part_len = len;
    return true;
}

/* Handles len bytes that were read, after the place of a kept beginning. Called
 * by vc__tcp_read(). */
static void
bytes_take(struct vc__tcp_wire *t, uint32_t len)
{
    struct vc__tcp_context *c = vc__tcp_context_of(t->wire.context);
    uint8_t *at = c->input + VC__RECORD_MAX - t->part_len;
    uint32_t done;

    len += t->part_len;
    if (t->part_len > 0)
        memcpy(at, t->part, t->part_len);
    done = records_take(t, at, len);
    if (done == len || t->phase >= VC__TCP_LEAVING) {
        vc__stock_give(&c->parts, t->part);
        t->part = NULL;
        t->part_len = 0;
    } else if (!part_keep(t, at + done, len - done)) {
        tcp_ended(t, ENOMEM);
    }
}

unsigned
vc__tcp_read(struct vc__tcp_wire *t)
{
    struct vc__tcp_context *c = vc__tcp_context_of(t->wire.context);
    ssize_t n = recv(t->source.fd, c->input + VC__RECORD_MAX, VC__TCP_READ,
                     MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        tcp_ended(t, n == 0 ? 0 : errno);
        return 1;
    }
    vc__tcp_heat(t);
    if (t->phase != VC__TCP_LEAVING)
        bytes_take(t, (uint32_t)n);
    return 1;
}
