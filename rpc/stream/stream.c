/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/stream/stream.h. What both ends of a stream share, except sending
 * (stream_send.c) and callbacks (stream_events.c). "The lock" is the stream's.
 * vc__stream_message(), expects(), window(), half() and hears() run on the
 * holder, the others on any thread. A static function runs on the thread of its
 * caller, which is in this file. */
#include "rpc/stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "cm/connect/target.h"
#include "rpc/codec/codec.h"
#include "rpc/interceptor.h"
#include "rpc/stream/stream_events.h"
#include "rpc/text.h"
#include "transport/core/clock.h"

/* A thread that waits for the next change. */
struct waiting {
    struct vc__waiter waiter;
    struct cds_list_head node;
};

/* --- creating and freeing ---------------------------------------------- */

/* Called by vc__client_stream_new(), on the thread that opens the stream, and
 * by vc__stream_server_open(), on the holder. All other fields are zero. The
 * maker has the one reference. */
void
vc__stream_init(struct vc_stream *s, const struct vc__stream_ops *ops)
{
    vc__handle_init(&s->handle, VC__STREAM);
    s->ops = ops;
    atomic_init(&s->holders, 1);
    pthread_mutex_init(&s->lock, NULL);
    vc__outflow_init(&s->out);
    vc__inflow_init(&s->in);
    s->error.status = VC_OK;
    CDS_INIT_LIST_HEAD(&s->inbox);
    CDS_INIT_LIST_HEAD(&s->waiters);
}

/* Called when a message was taken, by vc_stream_receive() or item_give(),
 * dropped, by vc__stream_drop(), or not kept, by vc__stream_message(). */
void
vc__stream_item_free(struct vc_stream *s, struct vc__stream_item *item)
{
    size_t size = sizeof *item + item->len;

    vc__memory_give(vc__stream_account(s, size), item, size);
}

void
vc__stream_drop(struct vc_stream *s)
{
    while (!cds_list_empty(&s->inbox)) {
        struct vc__stream_item *m =
            cds_list_entry(s->inbox.next, struct vc__stream_item, node);

        cds_list_del(&m->node);
        vc__stream_item_free(s, m);
    }
    vc_message_free(s->last);
    s->last = NULL;
}

/* Called by client_free() and server_free(), when no other thread has the
 * stream. They free the struct itself. */
void
vc__stream_fini(struct vc_stream *s)
{
    vc__handle_fini(&s->handle);
    vc__stream_drop(s);
    free(s->events);
    pthread_mutex_destroy(&s->lock);
}

void
vc__stream_put(struct vc_stream *s)
{
    /* Release and acquire: the last holder sees what all others did. */
    if (atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) == 1)
        s->ops->free(s);
}

/* --- waiting ----------------------------------------------------------- */

void
vc__stream_changed(struct vc_stream *s)
{
    if (s->events != NULL)
        vc__stream_events_stir(s);
    while (!cds_list_empty(&s->waiters)) {
        struct waiting *w =
            cds_list_entry(s->waiters.next, struct waiting, node);

        cds_list_del_init(&w->node);
        vc__waiter_done(&w->waiter);
    }
}

void
vc__stream_has_link(struct vc_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->has_link = true;
    vc__stream_changed(s);
    pthread_mutex_unlock(&s->lock);
}

bool
vc__stream_has_sent_nothing(struct vc_stream *s)
{
    bool nothing;

    pthread_mutex_lock(&s->lock);
    nothing = s->out.sent == 0 &&
              vc__stream_on(s, VC__STREAM_EV_SENDS) == VC__STREAM_DO_IT;
    pthread_mutex_unlock(&s->lock);
    return nothing;
}

bool
vc__stream_wait(struct vc_stream *s, uint64_t until)
{
    struct waiting w;
    bool changed;

    vc__waiter_init(&w.waiter);
    cds_list_add_tail(&w.node, &s->waiters);
    pthread_mutex_unlock(&s->lock);
    changed = vc__engine_wait(s->engine, &w.waiter, until);
    pthread_mutex_lock(&s->lock);
    /* After this no thread notifies this waiter. */
    if (!changed && !vc__waiter_is_done(&w.waiter))
        cds_list_del(&w.node);
    return changed;
}

