/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/channel.h. vc_channel_open() calls the static functions about
 * options, on its thread; an error is then that thread's last. */
#include "rpc/client/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/client/async.h"
#include "rpc/balance/target_list.h"
#include "rpc/codec/codec.h"
#include "rpc/interceptor.h"
#include "rpc/options.h"
#include "rpc/rdma_opts.h"
#include "rpc/runtime.h"
#include "transport/core/le.h"
#include "transport/core/random.h"

#define CONNECT_MS     2000u
#define CONNECT_MS_MAX 600000u
#define CALL_MS        10000u
#define IDLE_MS        60000u
#define MAX_LINKS      4u
#define LINKS_MAX      1024u
#define ATTEMPTS       3u
#define ATTEMPTS_MAX   100u
#define BACKOFF_MS     50u
#define BACKOFF_MS_MAX 60000u
/* The most servers to which a call goes on at once when it cannot be sent. */
#define MOVES 8u

/* --- options ----------------------------------------------------------- */

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_channel_opts, name, otherwise, min, max)
#define SIZE(name, otherwise, min, max)                                        \
    VC__OPTION_SIZE(vc_channel_opts, name, otherwise, min, max)
#define OR(name, otherwise, min, max, constant)                                \
    VC__OPTION(vc_channel_opts, name, otherwise, min, max, constant,           \
               #constant, VC__OPTION_NUMBER)

static const struct vc__option channel_numbers[] = {
    IN(connect_timeout_ms, CONNECT_MS, 1, CONNECT_MS_MAX),
    OR(call_timeout_ms, CALL_MS, 1, INT32_MAX, VC_NO_DEADLINE),
    SIZE(max_message, VC__MAX_MESSAGE, VC__MAX_MESSAGE_MIN,
         VC__MAX_MESSAGE_MAX),
    IN(min_links, 1, 1, LINKS_MAX),
    IN(max_links, 0, 1, LINKS_MAX),
    IN(idle_timeout_ms, IDLE_MS, 1, INT32_MAX),
    IN(weight, 1, 1, VC__WEIGHT_MAX),
    SIZE(quota, 0, 1, UINT32_MAX),
    OR(keepalive_ms, VC__KEEPALIVE_DEFAULT_MS, VC__KEEPALIVE_MIN_MS,
       VC__KEEPALIVE_MAX_MS, VC_KEEPALIVE_OFF),
    IN(max_attempts, ATTEMPTS, 1, ATTEMPTS_MAX),
    IN(retry_backoff_ms, BACKOFF_MS, 1, BACKOFF_MS_MAX),
};

static const struct vc__options channel_opts =
    VC__OPTIONS(vc_channel_opts, "VC_CHANNEL_OPTS_INIT or VC_CHANNEL_OPTS()",
                channel_numbers);

/* Copies, checks and completes the channel's own options. VC_INVALID_ARGUMENT
 * if one is not allowed. */
static enum vc_status
channel_opts_take(struct vc_channel_opts *out,
                  const struct vc_channel_opts *opts)
{
    enum vc_status status = vc__options_take(out, &channel_opts, opts);

    if (status != VC_OK)
        return status;
    if (out->max_links == 0)
        out->max_links =
            out->min_links > MAX_LINKS ? out->min_links : MAX_LINKS;
    if (out->keepalive_ms == VC_KEEPALIVE_OFF)
        out->keepalive_ms = 0;
    if (out->min_links <= out->max_links)
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_channel_opts.min_links: %u is more than max_links, "
                    "which is %u",
                    out->min_links, out->max_links);
}

/* Sets which transports the pool may use, for pool_opts(): for vc:// those of
 * the lists, else the target's one. VC_INVALID_ARGUMENT if a list is malformed
 * or the two do not fit, VC_FAILED_PRECONDITION if one is empty. */
static enum vc_status
choice_opts(struct vc__pool_opts *out, const struct vc_channel_opts *opts)
{
    const char *allowed = vc__choice_allowed();
    enum vc_status status;

    if (out->target.transport != NULL) {
        out->choice.n = 1;
        out->choice.best[0] = out->target.transport;
        return VC_OK;
    }
    status = vc__choice_make(&out->choice, "vc_channel_opts.transports",
                             opts->transports, allowed);
    if (status == VC_OK && opts->require != NULL)
        status = vc__choice_make(&out->require, "vc_channel_opts.require",
                                 opts->require, allowed);
    return status == VC_OK ? vc__choice_require(&out->choice, &out->require)
                           : status;
}

