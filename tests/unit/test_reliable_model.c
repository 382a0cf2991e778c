/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two ends of transport/ud/reliable.h on a bad wire: datagrams are lost,
 * duplicated, delayed and reordered; a direction is cut or clogged for a time,
 * and an end restarts. Each seed is a world of its own, on a simulated clock.
 * Everything must be delivered once and in order. The number of a seed as
 * argument runs that world alone. 10^4 worlds run with VC_TEST_LONG=1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/ud/reliable.h"

#define WORLDS      200u
#define WORLDS_LONG 10000u
#define MS          UINT64_C(1000)
#define NEVER       UINT64_MAX
#define WINDOW      VC__RELIABLE_WINDOW
#define ROOM        4096u
#define PING_US     (1000 * MS) /* how often a caller asks a quiet peer */
#define LONGEST     (3600 * 1000 * MS)

struct datagram {
    uint64_t at; /* when it arrives */
    uint64_t order;
    uint32_t generation; /* stands for the key */
    uint32_t sequence;   /* 0: no data */
    uint32_t number, ack, sack;
    bool asks, ping;
    unsigned to;
};

struct place {
    uint32_t sequence; /* 0: empty */
    uint32_t number;
};

struct end {
    struct vc__reliable r;
    uint32_t generation;
    uint32_t left, queued; /* to be queued; to be sent */
    uint32_t made, delivered;
    uint64_t queues_at, learns_at, pings_at;
    uint64_t wakes, sends; /* by due(); in all */
    struct place sent[WINDOW], ahead[WINDOW];
};

struct direction {
    uint64_t free_at, cut_until, clogged_until;
};

/* How bad the wire is; probabilities in percent. */
struct nature {
    uint32_t loss, twice, reorder;
    bool passes; /* what is reordered comes at once, as netem does it */
    uint32_t delay, jitter;
    uint32_t total, burst, pause_us;
    uint32_t troubles;
    uint32_t first; /* sequence */
};

static struct {
    uint64_t seed0, seed, now, order, trouble_at;
    struct nature is;
    struct end ends[2];
    struct direction to[2];
    struct datagram wire[ROOM]; /* a heap: the next one to arrive is first */
    size_t n;
    uint64_t made, resent;
} w;

