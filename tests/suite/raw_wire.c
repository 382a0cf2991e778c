/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw ends over any transport of transport/transport.h. A raw end takes the
 * place of a link: it has a wire and an engine of its own, which the test's
 * thread advances while it waits. The transport carries the bytes of the raw
 * end unread. */
#include <stdlib.h>
#include <string.h>

#include "tests/suite/fixture.h"
#include "tests/suite/raw_ops.h"
#include "transport/core/engine.h"

#define MEMORY ((size_t)64 << 20)
#define EVENTS 8u
/* Some transports do not notify when there is room again: it is polled at this
 * interval. */
#define ROOM_MS 1u

/* --- an engine of its own ---------------------------------------------- */

struct loop {
    struct vc__engine engine;
    struct vc__context *context;
    struct vc__waiter *waiter; /* NULL: no thread waits */
};

static bool
loop_open(struct loop *loop, const struct vc__transport *transport)
{
    const struct vc__context_opts opts = {.memory = MEMORY};
    struct vc__context *c = calloc(1, transport->context_size);

    if (c == NULL || vc__engine_init(&loop->engine, 0) != 0)
        abort();
    c->transport = transport;
    c->engine = &loop->engine;
    if (transport->open(c, &opts) == VC_OK) {
        loop->context = c;
        return true;
    }
    vc__engine_fini(&loop->engine);
    free(c);
    return false;
}

static void
loop_close(struct loop *loop)
{
    if (loop->context == NULL)
        return;
    loop->context->transport->close(loop->context);
    vc__engine_fini(&loop->engine);
    free(loop->context);
}

/* Wakes the waiter, if any: an event was reported. */
static void
loop_wake(struct loop *loop)
{
    struct vc__waiter *waiter = loop->waiter;

    loop->waiter = NULL;
    if (waiter != NULL)
        vc__waiter_done(waiter);
}

/* Advances the engine until an event is reported. False: none before `until`, a
 * time of fixture_ms(). Pending events are reported in any case. */
static bool
loop_step(struct loop *loop, uint64_t until)
{
    struct vc__waiter waiter;
    bool woken;

    vc__waiter_init(&waiter);
    loop->waiter = &waiter;
    woken = vc__engine_wait(&loop->engine, &waiter, until * 1000);
    loop->waiter = NULL;
    return woken;
}

/* --- events of the wire ------------------------------------------------ */

struct raw_wire {
    struct loop loop;
    struct vc__wire *wire; /* NULL: not made yet, or freed */
    struct raw *raw;
    struct vc__incoming incoming;
    bool has_incoming; /* passive: not accepted or rejected yet */
    bool is_ready;     /* active: the hello may be sent */
    int events[EVENTS];
    unsigned n_events;
};

static struct raw_wire *
raw_wire_of(const struct raw *r)
{
    return r->end;
}

static void
event_add(struct raw_wire *w, int event)
{
    if (w->n_events < EVENTS)
        w->events[w->n_events++] = event;
    loop_wake(&w->loop);
}

static void
on_ready(struct vc__wire *wire)
{
    struct raw_wire *w = wire->owner;

    w->is_ready = true;
    loop_wake(&w->loop);
}

static void
on_answered(struct vc__wire *wire, const void *data, size_t len)
{
    struct raw_wire *w = wire->owner;

    raw_said(w->raw, data, len);
    if (w->raw->unconfirmed)
        event_add(w, RAW_ACCEPTED);
    else if (wire->transport->confirm(wire) == VC_OK)
        event_add(w, RAW_ESTABLISHED);
    else
        event_add(w, RAW_FAILED);
}

static void
on_established(struct vc__wire *wire)
{
    (void)wire; /* wire_accept() has reported it already */
}

static void
on_refused(struct vc__wire *wire, const void *data, size_t len,
           const struct vc__error *why, bool again)
{
    struct raw_wire *w = wire->owner;

    (void)why;
    (void)again;
    raw_said(w->raw, data, len);
    event_add(w, RAW_REJECTED);
}

static void
on_unreachable(struct vc__wire *wire, const struct vc__error *why)
{
    (void)why;
    event_add(wire->owner, RAW_FAILED);
}

static void
on_received(struct vc__wire *wire, const uint8_t *data, uint32_t len)
{
    struct raw_wire *w = wire->owner;

    raw_keep(w->raw, data, len);
    loop_wake(&w->loop);
}

