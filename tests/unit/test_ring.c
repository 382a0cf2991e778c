/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Consistent hashing; test_ring_memory.c has what happens without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/balance/ring.h"
#include "tests/unit/random.h"

/* gRPC's defaults. */
#define GRPC_MIN 1024u
#define GRPC_MAX 4096u
#define MANY     VC_ENDPOINTS_MAX
#define KEYS     100000u

static struct vc__endpoint endpoints[MANY];

/* Servers of weight 1, with nothing but targets. */
static void
endpoints_set(unsigned n)
{
    memset(endpoints, 0, sizeof endpoints);
    for (unsigned i = 0; i < n; i++) {
        snprintf(endpoints[i].target, sizeof endpoints[i].target,
                 "rdma://10.9.%u.%u:7471", i / 256, i % 256);
        endpoints[i].weight = 1;
    }
}

/* Of the first n endpoints. */
static struct vc__ring *
ring_of(unsigned n, unsigned min, unsigned max)
{
    struct vc__ring *ring = vc__ring_new(endpoints, n, min, max);

    assert_non_null(ring);
    return ring;
}

static struct vc__ring *
usual_ring_of(unsigned n)
{
    return ring_of(n, GRPC_MIN, GRPC_MAX);
}

static unsigned
entries_of(const struct vc__ring *ring, unsigned server)
{
    unsigned count = 0;

    for (unsigned i = 0; i < ring->size; i++)
        count += vc__ring_server(ring, i) == server;
    return count;
}

static uint64_t
hash_of(const char *text)
{
    return vc__ring_hash(text, strlen(text));
}

/* The hash of a call's key: "user-17". */
static uint64_t
key_hash(unsigned i)
{
    char key[32];

    snprintf(key, sizeof key, "user-%u", i);
    return hash_of(key);
}

static unsigned
server_of(const struct vc__ring *ring, uint64_t hash)
{
    return vc__ring_server(ring, vc__ring_find(ring, hash));
}

/* --- hashes and entries -------------------------------------------------- */

static void
hashes_are_xxh64_with_seed_0(void **state)
{
    (void)state;
    assert_true(hash_of("") == UINT64_C(0xef46db3751d8e999));
    assert_true(hash_of("a") == UINT64_C(0xd24ec4f1a98c6e5b));
    assert_true(hash_of("abc") == UINT64_C(0x44bc2cf5ad770999));
    assert_true(hash_of("Call me Ishmael. Some years ago--never mind how "
                        "long precisely-") == UINT64_C(0x02a2e85470d6fd96));
    assert_true(vc__ring_hash("a\0b", 3) != vc__ring_hash("a\0c", 3));
}

static void
a_server_is_at_the_hashes_of_its_target_and_a_number(void **state)
{
    struct vc__ring *ring;
    char place[400];

    (void)state;
    endpoints_set(1);
    ring = usual_ring_of(1);
    assert_int_equal(ring->size, 1024);
    for (unsigned i = 0; i < 1024; i++) {
        snprintf(place, sizeof place, "rdma://10.9.0.0:7471_%u", i);
        assert_true(ring->entries[vc__ring_find(ring, hash_of(place))].hash ==
                    hash_of(place));
    }
    vc__ring_free(ring);
}

static void
a_hash_key_takes_the_place_of_the_target(void **state)
{
    struct vc__ring *a, *b;

    (void)state;
    endpoints_set(3);
    strcpy(endpoints[0].hash_key, "blue");
    a = ring_of(3, 1024, 1024); /* the first one has an entry more */
    strcpy(endpoints[0].target, "tcp://elsewhere:1");
    b = ring_of(3, 1024, 1024);
    assert_int_equal(a->size, b->size);
    assert_int_equal(server_of(a, hash_of("blue_0")), 0);
    for (unsigned i = 0; i < a->size; i++) {
        assert_true(a->entries[i].hash == b->entries[i].hash);
        assert_int_equal(vc__ring_server(a, i), vc__ring_server(b, i));
    }
    vc__ring_free(a);
    vc__ring_free(b);
}

