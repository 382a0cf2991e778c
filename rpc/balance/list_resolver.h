/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A resolver for targets list:TARGET,TARGET,... of channels whose policy may
 * change: it names the servers once. Other channels need none (servers.h). Its
 * open() runs on the thread of vc_channel_open(), and its close(), which does
 * nothing, on that of vc_channel_close(), or of a vc_channel_open() that fails
 * later. */
#ifndef VC_RPC_LIST_RESOLVER_H
#define VC_RPC_LIST_RESOLVER_H

#include <verbcall/resolver.h>

/* Used by vc_channel_open(). */
extern const struct vc_resolver_type vc__list_resolver;

#endif
