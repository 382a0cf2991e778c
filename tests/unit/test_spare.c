/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of calls, and of messages that a program sends: a block is used again,
 * and a large one goes back to the system a second later, whichever threads give
 * it back. */
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
one_that_is_not_large_is_freed(void **state)
{
    const size_t size = VC__SPARE_CALL + 1;
    void *block = vc__spare_take(&spare, size);

    (void)state;
    assert_non_null(block);
    memset(block, 1, size);
    vc__spare_give(&spare, block, size);
    assert_int_equal(0, kept());
    assert_null(vc__spare_take(&spare, SIZE_MAX));
}

/* Takes more blocks of this size than a stock keeps, twice. The second time the
 * stock has those given back last: returns how many. */
static unsigned
blocks_from_stock(size_t size)
{
    static void *blocks[VC__SPARE_KEPT + 2];
    const unsigned n = spare.of_call.most + 2;
    unsigned same = 0;

    for (unsigned i = 0; i < n; i++) {
        blocks[i] = vc__spare_take(&spare, size);
        assert_non_null(blocks[i]);
        assert_int_equal(0, (uintptr_t)blocks[i] % VC__MEMORY_ALIGN);
        memset(blocks[i], (int)i, size);
    }
    for (unsigned i = 0; i < n; i++)
        vc__spare_give(&spare, blocks[n - 1 - i], size);
    for (unsigned i = 2; i < n; i++) {
        void *block = vc__spare_take(&spare, size);

        same += block == blocks[i];
        blocks[i] = block;
    }
    for (unsigned i = 2; i < n; i++)
        vc__spare_give(&spare, blocks[i], size);
    return same;
}

/* The last one given back is the first one taken, as it is in the caches. */
static void
a_small_one_is_used_again(void **state)
{
    (void)state;
    assert_int_equal(spare.of_call.most, blocks_from_stock(VC__SPARE_SHORT));
    assert_int_equal(spare.of_call.most, blocks_from_stock(VC__SPARE_CALL));
    assert_int_equal(spare.of_call.most, spare.of_short.n);
    assert_int_equal(spare.of_call.most, spare.of_call.n);
    assert_int_equal(0, kept());
}

static void *
use(void *arg)
{
    const size_t sizes[] = {16, VC__SPARE_SHORT, VC__SPARE_CALL};

    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = i % 4 < 3 ? sizes[i % 4] : MIB / 16 * (1 + i % 8);
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
        cmocka_unit_test_setup_teardown(one_that_is_not_large_is_freed,
                                        open_spare, close_spare),
        cmocka_unit_test_setup_teardown(a_small_one_is_used_again, open_spare,
                                        close_spare),
        cmocka_unit_test_setup_teardown(what_is_kept_goes_after_a_second,
                                        open_spare, close_spare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
