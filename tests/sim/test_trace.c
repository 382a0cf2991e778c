/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The packets of one call, line by line; and that a run depends on its seed
 * only. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define PATIENCE 60000000u /* us */
#define THREADS  3

static char target[80];

/* --- one call ---------------------------------------------------------- */

static void
one_call(void *arg)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    (void)arg;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, target, NULL, &channel), VC_OK);
    assert_int_equal(sim_echo(channel, 64, 1, 0, NULL), VC_OK);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* --- many calls -------------------------------------------------------- */

static void *
some_calls(void *channel)
{
    for (unsigned i = 0; i < 5; i++)
        sim_echo(channel, i * 3000, i, 0, NULL);
    return NULL;
}

static void
many_calls(void *arg)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    pthread_t threads[THREADS];

    (void)arg;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, target, NULL, &channel), VC_OK);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, some_calls, channel);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* Returns the trace of a world with a server and this client; the caller frees
 * it. */
static char *
trace_of(uint64_t seed, unsigned switch_every, void (*client)(void *))
{
    struct sim_server s = {.threads = 1};
    struct fake_process *p;
    char *trace;

    sim_begin(seed, switch_every, true);
    sim_target("10.9.0.2", s.target);
    sim_target("10.9.0.2", target);
    sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&s));
    p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client", client,
                           NULL);
    assert_true(fake_process_wait(p, PATIENCE));
    assert_true(sim_server_stop(&s));
    trace = strdup(fake_trace());
    assert_int_equal(fake_end(), 0);
    assert_non_null(trace);
    return trace;
}

/* Removes the times, "[  0.214] ". */
static char *
without_times(char *trace)
{
    char *out = trace;

    for (char *line = trace, *next; *line != '\0'; line = next) {
        char *text = strstr(line, "] ") + 2;

        next = strchr(text, '\n') + 1;
        memmove(out, text, (size_t)(next - text));
        out += next - text;
    }
    *out = '\0';
    return trace;
}

static void
a_call_costs_a_connect_a_packet_each_way_and_a_close(void **state)
{
    char *trace = without_times(trace_of(3, 0, one_call));

    (void)state;
    assert_string_equal(trace, "client: event ADDR_RESOLVED\n"
                               "client: event ROUTE_RESOLVED\n"
                               "client: REQ -> there\n"
                               "server: event CONNECT_REQUEST\n"
                               "server: REP -> here\n"
                               "client: event CONNECT_RESPONSE\n"
                               "client: RTU -> there\n"
                               "server: event ESTABLISHED\n"
                               "client qp 17: SEND 167 B -> there\n"
                               "server qp 17: completion RECV success\n"
                               "server qp 17: SEND 104 B -> here\n"
                               "client qp 17: completion RECV success\n"
                               "client qp 17: SEND 36 B -> there\n"
                               "server qp 17: completion RECV success\n"
                               "server qp 17: SEND 36 B -> here\n"
                               "client qp 17: completion RECV success\n"
                               "client: DREQ -> there\n"
                               "server: event DISCONNECTED\n"
                               "server: DREP -> here\n"
                               "client: event DISCONNECTED\n");
    free(trace);
}

static void
the_same_seed_is_the_same_run(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= sim_few(10); seed++) {
        char *one = trace_of(seed, 5, many_calls);
        char *other = trace_of(seed, 5, many_calls);

        assert_string_equal(one, other);
        free(one);
        free(other);
    }
}

static void
another_seed_is_another_run(void **state)
{
    char *one = trace_of(1, 5, many_calls);
    char *other = trace_of(3, 5, many_calls);

    (void)state;
    assert_string_not_equal(one, other);
    free(one);
    free(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_costs_a_connect_a_packet_each_way_and_a_close),
        cmocka_unit_test(the_same_seed_is_the_same_run),
        cmocka_unit_test(another_seed_is_another_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
