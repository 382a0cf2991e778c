/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/credit.c: two ends joined by a wire, in every order of events for
 * small windows and in random orders for large ones. The adversary decides
 * when packets go, arrive, and when buffers are posted again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/credit.h"

#define WIRE_MOST 6 /* packets under way in the small model */

struct end {
    struct vc__credit credit;
    uint32_t held; /* buffers filled and not yet posted again */
};

struct pair {
    struct end ends[2];
    uint8_t wire[2][WIRE_MOST]; /* credits of the packets to ends[i] */
    uint32_t on_wire[2];
};

enum event {
    SEND,
    TELL,
    ARRIVE,
    REPOST,
    EVENTS
};

static struct pair
pair_new(uint32_t a, uint32_t b)
{
    struct pair p = {0};

    vc__credit_init(&p.ends[0].credit, a, b);
    vc__credit_init(&p.ends[1].credit, b, a);
    return p;
}

/* Is there a posted buffer for each packet under way? */
static void
assert_no_overrun(const struct pair *p, int to)
{
    const struct end *e = &p->ends[to];

    assert_in_range(p->on_wire[to], 0, e->credit.window - e->held);
}

static void
pair_send(struct pair *p, int from)
{
    int to = 1 - from;
    uint16_t told = vc__credit_sent(&p->ends[from].credit);

    assert_in_range(p->on_wire[to], 0, WIRE_MOST - 1);
    p->wire[to][p->on_wire[to]++] = (uint8_t)told;
    assert_no_overrun(p, to);
}

static void
pair_arrive(struct pair *p, int to)
{
    struct end *e = &p->ends[to];

    assert_true(vc__credit_arrived(&e->credit));
    assert_true(vc__credit_got(&e->credit, p->wire[to][0]));
    e->held++;
    p->on_wire[to]--;
    memmove(p->wire[to], p->wire[to] + 1, p->on_wire[to]);
    p->wire[to][p->on_wire[to]] = 0;
}

static bool
pair_can(const struct pair *p, enum event event, int i)
{
    const struct end *e = &p->ends[i];

    switch (event) {
    case SEND:
        return vc__credit_can_send(&e->credit);
    case TELL:
        return vc__credit_must_tell(&e->credit);
    case ARRIVE:
        return p->on_wire[i] > 0;
    default:
        return e->held > 0;
    }
}

static void
pair_do(struct pair *p, enum event event, int i)
{
    if (event == SEND || event == TELL)
        pair_send(p, i);
    if (event == ARRIVE)
        pair_arrive(p, i);
    if (event == REPOST) {
        p->ends[i].held--;
        vc__credit_reposted(&p->ends[i].credit, 1);
    }
}

/* --- every order of events --- */

#define TABLE (1u << 20)

/* What is known of a state. CHATTER: whether packets without frames come to
 * an end from there, was asked; DONE: they do. */
enum known {
    NEW,
    CHATTER = 1,
    DONE = 2,
    REACHED = 4
};

struct model {
    struct {
        uint64_t key;
        uint8_t known; /* bits of enum known */
        bool used;
    } table[TABLE];
    unsigned states;
};

static uint64_t
pair_key(const struct pair *p)
{
    uint64_t key = 0;

    for (int i = 0; i < 2; i++) {
        key = key << 3 | p->ends[i].credit.have;
        key = key << 3 | p->ends[i].credit.owed;
        key = key << 3 | p->ends[i].held;
        key = key << 3 | p->on_wire[i];
        for (int j = 0; j < WIRE_MOST - 1; j++)
            key = key << 3 | p->wire[i][j];
    }
    return key;
}

/* The bits known of this state. */
static uint8_t *
model_of(struct model *m, const struct pair *p)
{
    uint64_t key = pair_key(p);
    uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 44);

    while (m->table[i].used && m->table[i].key != key)
        i = (i + 1) % TABLE;
    if (!m->table[i].used) {
        assert_in_range(++m->states, 1, TABLE / 2);
        m->table[i].used = true;
        m->table[i].key = key;
    }
    return &m->table[i].known;
}

/* True when from here on, without frames, both ends fall silent in whatever
 * order things happen, and each may then send frames. */
