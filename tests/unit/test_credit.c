/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/wire/credit.h: two ends joined by a wire, in every order of events
 * for small windows and in random orders for large ones. The model decides when
 * packets are sent, when they arrive, and when buffers are posted again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/wire/credit.h"

#define WIRE_MOST 6 /* packets under way in the small model */

struct end {
    struct vc__credit credit;
    uint32_t held; /* packets received, not handled yet */
    struct vc__credit_word said[WIRE_MOST]; /* their credit words */
};

struct pair {
    struct end ends[2];
    struct vc__credit_word wire[2][WIRE_MOST]; /* in packets to ends[i] */
    uint32_t on_wire[2];
    bool adapts; /* windows change between three and four */
};

enum event {
    SEND,
    TELL,
    ARRIVE,
    HANDLE,
    ADAPT,
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

/* Asserts that each packet under way has a posted buffer. */
static void
assert_no_overrun(const struct pair *p, int to)
{
    const struct vc__credit *c = &p->ends[to].credit;

    assert_in_range(p->on_wire[to] + p->ends[to].held, 0,
                    vc__credit_promised_end(c) - vc__credit_next(c));
}

static bool
one_handled(struct vc__credit *c, const struct vc__credit_word *word)
{
    if (!vc__credit_arrived(c, word))
        return false;
    vc__credit_handled(c);
    return true;
}

static void
pair_send(struct pair *p, int from)
{
    int to = 1 - from;

    assert_in_range(p->on_wire[to], 0, WIRE_MOST - 1);
    vc__credit_sent(&p->ends[from].credit, &p->wire[to][p->on_wire[to]++]);
    assert_no_overrun(p, to);
}

static void
pair_arrive(struct pair *p, int to)
{
    struct end *e = &p->ends[to];

    assert_in_range(e->held, 0, WIRE_MOST - 1);
    e->said[e->held++] = p->wire[to][0];
    p->on_wire[to]--;
    memmove(p->wire[to], p->wire[to] + 1,
            p->on_wire[to] * sizeof p->wire[to][0]);
}

static void
pair_handle(struct end *e)
{
    assert_true(one_handled(&e->credit, &e->said[0]));
    e->held--;
    memmove(e->said, e->said + 1, e->held * sizeof e->said[0]);
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
    case HANDLE:
        return e->held > 0;
    default:
        return p->adapts;
    }
}

static void
pair_do(struct pair *p, enum event event, int i)
{
    if (event == SEND || event == TELL)
        pair_send(p, i);
    if (event == ARRIVE)
        pair_arrive(p, i);
    if (event == HANDLE)
        pair_handle(&p->ends[i]);
    if (event == ADAPT)
        p->ends[i].credit.window = 7 - p->ends[i].credit.window;
}

/* --- every order of events --- */

#define TABLE (1u << 20)

/* What is known of a state. CHATTER: the search for an endless exchange of
 * packets without frames has visited the state; DONE: there is none. */
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

/* Sequence numbers are relative: a word counts only by what is new to
 * its receiver. */
static uint64_t
word_key(uint64_t key, const struct vc__credit *c,
         const struct vc__credit_word *w)
{
    key = key << 3 | ((w->ack - c->tx_acked) & 7);
    return key << 3 | ((w->ack + w->window - c->tx_end) & 7);
}

static uint64_t
pair_key(const struct pair *p)
{
    uint64_t key = 0;

    for (int i = 0; i < 2; i++) {
        const struct vc__credit *c = &p->ends[i].credit;

        key = key * 31 + (c->tx_end - c->tx_next);
        key = key * 31 + (c->tx_next - c->tx_acked);
        key = key * 31 + (c->rx_end - c->rx_next);
        key = key * 31 + (c->rx_next - c->rx_reported);
        key = key * 31 + c->window;
        key = key * 31 + p->ends[i].held;
        key = key * 31 + p->on_wire[i];
        for (uint32_t j = 0; j < p->ends[i].held; j++)
            key = word_key(key * 31, c, &p->ends[i].said[j]) * 37;
        for (uint32_t j = 0; j < p->on_wire[i]; j++)
            key = word_key(key * 31, c, &p->wire[i][j]) * 41;
    }
    return key;
}

