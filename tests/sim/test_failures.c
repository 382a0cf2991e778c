/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every allocation, and every call of verbs, rdma_cm and the system that can
 * fail, fails once, on either side. Meanwhile a channel is opened, makes calls
 * and is closed. Nothing crashes and nothing is left. Either an error is
 * returned or the failure did no harm, and the next try succeeds. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define TRIES    4
#define PATIENCE 60000000u /* us */

struct client {
    char target[80];
    atomic_uint failures; /* steps that returned an error */
    atomic_uint mute;     /* those of them without an error text */
    atomic_bool good;     /* all steps have succeeded */
};

/* Repeats a step until it works. */
static bool
persist(struct client *c, enum vc_status (*step)(struct client *, void *),
        void *arg)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if (step(c, arg) == VC_OK)
            return true;
        atomic_fetch_add(&c->failures, 1);
        atomic_fetch_add(&c->mute, vc_error()[0] == '\0');
    }
    return false;
}

static enum vc_status
step_runtime(struct client *c, void *arg)
{
    (void)c;
    return sim_runtime(arg, 1);
}

struct opening {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static enum vc_status
step_open(struct client *c, void *arg)
{
    struct opening *o = arg;

    return vc_channel_open(o->runtime, c->target, NULL, &o->channel);
}

static enum vc_status
step_connect(struct client *c, void *arg)
{
    (void)c;
    return vc_channel_connect(arg, &suite_probe_service);
}

static enum vc_status
step_small(struct client *c, void *arg)
{
    (void)c;
    return sim_echo(arg, 64, 1, 0, NULL);
}

static enum vc_status
step_large(struct client *c, void *arg)
{
    (void)c;
    return sim_echo(arg, 50000, 2, 0, NULL);
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct opening o = {NULL, NULL};

    if (persist(c, step_runtime, &o.runtime) && persist(c, step_open, &o))
        atomic_store(&c->good, persist(c, step_connect, o.channel) &&
                                   persist(c, step_small, o.channel) &&
                                   persist(c, step_large, o.channel));
    vc_channel_close(o.channel);
    vc_runtime_free(o.runtime);
}

/* What fails. */
struct plan {
    bool server; /* on the server's side, else on the client's */
    int err;     /* errno of calls; 0: allocations fail */
};

static void
plan_arm(const struct plan *plan, struct fake_process *p, unsigned nth)
{
    if (plan->err == 0)
        fake_fail_memory(p, nth);
    else
        fake_fail(p, "*", nth, plan->err);
}

/* Runs a world in which the nth call or allocation fails; false when there is
 * no nth one. */
static bool
world_run(const struct plan *plan, unsigned nth)
{
    struct client c = {.failures = 0};
    struct sim_server s = {.target = ""};
    struct fake_host *there;
    struct fake_process *p;
    bool struck, ended, stopped;

    sim_begin(nth, 0, true);
    there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", s.target);
    sim_target("10.9.0.2", c.target);
    sim_server_start(&s, there, 1);
    if (plan->server)
        plan_arm(plan, s.process, nth);
    sim_server_await(&s);
    p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                           client_main, &c);
    if (!plan->server)
        plan_arm(plan, p, nth);
    ended = fake_process_wait(p, PATIENCE);
    stopped = sim_server_stop(&s);
    struck = fake_failed() > 0;
    if (!ended || !stopped || !atomic_load(&c.good) ||
        atomic_load(&c.mute) > 0) {
        print_error("%s\n", fake_trace());
        fail_msg("%s, %s %u: client %s, %u failures, %u without a text; "
                 "server %s",
                 plan->server ? "server" : "client",
                 plan->err == 0 ? "allocation" : "call", nth,
                 !ended                 ? "does not end"
                 : atomic_load(&c.good) ? "good"
                                        : "never succeeds",
                 atomic_load(&c.failures), atomic_load(&c.mute),
                 stopped ? "ends" : "does not end");
    }
    if (fake_end() > 0)
        fail_msg("%s, %s %u: something is left",
                 plan->server ? "server" : "client",
                 plan->err == 0 ? "allocation" : "call", nth);
    return struck;
}

static void
all_of(bool server, int err)
{
    const struct plan plan = {server, err};
    unsigned nth = 1;

    while (world_run(&plan, nth))
        nth++;
    print_message("%u places\n", nth - 1);
    assert_in_range(nth, 20, 100000);
}

static void
any_allocation_of_a_client_may_fail(void **state)
{
    (void)state;
    all_of(false, 0);
}

static void
any_allocation_of_a_server_may_fail(void **state)
{
    (void)state;
    all_of(true, 0);
}

static void
any_call_of_a_client_may_fail(void **state)
{
    (void)state;
    all_of(false, ENOMEM);
    all_of(false, EIO);
    all_of(false, EINVAL);
}

static void
any_call_of_a_server_may_fail(void **state)
{
    (void)state;
    all_of(true, ENOMEM);
    all_of(true, EIO);
    all_of(true, EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_of_a_client_may_fail),
        cmocka_unit_test(any_allocation_of_a_server_may_fail),
        cmocka_unit_test(any_call_of_a_client_may_fail),
        cmocka_unit_test(any_call_of_a_server_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
