/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How soon a dead peer is detected, and that no live peer is taken for dead. */
#include "tests/sim/alive_scene.h"

/* --- dead peers -------------------------------------------------------- */

static void
a_dead_server_is_found_within_a_second_of_a_call(void **state)
{
    static const uint64_t least[] = {
        [FROZEN] = 600 * MS,        [PORT_DOWN] = 400 * MS,
        [WIRE_CUT] = 400 * MS,      [CUT_TO_CLIENT] = 400 * MS,
        [CUT_TO_SERVER] = 100 * MS,
    };

    (void)state;
    for (enum blow blow = FROZEN; blow < BLOWS; blow++) {
        for (unsigned phase = 0; phase < PHASES; phase++) {
            struct alive_scene w = {.serves_itself = phase % 3 == 0,
                                    .phase_us = phase * 77 * MS};
            uint64_t struck;

            alive_begin(&w, phase + 1, 200 * MS);
            /* Not where the reply shall arrive: the server's probe may end the
             * link before. */
            fake_device_drops_empty(w.here,
                                    phase % 2 == 0 && blow != CUT_TO_SERVER);
            alive_await_ran(FIRST);
            struck = fake_now_us();
            alive_strike(&w, blow);
            alive_await_called(&w);

            /* A reply arrives that is not acknowledged. */
            assert_int_equal(w.first,
                             blow == CUT_TO_SERVER ? VC_OK : VC_UNAVAILABLE);
            alive_between(w.first_ended - struck, least[blow],
                          blow == FROZEN ? 1200 * MS : 2000 * MS);
            alive_mend(&w);
            alive_end(&w);
            assert_int_equal(w.second, VC_OK);
            assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
        }
    }
}

static void
a_dead_server_is_found_within_three_seconds_without_calls(void **state)
{
    static const uint64_t least[] = {
        [FROZEN] = 950 * MS,        [PORT_DOWN] = 400 * MS,
        [WIRE_CUT] = 400 * MS,      [CUT_TO_SERVER] = 400 * MS,
        [CUT_TO_CLIENT] = 400 * MS,
    };

    (void)state;
    for (enum blow blow = FROZEN; blow < BLOWS; blow++) {
        for (unsigned phase = 0; phase < PHASES; phase++) {
            struct alive_scene w = {.serves_itself = true};
            uint64_t struck;

            alive_begin(&w, phase + 1, 0);
            alive_await_called(&w);
            fake_sleep_us(2 * S + phase * 177 * MS);
            struck = fake_now_us();
            assert_int_equal(w.down, 0);
            alive_strike(&w, blow);
            fake_sleep_us(4 * S);

            alive_between(w.down - struck, least[blow], 3 * S + 50 * MS);
            alive_mend(&w);
            alive_end(&w);
            assert_int_equal(w.second, VC_OK);
        }
    }
}

/* The client has no call under way; the server's adapter probes the
 * client's. */
static void
a_server_finds_a_client_that_the_network_lost(void **state)
{
    struct alive_scene w = {.serves_itself = false};
    uint64_t until;
    unsigned left = 0;

    (void)state;
    alive_begin(&w, 3, 0);
    alive_await_called(&w);
    fake_when("server: DREQ ->", 1, alive_count, &left);
    fake_wire_cut(w.here, w.s.host, true);
    until = fake_now_us() + 3 * S;
    while (left == 0 && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_equal(left, 1);
    alive_mend(&w);
    alive_end(&w);
}

/* --- live peers -------------------------------------------------------- */

static void
a_client_that_does_not_poll_is_not_thrown_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct alive_scene w = {.serves_itself = false};

        alive_begin(&w, seed, 0);
        alive_await_called(&w);
        fake_sleep_us(60 * S);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_in_range(w.probes, 20, 120);
        assert_int_equal(w.pings, CLOSING);
    }
}

static void
an_idle_link_lives_as_long_as_both_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct alive_scene w = {.serves_itself = true};

        alive_begin(&w, seed, 0);
        alive_await_called(&w);
        fake_sleep_us(60 * S);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_in_range(w.pings, 30, 130); /* with their answers */
    }
}

