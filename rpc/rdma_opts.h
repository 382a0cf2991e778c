/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks the public options of RDMA connections (verbcall/rdma.h) and converts
 * them to those of the transports. Any thread.
 *
 * Called by: rpc/balance/target_opts.c (take), rpc/server/server.c (take). */
#ifndef VC_RPC_RDMA_OPTS_H
#define VC_RPC_RDMA_OPTS_H

#include <verbcall/rdma.h>
#include <verbcall/status.h>

#include "transport/transport.h"

/* Called by vc__target_opts_take() inside vc_channel_open(), and by
 * vc_server_new(), on their thread. opts may be NULL for all defaults. VC_OK:
 * *out is set.
 * VC_INVALID_ARGUMENT  an option is out of its range or not known here, or the
 *                      size is not set; with vc_error(), and *out stays as it
 *                      was */
enum vc_status vc__rdma_opts_take(struct vc__wire_opts *out,
                                  const struct vc_rdma_opts *opts);

#endif
