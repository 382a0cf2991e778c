/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/redirect.h, also for the threads. */
#include "rpc/server/redirect.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cm/connect/target.h"
#include "transport/core/error.h"

/* Fills in *out with the address, as a reject has it. Called by
 * vc__redirect_target(), on its thread. */
static void
redirect_addr_put(struct vc__reject_addr *out,
                  const struct sockaddr_storage *addr)
{
    const struct sockaddr_in *v4 = (const void *)addr;
    const struct sockaddr_in6 *v6 = (const void *)addr;

    memset(out, 0, sizeof *out);
    out->weight = 1;
    if (addr->ss_family == AF_UNIX) {
        out->family = VC__REJECT_NAME;
        vc__addr_key(addr, out->addr);
    } else if (addr->ss_family == AF_INET6) {
        out->family = 6;
        out->port = ntohs(v6->sin6_port);
        memcpy(out->addr, &v6->sin6_addr, 16);
    } else {
        out->family = 4;
        out->port = ntohs(v4->sin_port);
        memcpy(out->addr, &v4->sin_addr, 4);
    }
}

enum vc_status
vc__redirect_target(struct vc__redirect_to *out, const char *text)
{
    struct vc__target target;
    struct vc__addrs addrs;
    enum vc_status status = vc__target_parse(&target, text);

    if (status != VC_OK)
        return status;
    if (!vc__target_numeric(&target, &addrs) || addrs.n == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "redirect \"%.100s\": give a numeric address", text);
    if (target.host[0] == '/')
        return vc__fail(VC_INVALID_ARGUMENT,
                        "redirect \"%.100s\": a path does not fit into it; "
                        "give shm:NAME",
                        text);
    out->transport = target.transport;
    if (out->transport != NULL &&
        vc__target_reaches(out->transport, &addrs.addr[0], "redirect to") !=
            VC_OK)
        return VC_INVALID_ARGUMENT;
    redirect_addr_put(&out->addr, &addrs.addr[0]);
    if (out->addr.port == 0 && out->addr.family != VC__REJECT_NAME)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "redirect \"%.100s\": port 0 cannot be connected to: "
                        "give a port in 1..65535",
                        text);
    return VC_OK;
}

enum vc_status
vc__redirect_init(struct vc__redirect *r, const struct vc_server_opts *opts)
{
    memset(r, 0, sizeof *r);
    r->decide = opts->redirect_decide;
    r->arg = opts->redirect_arg;
    while (r->n < VC_REDIRECT_MAX && opts->redirect[r->n] != NULL) {
        enum vc_status status =
            vc__redirect_target(&r->to[r->n], opts->redirect[r->n]);

        if (status != VC_OK)
            return vc__fail(status, "vc_server_opts.redirect[%u]: %s", r->n,
                            vc_error());
        r->n++;
    }
    return VC_OK;
}

bool
vc__redirect_suits(const struct vc__redirect_to *to,
                   const struct vc__incoming *in)
{
    const struct vc__transport *its = in->context->transport;

    return to->transport == NULL ? !its->local && !its->named
                                 : to->transport == its;
}

/* Adds the target to the reject, if the client can use it. Called by
 * redirect_decide() and vc__redirect_find(), on the holder of engine 0. */
static void
addr_add(struct vc__reject *reject, const struct vc__redirect_to *to,
         const struct vc__incoming *in)
{
    if (vc__redirect_suits(to, in))
        reject->addrs[reject->n_addrs++] = to->addr;
}

/* Asks the program's callback of this name, and adds its valid targets to the
 * reject. False if it names no targets: the fixed ones decide then. True also
 * if none of its targets is valid. Called by vc__redirect_find() if there is a
 * callback, on the holder of engine 0. */
static bool
redirect_decide(const struct vc__redirect *r, uint64_t service,
                const struct vc__incoming *in, struct vc__reject *reject)
{
    const char *targets[VC_REDIRECT_MAX] = {NULL};
    unsigned n =
        r->decide(service, (const struct sockaddr *)&in->peer, targets, r->arg);

    for (unsigned i = 0; i < n && i < VC_REDIRECT_MAX; i++) {
        struct vc__redirect_to to;

        if (vc__redirect_target(&to, targets[i]) == VC_OK)
            addr_add(reject, &to, in);
    }
    return n > 0;
}

bool
vc__redirect_find(const struct vc__redirect *r, uint64_t service,
                  const struct vc__incoming *in, struct vc__reject *reject)
{
    bool moved = r->decide != NULL && redirect_decide(r, service, in, reject);

    for (unsigned i = 0; i < r->n && !moved; i++)
        addr_add(reject, &r->to[i], in);
    if (!moved && r->n == 0)
        return false;
    reject->reason = VC__REJECT_MOVED;
    if (reject->n_addrs == 0)
        snprintf(reject->text, sizeof reject->text, "%s",
                 moved ? "redirect_decide of the server gave no valid target"
                       : "no target of the server's redirect suits this link");
    return true;
}