static bool
chatter_ends(struct model *m, const struct pair *p)
{
    uint8_t *known = model_of(m, p);
    bool silent = true;

    if ((*known & CHATTER) != 0)
        return (*known & DONE) != 0;
    *known |= CHATTER;
    for (int event = TELL; event < EVENTS; event++)
        for (int i = 0; i < 2; i++) {
            struct pair next = *p;

            if (!pair_can(p, (enum event)event, i))
                continue;
            silent = false;
            pair_do(&next, (enum event)event, i);
            if (!chatter_ends(m, &next))
                return false;
        }
    if (silent && !(pair_can(p, SEND, 0) && pair_can(p, SEND, 1)))
        return false;
    *known |= DONE;
    return true;
}

/* The same from every state that can be reached. */
static bool
chatter_always_ends(struct model *m, const struct pair *p)
{
    uint8_t *known = model_of(m, p);

    if ((*known & REACHED) != 0)
        return true;
    *known |= REACHED;
    if (!chatter_ends(m, p))
        return false;
    for (int event = 0; event < EVENTS; event++)
        for (int i = 0; i < 2; i++) {
            struct pair next = *p;

            if (!pair_can(p, (enum event)event, i))
                continue;
            pair_do(&next, (enum event)event, i);
            if (!chatter_always_ends(m, &next))
                return false;
        }
    return true;
}

static bool
model_holds(uint32_t a, uint32_t b)
{
    struct model *m = calloc(1, sizeof *m);
    struct pair p = pair_new(a, b);
    bool holds;

    assert_non_null(m);
    holds = chatter_always_ends(m, &p);
    free(m);
    return holds;
}

static void
small_windows_never_lock_nor_chatter_nor_overrun(void **state)
{
    (void)state;
    for (uint32_t a = VC__CREDIT_MIN; a <= 4; a++)
        for (uint32_t b = a; b <= 4; b++)
            assert_true(model_holds(a, b));
}

static void
windows_of_two_would_never_fall_silent(void **state)
{
    (void)state;
    assert_false(model_holds(2, 2)); /* hence VC__CREDIT_MIN */
    assert_true(model_holds(2, 3));
}

/* --- large windows --- */

struct flight {
    struct end ends[2];
    uint32_t on_wire[2], credits[2]; /* packets, and what they say together */
};

static void
flight_send(struct flight *f, int from)
{
    int to = 1 - from;

    f->credits[to] += vc__credit_sent(&f->ends[from].credit);
    f->on_wire[to]++;
    assert_in_range(f->on_wire[to], 1,
                    f->ends[to].credit.window - f->ends[to].held);
}

/* The last packet under way brings all the credits: late, not early. */
static void
flight_arrive(struct flight *f, int to)
{
    uint32_t n = f->on_wire[to] == 1 ? f->credits[to] : 0;

    assert_true(vc__credit_arrived(&f->ends[to].credit));
    assert_true(vc__credit_got(&f->ends[to].credit, n));
    f->credits[to] -= n;
    f->on_wire[to]--;
    f->ends[to].held++;
}

static void
flight_repost(struct flight *f, int i, uint32_t n)
{
    f->ends[i].held -= n;
    vc__credit_reposted(&f->ends[i].credit, n);
}

static void
flight_step(struct flight *f, int i, uint32_t event, uint64_t *seed)
{
    struct end *e = &f->ends[i];

    if (event == SEND && vc__credit_can_send(&e->credit))
        flight_send(f, i);
    if (event == TELL && vc__credit_must_tell(&e->credit))
        flight_send(f, i);
    if (event == ARRIVE && f->on_wire[i] > 0)
        flight_arrive(f, i);
    if (event == REPOST && e->held > 0)
        flight_repost(f, i, 1 + random_below(seed, e->held));
}

/* Without frames, until nothing happens any more. How many packets it took. */
static unsigned
flight_settle(struct flight *f)
{
    unsigned packets = 0, before;

    do {
        before = packets;
        for (int i = 0; i < 2; i++) {
            while (f->on_wire[i] > 0)
                flight_arrive(f, i);
            flight_repost(f, i, f->ends[i].held);
            if (vc__credit_must_tell(&f->ends[i].credit)) {
                flight_send(f, i);
                packets++;
            }
        }
    } while (packets != before);
    return packets;
}