static void
texts_of_any_length_are_taken_whole(void **state)
{
    struct vc__ring *ring;
    char place[VC_ENDPOINT_TARGET_MAX + 10];

    (void)state;
    endpoints_set(2);
    for (unsigned i = 0; i < 2; i++) {
        memset(endpoints[i].target, 'x', VC_ENDPOINT_TARGET_MAX);
        endpoints[i].target[VC_ENDPOINT_TARGET_MAX - 1] = (char)('a' + i);
    }
    ring = usual_ring_of(2);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(place, sizeof place, "%.319s_511", endpoints[i].target);
        assert_int_equal(server_of(ring, hash_of(place)), i);
    }
    vc__ring_free(ring);
}

static void
an_entry_is_found_by_its_hash_and_those_before(void **state)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 7, 1000, 1024, 4095, 4096};

    (void)state;
    endpoints_set(1);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned size = sizes[s];
        struct vc__ring *ring = ring_of(1, size, size);

        assert_int_equal(ring->size, size);
        for (unsigned i = 0; i < size; i++) {
            uint64_t hash = ring->entries[i].hash;

            assert_true(i == 0 || ring->entries[i - 1].hash < hash);
            assert_int_equal(vc__ring_find(ring, hash), i);
            assert_int_equal(vc__ring_find(ring, hash - 1), i);
            assert_int_equal(vc__ring_find(ring, hash + 1), (i + 1) % size);
        }
        assert_int_equal(vc__ring_find(ring, 0), 0);
        assert_int_equal(vc__ring_find(ring, UINT64_MAX), 0);
        vc__ring_free(ring);
    }
}

/* --- sizes --------------------------------------------------------------- */

static void
sizes_are_those_of_grpc(void **state)
{
    static const struct {
        uint32_t weights[4]; /* of the first; the others have 1 */
        unsigned n, min, max, size;
    } rows[] = {
        {{1}, 1, 1024, 4096, 1024},
        {{1}, 2, 1024, 4096, 1024},
        {{1}, 3, 1024, 4096, 1026},
        {{1}, 10, 1024, 4096, 1030},
        {{1}, 100, 1024, 4096, 1100},
        {{1}, 1000, 1024, 4096, 2000},
        {{1}, 1024, 1024, 4096, 1024},
        {{1, 2, 4}, 3, 1024, 4096, 1029},
        {{3, 3, 4}, 3, 7, 4096, 10},
        {{3, 3, 4}, 3, 7, 9, 9},
        {{300, 300, 400}, 3, 7, 4096, 10},
        {{1, 1000}, 2, 1024, 4096, 2002}, /* 1.02 entries: 2 */
        {{1, 1000000}, 2, 1024, 4096, 4096},
        /* bounds */
        {{1}, 3, 100000, 8000000, VC__RING_SIZE_MAX},
        {{1}, 3, 0, 0, 1},
        {{1}, 3, 0, 4096, 3},
        {{1}, 3, 4096, 1024, 1024},
        {{1}, 1000, 1, 100, 100},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, 1}, 4, 4096, 4096, 4096},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc__ring *ring;

        endpoints_set(rows[i].n);
        for (unsigned k = 0; k < 4; k++)
            if (rows[i].weights[k] != 0)
                endpoints[k].weight = rows[i].weights[k];
        ring = ring_of(rows[i].n, rows[i].min, rows[i].max);
        if (ring->size != rows[i].size)
            fail_msg("row %zu: %u entries", i, ring->size);
        vc__ring_free(ring);
    }
}

