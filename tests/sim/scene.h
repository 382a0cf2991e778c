/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server and one client, and the counters of both. The test says what the
 * client does. */
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

/* Runs the scene. At the end the counters of both must be consistent. */
void scene_run(struct scene *s, uint64_t seed);

/* Runs it with some seeds and these options of the server, or NULL. */
void scene_play(void (*act)(struct scene *s),
                const struct vc_server_opts *opts);

/* A thread calls this after it has written data that a thread of another
 * process reads, and that thread before it reads. The world orders the two, but
 * TSan does not know that. */
void scene_sync(void);

/* Runs what() in the server's process, in a handler, and waits for that. The
 * server needs scene_take_orders() before services are added. */
void scene_take_orders(struct sim_server *s);
void scene_have_done(struct scene *s, void (*what)(void));

/* Makes a call that must succeed. */
void scene_call(struct scene *s, size_t size, unsigned tag);

/* The counters now. */
struct vc_counters scene_counters(struct vc_runtime *runtime);
struct vc_counters scene_client(struct scene *s);
struct vc_counters scene_server(struct scene *s);

#endif
