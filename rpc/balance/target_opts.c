/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/target_opts.h. */
#include "rpc/balance/target_opts.h"

#include <stdlib.h>
#include <string.h>

#include <verbcall/resolver.h>

#include "cm/connect/addresses.h"
#include "rpc/rdma_opts.h"
#include "rpc/runtime.h"

_Static_assert(VC__ADDRESSES_MAX == VC_ENDPOINT_ADDRESSES_MAX &&
                   VC__ADDRESS_TEXT == VC_ENDPOINT_TARGET_MAX + 1,
               "the limits of cm/ are those of the API");

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

/* Checks one address, for server_target_take(). VC_INVALID_ARGUMENT if its port
 * is 0, which is for servers: they then get a free one; or if its transport
 * does not reach loopback addresses, and it is one. A name that stands for a
 * loopback address is detected when the channel connects. */
static enum vc_status
server_address_check(const struct vc__target *to, const char *text)
{
    struct vc__addrs addrs;

    if (to->port[0] != '\0' && atoi(to->port) == 0)
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "target \"%.100s\": port 0 cannot be connected to: give a port in "
            "1..65535; vc_server_port() returns that of a server",
            text);
    if (to->transport == NULL || !vc__target_numeric(to, &addrs) ||
        addrs.n == 0)
        return VC_OK;
    return vc__target_reaches(to->transport, &addrs.addr[0], "connect to");
}

/* Takes the transport of an address that names one: without vc:// they are
 * those of the addresses. For server_target_take(). */
static void
choice_add(struct vc__choice *choice, const struct vc__transport *transport)
{
    if (transport != NULL && !vc__choice_has(choice, transport))
        choice->best[choice->n++] = transport;
}

/* Reads the target, for vc__target_opts_fill(): the first of its addresses, and
 * the transports that they name. VC_INVALID_ARGUMENT if an address is
 * malformed, or server_address_check() refuses it. */
static enum vc_status
server_target_take(struct vc__target *out, struct vc__choice *named,
                   const char *text)
{
    struct vc__target to[VC__ADDRESSES_MAX];
    unsigned n;
    enum vc_status status = vc__addresses_parse(to, &n, text);

    named->n = 0;
    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        status = server_address_check(&to[i], text);
        choice_add(named, to[i].transport);
    }
    *out = to[0];
    return status;
}

enum vc_status
vc__target_opts_fill(struct vc__target_opts *o, struct vc__pool_opts *out,
                     const char *target)
{
    struct vc__choice named;
    struct vc__target to;
    enum vc_status status = server_target_take(&to, &named, target);

    if (status == VC_OK && to.transport == NULL && !o->chosen)
        status = vc__target_opts_choose(o);
    if (status != VC_OK)
        return status;
    *out = o->pool;
    out->target = to;
    if (to.transport != NULL) {
        memset(&out->require, 0, sizeof out->require);
        out->choice = named;
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
    out->head_start_ms = opts->connect_delay_ms;
    out->idle_ms = opts->idle_timeout_ms;
    out->keepalive_ms = opts->keepalive_ms;
    out->min_links = opts->min_links;
    out->max_links = opts->max_links;
    out->ahead = opts->connect_ahead;
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
