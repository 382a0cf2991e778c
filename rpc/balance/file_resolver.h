/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The resolver of targets file:PATH: the servers of a channel are those of a
 * file, and change with it. See doc/balancing.md, "file:". open() runs on the
 * thread of vc_channel_open(), close() on that of vc_channel_close(), or of a
 * vc_channel_open() that fails after open(), again() on the holder of the
 * channel's engine. */
#ifndef VC_RPC_FILE_RESOLVER_H
#define VC_RPC_FILE_RESOLVER_H

#include <verbcall/resolver.h>

/* Known to all channels; found by vc__resolver_type_find(). */
extern const struct vc_resolver_type vc__file_resolver;

#endif
