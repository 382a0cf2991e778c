/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server and one client, and what the counters of both say. What the
 * client does is the test's. */
#ifndef VC_TESTS_SIM_SCENE_H
#define VC_TESTS_SIM_SCENE_H

#include "tests/sim/sim.h"

struct scene {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_channel_opts opts;
    unsigned switch_every;        /* of the world */
    void (*act)(struct scene *s); /* of the client, with its channel open */
};

/* Runs it. At the end the counters of both must agree with themselves. */
void scene_run(struct scene *s, uint64_t seed);

/* The same with some seeds and these options of the server, or NULL. */
void scene_play(void (*act)(struct scene *s),
                const struct vc_server_opts *opts);

/* Whoever writes what a thread of another process reads calls this afterwards,
 * and the other before: the world puts them into an order, but TSan does not
 * know it. */
void scene_sync(void);

/* Has the server's process do something, in a handler, and waits for that: for
 * servers that take orders, from when they are added services on. */
void scene_take_orders(struct sim_server *s);
void scene_have_done(struct scene *s, void (*what)(void));

/* A call that must be good. */
void scene_call(struct scene *s, size_t size, unsigned tag);

/* The counters now. */
struct vc_counters scene_counters(struct vc_runtime *runtime);
struct vc_counters scene_client(struct scene *s);
struct vc_counters scene_server(struct scene *s);

#endif
