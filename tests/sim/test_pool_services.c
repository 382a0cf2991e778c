/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool with several links and several services. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/sim.h"

#define SEEDS   sim_few(20u)
#define LINKS   4u
#define CALLS   50u
#define MS      1000u
#define PATIENT 60000000u

struct client {
    char target[80];
    void (*run)(struct vc_channel *channel);
    struct vc_channel_opts opts;
};

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, c->target, &c->opts, &channel));
    assert_int_equal(VC_OK, vc_channel_connect(channel, &suite_probe_service));
    c->run(channel);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
client_with_a_server(void (*run)(struct vc_channel *channel), unsigned links)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct client c = {.run = run, .opts = VC_CHANNEL_OPTS_INIT};
        struct sim_server s = {.sleep_us = 0};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        c.opts.min_links = c.opts.max_links = links;
        sim_target("10.9.0.2", s.target);
        sim_target("10.9.0.2", c.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               client_main, &c);
        if (!fake_process_wait(p, PATIENT))
            fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

/* The other links come up meanwhile. */
static void
call_some_times(struct vc_channel *channel)
{
    for (unsigned i = 0; i < CALLS; i++) {
        assert_int_equal(VC_OK, sim_echo(channel, 64, 0, 0, NULL));
        fake_sleep_us(1 * MS);
    }
}

static void
a_pool_of_several_links_is_closed_with_all_of_them(void **state)
{
    (void)state;
    client_with_a_server(call_some_times, LINKS);
}

/* The hello named another service. */
static void
call_other_first(struct vc_channel *channel)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    assert_int_equal(VC_UNIMPLEMENTED,
                     suite_absent_nothing(channel, &request, NULL, &reply));
    assert_int_equal(VC_OK, sim_echo(channel, 64, 0, 0, NULL));
}

static void
the_first_call_on_a_link_may_be_of_another_service_than_it_was_made_for(
    void **state)
{
    (void)state;
    client_with_a_server(call_other_first, 1);
}

/* --- services that a server does not have --------------------------------- */

struct caller {
    struct vc_channel *channel;
    const struct vc_service *service;
    enum vc_status status;
    pthread_t thread;
};

static void *
calls_absent(void *arg)
{
    struct caller *c = arg;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    c->status = suite_absent_nothing(c->channel, &request, NULL, &reply);
    return NULL;
}

/* Nothing of Absent, as a client that was built from another .proto file. */
static void *
calls_changed(void *arg)
{
    struct caller *c = arg;
    Suite__Empty request = SUITE__EMPTY__INIT;
    void *reply;

    c->status = vc_channel_call(c->channel, c->service, SUITE_ABSENT_NOTHING,
                                &request, NULL, &reply);
    return NULL;
}

static void *
calls_present(void *arg)
{
    struct caller *c = arg;

    c->status = sim_echo(c->channel, 64, 0, 0, NULL);
    return NULL;
}

/* All callers need the first link, and one of them makes the client connect.
 * Every second call is this one, and ends so. */
static void
calls_beside(struct client *c, void *(*call)(void *), enum vc_status status)
{
    struct vc_service changed = suite_absent_service;
    struct caller callers[6];
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    changed.fingerprint++;
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, c->target, &c->opts, &channel));
    for (unsigned i = 0; i < 6; i++) {
        callers[i].channel = channel;
        callers[i].service = &changed;
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL,
                                           i % 2 == 0 ? call : calls_present,
                                           &callers[i]));
    }
    for (unsigned i = 0; i < 6; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(i % 2 == 0 ? status : VC_OK, callers[i].status);
    }
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
calls_both(void *arg)
{
    calls_beside(arg, calls_absent, VC_UNIMPLEMENTED);
}

static void
calls_both_schemas(void *arg)
{
    calls_beside(arg, calls_changed, VC_FAILED_PRECONDITION);
}

/* What the server serves besides Probe; or NULL. */
static enum vc_status (*also)(struct vc_server *server, struct sim_server *s);

