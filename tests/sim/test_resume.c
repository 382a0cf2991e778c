/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links are lost, and calls are not: calls under way go on over another link,
 * run once, and get one reply. With a sanitizer there are fewer worlds and
 * losses: sim_share(). */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/sim/rig.h"

#define CALLERS 48u
#define MS      1000u

/* --- storms ------------------------------------------------------------- */

/* The QP of one of the next 30 lines of data breaks. */
static void
flush_soon(struct rig *r)
{
    static const char *const lines[] = {"main qp", "server qp", "SEND",
                                        "completion"};
    const char *line = lines[rig_roll(&r->dice, 4)];
    unsigned nth = 1 + (unsigned)rig_roll(&r->dice, 30);

    rig_break(line, nth);
}

static void
storm(struct rig *r, unsigned n_callers, unsigned calls, size_t size)
{
    struct rig_caller callers[CALLERS];
    unsigned all;

    rig_warm_up(r);
    all = rig_ended(r) + n_callers * calls;
    for (unsigned i = 0; i < n_callers; i++)
        rig_call(&callers[i], r, size == 0 ? i % RIG_CHANNELS : 0, calls, size);
    while (rig_ended(r) < all) {
        unsigned n = rig_ended(r) + 8;
        unsigned was = rig_struck;

        flush_soon(r);
        rig_await_ended(r, n < all ? n : all);
        while (rig_struck == was && rig_ended(r) < all)
            fake_sleep_us(100);
        rig_await_ended(r, rig_ended(r) + 3 < all ? rig_ended(r) + 3 : all);
    }
    for (unsigned i = 0; i < n_callers; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].status != VC_OK)
            print_error("%s\n", callers[i].text);
    }
    rig_check_once(r);
    if (atomic_load(&r->others) != 0)
        fail_msg("seed %llu: %u calls were lost", (unsigned long long)r->seed,
                 atomic_load(&r->others));
}

static void
a_thousand_links_are_lost_and_no_call_is(void **state)
{
    struct rig r;
    uint64_t seed =
        getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 0) : 1;

    (void)state;
    rig_struck = 0;
    for (; rig_struck < sim_share(1000); seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 3) * 200,
                  1 + (unsigned)(seed % 3));
        storm(&r, 6, 40, 0);
        rig_end(&r);
        if (getenv("SEED") != NULL)
            return;
    }
    print_message("%u links lost in %llu worlds\n", rig_struck,
                  (unsigned long long)seed);
}

/* The requests are so long that credits run out when all of them are sent
 * again. The server may have ended a call before the client asks for it on the
 * new link. */
static void
long_requests_are_resumed_when_credits_are_short(void **state)
{
    struct rig r;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(25); seed++) {
        rig_begin(&r, seed, (unsigned)(seed % 4) * 150, 1 + seed % 2);
        storm(&r, CALLERS, 2, seed % 3 == 0 ? 30000 : 60000);
        rig_end(&r);
    }
}

/* --- one loss at a chosen moment ---------------------------------------- */

static void
a_call_whose_handler_runs_is_joined(void **state)
{
    struct rig r;
    struct rig_caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(60); seed++) {
        rig_begin(&r, seed, 3 * MS, 1 + (unsigned)(seed % 2));
        rig_warm_up(&r);
        rig_call(&c, &r, 0, 1, seed % 3 == 0 ? 50000 : 100);
        rig_await_run(RIG_CHANNELS);
        /* Other calls, which find the link broken at either end. */
        rig_break(seed % 2 == 0 ? "main qp" : "SEND", 1);
        for (unsigned i = 1; i < RIG_CHANNELS; i++) {
            struct rig_caller other;

            rig_call(&other, &r, i, 1, 100);
            rig_good(&other);
        }
        rig_good(&c);
        rig_check_once(&r);
        rig_end(&r);
    }
}

/* The QP of the client or of the server breaks at any line: when the reply was
 * sent, or a part of it, or a part of the request. */
static void
a_message_lost_at_any_line_is_sent_again(void **state)
{
    static const char *const lines[] = {"main qp", "server qp"};
    struct rig r;
    struct rig_caller c;

    (void)state;
    rig_struck = 0;
    for (uint64_t seed = 1; seed <= sim_share(300); seed++) {
        rig_begin(&r, seed, 0, 1 + (unsigned)(seed % 2));
        rig_warm_up(&r);
        rig_break(lines[seed % 2], 1 + (unsigned)(seed / 2 % 40));
        rig_call(&c, &r, (unsigned)(seed % RIG_CHANNELS), 4,
                 seed % 3 == 0 ? 100 : 60000);
        rig_good(&c);
        rig_check_once(&r);
        rig_end(&r);
    }
    assert_in_range(rig_struck, sim_share(200), sim_share(300));
}

/* Such a call must not lose its slot. More calls time out than a session has
 * slots. */
