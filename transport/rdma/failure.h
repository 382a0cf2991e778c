/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Error texts for connections that rdma_cm could not establish: the cause and
 * the remedy. peer is an address in text. Any thread.
 *
 * Called by: ask.c (rdma_put_errno, rdma_put_route, rdma_put_no_way), failure.c
 * (rdma_put_errno), group_queues.c (rdma_put_errno), wire_connect.c (all),
 * transport/ud/connect.c (all), group_join.c (rdma_put_no_way). */
#ifndef VC_TRANSPORT_RDMA_FAILURE_H
#define VC_TRANSPORT_RDMA_FAILURE_H

#include <rdma/rdma_cma.h>

#include "transport/core/error.h"

/* Statuses of RDMA_CM_EVENT_REJECTED: InfiniBand specification, volume 1,
 * 12.6.7.2 (REJ reasons). */
#define VC__REJ_INVALID_SERVICE_ID 8
#define VC__REJ_STALE_CONN         10

/* All set *error. Called in ask.c on the thread that asks, in wire_connect.c on
 * the holder of the engine. */

/* For a call that failed with this errno: `what` could not be done. */
void vc__rdma_put_errno(struct vc__error *error, const char *peer,
                        const char *what, int err);
/* For a call of rdma_resolve_route(3) that failed with this errno. */
void vc__rdma_put_route(struct vc__error *error, const char *peer, int err);
/* For an event that reports a failure and was not caused by the peer. */
void vc__rdma_put_no_way(struct vc__error *error, const char *peer,
                         enum rdma_cm_event_type type, int status);
/* For REJECTED without private data of the peer's program. */
void vc__rdma_put_rejected(struct vc__error *error, const char *peer,
                           int status);

#endif
