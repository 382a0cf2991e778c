/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdma://HOST:PORT and rdma+ib://HOST:PORT: RC connections made by librdmacm,
 * of the port spaces RDMA_PS_TCP and RDMA_PS_IB. The only header of this folder
 * that code outside it includes. The tables' functions run on the threads that
 * transport/transport.h names. */
#ifndef VC_TRANSPORT_RDMA_RDMA_H
#define VC_TRANSPORT_RDMA_RDMA_H

#include "transport/transport.h"

extern const struct vc__transport vc__rdma, vc__rdma_ib;
/* rdma+mc://GROUP:PORT: multicast, of RDMA_PS_UDP (transport/rdma/group.h). */
extern const struct vc__transport vc__rdma_mc;

#endif
