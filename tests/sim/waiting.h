/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that wait until they are told that nobody waits for their reply, and
 * callers that give up. */
#ifndef VC_TESTS_SIM_WAITING_H
#define VC_TESTS_SIM_WAITING_H

#include "tests/sim/caller.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define PATIENCE (100 * S)
#define SEEDS    8u

/* What a handler does, by the tag of its call. */
enum {
    ECHOES,
    IS_TOLD,     /* waits until it is told */
    ASKS,        /* asks until it is so */
    IS_NOT_TOLD, /* took its function away */
    TAGS
};

/* What handlers saw; of the world that runs. */
extern struct waiting_seen {
    atomic_uint begun, told, ended;
    atomic_ullong ended_at;
} waiting_seen;

/* Starts one without a deadline, of so many bytes or of a few; with
 * a canceller of its own, or this one. */
void caller_start_long(struct caller *c, struct vc_channel *channel,
                       unsigned tag, size_t size);
void caller_start(struct caller *c, struct vc_channel *channel, unsigned tag);
void caller_start_with(struct caller *c, struct vc_channel *channel,
                       unsigned tag, size_t size,
                       struct vc_canceller *canceller);

/* Cancels it: it returns soon, with this outcome. */
void caller_cancel(struct caller *c, enum vc_outcome outcome);

/* The server's handler. */
sim_handle waiting_handle;

/* Has a client do this, in some worlds; quota is its channel's. */
void waiting_play(void (*act)(struct scene *s), size_t quota);

#endif