static void
large_windows_in_random_order_settle_at_once(void **state)
{
    static const uint32_t windows[] = {3, 4, 7, 64, 1000, 65535};
    uint64_t seed = 7;

    (void)state;
    for (unsigned run = 0; run < 300; run++) {
        struct flight f = {0};
        uint32_t a = windows[random_below(&seed, 6)];
        uint32_t b = windows[random_below(&seed, 6)];

        vc__credit_init(&f.ends[0].credit, a, b);
        vc__credit_init(&f.ends[1].credit, b, a);
        for (unsigned i = 0; i < 1000; i++)
            flight_step(&f, (int)random_below(&seed, 2),
                        random_below(&seed, EVENTS), &seed);

        assert_in_range(flight_settle(&f), 0, 4);
        for (int i = 0; i < 2; i++)
            assert_true(vc__credit_can_send(&f.ends[i].credit));
    }
}

/* --- the parts --- */

static void
the_last_credit_is_not_for_frames(void **state)
{
    struct vc__credit c;

    (void)state;
    vc__credit_init(&c, 4, 3);
    assert_true(vc__credit_can_send(&c));
    vc__credit_sent(&c);
    assert_true(vc__credit_can_send(&c));
    vc__credit_sent(&c);
    assert_false(vc__credit_can_send(&c));
}

static void
half_the_window_rounded_up_must_be_told(void **state)
{
    (void)state;
    for (uint32_t window = 3; window < 100; window++) {
        struct vc__credit c;
        uint32_t n = 0;

        vc__credit_init(&c, window, 3);
        while (!vc__credit_must_tell(&c)) {
            assert_true(vc__credit_arrived(&c));
            vc__credit_reposted(&c, 1);
            n++;
        }
        assert_int_equal(n, (window + 1) / 2);
    }
}

static void
without_a_credit_nothing_can_be_told(void **state)
{
    struct vc__credit c;

    (void)state;
    vc__credit_init(&c, 4, 3);
    for (int i = 0; i < 3; i++)
        vc__credit_sent(&c);
    for (int i = 0; i < 4; i++)
        assert_true(vc__credit_arrived(&c));
    vc__credit_reposted(&c, 4);

    assert_false(vc__credit_must_tell(&c));
    assert_true(vc__credit_got(&c, 1));
    assert_true(vc__credit_must_tell(&c));
}

static void
what_is_owed_is_told_once(void **state)
{
    struct vc__credit c;

    (void)state;
    vc__credit_init(&c, 65535, 10);
    for (unsigned i = 0; i < 65535; i++)
        assert_true(vc__credit_arrived(&c));
    vc__credit_reposted(&c, 65535);

    assert_int_equal(vc__credit_sent(&c), 65535);
    assert_int_equal(vc__credit_sent(&c), 0);
}

static void
more_credits_than_were_used_are_refused(void **state)
{
    struct vc__credit c;

    (void)state;
    vc__credit_init(&c, 4, 10);
    assert_false(vc__credit_got(&c, 1));
    for (int i = 0; i < 3; i++)
        vc__credit_sent(&c);

    assert_false(vc__credit_got(&c, 4));
    assert_false(vc__credit_got(&c, UINT32_MAX));
    assert_int_equal(c.have, 7);
    assert_true(vc__credit_got(&c, 3));
    assert_true(vc__credit_got(&c, 0));
    assert_int_equal(c.have, 10);
}

static void
a_packet_without_a_credit_is_refused(void **state)
{
    struct vc__credit c;

    (void)state;
    vc__credit_init(&c, 3, 3);
    for (int i = 0; i < 3; i++)
        assert_true(vc__credit_arrived(&c));
    assert_false(vc__credit_arrived(&c));

    vc__credit_reposted(&c, 2);
    assert_false(vc__credit_arrived(&c)); /* not told yet */
    assert_int_equal(vc__credit_sent(&c), 2);
    assert_true(vc__credit_arrived(&c));
    assert_true(vc__credit_arrived(&c));
    assert_false(vc__credit_arrived(&c));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_windows_never_lock_nor_chatter_nor_overrun),
        cmocka_unit_test(windows_of_two_would_never_fall_silent),
        cmocka_unit_test(large_windows_in_random_order_settle_at_once),
        cmocka_unit_test(the_last_credit_is_not_for_frames),
        cmocka_unit_test(half_the_window_rounded_up_must_be_told),
        cmocka_unit_test(without_a_credit_nothing_can_be_told),
        cmocka_unit_test(what_is_owed_is_told_once),
        cmocka_unit_test(more_credits_than_were_used_are_refused),
        cmocka_unit_test(a_packet_without_a_credit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
