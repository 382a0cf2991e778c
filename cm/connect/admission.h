/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many may connect: links at a time, links that have not proved anything
 * yet, and connects a second, in all and of one source address; and few, while
 * the server sheds calls of those that it has. Who is refused
 * learns when to come again, each another time, so that those who were refused
 * together do not come back together.
 *
 * Pure: the clock (microseconds) and chance come from the caller. The requests
 * are judged by one thread; what says "any thread" may run together with
 * it. */
#ifndef VC_CM_ADMISSION_H
#define VC_CM_ADMISSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sources that are remembered. The one that was away longest makes room. */
#define VC__ADMISSION_SOURCES  256u
#define VC__ADMISSION_RATE_MAX 1000000u
/* No client is sent away for longer: most would give up. */
#define VC__ADMISSION_RETRY_MS 1000u
/* A second, while calls are shed; which is so for some time after one was. */
#define VC__ADMISSION_SHEDDING    10u
#define VC__ADMISSION_SHEDDING_US 200000u

/* A rate, with bursts of one second's worth. */
struct vc__rate {
    uint64_t full;  /* when all of the burst may be had again */
    uint64_t queue; /* who is refused now is told to come then */
};

struct vc__source_rate {
    uint8_t addr[16]; /* IPv4 mapped into IPv6 */
    uint64_t seen;    /* 0: free */
    struct vc__rate rate;
};

struct vc__admission_limits {
    unsigned links, half_open;
    uint32_t per_second, per_second_source; /* 0: no limit */
};

struct vc__admission {
    struct vc__admission_limits limits;
    uint64_t seed;
    struct vc__rate all, shedding;
    uint64_t links_queue, half_open_queue;
    struct vc__source_rate sources[VC__ADMISSION_SOURCES];

    /* Any thread. */
    atomic_uint links;     /* accepted or about to be */
    atomic_uint half_open; /* of them, those without a good packet yet */
    atomic_ullong shed;    /* when a call was shed last */
};

void vc__admission_init(struct vc__admission *a,
                        const struct vc__admission_limits *limits,
                        uint64_t seed);

/* A request of this source; resumes: of a client whose sessions wait for it.
 * True: it counts as a link, half open. False: it is to be rejected as busy, and
 * try again after *retry_ms; *text says why. */
bool vc__admission_take(struct vc__admission *a, uint64_t now,
                        const uint8_t source[16], bool resumes,
                        uint32_t *retry_ms, const char **text);

/* A call was shed. Any thread. */
static inline void
vc__admission_shed(struct vc__admission *a, uint64_t now)
{
    /* Relaxed: only the time counts. */
    atomic_store_explicit(&a->shed, now, memory_order_relaxed);
}

/* Its first packet was good. Any thread. */
void vc__admission_trust(struct vc__admission *a);

/* The link is gone, or did not come about. Any thread. */
void vc__admission_gone(struct vc__admission *a, bool trusted);

#endif
