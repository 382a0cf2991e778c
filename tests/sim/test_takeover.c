/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that run long. Other calls are served meanwhile, the clients do not
 * take the server for dead, and the server ends in order at any moment. If no
 * threads are left for them: test_takeover_threads.c. */
#include "tests/sim/house.h"

#define MANY    40u
#define SOON_US 100u
/* For seeds where threads are stopped for up to 2 ms now and then. */
#define STALLS_US 5000u
/* The interval at which handlers are checked. */
#define LOOKS_US 1000u
#define PHASES   50u
/* The largest distance between a check and the nearest phase. */
#define EDGE_US 80u
/* After a check it takes up to this until the next handler begins. */
#define BEGIN_US 10u

static void
a_long_handler_keeps_its_client_and_delays_no_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(10); seed++) {
        struct house h = {.threads = 1 + (unsigned)seed % 2};
        struct guest g = {.n = 1, .block_ms = 5000};

        house_begin(&h, seed, 0);
        guest_begin(&g, &h, "10.9.0.3");
        house_await_begun(&h, 1);
        house_call_quickly(&h, 20, DELAY_US);
        assert_int_equal(atomic_load(&h.ended), 0);
        guest_end(&g);
        guest_expect_all(&g, VC_OK);
        assert_in_range(g.took[0], 5000 * MS, 5000 * MS + DELAY_US + CALL_US);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* Two calls arrive together. Returns the time that the second waits for the
 * first. */
static uint64_t
delay_of(unsigned phase)
{
    struct house h = {0};
    struct guest g = {.n = 2,
                      .block_ms = 30,
                      .phase_us = LOOKS_US + phase * LOOKS_US / PHASES};

    house_begin(&h, phase + 1, 0);
    guest_begin(&g, &h, "10.9.0.3");
    house_await_begun(&h, 2);
    assert_int_equal(atomic_load(&h.ended), 0);
    guest_end(&g);
    guest_expect_all(&g, VC_OK);
    assert_in_range(g.took[0], 30 * MS, 30 * MS + DELAY_US + CALL_US);
    assert_in_range(g.took[1], 30 * MS, 30 * MS + DELAY_US + CALL_US);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
    return h.begun_at[1] - h.begun_at[0];
}

/* At whatever moment between two checks the call arrives. */
static void
a_call_that_is_there_when_a_handler_begins_waits_a_millisecond(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        uint64_t us = delay_of(phase);

        assert_in_range(us, SOON_US, DELAY_US + BEGIN_US);
        least = us < least ? us : least;
        most = us > most ? us : most;
    }
    /* The least delay is that of a call just before a check, the longest that
     * of a call just after it. */
    assert_in_range(least, SOON_US, SOON_US + EDGE_US);
    assert_in_range(most, DELAY_US - EDGE_US, DELAY_US + BEGIN_US);
}

