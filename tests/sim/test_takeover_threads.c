/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that block when no threads are left for them: they wait or are shed,
 * clients share the threads, and the server keeps working. */
#include "tests/sim/house.h"

#define SLEEP 2u /* the number of the method */
#define MANY  40u
/* The runtime does not start more than this: include/verbcall/runtime.h */
#define SPARES 256u
/* One thread is left for quick handlers. A client has at most seven times as
 * many threads as are left. */
#define SHARE_FIRST  223u /* of the first client */
#define SHARE_SECOND 28u
#define SHARE_THIRD  3u
#define SHARE_FOURTH 1u
#define SHARE_OF_TWO 118u /* of each of two, at least */

static void
without_threads_left_handlers_wait_and_the_server_lives(void **state)
{
    struct house h = {0};
    struct guest a = {.n = GUEST_MOST / 2, .block_ms = 3000};
    struct guest b = {.n = GUEST_MOST / 2, .block_ms = 3000};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&a, &h, "10.9.0.3");
    guest_begin(&b, &h, "10.9.0.4");
    fake_sleep_us(2 * S);
    assert_in_range(atomic_load(&h.begun), 2 * SHARE_OF_TWO, SPARES - 1);
    house_call_quickly(&h, 5, DELAY_US);
    guest_end(&a);
    guest_end(&b);
    guest_expect_all(&a, VC_OK);
    guest_expect_all(&b, VC_OK);
    assert_int_equal(atomic_load(&h.ended), GUEST_MOST);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

/* Makes n calls of Sleep from the test's process, for which there is no thread.
 * They are shed long before their deadline, or cancelled. */
static void
give_up_behind(struct guest *g, unsigned n, uint32_t timeout_ms)
{
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_completions *queue;
    struct vc_async *calls[MANY];
    struct vc_channel *channel;
    struct vc_runtime *runtime;
    struct vc_completion end;

    opts.timeout_ms = timeout_ms;
    opts.flags = VC_CALL_NO_RETRY;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_runtime_start(runtime), VC_OK);
    assert_int_equal(vc_channel_open(runtime, g->house->target, NULL, &channel),
                     VC_OK);
    assert_int_equal(vc_completions_new(runtime, &queue), VC_OK);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(vc_channel_call_queued(channel, &suite_probe_service,
                                                SLEEP, &request, &opts, queue,
                                                NULL, &calls[i]),
                         VC_OK);
    fake_sleep_us(S);
    for (unsigned i = 0; i < n; i++) {
        vc_async_cancel(calls[i]); /* no effect if it has ended */
        vc_async_free(calls[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(vc_completions_next(queue, 10000, &end), VC_OK);
        assert_int_equal(end.status, timeout_ms == VC_NO_DEADLINE
                                         ? VC_CANCELLED
                                         : VC_RESOURCE_EXHAUSTED);
        if (end.status == VC_RESOURCE_EXHAUSTED)
            assert_int_equal(end.outcome, VC_OUTCOME_NOT_EXECUTED);
    }
    fake_sleep_us(S); /* the CANCELs arrive */
    vc_completions_free(queue);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* Four clients use all threads. */
static void
fill(struct house *h, struct guest *g)
{
    static const char *const addrs[] = {"10.9.0.3", "10.9.0.4", "10.9.0.5",
                                        "10.9.0.6"};
    unsigned begun = 0;

    for (unsigned k = 0; k < 4; k++) {
        guest_begin(&g[k], h, addrs[k]);
        house_await_begun(h, begun += g[k].n);
    }
    assert_int_equal(begun, SPARES - 1);
}

static void
handlers_that_wait_for_a_thread_and_are_given_up_do_not_run(void **state)
{
    static const uint32_t timeouts[] = {500, VC_NO_DEADLINE};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct house h = {0};
        struct guest g[] = {{.n = SHARE_FIRST, .block_ms = 8000},
                            {.n = SHARE_SECOND, .block_ms = 8000},
                            {.n = SHARE_THIRD, .block_ms = 8000},
                            {.n = SHARE_FOURTH, .block_ms = 8000}};

        house_begin(&h, 1, 0);
        fill(&h, g);
        give_up_behind(g, MANY, timeouts[i]);
        for (unsigned k = 0; k < 4; k++) {
            guest_end(&g[k]);
            guest_expect_all(&g[k], VC_OK);
        }
        house_call_quickly(&h, 5, DELAY_US);
        assert_int_equal(atomic_load(&h.begun), SPARES - 1);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* A client whose handlers never end leaves threads to other clients, whose
 * blocking handlers begin at once. */
static void
a_client_with_all_that_it_may_leaves_threads_to_others(void **state)
{
    struct house h = {0};
    struct guest hog = {.n = SPARES + 44, .block_ms = 12000};
    struct guest polite = {.n = 20, .block_ms = 20};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&hog, &h, "10.9.0.3");
    house_await_begun(&h, SHARE_FIRST);
    guest_begin(&polite, &h, "10.9.0.4");
    guest_end(&polite);
    guest_expect_all(&polite, VC_OK);
    for (unsigned i = 0; i < polite.n; i++)
        assert_in_range(polite.took[i], 20 * MS, 20 * MS + DELAY_US + CALL_US);
    assert_int_equal(atomic_load(&h.begun), SHARE_FIRST + polite.n);
    assert_int_equal(atomic_load(&h.ended), polite.n);
    guest_end(&hog);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            without_threads_left_handlers_wait_and_the_server_lives),
        cmocka_unit_test(
            handlers_that_wait_for_a_thread_and_are_given_up_do_not_run),
        cmocka_unit_test(
            a_client_with_all_that_it_may_leaves_threads_to_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
