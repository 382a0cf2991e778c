/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/path_memory.c: which paths are remembered, for how long, and
 * how many. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/path_memory.h"

#define START UINT64_C(5000000000)

static struct vc__path_memory memory;

/* The address of peer n, at any port. */
static const struct sockaddr *
peer(unsigned n)
{
    static struct sockaddr_in addr;

    addr = (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)(1000 + n)),
                                .sin_addr.s_addr = htonl(0x0a090000 + n)};
    return (const struct sockaddr *)&addr;
}

static void
lost(unsigned n, uint64_t now)
{
    vc__path_empty_lost(&memory, "rxe0", peer(n), now);
}

static bool
drops(unsigned n, uint64_t now)
{
    return vc__path_drops_empty(&memory, "rxe0", peer(n), now);
}

static int
setup(void **state)
{
    (void)state;
    vc__path_memory_init(&memory);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    vc__path_memory_fini(&memory);
    return 0;
}

static void
only_the_path_that_lost_a_packet_is_remembered(void **state)
{
    struct sockaddr_in6 other = {.sin6_family = AF_INET6};
    struct sockaddr_in port = *(const struct sockaddr_in *)peer(1);

    (void)state;
    assert_false(drops(1, START));
    lost(1, START);
    assert_true(drops(1, START));
    assert_false(drops(2, START));
    assert_false(vc__path_drops_empty(&memory, "rxe1", peer(1), START));
    assert_false(vc__path_drops_empty(&memory, "rxe0",
                                      (const struct sockaddr *)&other, START));
    port.sin_port = htons(9);
    assert_true(vc__path_drops_empty(&memory, "rxe0",
                                     (const struct sockaddr *)&port, START));
}

static void
addresses_of_ipv6_are_told_apart_by_their_last_byte(void **state)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6}, b = a;

    (void)state;
    b.sin6_addr.s6_addr[15] = 1;
    vc__path_empty_lost(&memory, "rxe0", (const struct sockaddr *)&a, START);
    assert_true(vc__path_drops_empty(&memory, "rxe0",
                                     (const struct sockaddr *)&a, START));
    assert_false(vc__path_drops_empty(&memory, "rxe0",
                                      (const struct sockaddr *)&b, START));
}

static void
a_path_is_forgotten_an_hour_after_its_last_use(void **state)
{
    uint64_t now = START;

    (void)state;
    lost(1, now);
    assert_true(drops(1, now + VC__PATH_AGE_US - 1));
    assert_false(drops(1, now + VC__PATH_AGE_US));
    for (unsigned i = 0; i < 10; i++) {
        now += VC__PATH_AGE_US - 1;
        vc__path_is_used(&memory, "rxe0", peer(1), now);
    }
    assert_true(drops(1, now + VC__PATH_AGE_US - 1));
    /* A use after it was forgotten does not bring it back; a loss does. */
    now += VC__PATH_AGE_US;
    vc__path_is_used(&memory, "rxe0", peer(1), now);
    assert_false(drops(1, now));
    lost(1, now);
    assert_true(drops(1, now));
}

/* The clock of another thread may have been read later. */
static void
a_use_in_the_future_is_as_good_as_one_now(void **state)
{
    uint64_t ago = 7;

    (void)state;
    lost(1, START + 5);
    assert_true(drops(1, START));
    assert_true(vc__path_met(&memory, "rxe0", peer(1), START, &ago));
    assert_int_equal(0, ago);
}

static void
of_too_many_paths_the_one_unused_for_longest_is_forgotten(void **state)
{
    (void)state;
    for (unsigned n = 0; n < VC__PATHS_MAX; n++)
        lost(n, START + n);
    vc__path_is_used(&memory, "rxe0", peer(0), START + 100);
    lost(100, START + 101);
    assert_true(drops(0, START + 101));
    assert_true(drops(100, START + 101));
    assert_false(drops(1, START + 101));
    for (unsigned n = 2; n < VC__PATHS_MAX; n++)
        assert_true(drops(n, START + 101));
}

static void
a_connection_soon_after_the_loss_is_reported_once(void **state)
{
    uint64_t ago = 0;

    (void)state;
    assert_false(vc__path_met(&memory, "rxe0", peer(1), START, &ago));
    lost(1, START);
    assert_false(vc__path_met(&memory, "rxe0", peer(2), START + 9, &ago));
    assert_true(vc__path_met(&memory, "rxe0", peer(1), START + 9, &ago));
    assert_int_equal(9, ago);
    assert_false(vc__path_met(&memory, "rxe0", peer(1), START + 10, &ago));
    lost(1, START + 20);
    assert_false(vc__path_met(&memory, "rxe0", peer(1), START + 21, &ago));
}

/* The host was down for so long that it is the likely cause. */
static void
a_connection_long_after_the_loss_is_not_reported(void **state)
{
    uint64_t ago;

    (void)state;
    lost(1, START);
    assert_false(
        vc__path_met(&memory, "rxe0", peer(1), START + VC__PATH_MEET_US, &ago));
    assert_true(drops(1, START + VC__PATH_MEET_US));
    assert_true(vc__path_met(&memory, "rxe0", peer(1),
                             START + VC__PATH_MEET_US - 1, &ago));
}

static void
without_a_memory_nothing_is_remembered(void **state)
{
    uint64_t ago;

    (void)state;
    vc__path_empty_lost(NULL, "rxe0", peer(1), START);
    vc__path_is_used(NULL, "rxe0", peer(1), START);
    assert_false(vc__path_drops_empty(NULL, "rxe0", peer(1), START));
    assert_false(vc__path_met(NULL, "rxe0", peer(1), START, &ago));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(only_the_path_that_lost_a_packet_is_remembered),
        T(addresses_of_ipv6_are_told_apart_by_their_last_byte),
        T(a_path_is_forgotten_an_hour_after_its_last_use),
        T(a_use_in_the_future_is_as_good_as_one_now),
        T(of_too_many_paths_the_one_unused_for_longest_is_forgotten),
        T(a_connection_soon_after_the_loss_is_reported_once),
        T(a_connection_long_after_the_loss_is_not_reported),
        T(without_a_memory_nothing_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
