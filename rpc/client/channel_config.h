/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the service config of a channel comes from: the text of its option, a
 * file that is watched, or its resolver, which counts before the option. A
 * config that is refused changes nothing. See doc/service-config.md. The
 * functions here: the thread that opens, closes or describes the channel.
 *
 * Called by: channel.c (all), channel_config.c (shut). */
#ifndef VC_RPC_CHANNEL_CONFIG_H
#define VC_RPC_CHANNEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include <verbcall/status.h>

struct vc_channel;
struct vc__outlier_policy;

/* Takes the option service_config, if there is one: sets c->settings, and puts
 * the config in force, with its policy and outliers. Called by
 * vc_channel_open(), before the channel has servers. VC_OK also if it is NULL.
 * After an error vc__channel_config_close() must follow, too.
 * VC_INVALID_ARGUMENT    it is malformed, or its file cannot be read
 * VC_UNIMPLEMENTED       there is no module to read it
 * VC_RESOURCE_EXHAUSTED  no memory */
enum vc_status vc__channel_config_open(struct vc_channel *c, const char *target,
                                       const char *option,
                                       struct vc__outlier_policy *outlier);
/* Called by vc_channel_open() last, when the servers are open: uses what the
 * config says of load reports, and watches the file of the option, if that is
 * one. */
void vc__channel_config_start(struct vc_channel *c);
/* True if the policy may change while a list: is the target: the option names a
 * file. Called by vc_channel_open(). */
bool vc__channel_config_changes(const struct vc_channel *c);

/* For vc_channel_close(), in this order; and close for a vc_channel_open() that
 * fails. Shut: the channel has no resolver any more, and its file is closed, so
 * no config is taken. Close, when no call uses the channel: frees what there is
 * of it. */
void vc__channel_config_shut(struct vc_channel *c);
void vc__channel_config_close(struct vc_channel *c);

/* For vc_channel_describe(): lines about the config in force, and the last that
 * was refused. Returns their length, as snprintf(). */
size_t vc__channel_config_describe(const struct vc_channel *c, char *text,
                                   size_t size);

#endif
