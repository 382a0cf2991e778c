/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream at the end that called. The call holds it until its reply has come,
 * or there will be none; while it does, the channel is entered. */
#include "rpc/stream.h"

#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/call_opts.h"
#include "rpc/channel.h"
#include "rpc/channel_intercept.h"
#include "rpc/client_metadata.h"
#include "rpc/codec.h"

struct client_stream {
    struct vc_stream stream;
    struct vc__request request;
    struct vc__send call;
    uint8_t *body;     /* of the call; NULL when the client streams */
    uint8_t *metadata; /* of the call, packed, or NULL */
    struct vc_channel *channel;
    struct vc__client *client;
    const struct vc_method *type;
    bool given_up;               /* the stream's lock */
    void *reply;                 /* the same; when the server does not stream */
    struct vc__brought *brought; /* the same: what the reply brought, or NULL */
    uint32_t ms;                 /* that it may take */
};

static struct client_stream *
client_stream_of(struct vc_stream *s)
{
    return caa_container_of(s, struct client_stream, stream);
}

static bool
server_streams(const struct client_stream *c)
{
    return c->type->flags & VC_METHOD_SERVER_STREAM;
}

static bool
client_streams(const struct client_stream *c)
{
    return c->type->flags & VC_METHOD_CLIENT_STREAM;
}

/* --- the end ----------------------------------------------------------- */

/* Once. The stream may be freed by it. */
static void
call_end(struct client_stream *c, const struct vc__error *error)
{
    struct vc__send *send, *next;

    vc__stream_end(&c->stream, error);
    /* What waited for a link with it. */
    cds_list_for_each_entry_safe (send, next, &c->request.queued, node)
        send->done(send, VC__SEND_LOST);
    vc__channel_leave(c->channel);
    vc__stream_put(&c->stream);
}

/* The reply's message; false with *error. */
static bool
reply_keep(struct client_stream *c, const struct vc__reply_frame *reply,
           struct vc__error *error)
{
    struct vc__reply *r = vc__reply_take(c->stream.replies, c->stream.memory);
    const char *fault = "out of memory";
    void *message = NULL;

    if (r != NULL)
        message =
            vc__codec_unpack(&c->type->reply, &r->allocator, c->stream.memory,
                             reply->body, reply->len, &fault);
    if (message != NULL) {
        pthread_mutex_lock(&c->stream.lock);
        c->reply = message;
        pthread_mutex_unlock(&c->stream.lock);
        return true;
    }
    vc__error_put(error, r == NULL ? VC_RESOURCE_EXHAUSTED : VC_INTERNAL,
                  "the reply of %s is no %s: %s", c->type->name,
                  c->type->reply.desc->name, fault);
    if (r != NULL)
        vc__reply_give(r);
    return false;
}

/* The reply's metadata, until somebody asks for them; false with *error. */
static bool
metadata_keep(struct client_stream *c, const struct vc__reply_frame *reply,
              struct vc__error *error)
{
    const char *fault = NULL;
    struct vc__brought *b = NULL;

    if (reply->metadata.len == 0)
        return true;
    b = vc__brought_new(&reply->metadata, &fault);
    if (fault != NULL)
        vc__error_put(error, VC_INTERNAL, "the reply of %s has %s",
                      c->type->name, fault);
    else if (b == NULL)
        vc__error_put(error, VC_RESOURCE_EXHAUSTED,
                      "out of memory for the metadata of the reply");
    error->outcome = reply->outcome;
    pthread_mutex_lock(&c->stream.lock);
    c->brought = b;
    pthread_mutex_unlock(&c->stream.lock);
    return b != NULL;
}

static void
on_replied(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct client_stream *c =
        caa_container_of(r, struct client_stream, request);
    struct vc__error error = {.status = reply->status,
                              .outcome = reply->outcome};

    if (!metadata_keep(c, reply, &error)) {
        call_end(c, &error);
        return;
    }
    if (error.status > VC_UNAUTHENTICATED)
        error.status = VC_UNKNOWN;
    if (error.status != VC_OK)
        vc__text_put(error.text, sizeof error.text, reply->body, reply->len);
    else if (!server_streams(c) && !reply_keep(c, reply, &error))
        error.outcome = VC_OUTCOME_EXECUTED;
    call_end(c, &error);
}

