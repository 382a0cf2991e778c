/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/link_break.h. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "tests/suite/link_break.h"

#include <poll.h>
#include <sys/socket.h>

#include "tests/suite/rdma_links.h"
#include "transport/shm/shm.h"
#include "transport/shm/wire.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/wire.h"

/* --- queue pairs -------------------------------------------------------- */

static bool
qp_is_whole(const struct vc__link *link)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    return ibv_query_qp(link_qp(link)->qp, &attr, IBV_QP_STATE, &init) == 0 &&
           attr.qp_state == IBV_QPS_RTS;
}

static bool
qp_break(const struct vc__link *link)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    return ibv_modify_qp(link_qp(link)->qp, &attr, IBV_QP_STATE) == 0;
}

/* --- sockets ------------------------------------------------------------ */

/* -1: the transport has no socket. */
static int
socket_of(const struct vc__link *link)
{
    struct vc__wire *w = link->wire;

    if (w->transport == &vc__tcp)
        return vc__tcp_wire_of(w)->source.fd;
    return w->transport == &vc__shm ? vc__shm_wire_of(w)->source.fd : -1;
}

static bool
socket_is_whole(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) == 0;
}

/* For a TCP socket, connect() with AF_UNSPEC resets the connection. */
static bool
socket_break(const struct vc__link *link)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    int fd = socket_of(link);

    if (link->wire->transport == &vc__tcp)
        return connect(fd, &none, sizeof none) == 0;
    return shutdown(fd, SHUT_RDWR) == 0;
}

/* --- any link ------------------------------------------------------------ */

bool
link_is_whole(const struct vc__link *link)
{
    int fd = socket_of(link);

    return link->state == VC__LINK_UP &&
           (fd >= 0 ? socket_is_whole(fd) : qp_is_whole(link));
}

bool
link_break(const struct vc__link *link)
{
    return socket_of(link) >= 0 ? socket_break(link) : qp_break(link);
}
