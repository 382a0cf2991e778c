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

/* The servers in the order in which a walk from this hash meets them. */
static void
walk(uint64_t hash, unsigned met[RIG_N])
{
    unsigned entry = vc__ring_find(rig.set->ring, hash), n = 0;
    bool seen[RIG_N] = {false};

    for (; n < RIG_N; entry = (entry + 1) % rig.set->ring->size) {
        unsigned at = vc__ring_server(rig.set->ring, entry);

        if (!seen[at])
            met[n++] = at;
        seen[at] = true;
    }
}

/* The choice of a call with this hash when the servers that its walk meets have
 * these states. Each may be connected. Returns the place in the walk. */
static unsigned
walk_to(const enum vc__pool_health states[RIG_N], uint64_t hash,
        unsigned met[RIG_N])
{
    unsigned chosen, i = 0;

    ring_begin();
    walk(hash, met);
    for (unsigned k = 0; k < RIG_N; k++) {
        rig_health(met[k], states[k]);
        rig_promptable(met[k]);
    }
    chosen = rig_pick_hash(NULL, hash);
    while (met[i] != chosen)
        i++;
    return i;
}

#define READY      VC__POOL_READY
#define IDLE       VC__POOL_IDLE
#define CONNECTING VC__POOL_CONNECTING
#define FAILING    VC__POOL_FAILING

/* The walk of A42. `prompted` is of the servers that it has connected; one
 * that is chosen is connected by its call. */
static void
a_call_waits_for_the_first_two_servers_of_its_key_and_for_no_others(
    void **state)
{
    static const struct {
        enum vc__pool_health states[RIG_N];
        unsigned chosen;
        const char *prompted;
    } rows[] = {
        {{READY, READY, READY, READY, READY}, 0, "....."},
        {{IDLE, READY, READY, READY, READY}, 0, "....."},
        {{CONNECTING, READY, READY, READY, READY}, 0, "....."},
        {{FAILING, READY, READY, READY, READY}, 1, "p...."},
        {{FAILING, IDLE, READY, READY, READY}, 1, "p...."},
        {{FAILING, CONNECTING, READY, READY, READY}, 1, "p...."},
        {{FAILING, FAILING, READY, READY, READY}, 2, "pp..."},
        {{FAILING, FAILING, IDLE, READY, READY}, 3, "ppp.."},
        {{FAILING, FAILING, IDLE, IDLE, READY}, 4, "ppp.."},
        {{FAILING, FAILING, IDLE, FAILING, READY}, 4, "ppp.."},
        {{FAILING, FAILING, FAILING, IDLE, READY}, 4, "pppp."},
        {{FAILING, FAILING, IDLE, FAILING, IDLE}, 2, "ppp.."},
        {{FAILING, FAILING, FAILING, FAILING, FAILING}, 0, "ppppp"},
    };
    uint64_t seed = 3;
    unsigned met[RIG_N];

    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        uint64_t hash = rig_random(&seed);

        for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
            assert_int_equal(rows[i].chosen,
                             walk_to(rows[i].states, hash, met));
            for (unsigned k = 0; k < RIG_N; k++)
                assert_int_equal(rows[i].prompted[k] == 'p',
                                 picker_rig_was_prompted(met[k]));
        }
    }
}

/* A76: the walk begins at a random place. */
static void
a_call_without_a_key_takes_one_that_is_connected_and_connects_another(
    void **state)
{
    uint64_t seed = 3;
    unsigned prompted;

    (void)state;
    for (unsigned n = 0; n < 200; n++) {
        ring_begin();
        rig_health_all(IDLE);
        rig_health(n % RIG_N, READY);
        for (unsigned i = 0; i < RIG_N; i++)
            rig_promptable(i);
        assert_int_equal(n % RIG_N, rig_pick_after(NULL, rig_random(&seed)));
        prompted = 0;
        for (unsigned i = 0; i < RIG_N; i++)
            prompted += picker_rig_was_prompted(i);
        assert_in_range(prompted, 0, 1);
    }
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
        T(a_call_waits_for_the_first_two_servers_of_its_key_and_for_no_others),
        T(a_call_without_a_key_takes_one_that_is_connected_and_connects_another),
        T(when_a_server_leaves_only_its_keys_move),
        T(a_server_that_has_moved_keeps_its_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
