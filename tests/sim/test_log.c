/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log lines of various events; tests/sim/golden has the lines. Also checks
 * that unimportant events are not logged, and that the log's rate is
 * limited. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/logbook.h"
#include "tests/sim/scene.h"
#include "transport/core/log.h"

#define S     UINT64_C(1000000) /* us */
#define SOON  (S / 10)
#define EXTRA 17u
#define LEAST ((size_t)384 << 10) /* the least memory_limit */

/* --- a world ---------------------------------------------------------------- */

static struct scene scene;

/* Runs a world with seed 1. Its lines of this level must be those of a golden
 * file; NULL: there is no such file. */
static void
play_of(const struct scene *s, enum vc_log_level level, const char *name)
{
    scene = *s;
    logbook_begin(level);
    scene_run(&scene, 1);
    if (name != NULL)
        logbook_end_as(name);
    else
        logbook_end("");
}

static void
play(void (*act)(struct scene *s), enum vc_log_level level, const char *name)
{
    const struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

    play_of(&s, level, name);
}

static void
call_once(struct scene *s)
{
    scene_call(s, 64, 1);
}

/* --- links ------------------------------------------------------------------ */

static void
a_link_is_up_and_closed_and_a_server_listens_and_is_closed(void **state)
{
    (void)state;
    play(call_once, VC_LOG_DEBUG, "log_link_closed");
}

static void
a_quiet_run_logs_nothing_by_default(void **state)
{
    (void)state;
    play(call_once, VC_LOG_WARNING, NULL);
}

/* The server is frozen for a while. */
static void
call_the_frozen(struct scene *s)
{
    call_once(s);
    fake_process_freeze(s->server.process);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 2, 0, NULL));
    fake_process_thaw(s->server.process);
}

static void
a_server_that_stands_still_is_taken_for_dead(void **state)
{
    (void)state;
    play(call_the_frozen, VC_LOG_WARNING, "log_peer_dead");
}

static void
call_without_a_port(struct scene *s)
{
    struct fake_host *here =
        fake_process_self() != NULL ? s->server.host : NULL;

    call_once(s);
    fake_port_set(here, false);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 2, 0, NULL));
    fake_port_set(s->server.host, true);
}

static void
a_link_is_lost_when_a_port_is_down(void **state)
{
    (void)state;
    play(call_without_a_port, VC_LOG_WARNING, "log_port_down");
}

static void
call_the_killed(struct scene *s)
{
    call_once(s);
    sim_server_close(&s->server);
    assert_int_not_equal(VC_OK, sim_echo(s->channel, 64, 2, 0, NULL));
}

static void
a_link_that_does_not_come_up_is_for_debugging(void **state)
{
    (void)state;
    play(call_the_killed, VC_LOG_DEBUG, "log_link_not_up");
}

static void
call_until_the_port_is_back(struct scene *s)
{
    call_once(s);
    fake_port_set(s->server.host, false);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 2, 0, NULL));
        fake_sleep_us(S);
    }
    fake_port_set(s->server.host, true);
    call_once(s);
}

/* However often it was tried meanwhile. */
static void
a_server_is_failing_once_and_ready_again(void **state)
{
    (void)state;
    play(call_until_the_port_is_back, VC_LOG_INFO, "log_server_failing");
}

/* --- devices ------------------------------------------------------------------ */

static void
call_the_removed(struct scene *s)
{
    call_once(s);
    fake_device_remove(s->server.host);
    fake_sleep_us(SOON);
    fake_device_return(s->server.host);
    fake_sleep_us(S);
}

static void
a_device_is_lost_with_what_is_listened_at_and_is_back(void **state)
{
    (void)state;
    play(call_the_removed, VC_LOG_INFO, "log_device_lost");
}

/* --- servers -------------------------------------------------------------------- */

static void
on_drained(enum vc_status status, void *arg)
{
    (void)status;
    (void)arg;
}

static void
drain(void)
{
    assert_int_equal(VC_OK, vc_server_drain_start(scene.server.server,
                                                  "rdma://10.9.0.9:7471", 1000,
                                                  on_drained, NULL));
}

static void
call_the_drained(struct scene *s)
{
    scene_take_orders(&s->server);
    scene_have_done(s, drain);
    fake_sleep_us(SOON);
}

static void
a_server_is_drained(void **state)
{
    (void)state;
    play(call_the_drained, VC_LOG_INFO, "log_server_drained");
}

/* The handler runs on after its call's deadline, and while its server closes. */
static enum vc_status
linger(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)call;
    (void)request;
    (void)reply;
    (void)s;
    fake_sleep_us(7 * S);
    return VC_OK;
}

