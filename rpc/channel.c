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

#include "cm/client.h"
#include "cm/pool.h"
#include "rpc/codec.h"
#include "rpc/runtime.h"

#define CONNECT_MS     2000u
#define CONNECT_MS_MAX 600000u
#define CALL_MS        10000u
#define IDLE_MS        60000u
#define MAX_LINKS      4u
#define LINKS_MAX      1024u

struct vc_channel {
    struct vc_runtime *runtime;
    struct vc__progress *progress;
    struct vc__pool *pool;
    uint32_t call_ms;
    uint32_t weight, quota;
    size_t reply_memory;

    /* One for each service that it was used for, the last one first. */
    _Atomic(struct vc__client *) clients;
    atomic_bool first_used;
    struct vc__client first; /* needs no allocation */
    atomic_bool closing;     /* further ones are closed at once */

    /* Calls and connects under way, and the owner: none of them may be left
     * when it is freed. `unused` is done by the last. */
    atomic_uint users;
    struct vc__waiter unused;
};

/* --- options ----------------------------------------------------------- */

static enum vc_status
opts_check(const struct vc_channel_opts *opts)
{
    if (opts->connect_timeout_ms > CONNECT_MS_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "connect_timeout_ms: %u is not in 1..%u",
                        opts->connect_timeout_ms, CONNECT_MS_MAX);
    if (opts->keepalive_ms != 0 && (opts->keepalive_ms < VC__KEEPALIVE_MIN_MS ||
                                    opts->keepalive_ms > VC__KEEPALIVE_MAX_MS))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "keepalive_ms: %u is not in %u..%u", opts->keepalive_ms,
                        VC__KEEPALIVE_MIN_MS, VC__KEEPALIVE_MAX_MS);
    if (vc__log2_message(opts->max_message) == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "max_message: %zu is not in 4 KiB..1 GiB",
                        opts->max_message);
    if (opts->max_links > LINKS_MAX || opts->min_links > opts->max_links)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "min_links, max_links: %u, %u: not 1..%u in order",
                        opts->min_links, opts->max_links, LINKS_MAX);
    if (opts->weight > VC__WEIGHT_MAX)
        return vc__fail(VC_INVALID_ARGUMENT, "weight: %u is not in 1..%u",
                        opts->weight, VC__WEIGHT_MAX);
    if (opts->quota > UINT32_MAX)
        return vc__fail(VC_INVALID_ARGUMENT, "quota: %zu is not below 4 GiB",
                        opts->quota);
    return VC_OK;
}

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
    if (out->idle_timeout_ms == 0)
        out->idle_timeout_ms = IDLE_MS;
    if (out->min_links == 0)
        out->min_links = 1;
    if (out->max_links == 0)
        out->max_links =
            out->min_links > MAX_LINKS ? out->min_links : MAX_LINKS;
    if (out->weight == 0)
        out->weight = 1;
    if (out->keepalive_ms == 0)
        out->keepalive_ms = VC__KEEPALIVE_DEFAULT_MS;
    else if (out->keepalive_ms == VC_KEEPALIVE_OFF)
        out->keepalive_ms = 0;
    return opts_check(out);
}

static enum vc_status
pool_opts(struct vc__pool_opts *out, const char *target,
          const struct vc_channel_opts *opts)
{
    memset(out, 0, sizeof *out);
    out->connect_ms = opts->connect_timeout_ms;
    out->idle_ms = opts->idle_timeout_ms;
    out->keepalive_ms = opts->keepalive_ms;
    out->min_links = opts->min_links;
    out->max_links = opts->max_links;
    out->log2_message = vc__log2_message(opts->max_message);
    out->source.ss_family = AF_UNSPEC;
    if (opts->bind_address != NULL) {
        enum vc_status status =
            vc__address_parse(&out->source, opts->bind_address);

        if (status != VC_OK)
            return status;
    }
    return vc__target_parse(&out->target, target);
}

/* --- opening and closing ----------------------------------------------- */

enum vc_status
vc_channel_open(struct vc_runtime *runtime, const char *target,
                const struct vc_channel_opts *user_opts,
                struct vc_channel **channel)
{
    struct vc_channel_opts opts;
    struct vc__pool_opts pool;
    struct vc_channel *c;
    enum vc_status status = opts_take(&opts, user_opts);

    if (status == VC_OK)
        status = pool_opts(&pool, target, &opts);
    if (status != VC_OK)
        return status;
    c = calloc(1, sizeof *c);
    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    c->runtime = runtime;
    c->progress = vc__runtime_progress(runtime);
    c->call_ms = opts.call_timeout_ms;
    c->weight = opts.weight;
    c->quota = (uint32_t)opts.quota;
    c->reply_memory = vc__codec_memory((size_t)1 << pool.log2_message);
    atomic_init(&c->users, 1);
    vc__waiter_init(&c->unused);
    c->pool = vc__pools_get(&c->progress->pools, &pool);
    if (c->pool == NULL) {
        free(c);
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    *channel = c;
    return VC_OK;
}

/* Whoever uses the pool does so between these two. */
static void
channel_enter(struct vc_channel *c)
{
    /* Relaxed: nobody enters a channel that may be freed already. */
    atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
}

static void
channel_leave(struct vc_channel *c)
{
    /* Release, so that the channel is freed after all that its users did, and
     * acquire for the last of them, who says so. */
    if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&c->unused);
}