/* --- received frames --------------------------------------------------- */

/* Called by vc__stream_end() and message_lost(), under the lock. If the event
 * ends the stream, keeps the error. */
static void
stream_end_with(struct vc_stream *s, enum vc__stream_event why,
                const struct vc__error *error)
{
    if (vc__stream_on(s, why) == VC__STREAM_DO_END)
        s->error = *error;
    vc__stream_changed(s);
}

void
vc__stream_end(struct vc_stream *s, enum vc__stream_event why,
               const struct vc__error *error)
{
    pthread_mutex_lock(&s->lock);
    stream_end_with(s, why, error);
    pthread_mutex_unlock(&s->lock);
}

bool
vc__stream_half(struct vc_stream *s)
{
    bool good;

    pthread_mutex_lock(&s->lock);
    good = vc__stream_on(s, VC__STREAM_EV_HALF) != VC__STREAM_DO_BREAK;
    vc__stream_changed(s);
    pthread_mutex_unlock(&s->lock);
    return good;
}

bool
vc__stream_hears(struct vc_stream *s)
{
    bool hears;

    pthread_mutex_lock(&s->lock);
    hears = s->state == VC__STREAM_OPEN || s->state == VC__STREAM_HALF_LOCAL;
    pthread_mutex_unlock(&s->lock);
    return hears;
}

bool
vc__stream_expects(struct vc_stream *s, uint32_t len)
{
    enum vc__stream_action action;
    bool good;

    pthread_mutex_lock(&s->lock);
    action = vc__stream_on(s, VC__STREAM_EV_MESSAGE);
    good = action == VC__STREAM_DO_NOTHING ||
           (action == VC__STREAM_DO_IT &&
            vc__inflow_fits(&s->in, vc__stream_cost(len)));
    pthread_mutex_unlock(&s->lock);
    return good;
}

/* Called by vc__stream_message(), on the holder. Returns a copy of the message,
 * for vc__stream_item_free(); NULL without memory. */
static struct vc__stream_item *
message_new(const struct vc_stream *s, const uint8_t *body, uint32_t len)
{
    size_t size = sizeof(struct vc__stream_item) + len;
    struct vc__stream_item *m =
        vc__memory_take(vc__stream_account(s, size), size);

    if (m == NULL)
        return NULL;
    m->len = len;
    if (len > 0)
        memcpy(m->body, body, len);
    return m;
}

/* A lost message ends the stream at this end: otherwise a later one would be
 * taken for it. Called by vc__stream_message(), under the lock. */
static void
message_lost(struct vc_stream *s, const char *why)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED,
                  "%s.%s: a message was dropped: %s", s->service, s->method,
                  why);
    error.outcome = VC_OUTCOME_UNKNOWN;
    stream_end_with(s, VC__STREAM_EV_MESSAGE_LOST, &error);
}

bool
vc__stream_message(struct vc_stream *s, const uint8_t *body, uint32_t len,
                   const char *loss)
{
    struct vc__stream_item *m = loss == NULL ? message_new(s, body, len) : NULL;
    enum vc__stream_action action;
    bool good;

    pthread_mutex_lock(&s->lock);
    action = vc__stream_on(s, VC__STREAM_EV_MESSAGE);
    good = action == VC__STREAM_DO_NOTHING ||
           (action == VC__STREAM_DO_IT &&
            vc__inflow_arrived(&s->in, vc__stream_cost(len)));
    if (!good || action == VC__STREAM_DO_NOTHING) {
        if (m != NULL)
            vc__stream_item_free(s, m);
    } else if (m == NULL) {
        message_lost(s, loss != NULL ? loss : "out of memory");
    } else {
        cds_list_add_tail(&m->node, &s->inbox);
        vc__stream_changed(s);
    }
    pthread_mutex_unlock(&s->lock);
    return good;
}

