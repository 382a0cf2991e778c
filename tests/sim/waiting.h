/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that wait until their call is cancelled, and callers that cancel. */
#ifndef VC_TESTS_SIM_WAITING_H
#define VC_TESTS_SIM_WAITING_H

#include "tests/sim/caller.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define PATIENCE (100 * S)
#define SEEDS    sim_few(8u)

/* What a handler does, by the tag of its call. */
enum {
    ECHOES,
    IS_TOLD,     /* waits for on_cancel */
    ASKS,        /* polls vc_call_is_cancelled() */
    IS_NOT_TOLD, /* has removed its on_cancel */
    TAGS
};

/* What the handlers saw; of the current world. */
extern struct waiting_seen {
    atomic_uint begun, told, ended;
    atomic_ullong ended_at;
} waiting_seen;

/* Start a call without a timeout of its own, with `size` or 64 bytes of
 * payload, and with a new canceller or this one. */
void caller_start_long(struct caller *c, struct vc_channel *channel,
                       unsigned tag, size_t size);
void caller_start(struct caller *c, struct vc_channel *channel, unsigned tag);
void caller_start_with(struct caller *c, struct vc_channel *channel,
                       unsigned tag, size_t size,
                       struct vc_canceller *canceller);

/* Cancels the call. It must return within 10 ms, with this outcome. */
void caller_cancel(struct caller *c, enum vc_outcome outcome);

/* The server's handler. */
sim_handle waiting_handle;

/* The server's options, or NULL. */
extern const struct vc_server_opts *waiting_server_opts;

/* Runs act() in a client, in some worlds; quota is its channel's. */
void waiting_play(void (*act)(struct scene *s), size_t quota);

#endif
