/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How the options of a channel become those of the pools of its servers. On the
 * thread that opens the channel, or that gets servers from a resolver.
 *
 * Called by: rpc/client/channel.c (take), changes.c (choose, fill),
 * target_opts.c (choose), servers.c (fill). */
#ifndef VC_RPC_TARGET_OPTS_H
#define VC_RPC_TARGET_OPTS_H

#include <verbcall/channel.h>

#include "cm/pool/pool.h"

struct vc__target_opts {
    struct vc__pool_opts pool; /* without a target */
    bool chosen; /* it has the choice of transports for vc:// targets */
    /* The channel's options, valid while it is opened. */
    const char *transports, *require;
};

/* Takes what all servers have in common from complete options of the channel.
 * VC_INVALID_ARGUMENT if an option is malformed. Called by
 * vc_channel_open(). */
enum vc_status vc__target_opts_take(struct vc__target_opts *o,
                                    const struct vc_channel_opts *opts);

/* Reads the options transports and require, before they are needed: they are
 * not used any more afterwards. VC_INVALID_ARGUMENT if one is malformed or the
 * two do not fit, VC_FAILED_PRECONDITION if nothing is left of one. */
enum vc_status vc__target_opts_choose(struct vc__target_opts *o);

/* The options of the pool of this target, in *out, which may refer to the text
 * of the target. VC_INVALID_ARGUMENT if the target leads nowhere, and errors of
 * vc__target_opts_choose(). */
enum vc_status vc__target_opts_fill(struct vc__target_opts *o,
                                    struct vc__pool_opts *out,
                                    const char *target);

#endif
