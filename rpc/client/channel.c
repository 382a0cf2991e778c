/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/channel.h. vc_channel_open() calls the static functions about
 * options, on its thread; an error is then that thread's last. */
#include "rpc/client/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/balance/changes.h"
#include "rpc/balance/custom.h"
#include "rpc/balance/ejections.h"
#include "rpc/balance/health_rules.h"
#include "rpc/balance/list_resolver.h"
#include "rpc/balance/load_opts.h"
#include "rpc/balance/loads.h"
#include "rpc/balance/outlier_opts.h"
#include "rpc/balance/resolver.h"
#include "rpc/balance/target_opts.h"
#include "rpc/client/async.h"
#include "rpc/client/channel_config.h"
#include "rpc/client/method_config.h"
#include "rpc/client/pick_facts.h"
#include "rpc/client/publisher.h"
#include "rpc/client/service_config.h"
#include "rpc/codec/codec.h"
#include "rpc/interceptor.h"
#include "rpc/options.h"
#include "rpc/runtime.h"
#include "transport/core/le.h"
#include "transport/core/random.h"
#include "transport/wire/metadata.h"

#define CONNECT_MS     2000u
#define CONNECT_MS_MAX 600000u
#define CALL_MS        10000u
#define IDLE_MS        60000u
#define MAX_LINKS      4u
#define LINKS_MAX      1024u
#define ATTEMPTS       3u
#define BACKOFF_MS     50u
#define BACKOFF_MS_MAX 60000u

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
    IN(max_attempts, ATTEMPTS, 1, VC__RETRY_ATTEMPTS_MAX),
    IN(retry_backoff_ms, BACKOFF_MS, 1, BACKOFF_MS_MAX),
    IN(connect_delay_ms, VC__DIAL_HEAD_START_MS, VC__DIAL_HEAD_START_MS_MIN,
       VC__DIAL_HEAD_START_MS_MAX),
};

static const struct vc__options channel_opts =
    VC__OPTIONS(vc_channel_opts, "VC_CHANNEL_OPTS_INIT or VC_CHANNEL_OPTS()",
                channel_numbers);

/* For vc_channel_open(): copies its options, and checks and completes the
 * numbers among them. VC_INVALID_ARGUMENT if one is not allowed. */
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

/* --- opening and closing ----------------------------------------------- */

/* Copies a text of the options, or NULL, for balance_opts_take(). False if
 * memory is short. */
static bool
option_text_copy(char **out, const char *text)
{
    *out = text == NULL ? NULL : strdup(text);
    return text == NULL || *out != NULL;
}

/* Checks the option hash_metadata, for balance_opts_take(): a call has no key
 * that does not fit. "" is as good as NULL. */
static enum vc_status
hash_metadata_check(const char *key)
{
    if (key == NULL || key[0] == '\0' ||
        vc__metadata_key_fits(key, strnlen(key, VC__METADATA_KEY_MAX + 1)))
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_channel_opts.hash_metadata: %.60s: it must be a key of "
                    "metadata: 1 to %u of a-z, 0-9, '_', '-' and '.'",
                    key, VC__METADATA_KEY_MAX);
}

/* What judges the servers of a channel. */
struct judges {
    struct vc__outlier_policy outlier;
    struct vc__load_rules load;
};

/* For vc_channel_open(): takes the options about several servers.
 * VC_INVALID_ARGUMENT if one is not allowed, VC_RESOURCE_EXHAUSTED without
 * memory. */
static enum vc_status
balance_opts_take(struct vc_channel *c, const struct vc_channel_opts *opts,
                  struct judges *judges)
{
    enum vc_status status =
        vc__custom_choose(&c->servers.picker, opts->policy, vc__pick_facts_of);

