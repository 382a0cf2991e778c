/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/shm/ring.h: packets of any length come out as they went in, and no
 * packet is overwritten before it was copied. A sleeping end is woken once, and
 * impossible values from the peer are detected. Both ends are in this process,
 * each with its own mapping of the other's region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tests/unit/resident.h"
#include "transport/shm/ring.h"

#define WINDOW  32u
#define PACKETS 200000u

static struct pair {
    struct vc__shm_region *mine[2];
    const struct vc__shm_region *theirs[2];
    struct vc__shm_out out; /* of end 0 */
    struct vc__shm_in in;   /* of end 1 */
} p;

static int
setup(void **state)
{
    (void)state;
    memset(&p, 0, sizeof p);
    for (unsigned i = 0; i < 2; i++) {
        int fd;

        p.mine[i] = vc__shm_region_make(&fd);
        assert_non_null(p.mine[i]);
        p.theirs[1 - i] = vc__shm_region_map(fd);
        assert_non_null(p.theirs[1 - i]);
        close(fd);
    }
    p.out.mine = p.mine[0];
    p.out.theirs = p.theirs[0];
    p.in.mine = p.mine[1];
    p.in.theirs = p.theirs[1];
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        vc__shm_region_unmap(p.mine[i]);
        vc__shm_region_unmap(p.theirs[i]);
    }
    return 0;
}

/* Makes the packet with this number; returns its length. */
static uint32_t
packet_make(uint32_t number, uint8_t *out)
{
    uint64_t seed = number + 1;
    uint32_t len = random_below(&seed, 4) == 0
                       ? random_below(&seed, VC__PACKET_MAX + 1)
                       : random_below(&seed, 200);

    memset(out, (int)(number % 251), len);
    return len;
}

static void
publish(uint32_t number)
{
    uint8_t *at = vc__shm_out_reserve(&p.out);

    assert_non_null(at);
    vc__shm_out_commit(&p.out, packet_make(number, at));
}

static void
expect(uint32_t number)
{
    static uint8_t wanted[VC__PACKET_MAX], got[VC__PACKET_MAX];
    uint32_t len = packet_make(number, wanted);

    assert_int_equal(len, vc__shm_in_take(&p.in, got));
    assert_memory_equal(wanted, got, len);
}

static void
packets_come_out_as_they_went_in(void **state)
{
    static uint8_t packet[VC__PACKET_MAX];
    uint32_t in = 0, out = 0;
    uint64_t seed = 1;

    (void)state;
    while (out < PACKETS) {
        uint32_t n = random_below(&seed, WINDOW + 1);

        while (in - out < n)
            publish(in++);
        for (n = random_below(&seed, in - out + 1); n > 0; n--)
            expect(out++);
    }
    while (out < in)
        expect(out++);
    assert_int_equal(-1, vc__shm_in_take(&p.in, packet));
}

/* There is room for as many of the longest packets as any window has. */
static void
there_is_room_for_a_window(void **state)
{
    static uint8_t packet[VC__PACKET_MAX];

    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        unsigned n = 0;

        while (n < WINDOW) {
            assert_non_null(vc__shm_out_reserve(&p.out));
            vc__shm_out_commit(&p.out,
                               n == 0 && round % 3 == 0 ? 5 : VC__PACKET_MAX);
            n++;
            if (round % 5 == 0 && n == WINDOW / 2)
                assert_true(vc__shm_in_take(&p.in, packet) > 0);
        }
        while (vc__shm_in_take(&p.in, packet) > 0)
            continue;
    }
}

static void
more_than_there_is_room_for_waits(void **state)
{
    static uint8_t packet[VC__PACKET_MAX];
    unsigned n = 0;

    (void)state;
    while (vc__shm_out_reserve(&p.out) != NULL) {
        vc__shm_out_commit(&p.out, 1);
        n++;
    }
    assert_int_equal(VC__SHM_ENTRIES, n);
    assert_int_equal(1, vc__shm_in_take(&p.in, packet));
    assert_non_null(vc__shm_out_reserve(&p.out));
}

static void
who_sleeps_is_woken_once(void **state)
{
    (void)state;
    publish(0);
    assert_false(vc__shm_out_wakes(&p.out));
    assert_false(vc__shm_in_sleep(&p.in)); /* a packet is there */
    expect(0);
    assert_true(vc__shm_in_sleep(&p.in));
    publish(1);
    assert_true(vc__shm_out_wakes(&p.out));
    assert_false(vc__shm_out_wakes(&p.out));
    vc__shm_in_wake(&p.in);
    expect(1);
    assert_true(vc__shm_in_sleep(&p.in));
    publish(2);
    assert_true(vc__shm_out_wakes(&p.out));
}

