/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/stream.h. */
#include "rpc/stream.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/codec.h"
#include "rpc/interceptor.h"
#include "transport/clock.h"

/* One that has come. */
struct message {
    struct cds_list_head node;
    uint32_t len;
    uint8_t body[];
};

/* A thread that waits for whatever happens next. */
struct waiting {
    struct vc__waiter waiter;
    struct cds_list_head node;
};

/* --- birth and death --------------------------------------------------- */

void
vc__stream_init(struct vc_stream *s, const struct vc__stream_ops *ops)
{
    s->ops = ops;
    atomic_init(&s->holders, 1);
    pthread_mutex_init(&s->lock, NULL);
    vc__outflow_init(&s->out);
    vc__inflow_init(&s->in);
    s->half_out = s->half_in = s->ended = false;
    s->error.status = VC_OK;
    CDS_INIT_LIST_HEAD(&s->inbox);
    CDS_INIT_LIST_HEAD(&s->waiters);
}

void
vc__stream_fini(struct vc_stream *s)
{
    while (!cds_list_empty(&s->inbox)) {
        struct message *m = cds_list_entry(s->inbox.next, struct message, node);

        cds_list_del(&m->node);
        free(m);
    }
    pthread_mutex_destroy(&s->lock);
}

void
vc__stream_put(struct vc_stream *s)
{
    /* Release and acquire: the last one sees what all others did. */
    if (atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) == 1)
        s->ops->free(s);
}

/* --- waiting ----------------------------------------------------------- */

/* Under the lock. */
static void
wake_all(struct vc_stream *s)
{
    while (!cds_list_empty(&s->waiters)) {
        struct waiting *w =
            cds_list_entry(s->waiters.next, struct waiting, node);

        cds_list_del_init(&w->node);
        vc__waiter_done(&w->waiter);
    }
}

/* Under the lock, which it leaves meanwhile. False when this time has come. */
static bool
wait_until(struct vc_stream *s, uint64_t until)
{
    struct waiting w;
    bool changed;

    vc__waiter_init(&w.waiter);
    cds_list_add_tail(&w.node, &s->waiters);
    pthread_mutex_unlock(&s->lock);
    changed = vc__engine_wait(s->engine, &w.waiter, until);
    pthread_mutex_lock(&s->lock);
    /* After this nobody tells it any more. */
    if (!changed && !vc__waiter_is_done(&w.waiter))
        cds_list_del(&w.node);
    return changed;
}

/* The same. False when the call's time is over. */
static bool
wait_change(struct vc_stream *s)
{
    return wait_until(s, s->due);
}

/* --- what comes -------------------------------------------------------- */

static void
end_with(struct vc_stream *s, const struct vc__error *error)
{
    if (!s->ended) {
        s->ended = s->half_in = true;
        s->error = *error;
    }
    wake_all(s);
}

void
vc__stream_end(struct vc_stream *s, const struct vc__error *error)
{
    pthread_mutex_lock(&s->lock);
    end_with(s, error);
    pthread_mutex_unlock(&s->lock);
}

bool
vc__stream_half(struct vc_stream *s)
{
    bool good;

    pthread_mutex_lock(&s->lock);
    good = !s->half_in || s->ended;
    s->half_in = true;
    wake_all(s);
    pthread_mutex_unlock(&s->lock);
    return good;
}

bool
vc__stream_expects(struct vc_stream *s, uint32_t len)
{
    bool good;

    pthread_mutex_lock(&s->lock);
    good = s->ended ||
           (!s->half_in && vc__inflow_fits(&s->in, vc__stream_cost(len)));
    pthread_mutex_unlock(&s->lock);
    return good;
}

static struct message *
message_new(const uint8_t *body, uint32_t len)
{
    struct message *m = malloc(sizeof *m + len);

    if (m == NULL)
        return NULL;
    m->len = len;
    if (len > 0)
        memcpy(m->body, body, len);
    return m;
}