/* Reads the target, for pool_opts(); VC_INVALID_ARGUMENT if it leads nowhere.
 * Port 0 is for servers, which then get a free one. A name that stands for a
 * loopback address is detected when the channel connects. */
static enum vc_status
channel_target_take(struct vc__target *out, const char *text)
{
    enum vc_status status = vc__target_parse(out, text);
    struct vc__addrs addrs;

    if (status != VC_OK)
        return status;
    if (out->port[0] != '\0' && atoi(out->port) == 0)
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "target \"%.100s\": port 0 cannot be connected to: give a port in "
            "1..65535; vc_server_port() returns that of a server",
            text);
    if (out->transport == NULL || !vc__target_numeric(out, &addrs) ||
        addrs.n == 0)
        return VC_OK;
    return vc__target_reaches(out->transport, &addrs.addr[0], "connect to");
}

/* Fills in the pool's options from complete ones of the channel. Returns why
 * they are not allowed, or VC_OK. */
static enum vc_status
pool_opts(struct vc__pool_opts *out, const char *target,
          const struct vc_channel_opts *opts)
{
    enum vc_status status;

    memset(out, 0, sizeof *out);
    out->connect_ms = opts->connect_timeout_ms;
    out->idle_ms = opts->idle_timeout_ms;
    out->keepalive_ms = opts->keepalive_ms;
    out->min_links = opts->min_links;
    out->max_links = opts->max_links;
    out->log2_message = vc__log2_message(opts->max_message);
    out->source.ss_family = AF_UNSPEC;
    status = vc__rdma_opts_take(&out->wire, opts->rdma);
    if (status != VC_OK)
        return status;
    if (opts->bind_address != NULL) {
        status = vc__address_parse(&out->source, opts->bind_address);
        if (status != VC_OK)
            return vc__fail(status, "vc_channel_opts.bind_address: %s",
                            vc_error());
    }
    status = channel_target_take(&out->target, target);
    return status == VC_OK ? choice_opts(out, opts) : status;
}

/* --- opening and closing ----------------------------------------------- */

/* Gets subchannel i of the channel, for servers_open(). */
static enum vc_status
server_open(struct vc_channel *c, const char *target, unsigned i,
            const struct vc_channel_opts *opts)
{
    char text[VC__TARGET_LIST_TEXT];
    struct vc__pool_opts pool;
    enum vc_status status = vc__target_list_get(target, i, text);

    if (status == VC_OK)
        status = pool_opts(&pool, text, opts);
    if (status != VC_OK)
        return status;
    return vc__subchannel_open(&c->subs[i], &c->progress->pools, &pool)
               ? VC_OK
               : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* Frees the subchannels of a channel that was never used: the first n. */
static void
servers_close(struct vc_channel *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        vc__subchannel_leave(&c->subs[i], &c->progress->pools);
        vc__subchannel_close(&c->subs[i]);
        vc__subchannel_await(&c->subs[i]);
    }
    if (c->subs != &c->only)
        free(c->subs);
}

/* For vc_channel_open(): a subchannel for each server of the target. After an
 * error there is none. */