    if (status == VC_OK)
        status = vc__outlier_opts_take(&judges->outlier, opts->outlier);
    if (status == VC_OK)
        status = vc__load_opts_take(&judges->load, opts->load);
    if (status == VC_OK && opts->health_service != NULL)
        status = vc__health_name_check(opts->health_service);
    if (status == VC_OK)
        status = hash_metadata_check(opts->hash_metadata);
    if (status != VC_OK)
        return status;
    return option_text_copy(&c->servers.health_service, opts->health_service) &&
                   option_text_copy(&c->servers.label, opts->label) &&
                   option_text_copy(&c->hash_metadata, opts->hash_metadata)
               ? VC_OK
               : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* For vc_channel_open(): opens the servers of the target, or its resolver, or
 * joins its multicast group. After an error nothing of them is open. */
static enum vc_status
servers_open(struct vc_channel *c, const char *target,
             const struct vc_channel_opts *opts,
             const struct vc__load_rules *load)
{
    struct vc__servers *sv = &c->servers;
    const struct vc_resolver_type *type;
    struct vc__target_opts common;
    enum vc_status status;

    if (vc__publisher_names(target))
        return vc__publisher_open(c, target, opts);
    status = vc__target_opts_take(&common, opts);
    if (status == VC_OK)
        status = vc__resolver_type_find(&type, target);
    if (status != VC_OK)
        return status;
    if (type == NULL && vc__channel_config_changes(c) &&
        strncmp(target == NULL ? "" : target, "list:", 5) == 0)
        type = &vc__list_resolver;
    if (type != NULL && !vc__loads_begin(sv, load, true))
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = type == NULL
                 ? vc__servers_open(sv, c->progress, target, &common)
                 : vc__changes_open(sv, c->progress, type, target, &common);
    if (status != VC_OK && sv->loads != NULL)
        vc__loads_stop(sv->loads);
    if (status == VC_OK && sv->picker.custom != NULL)
        status = vc__servers_place(sv, &common);
    return status;
}

/* For vc_channel_open(), when the servers are open: begins what judges them.
 * False if memory is short. */
static bool
judges_begin(struct vc_channel *c, const struct judges *judges)
{
    struct vc__servers *sv = &c->servers;

    if (c->publisher != NULL)
        return true;
    return vc__ejections_begin(sv, &judges->outlier) &&
           (sv->changes != NULL || sv->only != NULL ||
            vc__loads_begin(sv, &judges->load, false));
}

/* For vc_channel_open(): makes the channel, which has no servers yet. NULL if
 * memory is short. */
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
        .used = &c->servers.used,
    };
    c->retry = (struct vc__retry_policy)VC__RETRY_POLICY(
        opts->max_attempts, opts->retry_backoff_ms);
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

/* For vc_channel_close(), and vc_channel_open() when it fails: frees a channel
 * that has no servers any more, or none yet. */
static void
channel_free(struct vc_channel *c)
{
    vc__channel_config_close(c);
    vc__retry_waits_fini(&c->retry_waits);
    vc__handle_fini(&c->handle);
    free(c->hash_metadata);
    free(c->servers.label);
    vc__custom_free(c->servers.picker.custom);
    vc__loads_free(c->servers.loads);
    free(c->servers.health_service);
    free(c);
}

enum vc_status
vc_channel_open(struct vc_runtime *runtime, const char *target,
                const struct vc_channel_opts *user_opts,
                struct vc_channel **channel)
{
    struct vc_channel_opts opts;
    struct judges judges;
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
    status = balance_opts_take(c, &opts, &judges);
    if (status == VC_OK)
        status = vc__channel_config_open(c, target, opts.service_config,
                                         &judges.outlier);
    if (status == VC_OK)
        status = servers_open(c, target, &opts, &judges.load);
    if (status == VC_OK && !judges_begin(c, &judges)) {
        vc__servers_shut(&c->servers);
        vc__servers_close(&c->servers);
        status = vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    if (status != VC_OK) {
        vc__interceptors_put(c->interceptors);
        channel_free(c);
        return status;
    }
    vc__channel_config_start(c);
    atomic_fetch_add(&runtime->users, 1);
    *channel = c;
    return VC_OK;
}

enum vc_status
vc_channel_connect(struct vc_channel *channel, const struct vc_service *service)
{
    enum vc_status status;

    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    vc__channel_enter(channel);
    status = channel->publisher != NULL
                 ? vc__publisher_up(channel->publisher)
                 : vc__servers_connect(&channel->servers, service, channel,
                                       &channel->closing);
    vc__channel_leave(channel);
    return status;
}

size_t
vc_channel_describe(const struct vc_channel *channel, char *text, size_t size)
{
    size_t len, used;

    vc__must(channel, VC__CHANNEL);
    if (channel->publisher != NULL)
        return vc__publisher_describe(channel->publisher, text, size);
    len = vc__servers_describe(&channel->servers, text, size);
    used = len < size ? len : size;
    return len + vc__channel_config_describe(
                     channel, size == 0 ? text : text + used, size - used);
}

/* For vc_channel_close(): ends what goes on in the channel of servers, so that
 * all of its users leave. */
static void
servers_break(struct vc_channel *channel)
{
    vc__servers_shut(&channel->servers);
    vc__channel_config_shut(channel);
    vc__retry_waits_break(&channel->retry_waits);
    vc__servers_cancel(&channel->servers, channel);
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
    if (channel->publisher == NULL)
        servers_break(channel);
    vc__asyncs_await(channel);
    /* What the other users waited for has ended by now, so they leave at
     * once. */
    vc__channel_leave(channel);
    vc__waiter_await(&channel->unused);
    if (channel->publisher != NULL)
        vc__publisher_close(channel->publisher);
    else
        vc__servers_close(&channel->servers);
    vc__interceptors_put(channel->interceptors);
    atomic_fetch_sub(&channel->runtime->users, 1);
    channel_free(channel);
    return VC_OK;
}

/* For subchannel_pick(): 64 random bits. Any thread that starts an attempt. */
static uint64_t
channel_random(struct vc_channel *c)
{
    /* Relaxed: the values must only differ. */
    uint64_t one = atomic_fetch_add_explicit(
        &c->chance, UINT64_C(0x9e3779b97f4a7c15), memory_order_relaxed);
    uint64_t other = ~one, high = vc__random(&one);

    return high << 32 | vc__random(&other);
}

/* For vc__channel_pick(), unless the target is one fixed server: returns as
 * vc__servers_pick(). Any thread that starts an attempt. */
static struct vc__subchannel *
subchannel_pick(struct vc_channel *c, const struct vc_service *service,
                const struct vc__pool *before, uint64_t now,
                struct vc__pick_key *key, struct vc__subchannel **held)
{
    enum vc__policy policy =
        atomic_load_explicit(&c->servers.picker.policy, memory_order_relaxed);
    bool draws = policy == VC__POLICY_LEAST_REQUEST ||
                 policy == VC__POLICY_WEIGHTED_ROUND_ROBIN ||
                 (policy == VC__POLICY_RING_HASH && !key->hashed);
    uint64_t seed = draws ? channel_random(c) : now;
    const struct vc__pick pick = {
        .service = service,
        .before = before,
        .now = now,
        .seed = seed,
        .key = key,
    };

