/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks the public options of outlier detection (verbcall/outlier.h) and
 * converts them to a policy. Any thread.
 *
 * Called by: rpc/client/channel.c (take), rpc/client/channel_config.c (take).
 */
#ifndef VC_RPC_OUTLIER_OPTS_H
#define VC_RPC_OUTLIER_OPTS_H

#include <verbcall/outlier.h>
#include <verbcall/status.h>

#include "rpc/balance/outlier.h"

/* Called by vc_channel_open(), on its thread, for its option, and that of the
 * service config. If opts is NULL, both methods of *out are off. Returns VC_OK;
 * or an error, as this thread's last: then *out is as before.
 * VC_INVALID_ARGUMENT  an option is out of its range, or the size is not set */
enum vc_status vc__outlier_opts_take(struct vc__outlier_policy *out,
                                     const struct vc_outlier_opts *opts);

#endif
