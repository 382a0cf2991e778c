/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/rcu.h: short critical sections that liburcu takes for its own.
 * Where the system has no membarrier(2), sections are liburcu's, and the tests
 * that need short ones are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "transport/core/rcu.h"

#define CHANGES 40u

static void
skip_without_membarrier(void)
{
    if (!urcu_bp_has_sys_membarrier)
        skip();
    vc__rcu_unlock(vc__rcu_lock()); /* the thread learns where its entry is */
}

static bool
is_within(void)
{
    return urcu_bp_read_ongoing() != 0;
}

/* Runs it on another thread, and waits for the end. */
static void
run_apart(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
    pthread_join(thread, NULL);
}

static void
a_section_is_one_for_liburcu(void **state)
{
    struct urcu_bp_reader *r;

    (void)state;
    skip_without_membarrier();

    r = vc__rcu_enter();
    assert_non_null(r);
    assert_true(is_within());

    vc__rcu_exit(r);
    assert_false(is_within());
}

/* The first section, and the second, on a thread of their own. */
static void *
two_sections(void *arg)
{
    bool *good = arg;
    struct urcu_bp_reader *first = vc__rcu_lock(), *second;
    bool within = is_within();

    vc__rcu_unlock(first);
    second = vc__rcu_enter();
    *good = first == NULL && within && second != NULL;
    if (second != NULL)
        vc__rcu_exit(second);
    return NULL;
}

static void
the_first_section_of_a_thread_is_by_liburcu(void **state)
{
    bool good = false;

    (void)state;
    skip_without_membarrier();

    run_apart(two_sections, &good);

    assert_true(good);
}

static void
a_section_within_one_of_liburcu_does_not_end_it(void **state)
{
    (void)state;
    skip_without_membarrier();

    rcu_read_lock();
    assert_null(vc__rcu_enter());
    vc__rcu_unlock(vc__rcu_lock());

    assert_true(is_within());
    rcu_read_unlock();
    assert_false(is_within());
}

static void
a_section_of_liburcu_may_be_within(void **state)
{
    struct urcu_bp_reader *r;

    (void)state;
    skip_without_membarrier();

    r = vc__rcu_lock();
    rcu_read_lock();
    rcu_read_unlock();

    assert_true(is_within());
    vc__rcu_unlock(r);
    assert_false(is_within());
}

/* --- a thread that ends --------------------------------------------------- */

static pthread_key_t late;
static bool knows_late;

/* The destructor of `late`, which runs after that of liburcu. */
static void
look_late(void *value)
{
    struct urcu_bp_reader *r = vc__rcu_enter();

    (void)value;
    knows_late = r != NULL;
    if (r != NULL)
        vc__rcu_exit(r);
}

static void *
learn_and_end(void *arg)
{
    vc__rcu_unlock(vc__rcu_lock());
    pthread_setspecific(late, arg);
    return NULL;
}

static void
a_thread_that_ends_uses_its_entry_no_more(void **state)
{
    int any;

    (void)state;
    skip_without_membarrier(); /* and liburcu has made its key */
    assert_int_equal(pthread_key_create(&late, look_late), 0);
    knows_late = true;

    run_apart(learn_and_end, &any);

    assert_false(knows_late);
    pthread_key_delete(late);
}

/* --- waiting -------------------------------------------------------------- */

/* What readers look at: 0 when no reader should be there any more. Not atomic,
 * so that the thread sanitizer notices who does not wait. */
struct thing {
    unsigned value;
};

static _Atomic(struct thing *) present;
static atomic_bool end;

/* Reads until the end. Returns `arg` if a thing was in use no more. */
static void *
read_on(void *arg)
{
    bool bad = false;

    while (!atomic_load(&end)) {
        struct urcu_bp_reader *r = vc__rcu_lock();
        struct thing *t = atomic_load(&present);

        for (unsigned i = 0; i < 100; i++)
            bad |= *(volatile unsigned *)&t->value == 0;
        vc__rcu_unlock(r);
    }
    return bad ? arg : NULL;
}

static void
a_change_waits_for_the_sections_that_have_begun(void **state)
{
    struct thing things[2] = {{1}, {1}};
    pthread_t readers[2];
    void *bad[2];

    (void)state;
    atomic_store(&end, false);
    atomic_store(&present, &things[0]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &things[i]),
                         0);

    for (unsigned i = 1; i <= CHANGES; i++) {
        struct thing *former = atomic_exchange(&present, &things[i % 2]);

        vc__rcu_await();
        former->value = 0;
        sched_yield();
        former->value = 1;
    }

    atomic_store(&end, true);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(readers[i], &bad[i]);
    assert_null(bad[0]);
    assert_null(bad[1]);
}

static atomic_bool changed;

/* Reads in the thread's first section, then says so, in a way that orders
 * nothing; and ends after the change. */
static void *
read_once(void *arg)
{
    struct urcu_bp_reader *r = vc__rcu_lock();
    struct thing *t = atomic_load(&present);

    assert_int_equal(1, *(volatile unsigned *)&t->value);
    vc__rcu_unlock(r);
    atomic_store_explicit(&end, true, memory_order_relaxed);
    while (!atomic_load(&changed))
        sched_yield();
    return arg;
}

/* The thread sanitizer sees that order, too. */
static void
a_change_waits_for_the_first_section_of_a_thread(void **state)
{
    struct thing thing = {1};
    pthread_t reader;

    (void)state;
    atomic_store(&end, false);
    atomic_store(&present, &thing);
    assert_int_equal(pthread_create(&reader, NULL, read_once, NULL), 0);
    while (!atomic_load_explicit(&end, memory_order_relaxed))
        sched_yield();

    vc__rcu_await();
    thing.value = 0;

    atomic_store(&changed, true);
    pthread_join(reader, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_is_one_for_liburcu),
        cmocka_unit_test(the_first_section_of_a_thread_is_by_liburcu),
        cmocka_unit_test(a_section_within_one_of_liburcu_does_not_end_it),
        cmocka_unit_test(a_section_of_liburcu_may_be_within),
        cmocka_unit_test(a_thread_that_ends_uses_its_entry_no_more),
        cmocka_unit_test(a_change_waits_for_the_sections_that_have_begun),
        cmocka_unit_test(a_change_waits_for_the_first_section_of_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