static void
on_failed(struct vc__request *r, const struct vc__error *error)
{
    call_end(caa_container_of(r, struct client_stream, request), error);
}

/* Uses the client only while the call has not ended: then the channel may be
 * closed. */
static bool
client_enter(struct client_stream *c)
{
    bool enters;

    pthread_mutex_lock(&c->stream.lock);
    enters = !c->stream.ended;
    if (enters)
        vc__channel_enter(c->channel);
    pthread_mutex_unlock(&c->stream.lock);
    return enters;
}

static void
give_up(struct client_stream *c, enum vc_status status, const char *text)
{
    struct vc__error error;
    enum vc_outcome outcome;
    bool mine = false;

    if (!client_enter(c))
        return;
    pthread_mutex_lock(&c->stream.lock);
    if (!c->given_up)
        mine = c->given_up = true;
    pthread_mutex_unlock(&c->stream.lock);
    if (mine && vc__client_abandon(c->client, &c->request, &outcome)) {
        vc__error_put(&error, status, "%s: %s", c->type->name, text);
        error.outcome = outcome;
        vc__channel_leave(c->channel);
        call_end(c, &error);
        return;
    }
    vc__channel_leave(c->channel);
    vc__stream_await_written(&c->stream);
}

/* --- the stream's operations -------------------------------------------- */

static bool
client_put(struct vc_stream *s, struct vc__send *send)
{
    struct client_stream *c = client_stream_of(s);
    bool good;

    if (!client_enter(c))
        return false;
    good = vc__client_add(c->client, &c->request, send);
    vc__channel_leave(c->channel);
    if (!good) /* its end is being written this moment */
        vc__stream_await_written(s);
    return good;
}

static void
client_expire(struct vc_stream *s)
{
    give_up(client_stream_of(s), VC_DEADLINE_EXCEEDED,
            "the time allowed for it ran out");
}

static void
client_free(struct vc_stream *s)
{
    struct client_stream *c = client_stream_of(s);

    if (c->reply != NULL)
        vc_reply_free(c->reply);
    vc__stream_fini(s);
    free(c->metadata);
    free(c->brought);
    free(c->body);
    free(c);
}

static const struct vc__stream_ops client_ops = {
    .put = client_put, .expire = client_expire, .free = client_free};

/* --- frames ------------------------------------------------------------ */

static bool
on_message(struct vc__request *r, const uint8_t *body, uint32_t len,
           const char *loss)
{
    struct client_stream *c =
        caa_container_of(r, struct client_stream, request);

    return server_streams(c) && vc__stream_message(&c->stream, body, len, loss);
}

static bool
on_window(struct vc__request *r, uint32_t end)
{
    return vc__stream_window(
        &caa_container_of(r, struct client_stream, request)->stream, end);
}

/* The link has use for the call's frame, and no more. */
static void
call_hold(struct vc__send *send)
{
    vc__stream_hold(
        &caa_container_of(send, struct client_stream, call)->stream);
}

static void
call_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    vc__stream_put(&caa_container_of(send, struct client_stream, call)->stream);
}

/* --- opening ----------------------------------------------------------- */

/* The request of a call whose client does not stream. */
static enum vc_status
call_pack(struct client_stream *c, const void *request)
{
    const struct vc_message_type *type = &c->type->request;
    struct vc__packing packing;

    if (client_streams(c))
        return VC_OK;
    if (request == NULL || !vc__codec_measure(type, request, &packing))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the request of %s has a field that must be set, or a "
                        "pointer that is NULL",
                        c->type->name);
    if (packing.size > c->stream.most)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "the request of %s has %zu bytes, the server takes %u",
                        c->type->name, packing.size, c->stream.most);
    c->body = malloc(packing.size + 1);
    if (c->body == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__codec_pack(type, &packing, request, c->body);
    c->call.frame.body_len = (uint32_t)packing.size;
    return VC_OK;
}

