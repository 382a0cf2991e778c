/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdma+ud://HOST:PORT: datagrams of the port space RDMA_PS_UDP, made reliable
 * here. One UD QP of a device serves all peers of an engine, so neither queue
 * pairs nor memory of the adapter grow with the number of connections. The only
 * header of this folder that code outside it includes. The table's functions
 * run on the threads that transport/transport.h names. */
#ifndef VC_TRANSPORT_UD_UD_H
#define VC_TRANSPORT_UD_UD_H

#include "transport/transport.h"

extern const struct vc__transport vc__rdma_ud;

#endif