#define must(fact)                                                             \
    do {                                                                       \
        if (!(fact))                                                           \
            fail_msg("world %llu, %llu us, line %d: %s",                       \
                     (unsigned long long)w.seed0, (unsigned long long)w.now,   \
                     __LINE__, #fact);                                         \
    } while (0)

static uint32_t
any(uint32_t n)
{
    return random_below(&w.seed, n);
}

static bool
happens(uint32_t percent)
{
    return any(100) < percent;
}

/* --- the wire ---------------------------------------------------------- */

static bool
is_sooner(const struct datagram *a, const struct datagram *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void
wire_put(struct datagram d)
{
    size_t i = w.n++;

    must(i < ROOM);
    d.order = w.order++;
    for (; i > 0 && is_sooner(&d, &w.wire[(i - 1) / 2]); i = (i - 1) / 2)
        w.wire[i] = w.wire[(i - 1) / 2];
    w.wire[i] = d;
}

static struct datagram
wire_take(void)
{
    struct datagram first = w.wire[0], last = w.wire[--w.n];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < w.n) {
        if (child + 1 < w.n && is_sooner(&w.wire[child + 1], &w.wire[child]))
            child++;
        if (!is_sooner(&w.wire[child], &last))
            break;
        w.wire[i] = w.wire[child];
        i = child;
    }
    w.wire[i] = last;
    return first;
}

/* When what is sent now arrives: 1 us on the wire, and the delay. */
static uint64_t
arrival(struct direction *to)
{
    uint64_t delay = w.is.delay + any(w.is.jitter + 1);

    to->free_at = (to->free_at > w.now ? to->free_at : w.now) + 1;
    if (happens(w.is.reorder))
        delay = w.is.passes ? 0 : delay + any(w.is.delay + 1);
    delay += to->free_at;
    return delay > to->clogged_until ? delay : to->clogged_until;
}

static void
wire_send(struct datagram d)
{
    struct direction *to = &w.to[d.to];

    if (w.now < to->cut_until || happens(w.is.loss))
        return;
    d.at = arrival(to);
    wire_put(d);
    if (happens(w.is.twice)) {
        d.at = arrival(to);
        wire_put(d);
    }
}

/* --- an end ------------------------------------------------------------ */

static void
end_transmit(struct end *e, uint32_t sequence, bool ping)
{
    const struct place *p = &e->sent[sequence % WINDOW];
    struct datagram d = {
        .generation = e->generation,
        .sequence = sequence,
        .to = e == &w.ends[0],
        .asks = e->queued == 0 || happens(10),
        .ping = ping,
    };

    if (sequence != 0) {
        must(p->sequence == sequence);
        d.number = p->number;
    }
    vc__reliable_ack(&e->r, &d.ack, &d.sack);
    e->sends++;
    wire_send(d);
}

static void
end_send_new(struct end *e)
{
    uint32_t sequence = vc__reliable_send(&e->r, w.now);
    struct place *p = &e->sent[sequence % WINDOW];

    must(p->sequence == 0 && sequence != 0);
    p->sequence = sequence;
    p->number = ++e->made;
    w.made++;
    e->queued--;
    end_transmit(e, sequence, false);
}

/* What must be true whenever an end has nothing to do now. */
static void
end_check(struct end *e)
{
    uint64_t due = vc__reliable_due(&e->r);
    unsigned held = 0, ahead = 0;

    for (unsigned i = 0; i < WINDOW; i++) {
        held += e->sent[i].sequence != 0;
        ahead += e->ahead[i].sequence != 0;
    }
    must(e->r.next - e->r.unacked <= WINDOW && ahead < WINDOW);
    must((held == 0) == (e->r.next == e->r.unacked));
    must(due > w.now);
    if (held > 0 && !vc__reliable_is_quiet(&e->r))
        must(due <= w.now + VC__RELIABLE_RTO_MAX);
    must(e->r.window >= 1 && e->r.window <= WINDOW);
}

static void
end_work(struct end *e)
{
    uint32_t sequence;

    while (vc__reliable_resend(&e->r, w.now, &sequence))
        end_transmit(e, sequence, false);
    while (e->queued > 0 && vc__reliable_room(&e->r) > 0)
        end_send_new(e);
    if (vc__reliable_ack_due(&e->r, w.now))
        end_transmit(e, 0, false);
    if (!vc__reliable_is_quiet(&e->r))
        e->pings_at = NEVER;
    else if (e->pings_at == NEVER)
        e->pings_at = w.now + PING_US;
    end_check(e);
}

static void
end_deliver(struct end *e, uint32_t number)
{
    must(number == e->delivered + 1);
    e->delivered++;
}

/* The expected one, and those after it that arrived before it. */
static void
end_take(struct end *e, uint32_t sequence, uint32_t number)
{
    end_deliver(e, number);
    while (++sequence != e->r.expected) {
        struct place *p = &e->ahead[sequence % WINDOW];

        if (sequence == 0)
            continue;
        must(p->sequence == sequence);
        end_deliver(e, p->number);
        p->sequence = 0;
    }
}

static void
end_receive(struct end *e, const struct datagram *d)
{
    struct place *p = &e->ahead[d->sequence % WINDOW];

    switch (vc__reliable_received(&e->r, d->sequence, d->asks, w.now)) {
    case VC__RELIABLE_NEXT:
        end_take(e, d->sequence, d->number);
        break;
    case VC__RELIABLE_AHEAD:
        must(p->sequence == 0);
        p->sequence = d->sequence;
        p->number = d->number;
        break;
    case VC__RELIABLE_AGAIN:
        break;
    default:
        must(!"outside");
    }
}

static void
end_arrived(struct end *e, const struct datagram *d)
{
    uint32_t before = e->r.unacked;

    if (d->generation != e->generation)
        return;
    if (happens(50)) /* in either order */
        vc__reliable_heard(&e->r, w.now);
    must(vc__reliable_acknowledged(&e->r, d->ack, d->sack, w.now));
    vc__reliable_heard(&e->r, w.now);
    for (; before != e->r.unacked; before++)
        e->sent[before % WINDOW].sequence = 0;
    if (d->sequence != 0)
        end_receive(e, d);
    if (d->ping)
        end_transmit(e, 0, false);
    end_work(e);
}

static void
end_begin(struct end *e, uint32_t generation)
{
    w.resent += e->r.resent;
    vc__reliable_init(&e->r, 2 + any(6));
    e->r.next = e->r.unacked = e->r.recover = e->r.expected = w.is.first;
    e->generation = generation;
    e->left += e->queued;
    e->queued = e->made = e->delivered = 0;
    e->queues_at = e->left > 0 ? w.now + any(10000) : NEVER;
    e->learns_at = e->pings_at = NEVER;
    memset(e->sent, 0, sizeof e->sent);
    memset(e->ahead, 0, sizeof e->ahead);
}

static void
end_queue(struct end *e)
{
    uint32_t n = 1 + any(w.is.burst);

    if (n > e->left)
        n = e->left;
    e->left -= n;
    e->queued += n;
    e->queues_at = e->left > 0 ? w.now + any(w.is.pause_us + 1) : NEVER;
    end_work(e);
}

/* --- the world --------------------------------------------------------- */

/* An end that restarts has another key; the other learns that later. */
static void
world_restart(void)
{
    unsigned i = any(2);

    if (w.ends[0].generation != w.ends[1].generation)
        return;
    end_begin(&w.ends[i], w.ends[i].generation + 1);
    w.ends[!i].learns_at = w.now + any(50000);
}

static void
world_trouble(void)
{
    struct direction *to = &w.to[any(2)];

    switch (any(5)) {
    case 0:
    case 1:
        to->cut_until = w.now + any(happens(20) ? 5000000 : 100000);
        break;
    case 2:
    case 3:
        to->clogged_until = w.now + any(happens(20) ? 2000000 : 50000);
        break;
    default:
        world_restart();
    }
    w.trouble_at = --w.is.troubles > 0 ? w.now + 1 + any(200000) : NEVER;
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
world_next(void)
{
    uint64_t at = w.n > 0 ? sooner(w.wire[0].at, w.trouble_at) : w.trouble_at;

    for (unsigned i = 0; i < 2; i++) {
        const struct end *e = &w.ends[i];

        at = sooner(at, sooner(e->queues_at, vc__reliable_due(&e->r)));
        at = sooner(at, sooner(e->learns_at, e->pings_at));
    }
    return at;
}

static void
end_clock(struct end *e)
{
    if (e->learns_at <= w.now)
        end_begin(e, e->generation + 1);
    if (e->queues_at <= w.now)
        end_queue(e);
    if (vc__reliable_due(&e->r) <= w.now) {
        e->wakes++;
        end_work(e);
    }
    if (e->pings_at <= w.now) {
        e->pings_at = w.now + PING_US;
        end_transmit(e, 0, true);
    }
}

static void
world_step(uint64_t at)
{
    must(at < LONGEST);
    w.now = at > w.now ? at : w.now;
    if (w.trouble_at <= w.now)
        world_trouble();
    while (w.n > 0 && w.wire[0].at <= w.now) {
        struct datagram d = wire_take();

        end_arrived(&w.ends[d.to], &d);
    }
    end_clock(&w.ends[0]);
    end_clock(&w.ends[1]);
}

static void
world_run(uint64_t seed, const struct nature *is)
{
    uint64_t at, resent = w.resent, made = w.made;

    memset(&w, 0, sizeof w);
    w.resent = resent;
    w.made = made;
    w.seed0 = w.seed = seed;
    random_next(&w.seed);
    w.is = *is;
    w.trouble_at = is->troubles > 0 ? any(200000) : NEVER;
    for (unsigned i = 0; i < 2; i++) {
        w.ends[i].left = w.is.total;
        end_begin(&w.ends[i], 1);
    }
    while ((at = world_next()) != NEVER)
        world_step(at);

    for (unsigned i = 0; i < 2; i++) {
        struct end *e = &w.ends[i];

        must(e->left == 0 && e->queued == 0 && e->r.next == e->r.unacked);
        must(e->generation == w.ends[!i].generation);
        must(e->made == w.ends[!i].delivered);
        must(e->wakes <= 2 * e->sends + 100);
        w.resent += e->r.resent;
    }
}

/* --- tests ------------------------------------------------------------- */

static struct nature
nature_of(uint64_t seed)
{
    uint64_t s = seed ^ 0x5eed;
    struct nature is = {0};

    random_next(&s);
    is.loss = random_below(&s, 2) ? random_below(&s, 31) : 0;
    is.twice = random_below(&s, 2) ? random_below(&s, 20) : 0;
    is.reorder = random_below(&s, 3) ? 25 : 0;
    is.passes = random_below(&s, 2);
    is.delay = 1 + random_below(&s, random_below(&s, 2) ? 100 : 5000);
    is.jitter = random_below(&s, 2) ? random_below(&s, 2000) : 0;
    is.total = 500 + random_below(&s, 2500);
    is.burst = 1 + random_below(&s, 60);
    is.pause_us = random_below(&s, random_below(&s, 4) ? 5000 : 300000);
    is.troubles = random_below(&s, 2) ? random_below(&s, 30) : 0;
    is.first = random_below(&s, 2) ? 1 : UINT32_MAX - random_below(&s, 1500);
    return is;
}

static void
on_a_bad_wire_all_is_delivered_once_and_in_order(void **state)
{
    const char *is_long = getenv("VC_TEST_LONG");
    uint64_t n =
        is_long != NULL && strcmp(is_long, "1") == 0 ? WORLDS_LONG : WORLDS;

    (void)state;
    for (uint64_t seed = 0; seed < n; seed++) {
        struct nature is = nature_of(seed);

        world_run(seed, &is);
    }
}

/* Datagrams that were sent again, of 1000 that had to be sent. */
static uint64_t
again_of_1000(struct nature is)
{
    w.made = w.resent = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        world_run(seed, &is);
    return w.resent * 1000 / w.made;
}

static const struct nature reorders = {
    .reorder = 25,
    .delay = 2000,
    .total = 2000,
    .burst = 40,
    .pause_us = 5000,
    .first = 1,
};

static void
what_is_only_reordered_is_hardly_sent_again(void **state)
{
    struct nature is = reorders;

    (void)state;
    assert_in_range(again_of_1000(is), 0, 50);
    is.passes = true;
    assert_in_range(again_of_1000(is), 0, 50);
}

static void
one_percent_of_loss_costs_little(void **state)
{
    struct nature is = reorders;

    (void)state;
    is.loss = 1;
    assert_in_range(again_of_1000(is), 5, 100);
    is.passes = true;
    assert_in_range(again_of_1000(is), 5, 100);
    is.reorder = 0;
    assert_in_range(again_of_1000(is), 5, 100);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_bad_wire_all_is_delivered_once_and_in_order),
        cmocka_unit_test(what_is_only_reordered_is_hardly_sent_again),
        cmocka_unit_test(one_percent_of_loss_costs_little),
    };

    if (argc > 1) {
        uint64_t seed = strtoull(argv[1], NULL, 10);
        struct nature is = nature_of(seed);

        world_run(seed, &is);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
