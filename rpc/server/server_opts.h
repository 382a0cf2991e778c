/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of a server: an option that is not given has its default, and
 * each must be in its range. Any thread.
 *
 * Called by: server.c (take). */
#ifndef VC_RPC_SERVER_OPTS_H
#define VC_RPC_SERVER_OPTS_H

#include <verbcall/server.h>

/* Called by vc_server_new(). Fills in *out. opts may be NULL, or come from a
 * program that knows fewer options.
 * VC_INVALID_ARGUMENT: an option is out of its range, and *out is not valid;
 * the text says which. */
enum vc_status vc__server_opts_take(struct vc_server_opts *out,
                                    const struct vc_server_opts *opts);

#endif