static void
run_client(void (*body)(void *), const struct vc_server_opts *opts)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct client c = {.opts = VC_CHANNEL_OPTS_INIT};
        struct sim_server s = {.opts = opts, .add = also};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        sim_target("10.9.0.2", s.target);
        sim_target("10.9.0.2", c.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               body, &c);
        if (!fake_process_wait(p, PATIENT))
            fail_msg("seed %llu: %s", (unsigned long long)seed, fake_trace());
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

static void
a_service_that_is_not_served_fails_its_own_callers_only(void **state)
{
    (void)state;
    run_client(calls_both, NULL);
}

static enum vc_status
add_absent(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_absent_methods none;

    (void)s;
    return suite_absent_add(server, &none, NULL);
}

static void
a_schema_that_is_refused_fails_its_own_callers_only(void **state)
{
    (void)state;
    also = add_absent;
    run_client(calls_both_schemas,
               VC_SERVER_OPTS(.schema_check = VC_SCHEMA_REFUSE));
    also = NULL;
}

/* --- limits -------------------------------------------------------------- */

static struct vc_channel *
channel_alone(struct vc_runtime *runtime, struct client *c)
{
    struct vc_channel *channel;

    c->opts.idle_timeout_ms++;
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, c->target, &c->opts, &channel));
    return channel;
}

static void
has_two_links(void *arg)
{
    struct client *c = arg;
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_channel *channels[3];
    struct vc_runtime *runtime;

    c->opts.idle_timeout_ms = 60000;
    opts.max_links = 2;
    opts.spin_us = VC_SPIN_NEVER;
    assert_int_equal(VC_OK, vc_runtime_new(&opts, &runtime));
    for (unsigned i = 0; i < 3; i++)
        channels[i] = channel_alone(runtime, c);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(VC_OK, sim_echo(channels[i], 64, 0, 0, NULL));
    assert_int_equal(VC_RESOURCE_EXHAUSTED,
                     sim_echo(channels[2], 64, 0, 0, NULL));
    assert_non_null(strstr(vc_error(), "max_links"));
    vc_channel_close(channels[0]);
    fake_sleep_us(100 * MS); /* until the next attempt, which has a backoff */
    assert_int_equal(VC_OK, sim_echo(channels[2], 64, 0, 0, NULL));
    vc_channel_close(channels[1]);
    vc_channel_close(channels[2]);
    vc_runtime_free(runtime);
}

static void
a_process_has_no_more_links_than_its_runtime_allows(void **state)
{
    (void)state;
    run_client(has_two_links, NULL);
}

static void
has_three_sessions(void *arg)
{
    struct client *c = arg;
    struct vc_channel *channels[4];
    struct vc_runtime *runtime;
    enum vc_status status;

    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(
            VC_OK, vc_channel_open(runtime, c->target, NULL, &channels[i]));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(VC_OK, sim_echo(channels[i], 64, 0, 0, NULL));
    assert_int_equal(VC_RESOURCE_EXHAUSTED,
                     sim_echo(channels[3], 64, 0, 0, NULL));
    vc_channel_close(channels[0]);
    /* Until the server has confirmed the close. */
    do {
        assert_int_equal(VC_OK, sim_echo(channels[1], 64, 0, 0, NULL));
        status = sim_echo(channels[3], 64, 0, 0, NULL);
    } while (status == VC_RESOURCE_EXHAUSTED);
    assert_int_equal(VC_OK, status);
    for (unsigned i = 1; i < 4; i++)
        vc_channel_close(channels[i]);
    vc_runtime_free(runtime);
}

static void
a_client_has_no_more_sessions_than_the_server_allows(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_sessions = 3;
    run_client(has_three_sessions, &opts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_of_several_links_is_closed_with_all_of_them),
        cmocka_unit_test(
            the_first_call_on_a_link_may_be_of_another_service_than_it_was_made_for),
        cmocka_unit_test(
            a_service_that_is_not_served_fails_its_own_callers_only),
        cmocka_unit_test(a_schema_that_is_refused_fails_its_own_callers_only),
        cmocka_unit_test(a_process_has_no_more_links_than_its_runtime_allows),
        cmocka_unit_test(a_client_has_no_more_sessions_than_the_server_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