/* A message that is lost ends the call at this end: those after it would be
 * taken for it. */
static void
message_lost(struct vc_stream *s, const char *why)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "a message of %s was lost: %s",
                  s->method, why);
    error.outcome = VC_OUTCOME_UNKNOWN;
    end_with(s, &error);
}

bool
vc__stream_message(struct vc_stream *s, const uint8_t *body, uint32_t len,
                   const char *loss)
{
    struct message *m = loss == NULL ? message_new(body, len) : NULL;
    bool good;

    pthread_mutex_lock(&s->lock);
    good = !s->half_in && vc__inflow_arrived(&s->in, vc__stream_cost(len));
    if (s->ended) { /* and nobody will take it */
        good = true;
        free(m);
    } else if (!good) {
        free(m);
    } else if (m == NULL) {
        message_lost(s, loss != NULL ? loss : "out of memory");
    } else {
        cds_list_add_tail(&m->node, &s->inbox);
        wake_all(s);
    }
    pthread_mutex_unlock(&s->lock);
    return good;
}

bool
vc__stream_window(struct vc_stream *s, uint32_t end)
{
    bool good;

    pthread_mutex_lock(&s->lock);
    good = s->ended || vc__outflow_window(&s->out, end);
    wake_all(s);
    pthread_mutex_unlock(&s->lock);
    return good;
}

/* --- sending ----------------------------------------------------------- */

struct stream_send {
    struct vc__send send;
    struct vc_stream *stream;
    bool *gone; /* the stream's lock: where its sender looks whether all of it
                 * has gone; NULL: it does not wait */
    uint8_t body[];
};

/* Under the lock of the link. */
static void
send_done(struct vc__send *send, enum vc__send_end end)
{
    struct stream_send *ss = caa_container_of(send, struct stream_send, send);
    struct vc_stream *s = ss->stream;

    (void)end;
    if (vc__send_is_long(send)) {
        pthread_mutex_lock(&s->lock);
        if (ss->gone != NULL)
            *ss->gone = true;
        wake_all(s);
        pthread_mutex_unlock(&s->lock);
    }
    free(ss);
    vc__stream_put(s);
}

static struct stream_send *
send_new(struct vc_stream *s, enum vc__frame_type type, uint32_t len)
{
    struct stream_send *ss = malloc(sizeof *ss + len);

    if (ss == NULL)
        return NULL;
    memset(&ss->send, 0, sizeof ss->send);
    ss->send.frame.type = (uint8_t)type;
    ss->send.frame.body_len = len;
    ss->send.body = ss->body;
    ss->send.of_reply = s->of_server;
    ss->send.done = send_done;
    ss->stream = s;
    ss->gone = NULL;
    vc__stream_hold(s);
    return ss;
}

static void
send_drop(struct stream_send *ss)
{
    vc__stream_put(ss->stream);
    free(ss);
}

bool
vc__stream_tell(struct vc_stream *s, enum vc__frame_type type, uint32_t value)
{
    struct stream_send *ss = send_new(s, type, 0);

    if (ss == NULL)
        return false;
    ss->send.frame.deadline = value;
    if (s->ops->put(s, &ss->send))
        return true;
    send_drop(ss);
    return false;
}

enum vc_status
vc__stream_status(struct vc_stream *s)
{
    struct vc__error error;

    pthread_mutex_lock(&s->lock);
    error = s->error;
    pthread_mutex_unlock(&s->lock);
    return error.status == VC_OK ? VC_OK : vc__error_raise(&error);
}

/* Whether its handler ran is as the stream has it: the deadline may have passed
 * before anything was sent. */
static enum vc_status
time_over(struct vc_stream *s)
{
    struct vc__error error;

    s->ops->expire(s);
    vc__error_put(&error, VC_DEADLINE_EXCEEDED,
                  "the time allowed for %s ran out", s->method);
    pthread_mutex_lock(&s->lock);
    error.outcome =
        s->error.status == VC_OK ? VC_OUTCOME_UNKNOWN : s->error.outcome;
    pthread_mutex_unlock(&s->lock);
    return vc__error_raise(&error);
}

