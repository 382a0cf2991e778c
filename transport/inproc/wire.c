/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations table of inproc. A packet is written directly into the slots
 * of the peer's half. Credits (transport/wire/credit.h) ensure that a slot is
 * free: an end is promised no more receives than the other has slots. See
 * transport/inproc/wire.h. Static functions with `wire_` in their names are
 * entries of the table, with the results that transport/transport.h names. The
 * files of cm/link call them: link_connect.c dial, hello and confirm;
 * link_accept.c take, accept, confirm and fini; link.c leave and fini;
 * link_io.c prepare, promise and release; link_send.c reserve, commit and
 * flush. reserve, commit and flush run on any thread, under the lock of the
 * link. All else of this file runs on the holder of the wire's engine, promise
 * and release under that lock, too. */
#include "transport/inproc/wire.h"

#include <string.h>

#include "transport/inproc/inproc.h"

/* The wire of inproc that has this head. For the entries of the table. */
static struct vc__inproc_wire *
inproc_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__inproc_wire, wire);
}

/* --- callbacks of the half ----------------------------------------------- */

/* Called by half.c through vc__inproc_ops: a PACKET was received. data is valid
 * until this returns. */
static void
on_packet(struct vc__inproc_wire *i, const uint8_t *data, uint32_t len)
{
    i->wire.ops->received(&i->wire, data, len);
}

/* Called by on_note() for REFUSAL, and by inproc_refuse(). Reports the reject
 * of the peer's program, or that nobody listens. */
static void
on_refusal(struct vc__inproc_wire *i)
{
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "nothing listens at %s: see that the server runs, in this "
                  "process, and that the name is right",
                  vc__wire_peer(&i->wire));
    i->wire.ops->refused(&i->wire, i->half->said, i->half->said_len, &why,
                         false);
}

/* Called by half.c through vc__inproc_ops for every note but PACKET and
 * REQUEST. Reports it to the link. */
static void
on_note(struct vc__inproc_wire *i, enum vc__inproc_kind kind)
{
    struct vc__wire *w = &i->wire;

    switch (kind) {
    case VC__INPROC_ANSWER:
        w->ops->answered(w, i->half->said, i->half->said_len);
        break;
    case VC__INPROC_REFUSAL:
        on_refusal(i);
        break;
    case VC__INPROC_CONFIRM:
        w->ops->established(w);
        break;
    default: /* LEAVE */
        w->ops->left(w);
        break;
    }
}

const struct vc__inproc_ops vc__inproc_ops = {
    .packet = on_packet, .note = on_note, .request = vc__inproc_request};

/* --- connecting ---------------------------------------------------------- */

/* A task, posted by dial(): reports ready(), so that the link sends its
 * hello. */
static void
inproc_begin(struct vc__task *task)
{
    struct vc__inproc_wire *i =
        caa_container_of(task, struct vc__inproc_wire, task);

    if (i->half != NULL)
        i->wire.ops->ready(&i->wire);
}

/* A task, posted by hello(). Reports that nobody listens. */
static void
inproc_refuse(struct vc__task *task)
{
    struct vc__inproc_wire *i =
        caa_container_of(task, struct vc__inproc_wire, task);

    if (i->half != NULL)
        on_refusal(i);
}

/* A name needs no route: ready() follows at once, from a task.
 * VC_RESOURCE_EXHAUSTED: out of memory. */
static enum vc_status
inproc_wire_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    struct vc__inproc_wire *i = inproc_of(w);

    (void)timeout_ms;
    i->half = vc__inproc_pair(vc__inproc_context_of(w->context));
    if (i->half == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    i->owned = i->active = true;
    i->half->wire = i;
    i->task.run = inproc_begin;
    vc__engine_post(w->context->engine, &i->task);
    return VC_OK;
}

/* Gives the wire its request. The handle of a request is its half, which is the
 * wire's only when accept() has succeeded. */
static void
inproc_wire_take(struct vc__wire *w, const struct vc__incoming *in)
{
    inproc_of(w)->half = in->handle;
}

/* Makes room for `window` packets of the peer. False: no memory, or
 * memory_limit is reached. Called by prepare(). */
static bool
inproc_room_make(struct vc__inproc_wire *i, uint32_t window)
{
    struct vc__inproc_context *c = vc__inproc_context_of(i->wire.context);
    size_t size = window * sizeof(struct vc__inproc_slot);

    if (size > c->memory - c->used || !vc__inproc_room(i->half, window))
        return false;
    c->used += size;
    i->wire.window = window;
    return true;
}

/* Makes room for the packets of the peer; while there is too little, tries half
 * as many receives. VC_RESOURCE_EXHAUSTED: there is not even room for the
 * least. */
static enum vc_status
inproc_wire_prepare(struct vc__wire *w, const struct vc__receives *r)
{
    struct vc__inproc_wire *i = inproc_of(w);
    uint32_t window = r->most;

    while (!inproc_room_make(i, window)) {
        window /= 2;
        if (window < r->least)
            return vc__fail(VC_RESOURCE_EXHAUSTED,
                            "no memory for another connection: all of "
                            "memory_limit is in use, or all of the machine; "
                            "raise the limit, or close connections");
    }
    w->promised = window < r->first ? window : r->first;
    return VC_OK;
}

/* Sends the hello to the listener at the wire's peer. Always VC_OK: if nobody
 * listens, refused() follows, from a task. */
