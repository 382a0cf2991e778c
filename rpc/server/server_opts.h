/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of a server: those that are not given have their defaults, and
 * each must be in its range. */
#ifndef VC_RPC_SERVER_OPTS_H
#define VC_RPC_SERVER_OPTS_H

#include <verbcall/server.h>

/* opts may be NULL, and that of a program which knows fewer options.
 * VC_INVALID_ARGUMENT: one is out of its range, and the text says which. */
enum vc_status vc__server_opts_take(struct vc_server_opts *out,
                                    const struct vc_server_opts *opts);

#endif