/* Returns the known bits of this state. */
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

/* True when from this state on, without frames, both ends stop sending in any
 * order of events, and each may then send frames. */
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

            if (event == ADAPT || !pair_can(p, (enum event)event, i))
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

/* The same for every state that can be reached. */
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
model_holds(uint32_t a, uint32_t b, bool adapts)
{
    struct model *m = calloc(1, sizeof *m);
    struct pair p = pair_new(a, b);
    bool holds;

    assert_non_null(m);
    p.adapts = adapts;
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
            assert_true(model_holds(a, b, false));
}

static void
windows_that_change_never_lock_nor_chatter_nor_overrun(void **state)
{
    (void)state;
    assert_true(model_holds(3, 3, true));
}

static void
windows_of_two_would_never_fall_silent(void **state)
{
    (void)state;
    assert_false(model_holds(2, 2, false)); /* hence VC__CREDIT_MIN */
    assert_true(model_holds(2, 3, false));
}

/* --- large windows --- */

/* Packets of one direction. Only the word of the last packet is kept: later
 * words make up for those that were lost. */
struct flight {
    struct end ends[2];
    uint32_t on_wire[2];
    struct vc__credit_word last[2];
};

static void
flight_send(struct flight *f, int from)
{
    int to = 1 - from;
    const struct vc__credit *c = &f->ends[to].credit;

    vc__credit_sent(&f->ends[from].credit, &f->last[to]);
    f->on_wire[to]++;
    assert_in_range(f->on_wire[to] + f->ends[to].held, 1,
                    vc__credit_promised_end(c) - vc__credit_next(c));
}

static void
flight_arrive(struct flight *f, int to)
{
    f->on_wire[to]--;
    f->ends[to].held++;
}

/* Of the packets received, only the last one's word was not lost. */
static void
flight_handle(struct flight *f, int i)
{
    struct end *e = &f->ends[i];
    const struct vc__credit *c = &e->credit;
    struct vc__credit_word known = {c->tx_acked,
                                    (uint16_t)(c->tx_end - c->tx_acked)};
    bool last = f->on_wire[i] == 0 && e->held == 1;

    e->held--;
    assert_true(one_handled(&e->credit, last ? &f->last[i] : &known));
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
    if (event == HANDLE && e->held > 0)
        flight_handle(f, i);
    if (event == ADAPT && random_below(seed, 20) == 0)
        e->credit.window = 3 + random_below(seed, 2000);
}

/* Runs without frames until no event is left; returns how many
 * packets were sent. */
static unsigned
flight_settle(struct flight *f)
{
    unsigned packets = 0, before;

    do {
        before = packets;
        for (int i = 0; i < 2; i++) {
            while (f->on_wire[i] > 0)
                flight_arrive(f, i);
            while (f->ends[i].held > 0)
                flight_handle(f, i);
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
    struct vc__credit_word word;

    (void)state;
    vc__credit_init(&c, 4, 3);
    assert_true(vc__credit_can_send(&c));
    vc__credit_sent(&c, &word);
    assert_true(vc__credit_can_send(&c));
    vc__credit_sent(&c, &word);
    assert_false(vc__credit_can_send(&c));
}

/* Handles one packet whose word has nothing new. */
static bool
one_came(struct vc__credit *c)
{
    struct vc__credit_word known = {c->tx_acked,
                                    (uint16_t)(c->tx_end - c->tx_acked)};

    return one_handled(c, &known);
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
            assert_true(one_came(&c));
            n++;
        }
        assert_int_equal(n, (window + 1) / 2);
    }
}

