/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/timer.c, alone and against a model that searches a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/core/timer.h"

/* A timer that records its name when it fires, then calls `then`. */
struct note {
    struct vc__timer timer;
    struct log *log;
    char name;
    void (*then)(struct note *note);
    struct note *other;
};

struct log {
    struct vc__timers timers;
    char text[64];
    size_t n;
    uint64_t now;
};

static void
log_init(struct log *log)
{
    memset(log, 0, sizeof *log);
    memset(&log->timers, 0xa5, sizeof log->timers);
    vc__timers_init(&log->timers);
}

static void
note_fire(struct vc__timer *timer)
{
    struct note *note = (struct note *)timer;

    assert_false(vc__timer_running(timer));
    note->log->text[note->log->n++] = note->name;
    if (note->then != NULL)
        note->then(note);
}

static void
note_start(struct log *log, struct note *note, char name, uint64_t due)
{
    note->log = log;
    note->name = name;
    assert_true(vc__timer_start(&log->timers, &note->timer, due, note_fire));
}

static void
log_run(struct log *log, uint64_t now)
{
    log->now = now;
    vc__timers_run(&log->timers, now);
}

static void
none_is_due_when_none_runs(void **state)
{
    struct log log;

    (void)state;
    log_init(&log);
    assert_true(vc__timers_next(&log.timers) == UINT64_MAX);
    log_run(&log, UINT64_MAX);
    vc__timers_fini(&log.timers);
}

static void
they_fire_by_due_time_and_ties_by_start_order(void **state)
{
    struct note n[5] = {0};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 20);
    note_start(&log, &n[1], 'b', 10);
    note_start(&log, &n[2], 'c', 20);
    note_start(&log, &n[3], 'd', 10);
    note_start(&log, &n[4], 'e', 31);

    assert_int_equal(vc__timers_next(&log.timers), 10);
    log_run(&log, 9);
    assert_string_equal(log.text, "");
    log_run(&log, 30);
    assert_string_equal(log.text, "bdac");
    assert_int_equal(vc__timers_next(&log.timers), 31);
    log_run(&log, 31);
    assert_string_equal(log.text, "bdace");
    vc__timers_fini(&log.timers);
}

static void
starting_a_running_timer_moves_it(void **state)
{
    struct note n[3] = {0};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 20);
    note_start(&log, &n[2], 'c', 30);
    note_start(&log, &n[0], 'a', 25);
    note_start(&log, &n[2], 'c', 5);
    note_start(&log, &n[1], 'b', 25); /* started after a: on a tie a is first */

    log_run(&log, 100);
    assert_string_equal(log.text, "cab");
    vc__timers_fini(&log.timers);
}

static void
a_stopped_timer_does_not_fire(void **state)
{
    struct note n[3] = {0};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 20);
    note_start(&log, &n[2], 'c', 30);

    vc__timer_stop(&log.timers, &n[1].timer);
    vc__timer_stop(&log.timers, &n[1].timer);
    assert_false(vc__timer_running(&n[1].timer));
    log_run(&log, 100);
    assert_string_equal(log.text, "ac");
    vc__timers_fini(&log.timers);
}

/* Those of the same time that were started in a row, some of them again, or
 * stopped: the first, one in the middle, the last. */
static void
many_of_the_same_time_fire_in_their_order(void **state)
{
    struct note n[8] = {0};
    struct log log;

    (void)state;
    log_init(&log);
    for (unsigned i = 0; i < 8; i++)
        note_start(&log, &n[i], (char)('a' + i), 10);
    vc__timer_stop(&log.timers, &n[0].timer);
    vc__timer_stop(&log.timers, &n[3].timer);
    vc__timer_stop(&log.timers, &n[7].timer);
    note_start(&log, &n[1], 'b', 10);
    note_start(&log, &n[3], 'd', 5);
    note_start(&log, &n[4], 'e', 10);
    log_run(&log, 10);
    assert_string_equal(log.text, "dcfgbe");
    note_start(&log, &n[0], 'a', 20);
    note_start(&log, &n[1], 'b', 20);
    vc__timers_fini(&log.timers);
    assert_false(vc__timer_running(&n[0].timer));
    assert_false(vc__timer_running(&n[1].timer));
}