static enum vc_status
servers_open(struct vc_channel *c, const char *target,
             const struct vc_channel_opts *opts)
{
    enum vc_status status = vc__target_list_count(target, &c->n_subs);
    struct vc__error error;

    if (status != VC_OK)
        return status;
    c->subs = c->n_subs == 1 ? &c->only : calloc(c->n_subs, sizeof c->subs[0]);
    if (c->subs == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    for (unsigned i = 0; i < c->n_subs && status == VC_OK; i++) {
        status = server_open(c, target, i, opts);
        if (status != VC_OK) {
            error = *vc__error_last();
            servers_close(c, i); /* other tasks may fail meanwhile */
            vc__error_raise(&error);
        }
    }
    return status;
}

/* For vc_channel_open(): NULL if memory is short. It has no servers yet. */
static struct vc_channel *
channel_new(struct vc_runtime *runtime, const struct vc_channel_opts *opts)
{
    struct vc_channel *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    vc__handle_init(&c->handle, VC__CHANNEL);
    c->runtime = runtime;
    c->progress = vc__runtime_progress(runtime);
    c->call_ms = opts->call_timeout_ms;
    c->client_opts = (struct vc__client_opts){
        .weight = opts->weight,
        .quota = (uint32_t)opts->quota,
        .lock = &c->retry_waits.lock,
        .closing = &c->closing,
    };
    c->retry.max_attempts = opts->max_attempts;
    c->retry.backoff_ms = opts->retry_backoff_ms;
    c->reply_memory =
        vc__codec_memory((size_t)1 << vc__log2_message(opts->max_message));
    atomic_init(&c->chance, vc__get64(runtime->instance) ^
                                (uint64_t)atomic_load(&runtime->next) << 32);
    vc__retry_waits_init(&c->retry_waits);
    atomic_init(&c->users, 1);
    vc__waiter_init(&c->unused);
    atomic_init(&c->asyncs, 1);
    vc__waiter_init(&c->idle);
    return c;
}

/* Frees a channel that has no servers. */
static void
channel_free(struct vc_channel *c)
{
    vc__retry_waits_fini(&c->retry_waits);
    vc__handle_fini(&c->handle);
    free(c);
}

enum vc_status
vc_channel_open(struct vc_runtime *runtime, const char *target,
                const struct vc_channel_opts *user_opts,
                struct vc_channel **channel)
{
    struct vc_channel_opts opts;
    struct vc_channel *c;
    enum vc_status status;

    if (!vc__good(runtime, VC__RUNTIME))
        return vc__bad(runtime, VC__RUNTIME);
    status = channel_opts_take(&opts, user_opts);
    if (status != VC_OK)
        return status;
    c = channel_new(runtime, &opts);
    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = vc__policy_parse(&c->picker.policy, opts.policy);
    if (status == VC_OK)
        status = servers_open(c, target, &opts);
    if (status != VC_OK) {
        channel_free(c);
        return status;
    }
    atomic_fetch_add(&runtime->users, 1);
    *channel = c;
    return VC_OK;
}

/* True if one of several servers is connected. For servers_connect(). */
static bool
has_ready(const struct vc_channel *c)
{
    for (unsigned i = 0; c->n_subs > 1 && i < c->n_subs; i++) {
        if (vc__pool_health(c->subs[i].pool) == VC__POOL_READY)
            return true;
    }
    return false;
}

/* For vc_channel_connect(): connects to the first server that can be
 * reached. */
static enum vc_status
servers_connect(struct vc_channel *c, const struct vc_service *service)
{
    enum vc_status status = VC_OK;

    if (has_ready(c))
        return VC_OK;
    for (unsigned i = 0; i < c->n_subs; i++) {
        status = vc__pool_connect(c->subs[i].pool, service, c, &c->closing);
        if (status == VC_OK || status == VC_CANCELLED)
            break;
    }
    return status;
}

enum vc_status
vc_channel_connect(struct vc_channel *channel, const struct vc_service *service)
{
    enum vc_status status;

    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    vc__channel_enter(channel);
    status = servers_connect(channel, service);
    vc__channel_leave(channel);
    return status;
}

/* For vc_channel_describe(): a line that names server i, and those of its
 * pool. Returns their length, as snprintf(). */
static size_t
server_describe(const struct vc_channel *c, unsigned i, char *text, size_t size)
{
    struct vc__pool *pool = c->subs[i].pool;
    char target[VC__TARGET_TEXT];
    size_t len, used;

    vc__target_text(&pool->opts.target, target);
    len = (size_t)snprintf(text, size, "server %u of %u, %s: %s\n", i + 1,
                           c->n_subs, target, vc__pool_health_name(pool));
    used = len < size ? len : size;
    return len +
           vc__pool_describe(pool, size == 0 ? text : text + used, size - used);
}

size_t
vc_channel_describe(const struct vc_channel *channel, char *text, size_t size)
{
    size_t len = 0;

    vc__must(channel, VC__CHANNEL);
    if (channel->n_subs == 1)
        return vc__pool_describe(channel->only.pool, text, size);
    for (unsigned i = 0; i < channel->n_subs; i++) {
        size_t used = len < size ? len : size;

        len += server_describe(channel, i, size == 0 ? text : text + used,
                               size - used);
    }
    return len;
}

enum vc_status
vc_channel_close(struct vc_channel *channel)
{
    if (vc__nothing_to_free(channel, VC__CHANNEL))
        return VC_OK;
    /* Their done() cannot run here, or this runs within it. */
    if (vc__runtime_is_within(channel->runtime) &&
        atomic_load(&channel->asyncs) > 1)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "vc_channel_close() within a handler or done(), while "
                        "asynchronous calls or streams with callbacks of the "
                        "channel have not ended, would wait for itself: close "
                        "it elsewhere");
    /* Sequentially consistent, as the load in client_add() of subchannel.c:
     * either vc__subchannel_cancel() sees a client that is being added, or
     * client_add() sees `closing`. */
    atomic_store(&channel->closing, true);
    for (unsigned i = 0; i < channel->n_subs; i++)
        vc__subchannel_leave(&channel->subs[i], &channel->progress->pools);
    vc__retry_waits_break(&channel->retry_waits);
    for (unsigned i = 0; i < channel->n_subs; i++)
        vc__subchannel_cancel(&channel->subs[i], channel);
    vc__asyncs_await(channel);
    /* What the other users waited for has ended by now, so they leave at
     * once. */
    vc__channel_leave(channel);
    vc__waiter_await(&channel->unused);
    for (unsigned i = 0; i < channel->n_subs; i++)
        vc__subchannel_close(&channel->subs[i]);
    for (unsigned i = 0; i < channel->n_subs; i++)
        vc__subchannel_await(&channel->subs[i]);
    if (channel->subs != &channel->only)
        free(channel->subs);
    vc__interceptors_put(channel->interceptors);
    atomic_fetch_sub(&channel->runtime->users, 1);
    channel_free(channel);
    return VC_OK;
}

