/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of messages that a program sends: a large block is used again, and
 * goes back to the system a second later, whichever threads give it back. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/clock.h"
#include "transport/core/spare.h"

#define MIB     ((size_t)1 << 20)
#define THREADS 4u
#define ROUNDS  500u
#define LOOK_US 20000u
#define SOON_US (10 * VC__MEMORY_KEEP_US)

static struct vc__engine engine;
static struct vc__spare spare;

static int
open_spare(void **state)
{
    (void)state;
    assert_int_equal(0, vc__engine_init(&engine, 0));
    vc__spare_init(&spare, &engine);
    return 0;
}

static int
close_spare(void **state)
{
    (void)state;
    vc__engine_settle(&engine);
    vc__spare_fini(&spare);
    vc__engine_fini(&engine);
    return 0;
}

static size_t
kept(void)
{
    return atomic_load(&spare.store.kept);
}

/* Advances the engine until nothing is kept. Returns how long that took, in
 * microseconds. */
static uint64_t
await_nothing_kept(void)
{
    uint64_t begin = vc__now();
    struct vc__waiter never;

    vc__waiter_init(&never);
    while (kept() > 0 && vc__now() < begin + SOON_US)
        vc__engine_wait(&engine, &never, vc__now() + LOOK_US);
    assert_int_equal(0, kept());
    return vc__now() - begin;
}

static void
a_large_block_is_used_again(void **state)
{
    void *block = vc__spare_take(&spare, MIB), *again;

    (void)state;
    assert_non_null(block);
    assert_int_equal(0, (uintptr_t)block % VC__MEMORY_ALIGN);
    memset(block, 1, MIB);
    vc__spare_give(&spare, block, MIB);
    assert_in_range(kept(), MIB, 2 * MIB);

    again = vc__spare_take(&spare, MIB);
    assert_ptr_equal(block, again);
    assert_int_equal(0, kept());
    vc__spare_give(&spare, again, MIB);
}

static void
a_small_one_is_freed(void **state)
{
    void *block = vc__spare_take(&spare, 1000);

    (void)state;
    assert_non_null(block);
    memset(block, 1, 1000);
    vc__spare_give(&spare, block, 1000);
    assert_int_equal(0, kept());
    assert_null(vc__spare_take(&spare, SIZE_MAX));
}

static void *
use(void *arg)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = MIB / 16 * (1 + i % 8);
        unsigned char *block = vc__spare_take(&spare, size);

        assert_non_null(block);
        block[0] = block[size - 1] = 1;
        vc__spare_give(&spare, block, size);
    }
    return arg;
}

/* Also the second time: then nobody watches any more. */
static void
what_is_kept_goes_after_a_second(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    vc__spare_give(&spare, vc__spare_take(&spare, MIB), MIB);
    assert_in_range(await_nothing_kept(), VC__MEMORY_KEEP_US / 2, SOON_US);

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, use, NULL));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    assert_true(kept() > 0);
    await_nothing_kept();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_large_block_is_used_again, open_spare,
                                        close_spare),
        cmocka_unit_test_setup_teardown(a_small_one_is_freed, open_spare,
                                        close_spare),
        cmocka_unit_test_setup_teardown(what_is_kept_goes_after_a_second,
                                        open_spare, close_spare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