static enum vc_status
metadata_pack(struct client_stream *c, const struct vc_call_opts *opts)
{
    struct vc__frame *f = &c->call.frame;
    enum vc_status status;

    if (opts->result != NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "result: that of a stream is given by "
                        "vc_stream_result()");
    if (opts->n_metadata == 0)
        return VC_OK;
    status = vc__metadata_pack(opts->metadata, opts->n_metadata, 1,
                               &c->metadata, &f->metadata_len);
    f->metadata = c->metadata;
    return status;
}

static void
call_fill(struct client_stream *c, unsigned method)
{
    c->call.frame.method = (uint16_t)method;
    if (client_streams(c))
        c->call.frame.flags |= VC__FRAME_CLIENT_STREAM;
    if (server_streams(c))
        c->call.frame.flags |= VC__FRAME_SERVER_STREAM;
    c->call.body = c->body;
    c->call.hold = call_hold;
    c->call.done = call_done;
    c->request.send = &c->call;
    c->request.replied = on_replied;
    c->request.failed = on_failed;
    c->request.message = on_message;
    c->request.window = on_window;
    CDS_INIT_LIST_HEAD(&c->request.queued);
}

static uint32_t
most_of(const struct vc_channel *channel)
{
    /* Relaxed: the server checks for itself. */
    uint32_t most = atomic_load_explicit(&channel->pool->peer_message_max,
                                         memory_order_relaxed);

    return most != 0 ? most : VC__MESSAGE_MAX;
}

static struct client_stream *
client_stream_new(struct vc_channel *channel, const struct vc_service *service,
                  unsigned method, const struct vc_call_opts *opts)
{
    struct client_stream *c = calloc(1, sizeof *c);
    const struct vc_method *type = &service->methods[method];

    if (c == NULL)
        return NULL;
    vc__stream_init(&c->stream, &client_ops);
    c->stream.engine = &channel->progress->engine;
    c->stream.replies = &channel->runtime->replies;
    c->stream.sends = &type->request;
    c->stream.receives = &type->reply;
    c->stream.method = type->name;
    c->stream.memory = channel->reply_memory;
    c->stream.most = most_of(channel);
    c->stream.half_out = !(type->flags & VC_METHOD_CLIENT_STREAM);
    c->channel = channel;
    c->type = type;
    c->ms = opts->timeout_ms;
    return c;
}

static void
call_start(struct client_stream *c)
{
    uint64_t now = vc__now();

    c->stream.due =
        c->ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(now, c->ms);
    c->call.due = c->stream.due;
    c->call.frame.deadline = vc__deadline_left(c->stream.due, now);
    c->call.fresh = true;
    vc__engine_catch_up(c->stream.engine, now);
    vc__stream_hold(&c->stream); /* the call's */
    vc__client_start(c->client, &c->request);
}

static enum vc_status
stream_open(struct vc_channel *channel, const struct vc_service *service,
            unsigned method, const void *request,
            const struct vc_call_opts *user_opts, struct vc_stream **stream)
{
    struct client_stream *c;
    struct vc_call_opts opts;
    enum vc_status status = vc__call_opts_take(
        &opts, user_opts,
        vc__channel_call_ms(channel, &service->methods[method]));

    if (status != VC_OK)
        return status;
    c = client_stream_new(channel, service, method, &opts);
    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = metadata_pack(c, &opts);
    if (status == VC_OK)
        status = call_pack(c, request);
    vc__channel_enter(channel);
    c->client = vc__channel_client(channel, service);
    if (status == VC_OK && c->client == NULL)
        status = vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    if (status != VC_OK) {
        vc__channel_leave(channel);
        client_free(&c->stream);
        return status;
    }
    call_fill(c, method);
    call_start(c);
    *stream = &c->stream;
    return VC_OK;
}

