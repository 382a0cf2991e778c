/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/target_opts.h. */
#include "rpc/balance/target_opts.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/rdma_opts.h"
#include "rpc/runtime.h"

enum vc_status
vc__target_opts_choose(struct vc__target_opts *o)
{
    const char *allowed = vc__choice_allowed();
    struct vc__pool_opts *pool = &o->pool;
    enum vc_status status = vc__choice_make(
        &pool->choice, "vc_channel_opts.transports", o->transports, allowed);

    if (status == VC_OK && o->require != NULL)
        status = vc__choice_make(&pool->require, "vc_channel_opts.require",
                                 o->require, allowed);
    if (status == VC_OK)
        status = vc__choice_require(&pool->choice, &pool->require);
    o->chosen = status == VC_OK;
    return status;
}

/* Reads the target, for vc__target_opts_fill(); VC_INVALID_ARGUMENT if it leads
 * nowhere. Port 0 is for servers, which then get a free one. A name that stands
 * for a loopback address is detected when the channel connects. */
static enum vc_status
server_target_take(struct vc__target *out, const char *text)
{
    enum vc_status status = vc__target_parse(out, text);
    struct vc__addrs addrs;

    if (status != VC_OK)
        return status;
    if (out->port[0] != '\0' && atoi(out->port) == 0)
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "target \"%.100s\": port 0 cannot be connected to: give a port in "
            "1..65535; vc_server_port() returns that of a server",
            text);
    if (out->transport == NULL || !vc__target_numeric(out, &addrs) ||
        addrs.n == 0)
        return VC_OK;
    return vc__target_reaches(out->transport, &addrs.addr[0], "connect to");
}

enum vc_status
vc__target_opts_fill(struct vc__target_opts *o, struct vc__pool_opts *out,
                     const char *target)
{
    struct vc__target to;
    enum vc_status status = server_target_take(&to, target);

    if (status == VC_OK && to.transport == NULL && !o->chosen)
        status = vc__target_opts_choose(o);
    if (status != VC_OK)
        return status;
    *out = o->pool;
    out->target = to;
    if (to.transport != NULL) {
        memset(&out->choice, 0, sizeof out->choice);
        memset(&out->require, 0, sizeof out->require);
        out->choice.n = 1;
        out->choice.best[0] = to.transport;
    }
    return VC_OK;
}

enum vc_status
vc__target_opts_take(struct vc__target_opts *o,
                     const struct vc_channel_opts *opts)
{
    struct vc__pool_opts *out = &o->pool;
    enum vc_status status;

    memset(o, 0, sizeof *o);
    o->transports = opts->transports;
    o->require = opts->require;
    out->connect_ms = opts->connect_timeout_ms;
    out->idle_ms = opts->idle_timeout_ms;
    out->keepalive_ms = opts->keepalive_ms;
    out->min_links = opts->min_links;
    out->max_links = opts->max_links;
    out->log2_message = vc__log2_message(opts->max_message);
    out->source.ss_family = AF_UNSPEC;
    status = vc__rdma_opts_take(&out->wire, opts->rdma);
    if (status != VC_OK || opts->bind_address == NULL)
        return status;
    status = vc__address_parse(&out->source, opts->bind_address);
    return status == VC_OK
               ? VC_OK
               : vc__fail(status, "vc_channel_opts.bind_address: %s",
                          vc_error());
}
