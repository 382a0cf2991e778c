/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opens a stream at the client's end: any thread of the program. All static
 * functions but stream_open_on_broken() run on that thread, called by
 * vc_stream_open() and vc_stream_start(), directly or not. An error is then
 * that thread's last. */
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/client/async.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/hedge.h"
#include "rpc/client/method_config.h"
#include "rpc/client/stream_client.h"
#include "rpc/codec/outgoing.h"
#include "rpc/stream/stream_events.h"
#include "rpc/text.h"

/* --- opening ----------------------------------------------------------- */

/* For stream_open_prepare(): packs the request, if the client does not stream.
 * VC_INVALID_ARGUMENT or VC_RESOURCE_EXHAUSTED if it cannot be sent. */
static enum vc_status
call_pack(struct vc__client_stream *c, const void *request)
{
    const struct vc_message_type *type = &c->type->request;
    const struct vc__outgoing o = {
        .what = "request",
        .service = c->stream.service,
        .method = c->stream.method,
        .peer = "server",
        .config_max = c->stream.request_max,
        .peer_max = c->stream.most,
    };
    struct vc__packing packing;
    enum vc_status status;

    if (vc__client_stream_up(c))
        return VC_OK;
    status = vc__outgoing_measure(&o, type, request, &packing);
    if (status != VC_OK)
        return status;
    c->body = vc__outgoing_pack(type, request, &packing);
    if (c->body == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    c->call.frame.body_len = (uint32_t)packing.size;
    return VC_OK;
}

/* For stream_open_prepare(): packs the metadata of the CALL, with the priority
 * if that is not the default one; nothing if there is neither. Errors as of
 * vc__metadata_pack(). */
static enum vc_status
metadata_pack(struct vc__client_stream *c, const struct vc_call_opts *opts)
{
    struct vc__frame *f = &c->call.frame;
    enum vc_status status;

    if (opts->n_metadata == 0 && opts->priority == VC_PRIORITY_DEFAULT)
        return VC_OK;
    status = vc__metadata_pack(opts->metadata, opts->n_metadata, 1,
                               opts->priority, &c->metadata, &f->metadata_len);
    f->metadata = c->metadata;
    return status;
}

/* For stream_begin(): fills in the CALL of a stream that is prepared, before
 * call_start(). */
static void
call_fill(struct vc__client_stream *c, unsigned method)
{
    c->call.frame.method = (uint16_t)method;
    if (vc__client_stream_up(c))
        c->call.frame.flags |= VC__FRAME_CLIENT_STREAM;
    if (vc__client_stream_down(c))
        c->call.frame.flags |= VC__FRAME_SERVER_STREAM;
    c->call.body = c->body;
}

/* Makes a stream of this channel, with the caller's reference, for
 * stream_begin(). NULL if memory is short. */
static struct vc__client_stream *
stream_new(struct vc_channel *channel, const struct vc_service *service,
           unsigned method)
{
    struct vc__client_stream *c = vc__client_stream_new();
    const struct vc_method *type = &service->methods[method];

    if (c == NULL)
        return NULL;
    c->stream.engine = &channel->progress->engine;
    c->stream.replies = &channel->runtime->replies;
    c->stream.sends = &type->request;
    c->stream.receives = &type->reply;
    c->stream.service = service->name;
    c->stream.method = type->name;
    c->stream.max_reply = type->max_reply;
    c->stream.memory = channel->reply_memory;
    c->stream.most = vc__channel_request_max(channel);
    c->stream.state = vc__stream_first(type->flags & VC_METHOD_CLIENT_STREAM,
                                       type->flags & VC_METHOD_SERVER_STREAM);
    c->channel = channel;
    c->type = type;
    return c;
}

/* broken() of a stream with callbacks: any thread, inside vc_channel_close(),
 * under the lock of retry_waits. Ends the program's pause. */
static void
stream_open_on_broken(struct vc__retry_wait *p)
{
    vc__stream_events_hurry(
        &caa_container_of(p, struct vc__client_stream, retry_wait)->stream);
}

/* For call_start(): gives the callbacks to the stream before its call starts. A
 * stream with callbacks keeps the channel until the last callback. If the
 * channel is being closed, the program cannot pause them. */
static void
events_join(struct vc__client_stream *c, struct vc__stream_events *events)
{
    vc__asyncs_enter(c->channel);
    vc__stream_hold(&c->stream);
    vc__stream_events_join(&c->stream, events, false);
    c->retry_wait.broken = stream_open_on_broken;
    c->paused = vc__retry_wait_begin(&c->channel->retry_waits, &c->retry_wait);
    if (!c->paused)
        vc__stream_events_hurry(&c->stream);
}

bool
vc__client_stream_pick(struct vc__client_stream *c, uint64_t now)
{
    struct vc__subchannel *held, *former;
    const struct vc__pool *before = c->client != NULL ? c->client->pool : NULL;
    struct vc__client *client =
        vc__channel_pick(c->channel, c->of, before, now, &c->key, &held);

    if (client == NULL)
        return false;
    vc__client_move(client, &c->request);
    pthread_mutex_lock(&c->stream.lock);
    former = c->held;
    c->held = held;
    c->client = client;
    c->stream.target =
        client->pool->opts.nowhere ? NULL : &client->pool->opts.target;
    c->stream.waits = client->pool->opts.recalls;
    pthread_mutex_unlock(&c->stream.lock);
    if (former != NULL)
        vc__subchannel_put(former);
    return true;
}

void
vc__client_stream_unhold(struct vc__client_stream *c)
{
    if (c->held == NULL)
        return;
    pthread_mutex_lock(&c->stream.lock);
    c->stream.target = NULL; /* it may be freed */
    pthread_mutex_unlock(&c->stream.lock);
    vc__subchannel_put(c->held);
    c->held = NULL;
}

/* Starts the call, which takes a reference, for stream_begin(). The call may be
 * cancelled as soon as it has joined. Holds the server, and has the channel
 * entered, meanwhile, as the call may end. */
static void
call_start(struct vc__client_stream *c, uint64_t now,
           struct vc__stream_events *events)
{
    struct vc__subchannel *held = c->held;
    struct vc_channel *channel = c->channel;

    vc__channel_enter(channel);
    if (held != NULL)
        vc__subchannel_hold(held);
    c->stream.due = c->attempts.until;
    c->call.due = c->attempts.due;
    c->stream.timeout_ms = c->attempts.ms;
    if (events != NULL)
        events_join(c, events);
    if (c->attempts.cancellable)
        vc__cancelling_join(&c->cancelling);
    c->call.frame.deadline = vc__deadline_left(c->call.due, now);
    c->call.fresh = true;
    vc__engine_catch_up(c->stream.engine, now);
    vc__stream_hold(&c->stream); /* for the call */
    vc__client_start(c->client, &c->request);
    vc__client_stream_started(c);
    if (held != NULL)
        vc__subchannel_put(held);
    vc__channel_leave(channel);
}

/* Does all that may fail, for stream_begin(), with the channel entered. After
 * an error, of metadata_pack(), call_pack(), vc__client_stream_pick() or
 * vc__client_stream_limit(), the caller frees the stream. */
static enum vc_status
stream_open_prepare(struct vc__client_stream *c,
                    const struct vc_service *service, const void *request,
                    const struct vc_call_opts *opts, uint64_t now)
{
    enum vc_status status = metadata_pack(c, opts);

    if (status == VC_OK)
        status = call_pack(c, request);
    if (status != VC_OK)
        return status;
    c->of = service;
    c->key.of_stream = true;
    c->key.hashed = vc__channel_hash(c->channel, opts->metadata,
                                     opts->n_metadata, &c->key.hash);
    if (!vc__client_stream_pick(c, now))
        return vc__error_last()->status;
    /* Until there are servers, no thread adds messages to the call. */
    c->parked = c->client->pool->opts.nowhere;
    return vc__client_stream_limit(c, opts);
}

/* For stream_policy_take(): the smaller of two limits; 0 is none. */
static uint32_t
limit_least(uint32_t one, uint32_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

/* For stream_begin(): what the service config says of the call. */
static void
stream_policy_take(struct vc__client_stream *c,
                   const struct vc__call_policy *policy)
{
    struct vc_stream *s = &c->stream;

    c->configured = true;
    c->retry = policy->retry;
    s->request_max = policy->request_max;
    s->most = limit_least(s->most, policy->request_max);
    s->reply_max = policy->reply_max;
}

/* For stream_begin(): refuses options that a stream cannot have, with
 * VC_INVALID_ARGUMENT; else VC_OK. */
static enum vc_status
stream_opts_check(const struct vc_method *method,
                  const struct vc_call_opts *opts)
{
    if (opts->result != NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_call_opts.result: vc_stream_result() has the "
                        "result of a stream, at its end; leave it NULL");
    return vc__hedge_check(method, opts->hedge_ms);
}

/* stream_open() of a method that streams: without the names of service and
 * method in the error's text. */
static enum vc_status
stream_begin(struct vc_channel *channel, const struct vc_service *service,
             unsigned method, const void *request,
             const struct vc_call_opts *user_opts,
             struct vc__stream_events *events, struct vc_stream **stream)
{
    const struct vc__call_policy *policy = NULL;
    struct vc__call_policy room;
    struct vc__client_stream *c;
    struct vc_call_opts opts;
    uint64_t now;
    enum vc_status status = vc__channel_opts_take(
        &opts, user_opts, channel, service, method, &room, &policy);

    if (status == VC_OK)
        status = stream_opts_check(&service->methods[method], &opts);
    if (status != VC_OK)
        return status;
    c = stream_new(channel, service, method);
    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    if (policy != NULL)
        stream_policy_take(c, policy);
    now = vc__now();
    vc__channel_enter(channel);
    status = stream_open_prepare(c, service, request, &opts, now);
    if (status != VC_OK) {
        vc__client_stream_unhold(c);
        vc__channel_leave(channel);
        vc__client_stream_free(c);
        return status;
    }
    call_fill(c, method);
    *stream = &c->stream;
    call_start(c, now, events);
    return VC_OK;
}

/* vc_stream_open() or vc_stream_start() without interceptors, and returns as
 * these; events is NULL for the former. On success the stream owns the events,
 * and the caller *stream. */
static enum vc_status
stream_open(struct vc_channel *channel, const struct vc_service *service,
            unsigned method, const void *request,
            const struct vc_call_opts *opts, struct vc__stream_events *events,
            struct vc_stream **stream)
{
    enum vc_status status = vc__method_check(service, method, true);

    if (status != VC_OK)
        return status;
    status =
        stream_begin(channel, service, method, request, opts, events, stream);
    return status == VC_OK ? VC_OK
                           : vc__text_name_last(service->name,
                                                service->methods[method].name);
}

/* stream_open() through the channel's interceptors: returns the status of the
 * one that refuses the stream, or why there is no interception, as
 * vc__channel_intercept_open(); else as stream_open(). */
static enum vc_status
stream_open_seen(struct vc_channel *channel, const struct vc_service *service,
                 unsigned method, const void *request,
                 const struct vc_call_opts *opts,
                 struct vc__stream_events *events, struct vc_stream **stream)
{
    struct vc_interception *i;
    struct vc__error error;
    enum vc_status status =
        vc__channel_intercept_open(channel, service, method, opts, &i);

    if (status != VC_OK)
        return status;
    status =
        stream_open(channel, service, method, request, i->opts, events, stream);
    if (status != VC_OK) {
        error = *vc__error_last();
        vc__channel_intercept_close(i, &error);
        return vc__error_raise(&error);
    }
    (*stream)->interception = i;
    if (!vc__client_stream_up(vc__client_stream_of(*stream)))
        vc__interception_message(i, VC_MESSAGE_REQUEST, request);
    return VC_OK;
}

/* For vc_stream_open() and vc_stream_start(): gives the program its stream, by
 * memcpy(), as the program's pointer may be one to a type of generated code,
 * which must not be assigned to as a struct vc_stream pointer. */
static void
stream_give(struct vc_stream **out, struct vc_stream *stream)
{
    memcpy(out, &stream, sizeof stream);
}

enum vc_status
vc_stream_open(struct vc_channel *channel, const struct vc_service *service,
               unsigned method, const void *request,
               const struct vc_call_opts *opts, struct vc_stream **stream)
{
    struct vc_stream *s = NULL;
    enum vc_status status;

    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    status = (channel->interceptors == NULL ? stream_open : stream_open_seen)(
        channel, service, method, request, opts, NULL, &s);
    if (status == VC_OK)
        stream_give(stream, s);
    return status;
}

enum vc_status
vc_stream_start(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts,
                const struct vc_stream_events *events, void *arg,
                struct vc_stream **stream)
{
    struct vc__stream_events *ev;
    struct vc_stream *s = NULL;
    enum vc_status status;

    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    ev = vc__stream_events_new(events, arg);
    if (ev == NULL)
        return vc__error_last()->status;
    status = (channel->interceptors == NULL ? stream_open : stream_open_seen)(
        channel, service, method, request, opts, ev, &s);
    if (status != VC_OK) {
        free(ev);
        return status;
    }
    stream_give(stream, s); /* before the first callback */
    vc__stream_events_open(s);
    return VC_OK;
}
