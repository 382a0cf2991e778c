/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast: one-way calls to all members of a group. A channel to
 * "rdma+mc://GROUP:PORT" is a publisher. Each server that listens at the same
 * target is a member, and runs the handler of each call. The group is a
 * multicast address, as 239.1.2.3 or [ff15::77], over RDMA (RDMA_PS_UDP).
 *
 * Nothing is repeated: a call is one datagram, which a member may lose, and
 * members lose different ones. Each datagram has a number, by which a member
 * counts what it has lost: by the callback below and the counters
 * multicast_lost and others (verbcall/counters.h). A datagram that comes twice
 * is handled once. Handlers of several calls may run at a time, as those of any
 * calls.
 *
 * A call ends with VC_OK when its datagram was handed to the adapter, also if
 * the group has no members. Only methods with the option one_way can be called.
 * A group that is lost, as when its port goes down, is joined again: 1 s later,
 * 2 s after that if it fails, then every 4 s. Calls fail with VC_UNAVAILABLE
 * until it is. A runtime without library threads joins while it is advanced: by
 * vc_runtime_poll(), or step by step by those calls.
 * Nobody is authenticated: each host that reaches the group can publish. Nor
 * are schemas compared (schema_check in verbcall/server.h): a datagram does not
 * say which one its publisher has. */
#ifndef VERBCALL_MULTICAST_H
#define VERBCALL_MULTICAST_H

#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_server;

#define VC_PUBLISHER_SIZE 16

/* What a server has received of one publisher at one target, since the first
 * datagram of it. Later versions may add fields at the end. */
struct vc_multicast_loss {
    const char *group; /* "239.1.2.3:7000"; valid during the callback */
    /* The publisher's instance: random, new for each channel. */
    uint8_t publisher[VC_PUBLISHER_SIZE];
    uint64_t received; /* datagrams; their calls were begun, or refused */
    uint64_t lost;     /* datagrams that are missing */
    uint64_t late;     /* of received: overtaken by others */
    uint64_t duplicates;
};

/* Datagrams are missing, or one that was missing has come after all: then
 * loss->lost is less than before. Runs on the thread that advances the runtime,
 * and must not block, nor call the library. */
typedef void vc_multicast_lost(const struct vc_multicast_loss *loss, void *arg);

/* vc_server_on_multicast_lost - sets the callback of a server, before its first
 * vc_server_listen(); NULL: none. Of at most 1,024 publishers a target is known
 * what they have sent; when there are more, the one that was silent for the
 * longest time is forgotten. Any thread. VC_OK, or
 * VC_FAILED_PRECONDITION the server has listened already */
VC_API enum vc_status vc_server_on_multicast_lost(struct vc_server *server,
                                                  vc_multicast_lost *lost,
                                                  void *arg);

VC_END_DECLS

#endif
