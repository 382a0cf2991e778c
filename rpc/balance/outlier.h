/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Outlier detection, by gRPC's proposal A50: which servers of a channel are
 * ejected, that is not used for some time, as their calls fail much more often
 * than those of the others. Pure: results of calls and the time go in,
 * decisions come out. Times are in microseconds; `now_us` is vc__now().
 *
 * Any thread may count calls and read atomic fields, at any time. Sweeps and
 * resets of a channel are serialised by the caller, which calls them on the
 * holder (ejections.c); only they write the other fields, which are read on the
 * holder, too.
 *
 * Where the text of A50 leaves room, the rules are those of gRPC's
 * implementations, C++, Go and Java:
 * - No server is ejected while max_percent is reached, but one may always be;
 *   the text says exceeded.
 * - minimum_hosts counts the servers with enough calls for both methods.
 * And one rule is this library's: calls that end after their server was ejected
 * do not eject it again, which would prolong the ejection. Their results do
 * count for the mean and the deviation, as in A50.
 *
 * Called by: ejections.c (is_on, is_ejected, sweep, reset, length), outlier.c
 * (is_on, is_ejected, reset, length), servers.h (count), twin.c (begin),
 * server_line.c (is_ejected, times, until). */
#ifndef VC_RPC_OUTLIER_H
#define VC_RPC_OUTLIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In the order in which a sweep uses them. */
enum vc__outlier_method {
    VC__OUTLIER_SUCCESS_RATE,
    VC__OUTLIER_FAILURE_PERCENTAGE,
    VC__OUTLIER_METHODS
};

/* What the last sweep or reset has changed for a server. */
enum vc__outlier_change {
    VC__OUTLIER_SAME = 0,
    VC__OUTLIER_EJECTED,
    VC__OUTLIER_RETURNED,
};

/* The options of a method (verbcall/outlier.h). */
struct vc__outlier_rule {
    bool on;
    /* Of the success rate: the factor of the standard deviation, in
     * thousandths; of the failure percentage: its threshold. */
    uint32_t limit;
    uint32_t enforcement; /* the probability of an ejection, in percent */
    uint32_t minimum_hosts;
    uint32_t request_volume;
};

/* The options of a channel. */
struct vc__outlier_policy {
    uint64_t interval_us;     /* for the caller: from one sweep to the next */
    uint64_t base_us, max_us; /* of an ejection; base_us is 1..max_us */
    uint32_t max_percent;     /* of the servers that are ejected */
    struct vc__outlier_rule rule[VC__OUTLIER_METHODS];
};

/* The calls of a server in one interval. */
struct vc__outlier_calls {
    uint64_t good, bad;
};

/* The record of a server; zeroed before its first use. */
struct vc__outlier {
    /* True while the server is ejected. A hint for pickers. */
    atomic_bool ejected;

    /* Calls that ended since the last sweep: the active bucket of A50. */
    _Atomic uint64_t good, bad;

    /* The calls of the interval before: its inactive bucket. */
    struct vc__outlier_calls last;

    uint64_t since_us;   /* when the server was ejected, if it is */
    uint32_t multiplier; /* of base_us; A50's ejection time multiplier */

    /* For vc_channel_describe(), on any thread: how often it was ejected, and
     * until when it is, or was, at least. */
    _Atomic uint32_t times;
    _Atomic uint64_t until_us;

    /* For a log line about the last sweep. */
    enum vc__outlier_change change;
    enum vc__outlier_method method; /* of the last ejection; by success rate: */
    double mean;                    /* of the rates, 0..1, */
    unsigned hosts;                 /* of so many servers */
};

/* Outliers of all sweeps by method, for counters (gRPC's proposal A91). */
struct vc__outlier_counts {
    struct {
        uint64_t enforced;
        /* Not ejected: by chance, because of the enforcement percentage; and
         * because max_percent was reached. */
        uint64_t unenforced_chance, unenforced_overflow;
    } of[VC__OUTLIER_METHODS];
};

/* True if a method is on. If none is, calls need not be counted, and there is
 * no need for sweeps after vc__outlier_reset(). Any thread. */
static inline bool
vc__outlier_is_on(const struct vc__outlier_policy *p)
{
    return p->rule[VC__OUTLIER_SUCCESS_RATE].on ||
           p->rule[VC__OUTLIER_FAILURE_PERCENTAGE].on;
}

/* A call to this server has ended, with VC_OK or not. Any thread. */
static inline void
vc__outlier_count(struct vc__outlier *o, bool good)
{
    /* Relaxed: no other data depends on these counts. */
    atomic_fetch_add_explicit(good ? &o->good : &o->bad, 1,
                              memory_order_relaxed);
}

/* The server is another one: calls of this interval that have ended do not
 * count. Any thread. */
static inline void
vc__outlier_begin(struct vc__outlier *o)
{
    /* Relaxed, as above: a call that ends meanwhile may count for either. */
    atomic_store_explicit(&o->good, 0, memory_order_relaxed);
    atomic_store_explicit(&o->bad, 0, memory_order_relaxed);
}

/* True if the server is ejected, by the last sweep. Any thread. */
static inline bool
vc__outlier_is_ejected(const struct vc__outlier *o)
{
    /* Relaxed: no other data depends on it, and a choice that still sees the
     * old value is one of a moment before. */
    return atomic_load_explicit(&o->ejected, memory_order_relaxed);
}

/* How often it was ejected, and until when, at least. Any thread. Relaxed: only
 * the numbers matter. */
static inline unsigned
vc__outlier_times(const struct vc__outlier *o)
{
    return atomic_load_explicit(&o->times, memory_order_relaxed);
}

static inline uint64_t
vc__outlier_until(const struct vc__outlier *o)
{
    return atomic_load_explicit(&o->until_us, memory_order_relaxed);
}

/* Evaluates the interval that ends now, for the n servers that the channel has:
 * ejects servers, or lets them return, and sets `change` of each. Adds to
 * *counts what was found. If both methods are off it only does
 * vc__outlier_reset(). The caller owns the seed, and calls this every
 * p->interval_us: ejections_on_timer(), on the holder. */
void vc__outlier_sweep(struct vc__outlier *const *all, unsigned n,
                       const struct vc__outlier_policy *p, uint64_t now_us,
                       uint64_t *seed, struct vc__outlier_counts *counts);

/* Has all ejected servers return at once, and forgets their calls and their
 * multipliers; `times` stays. Sets `change` of each. Called by ejections.c, on
 * the holder, instead of a sweep while the channel has one server only, and by
 * vc__outlier_sweep() if both methods are off. */
void vc__outlier_reset(struct vc__outlier *const *all, unsigned n);

/* Returns how long the last ejection of this server lasts; at least, as the
 * server returns by a sweep. For a log line, and for vc__outlier_sweep(). */
uint64_t vc__outlier_length(const struct vc__outlier *o,
                            const struct vc__outlier_policy *p);

#endif
