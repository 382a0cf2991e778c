/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The service config that is in force in a channel, and what it says of a call.
 * A call copies that when it begins, so a change is for calls that begin
 * afterwards. Readers are protected by RCU; the entry of a method is found once
 * for each service. Any thread, unless a comment says otherwise.
 *
 * Called by: call.c (channel_is_configured, config_opts_take), method_config.c
 * (channel_is_configured), async.c (channel_opts_take), channel_intercept.c
 * (channel_opts_take), stream_open.c (channel_opts_take), channel_config.c
 * (new, replace), channel.c (hash_metadata). */
#ifndef VC_RPC_METHOD_CONFIG_H
#define VC_RPC_METHOD_CONFIG_H

#include "rpc/client/call_opts.h"
#include "rpc/client/channel.h"

struct vc__service_config;

/* What a call takes along of its method's entry. */
struct vc__call_policy {
    struct vc__retry_policy retry;
    uint32_t request_max, reply_max; /* 0: no limit */
    /* Its hedge is that of the config: an attempt that fails with none of
     * retry.codes ends the call. */
    bool hedges;
};

/* True if the channel has a service config. */
static inline bool
vc__channel_is_configured(const struct vc_channel *channel)
{
    /* Relaxed: a config that is set at this moment may also be for the next
     * call; vc__config_opts_take() reads it again. */
    return atomic_load_explicit(&channel->config, memory_order_relaxed) != NULL;
}

/* vc__channel_opts_take() of a channel with a service config; returns the
 * same. */
enum vc_status vc__config_opts_take(struct vc_call_opts *out,
                                    const struct vc_call_opts *opts,
                                    struct vc_channel *channel,
                                    const struct vc_service *service,
                                    unsigned method,
                                    struct vc__call_policy *room,
                                    const struct vc__call_policy **policy);

/* Copies, checks and completes the options of a call or a stream, as
 * vc__call_opts_take(): what they leave open is as the service config says,
 * else as method and channel say. *policy becomes `room`, filled, if the config
 * has an entry for the method; else it stays as it is: the caller has set it to
 * NULL. room: NULL takes only what struct vc_call_opts can have, and no hedge;
 * so this can be done again for the same call. On the thread that makes the
 * call or the stream.
 * VC_INVALID_ARGUMENT  an option is not allowed */
static inline enum vc_status
vc__channel_opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts,
                      struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      struct vc__call_policy *room,
                      const struct vc__call_policy **policy)
{
    if (vc__channel_is_configured(channel))
        return vc__config_opts_take(out, opts, channel, service, method, room,
                                    policy);
    return vc__call_opts_take(
        out, opts, vc__channel_call_ms(channel, &service->methods[method]));
}

/* Makes a config that calls can read, which owns what the module has read. NULL
 * if memory is short: then the caller still owns that. */
struct vc__config *vc__method_config_new(struct vc__service_config *parsed);

/* From now on this config is in force, NULL: none, also for the budget of
 * retries. The channel owns it; waits until no call reads the former, and frees
 * that. For one thread at a time, and none that holds a lock which calls take.
 * Called when a config is taken or ends, and when the channel is freed. */
void vc__method_config_replace(struct vc_channel *channel,
                               struct vc__config *config);

/* True if a config is in force that names metadata by which ring_hash chooses a
 * server: the name is then in `name`, of VC__SERVICE_CONFIG_KEY bytes. Else
 * false. Called by vc__channel_hash(). */
bool vc__method_config_hash_metadata(const struct vc_channel *channel,
                                     char *name);

#endif