static void
call_what_lingers(struct scene *s)
{
    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     sim_echo(s->channel, 64, 1, 100, NULL));
}

static void
a_server_that_waits_for_its_end_names_the_call(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = call_what_lingers};

    (void)state;
    s.server.handle = linger;
    play_of(&s, VC_LOG_WARNING, "log_server_waits");
}

/* Opens a second connection. */
static void
call_twice(struct scene *s)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *other;

    call_once(s);
    opts.max_attempts = 1;
    opts.idle_timeout_ms = 60001; /* so that it shares no link */
    assert_int_equal(
        VC_OK, vc_channel_open(s->runtime, s->server.target, &opts, &other));
    assert_int_not_equal(VC_OK, sim_echo(other, 64, 2, 1000, NULL));
    vc_channel_close(other);
}

static void
a_server_without_memory_for_a_client_warns(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = call_twice};

    (void)state;
    s.server.memory_limit = LEAST;
    play_of(&s, VC_LOG_INFO, "log_server_starved");
}

/* --- limits -------------------------------------------------------------------- */

static void
log_many(struct vc__log *log, enum vc__log_kind kind, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        vc__log(log, kind, "%u", i);
}

/* Begins a world with a log of its own. */
static void
log_begin(struct vc__log *log)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    sim_begin(1, 0, false);
    sim_log_opts(&opts);
    vc__log_init(log, opts.log, opts.log_arg, opts.log_level);
    logbook_begin(VC_LOG_DEBUG);
}

static void
log_end(struct vc__log *log)
{
    vc__log_fini(log);
    sim_log_to(NULL);
    assert_int_equal(0, fake_end());
}

static unsigned
lines_count(void)
{
    unsigned n = 0;

    for (const char *at = logbook_lines(); (at = strchr(at, '\n')) != NULL;
         at++)
        n++;
    return n;
}

static void
only_so_many_lines_of_a_kind_are_logged_in_a_second(void **state)
{
    struct vc__log log;

    (void)state;
    log_begin(&log);
    log_many(&log, VC__LOG_LINK_UP, VC__LOG_MOST + EXTRA);
    assert_int_equal(VC__LOG_MOST, lines_count());
    fake_sleep_us(S - 1000);
    log_many(&log, VC__LOG_LINK_UP, 1);
    assert_int_equal(VC__LOG_MOST, lines_count());
    log_end(&log);
}

static void
what_was_left_out_is_said_before_the_next_line_of_any_kind(void **state)
{
    struct vc__log log;

    (void)state;
    log_begin(&log);
    log_many(&log, VC__LOG_LINK_UP, VC__LOG_MOST + EXTRA);
    log_many(&log, VC__LOG_LINK_LOST, 1);
    fake_sleep_us(S);
    logbook_begin(VC_LOG_DEBUG);
    log_many(&log, VC__LOG_LINK_LOST, 1);
    log_many(&log, VC__LOG_LINK_UP, 1);
    logbook_end("main info: log: 17 more lines of links that came up were not "
                "logged; there are at most 50 a second\n"
                "main warning: 0\n"
                "main info: 0\n");
    log_end(&log);
}

static void
what_was_left_out_last_is_said_at_the_end(void **state)
{
    struct vc__log log;

    (void)state;
    log_begin(&log);
    log_many(&log, VC__LOG_REJECT, VC__LOG_MOST + 1);
    logbook_begin(VC_LOG_DEBUG);
    vc__log_fini(&log);
    logbook_end("main info: log: 1 more line of clients that were rejected "
                "was not logged; there are at most 50 a second\n");
    assert_int_equal(0, fake_end());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_link_is_up_and_closed_and_a_server_listens_and_is_closed),
        cmocka_unit_test(a_quiet_run_logs_nothing_by_default),
        cmocka_unit_test(a_server_that_stands_still_is_taken_for_dead),
        cmocka_unit_test(a_link_is_lost_when_a_port_is_down),
        cmocka_unit_test(a_link_that_does_not_come_up_is_for_debugging),
        cmocka_unit_test(a_server_is_failing_once_and_ready_again),
        cmocka_unit_test(a_device_is_lost_with_what_is_listened_at_and_is_back),
        cmocka_unit_test(a_server_is_drained),
        cmocka_unit_test(a_server_that_waits_for_its_end_names_the_call),
        cmocka_unit_test(a_server_without_memory_for_a_client_warns),
        cmocka_unit_test(only_so_many_lines_of_a_kind_are_logged_in_a_second),
        cmocka_unit_test(
            what_was_left_out_is_said_before_the_next_line_of_any_kind),
        cmocka_unit_test(what_was_left_out_last_is_said_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
