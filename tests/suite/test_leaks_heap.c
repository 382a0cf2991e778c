/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The heap: channels that are opened and closed do not make it grow, and in the
 * steady state a call allocates nothing, at either end. Not run under the
 * sanitizers, which have allocators of their own. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite/fixture.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&         \
    defined(__GLIBC__)
#define CAN_WATCH 1
#else
#define CAN_WATCH 0
#endif

/* --- memory ------------------------------------------------------------ */

/* The same options for all channels, so that they share a connection. */
static const struct vc_channel_opts channel_opts = VC_CHANNEL_OPTS_INIT;

static void
channel_cycle(const struct fixture *f, unsigned i)
{
    struct vc_channel *channel;

    assert_status(
        VC_OK, vc_channel_open(f->runtime, f->target, &channel_opts, &channel));
    assert_status(VC_OK, fixture_echo(channel, 100, i));
    vc_channel_close(channel);
}

/* Returns by how many bytes the heap has grown over 100 channels. */
static size_t
heap_growth(struct fixture *f)
{
    size_t before = mallinfo2().uordblks;
    size_t after;

    for (unsigned i = 0; i < 100; i++)
        channel_cycle(f, i);
    after = mallinfo2().uordblks;
    return after > before ? after - before : 0;
}

/* The table of QPs needs another page at times, because the adapter gives QPs
 * ever new numbers. Of two runs in a row one needs no page. */
static void
the_heap_does_not_grow(unsigned round)
{
    struct fixture f;
    size_t first, second;

    (void)round;
    fixture_start(&f, 1, NULL, &channel_opts);
    for (unsigned i = 0; i < 20; i++)
        channel_cycle(&f, i);

    first = heap_growth(&f);
    second = heap_growth(&f);

    assert_in_range(first < second ? first : second, 0, 2048);
    fixture_stop(&f);
}

/* --- allocations ------------------------------------------------------- */

#define FROM_MAX 8
#define RUNS     5

/* True while allocations are counted; `from` has the addresses that called for
 * the first of them. */
static atomic_bool watched;
static atomic_uint allocations;
static void *from[FROM_MAX];

#if CAN_WATCH

/* glibc's own functions, by the names that remain when a program defines its
 * own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static void
allocation(void *caller)
{
    unsigned i;

    if (!atomic_load_explicit(&watched, memory_order_relaxed))
        return;
    i = atomic_fetch_add(&allocations, 1);
    if (i < FROM_MAX)
        from[i] = caller;
}

void *
malloc(size_t size)
{
    allocation(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
    allocation(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
    allocation(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
    allocation(__builtin_return_address(0));
    return __libc_memalign(align, size);
}

#endif

/* Counts the allocations of 1,000 calls. */
static unsigned
allocations_of_calls(struct fixture *f)
{
    memset(from, 0, sizeof from);
    atomic_store(&allocations, 0);
    atomic_store(&watched, true);
    for (unsigned i = 0; i < 1000; i++)
        assert_status(VC_OK, fixture_echo(f->channel, i % 256, i));
    atomic_store(&watched, false);
    return atomic_load(&allocations);
}

/* A handler that lost its processor may look like one that blocks; then the
 * server makes another thread, which it keeps. One of several runs is without
 * that. */
static void
calls_in_the_steady_state_allocate_nothing(unsigned round)
{
    struct fixture f;
    void *volatile one;
    unsigned runs = 0;

    (void)round;
    fixture_start(&f, 1, NULL, NULL);
    for (unsigned i = 0; i < 300; i++)
        assert_status(VC_OK, fixture_echo(f.channel, i % 256, i));

    while (allocations_of_calls(&f) != 0 && ++runs < RUNS)
        for (unsigned i = 0; i < FROM_MAX && from[i] != NULL; i++)
            print_message("# allocated from %p\n", from[i]);
    assert_in_range(runs, 0, RUNS - 1);
    /* Check that allocations are counted at all. */
    atomic_store(&watched, true);
    one = malloc(1);
    free(one);
    assert_int_equal(1, atomic_load(&allocations));
    fixture_stop(&f);
}

/* For the table of tests: skipped under the sanitizers, which have allocators
 * of their own. */
static void
run_watching(void **story)
{
    if (!CAN_WATCH)
        skip();
    fixture_run_apart(story);
}

#define watching(body_)                                                        \
    {                                                                          \
        .name = #body_, .test_func = run_watching,                             \
        .initial_state = &(struct fixture_story)                               \
        {                                                                      \
            .body = body_, .rounds = 1                                         \
        }                                                                      \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        watching(the_heap_does_not_grow),
        watching(calls_in_the_steady_state_allocate_nothing),
    };

    return fixture_main(tests);
}
