/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One end of transport/ud/reliable.h, for the tests of its rules. Include it
 * after cmocka.h. */
#ifndef VC_TESTS_UNIT_RELIABLE_RIG_H
#define VC_TESTS_UNIT_RELIABLE_RIG_H

#include "transport/ud/reliable.h"

#define MS     UINT64_C(1000)
#define NEVER  UINT64_MAX
#define WINDOW VC__RELIABLE_WINDOW
#define TRIES  4u

/* An end whose next sequence, and that of its peer, is this. */
static inline struct vc__reliable
end_at(uint32_t sequence)
{
    struct vc__reliable r;

    vc__reliable_init(&r, TRIES);
    r.next = r.unacked = r.recover = r.expected = sequence;
    return r;
}

/* An end that may send n at a time, and has measured round trips of 10 ms. */
static inline struct vc__reliable
end_with_window(uint32_t n)
{
    struct vc__reliable r = end_at(1);

    r.window = n;
    r.srtt = 10 * MS;
    r.rto = VC__RELIABLE_RTO_MIN;
    return r;
}

static inline void
send_all(struct vc__reliable *r, unsigned n, uint64_t now)
{
    for (unsigned i = 0; i < n; i++)
        vc__reliable_send(r, now);
}

/* Everything before `ack` has been received. */
static inline void
acknowledge(struct vc__reliable *r, uint32_t ack, uint64_t now)
{
    assert_true(vc__reliable_acknowledged(r, ack, 0, now));
}

/* `sequence` has been received, besides those of which the end knows. */
static inline void
report(struct vc__reliable *r, uint32_t sequence, uint64_t now)
{
    assert_true(vc__reliable_acknowledged(
        r, r->unacked, 1u << (sequence - r->unacked - 1), now));
}

/* The sequence that is sent again now; 0: none. */
static inline uint32_t
resend(struct vc__reliable *r, uint64_t now)
{
    uint32_t sequence;

    return vc__reliable_resend(r, now, &sequence) ? sequence : 0;
}

/* Waits for a timeout, and sends again the datagram `sequence`. Returns how
 * long that took since `now`. */
static inline uint64_t
time_out(struct vc__reliable *r, uint64_t now, uint32_t sequence)
{
    uint64_t due = vc__reliable_due(r);

    assert_int_equal(resend(r, due - 1), 0);
    assert_int_equal(resend(r, due), sequence);
    assert_int_equal(resend(r, due), 0);
    return due - now;
}

/* Lets all the timeouts pass for one datagram. Returns when the last did. */
static inline uint64_t
fall_quiet(struct vc__reliable *r)
{
    uint64_t now = 0;

    vc__reliable_send(r, 0);
    while (!vc__reliable_is_quiet(r)) {
        now = vc__reliable_due(r);
        resend(r, now);
    }
    return now;
}

static inline enum vc__reliable_kind
receive(struct vc__reliable *r, uint32_t sequence, uint64_t now)
{
    return vc__reliable_received(r, sequence, false, now);
}

#endif
