/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Admission control of a server. It limits the links at a time, the half-open
 * links (no good packet yet), and the connects a second, in all and per source
 * address. While the server sheds calls of its present clients, it admits only
 * a few new ones. A refused client gets a time to retry; each gets another
 * time, so that clients refused together do not return together.
 *
 * Pure: the caller passes the clock (microseconds) and the random seed. One
 * thread judges the requests, the holder of the engine that listens: engine 0.
 * Functions marked "any thread" may run concurrently with it.
 *
 * Called by: rpc/server/server.c (init, take, gone), rpc/server/server_shed.c
 * (shed), rpc/server/server_link.c (trust, gone). */
#ifndef VC_CM_ADMISSION_H
#define VC_CM_ADMISSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Source addresses remembered. A new one replaces the least recently seen. */
#define VC__ADMISSION_SOURCES  256u
#define VC__ADMISSION_RATE_MAX 1000000u
/* The longest retry time given to a client; most would give up on a longer
 * one. */
#define VC__ADMISSION_RETRY_MS 1000u
/* Connects a second while the server sheds calls, which is taken to be so for
 * VC__ADMISSION_SHEDDING_US after the last shed call. */
#define VC__ADMISSION_SHEDDING    10u
#define VC__ADMISSION_SHEDDING_US 200000u

/* A rate limit with bursts of up to one second's worth. */
struct vc__rate {
    uint64_t full;  /* when the whole burst is available again */
    uint64_t queue; /* the retry time given to the next refused client */
};

struct vc__source_rate {
    uint8_t addr[16]; /* IPv4 mapped into IPv6 */
    uint64_t seen;    /* when last seen; 0: the entry is free */
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
    atomic_uint links;     /* accepted, or about to be */
    atomic_uint half_open; /* those of them without a good packet yet */
    atomic_ullong shed;    /* when a call was last shed */
};

/* Called by vc_server_new() when the server is made, before any request. The
 * seed is that of the retry times. */
void vc__admission_init(struct vc__admission *a,
                        const struct vc__admission_limits *limits,
                        uint64_t seed);

/* Judges a connect request; `resumes`: the client says that its sessions wait
 * for the link. Returns true if admitted; the request then counts as a
 * half-open link. False: it must be rejected as busy; the client may retry
 * after *retry_ms, and *text, a constant, says why. Called last by
 * server_turn_away() (rpc/server/server.c), for each good hello that it has not
 * rejected. For one that is rejected later vc__admission_gone() is called. */
bool vc__admission_take(struct vc__admission *a, uint64_t now,
                        const uint8_t source[16], bool resumes,
                        uint32_t *retry_ms, const char **text);

/* Records that a call was shed. Any thread: the holder of any engine. */
static inline void
vc__admission_shed(struct vc__admission *a, uint64_t now)
{
    /* Relaxed: only the time itself is needed. */
    atomic_store_explicit(&a->shed, now, memory_order_relaxed);
}

/* The link's first packet was good: it is no longer half-open. Called by
 * on_trusted() of rpc/server/server_link.c. Any thread: the holder of the
 * link's engine. */
void vc__admission_trust(struct vc__admission *a);

/* The link has ended or never came up. `trusted` is true if
 * vc__admission_trust() was called for it. Any thread: the holder of the engine
 * that has the link, or was to have it, or of engine 0. */
void vc__admission_gone(struct vc__admission *a, bool trusted);

#endif