static enum vc_status
sent_enough(const struct vc_stream *s)
{
    return vc__fail(VC_FAILED_PRECONDITION,
                    "%s: nothing can be sent any more, the stream was finished",
                    s->method);
}

/* Waits until the window lets a message of so many bytes go. If not, the status
 * is for window_fail(). */
static enum vc_status
window_await(struct vc_stream *s, uint32_t len)
{
    enum vc_status status = VC_OK;

    pthread_mutex_lock(&s->lock);
    while (!s->ended && !s->half_out &&
           !vc__outflow_take(&s->out, vc__stream_cost(len))) {
        if (!wait_change(s)) {
            status = VC_DEADLINE_EXCEEDED;
            break;
        }
    }
    if (s->ended)
        status = VC_CANCELLED;
    else if (s->half_out)
        status = VC_FAILED_PRECONDITION;
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* The call has ended: well, but nobody reads on; or not. */
static enum vc_status
send_ended(struct vc_stream *s)
{
    enum vc_status status = vc__stream_status(s);

    return status != VC_OK
               ? status
               : vc__fail(VC_FAILED_PRECONDITION,
                          "%s has ended: the other end takes no more messages",
                          s->method);
}

static enum vc_status
window_fail(struct vc_stream *s, enum vc_status why)
{
    switch (why) {
    case VC_CANCELLED:
        return send_ended(s);
    case VC_DEADLINE_EXCEEDED:
        return time_over(s);
    default:
        return sent_enough(s);
    }
}

/* Waits for the last part. When the call ends first, a client leaves the rest
 * to the link, for its server drops it. A server's reply may not come between
 * the parts: its handler waits on until its client has taken them, or is
 * gone. */
static enum vc_status
gone_await(struct vc_stream *s, struct stream_send *ss, const bool *gone)
{
    uint64_t until = s->due;
    bool all;

    pthread_mutex_lock(&s->lock);
    while (!*gone && (s->of_server || !s->ended)) {
        if (wait_until(s, until))
            continue;
        pthread_mutex_unlock(&s->lock);
        s->ops->expire(s);
        until = VC__FOREVER;
        pthread_mutex_lock(&s->lock);
    }
    all = *gone;
    if (!all)
        ss->gone = NULL;
    pthread_mutex_unlock(&s->lock);
    return all ? VC_OK : send_ended(s);
}

/* A long message goes in parts, and no other of the stream may come between:
 * its sender waits for the last. When the link is lost it is done, too. */
static enum vc_status
message_go(struct vc_stream *s, struct stream_send *ss)
{
    bool gone = false, is_long = vc__send_is_long(&ss->send);

    if (is_long)
        ss->gone = &gone;
    if (!s->ops->put(s, &ss->send)) {
        send_drop(ss);
        return send_ended(s);
    }
    return is_long ? gone_await(s, ss, &gone) : VC_OK;
}

static enum vc_status
measure(struct vc_stream *s, const void *message, struct vc__packing *packing)
{
    uint32_t most;

    if (!vc__codec_measure(s->sends, message, packing))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the message for %s has a field that must be set, or a "
                        "pointer that is NULL",
                        s->method);
    pthread_mutex_lock(&s->lock);
    most = s->most;
    pthread_mutex_unlock(&s->lock);
    if (packing->size > most)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "the message for %s has %zu bytes, the other end takes "
                        "%u",
                        s->method, packing->size, most);
    return VC_OK;
}