static void
again(struct note *note)
{
    note_start(note->log, note, note->name, 0);
}

static void
one_that_starts_itself_again_waits_for_the_next_run(void **state)
{
    struct note n[2] = {{.then = again}};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 20);

    log_run(&log, 30);
    assert_string_equal(log.text, "ab");
    assert_int_equal(vc__timers_next(&log.timers), 30);
    log_run(&log, 30);
    assert_string_equal(log.text, "aba");
    log_run(&log, UINT64_MAX);
    assert_string_equal(log.text, "abaa");
    vc__timers_fini(&log.timers);
}

static void
stop_other(struct note *note)
{
    vc__timer_stop(&note->log->timers, &note->other->timer);
}

static void
one_that_fires_may_stop_another_that_is_due(void **state)
{
    struct note n[3] = {{.then = stop_other, .other = &n[1]}};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 10);
    note_start(&log, &n[2], 'c', 10);

    log_run(&log, 10);
    assert_string_equal(log.text, "ac");
    vc__timers_fini(&log.timers);
}

static void
postpone_other(struct note *note)
{
    note_start(note->log, note->other, note->other->name, 5);
}

static void
one_that_fires_may_move_another_to_the_next_run(void **state)
{
    struct note n[3] = {{.then = postpone_other, .other = &n[1]}};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 20);
    note_start(&log, &n[2], 'c', 30);

    log_run(&log, 40);
    assert_string_equal(log.text, "ac");
    log_run(&log, 40);
    assert_string_equal(log.text, "acb");
    vc__timers_fini(&log.timers);
}

static void
free_itself(struct note *note)
{
    free(note);
}

static void
one_that_fires_may_free_itself(void **state)
{
    struct note *note = calloc(1, sizeof *note);
    struct note after = {0};
    struct log log;

    (void)state;
    assert_non_null(note);
    log_init(&log);
    note->then = free_itself;
    note_start(&log, note, 'a', 10);
    note_start(&log, &after, 'b', 10);

    log_run(&log, 10);
    assert_string_equal(log.text, "ab");
    vc__timers_fini(&log.timers);
}

static void
run_more(struct note *note)
{
    vc__timers_run(&note->log->timers, note->log->now + 10);
}

static void
one_that_fires_may_run_the_others(void **state)
{
    struct note n[4] = {{.then = run_more}};
    struct log log;

    (void)state;
    log_init(&log);
    note_start(&log, &n[0], 'a', 10);
    note_start(&log, &n[1], 'b', 10);
    note_start(&log, &n[2], 'c', 15);
    note_start(&log, &n[3], 'd', 25);

    log_run(&log, 10);
    assert_string_equal(log.text, "abc");
    assert_int_equal(vc__timers_next(&log.timers), 25);
    vc__timers_fini(&log.timers);
}

static void
fini_stops_what_runs_and_takes_a_zeroed_one(void **state)
{
    struct vc__timers zero = {0};
    struct note n[3] = {0};
    struct log log;

    (void)state;
    log_init(&log);
    for (int i = 0; i < 3; i++)
        note_start(&log, &n[i], 'a', 10);
    vc__timers_fini(&log.timers);
    for (int i = 0; i < 3; i++)
        assert_false(vc__timer_running(&n[i].timer));
    vc__timer_stop(&log.timers, &n[0].timer);
    vc__timers_fini(&log.timers);
    vc__timers_fini(&zero);
}

/* --- against a model --- */

#define TIMERS 200

struct model {
    struct vc__timers timers;
    struct vc__timer timer[TIMERS];
    struct {
        bool running;
        uint64_t due, order;
    } said[TIMERS];
    uint64_t order, begun, now, seed;
    unsigned fired;
    bool firing;
};