bool
vc__stream_window(struct vc_stream *s, uint32_t end)
{
    bool good;

    pthread_mutex_lock(&s->lock);
    good = vc__stream_on(s, VC__STREAM_EV_WINDOW) == VC__STREAM_DO_NOTHING ||
           vc__outflow_window(&s->out, end);
    vc__stream_changed(s);
    pthread_mutex_unlock(&s->lock);
    return good;
}

/* --- the end -------------------------------------------------------------- */

enum vc_status
vc__stream_status(struct vc_stream *s)
{
    struct vc__error error;

    pthread_mutex_lock(&s->lock);
    error = s->error;
    pthread_mutex_unlock(&s->lock);
    return error.status == VC_OK ? VC_OK : vc__error_raise(&error);
}

void
vc__stream_late(struct vc_stream *s, struct vc__error *error)
{
    char target[VC__TARGET_TEXT] = "";
    bool waits;

    pthread_mutex_lock(&s->lock);
    waits = s->waits;
    if (s->target != NULL)
        vc__target_text(s->target, target);
    pthread_mutex_unlock(&s->lock);
    if (s->of_server) {
        vc__error_put(error, VC_DEADLINE_EXCEEDED,
                      "%s.%s: the deadline has passed", s->service, s->method);
    } else if (target[0] == '\0') {
        vc__error_put(error, VC_DEADLINE_EXCEEDED, "%s.%s: %s within %u ms",
                      s->service, s->method,
                      waits ? VC__TEXT_WAITS : VC__TEXT_NOWHERE, s->timeout_ms);
    } else {
        vc__error_put(error, VC_DEADLINE_EXCEEDED,
                      "%s.%s: the stream to %s has not ended within %u ms",
                      s->service, s->method, target, s->timeout_ms);
    }
    error->outcome = VC_OUTCOME_UNKNOWN;
}

/* --- receiving --------------------------------------------------------- */

/* True if the program must wait for another message. A client waits until it
 * knows how the call has ended. Asked by stream_message_take(), under the
 * lock. */
static bool
is_awaited(struct vc_stream *s)
{
    return cds_list_empty(&s->inbox) &&
           (s->of_server ? !vc__stream_is_heard(s->state)
                         : s->state != VC__STREAM_ENDED);
}

/* Waits for the next message and takes it, for vc_stream_receive(), which frees
 * it by vc__stream_item_free(). NULL at the end of the stream, or at the
 * deadline; then *late is set. */
static struct vc__stream_item *
stream_message_take(struct vc_stream *s, bool *late)
{
    struct vc__stream_item *m = NULL;

    *late = false;
    pthread_mutex_lock(&s->lock);
    while (is_awaited(s) && !*late)
        *late = !vc__stream_wait(s, s->due) && is_awaited(s);
    if (!cds_list_empty(&s->inbox)) {
        m = cds_list_entry(s->inbox.next, struct vc__stream_item, node);
        cds_list_del(&m->node);
    }
    pthread_mutex_unlock(&s->lock);
    return m;
}

/* Called by vc_stream_receive(), and by item_give() when on_message() has
 * returned, on the same thread. If memory for the WINDOW frame is short, the
 * sender is notified with the next one. */
void
vc__stream_taken(struct vc_stream *s, uint32_t len)
{
    uint32_t cost = vc__stream_cost(len), promised, end;
    bool tell;

    pthread_mutex_lock(&s->lock);
    promised = s->in.promised;
    tell = vc__inflow_taken(&s->in, cost) && !vc__stream_is_heard(s->state);
    end = s->in.promised;
    pthread_mutex_unlock(&s->lock);
    if (!tell || vc__stream_tell(s, VC__FRAME_WINDOW, end))
        return;
    pthread_mutex_lock(&s->lock);
    s->in.promised = promised;
    pthread_mutex_unlock(&s->lock);
}

