/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel: a pool of links to its target, and the blocking unary call. The
 * caller packs its request into the link's buffer, polls until the reply is
 * there, and is the only one who knows its deadline. */
#include <verbcall/channel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "cm/pool.h"
#include "rpc/codec.h"
#include "rpc/runtime.h"

#define CONNECT_MS     2000u
#define CONNECT_MS_MAX 600000u
#define CALL_MS        10000u

struct vc_channel {
    struct vc_runtime *runtime;
    struct vc__engine *engine;
    uint32_t call_ms;
    size_t reply_memory;
    struct vc__pool pool;
};

static enum vc_status
opts_take(struct vc_channel_opts *out, const struct vc_channel_opts *opts)
{
    memset(out, 0, sizeof *out);
    if (opts != NULL)
        memcpy(out, opts, opts->size < sizeof *out ? opts->size : sizeof *out);
    if (out->connect_timeout_ms == 0)
        out->connect_timeout_ms = CONNECT_MS;
    if (out->call_timeout_ms == 0)
        out->call_timeout_ms = CALL_MS;
    if (out->connect_timeout_ms > CONNECT_MS_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "connect_timeout_ms: %u is not in 1..%u",
                        out->connect_timeout_ms, CONNECT_MS_MAX);
    if (vc__log2_message(out->max_message) == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "max_message: %zu is not in 4 KiB..1 GiB",
                        out->max_message);
    return VC_OK;
}

enum vc_status
vc_channel_open(struct vc_runtime *runtime, const char *target,
                const struct vc_channel_opts *user_opts,
                struct vc_channel **channel)
{
    struct vc_channel_opts opts;
    struct vc__target parsed;
    struct sockaddr_storage source = {.ss_family = AF_UNSPEC};
    struct vc__progress *progress;
    struct vc_channel *c;
    enum vc_status status = opts_take(&opts, user_opts);
    uint8_t log2_message = vc__log2_message(opts.max_message);

    if (status == VC_OK)
        status = vc__target_parse(&parsed, target);
    if (status == VC_OK && opts.bind_address != NULL)
        status = vc__address_parse(&source, opts.bind_address);
    if (status != VC_OK)
        return status;
    c = calloc(1, sizeof *c);
    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    progress = vc__runtime_progress(runtime);
    c->runtime = runtime;
    c->engine = &progress->engine;
    c->call_ms = opts.call_timeout_ms;
    c->reply_memory = vc__codec_memory((size_t)1 << log2_message);
    vc__pool_init(&c->pool, &progress->cm, &parsed, opts.connect_timeout_ms,
                  log2_message, runtime->instance);
    c->pool.dialer.source = source;
    *channel = c;
    return VC_OK;
}

enum vc_status
vc_channel_connect(struct vc_channel *channel, const struct vc_service *service)
{
    return vc__pool_connect(&channel->pool, service);
}

void
vc_channel_close(struct vc_channel *channel)
{
    if (channel == NULL)
        return;
    vc__pool_fini(&channel->pool);
    free(channel);
}

/* --- a call ------------------------------------------------------------ */

struct call {
    struct vc__request request;
    struct vc__send send; /* when the request fits in a packet */
    struct vc__waiter waiter;
    struct vc_channel *channel;
    const struct vc_method *method;
    const void *message;
    struct vc__packing packing;
    void *reply;
    struct vc__error error; /* status VC_OK: there is a reply */
};

/* A request that goes in parts. The link may still be sending it when its
 * caller has given up, so both hold it. */
struct long_send {
    struct vc__send send;
    atomic_uint holders;
    uint8_t body[];
};

static void
long_put(struct long_send *l, unsigned n)
{
    if (atomic_fetch_sub(&l->holders, n) == n)
        free(l);
}

static void
long_done(struct vc__send *send)
{
    long_put(caa_container_of(send, struct long_send, send), 1);
}

static void
call_write(struct vc__send *send, uint8_t *out)
{
    struct call *c = caa_container_of(send, struct call, send);

    vc__codec_pack(&c->method->request, &c->packing, c->message, out);
}

static void
error_of_reply(struct vc__error *error, const struct vc__reply_frame *reply)
{
    error->status =
        reply->status > VC_UNAUTHENTICATED ? VC_UNKNOWN : reply->status;
    error->outcome = reply->outcome;
    vc__words_put(error->text, sizeof error->text, reply->body, reply->len);
}

static void
reply_unpack(struct call *c, const struct vc__reply_frame *reply)
{
    size_t memory = c->channel->reply_memory;
    struct vc__reply *r = vc__reply_take(&c->channel->runtime->replies, memory);
    const char *fault;

    if (r == NULL) {
        vc__error_put(&c->error, VC_RESOURCE_EXHAUSTED,
                      "out of memory for the reply");
        c->error.outcome = VC_OUTCOME_EXECUTED;
        return;
    }
    c->reply = vc__codec_unpack(&c->method->reply, &r->allocator, memory,
                                reply->body, reply->len, &fault);
    if (c->reply != NULL)
        return;
    vc__reply_give(r);
    vc__error_put(&c->error, VC_INTERNAL, "the reply of %s is no %s: %s",
                  c->method->name, c->method->reply.desc->name, fault);
    c->error.outcome = VC_OUTCOME_EXECUTED;
}

