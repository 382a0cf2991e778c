/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/networks.h. */
#include "tests/sim/networks.h"

#include <stdio.h>
#include <string.h>

#include "tests/suite/streams.h"

#define TRANSPORTS "rdma,tcp"
#define TEXT       2048

/* --- the server ------------------------------------------------------------ */

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return suite_streams_add(server, &streams_methods, NULL);
}

void
networks_make(struct networks *n, struct fake_host *here,
              const char *second_addr)
{
    memset(n, 0, sizeof *n);
    n->here[FIRST] = here;
    n->here[SECOND] = fake_device_new(here, second_addr);
    n->there[FIRST] = fake_host_new("there", "10.9.0.2");
    n->there[SECOND] = fake_device_new(n->there[FIRST], "10.9.1.2");
    n->server_opts = (struct vc_server_opts)VC_SERVER_OPTS_INIT;
    n->server_opts.transports = TRANSPORTS;
    n->server.opts = &n->server_opts;
    n->server.add = streams_add;
    strcpy(n->server.target, NETWORKS_TARGET);
}

void
networks_serve(struct networks *n, unsigned threads)
{
    sim_server_start(&n->server, n->there[FIRST], threads);
    assert_true(sim_server_await(&n->server));
}

/* --- losses ---------------------------------------------------------------- */

void
networks_lose(struct networks *n, unsigned network, enum networks_loss how)
{
    switch (how) {
    case LOSS_CUT:
        fake_wire_cut(n->here[network], n->there[network], true);
        break;
    case LOSS_PORT_HERE:
        fake_port_set(n->here[network], false);
        break;
    case LOSS_PORT_THERE:
        fake_port_set(n->there[network], false);
        break;
    case LOSS_REMOVE_HERE:
        fake_device_remove(n->here[network]);
        break;
    default:
        fake_device_remove(n->there[network]);
        break;
    }
}

void
networks_heal(struct networks *n, unsigned network)
{
    fake_wire_cut(n->here[network], n->there[network], false);
    fake_port_set(n->here[network], true);
    fake_port_set(n->there[network], true);
}

/* --- channels -------------------------------------------------------------- */

struct vc_channel_opts
networks_opts(void)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.transports = TRANSPORTS;
    return opts;
}

bool
networks_has(const struct vc_channel *channel, const char *scheme)
{
    char text[TEXT], what[40];

    snprintf(what, sizeof what, "%s to 10.9.0.2:7471", scheme);
    vc_channel_describe(channel, text, sizeof text);
    return strstr(text, what) != NULL;
}

bool
networks_only(const struct vc_channel *channel, const char *scheme)
{
    const char *other = strcmp(scheme, "rdma") == 0 ? "tcp" : "rdma";

    return networks_has(channel, scheme) && !networks_has(channel, other);
}
