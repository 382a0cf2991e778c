/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/admission.h. Rates follow the generic cell rate algorithm
 * (ITU-T I.371, annex A): the state is one time instead of a number of tokens.
 * Static functions run within vc__admission_take(), on the holder of engine
 * 0. */
#include "cm/connect/admission.h"

#include <string.h>

#include "transport/core/random.h"

#define SECOND UINT64_C(1000000)
#define MS     UINT64_C(1000)

/* A handshake takes a few milliseconds, so half-open links end soon; when other
 * links end is unknown. */
#define HALF_OPEN_FIRST (20 * MS)
#define HALF_OPEN_STEP  (2 * MS)
#define LINKS_FIRST     (100 * MS)
#define LINKS_STEP      (5 * MS)

void
vc__admission_init(struct vc__admission *a,
                   const struct vc__admission_limits *limits, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    a->limits = *limits;
    a->seed = seed;
}

/* --- when to come again ------------------------------------------------ */

/* Returns the retry time (ms) of the next place in a queue whose places are
 * `step` apart, not before now + wait. If that is over VC__ADMISSION_RETRY_MS,
 * returns a random time in the second half of VC__ADMISSION_RETRY_MS. For
 * vc__admission_take() and rate_fits(). */
static uint32_t
admission_place(struct vc__admission *a, uint64_t *queue, uint64_t now,
                uint64_t wait, uint64_t step)
{
    uint64_t longest = VC__ADMISSION_RETRY_MS * MS;
    uint64_t at = *queue > now + wait ? *queue : now + wait;

    if (at - now > longest)
        return VC__ADMISSION_RETRY_MS / 2 +
               vc__random_below(&a->seed, VC__ADMISSION_RETRY_MS / 2 + 1);
    *queue = at + step;
    return (uint32_t)((at - now + MS - 1) / MS);
}

/* --- rates ------------------------------------------------------------- */

/* Microseconds between two connects at this rate, which is not 0. For the three
 * functions after it. */
static uint64_t
admission_interval(uint32_t per_second)
{
    return SECOND / per_second;
}

/* Microseconds until one more is within the rate; 0: it is now. For
 * rate_fits(). */
static uint64_t
rate_wait(const struct vc__rate *r, uint64_t now, uint32_t per_second)
{
    uint64_t ahead = admission_interval(per_second) * (per_second - 1);

    return r->full > now + ahead ? r->full - ahead - now : 0;
}

/* Counts one more, which is within the rate. For vc__admission_take() and
 * rates_take(). */
static void
rate_take(struct vc__rate *r, uint64_t now, uint32_t per_second)
{
    r->full = (r->full > now ? r->full : now) + admission_interval(per_second);
}

/* True if there is no limit or one more is within it; else sets *retry_ms. For
 * vc__admission_take() and rates_take(). */
static bool
rate_fits(struct vc__admission *a, struct vc__rate *r, uint64_t now,
          uint32_t per_second, uint32_t *retry_ms)
{
    uint64_t wait = per_second == 0 ? 0 : rate_wait(r, now, per_second);

    if (wait != 0)
        *retry_ms = admission_place(a, &r->queue, now, wait,
                                    admission_interval(per_second));
    return wait == 0;
}

/* --- sources ----------------------------------------------------------- */

/* The entry of this source, never NULL; marks it as seen. A new source takes
 * the place of the one that was away longest. Called by rates_take() if there
 * is a limit for each source. */
static struct vc__source_rate *
source_find(struct vc__admission *a, uint64_t now, const uint8_t addr[16])
{
    struct vc__source_rate *oldest = &a->sources[0];

    for (unsigned i = 0; i < VC__ADMISSION_SOURCES; i++) {
        struct vc__source_rate *s = &a->sources[i];

        if (s->seen != 0 && memcmp(s->addr, addr, sizeof s->addr) == 0) {
            s->seen = now + 1;
            return s;
        }
        if (s->seen < oldest->seen)
            oldest = s;
    }
    memset(oldest, 0, sizeof *oldest);
    memcpy(oldest->addr, addr, sizeof oldest->addr);
    oldest->seen = now + 1; /* never 0 */
    return oldest;
}

/* --- requests ---------------------------------------------------------- */

/* Judges a request by the rates, and counts it if it is within them. If not,
 * returns false with *retry_ms and *text. For vc__admission_take(). */
static bool
rates_take(struct vc__admission *a, uint64_t now, const uint8_t source[16],
           uint32_t *retry_ms, const char **text)
{
    const struct vc__admission_limits *l = &a->limits;
    struct vc__source_rate *s =
        l->per_second_source == 0 ? NULL : source_find(a, now, source);

    if (s != NULL &&
        !rate_fits(a, &s->rate, now, l->per_second_source, retry_ms)) {
        *text = "the limit connects_per_second_source of the server is reached";
        return false;
    }
    if (!rate_fits(a, &a->all, now, l->per_second, retry_ms)) {
        *text = "the limit connects_per_second of the server is reached";
        return false;
    }
    if (s != NULL)
        rate_take(&s->rate, now, l->per_second_source);
    if (l->per_second != 0)
        rate_take(&a->all, now, l->per_second);
    return true;
}

/* True if the server has shed a call a moment ago. For vc__admission_take(). */
static bool
admission_sheds(const struct vc__admission *a, uint64_t now)
{
    uint64_t shed = atomic_load_explicit(&a->shed, memory_order_relaxed);

    return shed != 0 && now <= shed + VC__ADMISSION_SHEDDING_US;
}

bool
vc__admission_take(struct vc__admission *a, uint64_t now,
                   const uint8_t source[16], bool resumes, uint32_t *retry_ms,
                   const char **text)
{
    bool slow = !resumes && admission_sheds(a, now);

    if (atomic_load(&a->links) >= a->limits.links) {
        *retry_ms =
            admission_place(a, &a->links_queue, now, LINKS_FIRST, LINKS_STEP);
        *text = "the limit max_links of the server is reached";
        return false;
    }
    if (atomic_load(&a->half_open) >= a->limits.half_open) {
        *retry_ms = admission_place(a, &a->half_open_queue, now,
                                    HALF_OPEN_FIRST, HALF_OPEN_STEP);
        *text = "the limit max_half_open of the server is reached";
        return false;
    }
    if (slow &&
        !rate_fits(a, &a->shedding, now, VC__ADMISSION_SHEDDING, retry_ms)) {
        *text = "overloaded";
        return false;
    }
    if (!rates_take(a, now, source, retry_ms, text))
        return false;
    if (slow)
        rate_take(&a->shedding, now, VC__ADMISSION_SHEDDING);
    atomic_fetch_add(&a->links, 1);
    atomic_fetch_add(&a->half_open, 1);
    return true;
}

void
vc__admission_trust(struct vc__admission *a)
{
    atomic_fetch_sub(&a->half_open, 1);
}

void
vc__admission_gone(struct vc__admission *a, bool trusted)
{
    if (!trusted)
        atomic_fetch_sub(&a->half_open, 1);
    atomic_fetch_sub(&a->links, 1);
}