static void
each_server_has_entries_in_proportion_to_its_weight(void **state)
{
    uint64_t seed = 1, sum = 0;
    struct vc__ring *ring;

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        unsigned n = 2 + random_below(&seed, 50);

        endpoints_set(n);
        sum = 0;
        for (unsigned i = 0; i < n; i++)
            sum += endpoints[i].weight = 1 + random_below(&seed, 9);
        ring = usual_ring_of(n);
        assert_in_range(ring->size, 1024, 4096);
        for (unsigned i = 0; i < n; i++) {
            uint64_t due = endpoints[i].weight * (uint64_t)ring->size / sum;

            assert_in_range(entries_of(ring, i), due - 1, due + 2);
        }
        vc__ring_free(ring);
    }
    endpoints_set(3);
    ring = usual_ring_of(3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(entries_of(ring, i), 342);
    vc__ring_free(ring);
}

static void
a_weight_of_0_is_one_of_1(void **state)
{
    struct vc__ring *ring;

    (void)state;
    endpoints_set(3);
    endpoints[0].weight = endpoints[2].weight = 0;
    endpoints[1].weight = 2;
    ring = usual_ring_of(3);
    assert_int_equal(ring->size, 1024);
    assert_int_equal(entries_of(ring, 0), 256);
    assert_int_equal(entries_of(ring, 1), 512);
    vc__ring_free(ring);
}

static void
each_server_gets_keys_in_proportion_to_its_weight(void **state)
{
    unsigned got[4] = {0};
    struct vc__ring *ring;

    (void)state;
    endpoints_set(4);
    for (unsigned i = 0; i < 4; i++)
        endpoints[i].weight = 100 * (i + 1);
    ring = usual_ring_of(4);
    for (unsigned i = 0; i < KEYS; i++)
        got[server_of(ring, key_hash(i))]++;
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(got[i], KEYS / 10 * (i + 1) * 8 / 10,
                        KEYS / 10 * (i + 1) * 12 / 10);
    vc__ring_free(ring);
}

static void
the_most_servers_that_there_may_be_have_an_entry_each(void **state)
{
    struct vc__ring *ring;

    (void)state;
    endpoints_set(MANY);
    ring = usual_ring_of(MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(entries_of(ring, i), 1);
    vc__ring_free(ring);
    ring = ring_of(MANY, GRPC_MAX, GRPC_MAX);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(entries_of(ring, i), 4);
    vc__ring_free(ring);
}

/* --- servers that come and leave ----------------------------------------- */

static bool
has_entry(const struct vc__ring *ring, uint64_t hash)
{
    return ring->entries[vc__ring_find(ring, hash)].hash == hash;
}

/* The last of n servers leaves. Counts the keys that move from it, and among
 * the others. Another key moves only to an entry that the ring has got so that
 * it keeps its size. */
static void
count_moves(unsigned n, unsigned (*min)(unsigned n), unsigned *from_it,
            unsigned *others)
{
    struct vc__ring *before, *after;

    endpoints_set(n);
    before = ring_of(n, min(n), VC__RING_SIZE_MAX);
    after = ring_of(n - 1, min(n - 1), VC__RING_SIZE_MAX);
    *from_it = *others = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t hash = key_hash(i);
        unsigned was = server_of(before, hash), is = server_of(after, hash);
        unsigned entry = vc__ring_find(after, hash);

        *from_it += was == n - 1;
        if (was != n - 1 && was != is) {
            ++*others;
            assert_false(has_entry(before, after->entries[entry].hash));
        }
    }
    vc__ring_free(before);
    vc__ring_free(after);
}

static unsigned
grpc_size(unsigned n)
{
    (void)n;
    return GRPC_MIN;
}

/* gRPC's sizes leave each of 100 and of 99 servers 11 entries. One of 10 has
 * 103 and one of 9 has 114: so others move to the entries that are new, about
 * as many as had to move. */
static void
with_the_sizes_of_grpc_others_move_to_new_entries_only(void **state)
{
    static const struct {
        unsigned n, others_max;
    } rows[] = {{3, KEYS / 10}, {10, KEYS / 10}, {100, 0}};
    unsigned from_it, others;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        count_moves(rows[i].n, grpc_size, &from_it, &others);
        assert_in_range(from_it, KEYS / rows[i].n * 7 / 10,
                        KEYS / rows[i].n * 13 / 10);
        assert_in_range(others, 0, rows[i].others_max);
    }
}