static void
callers_that_give_up_while_a_link_is_lost_leave_their_slots(void **state)
{
    struct rig r;
    struct rig_caller c[8];
    unsigned gave_up = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(40); seed++) {
        rig_begin(&r, seed, 500, 1);
        rig_warm_up(&r);
        for (unsigned round = 0; round < 40; round++) {
            unsigned n = rig_ended(&r);

            if (round % 8 == 0)
                rig_break(round % 16 == 0 ? "main qp" : "server qp", 1);
            for (unsigned i = 0; i < 8; i++) {
                r.timeout_ms = 1 + i % 4;
                rig_call(&c[i], &r, 0, 1, i % 2 == 0 ? 100 : 40000);
            }
            rig_await_ended(&r, n + 8);
            for (unsigned i = 0; i < 8; i++) {
                pthread_join(c[i].thread, NULL);
                gave_up += c[i].status == VC_DEADLINE_EXCEEDED;
                assert_true(c[i].status == VC_OK ||
                            c[i].status == VC_DEADLINE_EXCEEDED);
            }
        }
        r.timeout_ms = 60000;
        rig_call(&c[0], &r, 0, 1, 100);
        rig_good(&c[0]);
        rig_check_once(&r);
        rig_end(&r);
    }
    assert_in_range(gave_up, sim_share(1000), UINT32_MAX);
}

static void
a_session_closed_while_its_link_is_lost_gives_its_number_back(void **state)
{
    struct rig r;
    struct rig_caller c;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(60); seed++) {
        rig_begin(&r, seed, 300, 1 + (unsigned)(seed % 2));
        rig_warm_up(&r);
        for (unsigned round = 0; round < 12; round++) {
            rig_break(round % 2 == 0 ? "main qp" : "server qp", 1);
            rig_call(&c, &r, 1, 1, 100);
            if (round % 3 == 0)
                fake_sleep_us(seed * 7);
            vc_channel_close(r.channels[0]);
            assert_int_equal(vc_channel_open(r.runtime, r.server.target,
                                             &r.opts, &r.channels[0]),
                             VC_OK);
            rig_good(&c);
            rig_call(&c, &r, 0, 1, 100);
            rig_good(&c);
        }
        rig_check_once(&r);
        rig_end(&r);
    }
}

static void
one_of_several_links_may_be_lost_without_a_connect(void **state)
{
    struct rig r;
    struct rig_caller c[6];
    struct fake_census census;

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(40); seed++) {
        rig_begin(&r, seed, 200, 3);
        rig_warm_up(&r);
        do {
            rig_call(&c[0], &r, 0, 1, 100);
            rig_good(&c[0]);
            fake_census(fake_process_self(), &census);
        } while (census.ids < 3 + census.srqs); /* one id for each device */
        /* No link comes up any more. */
        fake_fail(fake_process_self(), "rdma_resolve_addr", 1, ENOMEM);
        rig_break(seed % 2 == 0 ? "main qp" : "server qp", 1);
        for (unsigned i = 0; i < 6; i++)
            rig_call(&c[i], &r, i % RIG_CHANNELS, 5, seed % 3 * 20000 + 1);
        for (unsigned i = 0; i < 6; i++)
            rig_good(&c[i]);
        fake_fail_no_more();
        rig_check_once(&r);
        rig_end(&r);
    }
}

/* --- without memory ------------------------------------------------------ */

/* Every call ends before its deadline of a minute: with its reply, or with an
 * error that names what was missing. */
static void
no_call_hangs_when_memory_fails_during_a_loss(void **state)
{
    struct rig r;
    struct rig_caller c[6];

    (void)state;
    for (uint64_t seed = 1; seed <= sim_share(240); seed++) {
        unsigned nth = 1 + (unsigned)(seed / 2 % 60);

        rig_begin(&r, seed, 300, 1 + (unsigned)(seed % 3));
        rig_warm_up(&r);
        rig_break(seed % 4 < 2 ? "main qp" : "server qp", 1);
        for (unsigned i = 0; i < 6; i++)
            rig_call(&c[i], &r, i % RIG_CHANNELS, 3, i % 2 == 0 ? 100 : 30000);
        fake_fail_memory(seed % 2 == 0 ? fake_process_self() : r.server.process,
                         nth);
        for (unsigned i = 0; i < 6; i++) {
            pthread_join(c[i].thread, NULL);
            if (c[i].status == VC_DEADLINE_EXCEEDED)
                fail_msg("seed %llu: %s", (unsigned long long)seed, c[i].text);
        }
        fake_fail_no_more();
        fake_no_rules();
        for (unsigned i = 0; i < RIG_CHANNELS; i++)
            sim_echo(r.channels[i], 10, 60000, 3000, NULL);
        rig_check_once(&r);
        rig_end(&r);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_thousand_links_are_lost_and_no_call_is),
        T(long_requests_are_resumed_when_credits_are_short),
        T(a_call_whose_handler_runs_is_joined),
        T(a_message_lost_at_any_line_is_sent_again),
        T(callers_that_give_up_while_a_link_is_lost_leave_their_slots),
        T(a_session_closed_while_its_link_is_lost_gives_its_number_back),
        T(one_of_several_links_may_be_lost_without_a_connect),
        T(no_call_hangs_when_memory_fails_during_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
