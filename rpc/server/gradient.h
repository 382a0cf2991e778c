/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many handlers of a method may wait for others at a time, so that those
 * they wait for are not overloaded: who is asked for more at a time than he can
 * do takes longer, and so do the handlers. Times go in, a number comes out: pure,
 * the owner serialises (doc/overload.md).
 *
 * The number follows the ratio of the time that runs take when few are under way,
 * the baseline, to what they take now, with a quarter more allowed, and room for
 * its square root: the gradient of Netflix' concurrency-limits. There the
 * baseline follows what is measured, so that it creeps up under a load that
 * stays; here it is measured when half as many as may are under way, and if that
 * does not come by itself half as many may for a moment, as in Envoy's adaptive
 * concurrency filter. A round of measuring is so many runs in the order in which
 * they began, as the quickest would else be taken for all. */
#ifndef VC_RPC_GRADIENT_H
#define VC_RPC_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

/* The limit at least; and at first. */
#define VC__GRADIENT_MIN   3u
#define VC__GRADIENT_FIRST 16u

/* Runs of a method that began one after the other, with few under way. */
struct vc__gradient_round {
    uint32_t number; /* from 1; 0 is none */
    uint32_t begun, ended;
    uint32_t valid; /* of those that ended: few were under way then, too */
    uint64_t since; /* the first began, or the probe did */
    uint64_t sum_us;
};

struct vc__gradient {
    uint32_t most; /* the limit at most */
    uint32_t limit;
    uint32_t running;
    uint32_t highest; /* of `running`, in the window */
    bool probes;      /* half as many may run, until it is */
    uint64_t probe;   /* not before */
    uint64_t baseline_us;
    struct vc__gradient_round round;
    /* The window: all runs that ended since. */
    uint64_t since, sum_us;
    uint32_t n;
};

void vc__gradient_init(struct vc__gradient *g, uint32_t most);

/* How many more may begin, of that priority (enum vc_priority): a quarter less
 * of what is sheddable, a quarter more of what is critical. first: none of its
 * client runs; such a call need not wait until the baseline is measured. */
uint32_t vc__gradient_left(const struct vc__gradient *g, uint32_t priority,
                           bool first);

/* One begins: the number of the round that it is measured for, or 0. */
uint32_t vc__gradient_begin(struct vc__gradient *g, uint64_t now);

/* One was turned down. */
void vc__gradient_turned_down(struct vc__gradient *g, uint64_t now);

/* One that began has run so long. */
void vc__gradient_ran(struct vc__gradient *g, uint64_t now, uint32_t round,
                      uint64_t us);

/* It has not run after all, or how long says nothing. */
void vc__gradient_forget(struct vc__gradient *g, uint64_t now, uint32_t round);

#endif