static void
call_replied(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct call *c = caa_container_of(r, struct call, request);

    if (reply->status == VC_OK)
        reply_unpack(c, reply);
    else
        error_of_reply(&c->error, reply);
    vc__waiter_done(&c->waiter);
}

static void
call_failed(struct vc__request *r, const struct vc__error *error)
{
    struct call *c = caa_container_of(r, struct call, request);

    c->error = *error;
    vc__waiter_done(&c->waiter);
}

/* The caller's patience is over. */
static void
call_expire(struct call *c, struct vc__session *session, uint32_t ms)
{
    enum vc_outcome outcome = VC_OUTCOME_UNKNOWN;

    if (!vc__session_abandon(session, &c->request, &outcome)) {
        /* Its end is being written this moment. */
        vc__engine_wait(c->channel->engine, &c->waiter, VC__FOREVER);
        return;
    }
    vc__error_put(&c->error, VC_DEADLINE_EXCEEDED,
                  "%s has not been answered within %u ms by %s:%s",
                  c->method->name, ms, c->channel->pool.target.host,
                  c->channel->pool.target.port);
    c->error.outcome = outcome;
}

static struct long_send *
long_new(const struct call *c, size_t size)
{
    struct long_send *l = malloc(sizeof *l + size);

    if (l == NULL)
        return NULL;
    memset(&l->send, 0, sizeof l->send);
    atomic_init(&l->holders, 2);
    vc__codec_pack(&c->method->request, &c->packing, c->message, l->body);
    l->send.body = l->body;
    l->send.done = long_done;
    return l;
}

/* The link drops its hold when it took the message; else it never had one. */
static void
long_release(struct call *c)
{
    if (c->request.send == &c->send)
        return;
    long_put(caa_container_of(c->request.send, struct long_send, send),
             c->request.taken ? 1 : 2);
}

/* Where the request's bytes come from. */
static enum vc_status
call_prepare(struct call *c)
{
    size_t size;
    /* Relaxed: the limit of a former link is as good as none, for the server
     * checks for itself. */
    uint32_t max = atomic_load_explicit(&c->channel->pool.peer_message_max,
                                        memory_order_relaxed);
    struct long_send *l;

    if (!vc__codec_measure(&c->method->request, c->message, &c->packing))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the request of %s has a field that must be set, or a "
                        "pointer that is NULL",
                        c->method->name);
    size = c->packing.size;
    if (max != 0 ? size > max : size > VC__MESSAGE_MAX)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "the request of %s has %zu bytes, the server takes "
                        "%u",
                        c->method->name, size, max);
    if (size <= VC__EAGER_MAX) {
        c->request.send = &c->send;
        c->send.write = call_write;
    } else {
        l = long_new(c, size);
        if (l == NULL)
            return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        c->request.send = &l->send;
    }
    c->request.send->frame.body_len = (uint32_t)size;
    return VC_OK;
}

static enum vc_status
call_run(struct call *c, const struct vc_service *service, unsigned method,
         uint32_t ms)
{
    struct vc__pool *pool = &c->channel->pool;
    struct vc__session *session;
    uint64_t now = vc__now();
    uint64_t due = ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(now, ms);

    vc__pool_enter(pool);
    session = vc__pool_session(pool, service);
    if (session == NULL) {
        vc__error_put(&c->error, VC_RESOURCE_EXHAUSTED, "out of memory");
        c->error.outcome = VC_OUTCOME_NOT_EXECUTED;
    } else {
        vc__engine_catch_up(c->channel->engine, now);
        c->request.send->frame.method = (uint16_t)method;
        c->request.send->due = due;
        c->request.send->frame.deadline = vc__deadline_left(due, now);
        c->request.send->fresh = true;
        vc__session_start(session, &c->request);
        if (!vc__engine_wait(c->channel->engine, &c->waiter, due))
            call_expire(c, session, ms);
    }
    vc__pool_leave(pool);
    return c->error.status == VC_OK ? VC_OK : vc__error_raise(&c->error);
}

/* Field by field: clearing all of it, texts included, would cost as much as
 * packing a small message. */
static void
call_init(struct call *c, struct vc_channel *channel,
          const struct vc_method *method, const void *message)
{
    c->request.replied = call_replied;
    c->request.failed = call_failed;
    c->request.taken = false;
    memset(&c->send, 0, sizeof c->send);
    vc__waiter_init(&c->waiter);
    c->channel = channel;
    c->method = method;
    c->message = message;
    c->error.status = VC_OK;
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts, void **reply)
{
    struct call c;
    uint32_t ms = opts != NULL && opts->timeout_ms != 0 ? opts->timeout_ms
                                                        : channel->call_ms;
    enum vc_status status;

    call_init(&c, channel, &service->methods[method], request);
    status = call_prepare(&c);
    if (status != VC_OK)
        return status;
    status = call_run(&c, service, method, ms);
    long_release(&c);
    if (status == VC_OK)
        *reply = c.reply;
    return status;
}