static enum vc_status
wire_hello(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__inproc_wire *i = inproc_of(w);
    struct vc__inproc_half *peer = i->half->peer;
    struct vc__inproc_ear *ear;

    vc__inproc_lock();
    ear = vc__inproc_find(&w->peer);
    if (ear != NULL) {
        peer->ear = ear;
        cds_list_add_tail(&peer->asks, &ear->asking);
        vc__inproc_bind(peer, vc__inproc_context_of(ear->ear.context)->queue);
        vc__inproc_tell(i->half, VC__INPROC_REQUEST, data, len);
    }
    vc__inproc_unlock();
    if (ear == NULL) {
        i->task.run = inproc_refuse;
        vc__engine_post(w->context->engine, &i->task);
    }
    return VC_OK;
}

/* Sends the accept to the client; the half is the wire's now. VC_UNAVAILABLE:
 * the client has ended meanwhile; the half stays the caller's, to be
 * rejected. */
static enum vc_status
wire_accept(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__inproc_wire *i = inproc_of(w);

    vc__inproc_lock();
    i->owned = !i->half->over;
    if (i->owned) {
        vc__inproc_bind(i->half, vc__inproc_context_of(w->context)->queue);
        i->half->wire = i;
        vc__inproc_tell(i->half, VC__INPROC_ANSWER, data, len);
    }
    vc__inproc_unlock();
    if (i->owned)
        return VC_OK;
    return vc__fail(VC_UNAVAILABLE, "cannot accept %s: it has disconnected",
                    vc__wire_peer(w));
}

/* Only the active side sends CONFIRM: the passive side has confirmed by its
 * answer. VC_UNAVAILABLE: the peer has ended meanwhile. */
static enum vc_status
inproc_wire_confirm(struct vc__wire *w)
{
    struct vc__inproc_wire *i = inproc_of(w);

    struct vc__inproc_half *peer = i->half->peer;
    bool left;

    if (!i->active)
        return VC_OK;
    vc__inproc_lock();
    left = peer->done;
    if (!left) {
        i->half->confirmed = peer->confirmed = true;
        vc__inproc_tell(i->half, VC__INPROC_CONFIRM, NULL, 0);
    }
    vc__inproc_unlock();
    if (!left)
        return VC_OK;
    return vc__fail(VC_UNAVAILABLE, "%s accepted, and has disconnected since",
                    vc__wire_peer(w));
}

/* Sends LEAVE to the peer, once. True: left() follows when the peer ends, too.
 * False: the peer has ended already. */
static bool
inproc_wire_leave(struct vc__wire *w)
{
    struct vc__inproc_wire *i = inproc_of(w);
    bool heard;

    vc__inproc_lock();
    heard = !i->half->over;
    if (heard && !i->left)
        vc__inproc_tell(i->half, VC__INPROC_LEAVE, NULL, 0);
    i->left = true;
    vc__inproc_unlock();
    return heard;
}

/* Ends the wire's half, and gives back what it counts of memory_limit. Also
 * called by link_accept.c after an accept() that failed: then the half is not
 * `owned`, and stays for the reject. */
static void
inproc_wire_fini(struct vc__wire *w)
{
    struct vc__inproc_wire *i = inproc_of(w);

    vc__inproc_context_of(w->context)->used -=
        w->window * sizeof(struct vc__inproc_slot);
    w->window = w->promised = 0;
    if (i->owned)
        vc__inproc_end(i->half);
    i->owned = false;
    i->half = NULL;
}

/* --- packets ------------------------------------------------------------- */

/* Returns the next slot of the peer's half. Never NULL: see the head of this
 * file. */
static uint8_t *
inproc_wire_reserve(struct vc__wire *w, uint32_t *room)
{
    struct vc__inproc_half *to = inproc_of(w)->half->peer;

    *room = VC__PACKET_MAX;
    return to->slots[to->next % to->n_slots].data;
}

/* Sends the packet in that slot to the peer's engine. Always 0: what is sent to
 * an end that is over is never received. */
static int
inproc_wire_commit(struct vc__wire *w, uint32_t len)
{
    vc__inproc_send(inproc_of(w)->half->peer, len);
    return 0;
}

/* Wakes the peer's engine, if it sleeps. */
static void
inproc_wire_flush(struct vc__wire *w)
{
    vc__inproc_wake(inproc_of(w)->half->peer->queue);
}

/* Counts n more receives as promised, under the lock of the link. Always VC_OK:
 * the slots are there. */
static enum vc_status
inproc_wire_promise(struct vc__wire *w, uint32_t n)
{
    w->promised += n;
    return VC_OK;
}

/* Counts n receives less as promised, under the lock of the link. */
static void
inproc_wire_release(struct vc__wire *w, uint32_t n)
{
    w->promised -= n;
}

/* --- the operations table ------------------------------------------------ */

const struct vc__transport vc__inproc = {
    .scheme = "inproc",
    .made = VC__COUNT_links_made_inproc,
    .named = true,
    .hello_max = 256,
    .accept_max = 256,
    .reject_max = 256,
    .context_size = sizeof(struct vc__inproc_context),
    .wire_size = sizeof(struct vc__inproc_wire),
    .ear_size = sizeof(struct vc__inproc_ear),
    .open = vc__inproc_open,
    .close = vc__inproc_close,
    .dial = inproc_wire_dial,
    .take = inproc_wire_take,
    .prepare = inproc_wire_prepare,
    .hello = wire_hello,
    .accept = wire_accept,
    .confirm = inproc_wire_confirm,
    .leave = inproc_wire_leave,
    .fini = inproc_wire_fini,
    .host_is_up = "it is of this process",
    .reserve = inproc_wire_reserve,
    .commit = inproc_wire_commit,
    .flush = inproc_wire_flush,
    .promise = inproc_wire_promise,
    .release = inproc_wire_release,
    .listen = vc__inproc_listen,
    .unlisten = vc__inproc_unlisten,
    .port = vc__inproc_port,
    .reject = vc__inproc_reject,
};
