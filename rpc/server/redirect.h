/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a server sends its clients instead of serving them: always to the same
 * targets, or to those that the program chooses for each client. Any thread,
 * without a lock, except where noted.
 *
 * Called by: server.c (init, suits, find), drain.c (target), redirect.c
 * (target, suits). */
#ifndef VC_RPC_REDIRECT_H
#define VC_RPC_REDIRECT_H

#include <stdbool.h>
#include <sys/socket.h>

#include <verbcall/server.h>

#include "cm/connect/hello.h"
#include "transport/transport.h"

_Static_assert(VC_REDIRECT_MAX == VC__REJECT_ADDRS,
               "a reject has room for all targets");

/* The address of one target. */
struct vc__redirect_to {
    const struct vc__transport *transport; /* NULL: a vc:// target */
    struct vc__reject_addr addr;
};

struct vc__redirect {
    unsigned n; /* fixed targets */
    struct vc__redirect_to to[VC__REJECT_ADDRS];
    unsigned (*decide)(uint64_t service, const struct sockaddr *source,
                       const char *targets[VC_REDIRECT_MAX], void *arg);
    void *arg;
};

/* Takes the options into *r. Called by vc_server_new(), on the program's
 * thread.
 * VC_INVALID_ARGUMENT  a target is malformed, its address is not numeric, or
 *                      cannot be connected to or sent in a reject */
enum vc_status vc__redirect_init(struct vc__redirect *r,
                                 const struct vc_server_opts *opts);

/* Parses one target into *out. Called for each target of the options, and for
 * the alternative of a drain by server_leave_service(), both on the program's
 * thread; and for each target that redirect_decide names, on the holder of
 * engine 0. VC_OK; VC_INVALID_ARGUMENT with vc_error(), for the reasons of
 * vc__redirect_init(), and then *out is not valid. */
enum vc_status vc__redirect_target(struct vc__redirect_to *out,
                                   const char *text);

/* True if a client that came by this transport can use the target: a vc://
 * target serves clients that came by RDMA or TCP; other targets those that came
 * by the same transport. Called when a client is sent elsewhere: within
 * vc__redirect_find(), and for the alternative of a drain by reject_draining()
 * (rpc/server/server.c), under the server's lock. The holder of engine 0. */
bool vc__redirect_suits(const struct vc__redirect_to *to,
                        const struct vc__incoming *in);

/* True if a client that asks for this service is sent elsewhere. Then fills in
 * *reject, which was zeroed: the reason, and the addresses of the transport by
 * which the client came, or a text if there are none. Called for each connect
 * request of a client without a pool here, unless the server drains, by
 * server_turn_away() (rpc/server/server.c), on the holder of engine 0. */
bool vc__redirect_find(const struct vc__redirect *r, uint64_t service,
                       const struct vc__incoming *in,
                       struct vc__reject *reject);

#endif
