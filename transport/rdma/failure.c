/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/rdma/failure.h. */
#include "transport/rdma/failure.h"

#include <errno.h>
#include <string.h>

#include "transport/rdma/context.h"

void
vc__rdma_put_errno(struct vc__error *error, const char *peer, const char *what,
                   int err)
{
    if (err == ENODEV || err == ENETUNREACH || err == EADDRNOTAVAIL)
        vc__error_put(error, VC_UNAVAILABLE,
                      "no RDMA device of this machine leads to %s (%s: %s): "
                      "see `rdma link show`, and that the device's network "
                      "interface has an address and is up",
                      peer, what, strerror(err));
    else
        vc__error_put_errno(error, err, "%s: cannot %s", peer, what);
}

/* Writes the error for a route that does not exist. Called by
 * vc__rdma_put_route() and vc__rdma_put_no_way(). */
static void
put_no_route(struct vc__error *error, const char *peer, int err)
{
    vc__error_put(error, VC_UNAVAILABLE,
                  "no RDMA route to %s (%s): see that the device's link is up "
                  "(`rdma link show`), and on InfiniBand that a subnet "
                  "manager runs",
                  peer, strerror(err));
}

void
vc__rdma_put_route(struct vc__error *error, const char *peer, int err)
{
    if (err == ENODEV)
        put_no_route(error, peer, err);
    else
        vc__rdma_put_errno(error, peer, "resolve the route", err);
}

/* Called by vc__rdma_put_no_way() for ADDR_ERROR: writes why the address could
 * not be resolved. */
static void
put_no_address(struct vc__error *error, const char *peer, int status)
{
    char node[VC__NODE_TEXT];

    if ((status == -ENODEV || status == -1) &&
        vc__rdma_lacks_descriptors(error))
        return;
    if (status == -ENODEV)
        vc__rdma_put_errno(error, peer, "resolve its address", ENODEV);
    else if (status == -1 && vc__rdma_forbidden(node, false)) /* by librdmacm */
        vc__error_put(error, VC_PERMISSION_DENIED,
                      "%s may not be opened: give this user read and write "
                      "access to it",
                      node);
    else
        vc__error_put(error, VC_UNAVAILABLE,
                      "no host answers at %s (%s): see that the address is "
                      "right and the host is up",
                      peer, strerror(-status));
}

void
vc__rdma_put_no_way(struct vc__error *error, const char *peer,
                    enum rdma_cm_event_type type, int status)
{
    int err = status < 0 ? -status : status;

    switch (type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        put_no_address(error, peer, status);
        break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
        put_no_route(error, peer, err);
        break;
    case RDMA_CM_EVENT_UNREACHABLE:
        vc__error_put(error, VC_UNAVAILABLE,
                      "%s does not answer connection requests (%s): see that "
                      "the host has an RDMA device on that address and lets "
                      "UDP port 4791 through",
                      peer, strerror(err));
        break;
    default:
        vc__error_put(error, VC_UNAVAILABLE, "connecting to %s failed: %s",
                      peer, strerror(err));
        break;
    }
}

void
vc__rdma_put_rejected(struct vc__error *error, const char *peer, int status)
{
    if (status == VC__REJ_INVALID_SERVICE_ID)
        vc__error_put(error, VC_UNAVAILABLE,
                      "nothing listens at %s: see that the server runs and "
                      "that the port is right",
                      peer);
    else if (status == VC__REJ_STALE_CONN)
        vc__error_put(error, VC_UNAVAILABLE,
                      "%s still has a stale connection with this QP number",
                      peer);
    else
        vc__error_put(error, VC_UNAVAILABLE,
                      "%s refused without a reason (CM status %d): its process "
                      "ended, or it is no Verbcall server",
                      peer, status);
}