    return vc__servers_pick(&c->servers, &pick, held);
}

bool
vc__channel_hash(const struct vc_channel *c, const struct vc_metadata *metadata,
                 size_t n, uint64_t *hash)
{
    char room[VC__SERVICE_CONFIG_KEY];
    const char *key =
        vc__method_config_hash_metadata(c, room) ? room : c->hash_metadata;

    for (size_t i = 0; key != NULL && i < n; i++) {
        if (strcmp(metadata[i].key, key) != 0)
            continue;
        *hash = vc__ring_hash(metadata[i].value, metadata[i].length);
        return true;
    }
    return false;
}

bool
vc__channel_elsewhere(struct vc_channel *c, const struct vc__pool *before,
                      unsigned moved)
{
    return vc__servers_elsewhere(&c->servers, before, moved);
}

struct vc__client *
vc__channel_client_of(struct vc_channel *c, struct vc__subchannel *s,
                      const struct vc_service *service,
                      struct vc__subchannel **held)
{
    struct vc__client *client =
        vc__subchannel_client(s, service, &c->client_opts);

    if (client == NULL && *held != NULL) {
        vc__subchannel_put(*held);
        *held = NULL;
    }
    return client;
}

struct vc__client *
vc__channel_pick(struct vc_channel *c, const struct vc_service *service,
                 const struct vc__pool *before, uint64_t now,
                 struct vc__pick_key *key, struct vc__subchannel **held)
{
    struct vc__subchannel *s = c->servers.only;

    *held = NULL;
    if (s == NULL)
        s = subchannel_pick(c, service, before, now, key, held);
    return vc__channel_client_of(c, s, service, held);
}

uint32_t
vc__channel_request_max(const struct vc_channel *c)
{
    uint32_t max;

    if (c->servers.only == NULL)
        return VC__MESSAGE_MAX;
    /* Relaxed: the limit of an earlier link does as little harm as none. */
    max = atomic_load_explicit(&c->servers.only->pool->peer_message_max,
                               memory_order_relaxed);
    return max != 0 && max < VC__MESSAGE_MAX ? max : VC__MESSAGE_MAX;
}

void
vc__channel_count(struct vc_channel *c, enum vc__pool_count which)
{
    vc__servers_count(&c->servers, which);
}

bool
vc__channel_was_used(const struct vc_channel *c)
{
    return atomic_load(&c->servers.used);
}

void
vc__channel_lost(struct vc_channel *c, uint64_t now)
{
    if (c->servers.changes != NULL)
        vc__changes_again(c->servers.changes, now);
}
