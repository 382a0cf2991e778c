/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For tests that look below transport/transport.h: the QP and the device of a
 * link, and the devices of an engine. The engine must be held by the caller or
 * by no thread. */
#ifndef VC_TESTS_SUITE_RDMA_LINKS_H
#define VC_TESTS_SUITE_RDMA_LINKS_H

#include "cm/connect/cm.h"
#include "cm/link/link.h"
#include "transport/rdma/wire.h"

static inline struct vc__qp *
link_qp(const struct vc__link *link)
{
    return &vc__rdma_wire_of(link->wire)->qp;
}

static inline struct vc__device *
link_device(const struct vc__link *link)
{
    return vc__rdma_wire_of(link->wire)->device;
}

static inline struct vc__link *
qp_link(struct vc__qp *qp)
{
    return vc__link_of(&caa_container_of(qp, struct vc__rdma_wire, qp)->wire);
}

/* A list of struct vc__device. RDMA is the first transport of the list. */
static inline struct cds_list_head *
cm_devices(const struct vc__cm *cm)
{
    return &vc__rdma_context_of(cm->contexts[0])->devices;
}

#endif
