/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server and one client, and the counters of both. The test decides what
 * the client does. */
#ifndef VC_TESTS_SIM_SCENE_H
#define VC_TESTS_SIM_SCENE_H

#include "tests/sim/sim.h"

struct scene {
    struct sim_server server;
    struct fake_host *here; /* the client's, set by scene_run() */
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_channel_opts opts;
    unsigned switch_every; /* of the world */
    void (*act)(
        struct scene *s); /* runs in the client, with its channel open */
};

/* Runs the scene. At the end the counters of each side must be consistent. */
void scene_run(struct scene *s, uint64_t seed);

/* Runs it with four seeds and these server options, or NULL. */
void scene_play(void (*act)(struct scene *s),
                const struct vc_server_opts *opts);

/* The simulated world orders accesses of different processes, but TSan does not
 * know that. A thread that writes data calls this afterwards; a thread of
 * another process that reads the data calls this before. */
void scene_sync(void);

/* scene_have_done() runs a function in the server's process, in a handler, and
 * waits for it. The server must have been set up by scene_take_orders(). */
void scene_take_orders(struct sim_server *s);
void scene_have_done(struct scene *s, void (*what)(void));

/* Makes a call that must succeed. */
void scene_call(struct scene *s, size_t size, unsigned tag);

/* Read the counters now. */
struct vc_counters scene_counters(struct vc_runtime *runtime);
struct vc_counters scene_client(struct scene *s);
struct vc_counters scene_server(struct scene *s);

#endif