static void
on_writable(struct vc__wire *wire, uint32_t ticket)
{
    struct raw_wire *w = wire->owner;

    wire->transport->retire(wire, ticket);
    loop_wake(&w->loop);
}

static void
on_left(struct vc__wire *wire)
{
    struct raw_wire *w = wire->owner;

    if (!w->raw->ended)
        event_add(w, RAW_DISCONNECTED);
    w->raw->ended = true;
}

static void
on_failed(struct vc__wire *wire, const char *why)
{
    (void)why;
    on_left(wire);
}

static const struct vc__wire_ops wire_ops = {
    .ready = on_ready,
    .answered = on_answered,
    .established = on_established,
    .refused = on_refused,
    .unreachable = on_unreachable,
    .received = on_received,
    .writable = on_writable,
    .left = on_left,
    .failed = on_failed,
    .removed = on_failed,
};

/* --- opening and closing ----------------------------------------------- */

static bool
wire_make(struct raw *r, const struct vc__transport *transport)
{
    struct raw_wire *w = calloc(1, sizeof *w);

    if (w == NULL)
        abort();
    r->end = w;
    w->raw = r;
    if (!loop_open(&w->loop, transport))
        return false;
    w->wire = calloc(1, transport->wire_size);
    if (w->wire == NULL)
        abort();
    w->wire->transport = transport;
    w->wire->context = w->loop.context;
    w->wire->ops = &wire_ops;
    w->wire->owner = w;
    return true;
}

/* Frees the wire, which notifies the peer. */
static void
wire_drop(struct raw_wire *w)
{
    if (w->wire == NULL)
        return;
    if (w->has_incoming)
        w->wire->transport->reject(&w->incoming, NULL, 0);
    w->wire->transport->fini(w->wire);
    free(w->wire);
    w->wire = NULL;
    w->has_incoming = false;
}

static void
wire_close(struct raw *r)
{
    struct raw_wire *w = raw_wire_of(r);

    wire_drop(w);
    loop_close(&w->loop);
    free(w);
}

static bool
wire_prepare(struct raw_wire *w)
{
    const struct vc__receives receives = {
        .most = RAW_BUFFERS, .least = 1, .first = RAW_BUFFERS};

    return w->wire->transport->prepare(w->wire, &receives) == VC_OK;
}

static bool
wire_connect(struct raw *r, const struct vc__target *target, const void *data,
             size_t len)
{
    const struct vc__transport *t = target->transport;
    uint64_t until = fixture_ms() + RAW_MS;
    struct raw_wire *w;
    struct vc__addrs addrs;

    if (!vc__target_numeric(target, &addrs) || !wire_make(r, t))
        return false;
    w = raw_wire_of(r);
    w->wire->peer = addrs.addr[0];
    if (t->dial(w->wire, RAW_MS) != VC_OK)
        return false;
    while (!w->is_ready && w->n_events == 0 && loop_step(&w->loop, until))
        continue;
    return w->is_ready && wire_prepare(w) &&
           t->hello(w->wire, data, len) == VC_OK;
}

/* Runs outside the wire's callbacks, where the wire may be freed. */
static int
wire_wait(struct raw *r, int ms)
{
    struct raw_wire *w = raw_wire_of(r);
    uint64_t until = fixture_ms() + (uint64_t)ms;
    int event;

    while (w->n_events == 0) {
        if (!loop_step(&w->loop, until))
            return RAW_NOTHING;
    }
    event = w->events[0];
    memmove(w->events, w->events + 1, --w->n_events * sizeof w->events[0]);
    if (event == RAW_DISCONNECTED)
        wire_drop(w);
    return event;
}

/* --- listening --------------------------------------------------------- */

/* A listener that takes one request at a time; a request that arrives before
 * the last one was taken is rejected. */
struct wire_ear {
    struct loop loop;
    struct vc__ear *ear;
    struct vc__incoming incoming;
    bool has_incoming;
    uint8_t said[256];
    size_t said_len;
};

static void
on_request(struct vc__ear *ear, const struct vc__incoming *in, const void *data,
           size_t len)
{
    struct wire_ear *e = ear->owner;

    if (e->has_incoming || len > sizeof e->said) {
        in->context->transport->reject(in, NULL, 0);
        return;
    }
    e->incoming = *in;
    e->has_incoming = true;
    memcpy(e->said, data, len);
    e->said_len = len;
    loop_wake(&e->loop);
}

