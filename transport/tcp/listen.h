/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listening socket, and those who have connected to it and not said their
 * hello yet. They may be anybody: each has a few bytes of memory and 2 s. */
#ifndef VC_TRANSPORT_TCP_LISTEN_H
#define VC_TRANSPORT_TCP_LISTEN_H

#include "transport/core/engine.h"
#include "transport/tcp/record.h"
#include "transport/transport.h"

#define VC__TCP_HELLO     56u
#define VC__TCP_STRANGERS 256u /* of an ear, at a time */

/* Whose hello has not come. */
struct vc__tcp_stranger {
    struct vc__source source; /* its fd is the socket; -1: it is none */
    struct vc__tcp_ear *ear;
    struct vc__timer timer;
    struct cds_list_head node; /* ear->waiting, or ear->free */
    struct sockaddr_storage peer;
    uint32_t len;
    uint8_t bytes[VC__RECORD_HEADER + VC__TCP_HELLO];
};

struct vc__tcp_ear {
    struct vc__ear ear;
    struct vc__source source; /* its fd is the socket; -1: there is none */
    struct vc__timer pause;   /* runs while there are no descriptors */
    uint16_t port;
    struct vc__tcp_stranger *strangers; /* VC__TCP_STRANGERS of them */
    struct cds_list_head waiting;       /* the first has waited longest */
    struct cds_list_head free;
};

#endif
