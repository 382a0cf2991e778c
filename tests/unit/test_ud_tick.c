/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The task that starts the tick of a port of datagrams: it is queued once,
 * whatever the tick does meanwhile, and a port that has failed waits for it.
 * transport/ud/port.c is included, for a port without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "transport/ud/port.c"

/* A time that no tick reaches. */
#define FAR_US 3600000000u

struct bench {
    struct vc__engine engine;
    struct vc__device device;
    struct vc__ud_context context;
    struct vc__ud_port *port;
    struct vc__ud_wire a, b;
    struct vc__task after; /* posted after the task that starts the tick */
    unsigned arms, afters;
    unsigned users_at_arm; /* the device's; 0: the port was freed before */
};

static struct bench *bench;

/* What the task runs: counts, then starts the tick. */
static void
arm_run(struct vc__task *task)
{
    bench->arms++;
    bench->users_at_arm = bench->device.users;
    if (bench->users_at_arm > 1)
        vc__ud_tick_arm(task);
}

static void
after_run(struct vc__task *task)
{
    (void)task;
    bench->afters++;
}

/* A wire of the port, which has nothing due. */
static void
wire_join(struct bench *b, struct vc__ud_wire *u)
{
    vc__reliable_init(&u->reliable, UINT32_MAX);
    CDS_INIT_LIST_HEAD(&u->busy);
    u->port = b->port;
    vc__ud_port_count(b->port, 1);
    cds_list_add_tail(&u->node, &b->port->wires);
}

static void
wire_leave(struct vc__ud_wire *u)
{
    vc__ud_port_count(u->port, -1);
    cds_list_del(&u->node);
    cds_list_del(&u->busy);
    if (u->port->failed && u->port->users == 0)
        vc__ud_port_fail(u->port);
}

/* As a thread does that has sent something. */
static void
wire_has_due(struct vc__ud_wire *u, uint64_t due)
{
    u->leaving = true;
    u->close_at = due;
    vc__lock_take(&u->port->lock);
    vc__ud_busy(u->port, u);
    vc__lock_give(&u->port->lock);
}

static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    assert_int_equal(vc__engine_init(&b->engine, 0), 0);
    b->device.engine = &b->engine;
    b->device.users = 2; /* the port's, and the test's */
    CDS_INIT_LIST_HEAD(&b->device.watchers);
    CDS_INIT_LIST_HEAD(&b->context.ports);
    b->port = calloc(1, sizeof *b->port);
    assert_non_null(b->port);
    port_init(b->port, &b->context, &b->device, 1);
    b->port->arm.run = arm_run;
    b->after.run = after_run;
    wire_join(b, &b->a);
    wire_join(b, &b->b);
    *state = bench = b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    if (b->device.users > 1)
        port_free(b->port);
    vc__engine_fini(&b->engine);
    free(b);
    return 0;
}

/* The tick has found that what is due is far away, so that a wire with
 * something sooner must start it again. */
static void
a_far_tick_while_it_is_queued_has_it_queued_once(void **state)
{
    struct bench *b = *state;
    uint64_t far = vc__now() + FAR_US;

    wire_has_due(&b->a, far);
    vc__engine_post(&b->engine, &b->after);
    vc__ud_tick(&b->port->tick);
    assert_true(b->port->tick_far > 0);

    wire_has_due(&b->b, far - 1);
    vc__engine_run_tasks(&b->engine);
    assert_int_equal(b->arms, 1);
    assert_int_equal(b->afters, 1);
}

/* The tick has found nothing due for a while, and does not come any more. */
static void
an_idle_tick_while_it_is_queued_has_it_queued_once(void **state)
{
    struct bench *b = *state;

    wire_has_due(&b->a, vc__now() + FAR_US);
    vc__engine_post(&b->engine, &b->after);
    b->a.leaving = false;
    while (b->port->ticking)
        vc__ud_tick(&b->port->tick);

    wire_has_due(&b->a, vc__now() + FAR_US);
    vc__engine_run_tasks(&b->engine);
    assert_int_equal(b->arms, 1);
    assert_int_equal(b->afters, 1);
}

/* Also after a tick that has made it a far one since. */
static void
it_starts_a_near_tick_and_may_be_queued_again(void **state)
{
    struct bench *b = *state;
    uint64_t far = vc__now() + FAR_US;

    wire_has_due(&b->a, far);
    vc__ud_tick(&b->port->tick);
    vc__engine_run_tasks(&b->engine);
    assert_true(vc__timer_running(&b->port->tick));
    assert_true(b->port->tick.due < far);
    assert_int_equal(b->port->tick_far, 0);

    vc__ud_tick(&b->port->tick);
    assert_int_equal(b->port->tick.due, far);
    wire_has_due(&b->b, far - 1);
    vc__engine_run_tasks(&b->engine);
    assert_int_equal(b->arms, 2);
    assert_true(b->port->tick.due < far - 1);
}

/* The wires leave between the failure and its task. */
static void
a_port_that_has_failed_is_freed_after_it(void **state)
{
    struct bench *b = *state;

    vc__ud_port_fail(b->port);
    wire_has_due(&b->a, vc__now() + FAR_US);
    wire_leave(&b->a);
    wire_leave(&b->b);
    vc__engine_run_tasks(&b->engine);
    vc__engine_run_tasks(&b->engine);
    assert_int_equal(b->arms, 1);
    assert_int_equal(b->users_at_arm, 2);
    assert_int_equal(b->device.users, 1);
    assert_true(cds_list_empty(&b->context.ports));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_far_tick_while_it_is_queued_has_it_queued_once, bench_setup,
            bench_teardown),
        cmocka_unit_test_setup_teardown(
            an_idle_tick_while_it_is_queued_has_it_queued_once, bench_setup,
            bench_teardown),
        cmocka_unit_test_setup_teardown(
            it_starts_a_near_tick_and_may_be_queued_again, bench_setup,
            bench_teardown),
        cmocka_unit_test_setup_teardown(
            a_port_that_has_failed_is_freed_after_it, bench_setup,
            bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
