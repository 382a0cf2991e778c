/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that handlers make for the call that they handle. Such a call has the
 * deadline of the outer call and ends with it. The server calls itself. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/caller.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define PATIENCE UINT64_C(100000000) /* us */
#define SEEDS    sim_few(8u)

/* What a handler does, by the tag of its call. */
enum {
    ECHOES,
    CALLS,      /* calls IS_TOLD, and waits for it */
    CALLS_LATE, /* does so when its own call is cancelled */
    IS_TOLD,
    ASKS, /* calls NOTES */
    NOTES,
};

/* What the handlers saw; of the current world. */
static struct seen {
    atomic_uint begun, told, inner_ended, ended;
    uint64_t inner_left; /* time left when the inner call began, us */
    enum vc_status status;
    enum vc_outcome outcome;
    char priority[16]; /* that NOTES received; valid when */
    atomic_uint noted; /* this is set */
} seen;

static void
on_told(struct vc_call *call, void *arg)
{
    (void)call;
    sim_tell(arg);
}

static void
wait_told(struct vc_call *call, atomic_uint *begun)
{
    atomic_uint told = 0;

    assert_int_equal(vc_call_on_cancel(call, on_told, &told), VC_OK);
    sim_tell(begun);
    assert_true(sim_await(&told, PATIENCE));
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
}

static void
inner_call(struct sim_server *s, struct vc_call *call)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = VC_NO_DEADLINE;
    opts.parent = call;
    seen.status = sim_echo_opts(s->self, 64, IS_TOLD, &opts, &seen.outcome);
    sim_tell(&seen.ended);
}

static void
ask(struct sim_server *s, struct vc_call *call)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.parent = call;
    assert_int_equal(sim_echo_opts(s->self, 64, NOTES, &opts, NULL), VC_OK);
}

static void
note(struct vc_call *call)
{
    size_t len;
    const void *value = vc_call_metadata_find(call, VC_METADATA_PRIORITY, &len);

    assert_true(len < sizeof seen.priority);
    assert_int_equal(0, atomic_load(&seen.noted)); /* the last one was read */
    memset(seen.priority, 0, sizeof seen.priority);
    if (value != NULL)
        memcpy(seen.priority, value, len);
    sim_tell(&seen.noted);
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag == ASKS)
        ask(s, call);
    if (request->tag == NOTES)
        note(call);
    if (request->tag == CALLS_LATE)
        wait_told(call, &seen.begun);
    if (request->tag == CALLS || request->tag == CALLS_LATE)
        inner_call(s, call);
    if (request->tag == IS_TOLD) {
        seen.inner_left = vc_call_deadline_us(call);
        wait_told(call, &seen.begun);
        sim_tell(&seen.inner_ended);
    }
    return VC_OK;
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.handle = handle;
        s.server.calls_itself = true;
        scene_run(&s, seed);
    }
}

/* --- ends of the outer call ---------------------------------------------- */

static void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    *c = (struct caller){.channel = channel, .tag = tag, .size = 64};
    assert_int_equal(vc_canceller_new(&c->canceller), VC_OK);
    caller_begin(c);
    assert_true(sim_await(&seen.begun, PATIENCE));
}

static void
act_cancelled(struct scene *s)
{
    struct caller c;
    uint64_t now;

    caller_start(&c, s->channel, CALLS);
    assert_true(seen.inner_left == UINT64_MAX);
    now = fake_now_us();
    vc_cancel(c.canceller);
    caller_join(&c);
    assert_int_equal(c.status, VC_CANCELLED);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_true(sim_await(&seen.inner_ended, PATIENCE));
    assert_in_range(fake_now_us() - now, 0, 20 * MS);
    assert_int_equal(seen.status, VC_CANCELLED);
    assert_int_equal(seen.outcome, VC_OUTCOME_UNKNOWN);
    scene_call(s, 64, ECHOES);
}

static void
a_call_is_cancelled_with_its_parent(void **state)
{
    (void)state;
    play(act_cancelled);
}

static void
act_deadline(struct scene *s)
{
    assert_int_equal(sim_echo(s->channel, 64, CALLS, 100, NULL),
                     VC_DEADLINE_EXCEEDED);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_true(sim_await(&seen.inner_ended, PATIENCE));
    assert_in_range(seen.inner_left, 1, 100 * MS);
    assert_true(seen.status == VC_DEADLINE_EXCEEDED ||
                seen.status == VC_CANCELLED);
    scene_call(s, 64, ECHOES);
}

static void
a_call_has_its_parents_deadline(void **state)
{
    (void)state;
    play(act_deadline);
}

static void
act_late(struct scene *s)
{
    struct caller c;

    caller_start(&c, s->channel, CALLS_LATE);
    vc_cancel(c.canceller);
    caller_join(&c);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_int_equal(seen.status, VC_CANCELLED);
    assert_int_equal(seen.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 0);
}

static void
act_too_late(struct scene *s)
{
    assert_int_equal(sim_echo(s->channel, 64, CALLS_LATE, 100, NULL),
                     VC_DEADLINE_EXCEEDED);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_true(seen.status == VC_DEADLINE_EXCEEDED ||
                seen.status == VC_CANCELLED);
    assert_int_equal(seen.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 0);
}

static void
a_call_whose_parent_is_over_does_not_begin(void **state)
{
    (void)state;
    play(act_late);
    play(act_too_late);
}

static void
act_server_closes(struct scene *s)
{
    struct caller c;

    caller_start(&c, s->channel, CALLS);
    sim_server_close(&s->server);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_true(sim_await(&seen.inner_ended, PATIENCE));
    assert_true(seen.status != VC_OK);
    caller_join(&c);
}

static void
a_server_that_closes_ends_what_its_handlers_wait_for(void **state)
{
    (void)state;
    play(act_server_closes);
}

/* --- other inherited properties ------------------------------------------- */

static void
act_priorities(struct scene *s)
{
    static const char *const priorities[] = {
        [VC_PRIORITY_DEFAULT] = "",
        [VC_PRIORITY_CRITICAL] = "critical",
        [VC_PRIORITY_SHEDDABLE] = "sheddable"};

    for (uint32_t i = 0; i <= VC_PRIORITY_SHEDDABLE; i++) {
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;

        opts.priority = i;
        assert_int_equal(sim_echo_opts(s->channel, 64, ASKS, &opts, NULL),
                         VC_OK);
        assert_true(sim_await(&seen.noted, PATIENCE));
        assert_string_equal(seen.priority, priorities[i]);
        atomic_store(&seen.noted, 0);
    }
}

static void
a_call_has_the_priority_of_its_parent(void **state)
{
    (void)state;
    play(act_priorities);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_the_priority_of_its_parent),
        cmocka_unit_test(a_call_is_cancelled_with_its_parent),
        cmocka_unit_test(a_call_has_its_parents_deadline),
        cmocka_unit_test(a_call_whose_parent_is_over_does_not_begin),
        cmocka_unit_test(a_server_that_closes_ends_what_its_handlers_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
