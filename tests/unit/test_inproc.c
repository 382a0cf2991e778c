/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What only inproc:// has, or only it can show: names, links that a test
 * breaks, and both ends in one thread. The suites test what all transports
 * share (inproc_* in tests/suite/local.am). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "rpc/runtime.h"
#include "tests/suite/callers.h"

#define CALLS 1000u /* of each thread */

/* --- names --------------------------------------------------------------- */

static void
a_name_is_listened_at_once(void **state)
{
    struct fixture *f = *state;
    struct vc_server *second;

    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &second));
    assert_status(VC_UNAVAILABLE, vc_server_listen(second, f->target));
    assert_non_null(strstr(vc_error(), f->target));
    assert_status(VC_OK, vc_server_listen(second, "inproc://second"));
    assert_int_equal(0, vc_server_port(second));
    vc_server_free(second);
}

static void
a_name_that_nobody_listens_at_is_unavailable(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;

    assert_status(
        VC_OK, vc_channel_open(f->runtime, "inproc://nobody", NULL, &channel));
    assert_status(VC_UNAVAILABLE, fixture_echo(channel, 1, 1));
    assert_non_null(strstr(vc_error(), "nothing listens at inproc://nobody"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    vc_channel_close(channel);
}

/* A redirect carries the key of the name, not the name. */
static void
a_name_that_a_client_was_moved_to_is_known_by_its_key(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f;

    (void)state;
    opts.redirect[0] = "inproc://nobody";
    fixture_start(&f, 1, &opts, NULL);
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 1, 1));
    assert_non_null(strstr(vc_error(), "nothing listens at inproc://#"));
    fixture_stop(&f);
}

static void
a_name_has_1_to_63_letters_digits_and_signs(void **state)
{
    static const char *const bad[] = {"inproc://", "inproc://a b",
                                      "inproc://a/b", "inproc://a:7471"};
    struct fixture *f = *state;
    struct vc_channel *channel;
    char longest[80];

    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(VC_INVALID_ARGUMENT,
                      vc_channel_open(f->runtime, bad[i], NULL, &channel));
    snprintf(longest, sizeof longest, "inproc://A-z_%060d", 0);
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(f->runtime, longest, NULL, &channel));
    longest[strlen(longest) - 1] = '\0';
    assert_status(VC_OK, vc_channel_open(f->runtime, longest, NULL, &channel));
    vc_channel_close(channel);
}

/* --- ends ---------------------------------------------------------------- */

/* The server has the request, but no thread advances it, and it is closed. */
static void
a_client_that_waits_for_a_server_that_closes_is_turned_away(void **state)
{
    struct fixture f = {.target = "inproc://deaf"};
    struct caller c = {.size = 1, .tag = 1};

    (void)state;
    fixture_board_make();
    fixture_runtime_without_threads(&f.server_runtime);
    assert_status(VC_OK, vc_server_new(f.server_runtime, NULL, &f.server));
    assert_status(VC_OK, vc_server_listen(f.server, f.target));
    fixture_start_client(&f, NULL);
    c.channel = f.channel;
    caller_start(&c);
    caller_await_asleep(&c);
    fixture_stop_server(&f);
    caller_join(&c);
    assert_int_equal(VC_UNAVAILABLE, c.status);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
    fixture_stop_client(&f);
}

static void
a_server_that_nobody_advances_any_more_is_found_dead(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture f;

    (void)state;
    opts.keepalive_ms = 100;
    fixture_start(&f, 1, NULL, &opts);
    assert_status(VC_OK, fixture_echo(f.channel, 1, 1));
    vc_runtime_stop(f.server_runtime);
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 1, 2));
    assert_non_null(strstr(vc_error(), "its process is stopped"));
    assert_status(VC_OK, vc_runtime_start(f.server_runtime));
    fixture_stop(&f);
}

/* --- links that break ---------------------------------------------------- */

struct blow {
    struct vc__task task;
    struct vc__waiter over;
    struct vc__pool *pool;
};

