/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Weighted round robin: chooses servers so that each gets calls in proportion
 * to its weight, with one atomic number as its only state. This is gRPC's
 * static stride scheduler (A58).
 *
 * The sequence number of a choice stands for a server and a round. In each
 * round each server has one turn. The heaviest takes all of its turns; one of a
 * tenth of its weight takes every tenth. Servers of one weight take theirs in
 * two different rounds, by whether their numbers are even or odd. So a server
 * that is much heavier than all others gets several calls in a row.
 *
 * Any threads may choose at the same time, also while one gives the servers
 * other weights. The sequence goes on with these, or with another scheduler;
 * the caller owns it.
 *
 * Called by: server_set.c (new, weigh, free), stride.c (weigh, weight),
 * picker.c (weight, next), picker.h (next). */
#ifndef VC_RPC_STRIDE_H
#define VC_RPC_STRIDE_H

#include <stdatomic.h>
#include <stdint.h>

/* The heaviest server has this weight. */
#define VC__STRIDE_WEIGHT_MAX UINT16_MAX

struct vc__stride {
    unsigned n;
    /* Relaxed: a choice that meets new weights goes by the former or the new
     * one of each server, which only shifts shares for a moment. */
    atomic_uint heaviest;       /* the first server of VC__STRIDE_WEIGHT_MAX */
    _Atomic uint16_t weights[]; /* 1..VC__STRIDE_WEIGHT_MAX */
};

/* Makes a scheduler for n servers, at least one, for vc__server_set_arrange(),
 * on its thread; NULL if memory is short. A weight is any positive number: only
 * its ratio to the others counts, up to ten times the mean of all, and from a
 * hundredth of it. Any other number, as 0 or NaN, stands for an unknown weight:
 * that server gets the mean. With fewer than two known weights all shares are
 * equal. Free it by vc__stride_free(). */
struct vc__stride *vc__stride_new(const float *weights, unsigned n);

/* The servers have these weights from now on: as many as in vc__stride_new(),
 * which calls it, too. Called by vc__server_set_weigh(), on the holder or a
 * thread that changes the servers, one at a time. */
void vc__stride_weigh(struct vc__stride *s, const float *weights);

/* Returns the integer weight that a server has now. Any thread. */
static inline unsigned
vc__stride_weight(const struct vc__stride *s, unsigned server)
{
    return atomic_load_explicit(&s->weights[server], memory_order_relaxed);
}

/* Frees the scheduler, which no thread uses any more. NULL is allowed. Called
 * by vc__server_set_free(). */
void vc__stride_free(struct vc__stride *s);

/* Returns the number of the server that is next in turn, and advances the
 * sequence. Takes no lock, and looks at each server once at most. Any thread
 * that chooses a server. */
unsigned vc__stride_next(const struct vc__stride *s, atomic_uint *sequence);

#endif