/* Each row is in the peer's own memory. */
static void
what_cannot_be_is_noticed(void **state)
{
    static const struct {
        uint32_t tail, offset, len;
    } bad[] = {
        {VC__SHM_ENTRIES + 1, 0, 8},
        {0xffffffffu, 0, 8},
        {1, 0, VC__PACKET_MAX + 1},
        {1, 0, 0xffffffffu},
        {1, VC__SHM_DATA, 1},
        {1, VC__SHM_DATA - 7, 8},
        {1, 0xffffffc0u, 128},
        {1, VC__SHM_DATA - 8, 8},
        {1, 63, 8},
    };
    static uint8_t packet[VC__PACKET_MAX];

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        atomic_store(&p.mine[0]->tail, bad[i].tail);
        atomic_store(&p.mine[0]->entries[0].offset, bad[i].offset);
        atomic_store(&p.mine[0]->entries[0].len, bad[i].len);
        assert_int_equal(-2, vc__shm_in_take(&p.in, packet));
    }
    atomic_store(&p.mine[0]->tail, 1);
    atomic_store(&p.mine[0]->entries[0].offset, VC__SHM_DATA - VC__SHM_ALIGN);
    atomic_store(&p.mine[0]->entries[0].len, 8);
    assert_int_equal(8, vc__shm_in_take(&p.in, packet));
}

#define NEWEST(n, offset, len)                                                 \
    (1u << 31 | (n) << 27 | (uint32_t)(len) << 13 | (offset) / VC__SHM_ALIGN)

/* `newest` counts only if its number is that of the next packet, number 0. The
 * entry has length 5. */
static void
newest_says_where_the_only_packet_is(void **state)
{
    static const struct {
        uint32_t newest;
        int expected;
    } rows[] = {
        {NEWEST(0, 64, 9), 9},
        {NEWEST(0, VC__SHM_DATA - VC__SHM_ALIGN, 64), 64},
        {NEWEST(1, 64, 9), 5},
        {NEWEST(15, 64, 9), 5},
        {NEWEST(0, 64, 9) & 0x7fffffffu, 5}, /* of no packet: bit 31 is clear */
        {0, 5},
        {NEWEST(0, 64, VC__PACKET_MAX + 1), -2},
        {NEWEST(0, VC__SHM_DATA - VC__SHM_ALIGN, 65), -2},
        {NEWEST(0, VC__SHM_DATA, 1), -2},
        {0xffffffffu, 5},
    };
    static uint8_t packet[VC__PACKET_MAX];

    (void)state;
    atomic_store(&p.mine[0]->tail, 1);
    atomic_store(&p.mine[0]->entries[0].len, 5);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        p.in.head = 0;
        atomic_store(&p.mine[0]->newest, rows[i].newest);
        assert_int_equal(rows[i].expected, vc__shm_in_take(&p.in, packet));
    }
    p.in.head = 0;
    atomic_store(&p.mine[0]->tail, 2); /* then newest is not used */
    atomic_store(&p.mine[0]->newest, vc__shm_newest(0, 64, 9));
    assert_int_equal(5, vc__shm_in_take(&p.in, packet));
}

/* No packet is overwritten because of it. */
static void
a_head_that_cannot_be_frees_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VC__SHM_ENTRIES; i++) {
        assert_non_null(vc__shm_out_reserve(&p.out));
        vc__shm_out_commit(&p.out, 1);
    }
    atomic_store(&p.mine[1]->head, VC__SHM_ENTRIES + 1);
    assert_null(vc__shm_out_reserve(&p.out));
    atomic_store(&p.mine[1]->head, 0x80000000u);
    assert_null(vc__shm_out_reserve(&p.out));
}

static unsigned
pages_there(const struct vc__shm_region *region)
{
    static unsigned char there[sizeof *region / 4096 + 1];
    unsigned n = 0;

    assert_int_equal(0, mincore((void *)region, sizeof *region, there));
    for (size_t i = 0; i < sizeof there; i++)
        n += there[i] & 1;
    return n;
}

static void
what_a_burst_has_touched_goes_back(void **state)
{
    static uint8_t packet[VC__PACKET_MAX];

    (void)state;
    if (!resident_is_known())
        skip();
    for (unsigned i = 0; i < WINDOW; i++) {
        memset(vc__shm_out_reserve(&p.out), 1, VC__PACKET_MAX);
        vc__shm_out_commit(&p.out, VC__PACKET_MAX);
    }
    assert_true(pages_there(p.mine[0]) > 2 * WINDOW);
    vc__shm_out_trim(&p.out); /* no effect before the packets were copied */
    assert_true(pages_there(p.mine[0]) > 2 * WINDOW);
    for (unsigned i = 0; i < WINDOW; i++)
        assert_int_equal(VC__PACKET_MAX, vc__shm_in_take(&p.in, packet));
    vc__shm_out_trim(&p.out);
    assert_in_range(pages_there(p.mine[0]), 1, 2);
    publish(7);
    expect(7);
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PAIR(packets_come_out_as_they_went_in),
        WITH_PAIR(there_is_room_for_a_window),
        WITH_PAIR(more_than_there_is_room_for_waits),
        WITH_PAIR(who_sleeps_is_woken_once),
        WITH_PAIR(what_cannot_be_is_noticed),
        WITH_PAIR(newest_says_where_the_only_packet_is),
        WITH_PAIR(a_head_that_cannot_be_frees_nothing),
        WITH_PAIR(what_a_burst_has_touched_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