static void
at_most_its_keys_move_when_a_server_leaves(void **state)
{
    static const unsigned rows[] = {2, 3, 5, 10, 30, 100, 256, 1000};
    unsigned from_it, others;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        count_moves(rows[i], vc__ring_size_for, &from_it, &others);
        assert_in_range(from_it + others, KEYS / rows[i] * 6 / 10,
                        KEYS / rows[i] * 13 / 10);
        assert_int_equal(others, 0);
    }
}

static void
the_ring_is_the_same_whatever_the_order_of_the_servers(void **state)
{
    enum {
        N = 50
    };
    struct vc__ring *a, *b;
    struct vc__endpoint ordered[N];
    uint64_t seed = 1;

    (void)state;
    endpoints_set(N);
    for (unsigned i = 0; i < N; i++) {
        endpoints[i].weight = 1 + random_below(&seed, 7);
        if (i % 3 == 0) /* some share one */
            snprintf(endpoints[i].hash_key, sizeof endpoints[i].hash_key,
                     "zone-%u", i % 4);
    }
    memcpy(ordered, endpoints, sizeof ordered);
    a = usual_ring_of(N);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = N - 1; i > 0; i--) {
            unsigned with = random_below(&seed, i + 1);
            struct vc__endpoint e = endpoints[i];

            endpoints[i] = endpoints[with];
            endpoints[with] = e;
        }
        b = usual_ring_of(N);
        assert_int_equal(a->size, b->size);
        for (unsigned i = 0; i < a->size; i++) {
            assert_true(a->entries[i].hash == b->entries[i].hash);
            assert_string_equal(ordered[vc__ring_server(a, i)].target,
                                endpoints[vc__ring_server(b, i)].target);
        }
        vc__ring_free(b);
    }
    vc__ring_free(a);
}

/* The second one is there for those that walk on. */
static void
of_servers_with_one_hash_key_the_first_gets_the_calls(void **state)
{
    struct vc__ring *ring;

    (void)state;
    endpoints_set(3);
    strcpy(endpoints[1].hash_key, "same");
    strcpy(endpoints[2].hash_key, "same");
    strcpy(endpoints[1].target, "tcp://b:1");
    strcpy(endpoints[2].target, "tcp://a:1");
    ring = usual_ring_of(3);
    assert_int_equal(ring->size, 1026);
    for (unsigned i = 0; i < KEYS / 10; i++) {
        unsigned entry = vc__ring_find(ring, key_hash(i));

        assert_int_not_equal(vc__ring_server(ring, entry), 1);
        if (vc__ring_server(ring, entry) == 2)
            assert_int_equal(vc__ring_server(ring, entry + 1), 1);
    }
    vc__ring_free(ring);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_xxh64_with_seed_0),
        cmocka_unit_test(a_server_is_at_the_hashes_of_its_target_and_a_number),
        cmocka_unit_test(a_hash_key_takes_the_place_of_the_target),
        cmocka_unit_test(texts_of_any_length_are_taken_whole),
        cmocka_unit_test(an_entry_is_found_by_its_hash_and_those_before),
        cmocka_unit_test(sizes_are_those_of_grpc),
        cmocka_unit_test(each_server_has_entries_in_proportion_to_its_weight),
        cmocka_unit_test(a_weight_of_0_is_one_of_1),
        cmocka_unit_test(each_server_gets_keys_in_proportion_to_its_weight),
        cmocka_unit_test(the_most_servers_that_there_may_be_have_an_entry_each),
        cmocka_unit_test(
            with_the_sizes_of_grpc_others_move_to_new_entries_only),
        cmocka_unit_test(at_most_its_keys_move_when_a_server_leaves),
        cmocka_unit_test(
            the_ring_is_the_same_whatever_the_order_of_the_servers),
        cmocka_unit_test(of_servers_with_one_hash_key_the_first_gets_the_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
