/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The public options of RDMA connections (verbcall/rdma.h), checked, as the
 * transports take them. */
#ifndef VC_RPC_RDMA_OPTS_H
#define VC_RPC_RDMA_OPTS_H

#include <verbcall/rdma.h>
#include <verbcall/status.h>

#include "transport/transport.h"

/* opts may be NULL: all is the default. Any thread.
 * VC_INVALID_ARGUMENT  one is out of its range, or they have no size */
enum vc_status vc__rdma_opts_take(struct vc__wire_opts *out,
                                  const struct vc_rdma_opts *opts);

#endif
