/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * tcp://HOST:PORT: over TCP sockets, where there is no RDMA device. The only
 * header of this folder that code outside it includes. The table's functions
 * run on the threads that transport/transport.h names. */
#ifndef VC_TRANSPORT_TCP_TCP_H
#define VC_TRANSPORT_TCP_TCP_H

#include "transport/transport.h"

extern const struct vc__transport vc__tcp;

#endif
