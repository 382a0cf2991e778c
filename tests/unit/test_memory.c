/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory within a limit: no account gets more than there is, a new account gets
 * some, and freed memory goes back to the system. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/resident.h"
#include "transport/core/clock.h"
#include "transport/core/memory.h"

#define MIB   ((size_t)1 << 20)
#define LARGE (4 * MIB)
#define SMALL 1000u
#define MANY  64u

/* Sanitizers need memory of their own for each page of ours. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static struct vc__store store;
static struct vc__account one, other;

static void
open_with(size_t max)
{
    vc__store_init(&store, max, false);
    vc__account_init(&one, &store);
    vc__account_init(&other, &store);
}

static void
close_empty(void)
{
    assert_int_equal(0, atomic_load(&store.used));
    assert_int_equal(0, atomic_load(&one.used));
    assert_int_equal(0, atomic_load(&other.used));
    vc__store_fini(&store);
}

/* Asserts that at most `more` bytes were added. */
static void
assert_resident(size_t before, size_t more)
{
    if (!SANITIZED && resident_is_known())
        assert_in_range(resident(), 0, before + more);
}

static void
nobody_takes_more_than_there_is(void **state)
{
    static const size_t sizes[] = {1, SMALL, 65535, 65536, LARGE};

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *a, *b;

        open_with(2 * sizes[i]);
        a = vc__memory_take(&one, sizes[i]);
        assert_non_null(a);
        assert_int_equal(0, (uintptr_t)a % VC__MEMORY_ALIGN);
        memset(a, 1, sizes[i]);
        assert_null(vc__memory_take(&other, sizes[i] + 1));
        assert_false(vc__store_is_full(&store));
        b = vc__memory_take(&other, sizes[i]);
        assert_non_null(b);
        memset(b, 2, sizes[i]);
        assert_true(vc__store_is_full(&store));
        assert_null(vc__memory_take(&one, 1));
        assert_false(vc__memory_count(&one, 1));
        vc__memory_give(&one, a, sizes[i]);
        vc__memory_give(&other, b, sizes[i]);
        close_empty();
    }
    open_with(LARGE);
    assert_null(vc__memory_take(&one, SIZE_MAX));
    vc__memory_give(&one, NULL, LARGE);
    close_empty();
}

/* Memory that belongs to no account. */
static void
without_an_account_there_is_no_limit(void **state)
{
    void *p = vc__memory_take(NULL, LARGE);

    (void)state;
    assert_non_null(p);
    memset(p, 1, LARGE);
    vc__memory_give(NULL, p, LARGE);
    assert_null(vc__memory_take(NULL, SIZE_MAX));
}

/* A quarter is left for messages that have begun. Of the rest, one account
 * leaves an eighth to the next, which can use its own eighth. */
static void
a_newcomer_finds_some(void **state)
{
    size_t got[2] = {0, 0};

    (void)state;
    open_with(256 * MIB);
    while (vc__memory_reserve(&one, MIB))
        got[0] += MIB;
    assert_in_range(got[0], 167 * MIB, 168 * MIB);
    while (vc__memory_reserve(&other, MIB))
        got[1] += MIB;
    assert_in_range(got[1], 20 * MIB, 21 * MIB);
    assert_false(vc__memory_reserve(&one, MIB));
    assert_true(vc__memory_count(&one, 60 * MIB)); /* for one that began */
    vc__memory_discount(&one, got[0] + 60 * MIB);
    assert_true(vc__memory_reserve(&other, MIB));
    vc__memory_discount(&other, got[1] + MIB);

    /* The first allocation of an account may take all. */
    assert_true(vc__memory_reserve(&one, 192 * MIB));
    assert_false(vc__memory_reserve(&other, MIB));
    vc__memory_discount(&one, 192 * MIB);
    assert_false(vc__memory_reserve(&one, 192 * MIB + 1));
    close_empty();
}

/* For any use of the memory. */
static void
of_a_shared_store_one_leaves_an_eighth(void **state)
{
    size_t got = 0;

    (void)state;
    vc__store_init(&store, 64 * MIB, true);
    vc__account_init(&one, &store);
    vc__account_init(&other, &store);
    while (vc__memory_count(&one, MIB))
        got += MIB;
    assert_in_range(got, 55 * MIB, 56 * MIB);
    assert_true(vc__store_is_scarce(&store));
    assert_true(vc__memory_may_have(&one, 0));
    assert_false(vc__memory_may_have(&one, 16 * MIB));
    assert_true(vc__memory_may_have(&other, 0));
    assert_true(vc__memory_count(&other, 7 * MIB));
    assert_false(vc__memory_count(&one, MIB));
    vc__memory_discount(&one, got);
    vc__memory_discount(&other, 7 * MIB);
    close_empty();
}

