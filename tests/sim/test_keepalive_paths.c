/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Keepalive over poor networks: packets that are held, or delivered twice, and
 * paths that drop packets without bytes. */
#include "tests/sim/alive_scene.h"

/* --- poor networks ----------------------------------------------------- */

/* Adapters try for longer than 300 ms. */
static void
a_short_clog_costs_time_and_nothing_else(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < 2 * PHASES; phase++) {
        struct alive_scene w = {.serves_itself = phase % 3 == 0,
                                .chats = 10,
                                .phase_us = phase * 7 * MS};
        struct fake_host *from, *to;
        struct fake_path_counts c;

        alive_begin(&w, phase + 1, 20 * MS);
        from = phase % 2 == 0 ? w.here : w.s.host;
        to = phase % 2 == 0 ? w.s.host : w.here;
        alive_await_ran(0);
        fake_sleep_us(phase * 11 * MS);
        fake_path_clog(from, to, true);
        fake_sleep_us(300 * MS);
        fake_path_clog(from, to, false);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_OK);
        fake_path_count(from, to, &c);
        assert_in_range(c.held, 1, 100);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_int_equal(atomic_load(&sim_ran[0]), 1 + w.chats);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
    }
}

/* The request reaches the server after its client has given the link up. */
static void
a_request_held_for_too_long_runs_once_at_most(void **state)
{
    unsigned late = 0;

    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct alive_scene w = {.serves_itself = phase % 3 == 0,
                                .phase_us = 300 * MS + phase * 77 * MS};

        alive_begin(&w, phase + 1, 0);
        alive_await_ran(0);
        fake_sleep_us(250 * MS);
        fake_path_clog(w.here, w.s.host, true);
        fake_rule("client: DREQ ->", 1, FAKE_LOSE, 0);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_UNAVAILABLE);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 0);
        fake_path_clog(w.here, w.s.host, false);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_in_range(atomic_load(&sim_ran[FIRST]), 0, 1);
        late += atomic_load(&sim_ran[FIRST]);
    }
    assert_in_range(late, 1, PHASES);
}

static void
packets_that_arrive_twice_are_handled_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PHASES; seed++) {
        struct alive_scene w = {.serves_itself = seed % 2 == 0, .chats = 20};
        struct fake_path_counts c;

        alive_begin(&w, seed, 0);
        fake_path_duplicate(w.here, w.s.host, 1 + (unsigned)seed % 3);
        fake_path_duplicate(w.s.host, w.here, 1 + (unsigned)seed % 2);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_OK);
        fake_path_count(w.here, w.s.host, &c);
        assert_in_range(c.duplicated, 3, 100);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_int_equal(atomic_load(&sim_ran[0]), 1 + w.chats);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
        assert_int_equal(atomic_load(&sim_ran[LATER]), 1);
    }
}

/* --- paths that drop packets without bytes ------------------------------ */

static struct vc_counters
server_counters(struct alive_scene *w)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    assert_int_equal(vc_runtime_counters(atomic_load(&w->s.runtime), &c),
                     VC_OK);
    return c;
}

/* The server is late with its answer to a PING, but in time. */
static void
a_path_without_empty_packets_costs_a_client_that_asks_no_link(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct alive_scene w = {.serves_itself = phase % 2 == 0,
                                .phase_us = phase * 77 * MS};

        alive_begin(&w, phase + 1, 10 * MS);
        fake_device_drops_empty(w.s.host, true);
        alive_await_ran(FIRST);
        fake_process_freeze(w.s.process);
        fake_sleep_us(580 * MS);
        fake_process_thaw(w.s.process);
        alive_await_called(&w);

        assert_int_equal(w.first, VC_OK);
        fake_sleep_us(S);
        assert_int_equal(w.down, 0);
        assert_int_equal(w.probes, 0);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* The client sleeps between its calls, so the server probes its adapter: once
 * by an empty packet, then by others as long as there are credits. */
static void
a_path_without_empty_packets_costs_a_client_that_sleeps_one_link(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct alive_scene w = {.phase_us = 20 * S};
        struct vc_counters c;

        alive_begin(&w, seed, 0);
        fake_device_drops_empty(w.here, true);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_int_equal(w.requests, 2);
        fake_sleep_us(200 * S);
        c = server_counters(&w);
        assert_int_equal(c.keepalive_empties_lost, 1);
        assert_in_range(c.keepalive_packets, 3, 64);
        assert_in_range(c.keepalive_left_out, 100, 700);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 2);
    }
}

static void
a_lost_client_is_found_where_empty_packets_are_dropped(void **state)
{
    struct alive_scene w = {.phase_us = 5 * S};
    unsigned left = 0;

    (void)state;
    alive_begin(&w, 3, 0);
    fake_device_drops_empty(w.here, true);
    alive_await_called(&w);
    fake_when("server: DREQ ->", 1, alive_count, &left);
    fake_sleep_us(5 * S); /* it is probed, and lives */
    assert_int_equal(left, 0);
    fake_wire_cut(w.here, w.s.host, true);
    fake_sleep_us(3 * S);
    assert_int_equal(left, 1);
    alive_mend(&w);
    alive_end(&w);
}

/* The server answers no PINGs, so the client probes its adapter. */
static void
a_server_that_may_not_answer_is_lost_once_by_an_empty_packet(void **state)
{
    struct alive_scene w = {.s.keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    alive_begin(&w, 1, 3 * S);
    fake_device_drops_empty(w.s.host, true);
    alive_await_called(&w);
    assert_int_equal(w.first, VC_OK);
    alive_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.requests, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_clog_costs_time_and_nothing_else),
        cmocka_unit_test(a_request_held_for_too_long_runs_once_at_most),
        cmocka_unit_test(packets_that_arrive_twice_are_handled_once),
        cmocka_unit_test(
            a_path_without_empty_packets_costs_a_client_that_asks_no_link),
        cmocka_unit_test(
            a_path_without_empty_packets_costs_a_client_that_sleeps_one_link),
        cmocka_unit_test(
            a_lost_client_is_found_where_empty_packets_are_dropped),
        cmocka_unit_test(
            a_server_that_may_not_answer_is_lost_once_by_an_empty_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
