/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of transports in this build. See cm/connect/cm.h. Any thread. */
#include <string.h>

#include "cm/connect/cm.h"
#include "transport/inproc/inproc.h"
#include "transport/rdma/rdma.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#include "transport/ud/ud.h"

const struct vc__transport *const vc__transports[] = {
#ifndef VC_WITHOUT_RDMA
    &vc__rdma,   &vc__rdma_ib, &vc__rdma_ud, &vc__rdma_mc,
#endif
    &vc__inproc, &vc__tcp,     &vc__shm,     NULL};

_Static_assert(sizeof vc__transports / sizeof *vc__transports - 1 <=
                   VC__TRANSPORTS_MAX,
               "each has its place in struct vc__cm");

const struct vc__transport *
vc__transport_find(const char *scheme, size_t len)
{
    for (unsigned i = 0; vc__transports[i] != NULL; i++) {
        const char *its = vc__transports[i]->scheme;

        if (strlen(its) == len && memcmp(its, scheme, len) == 0)
            return vc__transports[i];
    }
    return NULL;
}