static void
many_handlers_block_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(6); seed++) {
        struct house h = {.threads = 2};
        struct guest a = {.n = MANY, .block_ms = 2000};
        struct guest b = {.n = MANY, .block_ms = 1001};

        house_begin(&h, seed, seed % 2 == 0 ? 4 : 0);
        guest_begin(&a, &h, "10.9.0.3");
        guest_begin(&b, &h, "10.9.0.4");
        house_await_begun(&h, 2 * MANY);
        guest_end(&a);
        guest_end(&b);
        guest_expect_all(&a, VC_OK);
        guest_expect_all(&b, VC_ABORTED);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* After the first takeover handlers begin at once. So all calls end after
 * little more time than one handler takes. */
static void
handlers_that_block_begin_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(6); seed++) {
        struct house h = {.threads = 1 + (unsigned)seed % 2};
        struct guest g = {.n = MANY, .block_ms = 20};

        house_begin(&h, seed, 0);
        guest_begin(&g, &h, "10.9.0.3");
        guest_end(&g);
        guest_expect_all(&g, VC_OK);
        for (unsigned i = 0; i < MANY; i++)
            assert_in_range(g.took[i], 20 * MS, 20 * MS + 5 * DELAY_US);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* A quick call waits for none of the many blocking handlers. */
static void
a_quick_call_beside_handlers_that_block_is_not_delayed(void **state)
{
    struct house h = {0};
    struct guest g = {.n = MANY, .block_ms = 400};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&g, &h, "10.9.0.3");
    house_await_begun(&h, MANY);
    house_call_quickly(&h, 20, CALL_US);
    assert_int_equal(0, atomic_load(&h.ended));
    guest_end(&g);
    guest_expect_all(&g, VC_OK);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

static void
a_server_is_closed_while_handlers_block(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(20); seed++) {
        struct house h = {.threads = 1 + (unsigned)seed % 2,
                          .stops_first = seed % 4 > 1};
        struct guest g = {.n = 3, .block_ms = 3000};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        guest_begin(&g, &h, "10.9.0.3");
        house_await_begun(&h, 3);
        fake_sleep_us(seed *
                      37); /* before and after their engines are taken over */
        house_end(&h);
        assert_int_equal(atomic_load(&h.ended), 3);
        guest_end(&g);
        assert_int_equal(fake_end(), 0);
    }
}

static void
a_client_is_killed_while_handlers_block(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(20); seed++) {
        struct house h = {0};
        struct guest g = {.n = 3, .block_ms = seed % 2 == 0 ? 3000 : 15000};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        guest_begin(&g, &h, "10.9.0.3");
        house_await_begun(&h, 3);
        fake_process_kill(g.process);
        house_call_quickly(&h, 5, seed % 3 == 0 ? STALLS_US : DELAY_US);
        if (seed % 4 < 2)
            fake_sleep_us(16 * S); /* the server forgets the client meanwhile */
        house_end(&h);
        assert_int_equal(atomic_load(&h.ended), 3);
        assert_int_equal(fake_end(), 0);
    }
}

static void
a_handler_calls_before_and_after_it_was_taken_over(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(40); seed++) {
        struct house h = {.threads = 1 + (unsigned)seed % 2,
                          .nests_at_home = seed % 4 > 1};
        struct sim_server behind = {.sleep_us = seed % 3 == 0 ? 3000 : 0};
        struct guest g = {.n = 5, .counts = true};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        sim_target("10.9.0.9", behind.target);
        sim_server_start(&behind, fake_host_new("behind", "10.9.0.9"), 1);
        assert_true(sim_server_await(&behind));
        guest_begin(&g, &h, "10.9.0.3");
        guest_end(&g);
        guest_expect_all(&g, VC_OK);
        house_end(&h);
        assert_true(sim_server_stop(&behind));
        assert_int_equal(fake_end(), 0);
    }
}

/* The watcher stops, so an idle hour takes no steps. */
static void
an_idle_server_does_nothing(void **state)
{
    struct house h = {0};
    uint64_t steps;

    (void)state;
    house_begin(&h, 1, 0);
    house_call_quickly(&h, 2, DELAY_US);
    fake_sleep_us(S);
    steps = fake_steps();
    fake_sleep_us(60 * S);
    assert_in_range(fake_steps() - steps, 0, 100);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_handler_keeps_its_client_and_delays_no_other),
        cmocka_unit_test(
            a_call_that_is_there_when_a_handler_begins_waits_a_millisecond),
        cmocka_unit_test(many_handlers_block_at_once),
        cmocka_unit_test(handlers_that_block_begin_at_once),
        cmocka_unit_test(
            a_quick_call_beside_handlers_that_block_is_not_delayed),
        cmocka_unit_test(a_server_is_closed_while_handlers_block),
        cmocka_unit_test(a_client_is_killed_while_handlers_block),
        cmocka_unit_test(a_handler_calls_before_and_after_it_was_taken_over),
        cmocka_unit_test(an_idle_server_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