/* Called by vc__stream_unpack(), not when the message is received: a client
 * refuses one that is longer than the max_reply of the method, or than its
 * service config allows (0: no limit). Then VC_RESOURCE_EXHAUSTED, which is the
 * thread's last error; else VC_OK. */
static enum vc_status
item_check(const struct vc_stream *s, size_t size)
{
    if (s->max_reply != 0 && !s->of_server && size > s->max_reply)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "%s.%s: a message has %zu bytes, more than "
                        "(verbcall.method).max_reply, which is %u: see that "
                        "both ends have the same .proto file",
                        s->service, s->method, size, s->max_reply);
    if (s->reply_max != 0 && size > s->reply_max)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "%s.%s: a message has %zu bytes, more than "
                        "maxResponseMessageBytes of the service config, which "
                        "is %u: raise it, or see that the server sends less",
                        s->service, s->method, size, s->reply_max);
    return VC_OK;
}

/* Called by vc__stream_unpack(): the message is not of its type, or takes too
 * much memory when unpacked. Sets the thread's last error and returns its
 * status, never VC_OK. */
__attribute__((cold)) static enum vc_status
message_malformed(const struct vc_stream *s,
                  const struct vc__message_fault *fault)
{
    char why[VC__ERROR_TEXT];

    vc__message_fault_text(fault, why, sizeof why);
    return vc__fail(s->of_server ? VC_INVALID_ARGUMENT : VC_INTERNAL,
                    "%s.%s: a message cannot be unpacked as %s: %s", s->service,
                    s->method, s->receives->desc->name, why);
}

enum vc_status
vc__stream_unpack(struct vc_stream *s, const struct vc__stream_item *m,
                  void **message)
{
    enum vc_status status = item_check(s, m->len);
    struct vc__bytes from = {.data = m->body, .len = m->len};
    struct vc__message_fault fault;
    struct vc__reply *r;

    if (status != VC_OK)
        return status;
    r = vc__reply_take(s->replies, s->memory);
    if (r == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "%s.%s: out of memory for a message", s->service,
                        s->method);
    *message =
        vc__codec_unpack(s->receives, &r->allocator, s->memory, &from, &fault);
    if (*message != NULL)
        return VC_OK;
    vc__reply_give(r);
    return message_malformed(s, &fault);
}

/* Also called by rest_drop() (rpc/client/stream_finish.c). */
enum vc_status
vc_stream_receive(struct vc_stream *s, void **message)
{
    struct vc__stream_item *m;
    enum vc_status status;
    bool late;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    if (message == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: where the message is to be returned is NULL",
                        s->service, s->method);
    *message = NULL;
    if (s->events != NULL)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: the stream has callbacks: its messages arrive "
                        "in on_message()",
                        s->service, s->method);
    m = stream_message_take(s, &late);
    if (late) { /* or it has ended meanwhile */
        s->ops->expire(s);
        m = stream_message_take(s, &late);
    }
    if (m == NULL)
        return vc__stream_status(s);
    status = vc__stream_unpack(s, m, message);
    vc__stream_taken(s, m->len);
    vc__stream_item_free(s, m);
    if (status == VC_OK && s->interception != NULL)
        vc__interception_message(
            s->interception,
            s->of_server ? VC_MESSAGE_REQUEST : VC_MESSAGE_REPLY, *message);
    return status;
}

void
vc__stream_await_written(struct vc_stream *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->state != VC__STREAM_ENDED)
        vc__stream_wait(s, VC__FOREVER);
    pthread_mutex_unlock(&s->lock);
}

void
vc__stream_await(struct vc_stream *s)
{
    bool ended;

    pthread_mutex_lock(&s->lock);
    while (s->state != VC__STREAM_ENDED && vc__stream_wait(s, s->due))
        continue;
    ended = s->state == VC__STREAM_ENDED;
    pthread_mutex_unlock(&s->lock);
    if (!ended)
        s->ops->expire(s);
}
