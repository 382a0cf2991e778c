/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits how many handlers of a method may wait for others, such as a database,
 * at a time, so that those others are not overloaded. Given more requests at a
 * time than it can do, a database takes longer, and so do the handlers. Pure:
 * times go in, a number comes out (doc/overload.md). Only
 * rpc/server/server_adapt.c calls these functions, except vc__gradient_init(),
 * all under the lock of struct vc__adaptive: left, begin and turned_down in
 * vc__adapt_take(), on the holder of an engine; ran in vc__adapt_ran(), on the
 * handler's thread; forget in vc__adapt_forget(), on the handler's thread or
 * the holder. Times are in microseconds; `now` is vc__now().
 *
 * The number follows the ratio of two times: what runs take when few are under
 * way (the baseline), and what runs take now. A quarter more is allowed, and
 * the number's square root is added: the gradient of Netflix'
 * concurrency-limits. There the baseline follows the measured times, so it
 * creeps up under a lasting load. Here it is measured only while at most half
 * of the limit is under way. If that does not happen by itself, the limit is
 * halved for a moment (a probe), as in Envoy's adaptive concurrency filter. One
 * measurement (a round) takes a fixed number of runs in the order in which they
 * began: otherwise the quickest runs would stand for all.
 *
 * Called by: service.c (init), server_adapt.c (left, begin, turned_down, ran,
 * forget). */
#ifndef VC_RPC_GRADIENT_H
#define VC_RPC_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

/* The lowest limit; and the first one. */
#define VC__GRADIENT_MIN   3u
#define VC__GRADIENT_FIRST 16u

/* A round: runs of a method that began one after the other, while few were
 * under way. */
struct vc__gradient_round {
    uint32_t number;       /* from 1; 0 is none */
    uint32_t begun, ended; /* runs; `ended` counts forgotten ones, too */
    uint32_t valid;        /* runs that ended while few were under way, too */
    uint64_t since;        /* when the first began, or the probe did */
    uint64_t sum_us;
};

struct vc__gradient {
    uint32_t most; /* the highest limit */
    uint32_t limit;
    uint32_t running;
    uint32_t highest; /* the most `running`, in the window */
    bool probes;      /* true in a probe: only half may run */
    uint64_t probe;   /* no probe before this time */
    uint64_t baseline_us;
    struct vc__gradient_round round;
    /* The window: all runs that ended since. */
    uint64_t since, sum_us;
    uint32_t n;
};

/* Makes the first limit. `most` is the option adaptive_limit. Called by
 * adaptives_make() (rpc/server/service.c) for each method of a service with
 * such a limit when it is added, on any thread, without the lock: no other
 * thread knows the method yet. */
void vc__gradient_init(struct vc__gradient *g, uint32_t most);

/* Returns how many more runs of that priority (enum vc_priority) may begin, 0
 * for none: a sheddable call has a limit a quarter lower, a critical one a
 * quarter higher. first: no handler of the call's client runs, as far as they
 * count; such a call need not wait for the end of a probe. */
uint32_t vc__gradient_left(const struct vc__gradient *g, uint32_t priority,
                           bool first);

/* A run begins, or will once a thread is free. Counts it. Returns the number of
 * the round that the run is measured for, or 0 for none: the caller passes it
 * to ran or forget. */
uint32_t vc__gradient_begin(struct vc__gradient *g, uint64_t now);

/* A run was turned down, since vc__gradient_left() has left it no place, or the
 * client has its share of places already. May begin a probe. */
void vc__gradient_turned_down(struct vc__gradient *g, uint64_t now);

/* A run that vc__gradient_begin() counted has ended, and took `us`. `round` is
 * what that has returned. May change the limit, and the baseline. */
void vc__gradient_ran(struct vc__gradient *g, uint64_t now, uint32_t round,
                      uint64_t us);

/* A run that vc__gradient_begin() counted has not taken place, or its time says
 * nothing. The limit stays, but the end of the round may change the
 * baseline. */
void vc__gradient_forget(struct vc__gradient *g, uint64_t now, uint32_t round);

#endif
