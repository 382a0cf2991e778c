/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How the options of a channel become those of the pools of its servers. take()
 * and choose() run on the thread of vc_channel_open(). So does fill() for
 * servers of a fixed target; for those of a resolver it runs on the thread that
 * calls vc_resolver_set(), which may be any, one at a time for each channel.
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
 * Returns VC_OK; or VC_INVALID_ARGUMENT, as this thread's last error, if an
 * option is malformed. Called by vc_channel_open(). */
enum vc_status vc__target_opts_take(struct vc__target_opts *o,
                                    const struct vc_channel_opts *opts);

/* Reads the options transports and require, which are not used afterwards.
 * Called before a resolver is opened, as its servers come later; for a fixed
 * target by vc__target_opts_fill(), at the first vc:// target. Returns VC_OK;
 * or, as this thread's last error, VC_INVALID_ARGUMENT if one of them, or
 * VERBCALL_TRANSPORTS, is malformed or the two do not fit, or
 * VC_FAILED_PRECONDITION if VERBCALL_TRANSPORTS allows nothing of one. */
enum vc_status vc__target_opts_choose(struct vc__target_opts *o);

/* Returns the options of the pool of this target in *out, which may refer to
 * the text of the target, and VC_OK; or, as this thread's last error,
 * VC_INVALID_ARGUMENT if an address of the target is malformed, has port 0, or
 * is a loopback address that its transport does not reach (RDMA's), or an error
 * of vc__target_opts_choose(). Called when a server is to be made. */
enum vc_status vc__target_opts_fill(struct vc__target_opts *o,
                                    struct vc__pool_opts *out,
                                    const char *target);

#endif