static void
without_a_credit_nothing_can_be_told(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word;

    (void)state;
    vc__credit_init(&c, 5, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(vc__credit_sent(&c, &word), i);
    for (int i = 0; i < 4; i++)
        assert_true(one_came(&c));

    assert_false(vc__credit_must_tell(&c));
    word = (struct vc__credit_word){1, 3};
    assert_true(one_handled(&c, &word));
    assert_true(vc__credit_must_tell(&c));
}

static void
each_packet_says_what_was_handled_and_what_may_come(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word;

    (void)state;
    vc__credit_init(&c, 65535, 10);
    for (unsigned i = 0; i < 65535; i++)
        assert_true(one_came(&c));
    assert_false(one_came(&c));

    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(vc__credit_sent(&c, &word), i);
        assert_int_equal(word.ack, 65535);
        assert_int_equal(word.window, 65535);
    }
    assert_true(one_came(&c));
}

static void
word_of_packets_that_were_never_sent_is_refused(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word = {1, 10};

    (void)state;
    vc__credit_init(&c, 40, 10);
    assert_false(one_handled(&c, &word));
    for (int i = 0; i < 3; i++)
        vc__credit_sent(&c, &word);

    word = (struct vc__credit_word){4, 10};
    assert_false(one_handled(&c, &word));
    word.ack = UINT32_MAX;
    assert_false(one_handled(&c, &word));
    assert_int_equal(vc__credit_left(&c), 7);

    word.ack = 3;
    assert_true(one_handled(&c, &word));
    assert_int_equal(vc__credit_left(&c), 10);
    assert_true(vc__credit_is_acked(&c, 2));
    assert_false(vc__credit_is_acked(&c, 3));
    word.ack = 2; /* an old word */
    assert_false(one_handled(&c, &word));
}

static void
a_credit_that_is_taken_back_is_refused(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word = {0, 9};

    (void)state;
    vc__credit_init(&c, 4, 10);
    assert_false(one_handled(&c, &word));
    word.window = 20; /* more credits are allowed */
    assert_true(one_handled(&c, &word));
    assert_int_equal(vc__credit_left(&c), 20);
}

static void
a_smaller_window_takes_nothing_back(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word;

    (void)state;
    vc__credit_init(&c, 10, 100);
    c.window = 4;
    assert_true(one_came(&c));
    assert_true(one_came(&c));
    vc__credit_sent(&c, &word);
    assert_int_equal(word.ack + word.window, 10);
    for (int i = 0; i < 5; i++)
        assert_true(one_came(&c));
    vc__credit_sent(&c, &word);
    assert_int_equal(word.window, 4);
}

static void
a_packet_without_a_credit_is_refused(void **state)
{
    struct vc__credit c;
    struct vc__credit_word word;

    (void)state;
    vc__credit_init(&c, 3, 3);
    for (int i = 0; i < 3; i++)
        assert_true(one_came(&c));
    assert_false(one_came(&c)); /* handled, but not reported yet */

    vc__credit_sent(&c, &word);
    assert_int_equal(word.window, 3);
    assert_true(one_came(&c));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_windows_never_lock_nor_chatter_nor_overrun),
        cmocka_unit_test(
            windows_that_change_never_lock_nor_chatter_nor_overrun),
        cmocka_unit_test(windows_of_two_would_never_fall_silent),
        cmocka_unit_test(large_windows_in_random_order_settle_at_once),
        cmocka_unit_test(the_last_credit_is_not_for_frames),
        cmocka_unit_test(half_the_window_rounded_up_must_be_told),
        cmocka_unit_test(without_a_credit_nothing_can_be_told),
        cmocka_unit_test(each_packet_says_what_was_handled_and_what_may_come),
        cmocka_unit_test(word_of_packets_that_were_never_sent_is_refused),
        cmocka_unit_test(a_credit_that_is_taken_back_is_refused),
        cmocka_unit_test(a_smaller_window_takes_nothing_back),
        cmocka_unit_test(a_packet_without_a_credit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
