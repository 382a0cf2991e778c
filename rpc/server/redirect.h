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

_Static_assert(VC_REDIRECT_MAX == VC__REJECT_ADDRS,
               "a reject has room for all targets");

struct vc__redirect {
    unsigned n; /* fixed targets */
    struct vc__reject_addr addrs[VC__REJECT_ADDRS];
    unsigned (*decide)(uint64_t service, const struct sockaddr *source,
                       const char *targets[VC_REDIRECT_MAX], void *arg);
    void *arg;
};

/* Takes the options.
 * VC_INVALID_ARGUMENT  a target is malformed, or its address not numeric */
enum vc_status vc__redirect_init(struct vc__redirect *r,
                                 const struct vc_server_opts *opts);

/* One more fixed target. Errors as above. */
enum vc_status vc__redirect_target(struct vc__reject_addr *out,
                                   const char *text);

/* Can a client at `source` connect there? Names are for those of this process
 * only, and they for nothing else. */
bool vc__redirect_fits(const struct vc__reject_addr *a,
                       const struct sockaddr *source);

/* Is a client that asks for this service sent elsewhere? Then reject, which was
 * zeroed, has the reason and the addresses; only those
 * that it can connect to, and a text when there is none of these. The listening engine. */
bool vc__redirect_find(const struct vc__redirect *r, uint64_t service,
                       const struct sockaddr *source,
                       struct vc__reject *reject);

#endif