enum vc_status
vc_stream_send(struct vc_stream *s, const void *message)
{
    struct vc__packing packing;
    struct stream_send *ss;
    enum vc_status status = measure(s, message, &packing);

    if (status != VC_OK)
        return status;
    status = window_await(s, (uint32_t)packing.size);
    if (status != VC_OK)
        return window_fail(s, status);
    ss = send_new(s, VC__FRAME_MESSAGE, (uint32_t)packing.size);
    if (ss == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__codec_pack(s->sends, &packing, message, ss->body);
    if (s->interception != NULL)
        vc__interception_message(
            s->interception,
            s->of_server ? VC_MESSAGE_REPLY : VC_MESSAGE_REQUEST, message);
    return message_go(s, ss);
}

enum vc_status
vc_stream_half_close(struct vc_stream *s)
{
    bool first;

    if (s->of_server)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s: a handler ends its stream by returning",
                        s->method);
    pthread_mutex_lock(&s->lock);
    first = !s->half_out && !s->ended;
    s->half_out = true;
    pthread_mutex_unlock(&s->lock);
    if (first && !vc__stream_tell(s, VC__FRAME_HALF, 0)) {
        pthread_mutex_lock(&s->lock);
        first = s->ended; /* then there is nobody to be told */
        s->half_out = first;
        pthread_mutex_unlock(&s->lock);
        if (!first)
            return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    return VC_OK;
}

/* --- receiving --------------------------------------------------------- */

/* The next message; NULL at the end, or *late. */
static struct message *
message_take(struct vc_stream *s, bool *late)
{
    struct message *m = NULL;

    *late = false;
    pthread_mutex_lock(&s->lock);
    while (cds_list_empty(&s->inbox) && !s->half_in && !*late)
        *late = !wait_change(s) && cds_list_empty(&s->inbox) && !s->half_in;
    if (!cds_list_empty(&s->inbox)) {
        m = cds_list_entry(s->inbox.next, struct message, node);
        cds_list_del(&m->node);
    }
    pthread_mutex_unlock(&s->lock);
    return m;
}

/* There is room again for as much. Without memory the sender is told with the
 * next one. */
static void
message_free(struct vc_stream *s, struct message *m)
{
    uint32_t cost = vc__stream_cost(m->len), told, end;
    bool tell;

    free(m);
    pthread_mutex_lock(&s->lock);
    told = s->in.told;
    tell = vc__inflow_taken(&s->in, cost) && !s->half_in;
    end = s->in.told;
    pthread_mutex_unlock(&s->lock);
    if (!tell || vc__stream_tell(s, VC__FRAME_WINDOW, end))
        return;
    pthread_mutex_lock(&s->lock);
    s->in.told = told;
    pthread_mutex_unlock(&s->lock);
}

static enum vc_status
message_unpack(struct vc_stream *s, const struct message *m, void **message)
{
    struct vc__reply *r = vc__reply_take(s->replies, s->memory);
    const char *fault;

    if (r == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    *message = vc__codec_unpack(s->receives, &r->allocator, s->memory, m->body,
                                m->len, &fault);
    if (*message != NULL)
        return VC_OK;
    vc__reply_give(r);
    return vc__fail(s->of_server ? VC_INVALID_ARGUMENT : VC_INTERNAL,
                    "a message of %s is no %s: %s", s->method,
                    s->receives->desc->name, fault);
}

enum vc_status
vc_stream_receive(struct vc_stream *s, void **message)
{
    bool late;
    struct message *m = message_take(s, &late);
    enum vc_status status;

    if (m == NULL) {
        *message = NULL;
        return late ? time_over(s) : vc__stream_status(s);
    }
    status = message_unpack(s, m, message);
    message_free(s, m);
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
    while (!s->ended)
        wait_until(s, VC__FOREVER);
    pthread_mutex_unlock(&s->lock);
}

void
vc__stream_await(struct vc_stream *s)
{
    bool ended;

    pthread_mutex_lock(&s->lock);
    while (!s->ended && wait_change(s))
        continue;
    ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    if (!ended)
        s->ops->expire(s);
}