static void
blow_run(struct vc__task *task)
{
    struct blow *b = caa_container_of(task, struct blow, task);
    struct vc__wire *w =
        cds_list_entry(b->pool->peer->links.next, struct vc__pool_link, node)
            ->link.wire;

    w->ops->failed(w, "a test broke it");
    vc__waiter_done(&b->over);
}

/* Breaks the first link of a connected channel. */
static void
link_break(struct vc_channel *channel)
{
    struct blow b = {.task.run = blow_run, .pool = channel->servers.only->pool};

    vc__waiter_init(&b.over);
    vc__engine_post(b.pool->engine, &b.task);
    vc__waiter_await(&b.over);
}

static void
calls_in_flight_go_on_by_another_link(void **state)
{
    struct fixture *f = *state;
    struct caller c = {.sleep_ms = 300, .channel = f->channel};
    struct vc_counters counters = VC_COUNTERS_INIT;

    fixture_board_make();
    assert_status(VC_OK, vc_runtime_start(f->runtime));
    caller_start(&c);
    fixture_await(&fixture_board->sleeping, 1);
    link_break(f->channel);
    caller_join(&c);
    assert_int_equal(VC_OK, c.status);
    assert_int_equal(1, atomic_load(&fixture_board->sleeping)); /* ran once */
    vc_runtime_counters(f->runtime, &counters);
    assert_int_equal(2, counters.links_made);
    assert_int_equal(1, counters.links_lost);
}

/* --- threads ------------------------------------------------------------- */

static void *
calls_make(void *arg)
{
    struct caller *c = arg;

    for (unsigned i = 0; i < CALLS; i++) {
        if (fixture_echo(c->channel, i % 100, c->tag + i) == VC_OK)
            c->good++;
        else
            snprintf(c->text, sizeof c->text, "%s", vc_error());
    }
    return NULL;
}

/* Without a deadline: on one processor with other load this takes minutes. */
static void
calls_of_1_to_8_threads_are_all_right(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture *f = *state;
    struct vc_channel *channel;

    opts.call_timeout_ms = VC_NO_DEADLINE;
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, &opts, &channel));
    for (unsigned n = 1; n <= 8; n++) {
        struct caller callers[8] = {{.tag = 0}};

        for (unsigned i = 0; i < n; i++) {
            callers[i].channel = channel;
            callers[i].tag = i * CALLS;
            assert_int_equal(0, pthread_create(&callers[i].thread, NULL,
                                               calls_make, &callers[i]));
        }
        for (unsigned i = 0; i < n; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_string_equal("", callers[i].text);
            assert_int_equal(CALLS, callers[i].good);
        }
    }
    vc_channel_close(channel);
}

/* Both ends share a runtime without threads: the caller advances them. */
static void
both_ends_are_in_one_thread(void **state)
{
    struct fixture *f = *state;
    struct vc_channel *channel;

    assert_status(VC_OK,
                  fixture_open_alone(f->server_runtime, f->target, &channel));
    vc_runtime_stop(f->server_runtime);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(channel, 64, i));
    assert_status(VC_OK, vc_runtime_start(f->server_runtime));
    vc_channel_close(channel);
}

#define in_fixture(test)                                                       \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        in_fixture(a_name_is_listened_at_once),
        in_fixture(a_name_that_nobody_listens_at_is_unavailable),
        cmocka_unit_test(a_name_that_a_client_was_moved_to_is_known_by_its_key),
        in_fixture(a_name_has_1_to_63_letters_digits_and_signs),
        cmocka_unit_test(
            a_client_that_waits_for_a_server_that_closes_is_turned_away),
        cmocka_unit_test(a_server_that_nobody_advances_any_more_is_found_dead),
        in_fixture(calls_in_flight_go_on_by_another_link),
        in_fixture(calls_of_1_to_8_threads_are_all_right),
        in_fixture(both_ends_are_in_one_thread),
    };

    setenv("VC_TEST_ADDR", "inproc", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
