/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kind of operation that drains a server. Its callbacks run on the holder
 * of engine 0, or of a part's engine: see rpc/server/server_op.h. drain_new()
 * (rpc/server/drain.c) makes such operations; close_prepare()
 * (rpc/server/server_close.c) names the kind to end all of them. */
#ifndef VC_RPC_SERVER_DRAIN_H
#define VC_RPC_SERVER_DRAIN_H

#include "rpc/server/server_op.h"

extern const struct vc__server_op_kind vc__server_drain_kind;

#endif
