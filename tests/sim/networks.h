/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two hosts on two networks: RDMA leads over the first one, and what stands for
 * TCP (tests/sim/second.h) over the second. A server at vc:// listens on both,
 * and a channel to it has both transports. Each network is lost, and comes back,
 * for itself. */
#ifndef VC_TESTS_SIM_NETWORKS_H
#define VC_TESTS_SIM_NETWORKS_H

#include "tests/sim/sim.h"

#define NETWORKS_TARGET "vc://10.9.0.2:7471"

enum {
    FIRST,  /* of RDMA */
    SECOND, /* of what stands for TCP */
};

/* How a network is lost. */
enum networks_loss {
    LOSS_CUT,          /* nothing passes, and nobody is notified */
    LOSS_PORT_HERE,    /* the client's port goes down */
    LOSS_PORT_THERE,   /* the server's port goes down */
    LOSS_REMOVE_HERE,  /* the client's device is removed, for ever */
    LOSS_REMOVE_THERE, /* the server's device is removed, for ever */
    LOSSES
};

struct networks {
    struct fake_host *here[2], *there[2]; /* by network */
    struct sim_server server;
    struct vc_server_opts server_opts;
};

/* Zeroes it. The world has begun; the client's host has the first address, and
 * gets a second device at this address. The server has Probe and Streams, and is
 * not started. */
void networks_make(struct networks *n, struct fake_host *here,
                   const char *second_addr);

/* Starts the server, and waits until it serves. */
void networks_serve(struct networks *n, unsigned threads);

void networks_lose(struct networks *n, unsigned network,
                   enum networks_loss how);
/* Ends a loss that is not for ever. */
void networks_heal(struct networks *n, unsigned network);

/* The options of a channel: by "rdma,tcp", in this order. */
struct vc_channel_opts networks_opts(void);

/* Do the words of vc_channel_describe() have this transport's connection, or
 * only this one's? */
bool networks_has(const struct vc_channel *channel, const char *scheme);
bool networks_only(const struct vc_channel *channel, const char *scheme);

#endif