static void
what_was_given_back_is_kept_for_a_second(void **state)
{
    static void *blocks[MANY];
    size_t before = resident(), kept;
    void *again;

    (void)state;
    open_with(MANY * LARGE);
    for (unsigned i = 0; i < MANY; i++) {
        blocks[i] = vc__memory_take(&one, LARGE);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, LARGE);
    }
    assert_true(!resident_is_known() || resident() >= before + MANY * LARGE);
    for (unsigned i = 0; i < MANY; i++)
        vc__memory_give(&one, blocks[i], LARGE);
    assert_in_range(atomic_load(&store.kept), 2 * LARGE, 32 * MIB);
    assert_resident(before, 33 * MIB);

    /* A kept block that fits is used again; one that is far too
     * large is not. */
    kept = atomic_load(&store.kept);
    again = vc__memory_take(&one, LARGE - 65536);
    assert_true(atomic_load(&store.kept) < kept);
    vc__memory_give(&one, again, LARGE - 65536);
    again = vc__memory_take(&one, LARGE / 4);
    assert_int_equal(kept, atomic_load(&store.kept));
    vc__memory_give(&one, again, LARGE / 4);

    assert_true(vc__store_trim(&store, vc__now()));
    assert_false(vc__store_trim(&store, vc__now() + VC__MEMORY_KEEP_US));
    assert_int_equal(0, atomic_load(&store.kept));
    assert_resident(before, MIB);
    close_empty();
}

static void
a_trimmer_trims_a_second_later(void **state)
{
    struct vc__trimmer trimmer;
    struct vc__timers timers;
    void *p;

    (void)state;
    open_with(64 * LARGE);
    vc__timers_init(&timers);
    vc__trimmer_init(&trimmer, &store, &timers);
    vc__trimmer_note(&trimmer);
    assert_int_equal(UINT64_MAX, vc__timers_next(&timers)); /* nothing to do */
    p = vc__memory_take(&one, LARGE);
    vc__memory_give(&one, p, LARGE);
    vc__trimmer_note(&trimmer);
    assert_in_range(vc__timers_next(&timers), vc__now() + 900000,
                    vc__now() + VC__MEMORY_KEEP_US);
    vc__timers_run(&timers, vc__now() + VC__MEMORY_KEEP_US);
    assert_true(vc__timer_running(&trimmer.timer)); /* vc__now() is earlier */
    vc__trimmer_stop(&trimmer);
    vc__trimmer_note(&trimmer);
    assert_int_equal(UINT64_MAX, vc__timers_next(&timers));
    vc__timers_fini(&timers);
    close_empty();
}

/* The child's, whose standard error is the pipe; returns only if the library
 * does not abort. */
static void
store_end_in_use(int out)
{
    struct vc__store broken;
    struct vc__account account;

    dup2(out, STDERR_FILENO);
    vc__store_init(&broken, 64 * MIB, false);
    vc__account_init(&account, &broken);
    if (vc__memory_take(&account, SMALL) != NULL)
        vc__store_fini(&broken);
    _exit(0);
}

/* As every vc__invariant() that is false. */
static void
a_store_that_is_in_use_is_not_freed(void **state)
{
    int ends[2], status;
    char said[512] = "";
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* not cmocka's */
        store_end_in_use(ends[1]);
    }
    close(ends[1]);

    assert_true(read(ends[0], said, sizeof said - 1) > 0);

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "verbcall: a fault of the library"));
    assert_non_null(strstr(said, "memory.c:"));
    close(ends[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_takes_more_than_there_is),
        cmocka_unit_test(without_an_account_there_is_no_limit),
        cmocka_unit_test(a_newcomer_finds_some),
        cmocka_unit_test(of_a_shared_store_one_leaves_an_eighth),
        cmocka_unit_test(what_was_given_back_is_kept_for_a_second),
        cmocka_unit_test(a_trimmer_trims_a_second_later),
        cmocka_unit_test(a_store_that_is_in_use_is_not_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
