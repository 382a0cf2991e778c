/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among the servers of a channel: ring_hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"

#define KEYS 2000u

/* Which server has each key. */
struct owners {
    unsigned of[KEYS];
};

/* Keys are random hashes, the same each time. */
static struct owners
owners_now(const struct vc__pool *before)
{
    uint64_t seed = 5;
    struct owners o;

    for (unsigned k = 0; k < KEYS; k++)
        o.of[k] = rig_pick_hash(before, rig_random(&seed));
    return o;
}

static void
ring_begin(void)
{
    picker_rig_fresh(VC__POLICY_RING_HASH);
}

static void
calls_of_one_key_go_to_one_server(void **state)
{
    unsigned keys[RIG_N] = {0};
    struct owners first, then;

    (void)state;
    ring_begin();
    first = owners_now(NULL);
    then = owners_now(NULL);
    assert_memory_equal(&first, &then, sizeof first);
    for (unsigned k = 0; k < KEYS; k++)
        keys[first.of[k]]++;
    for (unsigned i = 0; i < RIG_N; i++)
        assert_in_range(keys[i], KEYS / RIG_N / 2, KEYS / RIG_N * 2);
}

/* A call without a key has a random hash: picker_rig_draw(). */
static void
calls_without_a_key_go_anywhere(void **state)
{
    (void)state;
    ring_begin();
    picker_rig_draw(KEYS);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_in_range(rig.got[i], KEYS / RIG_N / 2, KEYS / RIG_N * 2);
}

/* The first server after the owner's place of this hash that is another. */
static unsigned
next_on_ring(uint64_t hash, unsigned owner)
{
    unsigned entry = vc__ring_find(rig.set->ring, hash);

    while (vc__ring_server(rig.set->ring, entry) == owner)
        entry = (entry + 1) % rig.set->ring->size;
    return vc__ring_server(rig.set->ring, entry);
}

/* Expects that keys of this server are at the next ones of the ring, and the
 * others where they were. */
static void
only_keys_of_one_moved(const struct owners *from, const struct owners *to,
                       unsigned one)
{
    uint64_t seed = 5;

    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t hash = rig_random(&seed);

        assert_int_equal(from->of[k] == one ? next_on_ring(hash, one)
                                            : from->of[k],
                         to->of[k]);
    }
}

static void
keys_of_a_failing_server_go_to_the_next_and_come_back(void **state)
{
    struct owners before, without, after;

    (void)state;
    ring_begin();
    before = owners_now(NULL);
    rig_health(2, VC__POOL_FAILING);
    without = owners_now(NULL);
    only_keys_of_one_moved(&before, &without, 2);
    rig_health(2, VC__POOL_READY);
    after = owners_now(NULL);
    assert_memory_equal(&before, &after, sizeof before);
}

static void
keys_of_an_ejected_server_go_to_the_next(void **state)
{
    struct owners before, without;

    (void)state;
    ring_begin();
    before = owners_now(NULL);
    rig_eject(1, true);
    without = owners_now(NULL);
    only_keys_of_one_moved(&before, &without, 1);
}

static void
a_further_attempt_goes_to_the_next_on_the_ring(void **state)
{
    struct owners first, further;

    (void)state;
    ring_begin();
    first = owners_now(NULL);
    further = owners_now(&rig.pools[3]);
    only_keys_of_one_moved(&first, &further, 3);
}

/* The call waits for its own server, also beside one that is connected, and no
 * other is connected for it. */
static void
idle_servers_are_not_connected_before_they_are_chosen(void **state)
{
    struct owners connected, idle;

    (void)state;
    ring_begin();
    connected = owners_now(NULL);
    rig_health_all(VC__POOL_IDLE);
    rig_health(0, VC__POOL_READY);
    for (unsigned i = 0; i < RIG_N; i++)
        rig_promptable(i);
    idle = owners_now(NULL);
    assert_memory_equal(&connected, &idle, sizeof connected);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_false(picker_rig_was_prompted(i));
}

/* Else nobody would find out that it is back. */
static void
a_failing_server_that_is_passed_is_connected_again(void **state)
{
    (void)state;
    ring_begin();
    rig_health(4, VC__POOL_FAILING);
    rig_health(0, VC__POOL_IDLE);
    rig_promptable(4);
    rig_promptable(0);
    owners_now(NULL);
    assert_true(picker_rig_was_prompted(4));
    assert_false(picker_rig_was_prompted(0));
}

/* The ring without the last server, which leaves. */
static struct owners
owners_without_last(void)
{
    struct owners o;

    picker_rig_begin(VC__POLICY_RING_HASH, RIG_N - 1);
    picker_rig_arrange();
    o = owners_now(NULL);
    return o;
}

static void
when_a_server_leaves_only_its_keys_move(void **state)
{
    struct owners all, fewer = owners_without_last();

    (void)state;
    ring_begin();
    all = owners_now(NULL);
    only_keys_of_one_moved(&all, &fewer, RIG_N - 1);
}

/* A server's place comes from its hash key, not its target or its number. */
static void
a_server_that_has_moved_keeps_its_keys(void **state)
{
    struct owners before, after;

    (void)state;
    picker_rig_begin(VC__POLICY_RING_HASH, RIG_N);
    for (unsigned i = 0; i < RIG_N; i++)
        strcpy(rig.set->about[i].hash_key, (char[]){'a' + (char)i, '\0'});
    picker_rig_arrange();
    before = owners_now(NULL);
    picker_rig_begin(VC__POLICY_RING_HASH, RIG_N);
    for (unsigned i = 0; i < RIG_N; i++)
        strcpy(rig.set->about[i].hash_key,
               (char[]){'a' + (char)(RIG_N - 1 - i), '\0'});
    picker_rig_arrange();
    after = owners_now(NULL);
    for (unsigned k = 0; k < KEYS; k++)
        assert_int_equal(before.of[k], RIG_N - 1 - after.of[k]);
}

/* The policy and the set are not changed in one moment. */
static void
a_set_that_was_made_for_another_policy_has_a_server_for_each_call(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    assert_null(rig.set->ring);
    atomic_store(&rig.picker.policy, VC__POLICY_RING_HASH);
    picker_rig_draw(KEYS);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_in_range(rig.got[i], KEYS / RIG_N / 2, KEYS / RIG_N * 2);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_set_that_was_made_for_another_policy_has_a_server_for_each_call),
        T(calls_of_one_key_go_to_one_server),
        T(calls_without_a_key_go_anywhere),
        T(keys_of_a_failing_server_go_to_the_next_and_come_back),
        T(keys_of_an_ejected_server_go_to_the_next),
        T(a_further_attempt_goes_to_the_next_on_the_ring),
        T(idle_servers_are_not_connected_before_they_are_chosen),
        T(a_failing_server_that_is_passed_is_connected_again),
        T(when_a_server_leaves_only_its_keys_move),
        T(a_server_that_has_moved_keeps_its_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