enum vc_status
vc_channel_connect(struct vc_channel *channel, const struct vc_service *service)
{
    enum vc_status status;

    channel_enter(channel);
    status = vc__pool_connect(channel->pool, service, channel);
    channel_leave(channel);
    return status;
}

static struct vc__client *
first_client(struct vc_channel *c)
{
    /* Acquire: pairs with the exchange in client_add(). */
    return atomic_load_explicit(&c->clients, memory_order_acquire);
}

void
vc_channel_close(struct vc_channel *channel)
{
    struct vc__client *cl, *next;
    bool last;

    if (channel == NULL)
        return;
    /* Sequentially consistent, as its counterpart in client_add(): a client
     * that is added this moment is seen here, or sees this. */
    atomic_store(&channel->closing, true);
    last = vc__pools_leave(&channel->progress->pools, channel->pool);
    for (cl = atomic_load(&channel->clients); cl != NULL; cl = cl->next)
        vc__client_close(cl);
    vc__pool_cancel(channel->pool, channel);
    /* What they waited for has ended by now, so they leave at once. */
    channel_leave(channel);
    vc__waiter_await(&channel->unused);
    for (cl = first_client(channel); cl != NULL; cl = next) {
        next = cl->next;
        if (cl != &channel->first)
            free(cl);
    }
    if (last)
        vc__pools_end(channel->pool);
    free(channel);
}

static struct vc__client *
client_find(struct vc__client *from, const struct vc_service *service)
{
    while (from != NULL && from->service != service)
        from = from->next;
    return from;
}

/* Two threads may add one for the same service: both are good. */
static struct vc__client *
client_add(struct vc_channel *c, const struct vc_service *service)
{
    struct vc__client *cl =
        atomic_exchange(&c->first_used, true) ? malloc(sizeof *cl) : &c->first;

    if (cl == NULL)
        return NULL;
    vc__client_init(cl, c->pool, service, c->weight, c->quota);
    cl->next = first_client(c);
    while (!atomic_compare_exchange_weak(&c->clients, &cl->next, cl))
        continue;
    if (atomic_load(&c->closing))
        vc__client_close(cl);
    return cl;
}

/* Of this service, made at its first use; NULL without memory. */
static struct vc__client *
client_of(struct vc_channel *c, const struct vc_service *service)
{
    struct vc__client *cl = client_find(first_client(c), service);

    return cl != NULL ? cl : client_add(c, service);
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
long_put(struct long_send *l)
{
    if (atomic_fetch_sub(&l->holders, 1) == 1)
        free(l);
}

static void
long_hold(struct vc__send *send)
{
    atomic_fetch_add(&caa_container_of(send, struct long_send, send)->holders,
                     1);
}

static void
long_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    long_put(caa_container_of(send, struct long_send, send));
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
call_expire(struct call *c, struct vc__client *client, uint32_t ms)
{
    const struct vc__target *target = &c->channel->pool->opts.target;
    enum vc_outcome outcome = VC_OUTCOME_UNKNOWN;

    if (!vc__client_abandon(client, &c->request, &outcome)) {
        /* Its end is being written this moment. */
        vc__engine_wait(&c->channel->progress->engine, &c->waiter, VC__FOREVER);
        return;
    }
    vc__error_put(&c->error, VC_DEADLINE_EXCEEDED,
                  "%s has not been answered within %u ms by %s:%s",
                  c->method->name, ms, target->host, target->port);
    c->error.outcome = outcome;
}

static struct long_send *
long_new(const struct call *c, size_t size)
{
    struct long_send *l = malloc(sizeof *l + size);

    if (l == NULL)
        return NULL;
    memset(&l->send, 0, sizeof l->send);
    atomic_init(&l->holders, 1);
    vc__codec_pack(&c->method->request, &c->packing, c->message, l->body);
    l->send.body = l->body;
    l->send.hold = long_hold;
    l->send.done = long_done;
    return l;
}

static void
long_release(struct call *c)
{
    if (c->request.send != &c->send)
        long_put(caa_container_of(c->request.send, struct long_send, send));
}

/* Where the request's bytes come from. */
static enum vc_status
call_prepare(struct call *c)
{
    size_t size;
    /* Relaxed: the limit of a former link is as good as none, for the server
     * checks for itself. */
    uint32_t max = atomic_load_explicit(&c->channel->pool->peer_message_max,
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
    struct vc__engine *engine = &c->channel->progress->engine;
    struct vc__client *client;
    uint64_t now = vc__now();
    uint64_t due = ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(now, ms);

    channel_enter(c->channel);
    client = client_of(c->channel, service);
    if (client == NULL) {
        vc__error_put(&c->error, VC_RESOURCE_EXHAUSTED, "out of memory");
        c->error.outcome = VC_OUTCOME_NOT_EXECUTED;
    } else {
        vc__engine_catch_up(engine, now);
        c->request.send->frame.method = (uint16_t)method;
        c->request.send->due = due;
        c->request.send->frame.deadline = vc__deadline_left(due, now);
        c->request.send->fresh = true;
        vc__client_start(client, &c->request);
        if (!vc__engine_wait(engine, &c->waiter, due))
            call_expire(c, client, ms);
    }
    channel_leave(c->channel);
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
