/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a server sends its clients instead of serving them: always to the same
 * targets, or as the program decides for each. */
#ifndef VC_RPC_REDIRECT_H
#define VC_RPC_REDIRECT_H

#include <stdbool.h>
#include <sys/socket.h>

#include <verbcall/server.h>

#include "cm/connect/hello.h"
#include "transport/transport.h"

_Static_assert(VC_REDIRECT_MAX == VC__REJECT_ADDRS,
               "a reject has room for all targets");

/* Where one target leads. */
struct vc__redirect_to {
    const struct vc__transport *transport; /* NULL: vc:// */
    struct vc__reject_addr addr;
};

struct vc__redirect {
    unsigned n; /* fixed targets */
    struct vc__redirect_to to[VC__REJECT_ADDRS];
    unsigned (*decide)(uint64_t service, const struct sockaddr *source,
                       const char *targets[VC_REDIRECT_MAX], void *arg);
    void *arg;
};

/* Takes the options.
 * VC_INVALID_ARGUMENT  a target is malformed, or its address not numeric */
enum vc_status vc__redirect_init(struct vc__redirect *r,
                                 const struct vc_server_opts *opts);

/* One more fixed target. Errors as above. */
enum vc_status vc__redirect_target(struct vc__redirect_to *out,
                                   const char *text);

/* Does it lead on who has come so? vc:// does those over RDMA and TCP; others
 * those of the same transport. */
bool vc__redirect_suits(const struct vc__redirect_to *to,
                        const struct vc__incoming *in);

/* Is a client that asks for this service sent elsewhere? Then reject, which was
 * zeroed, has the reason and the addresses; only those of the transport by which
 * it came, and a text when there is none of these. The listening engine. */
bool vc__redirect_find(const struct vc__redirect *r, uint64_t service,
                       const struct vc__incoming *in,
                       struct vc__reject *reject);

#endif