static struct model model;

/* Returns the first of the timers that were started before `begun` and are due
 * at `until`; TIMERS for none. */
static unsigned
model_first(uint64_t until, uint64_t begun)
{
    unsigned first = TIMERS;

    for (unsigned i = 0; i < TIMERS; i++) {
        if (!model.said[i].running || model.said[i].due > until ||
            model.said[i].order >= begun)
            continue;
        if (first == TIMERS || model.said[i].due < model.said[first].due ||
            (model.said[i].due == model.said[first].due &&
             model.said[i].order < model.said[first].order))
            first = i;
    }
    return first;
}

static void model_fire(struct vc__timer *timer);

static void
model_start(unsigned i, uint64_t due)
{
    assert_true(
        vc__timer_start(&model.timers, &model.timer[i], due, model_fire));
    model.said[i].running = true;
    model.said[i].due = model.firing && due < model.now ? model.now : due;
    model.said[i].order = model.order++;
}

static void
model_stop(unsigned i)
{
    vc__timer_stop(&model.timers, &model.timer[i]);
    model.said[i].running = false;
}

static void
model_change(void)
{
    unsigned i = random_below(&model.seed, TIMERS);

    if (random_below(&model.seed, 3) == 0)
        model_stop(i);
    else
        model_start(i, model.now + random_below(&model.seed, 100) - 20);
}

static void
model_fire(struct vc__timer *timer)
{
    unsigned i = (unsigned)(timer - model.timer);

    assert_int_equal(i, model_first(model.now, model.begun));
    model.said[i].running = false;
    model.fired++;
    for (unsigned n = random_below(&model.seed, 3); n > 0; n--)
        model_change();
}

static void
model_run(void)
{
    model.now += random_below(&model.seed, 15);
    model.begun = model.order;
    model.firing = true;
    vc__timers_run(&model.timers, model.now);
    model.firing = false;
    assert_int_equal(model_first(model.now, model.begun), TIMERS);
}

static void
assert_agreement(void)
{
    unsigned first = model_first(UINT64_MAX, UINT64_MAX);

    assert_in_range(model.timers.n, 0, model.timers.cap);
    assert_true(vc__timers_next(&model.timers) ==
                (first == TIMERS ? UINT64_MAX : model.said[first].due));
    for (unsigned i = 0; i < TIMERS; i++)
        assert_int_equal(vc__timer_running(&model.timer[i]),
                         model.said[i].running);
}

static void
random_use_agrees_with_a_plain_search(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 5; run++) {
        memset(&model, 0, sizeof model);
        model.seed = run;
        model.now = 1000;
        vc__timers_init(&model.timers);
        for (unsigned i = 0; i < 2000; i++) {
            for (unsigned n = random_below(&model.seed, 10); n > 0; n--)
                model_change();
            assert_agreement();
            model_run();
            assert_agreement();
        }
        assert_in_range(model.fired, 1000, UINT32_MAX);
        vc__timers_fini(&model.timers);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_due_when_none_runs),
        cmocka_unit_test(they_fire_by_due_time_and_ties_by_start_order),
        cmocka_unit_test(many_of_the_same_time_fire_in_their_order),
        cmocka_unit_test(starting_a_running_timer_moves_it),
        cmocka_unit_test(a_stopped_timer_does_not_fire),
        cmocka_unit_test(one_that_starts_itself_again_waits_for_the_next_run),
        cmocka_unit_test(one_that_fires_may_stop_another_that_is_due),
        cmocka_unit_test(one_that_fires_may_move_another_to_the_next_run),
        cmocka_unit_test(one_that_fires_may_free_itself),
        cmocka_unit_test(one_that_fires_may_run_the_others),
        cmocka_unit_test(fini_stops_what_runs_and_takes_a_zeroed_one),
        cmocka_unit_test(random_use_agrees_with_a_plain_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