/* The same through the channel's interceptors. */
static enum vc_status
stream_open_seen(struct vc_channel *channel, const struct vc_service *service,
                 unsigned method, const void *request,
                 const struct vc_call_opts *opts, struct vc_stream **stream)
{
    struct vc_interception *i;
    struct vc__error error;
    enum vc_status status =
        vc__channel_intercept_open(channel, service, method, opts, &i);

    if (status != VC_OK)
        return status;
    status = stream_open(channel, service, method, request, i->opts, stream);
    if (status != VC_OK) {
        error = *vc__error_last();
        vc__channel_intercept_close(i, &error);
        return vc__error_raise(&error);
    }
    (*stream)->interception = i;
    if (!client_streams(client_stream_of(*stream)))
        vc__interception_message(i, VC_MESSAGE_REQUEST, request);
    return VC_OK;
}

enum vc_status
vc_stream_open(struct vc_channel *channel, const struct vc_service *service,
               unsigned method, const void *request,
               const struct vc_call_opts *opts, struct vc_stream **stream)
{
    return (channel->interceptors == NULL ? stream_open : stream_open_seen)(
        channel, service, method, request, opts, stream);
}

/* --- ending ------------------------------------------------------------- */

/* What still comes is of no interest, but must be taken, or the server waits
 * for room. */
static enum vc_status
rest_drop(struct vc_stream *s)
{
    enum vc_status status;
    void *message;

    do {
        status = vc_stream_receive(s, &message);
        if (status == VC_OK)
            vc_reply_free(message);
    } while (status == VC_OK && message != NULL);
    return status;
}

enum vc_status
vc_stream_finish(struct vc_stream *s, void **reply)
{
    struct client_stream *c = client_stream_of(s);
    enum vc_status status;

    if (s->of_server)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s: a handler ends its stream by returning",
                        s->method);
    status = client_streams(c) ? vc_stream_half_close(s) : VC_OK;
    if (status == VC_OK && server_streams(c))
        status = rest_drop(s);
    if (status != VC_OK)
        return status;
    vc__stream_await(s);
    status = vc__stream_status(s);
    if (reply == NULL)
        return status;
    pthread_mutex_lock(&s->lock);
    *reply = c->reply;
    c->reply = NULL;
    pthread_mutex_unlock(&s->lock);
    if (*reply != NULL && s->interception != NULL)
        vc__interception_message(s->interception, VC_MESSAGE_REPLY, *reply);
    return status;
}

enum vc_status
vc_stream_result(struct vc_stream *s, struct vc_result *result)
{
    struct client_stream *c = client_stream_of(s);
    struct vc__brought *b;
    struct vc__error error;
    bool ended;

    if (s->of_server || result->size < sizeof *result)
        return vc__fail(VC_INVALID_ARGUMENT,
                        s->of_server ? "a handler's stream has no result"
                                     : "set a result by VC_RESULT_INIT");
    pthread_mutex_lock(&s->lock);
    ended = s->ended;
    error = s->error;
    b = ended ? c->brought : NULL;
    if (ended)
        c->brought = NULL;
    pthread_mutex_unlock(&s->lock);
    if (!ended)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s has not ended: vc_stream_finish() waits for that",
                        s->method);
    vc__result_fill(result, &error, 1, b);
    return VC_OK;
}

void
vc_stream_cancel(struct vc_stream *s)
{
    if (!s->of_server)
        give_up(client_stream_of(s), VC_CANCELLED, "it was cancelled");
}

/* The call has ended, and nobody else uses the stream. */
static void
interception_end(struct vc_stream *s)
{
    struct vc__error error;

    pthread_mutex_lock(&s->lock);
    error = s->error;
    pthread_mutex_unlock(&s->lock);
    vc__channel_intercept_close(s->interception, &error);
}

void
vc_stream_close(struct vc_stream *s)
{
    if (s == NULL || s->of_server)
        return;
    vc_stream_cancel(s);
    if (s->interception != NULL)
        interception_end(s);
    vc__stream_put(s);
}
