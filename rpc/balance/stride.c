/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/stride.h, also for the threads. vc__stride_weigh() calls all
 * static functions but stride_takes(), directly or not. */
#include "rpc/balance/stride.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>

/* Known weights count as within these multiples of their mean. */
#define RATIO_MAX 10.0
#define RATIO_MIN 0.01

/* The numbers of A58. */
#define WEIGHT_MAX VC__STRIDE_WEIGHT_MAX
#define OFFSET     (WEIGHT_MAX / 2)

/* How weights become integers. */
struct stride_scale {
    double max;    /* higher weights count as this one */
    double factor; /* makes max WEIGHT_MAX */
    uint16_t mean, floor;
};

/* True if a weight is known: positive and finite, so it is no NaN. */
static bool
stride_weight_is_known(float weight)
{
    return weight > 0 && weight <= FLT_MAX;
}

/* The nearest integer. */
static uint16_t
stride_round(double weight)
{
    return (uint16_t)(weight + 0.5);
}

/* Returns how these weights become integers. One known weight is the mean, and
 * so all are equal. */
static struct stride_scale
stride_scale_of(const float *weights, unsigned n)
{
    struct stride_scale scale = {0};
    unsigned known = 0;
    double sum = 0, mean;

    for (unsigned i = 0; i < n; i++)
        if (stride_weight_is_known(weights[i])) {
            known++;
            sum += (double)weights[i];
            if ((double)weights[i] > scale.max)
                scale.max = (double)weights[i];
        }
    mean = known == 0 ? 1 : sum / known;
    if (known == 0)
        scale.max = mean;
    if (scale.max > RATIO_MAX * mean)
        scale.max = RATIO_MAX * mean;
    scale.factor = WEIGHT_MAX / scale.max;
    scale.mean = stride_round(scale.factor * mean);
    /* At least 66, as the mean is a tenth of WEIGHT_MAX at least: a weight of 0
     * would get no calls. */
    scale.floor = stride_round(scale.mean * RATIO_MIN);
    return scale;
}

/* The integer of a weight, floor..WEIGHT_MAX; the mean, if it is not known. */
static uint16_t
stride_scale_weight(const struct stride_scale *scale, float weight)
{
    double capped = (double)weight < scale->max ? (double)weight : scale->max;
    uint16_t scaled;

    if (!stride_weight_is_known(weight))
        return scale->mean;
    scaled = stride_round(capped * scale->factor);
    return scaled > scale->floor ? scaled : scale->floor;
}

void
vc__stride_weigh(struct vc__stride *s, const float *weights)
{
    struct stride_scale scale = stride_scale_of(weights, s->n);
    unsigned heaviest = 0, most = 0;

    for (unsigned i = 0; i < s->n; i++) {
        uint16_t weight = stride_scale_weight(&scale, weights[i]);

        atomic_store_explicit(&s->weights[i], weight, memory_order_relaxed);
        if (weight > most) {
            heaviest = i;
            most = weight;
        }
    }
    atomic_store_explicit(&s->heaviest, heaviest, memory_order_relaxed);
}

struct vc__stride *
vc__stride_new(const float *weights, unsigned n)
{
    struct vc__stride *s = malloc(sizeof *s + n * sizeof s->weights[0]);

    if (s == NULL)
        return NULL;
    s->n = n;
    vc__stride_weigh(s, weights);
    return s;
}

void
vc__stride_free(struct vc__stride *s)
{
    free(s);
}

/* True if the server takes its turn of this round: `weight` times in WEIGHT_MAX
 * rounds. Called by vc__stride_next(). */
static bool
stride_takes(const struct vc__stride *s, unsigned server, unsigned round)
{
    uint64_t weight = vc__stride_weight(s, server);

    return (weight * round + (uint64_t)server * OFFSET) % WEIGHT_MAX >=
           WEIGHT_MAX - weight;
}

unsigned
vc__stride_next(const struct vc__stride *s, atomic_uint *sequence)
{
    for (unsigned turns = 0; turns < s->n; turns++) {
        /* Relaxed: each thread needs a number of its own, and no other data
         * depends on it. */
        unsigned at =
            atomic_fetch_add_explicit(sequence, 1, memory_order_relaxed);

        if (stride_takes(s, at % s->n, at / s->n))
            return at % s->n;
    }
    /* The heaviest takes one of any n turns in succession. So others have taken
     * numbers meanwhile, or the sequence has begun anew, or weights are
     * changing. */
    return atomic_load_explicit(&s->heaviest, memory_order_relaxed);
}
