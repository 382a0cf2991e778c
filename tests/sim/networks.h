/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two hosts on two networks: RDMA over the first one, and a substitute for TCP
 * (tests/sim/second.h) over the second. A server at vc:// listens on both, and
 * a channel to it has both transports. Each network fails and recovers
 * independently. */
#ifndef VC_TESTS_SIM_NETWORKS_H
#define VC_TESTS_SIM_NETWORKS_H

#include "tests/sim/sim.h"

#define NETWORKS_TARGET "vc://10.9.0.2:7471"

enum {
    FIRST,  /* RDMA */
    SECOND, /* the substitute for TCP */
};

/* How a network is lost. */
enum networks_loss {
    LOSS_CUT,          /* no packet passes, and no side is notified */
    LOSS_PORT_HERE,    /* the client's port goes down */
    LOSS_PORT_THERE,   /* the server's port goes down */
    LOSS_REMOVE_HERE,  /* the client's device is removed for good */
    LOSS_REMOVE_THERE, /* the server's device is removed for good */
    LOSSES
};

struct networks {
    struct fake_host *here[2], *there[2]; /* by network */
    struct sim_server server;
    struct vc_server_opts server_opts;
};

/* Zeroes *n and makes its hosts and options. The world has begun. The client's
 * host `here` has an address of the first network; it gets a second device at
 * second_addr. The server has Probe and Streams, and is not started. */
void networks_make(struct networks *n, struct fake_host *here,
                   const char *second_addr);

/* Starts the server, and waits until it serves. */
void networks_serve(struct networks *n, unsigned threads);

void networks_lose(struct networks *n, unsigned network,
                   enum networks_loss how);
/* Ends a loss that is not permanent. */
void networks_heal(struct networks *n, unsigned network);

/* The options of a channel with "rdma,tcp", in this order. */
struct vc_channel_opts networks_opts(void);

/* True when the text of vc_channel_describe() has a connection of this
 * transport; or has no other. */
bool networks_has(const struct vc_channel *channel, const char *scheme);
bool networks_only(const struct vc_channel *channel, const char *scheme);

#endif