/* For vc__channel_pick(), if there is a choice. */
__attribute__((noinline)) static struct vc__subchannel *
subchannel_pick(struct vc_channel *c, const struct vc_service *service,
                const struct vc__pool *before, uint64_t now)
{
    /* Relaxed: the values must only differ. */
    uint64_t one = atomic_fetch_add_explicit(
        &c->chance, UINT64_C(0x9e3779b97f4a7c15), memory_order_relaxed);
    uint64_t other = ~one, high = vc__random(&one);
    const struct vc__pick pick = {
        .service = service,
        .before = before,
        .now = now,
        .seed = high << 32 | vc__random(&other),
    };

    return vc__picker_pick(&c->picker, c->subs, c->n_subs, &pick);
}

bool
vc__channel_elsewhere(const struct vc_channel *c, const struct vc__pool *before,
                      unsigned moved)
{
    return moved + 1 < c->n_subs && moved < MOVES &&
           vc__picker_elsewhere(c->subs, c->n_subs, before);
}

struct vc__client *
vc__channel_pick(struct vc_channel *c, const struct vc_service *service,
                 const struct vc__pool *before, uint64_t now)
{
    struct vc__subchannel *s = c->subs;

    if (c->n_subs > 1)
        s = subchannel_pick(c, service, before, now);
    return vc__subchannel_client(s, service, &c->client_opts);
}

uint32_t
vc__channel_request_max(const struct vc_channel *c)
{
    uint32_t max;

    if (c->n_subs > 1)
        return VC__MESSAGE_MAX;
    /* Relaxed: the limit of an earlier link does as little harm as none. */
    max = atomic_load_explicit(&c->subs->pool->peer_message_max,
                               memory_order_relaxed);
    return max != 0 && max < VC__MESSAGE_MAX ? max : VC__MESSAGE_MAX;
}

void
vc__channel_count(struct vc_channel *c, enum vc__pool_count which)
{
    vc__pool_count_one(c->subs->pool, which);
}

bool
vc__channel_was_used(const struct vc_channel *c)
{
    bool used = false;

    for (unsigned i = 0; i < c->n_subs; i++)
        used |= atomic_load(&c->subs[i].first_used);
    return used;
}
