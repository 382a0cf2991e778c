/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks the public options about load reports (verbcall/load.h) and converts
 * them to rules. Any thread.
 *
 * Called by: rpc/client/channel.c (take), load_opts.c (over), loads.c (over).
 */
#ifndef VC_RPC_LOAD_OPTS_H
#define VC_RPC_LOAD_OPTS_H

#include <verbcall/load.h>
#include <verbcall/status.h>

#include "rpc/balance/load_weight.h"

/* Called inside vc_channel_open(), on its thread. opts may be NULL: all
 * defaults. VC_OK: *out is set.
 * VC_INVALID_ARGUMENT  an option is out of its range, or the size is not set */
enum vc_status vc__load_opts_take(struct vc__load_rules *out,
                                  const struct vc_load_opts *opts);

/* Replaces the rules, but for `ignore`, for which an option is given, that is
 * not 0. The options are within their ranges. For vc__load_opts_take(), and for
 * vc__loads_follow(), on any thread. */
void vc__load_opts_over(struct vc__load_rules *rules,
                        const struct vc_load_opts *opts);

#endif