/* The client's clock has jumped, with or without a PING in flight. */
static void
a_client_that_was_stopped_does_not_take_its_server_for_dead(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct alive_scene w = {.serves_itself = phase % 2 == 0};

        alive_begin(&w, phase + 1, 700 * MS);
        alive_await_ran(FIRST);
        fake_sleep_us(phase * 77 * MS);
        fake_process_freeze(w.client);
        fake_sleep_us(4 * S);
        fake_process_thaw(w.client);
        alive_await_called(&w);

        assert_int_equal(w.first, VC_OK);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* Both machines were suspended, so the time that passed says nothing about
 * either peer. */
static void
two_ends_that_were_stopped_live_on(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct alive_scene w = {.serves_itself = phase % 2 == 0};

        alive_begin(&w, phase + 1, 10 * MS);
        alive_await_ran(FIRST);
        fake_process_freeze(w.s.process);
        fake_sleep_us(phase * 77 * MS); /* until a PING is in flight */
        fake_process_freeze(w.client);
        fake_sleep_us(3 * S);
        fake_process_thaw(w.client);
        fake_sleep_us(20 * MS);
        fake_process_thaw(w.s.process);
        alive_await_called(&w);

        assert_int_equal(w.first, VC_OK);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* The server's process gets no PING, and the client's adapter no probe by the
 * server: each packet shows that both are alive. */
static void
who_is_heard_of_is_not_asked(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct alive_scene w = {.serves_itself = true, .chats = 100};

        alive_begin(&w, seed, 0);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_int_equal(w.pings, 0);
        assert_int_equal(w.probes, 0);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
    }
}

/* The first packet of a link is sent this long after connecting at most. */
#define GREETING_US (10 * MS)

/* The first packet is a PING. Without it the server would close the link after
 * 2 s, and the call would need another link. */
static void
a_link_without_a_call_yet_is_greeted_and_asked_as_others(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct alive_scene w = {.serves_itself = true,
                                .waits = true,
                                .phase_us = 5500 * MS + phase * 177 * MS};
        uint64_t until;

        alive_begin(&w, phase + 1, 0);
        until = fake_now_us() + PATIENCE;
        while (w.requests == 0 && fake_now_us() < until)
            fake_sleep_us(LOOK_US);
        fake_sleep_us(GREETING_US);
        assert_int_equal(w.pings, 2); /* with its answer */
        alive_await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_in_range(w.pings, 2 + 2 * 2, 2 + 2 * 4);
        alive_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* --- other options ----------------------------------------------------- */

static void
without_keepalive_nothing_is_asked(void **state)
{
    struct alive_scene w = {.serves_itself = true,
                            .s.keepalive_ms = VC_KEEPALIVE_OFF,
                            .keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    alive_begin(&w, 1, 200 * MS);
    alive_await_ran(FIRST);
    fake_process_freeze(w.s.process);
    alive_await_called(&w);
    assert_int_equal(w.first, VC_DEADLINE_EXCEEDED);
    fake_sleep_us(20 * S);
    alive_mend(&w);
    alive_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.requests, 1);
    /* As long as a PING are also the CANCEL of the first call, and the reply to
     * it. */
    assert_int_equal(w.pings, 2 + CLOSING);
    assert_int_equal(w.probes, 0);
}

static void
a_server_that_may_not_answer_is_not_asked(void **state)
{
    struct alive_scene w = {.s.keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    alive_begin(&w, 1, 3 * S);
    alive_await_called(&w);
    assert_int_equal(w.first, VC_OK);
    alive_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.pings, CLOSING);
    assert_in_range(w.probes, 3, 30); /* but its adapter is probed */
}

static void
the_clients_wish_counts(void **state)
{
    static const uint64_t most[] = {3100 * MS, 150 * MS};

    (void)state;
    for (int servers = 0; servers < 2; servers++) {
        struct alive_scene w = {.s.keepalive_ms = servers ? 3000 : 100,
                                .keepalive_ms = servers ? 100 : 3000};
        uint64_t struck;

        alive_begin(&w, 1, 20 * MS);
        alive_await_ran(FIRST);
        struck = fake_now_us();
        fake_process_freeze(w.s.process);
        alive_await_called(&w);
        assert_int_equal(w.first, VC_UNAVAILABLE);
        alive_between(w.down - struck, most[servers] / 2, most[servers]);
        alive_mend(&w);
        alive_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_server_is_found_within_a_second_of_a_call),
        cmocka_unit_test(
            a_dead_server_is_found_within_three_seconds_without_calls),
        cmocka_unit_test(a_server_finds_a_client_that_the_network_lost),
        cmocka_unit_test(a_client_that_does_not_poll_is_not_thrown_out),
        cmocka_unit_test(an_idle_link_lives_as_long_as_both_ends),
        cmocka_unit_test(
            a_client_that_was_stopped_does_not_take_its_server_for_dead),
        cmocka_unit_test(two_ends_that_were_stopped_live_on),
        cmocka_unit_test(who_is_heard_of_is_not_asked),
        cmocka_unit_test(
            a_link_without_a_call_yet_is_greeted_and_asked_as_others),
        cmocka_unit_test(without_keepalive_nothing_is_asked),
        cmocka_unit_test(a_server_that_may_not_answer_is_not_asked),
        cmocka_unit_test(the_clients_wish_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
