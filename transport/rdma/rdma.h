/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rdma://HOST:PORT: RC connections that librdmacm makes (RDMA_PS_TCP). The one
 * header of this folder that others include. */
#ifndef VC_TRANSPORT_RDMA_RDMA_H
#define VC_TRANSPORT_RDMA_RDMA_H

#include "transport/transport.h"

extern const struct vc__transport vc__rdma;

#endif