static const struct vc__ear_ops ear_ops = {.request = on_request};

static bool
wire_listen(struct raw_listener *l, const struct vc__target *target)
{
    const struct vc__transport *t = target->transport;
    struct wire_ear *e = calloc(1, sizeof *e);
    struct vc__addrs addrs;

    if (e == NULL)
        abort();
    l->ear = e;
    if (!vc__target_numeric(target, &addrs) || !loop_open(&e->loop, t))
        return false;
    e->ear = calloc(1, t->ear_size);
    if (e->ear == NULL)
        abort();
    e->ear->context = e->loop.context;
    e->ear->ops = &ear_ops;
    e->ear->owner = e;
    if (t->listen(e->ear, (const struct sockaddr *)&addrs.addr[0]) != VC_OK)
        return false;
    if (t->port(e->ear) != 0)
        l->port = t->port(e->ear);
    return true;
}

static void
wire_unlisten(struct raw_listener *l)
{
    struct wire_ear *e = l->ear;

    if (e->has_incoming)
        e->ear->context->transport->reject(&e->incoming, NULL, 0);
    if (e->ear != NULL)
        e->ear->context->transport->unlisten(e->ear);
    free(e->ear);
    loop_close(&e->loop);
    free(e);
}

static bool
wire_take(struct raw_listener *l, struct raw *r, int ms)
{
    struct wire_ear *e = l->ear;
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct raw_wire *w;

    while (!e->has_incoming) {
        if (!loop_step(&e->loop, until))
            return false;
    }
    if (!wire_make(r, e->ear->context->transport))
        return false;
    w = raw_wire_of(r);
    raw_said(r, e->said, e->said_len);
    w->incoming = e->incoming;
    w->has_incoming = true;
    e->has_incoming = false;
    return true;
}

static bool
wire_accept(struct raw *r, const void *data, size_t len)
{
    struct raw_wire *w = raw_wire_of(r);
    const struct vc__transport *t = w->wire->transport;

    w->wire->peer = w->incoming.peer;
    t->take(w->wire, &w->incoming);
    if (!wire_prepare(w) || t->accept(w->wire, data, len) != VC_OK)
        return false;
    w->has_incoming = false;
    event_add(w, t->confirm(w->wire) == VC_OK ? RAW_ESTABLISHED : RAW_FAILED);
    return true;
}

static bool
wire_reject(struct raw *r, const void *data, size_t len)
{
    struct raw_wire *w = raw_wire_of(r);

    w->wire->transport->reject(&w->incoming, data, len);
    w->has_incoming = false;
    return true;
}

/* --- packets ----------------------------------------------------------- */

static bool
wire_step(struct raw *r, uint64_t until)
{
    return loop_step(&raw_wire_of(r)->loop, until);
}

/* Returns the address for the next packet; NULL: no room in time. */
static uint8_t *
room_find(struct raw *r, uint32_t *room)
{
    struct raw_wire *w = raw_wire_of(r);
    uint64_t until = fixture_ms() + RAW_MS;
    uint8_t *at = NULL;

    while (!r->ended && fixture_ms() < until &&
           (at = w->wire->transport->reserve(w->wire, room)) == NULL)
        wire_step(r, fixture_ms() + ROOM_MS);
    return at;
}

static bool
wire_send(struct raw *r, const void *bytes, size_t len)
{
    struct raw_wire *w = raw_wire_of(r);
    uint32_t room;
    uint8_t *at = room_find(r, &room);

    if (at == NULL)
        return false;
    if (len > room)
        return raw_send_long(w->wire, bytes, len);
    memcpy(at, bytes, len);
    if (w->wire->transport->commit(w->wire, (uint32_t)len) != 0)
        return false;
    if (w->wire->transport->flush != NULL)
        w->wire->transport->flush(w->wire);
    return true;
}

/* --- the table --------------------------------------------------------- */

const struct raw_ops raw_wire_ops = {
    .connect = wire_connect,
    .wait = wire_wait,
    .close = wire_close,
    .listen = wire_listen,
    .unlisten = wire_unlisten,
    .take = wire_take,
    .accept = wire_accept,
    .reject = wire_reject,
    .send = wire_send,
    .step = wire_step,
};
